"""JSON of our values, both ways and always the same bytes: keys sorted, addresses as text."""

from typing import Any, TypeVar

import msgspec

from reconciler.model.address import Address, parse

T = TypeVar("T")
NOT_AN_ADDRESS = "not an address"  # what a refused value says where an address is due


def encode(value: object, *, indent: int = 0) -> bytes:
    """Return `value` as JSON: keys sorted; one line, or indented lines with a newline at the end."""
    data = msgspec.json.encode(value, enc_hook=_plain, order="sorted")
    return msgspec.json.format(data, indent=indent) + b"\n" if indent else data


def decode(data: bytes | str, kind: type[T]) -> T:
    """Return the value that `data` writes. Raises msgspec.DecodeError, or ValidationError with the place."""
    return msgspec.json.decode(data, type=kind, dec_hook=_value)


def _plain(value: object) -> object:
    if isinstance(value, str):  # an address, or a path that knows its template: in JSON each is its text
        return str.__str__(value)
    raise TypeError(f"no JSON form for {type(value).__name__}")


def _value(kind: type[Any], value: object) -> object:
    if kind is Address and isinstance(value, str):
        address = parse(value)
        if address is not None:
            return address
    raise ValueError(NOT_AN_ADDRESS)
