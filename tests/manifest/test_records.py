"""Rosters in JSON: the same people as the same roster in CSV, or a mistake with its line."""

import csv
import io
import json
import string
from typing import Any

import pytest
import tally
from hypothesis import given
from hypothesis import strategies as st
from manifest.project import Project

from reconciler.manifest.rosters.roster_sources import read_roster
from reconciler.manifest.rosters.table import read_csv
from reconciler.model.documents import COLUMNS_MAX

ROSTER = """rosters:
  - file: ../people/staff.json
    name: "{id}"
    contacts:
      firstName: "{name.first}"
      workMobilePhone1: "{phone}"
      meta: {tags: {team: "{team}"}}
"""
JANE = {"id": "1", "name": {"first": "Jane"}, "phone": "+61491570156", "team": "Ops", "skills": ["SMS"]}


def _told(project: Project, text: str | bytes) -> list[tuple[str, str]]:
    project.write("people/staff.json", text)
    project.manifest(ROSTER)
    return [(problem.where, problem.what) for problem in project.load().problems]


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=8)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=6), st.sampled_from([None, 2]))
def test_texts_come_as_they_are(rows: list[tuple[str, str]], indent: int | None) -> None:
    """Minified or not: what CSV says of a cell is what JSON says of it."""
    held = io.StringIO()
    csv.writer(held).writerows([("ID", "First"), *rows])
    text = json.dumps([dict(zip(("ID", "First"), row, strict=True)) for row in rows], indent=indent)
    expected = [cells for _, cells in read_csv(held.getvalue().encode(), "").rows]

    assert [cells for _, cells in read_roster(text.encode(), "staff.json", "").rows] == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("7", "7"),
        ("61491570156", "61491570156"),
        ("12345678901234567890", "12345678901234567890"),
        ("1.50", "1.50"),
        ("-0", "-0"),
        ("1e3", "1e3"),
        ("true", "true"),
        ("false", "false"),
        ("null", ""),
        ('"\\u00e9"', "é"),
    ],
)
def test_a_value_is_the_text_that_stands_there(value: str, text: str) -> None:
    """A number keeps its digits, all of them: it is an employee's number, or a telephone's."""
    table = read_roster(f'[{{"id": "a", "value": {value}}}]'.encode(), "staff.json", "")

    assert table.rows == ((1, ["a", text]),)


def test_objects_within_are_columns_with_dots_and_a_row_is_a_line(project: Project) -> None:
    """A key may occur for the first time in the last object; the others have an empty cell there."""
    sam = {"id": 2, "name": {"first": "Sam", "of": {"kin": "Lee"}}, "new": True}
    assert _told(project, "[\n" + ",\n\n".join(map(json.dumps, (JANE, sam))) + "\n]\n") == []

    first, second = project.documents().values()
    assert (first.place.line, first.place.column, second.place.line) == (2, 0, 4)
    assert first.fields == {"firstName": "Jane", "workMobilePhone1": "+61491570156"}
    assert second.fields == {"firstName": "Sam"}
    assert first.controls.tags == {"team": "Ops"}


def test_what_a_list_holds_is_told_where_it_is_taken(project: Project) -> None:
    """Nobody knows which of the telephones is meant; a list that nobody takes from is no mistake."""
    two = {**JANE, "id": "2", "phone": ["+61491570156", "+61491570157"]}
    what = "the cell contains a list; expected one text."

    assert _told(project, f"[{json.dumps(JANE)},\n{json.dumps(two)}]") == [("people/staff.json:2", what)]


DEEP = "objects are nested here more than 20 deep."
HOSTILE: dict[str, tuple[str | bytes, int, str]] = {
    "nothing": ("", 1, "the roster is not a list of objects."),
    "an object": ('{"people": []}', 1, "the roster is not a list of objects."),
    "an empty list": ("[]", 1, "the roster is empty: a list without an object."),
    "a text": ('[{"id": 1},\n"x"]', 2, "expected an object with at least one key."),
    "an empty object": ('[{"id": 1},\n\n{}]', 3, "expected an object with at least one key."),
    "an open list": ('[{"id": 1},\n{"id": 2}', 2, "this is not JSON."),
    "a comma at the end": ('[{"id": 1},\n]', 2, "this is not JSON."),
    "two lists": ('[{"id": 1}]\n[]', 1, "this is not JSON."),
    "no comma": ('[{"id": 1}\n{"id": 2}]', 2, "this is not JSON."),
    "a comment": ('[{"id": 1}, // one\n{"id": 2}]', 1, "this is not JSON."),
    "a number that is none": ('[{"id": 1},\n{"id": NaN}]', 2, "NaN and Infinity are not JSON."),
    "a key twice": ('[{"id": 1},\n{"id": 1, "id": 2}]', 2, "a key occurs twice in an object here."),
    "a key twice by a dot": (
        '[{"a.b": 1, "a": {"b": 2}}]',
        1,
        "a key of this object and a nested object give the same column.",
    ),
    "too deep": (
        "[" + '{"a":' * 25 + "1" + "}" * 25 + "]",
        1,
        DEEP,
    ),
    "much too deep": ("[" + '{"a":' * 200_000, 1, DEEP),
    "a list too deep": ('[{"a": ' + "[" * 200_000, 1, DEEP),
    "a key of its own in every object": (
        "[" + ",\n".join(f'{{"k{at}": 1}}' for at in range(9_000)) + "]",
        5_793,
        "the 5,793 objects up to here have 5,793 different keys; the limit is ",
    ),
    "too many keys": (
        "[{" + ",".join(f'"k{at}": 1' for at in range(COLUMNS_MAX + 1)) + "}]",
        1,
        "the 1 objects up to here have 16,385 different keys; the limit is ",
    ),
    "no UTF-8": (b'[{"id":\n "\xff"}]', 2, "the roster is not UTF-8."),
    "an invisible character": ('[{"id": "a\\u202eb"}]', 1, "the cell contains the bidirectional"),
    "half a character": ('[{"id": "\\ud800"}]', 1, "the cell contains half of"),
    "a brace in a key": ('[{"i{d": 1}]', 1, "the name of this column contains a brace"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_with_its_line(name: str) -> None:
    """Nothing of it is believed, and nobody is left out of it in silence."""
    text, line, what = HOSTILE[name]
    table = read_roster(text if isinstance(text, bytes) else text.encode(), "staff.json", "")

    assert [(one.line, one.what[: len(what)]) for one in table.problems][:1] == (
        [(line, what)] if what else []
    )
    assert all(one.code != "E100" for one in table.problems)
    tally.count("bad inputs", "rosters in JSON")


@given(st.text(st.sampled_from('[]{}",:0\\u\n ' + string.ascii_lowercase), max_size=40))
def test_any_text_is_a_table_or_a_sentence(text: str) -> None:
    """A table holds exactly what another reader of JSON finds, or somebody would be lost."""
    table = read_roster(f"[{text}]".encode(), "staff.json", "")
    try:
        read: Any = json.loads(f"[{text}]")
    except ValueError:
        assert table.problems
    else:
        assert table.problems or len(table.rows) == sum(any(map(str, one.values())) for one in read)
