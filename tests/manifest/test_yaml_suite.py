"""The YAML test suite: what YAML refuses is refused; all else reads as it says, or is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.parsing.tree import read_tree
from reconciler.parsing.tree_builder import Builder, StopReading
from reconciler.parsing.yaml_reader import LOADER, build_yaml

FILE = Path(__file__).parent / "yaml-test-suite" / "cases.jsonl"
CASES: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text().splitlines()]
REFUSED = [case for case in CASES if case.get("fail")]
VALID = [case for case in CASES if not case.get("fail")]
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "\\": "\\"}


class Recorder(Builder):
    """Takes what a builder takes, with any root, and keeps it as the suite writes it."""

    def __init__(self) -> None:
        super().__init__("case.yaml")
        self.events: list[str] = []
        self._closers: list[str] = []

    def add_scalar(self, text: str, *_place: object, **_kind: object) -> None:
        self.events.append(f"={text}")

    def add_refused(self, *_place: object) -> None:
        self.events.append("=")

    def begin(self, container: object, *_place: object) -> None:
        self._closers.append("-MAP" if isinstance(container, dict) else "-SEQ")
        self.events.append(self._closers[-1].replace("-", "+"))

    def end(self) -> None:
        self.events.append(self._closers.pop())


def read(text: str, loader: Any = LOADER) -> tuple[list[str], list[str]]:
    """What is read of a text, and what is refused."""
    recorder = Recorder()
    try:
        build_yaml(text, recorder, loader)
    except StopReading as stop:
        recorder.problems.append(stop.problem)
    return recorder.events, [problem.what for problem in recorder.problems]


def wanted(tree: str) -> list[str]:
    """The events of a tree of the suite, without styles; of documents, anchors and tags nothing is left."""
    found = []
    for line in map(str.lstrip, tree.splitlines()):
        if line.startswith("="):
            text = line.partition(" ")[2]
            while text[:1] in ("&", "<"):
                text = text.partition(" ")[2]
            found.append("=" + unescaped(text[1:]))
        elif line[1:4] in ("MAP", "SEQ"):
            found.append(line[:4])
    return found


def unescaped(text: str) -> str:
    pieces, rest = [], text
    while rest:
        head, _, rest = rest.partition("\\")
        pieces.append(head)
        if rest:
            pieces.append(ESCAPES[rest[0]])
            rest = rest[1:]
    return "".join(pieces)


@pytest.mark.parametrize("case", REFUSED, ids=[case["id"] for case in REFUSED])
def test_what_yaml_refuses_is_refused(case: dict[str, Any]) -> None:
    """Another reader of the same file would refuse it, or read another value of a person."""
    assert read(case["yaml"])[1]


@pytest.mark.parametrize("case", VALID, ids=[case["id"] for case in VALID])
def test_what_yaml_takes_reads_as_it_says_or_is_refused(case: dict[str, Any]) -> None:
    """A file that is read otherwise than it says would change people without a word."""
    events, refused = read(case["yaml"])

    assert refused or events == wanted(case["tree"])


# Valid cases that are refused all the same. By our rules: anchors, aliases, tags, merge keys, several
# documents, a key that is no text, a text that begins with ?. By the parser, which reads YAML 1.1: an empty
# key, a colon on the line below its key, `{x: :x}`, some tabs, documents behind `...`, unknown directives.
OURS, PARSERS = 74, 49


def test_the_valid_cases_that_are_refused_are_counted() -> None:
    """A change that refuses more would stop projects that are right."""
    said = [refused[0] for refused in (read(case["yaml"])[1] for case in VALID) if refused]
    by_parser = [what for what in said if what.startswith("this is not YAML")]

    assert (len(said) - len(by_parser), len(by_parser)) == (OURS, PARSERS)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_the_pure_parser_holds_the_same(case: dict[str, Any]) -> None:
    """A machine without the C parser refuses no less, and reads nothing else."""
    events, refused = read(case["yaml"], yaml.SafeLoader)

    assert refused or (not case.get("fail") and events == wanted(case["tree"]))


ENTRY = "version: 1\nworkspace: default\ncontacts:\n  jane:\n"
LEFT_QUOTED = (
    "this is not YAML: a quoted text has several lines, and a line is indented less than its parent."
)
LEFT_BRACKETS = LEFT_QUOTED.replace("a quoted text", "what is in brackets")
TAB = "this is not YAML: a quoted text has several lines, and its indentation contains a tab."
HASH = "this is not YAML: a comment needs a space before its #."
QUESTION = "a text in brackets that begins with ? is refused: some readers leave the ? out."
DASH = "this is not YAML: a dash in brackets is not text."
BLANKS = "this is not YAML: a block text begins less indented than the blank lines above it."

# What stands below `jane:` -> line and column of the mistake, and what it is.
BREACHES: dict[str, tuple[str, tuple[int, int], str]] = {
    "double quotes at column 0": ('    jobTitle: "Night\nwatch"\n', (6, 1), LEFT_QUOTED),
    "single quotes at column 0": ("    jobTitle: 'Night\nwatch'\n", (6, 1), LEFT_QUOTED),
    "quotes in the column of the key": ('    jobTitle: "Night\n    watch"\n', (6, 5), LEFT_QUOTED),
    "quotes left of the key": ('    jobTitle: "Night\n   watch"\n', (6, 4), LEFT_QUOTED),
    "the third line of quotes": ('    jobTitle: "Night\n\n     and\n  day"\n', (8, 3), LEFT_QUOTED),
    "a line that is joined": ('    jobTitle: "Night\\\nwatch"\n', (6, 1), LEFT_QUOTED),
    "a hash in quotes": ('    jobTitle: "Night\n# watch"\n', (6, 1), LEFT_QUOTED),
    "a tab": ('    jobTitle: "Night\n\twatch"\n', (6, 1), TAB),
    "quotes in brackets": ('    custom: {title: "Night\nwatch"}\n', (6, 1), LEFT_QUOTED),
    "brackets at column 0": ("    custom: {a: b,\nc: d}\n", (6, 1), LEFT_BRACKETS),
    "brackets in the column of the key": ("    custom: {a: b,\n    c: d}\n", (6, 5), LEFT_BRACKETS),
    "a list in brackets": ("    tags: [a,\nb]\n", (6, 1), LEFT_BRACKETS),
    "brackets below a dash": ("    tags:\n    - [a,\n    b]\n", (7, 5), LEFT_BRACKETS),
    "quotes below Windows line ends": ('    jobTitle: "Night\r\nwatch"\r\n', (6, 1), LEFT_QUOTED),
    "a hash behind double quotes": ('    jobTitle: "Night"# x\n', (5, 22), HASH),
    "a hash behind single quotes": ("    jobTitle: 'Night'# x\n", (5, 22), HASH),
    "a hash behind a brace": ("    custom: {a: b}#x\n", (5, 19), HASH),
    "a hash behind a bracket": ("    tags: [a]#x\n", (5, 14), HASH),
    "a hash behind a comma": ("    tags: [a,#x\n      b]\n", (5, 14), HASH),
    "a hash behind an opening bracket": ("    tags: [#x\n      b]\n", (5, 12), HASH),
    "a hash behind a block sign": ("    jobTitle: ># x\n      Night\n", (5, 16), HASH),
    "a hash behind the number of a block": ("    jobTitle: |8# x\n            Night\n", (5, 17), HASH),
    "a hash behind a hash in a text": ('    jobTitle: "a # b"# c\n', (5, 22), HASH),
    "a key with a question mark": ("    custom: {?a: b}\n", (5, 14), QUESTION),
    "an item with a question mark": ("    tags: [a, ?b]\n", (5, 15), QUESTION),
    "a question mark on the next line": ("    tags: [a,\n      ?b]\n", (6, 7), QUESTION),
    "a dash": ("    tags: [-]\n", (5, 12), DASH),
    "dashes": ("    tags: [a, -, b]\n", (5, 15), DASH),
    "blank lines too deep": ("    jobTitle: >\n          \n      # watch\n", (7, 7), BLANKS),
}


@pytest.mark.parametrize("case", BREACHES)
def test_what_only_other_readers_refuse_is_refused_with_its_place(case: str) -> None:
    """The C parser takes each of these, and reads something."""
    text, place, what = BREACHES[case]
    tree = read_tree((ENTRY + text).encode(), "a.yaml")

    (problem,) = tree.problems
    assert ((problem.line, problem.column), problem.what) == (place, what)
    assert problem.next
    assert problem.code in ("E120", "E121", "E122")
    assert tree.broken


ALIKE = {
    "brackets alone at column 0": ("    tags: [\n      a\n]\n", {"tags": ["a"]}),
    "brackets and commas at column 0": (
        "    x: [{\n      a: b\n}, {\n      a: c\n}]\n",
        {"x": [{"a": "b"}, {"a": "c"}]},
    ),
    "a comment at column 0 in brackets": ("    tags: [a,\n# c\n      b]\n", {"tags": ["a", "b"]}),
    "a blank line in quotes": ('    a: "b\n\n      c"\n', {"a": "b\nc"}),
    "a hash in quotes": ('    a: "b"\n    c: "d#e \'f\'# g"\n', {"a": "b", "c": "d#e 'f'# g"}),
    "a hash in a plain text": ("    a: http://x.example.com/1#b\n", {"a": "http://x.example.com/1#b"}),
    "a hash in brackets": ("    a: [b#c]\n", {"a": ["b#c"]}),
    "a hash in a comment": ("    a: b # 'c'# d\n", {"a": "b"}),
    "a hash in a block text": ("    a: | # c ]# d\n      b ]# e\n", {"a": "b ]# e\n"}),
    "a question mark in a text": ("    a: [what ?now, 'b ?c']\n", {"a": ["what ?now", "b ?c"]}),
    "a question mark without brackets": ("    a: ?b\n", {"a": "?b"}),
    "a dash that begins a text": ("    a: [-b, --]\n", {"a": ["-b", "--"]}),
    "blank lines above a block text": ("    a: |\n\n   \n      b\n", {"a": "\n\nb\n"}),
}


@pytest.mark.parametrize("case", ALIKE)
def test_what_looks_alike_and_is_right_is_read(case: str) -> None:
    """A file that every reader takes is not refused for a sign in a text."""
    text, expected = ALIKE[case]
    tree = read_tree((ENTRY + text).encode(), "a.yaml")

    assert tree.problems == ()
    assert tree.value["contacts"]["jane"] == expected


# The text between double quotes -> what it says.
ESCAPED = {
    r"\ud83d\ude91 driver": "\U0001f691 driver",
    r"\uD83D\uDE91\uD83D\uDE91": "\U0001f691\U0001f691",
    r"\u0041\ud83d\ude91\u00e9": "A\U0001f691é",
    r"\\\ud83d\ude91": "\\\U0001f691",
    r"\\ud83d": r"\ud83d",
    r"\ud800\udc00 and \udbff\udffd": "\U00010000 and \U0010fffd",
}


@pytest.mark.parametrize("written", ESCAPED)
@pytest.mark.parametrize("loader", [LOADER, yaml.SafeLoader])
def test_json_is_yaml_with_every_escape_that_json_writes(written: str, loader: Any) -> None:
    """Each program that writes JSON escapes an emoji as two halves."""
    assert json.loads(f'"{written}"') == ESCAPED[written]

    events, refused = read(f'{{"a": "{written}", b: \'{written}\', c: {written}, "{written}": 1}}', loader)

    assert refused == []
    assert events[2:8:2] == [f"={ESCAPED[written]}", f"={written}", f"={written}"]
    assert events[7] == f"={ESCAPED[written]}"


@pytest.mark.parametrize("half", [r"\ud83d", r"\ude91", r"\U0000d83d", r"\ude91\ud83d", r"\ud83dx\ude91"])
def test_half_of_a_pair_is_refused_with_its_reason_and_all_others_are_read(half: str) -> None:
    """No text can hold it; the advice to look at the quotes would lead nowhere."""
    text = f'    b: "{half}"\n    c: "\\ud83d\\ude91"\n    d: ~\n'
    tree = read_tree((ENTRY + text).encode(), "a.yaml")

    assert "half of a surrogate pair (U+D" in tree.problems[0].what
    assert (tree.problems[0].line, tree.problems[0].column) == (5, 9)
    assert tree.problems[-1].line == 7
    assert tree.value["contacts"]["jane"]["c"] == "\U0001f691"


def test_a_pair_moves_no_place_of_what_follows() -> None:
    """A mistake behind it stands where an editor shows it."""
    tree = read_tree(f'{ENTRY}    a: {{b: "\\ud83d\\ude91", c: ~}}\n'.encode(), "a.yaml")

    (problem,) = tree.problems
    assert (problem.line, problem.column) == (5, 31)
