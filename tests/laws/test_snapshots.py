"""A roster of a snapshot declares what the same roster of the directory declares: for every answer."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from manifest.project import Project

from reconciler.directories.answers import AnswerRows, ReadOnce
from reconciler.manifest.rosters.roster_sources import build_answer_table, summarize_answer
from reconciler.manifest.rosters.snapshot import build_snapshot, compare_snapshots
from reconciler.manifest.rosters.table import read_csv
from reconciler.model.directories import DirectorySetting, SqlDirectory
from reconciler.model.documents import Place
from reconciler.model.secrets import Secret

ROSTER = """rosters:
  - {source}
    name: "{{c0}}"
    contacts: {{firstName: "{{c1}}", lastName: "{{c1}} {{c2}}", jobTitle: "x{{c2}}"}}
"""
# What a cell may hold, and what the form of the file could take for its own: delimiters, quotes, line ends.
_texts = st.text(
    st.one_of(st.sampled_from(",;\"'\n\r\t =+-@#|\\"), st.characters(exclude_categories=("Cs", "Cc"))),
    max_size=6,
)


@st.composite
def answers(draw: st.DrawFn) -> AnswerRows:
    """Return an answer of a few columns, of which the first three have the names of the roster's."""
    more = draw(st.lists(st.sampled_from(["a;b", 'q"q', "x,y", "=1+1", "Ł", "c"]), max_size=3, unique=True))
    header = ("c0", "c1", "c2", *more)
    row = st.lists(_texts, min_size=len(header), max_size=len(header))
    rows = draw(st.lists(row, min_size=1, max_size=5))
    held = st.dictionaries(st.integers(0, len(header) - 1), st.just("bytes"), max_size=1)
    unusable = draw(st.dictionaries(st.integers(0, len(rows) - 1), held, max_size=2))
    return AnswerRows(header, tuple(rows), unusable={row: cells for row, cells in unusable.items() if cells})


class _Known(ReadOnce):
    """A directory whose answer is known."""

    def __init__(self, answer: AnswerRows) -> None:
        directory = SqlDirectory(Secret("sqlite:///none"), "SELECT 1")
        super().__init__({"staff": DirectorySetting(directory, Place("reconciler.yaml", 1, 1))})
        self._answers = {"staff": answer}


def _copied(answer: AnswerRows) -> AnswerRows:
    return AnswerRows(answer.header, tuple(list(row) for row in answer.rows), unusable=answer.unusable)


def _declared(
    project: Project, asked: ReadOnce | None = None
) -> list[tuple[str, Mapping[str, object]]] | None:
    """Return the contacts of a project by name, or None where it has mistakes."""
    loaded = project.load(asked=asked)
    if loaded.problems:
        return None
    return sorted((one.name, dict(one.fields)) for manifest in loaded.manifests for one in manifest.documents)


@given(answers())
def test_a_roster_of_the_snapshot_is_that_of_the_directory(answer: AnswerRows) -> None:
    """Places aside. What is a mistake of the one is a mistake of the other."""
    table = build_answer_table(_copied(answer), lambda _: "sql:staff")
    with TemporaryDirectory() as folder:
        project = Project(Path(folder) / "project")
        project.manifest(ROSTER.format(source="directory: staff"))
        asked = _declared(project, _Known(_copied(answer)))
        project.manifest(ROSTER.format(source="file: ../staff.csv"))
        project.write("staff.csv", b"" if table.problems else build_snapshot(table).data)

        assert _declared(project) == asked


@given(answers(), st.randoms(use_true_random=False))
def test_a_snapshot_is_the_same_for_any_order_of_rows(answer: AnswerRows, random: object) -> None:
    """A commit of it shows people, and never the order in which a database found them."""
    order = list(range(len(answer.rows)))
    random.shuffle(order)  # type: ignore[attr-defined]  # hypothesis has no type for it
    moved = {new: answer.unusable[old] for new, old in enumerate(order) if old in answer.unusable}
    other = AnswerRows(answer.header, tuple(list(answer.rows[at]) for at in order), unusable=moved)

    first, second = (
        build_snapshot(build_answer_table(one, lambda _: "x")) for one in (_copied(answer), other)
    )

    assert first.data == second.data


@given(answers())
def test_a_snapshot_is_read_back_without_a_mistake(answer: AnswerRows) -> None:
    """Whatever cells hold: quotes, line ends, delimiters; and a header that could be taken for another."""
    table = build_answer_table(answer, lambda _: "sql:staff")
    made = build_snapshot(table)
    if table.problems or not made.data:
        return

    again = read_csv(made.data, "staff.csv")

    assert again.problems == ()
    assert again.header == tuple(one for one in table.header if one not in made.left_out)
    assert compare_snapshots(made.data, made.data, "staff.csv").alike


def test_the_columns_of_a_snapshot_stand_as_in_the_file_before() -> None:
    """A SCIM service makes columns of keys, and whose keys come first may be another person next time."""
    first = build_snapshot(
        build_answer_table(AnswerRows(("id", "name"), (["1", "Jane"],)), lambda _: "scim:staff")
    )

    again = AnswerRows(("name", "id"), (["Jane", "1"],))

    assert build_snapshot(build_answer_table(again, lambda _: "scim:staff"), first.data).data == first.data
    assert (
        summarize_answer("staff", build_answer_table(again, lambda _: "x")).digest
        == summarize_answer(
            "staff", build_answer_table(AnswerRows(("id", "name"), (["1", "Jane"],)), lambda _: "x")
        ).digest
    )


def test_a_column_with_a_cell_that_is_no_text_is_left_out() -> None:
    """Of everybody: a text for some and a gap for others would be a half-filled spreadsheet."""
    answer = AnswerRows(("id", "photo"), (["1", "x"], ["2", "?"]), unusable={1: {1: "bytes"}})

    made = build_snapshot(build_answer_table(answer, lambda _: "sql:staff"))

    assert (made.data, made.left_out) == (b"id\n1\n2\n", {"photo": ("bytes", 1)})


@pytest.mark.parametrize("text", ["=1+1", "+61491570156", "-1", "@x", "\tx"])
def test_a_cell_that_a_spreadsheet_takes_for_a_formula_stays_as_it_is(text: str) -> None:
    """This program and reviewers read the file; a quotation mark in front would be another name."""
    made = build_snapshot(build_answer_table(AnswerRows(("id",), ([text],)), lambda _: "sql:staff"))

    assert read_csv(made.data, "x.csv").rows == ((2, [text]),)
