"""What every JSON document of ours has in common: its head, and text that is safe to look at.

Belongs here: `version`, `outcome` (the word) and `exit_code` (its number) as docs/planning.md pairs them, and
escapes for characters that act on a terminal. Not here: what a document is about (json.py, and the modules
that show the same as lines).
"""

import re
from collections.abc import Iterator, Mapping

from reconciler.model.encoding import encode_json_pieces
from reconciler.model.runs import EXIT_CODE_WORDS, REPORT_VERSION
from reconciler.report.inert import is_hidden


def report_json(about: Mapping[str, object], exit_code: int = 0) -> str:
    """Return `about` as JSON behind `version`, `outcome` and `exit_code`. It must hold no Secret."""
    return "".join(report_pieces(about, exit_code))


def report_pieces(about: Mapping[str, object], exit_code: int = 0) -> Iterator[str]:
    """Yield the same in pieces, each of whole lines."""
    head = {"version": REPORT_VERSION, "outcome": EXIT_CODE_WORDS[exit_code], "exit_code": exit_code}
    return json_pieces({**head, **about})


def json_text(value: object, *, indent: int = 2) -> str:
    """Return any value as JSON, in which a character that acts on a terminal is an escape.

    Indented lines with a newline at the end; with `indent` 0 one line without.
    """
    return "".join(json_pieces(value, indent=indent))


def json_pieces(value: object, *, indent: int = 2) -> Iterator[str]:
    """Yield the same in pieces; indented ones are of whole lines."""
    return map(_escaped, encode_json_pieces(value, indent=indent))


def _escaped(piece: bytes) -> str:
    # Looking at each character by itself would take longer than all the rest.
    return _not_ascii.sub(_escape, piece.decode())


_not_ascii = re.compile("[^\n -~]")


def _escape(found: re.Match[str]) -> str:
    """JSON knows only escapes of 16 bits: a character beyond them takes two."""
    if not is_hidden(found[0]):
        return found[0]
    units = found[0].encode("utf-16-be").hex()
    return "".join("\\u" + units[at : at + 4] for at in range(0, len(units), 4))
