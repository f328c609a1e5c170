"""The reader: positions, text-only scalars, and the laws that hold for any bytes."""

import json
import string
from contextlib import suppress

import effort
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.parsing import yaml_reader
from reconciler.parsing.display import UNFIT_CHARACTERS
from reconciler.parsing.tree import Tree, read_tree
from reconciler.parsing.tree_builder import Builder, StopReading

SMALL = settings(max_examples=effort.count(small=60, full=300), deadline=None)

_text = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=12).filter(
    lambda t: not UNFIT_CHARACTERS.search(t)
)
_key = st.text(string.ascii_letters + string.digits + "-_. :#", min_size=1, max_size=8)
_node = st.recursive(
    _text, lambda below: st.lists(below, max_size=4) | st.dictionaries(_key, below, max_size=4), max_leaves=20
)
_root = st.dictionaries(_key, _node, min_size=1, max_size=5)


def test_every_key_and_item_has_its_place() -> None:
    """Messages lead to the line; counting from 1 as editors do."""
    tree = read_tree(b"a: 1\nb:\n  - x\n  - c: {d: 2}\n", "f.yaml")

    places = {path: (tree.place(path).line, tree.place(path).column) for path in [("a",), ("b",), ("b", 0)]}
    assert places == {("a",): (1, 1), ("b",): (2, 1), ("b", 0): (3, 5)}
    assert (tree.place(("b", 1, "c")).line, tree.place(("b", 1, "c")).column) == (4, 5)
    assert (tree.place(("b", 1, "c", "d")).line, tree.place(("b", 1, "c", "d")).column) == (4, 9)


def test_a_path_that_leads_nowhere_has_the_place_above_it() -> None:
    """A missing key is reported where it should stand."""
    tree = read_tree(b"a: 1\nb: {c: x}\n", "f.yaml")

    assert tree.place(("b", "missing", "x")).line == 2
    assert tree.place(("missing",)).line == 1


def test_columns_count_characters_not_bytes() -> None:
    """An editor's column is the character's number, whatever its encoding takes."""
    assert read_tree("{ä: 1, 😀: 2, c: 3}".encode(), "f.yaml").place(("c",)).column == 14


def test_json_and_yaml_give_the_same_tree_and_places() -> None:
    """They are one language; only the syntax differs."""
    data = b'{"a": 1.50,\r\n "b": [true, {"c": "x"}]}'
    one, two = read_tree(data, "f.json"), read_tree(data, "f.yaml")

    assert one.value == two.value == {"a": "1.50", "b": ["true", {"c": "x"}]}
    for path in [("a",), ("b",), ("b", 0), ("b", 1), ("b", 1, "c")]:
        assert one.place(path) == two.place(path).__class__(
            "f.json", two.place(path).line, two.place(path).column
        )


@SMALL
@given(_root)
def test_the_tree_of_a_dumped_tree_is_the_tree(root: dict[str, object]) -> None:
    """Reading loses and invents nothing, in JSON and in both styles of YAML."""
    as_json = read_tree(json.dumps(root).encode(), "f.json")
    assert as_json.problems == ()
    assert as_json.value == root
    for flow in (True, False):
        text = yaml.safe_dump(root, default_flow_style=flow, default_style='"', allow_unicode=True)
        tree = read_tree(text.encode(), "f.yaml")
        assert tree.problems == ()
        assert tree.value == root


@SMALL
@given(st.binary(max_size=200), st.sampled_from(["f.yaml", "f.json"]))
def test_no_bytes_raise_anything(data: bytes, file: str) -> None:
    """Whatever a file holds, the reader answers with a tree or with problems in it."""
    tree = read_tree(data, file)

    assert tree.value or tree.problems or not tree.broken
    assert all(problem.what and problem.file == file for problem in tree.problems)


_SYNTAX = st.lists(
    st.sampled_from(
        [
            *"{}[],:-?!&*#|>'\"%@`~\n\t \\",
            "a",
            "<<",
            "null",
            "\\ud800",
            "\\x00",
            "---",
            "...",
            "%YAML 9.9",
            "🙂",
        ]
    ),
    max_size=40,
).map("".join)


@SMALL
@given(_SYNTAX, st.sampled_from(["f.yaml", "f.json"]))
def test_no_heap_of_syntax_raises_anything(text: str, file: str) -> None:
    """Random bytes seldom reach the parser's corners; its own characters do."""
    assert isinstance(read_tree(text.encode(), file), Tree)


@SMALL
@given(_SYNTAX)
def test_the_pure_parser_never_raises_anything_either(text: str) -> None:
    """Where the C parser is missing, the same rules hold: a problem, never an exception."""
    builder = Builder("f.yaml")
    if UNFIT_CHARACTERS.search(text):
        return
    with suppress(StopReading):
        yaml_reader.build_yaml(text, builder, yaml.SafeLoader)


@SMALL
@given(_root)
def test_both_parsers_build_the_same(root: dict[str, object]) -> None:
    """A machine without the C parser reads the same manifests."""
    text = yaml.safe_dump(root, default_style='"', allow_unicode=True)
    built = []
    for loader in (yaml.SafeLoader, yaml_reader.LOADER):
        builder = Builder("f.yaml")
        yaml_reader.build_yaml(text, builder, loader)
        built.append((builder.root, builder.problems))
    assert built[0] == built[1]


def test_an_escaped_surrogate_is_refused_by_the_pure_parser_too() -> None:
    """It accepts what the C parser refuses; the builder looks again."""
    builder = Builder("f.yaml")

    yaml_reader.build_yaml('a: "\\ud800"', builder, yaml.SafeLoader)

    assert [problem.what for problem in builder.problems] == ["half of a surrogate pair (U+D800) is refused."]


def test_problems_of_one_file_have_a_limit() -> None:
    """Thousands of messages cannot be read, and a hostile file must not cause them."""
    tree = read_tree(b"a: [" + b"*x, " * 5000 + b"]", "f.yaml")

    assert len(tree.problems) == 1001
    assert tree.broken
    assert any("more than 1000 mistakes" in problem.what for problem in tree.problems)


def test_reading_is_linear() -> None:
    """Ten times the entries are ten times the nodes, found by counting steps instead of seconds."""
    body = b"".join(b"  c%d: {firstName: Jane}\n" % number for number in range(2000))
    tree = read_tree(b"contacts:\n" + body, "f.yaml")

    assert len(tree.value["contacts"]) == 2000
    names = {id(contact["firstName"]) for contact in tree.value["contacts"].values()}
    assert len(names) == 1, "text that repeats is kept once"


def test_the_first_value_of_a_key_counts() -> None:
    """The second one is a mistake, and must not decide what else is called one."""
    tree = read_tree(b"a: first\na: second\nb: third\n", "a.yaml")

    assert [one.code for one in tree.problems] == ["E104"]
    assert tree.value == {"a": "first", "b": "third"}


@pytest.mark.parametrize("key", ["~", "null", "Null", "NULL"])
def test_a_key_that_is_null_gets_advice_about_null(key: str) -> None:
    """Advice about another mistake sends its reader away from this one."""
    (problem,) = read_tree(f"version: 1\n{key}: x\n".encode(), "a.yaml").problems

    assert problem.what == "a key must not be empty."
    assert problem.next == f"{key} without quotes is not text: quote it"


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ('"": x', "write a key before the colon"),
        ("? \n: x", "write a key before the colon"),
        ("Zoe\u0308: x", "write the accented letters as single characters"),
    ],
)
def test_every_mistake_of_a_key_has_its_own_advice(line: str, hint: str) -> None:
    """What is missing is not what is spelt in another form."""
    (problem,) = read_tree(f"version: 1\n{line}\n".encode(), "a.yaml").problems

    assert problem.next == hint
