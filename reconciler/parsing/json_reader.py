"""JSON read strictly: as a tree with positions, and as rows of texts. Numbers stay as they were written.

The language of the tree is that of the YAML form. It needs its own scanner because YAML parsers refuse some
JSON (escaped surrogate pairs, long keys) and the standard library has no positions.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]  # public since 3.0, absent from the stubs
from typing import Any, NoReturn

from reconciler.core.text import strip_quoted_text
from reconciler.model.documents import UNSAID
from reconciler.parsing.tree_builder import DEPTH_MAX, Builder, Position

_SPACE = re.compile(r"[ \t\n\r]*")
_LITERAL = re.compile(
    r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_.+-])|true\b|false\b|null\b"
)

# What may come next, by what has just been read.
_VALUE, _VALUE_OR_END, _KEY, _KEY_OR_END, _COLON, _COMMA_OR_END, _NOTHING = range(7)
_WANTED = {
    _VALUE: "a value",
    _VALUE_OR_END: "a value or ]",
    _KEY: "a key in double quotes",
    _KEY_OR_END: "a key in double quotes or }",
    _COLON: "a colon",
    _COMMA_OR_END: "a comma or the closing bracket",
    _NOTHING: "the end of the file",
}


def build_json(text: str, builder: Builder) -> None:
    """Feed the one value of `text` to `builder`. Raises StopReading at a syntax error."""
    _Scanner(text, builder).run()


class _Scanner:
    def __init__(self, text: str, builder: Builder) -> None:
        self.text = text
        self.builder = builder
        self.at = 0
        self.closers: list[str] = []
        self.lines = [0, *(found.end() for found in re.finditer(r"\n|\r\n?", text))]

    def run(self) -> None:
        wanted = _VALUE
        self._space()
        if self.at == len(self.text):
            self.builder.add_nothing()
        while True:
            self._space()
            if self.at == len(self.text):
                if wanted != _NOTHING:
                    self._fail(wanted)
                return
            wanted = self._step(wanted, self.text[self.at])

    def _step(self, wanted: int, character: str) -> int:
        if wanted in (_VALUE, _VALUE_OR_END) and character in "{[":
            return self._begin(character)
        if character == '"' and wanted in (_VALUE, _VALUE_OR_END, _KEY, _KEY_OR_END):
            self._string()
            return _COLON if wanted in (_KEY, _KEY_OR_END) else self._after()
        if character == ":" and wanted == _COLON:
            self.at += 1
            return _VALUE
        if character == "," and wanted == _COMMA_OR_END:
            self.at += 1
            return _KEY if self.closers[-1] == "}" else _VALUE
        if wanted in (_VALUE_OR_END, _KEY_OR_END, _COMMA_OR_END) and character == self.closers[-1]:
            self.at += 1
            self.closers.pop()
            self.builder.end()
            return self._after()
        if wanted not in (_VALUE, _VALUE_OR_END):
            self._fail(wanted)
        return self._literal(wanted)

    def _begin(self, character: str) -> int:
        self.builder.begin({} if character == "{" else [], *self._position())
        self.closers.append("}" if character == "{" else "]")
        self.at += 1
        return _KEY_OR_END if character == "{" else _VALUE_OR_END

    def _string(self) -> None:
        position = self._position()
        start = self.at
        try:
            text, self.at = scanstring(self.text, start + 1, True)
        except JSONDecodeError as error:
            self.at = min(error.pos, len(self.text))
            self.builder.stop(
                self._position(),
                f"this is not JSON: {strip_quoted_text(error.msg)}.",
                "check the quotes and escapes",
                code="E101",
            )
        self.builder.add_scalar(text, *position, checked=len(text) == self.at - start - 2, quoted=True)

    def _literal(self, wanted: int) -> int:
        found = _LITERAL.match(self.text, self.at)
        if found is None:
            self._fail(wanted)
        self.builder.add_scalar(found[0], *self._position(), null=found[0] == "null")
        self.at = found.end()
        return self._after()

    def _after(self) -> int:
        return _COMMA_OR_END if self.closers else _NOTHING

    def _space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _position(self) -> Position:
        line = bisect_right(self.lines, self.at)
        return line, self.at - self.lines[line - 1] + 1

    def _fail(self, wanted: int) -> NoReturn:
        end = self.at == len(self.text)
        # Other text is not quoted: it may be a secret without its quotes.
        found = ", and the file ends" if end else ""
        what = f"this is not JSON: expected {_WANTED[wanted]}{found}."
        hint = "JSON has no comments, no trailing commas and no NaN"
        self.builder.stop(self._position(), what, hint, code="E101")


# --- Objects as rows of texts ---------------------------------------------------------------------
#
# For rosters in JSON and the resources of a SCIM directory: keys are joined by dots, digits are kept.

TOO_DEEP = f"objects are nested here more than {DEPTH_MAX} deep."


class Digits(str):
    """A number as written, with all its digits: it may be an employee number or a phone number."""

    __slots__ = ()


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice in an object here.")
    return found


def _refuse_constant(_: str) -> NoReturn:
    raise ValueError("NaN and Infinity are not JSON.")


# Raises ValueError, whose text is a sentence unless it is a JSONDecodeError, and RecursionError.
EXACT_DECODER = json.JSONDecoder(
    object_pairs_hook=_build_object, parse_int=Digits, parse_float=Digits, parse_constant=_refuse_constant
)

# How each type of value that the decoder returns becomes text, except objects.
JSON_TEXTS: dict[type, Callable[[Any], str]] = {
    str: str,
    Digits: str,
    bool: lambda value: "true" if value else "false",
    type(None): lambda _: "",
    list: lambda _: UNSAID,
}


def flatten_object(node: dict[str, Any], above: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the dotted path and the value of each leaf. Raises ValueError where it is nested too deep."""
    if depth > DEPTH_MAX:
        raise ValueError(TOO_DEEP)
    for key, value in node.items():
        if isinstance(value, dict):
            yield from flatten_object(value, f"{above}{key}.", depth + 1)
        else:
            yield above + key, value
