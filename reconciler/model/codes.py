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
        title="Invalid input",
        means="Edit what the message names: an option, a file or a value. Nothing was sent.",
    ),
    Code(
        code="E002",
        title="The manifests have errors",
        means=(
            "Each error is listed with its place and its own code. Nothing is planned from manifests "
            "with errors: an entry that could not be read would look deleted."
        ),
    ),
    Code(
        code="E003",
        title="The settings have errors",
        means=(
            "Settings decide where credentials go, so nothing is guessed. `reconciler config` shows "
            "every setting and where it comes from."
        ),
    ),
    Code(
        code="E004",
        title="An address or a selector matches nothing",
        means=(
            "A misspelt `--only` would select nothing and look like success. `reconciler list` shows "
            "every address."
        ),
    ),
    Code(
        code="E005",
        title="An optional part is not installed",
        means=(
            "Features that only some users need are extras of the package. `reconciler doctor "
            "--offline` shows which extras are installed here, docs/install.md what each is for."
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
        means="The command could continue, but a person has to decide whether it may.",
    ),
    Code(
        code="E012",
        title="The guard refuses the plan",
        means=(
            "The plan would change more than the limits allow, or is based on an incomplete read. "
            "Each reason has the code of its rule."
        ),
    ),
    Code(
        code="E013",
        title="The plan is out of date",
        means=(
            "Something changed since the plan was made, or the plan has expired or was used. Only "
            "what a reviewer has read is done: plan again."
        ),
    ),
    Code(
        code="E014",
        title="Another run is writing",
        means=(
            "Two runs at once would undo each other's work. `reconciler lock` shows who holds the "
            "lock; with `--lock-timeout SECONDS`, a command waits for the lock."
        ),
    ),
    Code(
        code="E020",
        title="A call to the service failed",
        means="The message names the call and the answer.",
    ),
    Code(
        code="E021",
        title="The service has a temporary problem",
        means="Run the command again later.",
    ),
    Code(
        code="E022",
        title="The service asked us to slow down",
        means=(
            "Lower `service.limits.requests_per_second`, or run the command when fewer others use the "
            "service."
        ),
    ),
    Code(
        code="E023",
        title="The service cannot be reached",
        means=(
            "There was no answer, or one that says to try later. `reconciler doctor` looks for the cause."
        ),
    ),
    Code(
        code="E024",
        title="A cache answered instead of the service",
        means="A cached answer may be out of date, so nothing is decided by it.",
    ),
    Code(
        code="E025",
        title="A write was not sent",
        means="It is certain that nothing was changed. Run the command again.",
    ),
    Code(
        code="E026",
        title="The service refuses permanently",
        means="Another attempt would end the same way.",
    ),
    Code(
        code="E027",
        title="The credentials are refused, or the quota is used up",
        means="The whole run stops: sending a wrong password again and again locks accounts.",
    ),
    Code(
        code="E028",
        title="Nothing was found at this path",
        means="Check `service.base_url` and the id.",
    ),
    Code(
        code="E029",
        title="The service rejected the request",
        means=(
            "The service understood the request and refused it. The code and text of the service are "
            "in the message."
        ),
    ),
    Code(
        code="E030",
        title="An answer has an unknown form",
        means=(
            "Such an answer is never taken for an empty one. A proxy or a login page may have "
            "answered instead of the service."
        ),
    ),
    Code(
        code="E031",
        title="The outcome of a write is unknown",
        means=(
            "The write may have been carried out, so it is not simply sent again: `reconciler resume` "
            "first looks at the service."
        ),
    ),
    Code(
        code="E032",
        title="A directory gave an invalid answer",
        means=(
            "A roster comes from this directory, and nothing is planned from an incomplete source: "
            "people who are missing from the answer would look as if they had left. The message says "
            "what the directory did."
        ),
    ),
    Code(
        code="E040",
        title="The store cannot be read or written",
        means=(
            "The run stops before the next write to the service. If a write is not recorded in the "
            "store, nobody can find out later what became of it."
        ),
    ),
    Code(
        code="E041",
        title="A row of the store is damaged",
        means=("A row of the store does not have the content that this program writes there."),
    ),
    Code(
        code="E042",
        title="A file cannot be read or written",
        means="The disk is full, a permission is missing, or another file is in the way.",
    ),
    Code(
        code="E043",
        title="A signal asked the command to stop",
        means="What was finished is reported; `reconciler resume` continues a run that was writing.",
    ),
    Code(
        code="E044",
        title="A bug in this program",
        means="The lines below say where. They hold no values, so you can report them as they are.",
    ),
    Code(
        code="E045",
        title="In CI, a file that was read is not in the commit",
        means=(
            "For example, git does not track a manifest, git ignores a roster, or a file was changed "
            "after the commit. What was not reviewed is not applied. If an earlier step of the job "
            "makes a file, list the file under `commit.generated` in the settings."
        ),
    ),
    Code(
        code="E047",
        title="The consent differs from that of the plan file",
        means=(
            "A plan file carries the consent that it was reviewed with, such as `--allow-deletes 4`, "
            "and `apply FILE` uses it. Options on the command line may repeat this consent, but not "
            "change it."
        ),
    ),
    Code(
        code="E170",
        title="In CI, the commit of the repository cannot be read",
        means=(
            "This program reads a repository without git. It reads references that are files, packed "
            "or not, and objects named by SHA-1 or SHA-256. It does not read references in a "
            "reftable, unknown extensions or damaged objects. So it is not known whether a commit "
            "holds what would be applied."
        ),
    ),
    Code(
        code="E190",
        title="The commit does not descend from the one that was applied last",
        means=(
            "`sync` follows a history: after a force-push, on another branch, or on a runner with an old "
            "checkout it would take back what was applied. In a shallow clone the history is not there: "
            "fetch all of it (`fetch-depth: 0`). `--allow-rewind` applies the commit all the same."
        ),
    ),
    Code(
        code="E191",
        title="The commit is not signed by an allowed signer",
        means=(
            "`policy.signed_by` names the file of those who may sign. The bytes of the commit are checked "
            "by ssh-keygen or gpg, without the settings of the repository."
        ),
    ),
    Code(
        code="E184",
        title="A plan does not have the approval that it needs",
        means=(
            "An approval is for one plan of one stack, is used once, and expires. "
            "`reconciler approvals list` shows what was asked and what was answered."
        ),
    ),
    Code(
        code="E188",
        title="A run that is not known",
        means=(
            "`reconciler undo RUN` takes the id of a run of this stack, or its first characters where only "
            "one run has them. `reconciler history` shows the ids."
        ),
    ),
    Code(
        code="E189",
        title="A run that cannot be undone",
        means=(
            "It wrote nothing, has not ended or is an undo itself; or the store keeps its undo no longer "
            "(`undo_days` of the settings, the last 20 runs, at most 10,000 changes). Revert the commit, and "
            "apply."
        ),
    ),
    Code(
        code="E064",
        title="The command line cannot be read",
        means="An option or an argument is unknown or missing. `--help` lists them.",
    ),
)

# Mistakes in files and values.
PROBLEM_CODES: tuple[Code, ...] = (
    Code(
        code="E100",
        title="Another error in a file or a value",
        means="The message says what is wrong and what to do.",
    ),
    Code(
        code="E101",
        title="Not valid YAML or JSON",
        means=(
            "The file cannot be read beyond this place. The cause may stand earlier: a line above may "
            "open a quotation mark or a bracket that is never closed."
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
        title="YAML that manifests do not support",
        means=(
            "Anchors, aliases, merge keys, tags and several documents in one file are refused: with "
            "them, a reviewer would not see directly what an entry says."
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
        title="null is not allowed",
        means=(
            "An empty value, `~` and `null` could mean two things: to leave the field to others, or "
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
        title="A duplicate key",
        means="YAML readers silently use one of the two. The message names both places.",
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
        title="An invisible or forbidden character",
        means=(
            "Control characters, invisible line breaks and characters that change the direction of "
            "text are refused, also as escapes: a reviewer would not see what is sent."
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
        title="The file is not a mapping",
        means=(
            "Manifests, settings and profiles are mappings of keys to values and begin with `version: "
            "1`. An empty file would look like one that declares nothing."
        ),
    ),
    Code(
        code="E108",
        title="A limit is exceeded",
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
        title="A key is not text",
        means=("A key is a name, and a name is text. Write the key in quotes."),
    ),
    Code(
        code="E110",
        title="A key is not in the composed form of Unicode",
        means=(
            "The same letters can be written in two ways that look alike. Write keys in the composed "
            "form (NFC)."
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
        title="A file that manifests may not name",
        means=(
            "The content of a named file may become public at the service. So only files inside the "
            "project are read. Links are not followed, and files that hold secrets are refused."
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
        title="A file is missing or cannot be read",
        means="If the file were skipped, its entities would look deleted, so the run stops.",
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
        title="A variable is not set",
        means=(
            "A manifest takes a value from this variable. The run stops, because a missing value must "
            "not clear the field. `validate --without-variables` checks everything else."
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
            "Only variables that `variables:` in the settings allows are read, so that a manifest "
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
        title="A variable is empty or holds an invisible character",
        means=(
            "An empty value would clear the field by accident, and a value of several lines is "
            "usually a secret with its line break. Check how the variable is set."
        ),
    ),
    Code(
        code="E116",
        title="No manifest was found",
        means=(
            "There is no file where the settings look for manifests. A plan without manifests would "
            "delete everything."
        ),
    ),
    Code(
        code="E117",
        title="A file is a pointer to another one, or encrypted",
        means=(
            "The checkout holds a pointer of git-lfs or git-annex instead of the file, or the file is "
            "encrypted with Ansible Vault, git-crypt, SOPS or OpenSSL. If such a file were read or "
            "sent as it is, it would replace the real content."
        ),
    ),
    Code(
        code="E118",
        title="An unresolved merge conflict",
        means=(
            "The markers <<<<<<<, ======= and >>>>>>> stand at the beginning of lines, in this order. "
            "The file holds both sides of the conflict, and the program cannot know which one is "
            "right."
        ),
        wrong="<<<<<<< HEAD\ncontacts: {}\n=======\nresources: {}\n>>>>>>> other\n",
        right="contacts: {}\n",
    ),
    Code(
        code="E119",
        title="A symbolic link was checked out as text",
        means=(
            "A checkout without symbolic links writes the path of the target instead of each link. "
            "That path would be read as the roster, or sent as the content."
        ),
    ),
    Code(
        code="E120",
        title="A text continues to the left of its key",
        means=(
            "YAML does not allow this, and some readers accept it anyway. If a quoted text or a value "
            "in brackets has several lines, indent each line by more than its key. Only a line with "
            "nothing but brackets may be indented less."
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
        title="A # directly after a value",
        means=(
            "A comment needs a blank before its #. Without one, YAML readers do not agree where the "
            "value ends."
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
            "In brackets, YAML takes `?jobTitle` as it is written, but some readers drop the question "
            "mark. A dash alone is not text. Put such a text in quotes."
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
            "An argument, a path or the name of a file holds bytes that are not text. JSON, the store "
            "and the service cannot hold them, and most tools cannot open such a file."
        ),
    ),
    Code(
        code="E201",
        title="An unknown field",
        means=(
            "A misspelt field would silently be left out. `reconciler schema manifest` lists every field."
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
        title="A required field is missing",
        means=("The service needs this field, or the format of this file does."),
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
        title="A value of the wrong type",
        means=(
            "A mapping or a list stands where text is expected, or the other way round. Often the "
            "indentation is wrong."
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
        title="A value that is not in the list",
        means="This field takes only a few words. The message lists them.",
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
        means="The service, or this program, does not take a value of this length.",
        wrong="tags: {team: " + "a" * 300 + "}\n",
        right="""\
tags: {team: a}
""",
    ),
    Code(
        code="E207",
        title="Too many, too few, or a duplicate",
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
        title="A value in the wrong form",
        means=(
            "The value does not have the form of its field; the hint has an example. `reconciler schema` "
            "prints the form where the schema has it."
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
        title="No identity field",
        means=(
            "An entity is found again by its identity. Without one, it would be created a second time "
            "after the store is lost. The settings say which fields count (`identity`)."
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
            "Anybody may edit an ignored field at the service. If this field is the identity, the "
            "entity is then no longer recognized."
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
        title="Two entries have the same identity",
        means="Both would match the same live entity, and overwrite each other.",
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
        title="Two contacts have the same push token",
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
        means=(
            "The service limits the devices of one app that a contact may have (`device_limit` in the "
            "settings)."
        ),
    ),
    Code(
        code="E306",
        title="A messaging option names a missing field",
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
            "`ownership.mark` in the settings names this field. The value that this program writes "
            "there tells other runs which stack owns the entity."
        ),
    ),
    Code(
        code="E308",
        title="A custom field with the prefix custom_",
        means=(
            "The prefix `custom_` is used in searches only. With the prefix, the field would get "
            "another name than you intend."
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
        title="A former name is still in use",
        means=(
            "`meta.renamedFrom` moves the record of an old name to one new entry. So no entry may "
            "still have the old name, and only one entry may give it as its former name."
        ),
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
        title="A name is declared twice",
        means=(
            "Two entries of one kind and workspace have the same address. The program cannot know "
            "which one is valid."
        ),
    ),
    Code(
        code="E311",
        title="An unknown workspace",
        means=("The settings list the aliases of workspaces. A misspelt alias would create a second team."),
    ),
    Code(
        code="E312",
        title="A kind that belongs to the account",
        means=(
            "Callbacks do not belong to one workspace. Declare them in a manifest of the default workspace."
        ),
        wrong="""\
callbacks: {}
""",
    ),
    Code(
        code="E313",
        title="A media type that a private resource cannot have",
        means="For private resources the service takes CSV, JSON and XML.",
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
        title="A name that is reserved for the lock",
        means=(
            "Runs keep their lock in resources with such names. A run deletes such a resource if the "
            "run that made it seems to be dead."
        ),
    ),
    Code(
        code="E316",
        title="An entry is both removed and declared",
        means="Delete one of the two lines.",
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
        code="E317",
        title="A consent that cannot count",
        means=(
            "`consent:` names addresses of its own workspace, one by one, with an end that can be judged. "
            "Patterns and variables are refused: what was reviewed is what counts."
        ),
        wrong="""\
contacts: {}
consent:
  - delete: [contact/ops/*]
    until: 2026-12-15
    reason: left the company
""",
        right="""\
contacts: {}
consent:
  - delete: [contact/ops/jane-doe]
    until: 2026-12-15
    reason: left the company
""",
    ),
    Code(
        code="E318",
        title="A consent that stands twice",
        means="It is not known which end and which reason count. Delete one of the two lines.",
    ),
    Code(
        code="E401",
        title="An invalid phone number",
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
        title="An invalid e-mail address",
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
        title="An unknown time zone",
        means=("The service takes names of the time zone database. An offset does not include summer time."),
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
        title="Content that does not match its type",
        means=("Programs that read the resource would fail. The message says where the content goes wrong."),
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
        title="A phone number with a character that phone numbers do not have",
        means=(
            "A phone number has `+`, the digits 0-9, `( ) - . /` and blanks. It is not known what a "
            "gateway makes of other characters."
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
        title="A phone number with a zero after its country code",
        means=(
            "This zero is dialled only within the country. In a country where the zero is part of the "
            "number, such as Italy, it is accepted."
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
        title="A separator that is not supported",
        means=(
            "A first line `sep=;` names the character between the cells. Commas, semicolons, tabs and "
            "| are supported."
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
            "It is not clear which cell belongs to which column. Usually a cell holds the delimiter "
            "and has no quotation marks."
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
        title="A header does not name its columns",
        means=(
            "Templates refer to cells by the names of their columns: each column needs a name, and no "
            "two may have the same."
        ),
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
        means="Each row becomes an entry. The `name` template makes no valid name from this row.",
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
        title="Two rows have the same name",
        means=(
            "The `name` template makes the same name from two rows. Build it from a column that "
            "differs in every row."
        ),
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
        title="Not valid CSV",
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
        title="A cell is neither yes nor no",
        means="This field is on or off. Write yes or no, true or false.",
    ),
    Code(
        code="E507",
        title="A template names an unknown column",
        means=("The field would be empty in every entry. The message lists the columns, or suggests one."),
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
        title="A cell of a spreadsheet is not text",
        means=(
            "A cell that is not text may hold something else than it shows: the last result of a "
            "formula, an error that looks empty, a phone number that became a date or lost digits, or "
            "0.5 that is shown as 50%. So no field is taken from such a cell. Format the column as "
            "text, and paste its values."
        ),
    ),
    Code(
        code="E511",
        title="A spreadsheet that cannot be read",
        means=(
            "The file is damaged, encrypted, of another type or larger than it looks; or it has "
            "several sheets and the manifest names none of them. People who were left out would look "
            "deleted, so a spreadsheet is never read in part."
        ),
    ),
    Code(
        code="E512",
        title="A roster in JSON is not a list of objects",
        means=(
            "Each object is a person, and each key is a column. Anything else may be an incomplete "
            "person, so nothing of the file is read."
        ),
    ),
    Code(
        code="E513",
        title="A file changed while it was read",
        means=(
            "Two of its sheets could be from two versions of the file. Run the command again when the "
            "program that writes it has finished."
        ),
    ),
    Code(
        code="E514",
        title="A directory cannot be read",
        means=(
            "The directory is down, refuses access, or sends too little or too much; or the statement "
            "in the settings is not a query. The message says what happened, and where the settings "
            "describe the directory."
        ),
    ),
    Code(
        code="E515",
        title="A directory returns no rows, or is not in the settings",
        means=(
            "An empty answer usually means a wrong filter or a missing permission. If a directory "
            "should declare nobody, remove it from the manifest."
        ),
    ),
)

# What a plan refuses or leaves alone, by the names that rules have in docs/planning.md.
RULE_CODES: tuple[Code, ...] = (
    Code(
        code="A1",
        title="The plan is out of date",
        means=(
            "Something changed since the plan was made, or the plan has expired or was already used. "
            "A report names every change that differs now. Plan again, and review the new plan."
        ),
    ),
    Code(
        code="A9",
        title="In doubt",
        means=(
            "It is not known whether an earlier write of this entity took effect. `apply` and "
            "`resume` first look at the service, and only then decide whether to send the write "
            "again."
        ),
    ),
    Code(
        code="A11",
        title="Not restored",
        means=("An undo cannot restore this value, because the value was not kept or cannot be sent."),
    ),
    Code(
        code="C1",
        title="A change that this deployment does not support",
        means=(
            "The profile of the service says so, under `capabilities`. `--except` leaves such changes out."
        ),
    ),
    Code(
        code="C2",
        title="Content is still the placeholder of an export",
        means="`export` cannot read content back and writes a placeholder. Put the real file there.",
    ),
    Code(
        code="D2",
        title="Taken over",
        means=(
            "The field was removed from the manifests, and somebody else has changed it since. The "
            "field stays as it is."
        ),
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
            "The plan deletes more than 25 entities, more than 20 % of what is owned in one kind and "
            "workspace, or everything that is owned there. Usually a file is missing. "
            "`--allow-deletes N` allows the deletes for one run."
        ),
    ),
    Code(
        code="G2",
        title="Too many creates of entities that seem gone, or too many updates",
        means=(
            "The read was probably incomplete, or a default changed for everybody. `--allow-creates "
            "N` and `--allow-updates N` allow them for one run."
        ),
    ),
    Code(
        code="G4",
        title="Deletes after an incomplete read",
        means=("What was not read looks as if it did not exist. No option allows these deletes; plan again."),
    ),
    Code(
        code="G5",
        title="Deletes of adopted entities",
        means=(
            "More than 3 of the entities to delete were adopted: they existed before this stack "
            "managed them. `--allow-deletes N` allows the deletes."
        ),
    ),
    Code(
        code="G6",
        title="A delete of something that others may be using",
        means=(
            "Messages that are not yet delivered may name a callback, and the service does not show "
            "whether there are any. `--allow-deletes N` allows the delete."
        ),
    ),
    Code(
        code="G7",
        title="A directory returned far fewer people than before",
        means=(
            "A directory returned more than 20 % fewer rows than at the last apply. The filter may be "
            "wrong, a permission may be missing, or the answer may be incomplete. The missing people "
            "would be deleted. `--allow-fewer-rows N` allows it for one run."
        ),
    ),
    Code(
        code="G8",
        title="A move that loses what others have written",
        means=(
            "A contact is deleted in one workspace and created in another. Live fields or devices "
            "that no manifest declares would be lost. `meta.carryOver` copies fields, and "
            "`--allow-moves N` allows the loss."
        ),
    ),
    Code(
        code="M3",
        title="Ambiguous",
        means=(
            "Several live entities match the declared one by its identity. None of them is changed "
            "until only one is left."
        ),
    ),
    Code(
        code="M5",
        title="Not adopted",
        means="The entity is live and unmanaged, and `adopt: never` says to leave it alone.",
    ),
    Code(
        code="M8",
        title="Contradicted",
        means=(
            "In one read, the service contradicts itself about an id: it does not find the id but "
            "lists it, or it shows another entity under the id. Nothing is written or forgotten until "
            "the answers agree, or until a person decides with `reconciler adopt ADDRESS` or "
            "`reconciler forget ADDRESS`."
        ),
    ),
    Code(
        code="M9",
        title="Somebody else",
        means=(
            "Under the recorded id, the service shows another identity, and most other fields have "
            "changed too: the id may belong to somebody else now. `--confirm-same ADDRESS` says that "
            "it is still the same entity; `reconciler forget ADDRESS` forgets the id."
        ),
    ),
    Code(
        code="X2",
        title="Protected",
        means=(
            "`meta.protect` was set, so the entity is not deleted. To end the protection, declare the "
            "entity without `meta.protect` and apply once."
        ),
    ),
    Code(
        code="X5",
        title="Marked by another stack",
        means=("The mark says that another stack owns the entity. So this stack never writes or deletes it."),
    ),
    Code(
        code="X7",
        title="Still marked",
        means=(
            "The entity was to be forgotten, but our mark cannot be removed from it without losing "
            "something else."
        ),
    ),
    Code(
        code="X8",
        title="Recorded at another address of the same service",
        means=(
            "`service.base_url` has changed, and what the plan would adopt is recorded under the old "
            "address. `--same-service` takes those records over. Without the records, entities that "
            "are removed from the manifests would not be deleted."
        ),
    ),
    Code(
        code="E160",
        title="A create needs a secret that is missing",
        means=(
            "A device that exists is managed without its push token, but a device cannot be created "
            "without one. Declare the token, or remove the entry. Until then the rest of the plan is "
            "carried out, and the run ends with exit code 5."
        ),
    ),
    Code(
        code="E161",
        title="A move needs a secret that is missing",
        means=(
            "A move deletes in one place and creates in another. If its push token is not declared, a "
            "device would be deleted and could not be created again. So no part of the move is done."
        ),
    ),
    Code(
        code="E162",
        title="A deleted entity whose secret is not kept",
        means=(
            "Push tokens are not kept, so an undo cannot create the device again. Revert the commit, "
            "declare the token, plan and apply."
        ),
    ),
    Code(
        code="E163",
        title="A write that would lose a secret",
        means=(
            "A PUT replaces the whole device. The manifest does not declare the push token, and right "
            "before the write the service showed no token, or only a mask. The write would have "
            "removed the token, so nothing was sent for this device. Declare its token to write it."
        ),
    ),
    Code(
        code="E164",
        title="A secret differs after the write",
        means=(
            "The write sent back the push token that the service showed before. After the write, the "
            "service shows another token, or none. Somebody may have changed the token at the same "
            "moment, or the service has lost it: check this device at once."
        ),
    ),
    Code(
        code="E165",
        title="A write without a secret under meta.ignore",
        means=(
            "A secret under `meta.ignore` needs its variable only when its entity is written. Without "
            "the variable, the write would remove the secret, which cannot be read back. Set the "
            "variable for the command that writes the entity."
        ),
    ),
    Code(
        code="E181",
        title="A file of secrets cannot be opened",
        means=(
            "A manifest uses a variable that is not set in the environment, so the files under "
            "`secrets.files` in the settings are opened. One of them is damaged, or it is encrypted "
            "and this command has no private key that opens it. `validate --without-variables` checks "
            "everything else."
        ),
    ),
    Code(
        code="E182",
        title="A line of a file of secrets is invalid",
        means=(
            "Each line is `NAME='value'`, as a shell reads it, with nothing that a shell would "
            "expand. Each name may occur only once, and `variables:` in the settings must allow it. "
            "The line is not shown, because it may hold a secret. Its number counts the lines of the "
            "decrypted text."
        ),
    ),
    Code(
        code="E183",
        title="A file of secrets in plain text is not protected",
        means=(
            "If a file of secrets is not encrypted, only you may be able to read and write it. Inside "
            "a repository, git must ignore the file, so that no commit holds it."
        ),
    ),
    Code(
        code="S5",
        title="One half of a move is not planned",
        means=(
            "A workspace is left out of the plan, because it cannot be read or its manifests have "
            "mistakes. This entity may have moved from or to that workspace, because the other half "
            "of the move is declared or recorded there. So no part of the move is done until both "
            "workspaces can be planned."
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
    "move not planned": "S5",
}


def find_codes_near(code: str) -> Iterable[str]:
    """Return the codes that begin as this one does."""
    return [known for known in CODES if known[:2] == code[:2]]
