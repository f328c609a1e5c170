"""Generated manifests whose entries are mostly written alike, and mutations of them.

`compare(seed)` says how the tree of one file differs from that of the parser alone.
"""

from random import Random
from typing import Any, NamedTuple

from msgspec import structs

from reconciler.manifest.alike import AlikeReader
from reconciler.manifest.cutting import cut_sections
from reconciler.manifest.entries import name_entry, top_level_kinds
from reconciler.manifest.flatten import Flattener
from reconciler.parsing.tree import Tree, read_tree
from reconciler.schema.check import find_mistakes


class Compared(NamedTuple):
    """One file: its entries, whether some were read by their form, and how the trees differ ("": not)."""

    entries: int
    alike: bool
    difference: str


VALUES = (
    *(
        "Ada",
        "Ada Lovelace",
        "",
        " ",
        "a b",
        "Ärztin",
        "李",
        "null",
        "~",
        "Null",
        "true",
        "no",
        "007",
        "12:30",
    ),
    *(
        "a: b",
        "a:",
        "a #b",
        "a# b",
        "#",
        "- a",
        "-",
        "--",
        "---",
        "?",
        "? a",
        "!a",
        "&a",
        "*a",
        "a & b",
        "<<",
    ),
    *(
        "=",
        "%",
        "@a",
        "`a`",
        "a, b",
        "[a]",
        "{a}",
        "a]",
        "{",
        "a|b",
        "|",
        ">",
        ">-",
        "+61491570156",
        "+",
        "++1",
    ),
    *(
        "it's",
        "it''s",
        'say "x"',
        "\\",
        "\\n",
        "\\u00c4",
        "a\\",
        "x\ty",
        "\t",
        "a ",
        " a",
        "a  b",
        ".",
        "...",
        "_a",
    ),
    *(
        "x0y",
        "xx1y",
        "x1y",
        "nul",
        "NULL ",
        "a\u0301",
        "\u2028",
        "\x85",
        "\ufeff",
        "\xa0",
        "\U0001f600",
        "${a}",
    ),
    *(
        "a@example.com",
        "1e3",
        "0x1F",
        "a" * 199,
        "b" * 205,
        "c" * 1100,
        "a/b",
        "a (b)",
        "a=b",
        "a;b",
        "(a",
        "$$",
    ),
)
_ODD_NAMES = (
    "null",
    "Null",
    "NULL:",
    "~",
    "password",
    '"quoted"',
    "a b",
    "a:b",
    "-a",
    "1",
    "x0y",
    "é",
    "a" * 120,
)
_FORMS = (
    "{i}{name}:\n{d}firstName: {v}\n{d}lastName: {v}\n",
    "{i}{name}:\n{d}firstName: \"{p}\"\n{d}jobTitle: '{p}'\n{d}department: {p}\n",
    '{i}{name}:\n{d}firstName: "{p}"\n{d}custom: {{employeeId: "{p}"}}\n',
    '{i}{name}: # {v}\n{d}firstName: {v} # of all\n\n{d}custom:\n{d}  a: {v}\n{d}  b: "{p}"\n',
    '{i}{name}: {{firstName: "{p}", lastName: "{p}"}}\n',
    '{i}{name}:\n{d}meta: {{ignore: [jobTitle, department], tags: {{team: "{p}"}}}}\n{d}firstName: "{p}"\n',
    '{i}{name}:\n{d}meta:\n{d}  ignore:\n{d}  - jobTitle\n{d}  - "{p}"\n{d}firstName: {p}\n{d}jobTitle: ""\n',
    "{i}{name}:\n{d}devices:\n{d}  phone:\n{d}    appId: {v}\n{d}    custom: {{}}\n",
    "{i}{name}:\n{d}firstName: {v}\n{d}  and more\n{d}lastName: {v}\n",
    "{i}{name}:\n{d}firstName: |\n{d}  x: {p}\n{d}lastName: {v}\n",
    "{i}{name}:\n{d}firstName: \"x: '{p}'\n{d}  {p}\"\n{d}lastName: {v}\n",
    "{i}{name}:\n{d}firstName: {v}\n# x: {v}\n{d}lastName: [{v}, {v}]\n",
    '{i}{name}:\n{d}password: "{p}"\n{d}firstName: {v}\n',
    "{i}{name}:\n{d}firstName: {v}\n{d}firstName: {v}\n",
    "{i}{name}:\n{d}firstName:\n{d}lastName: {v}\n",
    '{i}{name}:\n{d}? firstName\n{d}: "{p}"\n{d}"lastName": {v}\n',
    '{i}{name}: {{custom: {{\n{d}a: "{p}",\n{d}b: "{p}"}}}}\n',
    "{i}{name}:\n{d}firstName: &x {v}\n{d}lastName: {p}\n",
)
_PLAIN = ("Ada", "Ben", "Carla Dora", "E1", "007", "x y z", "Ärztin")


def compare(seed: int) -> Compared:
    """Read one file in both ways."""
    rnd = Random(seed)
    data = make_file(rnd).encode("utf-8", "surrogatepass")
    whole = read_tree(data, "a.yaml", subject=name_entry)
    alike = AlikeReader(least=1).read_alike(data, "a.yaml", cut_sections(data))
    entries = sum(len(one) for one in whole.value.values() if isinstance(one, dict))
    same = alike is None or (
        describe(alike) == describe(whole) and list_documents(alike) == list_documents(whole)
    )
    return Compared(entries, alike is not None, "" if same else f"seed {seed}: not what the parser reads")


def list_documents(tree: Tree) -> list[Any]:
    """Return the documents of a tree that the schema takes, with the place of each field."""
    if tree.problems or find_mistakes("manifest", tree):
        return []
    every = [one for kind in top_level_kinds().values() for one in Flattener(tree).documents(kind, {})]
    return [
        (structs.replace(one, places={}, control_places={}), {**one.places}, [*one.fields]) for one in every
    ]


def make_file(rnd: Random) -> str:
    """Make a file with some entries of a few forms, perhaps with a mutation."""
    indent = " " * rnd.choice((1, 2, 2, 2, 4))
    deep = indent + " " * rnd.choice((1, 2, 2, 4))
    wild = rnd.choice((0.0, 0.0, 0.02, 0.2))
    drawn = range(rnd.choice((1, 1, 2, 3)))
    forms = [rnd.choice(_FORMS if rnd.random() < 0.6 else _FORMS[:3]) for _ in drawn]
    parts = [
        "version: 1\nworkspace: ops\n",
        rnd.choice(("contacts:\n", "contacts: # all\n\n", "resources:\n")),
    ]
    for number in range(rnd.choice((8, 20, 60))):
        name = f"e{number if rnd.random() > wild / 20 else 1}"
        name = rnd.choice(_ODD_NAMES) if rnd.random() < wild / 4 else name
        form = rnd.choice(forms).replace("{i}", indent).replace("{d}", deep).replace("{name}", name)
        parts.append(_fill(rnd, form, wild))
    if rnd.random() < 0.3:
        parts.append("tags:\n  team: sre\n")
    return _mutate(rnd, "".join(parts))


def _fill(rnd: Random, form: str, wild: float) -> str:
    """Return a form with values: plain or quoted ones for `{v}`, as the form has them for `{p}`."""
    for sign in ("{v}", "{p}"):
        while sign in form:
            value = rnd.choice(VALUES if rnd.random() < wild else _PLAIN)
            if sign == "{v}" and rnd.random() < 0.2:
                value = rnd.choice((value, f'"{value}"', f"'{value}'"))
            form = form.replace(sign, value, 1)
    return form.replace("{{", "{").replace("}}", "}")


def _mutate(rnd: Random, text: str) -> str:
    draw = rnd.random()
    if draw < 0.1:
        text = text.replace("\n", "\r\n")
    elif draw < 0.2:
        text = text.rstrip("\n")
    elif draw < 0.4:
        at = rnd.randrange(len(text))
        text = text[:at] + rnd.choice("\"'{}[]:,#|>-&*!?%@` \t\\~x\n") + text[at + rnd.choice((0, 1)) :]
    elif draw < 0.5:
        at, end = sorted((rnd.randrange(len(text)), rnd.randrange(len(text))))
        text = text[:at] + text[min(end, at + 30) :]
    return text


def describe(tree: Tree) -> Any:
    """Return everything that a tree says."""

    def node(value: Any) -> Any:
        if not isinstance(value, dict | list):
            return value
        places = [str(one) + f":{one.column}" for one in tree.places(value)]
        assert [(one.line << 32) + one.column for one in tree.places(value)] == [*tree.packed_places(value)]
        keys = [*value] if isinstance(value, dict) else None
        return keys, places, [node(one) for one in (value.values() if isinstance(value, dict) else value)]

    return (
        None if tree.broken else node(tree.value),
        tree.problems,
        tree.broken,
        tree.secrets,
        tree.nodes,
        len(tree.partial),
        [(one.path, one.line, one.column, node(one.value)) for one in tree.again],
    )
