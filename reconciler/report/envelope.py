"""What every JSON document of ours has in common: its head, and text that is safe to look at.

Belongs here: `version`, `outcome` (the word) and `exit_code` (its number) as docs/planning.md pairs them, and
escapes for characters that act on a terminal. Not here: what a document is about (json.py, and the modules
that show the same as lines).
"""

from collections.abc import Mapping

from reconciler.model.encoding import encode
from reconciler.model.run.outcomes import REPORT_VERSION, WORDS
from reconciler.report.inert import is_hidden


def report_json(about: Mapping[str, object], exit_code: int = 0) -> str:
    """Return `about` as JSON behind `version`, `outcome` and `exit_code`. It must hold no Secret."""
    head = {"version": REPORT_VERSION, "outcome": WORDS[exit_code], "exit_code": exit_code}
    return json_text({**head, **about})


def json_text(value: object, *, indent: int = 2) -> str:
    """Return any value as JSON, in which a character that acts on a terminal is an escape.

    Indented lines with a newline at the end; with `indent` 0 one line without.
    """
    text = encode(value, indent=indent).decode()
    return "".join(_escape(char) if char != "\n" and is_hidden(char) else char for char in text)


def _escape(char: str) -> str:
    """JSON knows only escapes of 16 bits: a character beyond them takes two."""
    units = char.encode("utf-16-be").hex()
    return "".join("\\u" + units[at : at + 4] for at in range(0, len(units), 4))
