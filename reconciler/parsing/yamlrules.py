"""What YAML 1.2 refuses and the C parser takes, or the other way round: found in the text, with its place.

The C parser (libyaml) reads YAML 1.1, and does not hold all of its rules: it takes a text that goes on to
the left of its key, `#` right behind a value, `?text` as `text`; and it takes no escaped surrogate pair, as
JSON writes every emoji. Another reader refuses such a file, or reads something else in it. The text is looked
at where it gives cause to: nearly every file gives none. The cases are those of the YAML test suite, which
`tests/manifest/test_yaml_suite.py` runs.

Pure: nothing is built here. The events, and what comes of them, are in yamltext.py.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import yaml

from reconciler.parsing.build import GAP, Position

_BREAK = re.compile(r"\r\n?|\n")
_BLANK = frozenset(" \t\r\n")

Span = tuple[int, int]  # characters of the text, the end not included
Parse = Callable[[str], Iterator[Any]]  # the events of a text


class Breach(NamedTuple):
    """A rule that a text breaks: where (in characters from its start), what to say, and its code."""

    at: int
    what: str
    next: str
    code: str


def position(text: str, index: int) -> Position:
    """Return line and column of a character, as the parser counts them."""
    breaks = list(_BREAK.finditer(text, 0, index))
    return len(breaks) + 1, index - (breaks[-1].end() if breaks else 0) + 1


# --- Directives -----------------------------------------------------------------------------------

_DIRECTIVE = re.compile(r"^%(?:TAG\b|YAML(?![ \t]+1\.[12][ \t]*(?:[ \t]#.*)?\r?$))", re.MULTILINE)


def refused_directive(text: str) -> Breach | None:
    """Return the first directive that is not read: one about tags, or a version that nobody knows."""
    found = _DIRECTIVE.search(text) if "%" in text else None
    if found is None:
        return None
    if found[0] == "%TAG":  # the parser compares each of these with all others
        hint = "take the line away; every scalar is text here"
        return Breach(found.start(), "the directive %TAG is refused.", hint, "E102")
    what = "this is not YAML: the directive %YAML does not name a version that is read."
    return Breach(found.start(), what, "take the line away, or write %YAML 1.2", "E101")


# --- Lines that go on to the left ------------------------------------------------------------------

_LEFT = "indent it with spaces, by more than the key or the dash that it belongs to"
_ONLY_BRACKETS = re.compile(r"[\[\]{},\s]*(?:#.*)?")


def line_too_far_left(text: str, span: Span, indent: int, *, quoted: bool) -> Breach | None:
    """Return the first line of a quoted text, or of what is in brackets, that is not inside of its parent.

    `indent` is the column of the block mapping or list around it, -1 where there is none. Lines of brackets,
    commas and comments alone may stand anywhere, as people write `key: [` and `]`: they say nothing.
    """
    for found in _BREAK.finditer(text, *span):
        start = found.end()
        stop = _BREAK.search(text, start)
        line = text[start : stop.start() if stop else len(text)]
        depth = len(line) - len(line.lstrip(" "))
        silent = not line.strip() if quoted else _ONLY_BRACKETS.fullmatch(line)
        if depth > indent or silent or start >= span[1]:
            continue
        tab = line[depth] == "\t"
        what = (
            "a tab stands in the indentation of it" if tab else "it goes on to the left of what it belongs to"
        )
        kind = "a quoted text" if quoted else "what is in brackets"
        return Breach(
            start + depth, f"this is not YAML: {kind} has several lines, and {what}.", _LEFT, "E120"
        )
    return None


def blank_lines_too_deep(text: str, start: int, value: str) -> Breach | None:
    """Return the line below an empty block text that is less indented than the blank lines above it.

    The parser would end the text there, and take the line for a comment. `start` is where the block text
    begins, `value` what the parser read.
    """
    head, *lines = text[start:].split("\n")
    if value.strip("\n") or re.match(r"[|>][+-]?[1-9]", head):
        return None
    at, deepest = start + len(head) + 1, 0
    for line in lines:
        depth = len(line) - len(line.lstrip(" "))
        if line.strip():
            what = "this is not YAML: a block text begins less indented than the blank lines above it."
            hint = "take the spaces of the blank lines away"
            return Breach(at + depth, what, hint, "E120") if 0 < depth < deepest else None
        deepest, at = max(deepest, depth), at + len(line) + 1
    return None


# --- Signs that are none ---------------------------------------------------------------------------

# Behind these the parser takes a # for a comment: quotes, brackets, and what begins a value or a block text.
_BEFORE_HASH = frozenset("\"'[]{},:?|>+-0123456789")
_BEFORE_QUESTION = _BLANK | frozenset("[{,:")


def stray_sign(text: str, parse: Parse) -> Breach | None:
    """Return the first `#` or `?` that the parser takes for a sign, and YAML for a part of a text.

    The text is parsed once more, and only where one of them may stand.
    """
    questions = [at for at in _places(text, "?") if _may_begin_text(text, at)]
    if not questions and not any(at and text[at - 1] in _BEFORE_HASH for at in _places(text, "#")):
        return None
    spans, read = _scalars(text, parse)
    starts = [start for start, _ in spans]
    hidden: list[Span] = []  # comments, in their order
    hashes: list[Breach] = []
    for at in _places(text[:read], "#"):
        if _is_within(at, spans, starts) or (hidden and at < hidden[-1][1]):
            continue
        end = _BREAK.search(text, at)
        hidden.append((at, end.start() if end else len(text)))
        if at and text[at - 1] not in _BLANK:
            what = "this is not YAML: a comment needs a blank before its #."
            hint = "write a blank before the #, or put the text that it belongs to in quotes"
            hashes.append(Breach(at, what, hint, "E121"))
    begins = [start for start, _ in hidden]
    for at in questions:
        if at < read and not _is_within(at, spans, starts) and not _is_within(at, hidden, begins):
            what = "a text in brackets that begins with ? is refused: some readers leave the ? out."
            hashes.append(Breach(at, what, "put the text in quotes", "E122"))
    return min(hashes, default=None)


def _may_begin_text(text: str, at: int) -> bool:
    return (at == 0 or text[at - 1] in _BEFORE_QUESTION) and text[at + 1 : at + 2] not in _BLANK | {""}


def _places(text: str, sign: str) -> Iterator[int]:
    at = text.find(sign)
    while at >= 0:
        yield at
        at = text.find(sign, at + 1)


def _scalars(text: str, parse: Parse, *styles: str) -> tuple[list[Span], int]:
    """Return where the texts of scalars stand, of all or of these styles; and where the parser stopped.

    That is the end, or a mistake, which is told where the text is built. A block text begins behind its
    first line, which may end with a comment.
    """
    spans, end = [], 0
    try:
        for event in parse(text):
            start, end = event.start_mark.index, event.end_mark.index
            if type(event) is not yaml.ScalarEvent or (styles and event.style not in styles):
                continue
            if event.style in ("|", ">"):
                found = _BREAK.search(text, start, end)
                start = found.end() if found else end
            spans.append((start, end))
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return spans, end
    return spans, len(text)


def _is_within(at: int, spans: Sequence[Span], starts: Sequence[int]) -> bool:
    number = bisect_right(starts, at) - 1
    return number >= 0 and at < spans[number][1]


# --- Escapes of characters beyond the first 65,536 ---------------------------------------------------

# JSON writes such a character as two escapes, of which each alone is no character. An even number of
# backslashes before them are characters of their own.
_HALVES = re.compile(
    r"(?<!\\)(?P<before>(?:\\\\)*)"
    r"(?:(?P<pair>\\u[dD][89aAbB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?P<lone>\\(?:u|U0000)[dD][89a-fA-F][0-9a-fA-F]{2}))"
)
_FILL = "\ufdd1"  # a noncharacter, for each place that an escape takes and its character does not


class FitText(NamedTuple):
    """A text as the parser can read it, as long as the one that was written.

    `lone` are the halves of pairs that stand alone, each with the character that it is; GAP stands there.
    """

    text: str
    lone: tuple[tuple[int, str], ...] = ()
    filled: bool = False  # whether values may hold what `without_fill` takes out


def fit_escapes(text: str, parse: Parse) -> FitText:
    """Return the text with the character in the place of two escapes that are one, in double quotes only."""
    if "\\" not in text or not (found := list(_HALVES.finditer(text))):
        return FitText(text)
    whole, _ = _replaced(text, found)
    quoted, end = _scalars(whole, parse, '"')
    starts = [start for start, _ in quoted]
    meant = [one for one in found if one.end() > end or _is_within(one.end() - 1, quoted, starts)]
    fit, lone = _replaced(text, meant)
    return FitText(fit, lone, bool(meant))


def without_fill(value: str) -> str:
    """Return a value of a text whose escapes were made fit, without what stood for their length."""
    return value.replace(_FILL, "")


def _replaced(text: str, found: Sequence["re.Match[str]"]) -> tuple[str, tuple[tuple[int, str], ...]]:
    pieces, lone, at = [], [], 0
    for one in found:
        start, length = one.end("before"), one.end() - one.end("before")
        escapes = one[0][one.end("before") - one.start() :]
        if one["pair"]:
            high, low = int(escapes[2:6], 16), int(escapes[8:12], 16)
            character = chr(0x10000 + (high - 0xD800) * 0x400 + low - 0xDC00)
        else:
            character = GAP
            lone.append((start, chr(int(escapes[-4:], 16))))
        pieces += [text[at:start], character, _FILL * (length - 1)]
        at = one.end()
    return "".join([*pieces, text[at:]]), tuple(lone)
