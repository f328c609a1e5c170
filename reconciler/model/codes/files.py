"""Codes of mistakes in files: how one is written, what it may name, what stands in the environment.

The order counts: the first row whose `sign` is found in a message has it, so what is special stands above
what is general. A code is never given another meaning, and a code that is gone is not used again.
"""

from reconciler.model.codes.code import Code, person, resource

_JANE = person()


_LIST = ("name: list.csv", "scope: private", "mimeType: text/csv", "content: {text: 'a,b'}")

FILES: tuple[Code, ...] = (
    Code(
        "E101",
        "This is not YAML, or not JSON",
        "The file cannot be read from this place on. What stands there is not always what is wrong: a "
        "quotation mark or a bracket may be open since a line above.",
        r"^this is not (YAML|JSON)",
        "contacts:\n  jane-doe: {firstName: Jane\n",
        "contacts:\n  jane-doe: {firstName: Jane, workEmailAddress1: jane@example.com}\n",
    ),
    Code(
        "E102",
        "A part of YAML that manifests do not have",
        "Anchors, aliases, merge keys, tags and several documents in one file are refused: a reviewer "
        "would have to carry them out in the head to know what an entry says.",
        r"this is a YAML (alias|anchor|tag)|merge key <<|directive %TAG|several documents",
        person("jobTitle: &title Engineer"),
        person("jobTitle: Engineer"),
    ),
    Code(
        "E103",
        "null",
        "An empty value, `~` and `null` do not say which is meant: to leave the field to others, or to "
        'clear it. Leave the key out, or write "".',
        r"is null, which is not allowed",
        person("jobTitle:"),
        person('jobTitle: ""'),
    ),
    Code(
        "E104",
        "A key twice",
        "YAML readers take one of the two without a word. Here both places are named.",
        r"occurs twice; the first one is in line",
        person("jobTitle: Engineer", "jobTitle: Manager"),
        person("jobTitle: Manager"),
    ),
    Code(
        "E113",
        "A variable that is not set",
        "A manifest takes a value from the environment, and there is none. Nothing would be cleared for "
        "it: the run stops. `validate --without-variables` checks everything else.",
        r"^the variable \S+ is not set",
        person("jobTitle: ${env:EXAMPLE_NOT_SET}"),
        _JANE,
    ),
    Code(
        "E114",
        "A variable that manifests may not read",
        "Only variables that `variables:` of the settings allows are read, so that a manifest cannot send"
        " the secrets of the machine to the service.",
        r"^the variable \S+ is not one that manifests may read",
        person("jobTitle: ${env:HOME}"),
        _JANE,
    ),
    Code(
        "E115",
        "A variable that is empty or holds an invisible character",
        "An empty value would clear the field by accident, and a value of several lines is mostly a "
        "secret with its line break. Check how the variable is set.",
        r"^the variable \S+ (is empty|holds )",
    ),
    Code(
        "E510",
        "A cell of a spreadsheet that holds no text",
        "The result of a formula is what some program computed last, an error shows as nothing, a telephone "
        "number becomes a date or loses digits by itself. So a field takes from none of them. Format the "
        "column as text, and paste its values.",
        r"^(?:the cell|its '') holds .*, of which nobody knows which text is meant",
    ),
    Code(
        "E511",
        "A spreadsheet of which nothing is read",
        "It is damaged, encrypted, of another kind, larger than it looks, or nobody says which of its sheets "
        "is meant. People that were left out would look like deleted ones: half of it is never read.",
        r"^the roster .*( is damaged| is encrypted| shows \d+ sheets| has no sheet| has a sheet| has cells|"
        r" is hidden|no \.xlsx file|used area|a document type|is unpacked|that is not read|not installed)|"
        r"^cells are merged|^`sheet` is for",
    ),
    Code(
        "E513",
        "A file that changes while it is read",
        "Two of its sheets would be of two different files. Run the command again once whatever writes it "
        "has ended.",
        r"^the roster \S+ was changed while it was read",
    ),
    Code(
        "E514",
        "A directory that cannot be taken from",
        "It is down, refuses, answers half or too much, or its statement is none that reads. The message "
        "says which, and where the settings describe it.",
        r"^the directory \S+ (?:\(\S+\) )?cannot be taken from",
    ),
    Code(
        "E515",
        "A directory that answers nobody, or that the settings do not describe",
        "An empty answer is mostly a filter or a right that is missing. To declare nobody by a directory, "
        "take it out of the manifest.",
        r"^the directory \S+ (?:(?:\(\S+\) )?answers nobody|is not in the settings)",
    ),
    Code(
        "E512",
        "A roster in JSON that is no list of objects",
        "Each object is a person, and each key of it a column. Anything else may be half of somebody: "
        "nothing of the file is read.",
        r"^the roster is no list of objects|^what stands here is no object|^a key occurs twice in an object|"
        r"^a key of this object|^NaN and Infinity|^objects stand in objects|^the roster is empty: a list",
    ),
    Code(
        "E509",
        "An invisible character in a cell",
        "Control characters, invisible line breaks and characters that change the direction of text are "
        "refused: two names that look alike would differ.",
        r"^the cell holds ",
        "ID,Name,Mail\n1,Ja\u200ene,jane@example.com\n",
        "ID,Name,Mail\n1,Jane,jane@example.com\n",
        roster=True,
    ),
    Code(
        "E105",
        "An invisible or unfit character",
        "Control characters, invisible line breaks and characters that change the direction of text are "
        "refused, also as escapes: a reviewer would see something else than is sent.",
        r"U\+[0-9A-F]{4}.* is refused",
        person('jobTitle: "Engineer\u200e"'),
        person('jobTitle: "Engineer"'),
    ),
    Code(
        "E106", "Not UTF-8", "Another encoding would change names. Save the file as UTF-8.", r"is not UTF-8"
    ),
    Code(
        "E107",
        "A file without a mapping",
        "A manifest, settings and a profile are mappings of keys to values and begin with `version: 1`. "
        "An empty file would look like one that declares nobody.",
        r"^the file is empty|does not hold a mapping of keys",
    ),
    Code(
        "E108",
        "More than the limit",
        "Files, rosters and nesting have limits (docs/manifest.md), so that no file can use up the memory"
        " of the machine. Split the file.",
        r"which is the limit|(?<!characters; )the limit is [\d,]+(\.| \()|bytes; the limit|"
        r"was not read\.$|roster has [\d,]+ columns",
        "contacts: " + "{a: " * 30 + "x" + "}" * 30 + "\n",
        _JANE,
    ),
    Code("E109", "A key that is no text", "A key is a name. Quote it.", r"^a key must be text"),
    Code(
        "E110",
        "A key in another form of Unicode",
        "The same letters can be written in two ways that look alike. Keys are in the composed form (NFC).",
        r"composed Unicode form",
        person("custom: {cafe\u0301: a}"),
        person("custom: {cafe: a}"),
    ),
    Code(
        "E111",
        "A file that may not be named",
        "What a manifest names may become public content of the service. So only files of the project are"
        " read, through no links, and none that hold secrets.",
        r"leads out of the project|may not be named|names no file|may not name files|"
        r"second name|symbolic link",
        resource(*_LIST[:3], "content: {file: ../../list.csv}"),
        resource(*_LIST),
    ),
    Code(
        "E112",
        "A file that is not there or cannot be read",
        "A file that was left out would look like deleted entities, so the run stops.",
        r"does not exist|may not be read by this user|not a regular file|is a folder|"
        r"cannot be read|is not a folder",
        resource(*_LIST[:3], "content: {file: missing.csv}"),
        resource(*_LIST),
    ),
    Code(
        "E116",
        "No manifest",
        "Nothing was found where the settings look for manifests. A plan of nothing would delete everything.",
        r"^no manifest is named|^this is not a manifest|no manifest",
    ),
)
