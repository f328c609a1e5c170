"""Codes of mistakes in entries and rosters: fields, values, identities, rows, and how entries stand together.

The order counts, as in files.py, whose rows stand before these.
"""

from reconciler.model.codes.code import Code, person, resource

_JANE = person()
_TWO = "contacts:\n  jane-doe: {{workEmailAddress1: jane@example.com}}\n  {}\n"


def _devices(*tokens: str) -> str:
    """Return contacts, each with one device of such a push token."""
    phone = "deviceName: Phone, appId: com.example.oncall, platform: GCM, deviceOS: a, deviceModel: b"
    return "contacts:\n" + "".join(
        f"  p{index}:\n    workEmailAddress1: p{index}@example.com\n"
        f"    devices: {{phone: {{{phone}, pushToken: {token}}}}}\n"
        for index, token in enumerate(tokens)
    )


_LIST = ("name: list.csv", "scope: private", "mimeType: text/csv", "content: {text: 'a,b'}")

ENTRIES: tuple[Code, ...] = (
    Code(
        "E201",
        "A field that does not exist",
        "A misspelt field would be left out without a word. `reconciler schema manifest` has every field.",
        r"is not a field of ",
        person("fristName: Jane"),
        _JANE,
    ),
    Code(
        "E202",
        "A field is missing",
        "The service, or the file, needs this field.",
        r"is missing; .* needs it|(is empty|is missing); every",
        resource(*_LIST[:1], *_LIST[2:]),
        resource(*_LIST),
    ),
    Code(
        "E506",
        "A cell that is neither yes nor no",
        "This field is on or off. Write yes or no, true or false.",
        r"must be true or false, yes or no",
    ),
    Code(
        "E203",
        "Another type of value",
        "A mapping or a list stands where text is due, or the other way round. Often it is the indentation.",
        r"must be .+, not (a |text|true)|must be (text|true or false|an? (list|mapping|(whole )?number))\b",
        person("jobTitle: [Engineer]"),
        person("jobTitle: Engineer"),
    ),
    Code(
        "E204",
        "None of the possible values",
        "This field knows a few words, and the message lists them.",
        r" must be .+\.",
        resource(_LIST[0], "scope: secret", *_LIST[2:]),
        resource(*_LIST),
    ),
    Code(
        "E205",
        "Too long, too short or empty",
        "The service, or this program, takes no such length.",
        r"characters; the limit|must not be empty|must have at least \d+ characters",
        "tags: {team: " + "a" * 300 + "}\n",
        "tags: {team: a}\n",
    ),
    Code(
        "E207",
        "Too many, too few, or one twice",
        "This list or mapping has limits.",
        r"must have at (least|most)|names something twice|needs (at least one|only one|only \d+) of",
        resource(*_LIST[:3], "content: {text: a, file: list.csv}"),
        resource(*_LIST),
    ),
    Code(
        "E301",
        "Nothing to recognize the entity by",
        "An entity is found again by its identity: after a lost store it would be made a second time. The"
        " settings say which fields count (`identity`).",
        r"needed to recognize the",
        "contacts:\n  jane-doe:\n    firstName: Jane\n",
        _JANE,
    ),
    Code(
        "E302",
        "meta.ignore names the identity",
        "A field that is ignored may be edited at the service. Then the entity is not recognized any more.",
        r"meta\.ignore names \S+, by which",
        person("meta: {ignore: [workEmailAddress1]}"),
        person("meta: {ignore: [firstName]}"),
    ),
    Code(
        "E304",
        "One push token under two contacts",
        "A phone belongs to one contact: pushes to either would reach it.",
        r"pushToken is the same as at",
        _devices("token-1", "token-1"),
        _devices("token-1", "token-2"),
    ),
    Code(
        "E303",
        "Two entries with one identity",
        "Both would be matched to the same live entity, and overwrite each other.",
        r"(is|are) the same as at ",
        _TWO.format("john-doe: {workEmailAddress1: JANE@example.com}"),
        _TWO.format("john-doe: {workEmailAddress1: john@example.com}"),
    ),
    Code(
        "E305",
        "Too many devices of one app",
        "The service allows a contact so many devices of one app (`device_limit` of the settings).",
        r"^this is device \d+ of one app",
    ),
    Code(
        "E306",
        "A messaging option names a field that is not there",
        "The channel would have no address to send to.",
        r"names .*, which this contact does not declare",
        person("messagingOptions: {sms: {enabled: true, primary: WorkMobilePhone1}}"),
        person(
            "workMobilePhone1: '+61491570156'",
            "messagingOptions: {sms: {enabled: true, primary: WorkMobilePhone1}}",
        ),
    ),
    Code(
        "E307",
        "The ownership mark is written by this program",
        "`ownership.mark` of the settings names this field; by its value other runs see whose the entity is.",
        r"is the ownership mark and is written",
    ),
    Code(
        "E308",
        "A custom field with the prefix of searches",
        "Only searches write `custom_` before the name. The field would have another name than is meant.",
        r"has the prefix custom_",
        person("custom: {custom_employeeId: '17'}"),
        person("custom: {employeeId: '17'}"),
    ),
    Code(
        "E316",
        "Removed, and still declared",
        "An entry cannot leave and stay. Take one of the two lines out.",
        r"is removed here, and still declared|meta\.renamedFrom: .* is removed",
        _JANE + "removed: {contacts: [jane-doe]}\n",
        "removed: {contacts: [jane-doe]}\n",
    ),
    Code(
        "E309",
        "A former name that is in use",
        "`meta.renamedFrom` carries the record of one old name to one new entry.",
        r"meta\.renamedFrom",
        person("meta: {renamedFrom: jane-doe}"),
        person("meta: {renamedFrom: jane-roe}"),
    ),
    Code(
        "E310",
        "A name that is declared twice",
        "Two entries of one kind and workspace have the same address. Nobody knows which one counts.",
        r"this name is declared twice",
    ),
    Code(
        "E311",
        "A workspace that the settings do not know",
        "Aliases of workspaces stand in the settings. A misspelt one would make a second team.",
        r"the workspace .* is not in the settings",
    ),
    Code(
        "E312",
        "A kind that belongs to the account",
        "Callbacks are not of one workspace. Declare them in a manifest of the default workspace.",
        r"belong to the account",
        "callbacks: {}\n",
        "",
    ),
    Code(
        "E313",
        "A media type that a private resource cannot have",
        "The service takes CSV, JSON and XML there.",
        r"is not possible with scope private",
        resource(*_LIST[:2], "mimeType: image/png", _LIST[3]),
        resource(*_LIST),
    ),
    Code(
        "E314",
        "A name that belongs to the lock",
        "Runs keep their lock in resources with such names, and remove what they take for dead.",
        r"belong to the lock that runs keep",
    ),
    Code(
        "E401",
        "A telephone number that cannot be right",
        "No network can reach it. Write the number with + and the country code, or set `checks.region`.",
        r"(not|too long for|too short for) a phone num|no country code that|for a number of |national number",
        person("workMobilePhone1: call me maybe"),
        person("workMobilePhone1: '+61491570156'"),
    ),
    Code(
        "E402",
        "An e-mail address that cannot be right",
        "Nothing could be delivered to it.",
        r"is not an e-mail address",
        person("workEmailAddress2: nobody"),
        person("workEmailAddress2: jane.doe@example.com"),
    ),
    Code(
        "E403",
        "A time zone that does not exist",
        "The service takes names of the time zone database. An offset does not know summer time.",
        r"is not a time zone|is an offset, which",
        person("timezone: Australia/Melburne"),
        person("timezone: Australia/Melbourne"),
    ),
    Code(
        "E405",
        "A value that a spreadsheet has damaged",
        "4.47701E+11 was a number, and its digits are lost. Format the column as text and enter it again.",
        r"spreadsheet",
        person("workMobilePhone1: 4.47701E+11"),
        person("workMobilePhone1: '+447700900460'"),
    ),
    Code(
        "E406",
        "Content that is not what its type says",
        "Programs that read the resource would fail. The message says where it begins to be wrong.",
        r"^content ",
        resource("name: list.json", "scope: private", "mimeType: application/json", "content: {text: '{'}"),
        resource("name: list.json", "scope: private", "mimeType: application/json", "content: {text: '{}'}"),
    ),
    Code(
        "E501",
        "A row with too many or too few cells",
        "Nobody knows which cell is which. Mostly a cell holds the delimiter and has no quotation marks.",
        r"the row has \d+ cells; the header has",
        "ID,Name,Mail\n1,Doe, Jane,jane@example.com\n",
        'ID,Name,Mail\n1,"Doe, Jane",jane@example.com\n',
        roster=True,
    ),
    Code(
        "E502",
        "A header that does not name its columns",
        "Templates take cells by the names of columns: each has one, and no two have the same.",
        r"column has no name|this column has the same name|name of this column holds|has no header",
        "ID,Name,Mail,\n1,Jane,jane@example.com,\n",
        "ID,Name,Mail\n1,Jane,jane@example.com\n",
        roster=True,
    ),
    Code(
        "E503",
        "A row without a usable name",
        "Each row becomes an entry, and its `name` template makes nothing that a name may be.",
        r"name of this row would",
        "ID,Name,Mail\n,Jane,jane@example.com\n",
        "ID,Name,Mail\n1,Jane,jane@example.com\n",
        roster=True,
    ),
    Code(
        "E504",
        "A row whose name is taken",
        "Two rows make the same name. Build `name` from a column that differs in every row.",
        r"the name \S+ is that of row|have a name that is taken|name is the same for every row",
        "ID,Name,Mail\n1,Jane,jane@example.com\n1,John,john@example.com\n",
        "ID,Name,Mail\n1,Jane,jane@example.com\n2,John,john@example.com\n",
        roster=True,
    ),
    Code(
        "E505",
        "This is not CSV",
        "A quotation mark is open to the end of the file, or stands in the middle of a cell.",
        r"^this is not CSV",
        'ID,Name,Mail\n1,"Jane,jane@example.com\n',
        "ID,Name,Mail\n1,Jane,jane@example.com\n",
        roster=True,
    ),
    Code(
        "E507",
        "A template that names no column",
        "A field would be empty for everybody. The message lists the columns, or the one that was meant.",
        r"the roster has no column|column that the roster does not have|a brace is left alone",
        "ID,Nmae,Mail\n1,Jane,jane@example.com\n",
        "ID,Name,Mail\n1,Jane,jane@example.com\n",
        roster=True,
    ),
    Code(
        "E208",
        "A value of another form",
        "The schema says how this value is written; the hint has an example. `reconciler schema` prints it.",
        r" is not (a|an) |does not fit the schema| is not ",
        "contacts:\n  Jane Doe:\n    workEmailAddress1: jane@example.com\n",
        _JANE,
    ),
)
