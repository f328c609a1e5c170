"""Lines on a terminal that is narrower than they are: broken between words, and nothing of them lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.report.lines import line, plain, width, wrap_lines

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
