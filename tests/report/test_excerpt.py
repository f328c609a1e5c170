"""The line below a problem: structure and carets, never a value."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reconciler.report.excerpt import (
    ShownLine,
    excerpt_lines,
    may_hold_secret,
    roster_excerpt,
    whole_excerpt,
    yaml_excerpt,
)
from reconciler.report.lines import plain, width

KNOWN = frozenset({"contacts", "firstName", "pushToken", "timezone"})
LINES = st.one_of(
    st.text("aé漢: -\"'{}[],#|>&*\t\\%@`?!\x00\u202e", max_size=60),
    st.lists(
        st.sampled_from(["firstName", "secret", ": ", ", ", "{", "}", "[", '"', "'", "- ", " ", "\t", "漢字"])
    ).map("".join),
)
SAID = "contact/ops/jane: fristName is not a field of a contact."


def shown(text: str, column: int, said: str = SAID) -> str:
    found = yaml_excerpt(text, column, said=said, known=KNOWN)
    return plain(excerpt_lines(7, found, columns=80)) if found else ""


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("    fristName: Jane", 5, "    7 |     fristName: ...\n      |     ^^^^^^^^^\n"),
        ("    pushToken: 'abc' # of Jane", 5, "    7 |     pushToken: ...\n      |     ^^^^^^^^^\n"),
        ("  - firstName: a", 5, "    7 |   - firstName: ...\n      |     ^^^^^^^^^\n"),
        ("  - hunter2", 5, "    7 |   - ...\n      |     ^^^\n"),
        ("firstName: |", 12, "    7 | firstName: |\n      |            ^\n"),
        ("\tfirstName: a", 2, "    7 |     firstName: ...\n      |     ^^^^^^^^^\n"),
        (
            '{"firstName": "a", fristName: [b, {c: d}]}',
            20,
            (
                '    7 | {"firstName": ..., fristName: [..., {...: ...}]}\n'
                "      |                    ^^^^^^^^^\n"
            ),
        ),
        ("hunter2: 1", 1, "    7 | ...: ...\n      | ^^^\n"),
        ("firstName: a", 13, "    7 | firstName: ...\n      |               ^\n"),
        ("correct horse battery", 1, "    7 | ...\n      | ^^^\n"),
        ("", 1, "    7 |\n      | ^\n"),
    ],
)
def test_a_line_is_shown_by_its_structure(text: str, column: int, expected: str) -> None:
    """Read by eye: the carets stand below the key that is meant, the values are not there."""
    assert shown(text, column) == expected


def test_a_key_that_the_message_names_is_shown_only_where_the_problem_stands() -> None:
    """Elsewhere the same word may be a part of somebody's secret."""
    assert shown("fristName: {fristName: a}", 13) == (
        "    7 | ...: {fristName: ...}\n      |       ^^^^^^^^^\n"
    )


@given(LINES, st.integers(1, 70), st.sampled_from([SAID, ""]))
@example("secret, rest: {firstName: x}", 1, "")
def test_no_word_is_shown_that_is_neither_public_nor_in_the_message(
    text: str, column: int, said: str
) -> None:
    """The rule that keeps secrets and people out of public logs, whatever the line is a part of."""
    found = yaml_excerpt(text, column, said=said, known=KNOWN)

    if found is None:
        assert column > len(text) + 1
        return
    allowed = KNOWN | {*re.findall(r"[\w-]+", said)}
    assert {*re.findall(r"\w[\w-]*", found.text)} <= allowed
    assert 0 <= found.start <= len(found.text)
    assert found.length >= 1


@given(st.text("ab漢 .,:", max_size=300), st.data(), st.integers(10, 100))
def test_carets_stay_on_the_screen(text: str, data: st.DataObject, columns: int) -> None:
    """A terminal that breaks the line would move the carets below another place."""
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(1, 80))

    above, below = excerpt_lines(12345, ShownLine(text, start, length), columns=columns)

    least = max(columns, 30)
    assert width("".join(span.text for span in above)) <= least
    assert width("".join(span.text for span in below)) <= least + 1
    assert "^" in below[-1].text


def test_wide_characters_count_twice() -> None:
    """A terminal gives them two columns."""
    found = yaml_excerpt("  漢字: a", 3, said="漢字 is no field.", known=KNOWN)

    assert found is not None
    assert plain(excerpt_lines(1, found, columns=80)) == "    1 |   漢字: ...\n      |   ^^^^\n"


def test_a_row_of_a_roster_shows_which_cell_and_no_cell() -> None:
    """Its cells are people."""
    found = roster_excerpt(3, 2, ";")

    assert found is not None
    assert plain(excerpt_lines(2, found, columns=80)) == "    2 | ...; ...; ...\n      |      ^^^\n"
    assert roster_excerpt(3, 4, ";") == ShownLine("...; ...; ...", 13, 1)
    assert roster_excerpt(3, 5, ";") is None


def test_a_whole_file_in_one_line_is_not_shown() -> None:
    """Nobody reads it, and every problem in it would take it apart again."""
    assert yaml_excerpt("{" + "a: b, " * 500, 2, said="", known=KNOWN) is None


@pytest.mark.parametrize(
    ("lines", "secret"),
    [
        (["contacts:", "  jane:", "    jobTitel: Engineer"], False),
        (["contacts:", "  jane:", "    workEmailAddress1: jane@example.com"], False),
        (["contacts:", "  - jobTitel: Engineer"], False),
        (["contacts:", "  jane: {jobTitel: Engineer}"], False),
        (["contacts:", "  jane:", "    pasword: hunter2"], True),
        (["contacts:", "  jane: {password: hunter2}"], True),
        (["contacts:", "  jane:", "    pushTokn: abc"], True),
        (["contacts:", "  jane:", "    secrte: abc"], True),
        (["contacts:", "  jane:", "    psuhToekn: abc"], True),
        (["contacts:", "  jane:", "    jobTitel: a8f5f167f44f4964e6c998de"], True),
        (["  password:", "    jobTitel: hunter2"], True),
        (["service:", "  auth:", "    # of the team", "", "    user: jane", "    pin_: 1"], True),
        (["contacts:", "  jane:", "    password: >", "      my", "      lines: hunter2"], True),
        (["contacts:", "  jane:", "    hunter2"], True),
        (["a: postgresql://jane:hunter2@db.example.com/a"], True),
    ],
)
def test_a_line_that_may_hold_a_secret_is_known_by_the_names_around_it(
    lines: list[str],
    *,
    secret: bool,
) -> None:
    """Such a line stays hidden on a terminal too: it is copied into tickets and screen shares."""
    assert may_hold_secret(lines, len(lines)) is secret


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("    jobTitel: Engineer", 5, "    7 |     jobTitel: Engineer\n      |     ^^^^^^^^\n"),
        ("\tjobTitel: Engineer", 12, "    7 |     jobTitel: Engineer\n      |               ^^^^^^^^\n"),
        ('  timezone: "Mars"  ', 13, '    7 |   timezone: "Mars"\n      |             ^^^^^^\n'),
    ],
)
def test_a_whole_line_is_shown_as_it_is(text: str, column: int, expected: str) -> None:
    found = whole_excerpt(text, column)

    assert found is not None
    assert plain(excerpt_lines(7, found, columns=80)) == expected
