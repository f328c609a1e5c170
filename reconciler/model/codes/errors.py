"""Codes of what ends a command, and of what a plan refuses or leaves alone.

Rules have the names that they have in docs/planning.md. Classes of errors are those of errors.py.
"""

from collections.abc import Mapping

from reconciler.model.codes.code import Code

CLASSES: Mapping[str, Code] = {
    "ReconcilerError": Code(
        "E010",
        "The command failed",
        "The message says why, and `next` what to do.",
    ),
    "InputError": Code(
        "E001",
        "Something that was given cannot be used",
        "Edit what the message names: an option, a file, a value. Nothing was sent.",
    ),
    "ManifestError": Code(
        "E002",
        "The manifests cannot be used",
        (
            "Each mistake is listed with its place and its own code. Nothing is planned from "
            "manifests with mistakes: what could not be read would look deleted."
        ),
    ),
    "SettingsError": Code(
        "E003",
        "The settings cannot be used",
        (
            "Settings decide where credentials go, so nothing is guessed. `reconciler config` shows "
            "every setting and where it comes from."
        ),
    ),
    "MissingExtra": Code(
        "E005",
        "A part that is installed apart is missing",
        (
            "What only some need is an extra of the package. `reconciler doctor --offline` shows which "
            "ones are installed here, docs/install.md what each is for."
        ),
    ),
    "UnknownAddress": Code(
        "E004",
        "An address or selector that names nothing",
        (
            "A misspelt `--only` would select nothing and look like success. `reconciler list` shows "
            "every address."
        ),
    ),
    "UsageError": Code(
        "E064",
        "The command line cannot be read",
        "An option or an argument is not known or missing. `--help` shows both.",
    ),
    "Refused": Code(
        "E011",
        "Refused until a person decides",
        "The command could go on, and whether it may is not for a program to say.",
    ),
    "UnsafePlan": Code(
        "E012",
        "The guard refuses the plan",
        (
            "The plan would change more than the limits allow, or rests on an incomplete read. Each "
            "reason has the code of its rule."
        ),
    ),
    "StalePlan": Code(
        "E013",
        "The plan is not that of now",
        (
            "Something changed since the plan was made, or it has expired or was used. What a "
            "reviewer read is what is done, or nothing: plan again."
        ),
    ),
    "LockHeld": Code(
        "E014",
        "Another run is writing",
        (
            "Two runs at once would undo each other's work. `reconciler lock` shows who holds it, "
            "`--lock-timeout` waits."
        ),
    ),
    "ServiceError": Code(
        "E020",
        "The service did not do what was asked",
        "The message names the call and the answer.",
    ),
    "Temporary": Code(
        "E021",
        "The service did not answer as it should, for now",
        "Run it again later.",
    ),
    "Throttled": Code(
        "E022",
        "The service asked us to slow down",
        "Lower `service.limits.requests_per_second`, or run it when less else runs.",
    ),
    "Unavailable": Code(
        "E023",
        "The service cannot be reached",
        "No answer came, or one that says to try later. `reconciler doctor` looks for the cause.",
    ),
    "Cached": Code(
        "E024",
        "A cache answers in the service's place",
        "What a cache says may be long past, and nothing is decided by it.",
    ),
    "NotSent": Code(
        "E025",
        "A write that was not sent",
        "It is certain that nothing was done. Run it again.",
    ),
    "Permanent": Code(
        "E026",
        "The service refuses for good",
        "Another try would end the same way.",
    ),
    "Unauthorized": Code(
        "E027",
        "The credentials are refused, or the quota is spent",
        "The whole run stops: a wrong password that is sent again and again locks accounts.",
    ),
    "NotFound": Code(
        "E028",
        "There is nothing at this path",
        "Check `service.base_url` and the id.",
    ),
    "Rejected": Code(
        "E029",
        "The service said no",
        "It understood the request. Its own code and words are in the message.",
    ),
    "Malformed": Code(
        "E030",
        "An answer of an unknown shape",
        ("It is never read as an empty one. A proxy or a login page may answer in the service's place."),
    ),
    "InDoubt": Code(
        "E031",
        "A write whose answer is unknown",
        (
            "It may have been carried out. It is never sent again blindly: `reconciler resume` looks "
            "at the service and settles it."
        ),
    ),
    "DirectoryError": Code(
        "E032",
        "A directory did not answer as it should",
        (
            "A roster comes from it, and nothing is planned from half a source: who was not answered would "
            "look as if they had left. The message says what it did instead."
        ),
    ),
    "StoreError": Code(
        "E040",
        "The store cannot be read or written",
        "Everything stops before the next write: what is not written down could not be settled.",
    ),
    "CorruptRecord": Code(
        "E041",
        "A damaged row of the store",
        "It does not hold what this program writes.",
    ),
    "FileError": Code(
        "E042",
        "A file cannot be read or written",
        "There is no room, no right, or something is in the way.",
    ),
    "Interrupted": Code(
        "E043",
        "A signal asked the command to stop",
        "What was finished is reported; `reconciler resume` continues a run that was writing.",
    ),
    "ProgramError": Code(
        "E044",
        "A mistake in this program",
        "The lines below say where. They hold no values, so they can be reported as they are.",
    ),
}

_RULES = (
    Code(
        "A1",
        "The plan is not that of now",
        (
            "Something changed since it was made, or it has expired or was used. A report names every "
            "change that is another one now. Plan again, and review it."
        ),
    ),
    Code(
        "G1",
        "Too many deletes",
        (
            "More than 25 deletes, more than 20 % of what is owned of one kind and workspace, or none"
            " would be left. Mostly a file is missing. `--allow-deletes N` allows them for one run."
        ),
    ),
    Code(
        "G2",
        "Too many creates of what seems gone, or too many updates",
        (
            "The read was probably short, or a default changed for everybody. `--allow-creates N` and"
            " `--allow-updates N` allow them for one run."
        ),
    ),
    Code(
        "G4",
        "Deletes after an incomplete read",
        "What was not read looks as if it were not there. No option lifts it; plan again.",
    ),
    Code(
        "G5",
        "Deletes of what existed before",
        (
            "More than 3 of the entities to delete were adopted: somebody else made them. `--allow-"
            "deletes N` allows them."
        ),
    ),
    Code(
        "G6",
        "A delete of something that others may be using",
        (
            "Messages on their way may name a callback, and nobody can see whether there are any. "
            "`--allow-deletes N` allows it."
        ),
    ),
    Code(
        "G7",
        "A directory that answers far fewer people than before",
        (
            "More than 20 % of the rows of the last apply are missing: a filter, a right or half an answer. "
            "Who is missing would be deleted. `--allow-fewer-rows N` allows it for one run."
        ),
    ),
    Code(
        "C1",
        "A change that this deployment does not offer",
        "`capabilities` of the profile say so. `--except` leaves such changes out.",
    ),
    Code(
        "C2",
        "The placeholder of an export as content",
        "`export` cannot read content back and writes a placeholder. Put the real file there.",
    ),
    Code(
        "M3",
        "Ambiguous",
        (
            "Several live entities match the declared one by its identity. None of them is changed "
            "until one is left."
        ),
    ),
    Code(
        "M5",
        "Not adopted",
        "The entity is live and not ours, and `adopt: never` says to leave it alone.",
    ),
    Code(
        "X2",
        "Protected",
        (
            "`meta.protect` was set: the entity is not deleted. It ends when the entry stands without"
            " it through one apply."
        ),
    ),
    Code(
        "X5",
        "A mark of somebody else",
        ("Another stack says that the entity is its own. It is never written and never deleted from here."),
    ),
    Code(
        "X7",
        "Still marked",
        ("The entity was to be forgotten, and our mark cannot be taken off without losing something else."),
    ),
    Code(
        "A9",
        "In doubt",
        (
            "An earlier write of this entity has no known end. It is settled first, and never sent "
            "again blindly."
        ),
    ),
    Code(
        "D4",
        "Disabled",
        (
            "The service disabled the device after failed pushes. `--reactivate ADDRESS` enables it; "
            "pushes are charged again."
        ),
    ),
    Code(
        "D2",
        "Taken over",
        "The field left the manifests, and somebody else has changed it since. It stays as it is.",
    ),
    Code(
        "A11",
        "Not restored",
        "An undo cannot set this back: nobody kept what it was, or it cannot be sent.",
    ),
)
RULES: Mapping[str, Code] = {one.code: one for one in _RULES}

# Why a plan leaves something alone -> the rule that says so.
SKIPS: Mapping[str, str] = {
    "ambiguous": "M3",
    "protected": "X2",
    "foreign mark": "X5",
    "in doubt": "A9",
    "disabled": "D4",
    "taken over": "D2",
    "not adopted": "M5",
    "still marked": "X7",
    "not restored": "A11",
}
