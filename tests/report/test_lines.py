"""Columns and folding: the small arithmetic that tables stand on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report.strategies import calm

from reconciler.report.escaping import escape_control
from reconciler.report.lines import (
    count,
    cut_text,
    flow_parts,
    fold_items,
    line,
    pad_text,
    plain,
    screen_columns,
    width,
    wrap_lines,
)
from reconciler.report.values import format_size, is_digest, short_digest, short_fingerprint

inert_texts = st.text(max_size=40).map(escape_control)


@calm
@given(inert_texts, st.integers(1, 60))
def test_a_padded_cut_text_fills_its_column_exactly(text: str, columns: int) -> None:
    """Or every column to the right of it would be out of line."""
    assert width(cut_text(text, columns)) <= columns
    assert width(pad_text(cut_text(text, columns), columns)) == columns


@pytest.mark.parametrize(
    ("text", "columns"), [("", 0), ("Jane", 4), ("近藤", 4), ("e\u0301", 1), ("→", 1), ("🚒", 2)]
)
def test_width_is_what_a_terminal_takes(text: str, columns: int) -> None:
    """Len counts code points: names in Japanese would push their row apart."""
    assert width(text) == columns


@pytest.mark.parametrize(
    ("text", "columns", "kept"),
    [("Jane Doe", 8, "Jane Doe"), ("Jane Doe", 5, "Jane…"), ("近藤花", 5, "近藤…"), ("近藤花", 4, "近…")],
)
def test_a_cut_never_splits_a_wide_character(text: str, columns: int, kept: str) -> None:
    assert cut_text(text, columns) == kept


@pytest.mark.parametrize(("number", "listed", "more"), [(0, 0, 0), (20, 20, 0), (21, 10, 1), (2_000, 10, 1)])
def test_a_list_folds_when_it_is_longer_than_twenty(number: int, listed: int, more: int) -> None:
    items, rest = fold_items(range(number), full=False)

    assert (len(items), len(rest)) == (listed, more)
    assert fold_items(range(number), full=True) == (range(number), ())


def test_parts_flow_onto_as_many_lines_as_they_need() -> None:
    """Counts that wrap in the middle of a word cannot be compared by eye."""
    lines = flow_parts([("x" * 30, "")] * 7)

    assert [width(each) for each in plain(lines).splitlines()] == [98, 98, 32]
    assert all(width(each) <= screen_columns for each in plain(lines).splitlines())
    assert flow_parts([]) == []


def test_a_line_takes_nothing_that_acts() -> None:
    """There is no other way to make a line."""
    assert plain([line("a\n", ("b\x1b[2J", "delete"), "  ")]) == "a\\nb\\x1b[2J\n"


@pytest.mark.parametrize(
    ("octets", "text"),
    [(0, "0 bytes"), (1, "1 byte"), (1023, "1,023 bytes"), (12_698, "12.4 KiB"), (3_250_586, "3.1 MiB")],
)
def test_sizes_read_as_people_know_them(octets: int, text: str) -> None:
    assert format_size(octets) == text


def test_numbers_and_digests_are_short() -> None:
    digest = "sha256:" + "0123456789abcdef" * 4

    assert (count(1, "update"), count(2_000, "update")) == ("1 update", "2,000 updates")
    assert (is_digest(digest), is_digest("sha256:later"), is_digest("at:0123456789")) == (True, False, False)
    assert short_digest(digest) == "sha256 01234567"
    assert short_fingerprint("7f3a91c2e5d8") == "7f3a 91c2"
    assert short_fingerprint("") == ""


# --- Lines that are wider than the terminal: broken between words, and nothing is lost --------------------


WORDS = st.lists(st.text("abé漢", min_size=1, max_size=12), min_size=1, max_size=30)


@given(WORDS, st.integers(40, 100), st.integers(0, 8))
def test_a_line_is_broken_between_words_and_nothing_is_lost(
    words: list[str], columns: int, lead: int
) -> None:
    """A path or a command that is broken cannot be copied."""
    one = line(" " * lead, *((word + " ", "bold") for word in words))

    text = plain(wrap_lines([one], columns))

    assert text.split() == words
    assert all(width(part) <= columns for part in text.splitlines())


def test_a_word_that_is_too_long_stays_whole() -> None:
    """The terminal may break it; a command or an address that we broke would be another one."""
    (first, second) = wrap_lines([line("next: ", "x" * 60)], 40)

    assert plain([first, second]) == "next:\n  " + "x" * 60 + "\n"


@pytest.mark.parametrize("columns", [40, 80])
def test_short_lines_stay_as_they_are(columns: int) -> None:
    assert wrap_lines([line("a ", ("b", "bold")), ()], columns) == [line("a ", ("b", "bold")), ()]
