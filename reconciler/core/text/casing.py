"""Letter case by a table of single letters: what `fold_case` makes equal differs in case and nothing else.

Full case folding (`str.casefold`) makes texts of two people equal: `strauß` and `strauss`, the ligature `ﬁ`
and `fi`, the long s and `s`. `str.lower` of a whole text depends on what stands beside a letter (the final
sigma), and takes the dot off the capital I of Turkish. So each letter is mapped by itself, by a rule instead
of a list:

    a letter becomes its small letter, where Unicode has a single one for it that, written large (or as a
    title, as digraphs are), is this very letter again. So neither the capital I with a dot nor the small one
    without is an `i`; the micro sign, the long s and the capital theta symbol are not the letters that they
    look like; full-width letters stay full-width.

Two letters are exceptions, because their case has three forms or an odd one: the final sigma is a sigma, and
the capital `ẞ` is `ß`.
"""

from typing import cast

_EXCEPTIONS = {"\N{GREEK SMALL LETTER FINAL SIGMA}": "\N{GREEK SMALL LETTER SIGMA}", "ẞ": "ß"}


class _SmallLetters(dict[int, str]):
    """The small letter of each letter, as `str.translate` asks for it: made when it is asked for."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        small = letter.lower()
        paired = len(small) == 1 and letter in (small.upper(), small.title())
        self[code] = _EXCEPTIONS.get(letter, small if paired else letter)
        return self[code]


_small_letters = _SmallLetters()


def fold_case(text: str) -> str:
    """Return the text in small letters; what is equal then differed in letter case alone.

    The text keeps its composition: whoever compares texts of people normalizes them first and afterwards.
    """
    # Nearly every text is ASCII, for which the two are the same.
    return text.lower() if text.isascii() else text.translate(cast("dict[int, str]", _small_letters))
