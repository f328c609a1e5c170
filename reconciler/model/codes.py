"""The catalogue of codes: what each of them means, and a wrong and a right example where a file shows it.

Data alone, one row for each code, in order. It is what `reconciler explain CODE`, docs/errors.md, SARIF and
the HTML report say. Which code something has is not decided here: a code is given where a mistake is found
(`code=` of a Problem), to a class of errors in errors.py (`error_code`), to a rule in docs/planning.md.

A code is never given another meaning, and a code that is gone is not used again.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

# --- One row of the catalogue ---------------------------------------------------------------------


class Code(Struct, frozen=True, kw_only=True):
    """One row of the catalogue: the code, a title, what is checked and why.

    `wrong` and `right` are a manifest below its `version` and `workspace`, or with `roster` the CSV file that
    ROSTER_EXAMPLE names; `wrong` has this mistake and no other. Both are "" where no file shows it.
    """

    code: str
    title: str
    means: str
    wrong: str = ""
    right: str = ""
    roster: bool = False


# What the examples that are CSV files stand beside.
ROSTER_EXAMPLE = """\
rosters:
  - file: staff.csv
    name: "{ID}"
    contacts:
      firstName: "{Name}"
      workEmailAddress1: "{Mail}"
"""


# What ends a command: the classes of errors.py, and a command line that cannot be read.
ERROR_CODES: tuple[Code, ...] = (
    Code(
        code="E001",
        title="Something that was given cannot be used",
        means="Edit what the message names: an option, a file, a value. Nothing was sent.",
    ),
    Code(
        code="E002",
        title="The manifests cannot be used",
        means=(
            "Each mistake is listed with its place and its own code. Nothing is planned from manifests "
            "with mistakes: what could not be read would look deleted."
        ),
    ),
    Code(
        code="E003",
        title="The settings cannot be used",
        means=(
            "Settings decide where credentials go, so nothing is guessed. `reconciler config` shows "
            "every setting and where it comes from."
        ),
    ),
    Code(
        code="E004",
        title="An address or selector that names nothing",
        means=(
            "A misspelt `--only` would select nothing and look like success. `reconciler list` shows "
            "every address."
        ),
    ),
    Code(
        code="E005",
        title="A part that is installed apart is missing",
        means=(
            "What only some need is an extra of the package. `reconciler doctor --offline` shows which "
            "ones are installed here, docs/install.md what each is for."
        ),
    ),
    Code(
        code="E010",
        title="The command failed",
        means="The message says why, and `next` what to do.",
    ),
    Code(
        code="E011",
        title="Refused until a person decides",
        means="The command could go on, and whether it may is not for a program to say.",
    ),
    Code(
        code="E012",
        title="The guard refuses the plan",
        means=(
            "The plan would change more than the limits allow, or rests on an incomplete read. Each "
            "reason has the code of its rule."
        ),
    ),
    Code(
        code="E013",
        title="The plan is not that of now",
        means=(
            "Something changed since the plan was made, or it has expired or was used. What a reviewer "
            "read is what is done, or nothing: plan again."
        ),
    ),
    Code(
        code="E014",
        title="Another run is writing",
        means=(
            "Two runs at once would undo each other's work. `reconciler lock` shows who holds it, "
            "`--lock-timeout` waits."
        ),
    ),
    Code(
        code="E020",
        title="The service did not do what was asked",
        means="The message names the call and the answer.",
    ),
    Code(
        code="E021",
        title="The service did not answer as it should, for now",
        means="Run it again later.",
    ),
    Code(
        code="E022",
        title="The service asked us to slow down",
        means="Lower `service.limits.requests_per_second`, or run it when less else runs.",
    ),
    Code(
        code="E023",
        title="The service cannot be reached",
        means="No answer came, or one that says to try later. `reconciler doctor` looks for the cause.",
    ),
    Code(
        code="E024",
        title="A cache answers in the service's place",
        means="What a cache says may be long past, and nothing is decided by it.",
    ),
    Code(
        code="E025",
        title="A write that was not sent",
        means="It is certain that nothing was done. Run it again.",
    ),
    Code(
        code="E026",
        title="The service refuses for good",
        means="Another try would end the same way.",
    ),
    Code(
        code="E027",
        title="The credentials are refused, or the quota is spent",
        means="The whole run stops: a wrong password that is sent again and again locks accounts.",
    ),
    Code(
        code="E028",
        title="There is nothing at this path",
        means="Check `service.base_url` and the id.",
    ),
    Code(
        code="E029",
        title="The service said no",
        means="It understood the request. Its own code and words are in the message.",
    ),
    Code(
        code="E030",
        title="An answer of an unknown shape",
        means=(
            "It is never read as an empty one. A proxy or a login page may answer in the service's place."
        ),
    ),
    Code(
        code="E031",
        title="A write whose answer is unknown",
        means=(
            "It may have been carried out. It is never sent again blindly: `reconciler resume` looks at "
            "the service and settles it."
        ),
    ),
    Code(
        code="E032",
        title="A directory did not answer as it should",
        means=(
            "A roster comes from it, and nothing is planned from half a source: who was not answered "
            "would look as if they had left. The message says what it did instead."
        ),
    ),
    Code(
        code="E040",
        title="The store cannot be read or written",
        means="Everything stops before the next write: what is not written down could not be settled.",
    ),
    Code(
        code="E041",
        title="A damaged row of the store",
        means="It does not hold what this program writes.",
    ),
    Code(
        code="E042",
        title="A file cannot be read or written",
        means="There is no room, no right, or something is in the way.",
    ),
    Code(
        code="E043",
        title="A signal asked the command to stop",
        means="What was finished is reported; `reconciler resume` continues a run that was writing.",
    ),
    Code(
        code="E044",
        title="A mistake in this program",
        means="The lines below say where. They hold no values, so they can be reported as they are.",
    ),
    Code(
        code="E045",
        title="In CI, what was read is in no commit",
        means=(
            "A manifest that git does not track, a roster that it ignores, a file that was changed: what "
            "nobody reviewed is not applied. What an earlier step makes is named under `commit.generated`."
        ),
    ),
    Code(
        code="E047",
        title="Another consent than that of the plan file",
        means=(
            "A plan file carries the consent that it was reviewed with, as `--allow-deletes 4`, and "
            "`apply FILE` takes it from there. What is said beside it may repeat that and change nothing."
        ),
    ),
    Code(
        code="E170",
        title="In CI, the commit of the repository cannot be read",
        means=(
            "The repository is read without git: references in files, packed or not, and objects "
            "named by SHA-1 or SHA-256. References in a reftable, an extension that is not known and damaged "
            "objects are not read, so nobody knows whether what would be applied is in a commit."
        ),
    ),
    Code(
        code="E064",
        title="The command line cannot be read",
        means="An option or an argument is not known or missing. `--help` shows both.",
    ),
)

# Mistakes in files and values.
PROBLEM_CODES: tuple[Code, ...] = (
    Code(
        code="E100",
        title="Another mistake in a file or a value",
        means="The message says what is wrong and what to do.",
    ),
    Code(
        code="E101",
        title="This is not YAML, or not JSON",
        means=(
            "The file cannot be read from this place on. What stands there is not always what is wrong: "
            "a quotation mark or a bracket may be open since a line above."
        ),
        wrong="""\
contacts:
  jane-doe: {firstName: Jane
""",
        right="""\
contacts:
  jane-doe: {firstName: Jane, workEmailAddress1: jane@example.com}
""",
    ),
    Code(
        code="E102",
        title="A part of YAML that manifests do not have",
        means=(
            "Anchors, aliases, merge keys, tags and several documents in one file are refused: a "
            "reviewer would have to carry them out in the head to know what an entry says."
        ),
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    jobTitle: &title Engineer
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    jobTitle: Engineer
""",
    ),
    Code(
        code="E103",
        title="null",
        means=(
            "An empty value, `~` and `null` do not say which is meant: to leave the field to others, or "
            'to clear it. Leave the key out, or write "".'
        ),
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    jobTitle:
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    jobTitle: ""
""",
    ),
    Code(
        code="E104",
        title="A key twice",
        means="YAML readers take one of the two without a word. Here both places are named.",
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    jobTitle: Engineer
    jobTitle: Manager
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    jobTitle: Manager
""",
    ),
    Code(
        code="E105",
        title="An invisible or unfit character",
        means=(
            "Control characters, invisible line breaks and characters that change the direction of text "
            "are refused, also as escapes: a reviewer would see something else than is sent."
        ),
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    jobTitle: "Engineer\u200e"
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    jobTitle: "Engineer"
""",
    ),
    Code(
        code="E106",
        title="Not UTF-8",
        means="Another encoding would change names. Save the file as UTF-8.",
    ),
    Code(
        code="E107",
        title="A file without a mapping",
        means=(
            "A manifest, settings and a profile are mappings of keys to values and begin with `version: "
            "1`. An empty file would look like one that declares nobody."
        ),
    ),
    Code(
        code="E108",
        title="More than the limit",
        means=(
            "Files, rosters and nesting have limits (docs/manifest.md), so that no file can use up the "
            "memory of the machine. Split the file."
        ),
        wrong="contacts: " + "{a: " * 30 + "x" + "}" * 30 + "\n",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
""",
    ),
    Code(
        code="E109",
        title="A key that is no text",
        means="A key is a name. Quote it.",
    ),
    Code(
        code="E110",
        title="A key in another form of Unicode",
        means=(
            "The same letters can be written in two ways that look alike. Keys are in the composed form "
            "(NFC)."
        ),
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    custom: {cafe\u0301: a}
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    custom: {cafe: a}
""",
    ),
    Code(
        code="E111",
        title="A file that may not be named",
        means=(
            "What a manifest names may become public content of the service. So only files of the "
            "project are read, through no links, and none that hold secrets."
        ),
        wrong="""\
resources:
  team-list:
    name: list.csv
    scope: private
    mimeType: text/csv
    content: {file: ../../list.csv}
""",
        right="""\
resources:
  team-list:
    name: list.csv
    scope: private
    mimeType: text/csv
    content: {text: 'a,b'}
""",
    ),
    Code(
        code="E112",
        title="A file that is not there or cannot be read",
        means="A file that was left out would look like deleted entities, so the run stops.",
        wrong="""\
resources:
  team-list:
    name: list.csv
    scope: private
    mimeType: text/csv
    content: {file: missing.csv}
""",
        right="""\
resources:
  team-list:
    name: list.csv
    scope: private
    mimeType: text/csv
    content: {text: 'a,b'}
""",
    ),
    Code(
        code="E113",
        title="A variable that is not set",
        means=(
            "A manifest takes a value from the environment, and there is none. Nothing would be cleared "
            "for it: the run stops. `validate --without-variables` checks everything else."
        ),
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    jobTitle: ${env:EXAMPLE_NOT_SET}
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
""",
    ),
    Code(
        code="E114",
        title="A variable that manifests may not read",
        means=(
            "Only variables that `variables:` of the settings allows are read, so that a manifest "
            "cannot send the secrets of the machine to the service."
        ),
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    jobTitle: ${env:HOME}
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
""",
    ),
    Code(
        code="E115",
        title="A variable that is empty or holds an invisible character",
        means=(
            "An empty value would clear the field by accident, and a value of several lines is mostly a "
            "secret with its line break. Check how the variable is set."
        ),
    ),
    Code(
        code="E116",
        title="No manifest",
        means=(
            "Nothing was found where the settings look for manifests. A plan of nothing would delete "
            "everything."
        ),
    ),
    Code(
        code="E117",
        title="A file that stands for another one, or is encrypted",
        means=(
            "The checkout holds a pointer of git-lfs or git-annex in the place of the file, or the "
            "file as Ansible Vault, git-crypt, SOPS or OpenSSL encrypted it. Read or sent as it is, "
            "it would replace what is meant."
        ),
    ),
    Code(
        code="E118",
        title="An unresolved merge conflict",
        means=(
            "The markers <<<<<<<, ======= and >>>>>>> stand at the beginning of lines, in this order. "
            "Both sides are in the file, and nobody has said which is meant."
        ),
        wrong="<<<<<<< HEAD\ncontacts: {}\n=======\nresources: {}\n>>>>>>> other\n",
        right="contacts: {}\n",
    ),
    Code(
        code="E119",
        title="A symbolic link as text",
        means=(
            "A checkout without symbolic links writes the path of the other file in the place of "
            "each. That path would be read as the roster, or sent as the content."
        ),
    ),
    Code(
        code="E120",
        title="A text goes on to the left of its key",
        means=(
            "YAML refuses it, and some readers take it all the same: each line of a text in quotes, "
            "and of what is in brackets, is indented by more than the key that it belongs to. Lines "
            "of brackets alone may stand anywhere."
        ),
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    jobTitle: "Night
watch"
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    jobTitle: "Night
      watch"
""",
    ),
    Code(
        code="E121",
        title="A # right behind a value",
        means=(
            "A comment begins with a blank before its #. Without one, readers of YAML do not agree "
            "where the value ends."
        ),
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    jobTitle: "Night watch"# until March
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    jobTitle: "Night watch" # until March
""",
    ),
    Code(
        code="E122",
        title="A text in brackets that begins with ? or is -",
        means=(
            "YAML reads `?jobTitle` there as it stands, and some readers as `jobTitle`; a dash alone "
            "is no text."
        ),
        wrong="""\
contacts:
  jane-doe: {firstName: Jane, ?jobTitle: Engineer, workEmailAddress1: jane@example.com}
""",
        right="""\
contacts:
  jane-doe: {firstName: Jane, jobTitle: Engineer, workEmailAddress1: jane@example.com}
""",
    ),
    Code(
        code="E123",
        title="Bytes that are not UTF-8",
        means=(
            "An argument, a path or the name of a file holds bytes that are no text. No JSON, no "
            "store and no service can hold them, and most tools cannot open such a file."
        ),
    ),
    Code(
        code="E201",
        title="A field that does not exist",
        means=(
            "A misspelt field would be left out without a word. `reconciler schema manifest` has every field."
        ),
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    fristName: Jane
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
""",
    ),
    Code(
        code="E202",
        title="A field is missing",
        means="The service, or the file, needs this field.",
        wrong="""\
resources:
  team-list:
    name: list.csv
    mimeType: text/csv
    content: {text: 'a,b'}
""",
        right="""\
resources:
  team-list:
    name: list.csv
    scope: private
    mimeType: text/csv
    content: {text: 'a,b'}
""",
    ),
    Code(
        code="E203",
        title="Another type of value",
        means=(
            "A mapping or a list stands where text is due, or the other way round. Often it is the "
            "indentation."
        ),
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    jobTitle: [Engineer]
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    jobTitle: Engineer
""",
    ),
    Code(
        code="E204",
        title="None of the possible values",
        means="This field knows a few words, and the message lists them.",
        wrong="""\
resources:
  team-list:
    name: list.csv
    scope: secret
    mimeType: text/csv
    content: {text: 'a,b'}
""",
        right="""\
resources:
  team-list:
    name: list.csv
    scope: private
    mimeType: text/csv
    content: {text: 'a,b'}
""",
    ),
    Code(
        code="E205",
        title="Too long, too short or empty",
        means="The service, or this program, takes no such length.",
        wrong="tags: {team: " + "a" * 300 + "}\n",
        right="""\
tags: {team: a}
""",
    ),
    Code(
        code="E207",
        title="Too many, too few, or one twice",
        means="This list or mapping has limits.",
        wrong="""\
resources:
  team-list:
    name: list.csv
    scope: private
    mimeType: text/csv
    content: {text: a, file: list.csv}
""",
        right="""\
resources:
  team-list:
    name: list.csv
    scope: private
    mimeType: text/csv
    content: {text: 'a,b'}
""",
    ),
    Code(
        code="E208",
        title="A value of another form",
        means=(
            "The schema says how this value is written; the hint has an example. `reconciler schema` "
            "prints it."
        ),
        wrong="""\
contacts:
  Jane Doe:
    workEmailAddress1: jane@example.com
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
""",
    ),
    Code(
        code="E301",
        title="Nothing to recognize the entity by",
        means=(
            "An entity is found again by its identity: after a lost store it would be made a second "
            "time. The settings say which fields count (`identity`)."
        ),
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
""",
    ),
    Code(
        code="E302",
        title="meta.ignore names the identity",
        means=(
            "A field that is ignored may be edited at the service. Then the entity is not recognized "
            "any more."
        ),
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    meta: {ignore: [workEmailAddress1]}
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    meta: {ignore: [firstName]}
""",
    ),
    Code(
        code="E303",
        title="Two entries with one identity",
        means="Both would be matched to the same live entity, and overwrite each other.",
        wrong="""\
contacts:
  jane-doe: {workEmailAddress1: jane@example.com}
  john-doe: {workEmailAddress1: JANE@example.com}
""",
        right="""\
contacts:
  jane-doe: {workEmailAddress1: jane@example.com}
  john-doe: {workEmailAddress1: john@example.com}
""",
    ),
    Code(
        code="E304",
        title="One push token under two contacts",
        means="A phone belongs to one contact: pushes to either would reach it.",
        wrong="""\
contacts:
  p0:
    workEmailAddress1: p0@example.com
    devices:
      phone:
        deviceName: Phone
        appId: com.example.oncall
        platform: GCM
        deviceOS: a
        deviceModel: b
        pushToken: token-1
  p1:
    workEmailAddress1: p1@example.com
    devices:
      phone:
        deviceName: Phone
        appId: com.example.oncall
        platform: GCM
        deviceOS: a
        deviceModel: b
        pushToken: token-1
""",
        right="""\
contacts:
  p0:
    workEmailAddress1: p0@example.com
    devices:
      phone:
        deviceName: Phone
        appId: com.example.oncall
        platform: GCM
        deviceOS: a
        deviceModel: b
        pushToken: token-1
  p1:
    workEmailAddress1: p1@example.com
    devices:
      phone:
        deviceName: Phone
        appId: com.example.oncall
        platform: GCM
        deviceOS: a
        deviceModel: b
        pushToken: token-2
""",
    ),
    Code(
        code="E305",
        title="Too many devices of one app",
        means="The service allows a contact so many devices of one app (`device_limit` of the settings).",
    ),
    Code(
        code="E306",
        title="A messaging option names a field that is not there",
        means="The channel would have no address to send to.",
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    messagingOptions: {sms: {enabled: true, primary: WorkMobilePhone1}}
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    workMobilePhone1: '+61491570156'
    messagingOptions: {sms: {enabled: true, primary: WorkMobilePhone1}}
""",
    ),
    Code(
        code="E307",
        title="The ownership mark is written by this program",
        means=(
            "`ownership.mark` of the settings names this field; by its value other runs see whose the "
            "entity is."
        ),
    ),
    Code(
        code="E308",
        title="A custom field with the prefix of searches",
        means=(
            "Only searches write `custom_` before the name. The field would have another name than is meant."
        ),
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    custom: {custom_employeeId: '17'}
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    custom: {employeeId: '17'}
""",
    ),
    Code(
        code="E309",
        title="A former name that is in use",
        means="`meta.renamedFrom` carries the record of one old name to one new entry.",
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    meta: {renamedFrom: jane-doe}
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    meta: {renamedFrom: jane-roe}
""",
    ),
    Code(
        code="E310",
        title="A name that is declared twice",
        means=("Two entries of one kind and workspace have the same address. Nobody knows which one counts."),
    ),
    Code(
        code="E311",
        title="A workspace that the settings do not know",
        means="Aliases of workspaces stand in the settings. A misspelt one would make a second team.",
    ),
    Code(
        code="E312",
        title="A kind that belongs to the account",
        means="Callbacks are not of one workspace. Declare them in a manifest of the default workspace.",
        wrong="""\
callbacks: {}
""",
    ),
    Code(
        code="E313",
        title="A media type that a private resource cannot have",
        means="The service takes CSV, JSON and XML there.",
        wrong="""\
resources:
  team-list:
    name: list.csv
    scope: private
    mimeType: image/png
    content: {text: 'a,b'}
""",
        right="""\
resources:
  team-list:
    name: list.csv
    scope: private
    mimeType: text/csv
    content: {text: 'a,b'}
""",
    ),
    Code(
        code="E314",
        title="A name that belongs to the lock",
        means="Runs keep their lock in resources with such names, and remove what they take for dead.",
    ),
    Code(
        code="E316",
        title="Removed, and still declared",
        means="An entry cannot leave and stay. Take one of the two lines out.",
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
removed: {contacts: [jane-doe]}
""",
        right="""\
removed: {contacts: [jane-doe]}
""",
    ),
    Code(
        code="E401",
        title="A telephone number that cannot be right",
        means=(
            "No network can reach it. Write the number with + and the country code, or set `checks.region`."
        ),
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    workMobilePhone1: call me maybe
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    workMobilePhone1: '+61491570156'
""",
    ),
    Code(
        code="E402",
        title="An e-mail address that cannot be right",
        means="Nothing could be delivered to it.",
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    workEmailAddress2: nobody
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    workEmailAddress2: jane.doe@example.com
""",
    ),
    Code(
        code="E403",
        title="A time zone that does not exist",
        means="The service takes names of the time zone database. An offset does not know summer time.",
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    timezone: Australia/Melburne
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    timezone: Australia/Melbourne
""",
    ),
    Code(
        code="E405",
        title="A value that a spreadsheet has damaged",
        means=(
            "4.47701E+11 was a number, and its digits are lost. Format the column as text and enter it again."
        ),
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    workMobilePhone1: 4.47701E+11
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    workMobilePhone1: '+447700900460'
""",
    ),
    Code(
        code="E406",
        title="Content that is not what its type says",
        means="Programs that read the resource would fail. The message says where it begins to be wrong.",
        wrong="""\
resources:
  team-list:
    name: list.json
    scope: private
    mimeType: application/json
    content: {text: '{'}
""",
        right="""\
resources:
  team-list:
    name: list.json
    scope: private
    mimeType: application/json
    content: {text: '{}'}
""",
    ),
    Code(
        code="E407",
        title="A telephone number with a sign that none has",
        means=(
            "It has `+`, the digits 0-9, `( ) - . /` and blanks. What a gateway makes of the rest "
            "nobody knows."
        ),
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    workCountry: Australia
    workMobilePhone1: '="0491570156"'
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    workCountry: Australia
    workMobilePhone1: '0491 570 156'
""",
    ),
    Code(
        code="E408",
        title="A telephone number with a zero behind its country code",
        means=(
            "It is dialled within the country alone. Where it belongs to the number, as in Italy, it "
            "is right."
        ),
        wrong="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    workMobilePhone1: '+61 (0)491 570 156'
""",
        right="""\
contacts:
  jane-doe:
    firstName: Jane
    workEmailAddress1: jane@example.com
    workMobilePhone1: '+61 491 570 156'
""",
    ),
    Code(
        code="E409",
        title="A separator that is not read",
        means=(
            "A first line `sep=;` says what stands between the cells. Commas, semicolons, tabs and | "
            "are read."
        ),
        wrong="""\
sep=:
ID:Name:Mail
1:Jane:jane@example.com
""",
        right="""\
sep=;
ID;Name;Mail
1;Jane;jane@example.com
""",
        roster=True,
    ),
    Code(
        code="E501",
        title="A row with too many or too few cells",
        means=(
            "Nobody knows which cell is which. Mostly a cell holds the delimiter and has no quotation marks."
        ),
        wrong="""\
ID,Name,Mail
1,Doe, Jane,jane@example.com
""",
        right="""\
ID,Name,Mail
1,"Doe, Jane",jane@example.com
""",
        roster=True,
    ),
    Code(
        code="E502",
        title="A header that does not name its columns",
        means="Templates take cells by the names of columns: each has one, and no two have the same.",
        wrong="""\
ID,Name,Mail,
1,Jane,jane@example.com,Sydney
""",
        right="""\
ID,Name,Mail,City
1,Jane,jane@example.com,Sydney
""",
        roster=True,
    ),
    Code(
        code="E503",
        title="A row without a usable name",
        means="Each row becomes an entry, and its `name` template makes nothing that a name may be.",
        wrong="""\
ID,Name,Mail
,Jane,jane@example.com
""",
        right="""\
ID,Name,Mail
1,Jane,jane@example.com
""",
        roster=True,
    ),
    Code(
        code="E504",
        title="A row whose name is taken",
        means="Two rows make the same name. Build `name` from a column that differs in every row.",
        wrong="""\
ID,Name,Mail
1,Jane,jane@example.com
1,John,john@example.com
""",
        right="""\
ID,Name,Mail
1,Jane,jane@example.com
2,John,john@example.com
""",
        roster=True,
    ),
    Code(
        code="E505",
        title="This is not CSV",
        means="A quotation mark is open to the end of the file, or stands in the middle of a cell.",
        wrong="""\
ID,Name,Mail
1,"Jane,jane@example.com
""",
        right="""\
ID,Name,Mail
1,Jane,jane@example.com
""",
        roster=True,
    ),
    Code(
        code="E506",
        title="A cell that is neither yes nor no",
        means="This field is on or off. Write yes or no, true or false.",
    ),
    Code(
        code="E507",
        title="A template that names no column",
        means=(
            "A field would be empty for everybody. The message lists the columns, or the one that was meant."
        ),
        wrong="""\
ID,Nmae,Mail
1,Jane,jane@example.com
""",
        right="""\
ID,Name,Mail
1,Jane,jane@example.com
""",
        roster=True,
    ),
    Code(
        code="E509",
        title="An invisible character in a cell",
        means=(
            "Control characters, invisible line breaks and characters that change the direction of text "
            "are refused: two names that look alike would differ."
        ),
        wrong="""\
ID,Name,Mail
1,Ja\u200ene,jane@example.com
""",
        right="""\
ID,Name,Mail
1,Jane,jane@example.com
""",
        roster=True,
    ),
    Code(
        code="E510",
        title="A cell of a spreadsheet that holds no text",
        means=(
            "The result of a formula is what some program computed last, an error shows as nothing, a "
            "telephone number becomes a date or loses digits by itself, and a format shows 50% for 0.5. So "
            "a field takes from none of them. Format the column as text, and paste its values."
        ),
    ),
    Code(
        code="E511",
        title="A spreadsheet of which nothing is read",
        means=(
            "It is damaged, encrypted, of another kind, larger than it looks, or nobody says which of "
            "its sheets is meant. People that were left out would look like deleted ones: half of it is "
            "never read."
        ),
    ),
    Code(
        code="E512",
        title="A roster in JSON that is no list of objects",
        means=(
            "Each object is a person, and each key of it a column. Anything else may be half of "
            "somebody: nothing of the file is read."
        ),
    ),
    Code(
        code="E513",
        title="A file that changes while it is read",
        means=(
            "Two of its sheets would be of two different files. Run the command again once whatever "
            "writes it has ended."
        ),
    ),
    Code(
        code="E514",
        title="A directory that cannot be taken from",
        means=(
            "It is down, refuses, answers half or too much, or its statement is none that reads. The "
            "message says which, and where the settings describe it."
        ),
    ),
    Code(
        code="E515",
        title="A directory that returns no rows, or that the settings do not describe",
        means=(
            "An empty answer is mostly a filter or a right that is missing. To declare nobody by a "
            "directory, take it out of the manifest."
        ),
    ),
)

# What a plan refuses or leaves alone, by the names that rules have in docs/planning.md.
RULE_CODES: tuple[Code, ...] = (
    Code(
        code="A1",
        title="The plan is not that of now",
        means=(
            "Something changed since it was made, or it has expired or was used. A report names every "
            "change that is another one now. Plan again, and review it."
        ),
    ),
    Code(
        code="A9",
        title="In doubt",
        means=(
            "An earlier write of this entity has no known end. It is settled first, and never sent "
            "again blindly."
        ),
    ),
    Code(
        code="A11",
        title="Not restored",
        means="An undo cannot set this back: nobody kept what it was, or it cannot be sent.",
    ),
    Code(
        code="C1",
        title="A change that this deployment does not offer",
        means="`capabilities` of the profile say so. `--except` leaves such changes out.",
    ),
    Code(
        code="C2",
        title="The placeholder of an export as content",
        means="`export` cannot read content back and writes a placeholder. Put the real file there.",
    ),
    Code(
        code="D2",
        title="Taken over",
        means="The field left the manifests, and somebody else has changed it since. It stays as it is.",
    ),
    Code(
        code="D4",
        title="Disabled",
        means=(
            "The service disabled the device after failed pushes. `--reactivate ADDRESS` enables it; "
            "pushes are charged again."
        ),
    ),
    Code(
        code="G1",
        title="Too many deletes",
        means=(
            "More than 25 deletes, more than 20 % of what is owned of one kind and workspace, or none "
            "would be left. Mostly a file is missing. `--allow-deletes N` allows them for one run."
        ),
    ),
    Code(
        code="G2",
        title="Too many creates of what seems gone, or too many updates",
        means=(
            "The read was probably short, or a default changed for everybody. `--allow-creates N` and "
            "`--allow-updates N` allow them for one run."
        ),
    ),
    Code(
        code="G4",
        title="Deletes after an incomplete read",
        means="What was not read looks as if it were not there. No option lifts it; plan again.",
    ),
    Code(
        code="G5",
        title="Deletes of what existed before",
        means=(
            "More than 3 of the entities to delete were adopted: somebody else made them. "
            "`--allow-deletes N` allows them."
        ),
    ),
    Code(
        code="G6",
        title="A delete of something that others may be using",
        means=(
            "Messages on their way may name a callback, and nobody can see whether there are any. "
            "`--allow-deletes N` allows it."
        ),
    ),
    Code(
        code="G7",
        title="A directory that answers far fewer people than before",
        means=(
            "More than 20 % of the rows of the last apply are missing: a filter, a right or half an "
            "answer. Who is missing would be deleted. `--allow-fewer-rows N` allows it for one run."
        ),
    ),
    Code(
        code="G8",
        title="A move that loses what others have written",
        means=(
            "A contact is deleted in one workspace and made in another, and live fields or devices that no "
            "manifest declares would be lost. `meta.carryOver` copies fields, `--allow-moves N` allows it."
        ),
    ),
    Code(
        code="M3",
        title="Ambiguous",
        means=(
            "Several live entities match the declared one by its identity. None of them is changed "
            "until one is left."
        ),
    ),
    Code(
        code="M5",
        title="Not adopted",
        means="The entity is live and not ours, and `adopt: never` says to leave it alone.",
    ),
    Code(
        code="M8",
        title="Contradicted",
        means=(
            "The service says two things about an id in one read: a look finds nothing and the list shows "
            "it, or a look shows another entity. Nothing is written or forgotten until the two agree, or a "
            "person decides: `reconciler adopt ADDRESS`, `reconciler forget ADDRESS`."
        ),
    ),
    Code(
        code="M9",
        title="Somebody else",
        means=(
            "The recorded id shows another identity, and most else of it has changed: the entity may have "
            "been used anew for somebody else. `--confirm-same ADDRESS` says that it is the same; "
            "`reconciler forget ADDRESS` lets it go."
        ),
    ),
    Code(
        code="X2",
        title="Protected",
        means=(
            "`meta.protect` was set: the entity is not deleted. It ends when the entry stands without "
            "it through one apply."
        ),
    ),
    Code(
        code="X5",
        title="A mark of somebody else",
        means=(
            "Another stack says that the entity is its own. It is never written and never deleted from here."
        ),
    ),
    Code(
        code="X7",
        title="Still marked",
        means=(
            "The entity was to be forgotten, and our mark cannot be taken off without losing something else."
        ),
    ),
    Code(
        code="X8",
        title="Recorded at another address of the same service",
        means=(
            "`service.base_url` is spelt anew, and what the plan would adopt is recorded under the old one. "
            "`--same-service` takes those records over; without them nobody who leaves would be deleted."
        ),
    ),
    Code(
        code="E160",
        title="A create without a secret that it needs",
        means=(
            "An existing device is managed without its push token, and none can be made without one. "
            "Declare it, or take the entry out. Until then everything else of the plan is done, and it "
            "ends with 5."
        ),
    ),
    Code(
        code="E161",
        title="A move without a secret that it needs",
        means=(
            "A move deletes in one place and creates in another. Without its push token declared a device "
            "would be deleted and not be made again, so nothing of the move is done."
        ),
    ),
    Code(
        code="E162",
        title="A deleted entity whose secret is not kept",
        means=(
            "Nothing keeps a push token, so no undo can make the device again. Revert the commit, declare "
            "the token, plan and apply."
        ),
    ),
    Code(
        code="E163",
        title="A write that would lose a secret",
        means=(
            "A PUT replaces everything. The look right before it shows no push token of the device, or a "
            "mask in its place, and none is declared. Nothing was sent for that device; declare its token "
            "to write it."
        ),
    ),
    Code(
        code="E164",
        title="A secret that is not shown as it was",
        means=(
            "The write carried the push token that the look before it showed, and the look after it shows "
            "another one or none. Somebody may have set it at that moment, or the service has lost it: "
            "look at that device at once."
        ),
    ),
    Code(
        code="E165",
        title="A write without a secret under meta.ignore",
        means=(
            "What nobody compares needs no variable, until something is written: that write would remove "
            "a key which cannot be read back. Set its variable for the command that writes it."
        ),
    ),
    Code(
        code="E181",
        title="A file of secrets that cannot be opened",
        means=(
            "A file that `secrets.files` of the settings names is encrypted, and this command has no "
            "private key, or not one of its recipients; or the file is damaged. Manifests ask for a variable "
            "that the environment does not have. `validate --without-variables` checks everything else."
        ),
    ),
    Code(
        code="E182",
        title="A line of a file of secrets that cannot be used",
        means=(
            "Each line is `NAME='value'`, as a shell reads it and without anything that a shell would "
            "expand; a name occurs once, and `variables:` of the settings allows it. No line is quoted, "
            "for it holds a secret: the number is that of the decrypted text."
        ),
    ),
    Code(
        code="E183",
        title="A file of secrets in plain text that others may have",
        means=(
            "Without encryption nobody but you may read or write such a file, and inside a repository git "
            "has to ignore it, so that no commit holds it."
        ),
    ),
)

# By code, in the order of letters and numbers.
CODES: Mapping[str, Code] = {
    one.code: one
    for one in sorted(
        (*ERROR_CODES, *PROBLEM_CODES, *RULE_CODES), key=lambda one: (one.code[0], int(one.code[1:]))
    )
}

# Why a plan leaves something alone -> the rule that says so.
SKIP_CODES: Mapping[str, str] = {
    "ambiguous": "M3",
    "protected": "X2",
    "foreign mark": "X5",
    "in doubt": "A9",
    "disabled": "D4",
    "taken over": "D2",
    "not adopted": "M5",
    "contradicted": "M8",
    "somebody else": "M9",
    "still marked": "X7",
    "not restored": "A11",
    "undeclared secret": "E160",
    "gone without its secret": "E160",
    "move without its secret": "E161",
    "secret not kept": "E162",
    "unset variable": "E165",
}


def find_codes_near(code: str) -> Iterable[str]:
    """Return the codes that begin as this one does."""
    return [known for known in CODES if known[:2] == code[:2]]
