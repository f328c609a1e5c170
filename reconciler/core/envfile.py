"""Values of variables as the text of a file that a shell reads, `set -a; . ./FILE`, written and read. Pure.

What is read is what a shell would make of it, and only where that is text: whatever a shell would expand,
run or join is a mistake. No mistake quotes the text, which is secret.
"""

import re
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from reconciler.model.documents import Scalar

_HEAD = """\
# Written by `reconciler export`: the values of variables that the manifests name. These are secrets.
# Load them with: set -a; . ./FILE; set +a
"""
# Of a value without any other sign nothing means anything to a shell, nor to what reads such files otherwise.
_PLAIN = re.compile(r"[A-Za-z0-9_:./+=@-]+")


def format_env(values: Mapping[str, Scalar | None]) -> str:
    """Return a line for each variable, by name. One whose value cannot be read is a comment to fill in."""
    return _HEAD + "".join(_format_variable(name, value) for name, value in sorted(values.items()))


def _format_variable(name: str, value: Scalar | None) -> str:
    if value is None:
        return f"# {name}=   (it can never be read back: write its value here)\n"
    return f"{name}={_quote_value(str(value))}\n"


def _quote_value(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    # Nothing is expanded between these quotes; one of them ends, is written, and begins again.
    return "'" + value.replace("'", "'\\''") + "'"


class EnvVariable(Struct, frozen=True):
    """A variable, its value, and the line that it begins in, from 1."""

    name: str
    value: str
    line: int

    def __repr__(self) -> str:
        return f"{type(self).__name__}(line {self.line})"


class BadEnvLine(Struct, frozen=True):
    """A line that gives no variable: why, without its text, and what to do."""

    line: int
    what: str
    next: str


mistakes_max = 20  # of one file; what follows is not read

_NO_LINE = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n|\Z)")
_NAME = re.compile(r"[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]{0,254})=")
_END = re.compile(r"[ \t]*(?:(?<=[ \t])#[^\n]*)?(?:\n|\Z)")


def _unescape_double(text: str) -> str:
    return re.sub(r'\\(?:(["\\$`])|\n)', lambda found: found[1] or "", text)


# What a value is made of, in the order in which it is tried, and what the text of each piece stands for.
_PIECES: tuple[tuple[re.Pattern[str], Callable[[str], str]], ...] = (
    (re.compile(r"([^\x00-\x20\x7f'\"\\$`&|;<>()~]+)"), str),
    (re.compile(r"'([^'\x00]*)'"), str),
    (re.compile(r"\\([^\n\x00])"), str),
    (re.compile(r'"((?:[^"\\$`\x00]|\\[^\x00])*)"'), _unescape_double),
)
_FORM = "write NAME='value' on a line of its own, as `reconciler export --secrets-file` does"


def parse_env(text: str) -> Iterator[EnvVariable | BadEnvLine]:
    """Yield what each line gives, in order. What `format_env` wrote comes back: every text without NUL."""
    at, line, mistakes = 0, 1, 0
    while at < len(text) and mistakes < mistakes_max:
        began, found = at, _NO_LINE.match(text, at)
        if found:
            at = found.end()
        else:
            name = _NAME.match(text, at)
            value, at = _read_value(text, name.end()) if name else ("", at)
            end = _END.match(text, at) if name else None
            if name and end:
                at = end.end()
                yield EnvVariable(name[1], value, line)
            else:
                mistakes += 1
                yield BadEnvLine(line, _why_none(text, at, named=bool(name)), _FORM)
                at = (text.find("\n", at) + 1) or len(text)
        line += text.count("\n", began, at)


def _read_value(text: str, at: int) -> tuple[str, int]:
    """Return the value that begins here, and where it ends."""
    value: list[str] = []
    while piece := next(((found, of) for form, of in _PIECES if (found := form.match(text, at))), None):
        value.append(piece[1](piece[0][1]))
        at = piece[0].end()
    return "".join(value), at


def _why_none(text: str, at: int, *, named: bool) -> str:
    if not named:
        return "this line does not assign a variable."
    match text[at : at + 1]:
        case "'" | '"':
            return "a quotation mark in this line is not closed, or a shell would expand what it holds."
        case "\r":
            return "this line ends with a carriage return, which a shell reads as part of the value."
        case _:
            return "a shell would read this line as more than one value: it is not quoted."
