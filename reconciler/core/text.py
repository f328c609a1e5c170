"""Text in one form: Unicode normalization, letter case, blanks, slugs, text that came from bytes, times.

Which values are brought to which form is decided where they are read and compared (core/compare/normalize.py,
core/desired/resolve.py); here are the characters.
"""

import re
import unicodedata
from datetime import datetime
from typing import Literal, cast

# --- Unicode normal forms, in linear time ---------------------------------------------------------

# Marks on one letter are sorted by insertion: a run of 100,000 takes half a minute. Written languages stack
# four, Unicode's stream-safe format allows 30 (UAX 15). A text with a longer run stays as it is.
marks_max = 256


def normalize_unicode(form: Literal["NFC", "NFD", "NFKD"], text: str) -> str:
    """Return `text` in this normal form; as it stands where more than 256 marks follow one another."""
    if len(text) > marks_max and not text.isascii() and _has_long_mark_run(text):
        return text
    return unicodedata.normalize(form, text)


def _has_long_mark_run(text: str) -> bool:
    run = 0
    for combining in map(unicodedata.combining, text):
        run = run + 1 if combining else 0
        if run > marks_max:
            return True
    return False


# --- Letter case, by a table of single letters ----------------------------------------------------
#
# What `fold_case` makes equal differs in letter case and in nothing else.
#
# Full case folding (`str.casefold`) makes texts of two people equal: `strauß` and `strauss`, the ligature `ﬁ`
# and `fi`, the long s and `s`. `str.lower` of a whole text depends on what stands beside a letter (the final
# sigma), and takes the dot off the capital I of Turkish. So each letter is mapped by itself, by a rule
# instead of a list:
#
#     a letter becomes its small letter, where Unicode has a single one for it that, written large (or as a
#     title, as digraphs are), is this very letter again. So neither the capital I with a dot nor the small
#     one without is an `i`; the micro sign, the long s and the capital theta symbol are not the letters that
#     they look like; full-width letters stay full-width.
#
# Two letters are exceptions, because their case has three forms or an odd one: the final sigma is a sigma,
# and the capital `ẞ` is `ß`.


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

    The text keeps its composition: a caller who compares texts of people normalizes them before and after.
    """
    # Nearly every text is ASCII, for which the two are the same.
    return text.lower() if text.isascii() else text.translate(cast("dict[int, str]", _small_letters))


# --- Blanks at the edges of a text ----------------------------------------------------------------


# What Unicode calls White_Space, which `str.strip` knows; and what has no width and is copied along with a
# text from a web page or a chat: the zero-width space, joiners, the byte order mark, the Mongolian separator.
_WHITE = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_WIDTHLESS = "\u180e\u200b\u200c\u200d\u2060\ufeff"
EDGES = _WHITE + _WIDTHLESS

_BREAKS = "\r\n"
_NAMES = {
    " ": "a blank",
    "\t": "a tab",
    "\n": "a line break",
    "\r": "a line break",
    "\ufeff": "a byte order mark",
}


def trim_edges(text: str) -> str:
    """Return `text` without blanks at its edges; the same object where it has none."""
    return text.strip() if text.isascii() else text.strip(EDGES)


def trim_breaks(text: str) -> str:
    """Return `text` without line breaks at its edges; other blanks stay."""
    return text.strip(_BREAKS)


def has_edges(text: str) -> bool:
    """Whether blanks stand at an edge of `text`."""
    return trim_edges(text) != text


def is_blank(text: str) -> bool:
    """Whether `text` contains only whitespace, or nothing at all."""
    return not trim_edges(text)


def describe_edges(text: str) -> str:
    """Return which blanks stand where: `begins with a blank and ends with a no-break space (U+00A0)`."""
    if is_blank(text):
        return "contains only whitespace"
    start = f"begins with {_name_blank(text[0])}" if text[0] in EDGES else ""
    end = f"ends with {_name_blank(text[-1])}" if text[-1] in EDGES else ""
    return " and ".join(filter(None, (start, end)))


def _name_blank(char: str) -> str:
    if char in _NAMES:
        return _NAMES[char]
    name, code = unicodedata.name(char, "control character").lower(), f"U+{ord(char):04X}"
    return f"{'an' if name[0] in 'aeio' else 'a'} {name} ({code})"


# --- Slugs: any text as a name of the manifest language, for rosters and exports alike ------------


# Letters that NFKD does not take apart, as their own languages write them in ASCII.
_LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "œ": "oe"})
_OTHERS = re.compile(r"[^a-z0-9]+")


def shorten_number(text: str) -> str:
    """Return a number as it is written shortest: 5.0 and 5 are one; any other text as it is."""
    sign, digits = text[:1] == "-", text.removeprefix("-")
    # No arithmetic: an exponent of a service would make a text of a billion digits.
    whole, point, part = digits.partition(".")
    if not (whole.isdecimal() and whole.isascii() and (part.isdecimal() or not point)):
        return text
    whole, part = whole.lstrip("0") or "0", part.rstrip("0")
    number = f"{whole}.{part}" if part else whole
    return f"-{number}" if sign and number != "0" else number


def slugify(text: str) -> str:
    """Return `text` as a name: ASCII, lower case, a hyphen for everything else; "" where nothing is left."""
    plain = normalize_unicode("NFKD", text.lower().translate(_LETTERS))
    return _OTHERS.sub("-", plain.encode("ascii", "ignore").decode().lower()).strip("-")


# --- Text that came from bytes --------------------------------------------------------------------
#
# The system hands over arguments, paths and variables as bytes. Python makes half of a surrogate pair of each
# byte that is no UTF-8 (PEP 383): no JSON, no database and no service takes that, and a path that holds it
# names a file that half of the libraries cannot open.


_SURROGATE = re.compile("[\ud800-\udfff]")


def why_not_text(text: str) -> str:
    """Return what keeps this from being text, as the end of a sentence about it; "" where nothing does."""
    if "\0" in text:
        return "holds the character NUL"
    return "holds bytes that are not UTF-8" if _SURROGATE.search(text) else ""


def escape_undecodable(text: str) -> str:
    r"""Return a text in which each byte that is no UTF-8 is its escape (`\xff`): fit for every output."""
    return _SURROGATE.sub(_escape_surrogate, text)


def _escape_surrogate(found: "re.Match[str]") -> str:
    number = ord(found[0])
    is_byte = 0xDC80 <= number <= 0xDCFF  # noqa: PLR2004 - the range of PEP 383
    return f"\\x{number - 0xDC00:02x}" if is_byte else f"\\u{number:04x}"


# --- Messages of parsers, without the text of the file that they quote: that may be a secret ------


# A message up to its first quoted text. The few signs are those that YAML itself expects.
_OWN_WORDS = re.compile(r"(?:[^'\"]|'[]},:?-]')*")
_CHARACTER = re.compile("^found character .* that cannot", re.DOTALL)


def strip_quoted_text(said: str | None) -> str:
    """Return the parser's own words of a message; "it cannot be read" where it has none."""
    words = _CHARACTER.sub("found character that cannot", said or "").partition(", but ")[0]
    found = _OWN_WORDS.match(words)
    return (found[0].strip() if found else "") or "it cannot be read"


# --- Times, as the service and records write them ------------------------------------------------


def parse_instant(text: str) -> datetime | None:
    """Return the moment that an ISO 8601 text names, or None where it names none exactly."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    # Two clocks cannot be compared by guessing in which zone one of them hangs.
    return moment if moment.tzinfo else None
