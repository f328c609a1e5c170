"""BER as LDAP uses it (RFC 4511, 5.1): definite lengths, one byte for a tag. What does not fit is refused.

`ldap3` reads answers too, and cuts off without a word what is longer than what it stands in.
"""

INTEGER, OCTETS, ENUMERATED, SEQUENCE, SET = 0x02, 0x04, 0x0A, 0x30, 0x31

Element = tuple[int, bytes]  # the tag, and what stands in it

_TAG = (
    0x1F  # the bits of the number of a tag: all of them, and its number is in further bytes, as none of LDAP
)
_LONG = 0x80  # a length from here on says in how many bytes the length stands
_LENGTH_MAX = 4  # bytes in which a length is written: 4 GiB, and far more than any limit of ours
_INTEGER_MAX = 8  # bytes


class NotBer(ValueError):
    """These bytes are no elements of BER."""


def elements(data: bytes) -> list[Element]:
    """Return the elements that stand side by side in `data`, which they fill. Raises NotBer."""
    found: list[Element] = []
    at, end = 0, len(data)
    while at < end:
        start, tag = at + 2, data[at]
        # What `header` says of nearly every element, without a call: an entry has thirty.
        if start <= end and data[at + 1] < _LONG and tag & _TAG != _TAG:
            stop = start + data[at + 1]
        else:
            start, stop = header(data, at)
        if stop > end:
            raise NotBer
        found.append((tag, data[start:stop]))
        at = stop
    return found


def header(data: bytes | bytearray, at: int = 0) -> tuple[int, int]:
    """Return where the content of the element at `at` begins and ends, which may be behind the end of `data`.

    Where not all of its header is there, so is the beginning. Raises NotBer.
    """
    start = at + 2
    if len(data) < start:
        return start, start
    length = data[at + 1]
    if data[at] & _TAG == _TAG:
        raise NotBer
    if length < _LONG:
        return start, start + length
    size = length & ~_LONG
    if not 1 <= size <= _LENGTH_MAX:  # without one it is of indefinite length (RFC 4511, 5.1)
        raise NotBer
    start += size
    return start, start + int.from_bytes(data[start - size : start])


def shaped(data: bytes, *tags: int) -> list[bytes]:
    """Return the contents of the elements with which `data` begins, which have these tags. Raises NotBer."""
    found = elements(data)
    if [tag for tag, _ in found[: len(tags)]] != [*tags]:
        raise NotBer
    return [content for _, content in found]


def number(content: bytes) -> int:
    """Return what an INTEGER or ENUMERATED holds. Raises NotBer."""
    if not 1 <= len(content) <= _INTEGER_MAX:
        raise NotBer
    return int.from_bytes(content, signed=True)
