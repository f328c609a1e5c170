"""The line of a file that a problem is about, with carets below the place.

A manifest may hold a password or a push token that somebody typed, and rosters hold people; logs of CI jobs
are public. So in a log a line is shown by its structure: indentation, punctuation and keys. A key is shown
only if it is a word of the schemas, or if the problem names it; everything else is `...`. Nothing has to know
which values are secret, and a line inside a longer text tells no more than any other.

On the terminal of the author the line is shown as it is, unless it may hold a secret (`may_hold_secret`).

Reading the files is the work of cli/console/error_text.py.
"""

import re
from collections.abc import Container, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from reconciler.report.lines import Line, cut_text, line, width

MASK = "..."
_LEAST = 20  # columns of the file that are shown beside the number, however narrow the screen
_TAB = "    "
_line_max = 2000  # characters; splitting a file of one line would take long, and it cannot be read

_DASH = re.compile(r"-[ \t]+|-$")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\'')
_COLON = re.compile(r"[ \t]*:(?=[ \t]|$)[ \t]*")
_FLOW_COLON = re.compile(r"[ \t]*:(?=[ \t,{}\[\]\"']|$)[ \t]*")
_PLAIN_KEY = re.compile(
    r"[^\s\"'{}\[\],&*!|>%@`#:-](?:[^:#]|:(?![ \t]|$)|(?<![ \t])#)*?(?=[ \t]*:(?:[ \t]|$))"
)
_FLOW_CHAR = r"(?:[^\s\"'{}\[\],:]|:(?![\s,{}\[\]\"']|$))"
_PLAIN_FLOW = re.compile(rf"{_FLOW_CHAR}+(?:[ \t]+{_FLOW_CHAR}+)*")
_BLOCK = re.compile(r"[|>][-+1-9]{0,2}[ \t]*$")
_OPENERS = ("{", "[")
_WORD = re.compile(r"[^\s\"'{}\[\],:#]+")


class ShownLine(NamedTuple):
    """What is shown of one line, and where the carets stand in it: from `start`, so many characters."""

    text: str
    start: int
    length: int


class _Piece(NamedTuple):
    """What is shown of the characters from `at` on."""

    at: int
    text: str
    solid: bool = False  # a word, below all of which the carets stand


def yaml_excerpt(text: str, column: int, *, said: str, known: Container[str]) -> ShownLine | None:
    """Return what may be shown of a line of YAML or JSON; None where it has no such column or is very long.

    `column` counts from 1, and one beyond the end is the end. `said` is the message of the problem: it was
    written to hold nothing secret. `known` are words that are never secret.
    """
    if column > len(text) + 1 or len(text) > _line_max:
        return None
    return _place_carets(_split_line(text, column - 1, said, known), column - 1)


# A part of the name of a field, section or variable whose value may be a secret.
_SECRET_NAME = re.compile(
    r"pas|pwd|secret|tok|key|auth|cred|bearer|cookie|session|salt|sign|answer|question|\bpin\b|url|dsn|store",
    re.IGNORECASE,
)
# A misspelt name is often what the problem is about, so names like these count as well.
_SECRET_WORDS = ("password", "secret", "secretanswer", "token", "pushtoken", "credential", "apikey")
_NAME = re.compile(r"[\w-]+(?=[\"']?[ \t]*:)")

# `user:password@host`, or an unbroken text as long as a token, with letters and digits.
_SECRET_VALUE = re.compile(r"://|:[^\s:@]+@|(?=[\w+/=.-]*\d)(?=[\w+/=.-]*[A-Za-z])[\w+/=-]{20,}")


def may_hold_secret(lines: Sequence[str], number: int) -> bool:
    """Whether a line of a file, counted from 1, may hold a secret or a part of one.

    It may if the line, or a line that encloses it by its indentation, has such a name, if a text in it looks
    like a token, or if it has no key.
    """
    text = lines[number - 1]
    if not _COLON.search(text) or _names_secret(text) or _SECRET_VALUE.search(text):
        return True
    indent = _indent(text)
    for above in reversed(lines[: number - 1]):
        if above.strip() and not above.lstrip().startswith("#") and _indent(above) < indent:
            if not _COLON.search(above) or _names_secret(above):
                return True
            indent = _indent(above)
    return indent > 0  # nothing encloses it: no file that people write


def _names_secret(text: str) -> bool:
    return bool(_SECRET_NAME.search(text)) or any(
        get_close_matches(name.lower(), _SECRET_WORDS, n=1, cutoff=0.7) for name in _NAME.findall(text)
    )


def _indent(text: str) -> int:
    """Return where the first key of a line stands: the dashes of items before it count."""
    end = len(text) - len(text.lstrip(" \t"))
    while dash := _DASH.match(text, end):
        end = dash.end()
    return end


def whole_excerpt(text: str, column: int) -> ShownLine | None:
    """Return a line as it is, carets below a word; None where it has no such column or is very long."""
    if column > len(text) + 1 or len(text) > _line_max:
        return None
    start = column - 1
    word = _QUOTED.match(text, start) or _WORD.match(text, start)
    expanded = text.rstrip().replace("\t", _TAB)
    before = len(text[:start].replace("\t", _TAB))
    return ShownLine(expanded, before, len(word[0]) if word else 1)


def roster_excerpt(cells: int, column: int, delimiter: str) -> ShownLine | None:
    """Return a row of a roster without what its cells hold; None where it has no such cell.

    The cell after the last one is the one that is missing.
    """
    if not 0 < column <= cells + 1:
        return None
    text = f"{delimiter} ".join([MASK] * cells)
    start = (column - 1) * (len(MASK) + 2)
    return ShownLine(text, start, len(MASK)) if column <= cells else ShownLine(text, len(text), 1)


def excerpt_lines(number: int, shown: ShownLine, *, columns: int) -> tuple[Line, Line]:
    """Return two lines of at most so many columns: the numbered line, and the carets below it."""
    gutter = f"{number:>5} | "
    start, end, text = _cut_window(shown, max(columns - len(gutter), _LEAST))
    carets = "^" * max(width(text[start:end]), 1)
    before = " " * width(text[:start])
    return (
        line((gutter, "dim"), text),
        line((" " * (len(gutter) - 2) + "| ", "dim"), before, (carets, "bold")),
    )


def _cut_window(shown: ShownLine, most: int) -> tuple[int, int, str]:
    """Return where the carets begin and end, and the part around them that has so many columns."""
    text, start, end = shown.text, shown.start, shown.start + shown.length
    if width(text) <= most:
        return start, end, text
    first = max(0, min(start, end - most // 2) - most // 4) if start > most // 2 else 0
    whole = text[first:]
    part = cut_text(whole, most - 1)
    kept, back = (whole, "") if part == whole else (part[:-1], "…")
    front = "…" if first else ""
    start = min(max(start - first, 0), len(kept))
    end = min(max(end - first, start), len(kept))
    return start + len(front), end + len(front), front + kept + back


def _place_carets(pieces: Sequence[_Piece], at: int) -> ShownLine:
    text = "".join(piece.text for piece in pieces)
    before = 0
    for index, piece in enumerate(pieces):
        following = pieces[index + 1].at if index + 1 < len(pieces) else None
        if following is None or at < following:
            if piece.solid:
                return ShownLine(text, before, len(piece.text))
            within = min(at - piece.at, len(piece.text))
            return ShownLine(text, before + within, 1)
        before += len(piece.text)
    return ShownLine(text, len(text), 1)


def _split_line(text: str, wanted: int, said: str, known: Container[str]) -> list[_Piece]:
    """Return every part of a line as it is shown, in order."""
    text = text.rstrip()
    lead = _split_lead(text)
    at = lead[-1].at + 1 if lead else 0
    reading = _Reading(text, wanted, said, known)
    if text[at : at + 1] in _OPENERS:
        reading.flow(at)
    else:
        reading.block(at)
    found = [*lead, *reading.pieces]
    return found if wanted < len(text) else [*found, _Piece(len(text), "")]


def _split_lead(text: str) -> list[_Piece]:
    """Return the indentation and the dashes of items, a character each."""
    end = len(text) - len(text.lstrip(" \t"))
    while dash := _DASH.match(text, end):
        end = dash.end()
    return [_Piece(at, _TAB if text[at] == "\t" else text[at]) for at in range(end)]


class _Reading:
    def __init__(self, text: str, wanted: int, said: str, known: Container[str]) -> None:
        self.text = text
        self.wanted = wanted
        self.said = said
        self.known = known
        self.pieces: list[_Piece] = []

    def block(self, at: int) -> None:
        """Show one key and the beginning of what follows it; or nothing but that there is something."""
        key = _QUOTED.match(self.text, at) or _PLAIN_KEY.match(self.text, at)
        colon = _COLON.match(self.text, key.end()) if key else None
        if key is None or colon is None:
            self.masked(at)
            return
        self.key(at, key[0])
        self.pieces.append(_Piece(key.end(), ": " if colon.end() < len(self.text) else ":"))
        rest = colon.end()
        if self.text[rest : rest + 1] in _OPENERS:
            self.flow(rest)
        elif block := _BLOCK.match(self.text, rest):
            self.pieces.append(_Piece(rest, block[0].strip(), solid=True))
        else:
            self.masked(rest)

    def flow(self, at: int) -> None:
        """Show brackets, commas and keys of a mapping or list that begins here."""
        while at < len(self.text):
            found = _QUOTED.match(self.text, at) or _PLAIN_FLOW.match(self.text, at)
            colon = _FLOW_COLON.match(self.text, found.end()) if found else None
            if found is None:
                at = self.sign(at)
            elif colon is None:
                self.pieces.append(_Piece(at, MASK, solid=True))
                at = found.end()
            else:
                self.key(at, found[0])
                self.pieces.append(_Piece(found.end(), ": "))
                at = colon.end()

    def sign(self, at: int) -> int:
        """Show one bracket, comma or space; where it is anything else, nothing more of the line."""
        char = self.text[at]
        if char in "{}[], \t":
            self.pieces.append(_Piece(at, " " if char == "\t" else char))
            return at + 1
        self.masked(at)
        return len(self.text)

    def key(self, at: int, written: str) -> None:
        """Show a key that is a word of the schemas, or the one that the problem is about and names."""
        name = written[1:-1] if written[0] in "\"'" else written
        named = at <= self.wanted < at + len(written) and _quotes_name(self.said, name)
        shown = written if name in self.known or named else MASK
        self.pieces.append(_Piece(at, shown, solid=True))

    def masked(self, at: int) -> None:
        """Show that there is something."""
        if at < len(self.text):
            self.pieces.append(_Piece(at, MASK, solid=True))


def _quotes_name(said: str, name: str) -> bool:
    """Whether a message holds a name as a word of its own."""
    return bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", said))
