"""Generated manifests and rosters, mutated files of the project, and what they mean read whole and in cuts.

`live(seed)` walks one project through a few edits. After each of them, what comes of the cache must be what
reading everything gives: values, order, places, notices, and every mistake.
"""

import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from manifest.cached_project import KeptProject, plain

from reconciler.core.entity_table import EntityTable, digest_entity

ROOT = Path(__file__).parents[2]
EDITS = 5


class Walk(NamedTuple):
    """What one walk did: entries that were declared in all its files, and those that were not read again."""

    seed: int
    files: int
    entries: int
    spared: int
    cut: int
    refused: int
    broken: tuple[str, ...] = ()


def walk(seed: int) -> Walk:
    """Walk through the edits of one project, which are the same for the same seed."""
    rnd = Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        project = KeptProject(Path(folder))
        texts = _first_texts(rnd)
        return _walk(seed, rnd, project, texts)


def _walk(seed: int, rnd: Random, project: KeptProject, texts: dict[str, str]) -> Walk:
    files = entries = spared = cut = refused = 0
    broken: list[str] = []
    before = dict(texts)
    for step in range(EDITS + 1):
        for name, text in texts.items():
            project.write(name, text.encode("utf-8", "surrogatepass"))
        fresh = project.fresh()
        cached = project.kept()
        found = cached.load()
        through = project.through(cached) if found is None else plain(found.desired)
        if through != fresh:
            broken.append(f"seed {seed}, edit {step}: not what reading everything gives")
        if found is not None:
            table = found.desired.entities
            assert isinstance(table, EntityTable)
            if any(table.digest_of(at) not in (b"", digest_entity(one, "")) for at, one in table.items()):
                broken.append(f"seed {seed}, edit {step}: a digest is that of something else")
        files += len(texts)
        is_refused = not isinstance(fresh[0], list)
        refused += is_refused
        number = 0 if is_refused else len(fresh[0])
        entries += number
        if found is not None and found.reread and found.reread_entries < number:
            spared += number - found.reread_entries
            cut += 1
        if is_refused and step and rnd.random() < 0.8:  # an edit that is taken back
            texts = dict(before)
        before = dict(texts)
        name = rnd.choice(sorted(texts))
        for _ in range(rnd.choice((1, 1, 1, 2, 4))):
            texts[name] = _mutate(rnd, name, texts[name])
    return Walk(seed, files, entries, spared, cut, refused, tuple(broken))


# --- The first files ------------------------------------------------------------------------------


@cache
def _real_files() -> Sequence[str]:
    found = [*(ROOT / "examples").glob("*/manifests/*.yaml"), *(ROOT / "tests" / "golden").glob("*/*.yaml")]
    texts = (path.read_text(encoding="utf-8") for path in sorted(found))
    return [text for text in texts if "contacts:" in text]


def _first_texts(rnd: Random) -> dict[str, str]:
    draw = rnd.random()
    if draw < 0.15:
        text = rnd.choice(_real_files())
        workspace = rnd.choice(("ops", "lab"))
        lines = [
            f"workspace: {workspace}" if line.startswith("workspace:") else line for line in text.split("\n")
        ]
        return {"a.yaml": "\n".join(lines)}
    if draw < 0.35:
        return _roster(rnd)
    number = rnd.choice((1, 1, 2, 3))
    return {f"{letter}.yaml": _manifest(rnd, letter) for letter in "abc"[:number]}


def _roster(rnd: Random) -> dict[str, str]:
    sign = rnd.choice(",;\t")
    end = rnd.choice(("\n", "\n", "\r\n"))
    rows = [sign.join(("Id", "Mail", "Title"))]
    if rnd.random() < 0.1:
        rows.insert(0, f"sep={sign}")
    for number in range(rnd.choice((rnd.randrange(2, 40), 300))):
        title = rnd.choice(
            ("Nurse", "Nurse", "", f'"a{sign}b"', '"x ""y"""', "Ärztin", " x", '"two\nlines"', "1,5E+11")
        )
        title = "Nurse" if sign in title and not title.startswith('"') else title
        rows.append(sign.join((f"r{number}", f"r{number}@example.com", title)))
    text = end.join(rows) + rnd.choice((end, end, ""))
    use = 'file: people.csv, name: "{Id}", contacts: {workEmailAddress1: "{Mail}", jobTitle: "{Title}"}'
    more = f"  - {{{use}}}\n" if rnd.random() < 0.05 else ""
    people = _entries(rnd, "z", 2) if rnd.random() < 0.5 else ""
    manifest = f"version: 1\nworkspace: ops\n{people}rosters:\n  - {{{use}}}\n{more}"
    return {"people.csv": text, "a.yaml": manifest}


def _manifest(rnd: Random, letter: str) -> str:
    head = ["version: 1\n", f"workspace: {rnd.choice(('ops', 'ops', 'lab'))}\n"]
    if rnd.random() < 0.3:
        head.append("# people of the ward\n\n")
    if rnd.random() < 0.2:
        head.append("defaults:\n  contacts:\n    department: Wards\n")
    if rnd.random() < 0.1:
        head.append('defaults: {contacts: {jobTitle: "3.0E+5"}}\n')
    if rnd.random() < 0.2:
        head.append("tags:\n  team: sre\n")
    sections = [_entries(rnd, letter, rnd.choice((rnd.randrange(1, 30), rnd.randrange(1, 30), 300)))]
    if rnd.random() < 0.1:
        sections.append(f"removed:\n  contacts:\n  - gone-{letter}\n")
    rnd.shuffle(sections)
    parts = [*head, *sections] if rnd.random() < 0.8 else [*sections, *head]
    text = "".join(parts)
    if rnd.random() < 0.1:
        text = text.replace("\n", "\r\n")
    if rnd.random() < 0.05:
        text = "\ufeff" + text
    if rnd.random() < 0.1:
        text = text.rstrip("\n")
    return text


def _entries(rnd: Random, letter: str, count: int) -> str:
    indent = " " * rnd.choice((1, 2, 2, 2, 2, 3, 4))
    plain_only = rnd.random() < 0.4
    found = [rnd.choice(("contacts:\n", "contacts:\n", "contacts: # all\n", "contacts:\n\n# first\n"))]
    found += [_entry(rnd, f"{letter}{number}", indent, plain_only=plain_only) for number in range(count)]
    return "".join(found)


_SAID: Sequence[str] = ("4,91512E+11", '" edge "', "3.0E+5")  # each is a notice
_VALUES: Sequence[str] = (
    *("Nurse", '"Nurse"', "'Nurse'", '"Nurse: \\"head\\""', "'it''s'", "Ärztin", '"\\u00c4"', '"a # b"'),
    *("a #b", "12:30", "007", "yes", '""', "x,y", "Doe, Jane"),
)


def _entry(rnd: Random, name: str, indent: str, *, plain_only: bool) -> str:
    deep = indent + " " * rnd.choice((1, 2, 2, 2, 4))
    lines = [f"{indent}{name}:" + rnd.choice(("", "", "  # a person", " "))]
    fields = [f'workEmailAddress1: "{name}@example.com"']
    if plain_only:
        fields.append(f"jobTitle: {rnd.choice(('Nurse', 'Doctor'))}")
        fields.append(f'custom: {{employeeId: "{name}"}}')
    else:
        fields += rnd.sample(_more_fields(rnd, deep), k=rnd.randrange(4))
    for field in fields:
        lines += [
            deep + line if line and not line.startswith("\0") else line.strip("\0")
            for line in field.split("\n")
        ]
        if rnd.random() < 0.05:
            lines.append(rnd.choice(("", "   ", f"{indent}# between", "# at the left", f"{deep}# deep")))
    return "\n".join(lines) + "\n"


def _more_fields(rnd: Random, deep: str) -> list[str]:
    value = rnd.choice(_VALUES if rnd.random() < 0.95 else _SAID)
    return [
        f"jobTitle: {value}",
        f"department: {rnd.choice(_VALUES)}",
        rnd.choice(
            ("firstName: Jane\n  of the\n  wards", 'firstName: "Jane\n  of the wards"', "firstName: Jane")
        ),
        rnd.choice(("lastName: |\n  Doe\n", "lastName: >-\n  Doe\n  Roe", "lastName: Doe")),
        rnd.choice(
            (
                "custom: {employeeId: 7}",
                "custom: {employeeId:\n  7}",
                "custom:\n  employeeId: '7'",
                "custom: {\n\0}",
            )
        ),
        rnd.choice(
            (
                "meta: {protect: true}",
                "meta:\n  ignore:\n  - jobTitle\n  - department",
                "meta:\n  ignore: [jobTitle,\n    department]",
                "meta: {ignore: [\n  jobTitle\n\0]}",
                "meta:\n  tags: {team: sre}",
                f"meta: {{renamedFrom: was-{rnd.randrange(10**6)}}}",
            )
        ),
    ]


# --- Edits ----------------------------------------------------------------------------------------

_INSERTED: Sequence[str] = (
    *(
        "",
        "# note",
        "---",
        "...",
        "%YAML 1.2",
        "  - x",
        "  ? x",
        "}",
        "]",
        "{",
        '"',
        "'",
        "  '",
        '    note: "x',
    ),
    *(
        "    jobTitle: |",
        "    jobTitle: >",
        "    jobTitle: &a x",
        "    jobTitle: *a",
        "    jobTitle: !t x",
        "\tx: y",
    ),
    *(
        "  x: {}",
        "  a1: {workEmailAddress1: q@example.com}",
        "    jobTitle: ${env:TOKEN}",
        "<<<<<<< a",
        "=======",
        "   ",
    ),
    *(
        "contacts:",
        "tags: {a: b}",
        "    devices: {}",
        " x: y",
        "x",
        "r1,r1@example.com,x",
        'r99,"r99@example.com',
        "\r",
    ),
    *(
        "    meta: {renamedFrom: a1}",
        "removed: {contacts: [a2]}",
        "    workEmailAddress1: a1@example.com",
        "\u2028",
        "\x85",
    ),
)


def _mutate(rnd: Random, name: str, text: str) -> str:
    lines = text.split("\n")
    at = rnd.randrange(len(lines))
    kind: Callable[[Random, list[str], int], Any] = rnd.choice(_EDITS if rnd.random() < 0.6 else _MUTATIONS)
    kind(rnd, lines, at)
    return "\n".join(lines)


def _edit_value(rnd: Random, lines: list[str], at: int) -> None:
    key, sign, _ = lines[at].rpartition(": ")
    if sign:
        lines[at] = f"{key}: {rnd.choice(_VALUES)}"
    elif "," in lines[at]:
        lines[at] += rnd.choice(("x", "", ' "', '"'))


def _remove_line(_rnd: Random, lines: list[str], at: int) -> None:
    del lines[at]


def _repeat_line(_rnd: Random, lines: list[str], at: int) -> None:
    lines.insert(at, lines[at])


def _insert_line(rnd: Random, lines: list[str], at: int) -> None:
    lines.insert(at, rnd.choice(_INSERTED))


def _indent_line(_rnd: Random, lines: list[str], at: int) -> None:
    lines[at] = " " + lines[at]


def _outdent_line(_rnd: Random, lines: list[str], at: int) -> None:
    lines[at] = lines[at].removeprefix(" ")


def _move_lines(rnd: Random, lines: list[str], at: int) -> None:
    taken = lines[at : at + rnd.choice((1, 2, 3, 4, 8))]
    del lines[at : at + len(taken)]
    to = rnd.randrange(len(lines) + 1)
    lines[to:to] = taken


def _repeat_lines(rnd: Random, lines: list[str], at: int) -> None:
    taken = lines[at : at + rnd.choice((2, 3, 4))]
    to = rnd.randrange(len(lines) + 1)
    lines[to:to] = taken


def _remove_lines(rnd: Random, lines: list[str], at: int) -> None:
    del lines[at : at + rnd.choice((2, 3, 5, 10))]


def _insert_character(rnd: Random, lines: list[str], at: int) -> None:
    to = rnd.randrange(len(lines[at]) + 1)
    lines[at] = lines[at][:to] + rnd.choice("\"'{}[]:,#|>-&*!?%@` \t\\~x") + lines[at][to:]


def _remove_character(rnd: Random, lines: list[str], at: int) -> None:
    to = rnd.randrange(len(lines[at]) + 1)
    lines[at] = lines[at][:to] + lines[at][to + 1 :]


def _add_entry(rnd: Random, lines: list[str], at: int) -> None:
    entry = _entry(rnd, f"n{rnd.randrange(100)}", "  ", plain_only=rnd.random() < 0.7)
    lines[at:at] = entry.split("\n")[:-1]


def _turn_ends(_rnd: Random, lines: list[str], _at: int) -> None:
    lines[:] = [line.removesuffix("\r") if line.endswith("\r") else line + "\r" for line in lines]


def _add_comment(rnd: Random, lines: list[str], at: int) -> None:
    lines.insert(at, rnd.choice(("", "# note", "  # note", "      # note", "   ")))


_EDITS = (_edit_value, _edit_value, _add_entry, _add_comment)
_MUTATIONS = (
    *(
        _edit_value,
        _edit_value,
        _edit_value,
        _edit_value,
        _remove_line,
        _repeat_line,
        _insert_line,
        _insert_line,
    ),
    *(_indent_line, _outdent_line, _move_lines, _repeat_lines, _remove_lines, _insert_character),
    *(_insert_character, _remove_character, _add_entry, _add_entry, _turn_ends),
)
