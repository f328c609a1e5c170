"""JSON of our values, both ways and always the same bytes: keys sorted, addresses as text.

Also piece by piece, for values whose text is too long to be held at once: the same bytes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeGuard, TypeVar

import msgspec

from reconciler.model.address import Address, parse_address

T = TypeVar("T")


class NotAnAddressError(ValueError):
    """Another text stands where an address is due, or one of a kind that is not known here."""


together_max = 500  # elements of a list or mapping that are encoded at once: some 500 KB of changes
_depth = 2  # values in values that are looked into for long ones: a document, and the plan or the run in it

Parts = Iterator[bytes]


def encode_json(value: object, *, indent: int = 0) -> bytes:
    """Return `value` as JSON: keys sorted; one line, or indented lines with a newline at the end."""
    data = msgspec.json.encode(value, enc_hook=_encode_extra, order="sorted")
    return msgspec.json.format(data, indent=indent) + b"\n" if indent else data


def encode_json_pieces(value: object, *, indent: int = 0, together: int = together_max) -> Iterator[bytes]:
    """Yield what `encode_json` returns, never more than so many elements of a list or mapping at once.

    Indented pieces end where lines end.
    """
    if not indent:
        yield from _Pieces(0, together).of(value, 0)
        return
    line = b""
    for part in _Pieces(indent, together).of(value, 0):
        whole, newline, rest = part.rpartition(b"\n")
        if newline:
            yield line + whole + newline
            line = rest
        else:
            line += part
    yield line + b"\n"


class _Pieces:
    """The parts of one text. `depth` counts the values that a value stands in, from 0."""

    def __init__(self, indent: int, together: int) -> None:
        self._indent = indent
        self._together = together

    def of(self, value: object, depth: int) -> Parts:
        if depth < _depth and _is_plain(value):
            every = {one.encode_name: getattr(value, one.name) for one in msgspec.structs.fields(value)}
            fields = {name: one for name, one in every.items() if one is not msgspec.UNSET}
            yield from self._object(fields, depth)
        elif isinstance(value, dict) and value and (depth < _depth or len(value) > self._together):
            yield from self._object(value, depth)
        elif isinstance(value, list | tuple) and len(value) > self._together:
            yield from self._enclosed(b"[]", self._batches(value, list, depth), depth)
        elif isinstance(value, list | tuple) and value and depth < _depth:
            yield from self._enclosed(b"[]", (self.of(one, depth + 1) for one in value), depth)
        else:
            yield self._text(value, depth)

    def _object(self, fields: Mapping[str, object], depth: int) -> Parts:
        ordered = sorted(fields.items())
        few = depth < _depth and len(ordered) <= self._together
        members = (self._member(*one, depth) for one in ordered)
        yield from self._enclosed(b"{}", members if few else self._batches(ordered, dict, depth), depth)

    def _member(self, key: str, value: object, depth: int) -> Parts:
        yield encode_json(key) + (b": " if self._indent else b":")
        yield from self.of(value, depth + 1)

    def _batches(
        self, elements: Sequence[Any], kind: Callable[[Iterable[Any]], object], depth: int
    ) -> Iterator[Parts]:
        """Yield the text of so many elements at a time, without what encloses them."""
        left = iter(elements)
        inside = len(self._line(depth + 1)) + 1
        while some := kind(islice(left, self._together)):
            text = self._text(some, depth)
            yield iter((text[inside : -1 - len(self._line(depth))],))

    def _enclosed(self, ends: bytes, members: Iterable[Parts], depth: int) -> Parts:
        between, line = ends[:1], self._line(depth + 1)
        for parts in members:
            yield between + line
            yield from parts
            between = b","
        yield self._line(depth) + ends[1:]

    def _text(self, value: object, depth: int) -> bytes:
        text = encode_json(value)
        if not self._indent:
            return text
        # No line ends within a text of JSON: each one is layout.
        return msgspec.json.format(text, indent=self._indent).replace(b"\n", self._line(depth))

    def _line(self, depth: int) -> bytes:
        return b"\n" + b" " * self._indent * depth if self._indent else b""


def _is_plain(value: object) -> TypeGuard[msgspec.Struct]:
    """Whether a struct is written as the object of all its fields, and nothing else."""
    if not isinstance(value, msgspec.Struct):
        return False
    form = value.__struct_config__
    return not (form.array_like or form.tag is not None or form.omit_defaults)


def decode_json(data: bytes | str, kind: type[T]) -> T:
    """Return the value that `data` writes. Raises msgspec.DecodeError, or ValidationError with the place."""
    return msgspec.json.decode(data, type=kind, dec_hook=_decode_extra)


def _encode_extra(value: object) -> object:
    if isinstance(value, str):  # an address, or a path that knows its template: in JSON each is its text
        return str.__str__(value)
    raise TypeError(f"no JSON form for {type(value).__name__}")


def _decode_extra(kind: type[Any], value: object) -> object:
    if kind is Address and isinstance(value, str):
        address = parse_address(value)
        if address is not None:
            return address
    raise NotAnAddressError("not an address")
