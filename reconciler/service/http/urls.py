"""The one URL builder: paths from templates and checked ids, and back from links to ids.

A key in the query is added by exchange.py.

A `..` in an id once turned a DELETE of one workspace into a DELETE in another, and an empty id turned
it into a DELETE on the collection. So: an id is letters, digits, `_`, `-`, nothing else, and the
finished path is read back against its template.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from string import ascii_letters, digits
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from reconciler.core.calls import is_loopback
from reconciler.core.redact import mask_url
from reconciler.errors import InputError, SettingsError
from reconciler.service.answers import TemplatedPath

ID = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)
shown_max = 40  # characters of a refused value that a message shows
# Letters and digits of a query that may be encoded: 2^24 addresses, 48 characters longer at most.
spelled_max = 24

_SEGMENT = re.compile(r"[A-Za-z0-9_.~-]+", re.ASCII)
_SIGNS = re.compile(r"%[0-9A-F]{2}|.", re.ASCII | re.DOTALL)
_ENCODED = {sign: f"%{ord(sign):02X}" for sign in ascii_letters + digits}
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL}){{0,30}}|\[[0-9A-Fa-f:.]{{2,45}}\]", re.ASCII)
_PORTS = {"http": 80, "https": 443}


class BaseUrl(NamedTuple):
    """A base address in normal form: lower-case scheme and host, the port always written, the prefix."""

    scheme: str
    host: str
    port: int
    prefix: str  # "" or "/v1", never with a slash at its end

    @property
    def origin(self) -> str:
        """`scheme://host:port`."""
        return f"{self.scheme}://{self.host}:{self.port}"

    @property
    def is_plain(self) -> bool:
        """Whether everyone on the way can read what is sent: plain http to another machine."""
        return self.scheme == "http" and not is_loopback(self.host)


class UnusableUrl(ValueError):
    """No address to connect to. `str()` says why, and quotes it only where it can hold no password."""

    def __init__(self, what: str, next: str) -> None:  # noqa: A002 - the word that users read
        super().__init__(what)
        self.next = next


def parse_base_url(base_url: str) -> BaseUrl:
    """The parts of a base address, as `read_base` reads them. Raises SettingsError."""
    try:
        return read_base(base_url)
    except UnusableUrl as error:
        raise SettingsError(f"service.base_url: {error}", next=error.next) from None


def read_base(base_url: str) -> BaseUrl:
    """The parts of http(s)://host[:port][/prefix]. Raises Unusable for anything else; nothing is guessed."""
    # What two readers of addresses may take for different hosts is refused: the credentials go there.
    if not base_url.isascii() or not base_url.isprintable() or " " in base_url or "\\" in base_url:
        raise _bad_base(base_url, "it holds a character that no address holds")
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError:
        raise _bad_base(base_url, "its host or port cannot be read") from None
    if parts.scheme not in _PORTS:
        raise _bad_base(base_url, "it begins with neither https:// nor http://")
    if "@" in parts.netloc:
        raise _bad_base("", "it holds a user name or a password; they belong under service.auth")
    if "?" in base_url or "#" in base_url:
        raise _bad_base("", "it holds a query or a fragment; keys belong under service.auth")
    host = parts.netloc if port is None else parts.netloc.rpartition(":")[0]
    if not HOST.fullmatch(host) or port == 0:
        raise _bad_base(base_url, "its host or port cannot be read")
    return BaseUrl(
        parts.scheme, host.lower(), port or _PORTS[parts.scheme], _read_prefix(base_url, parts.path)
    )


def origin_of(base_url: str) -> str:
    """`scheme://host:port` of a base address, in one form: lower case, the port always written."""
    return parse_base_url(base_url).origin


def fill_path(template: str, ids: Mapping[str, str]) -> str:
    """`/contacts/{cid}` with its ids filled in. Raises InputError for anything that is no id."""
    segments = []
    for segment in template.split("/"):
        named = segment.startswith("{")
        segments.append(quote(check_id(ids[segment[1:-1]]), safe="") if named else segment)
    built = "/".join(segments)
    # Read back: it has exactly the template's segments, for no id may add, remove or climb one.
    assert _template_pattern(template).fullmatch(built), template  # noqa: S101 - our own mistake, never the author's
    made = TemplatedPath(built)
    made.template = template
    return made


@lru_cache(maxsize=64)  # there are so many calls
def _template_pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{[a-z]+\\}", ID.pattern, re.escape(template)))


def check_id(remote_id: str) -> str:
    """The id itself, when it is one. Raises InputError, showing a little of it, when it is not."""
    if ID.fullmatch(remote_id):
        return remote_id
    what = f"{remote_id[:shown_max]!a} is no id of the service" if remote_id else "an id is empty"
    raise InputError(
        what, next="an id has 1 to 128 letters, digits, _ or -; copy it as the service shows it."
    )


def id_of(link: str, collection: str = "") -> str:
    """The id at the end of a link or Location, or "" where there is none.

    With `collection` the segment before the id must be that one (`contacts`).
    """
    # Only the path counts: the host may be another one behind a gateway (recorded), and no link is followed.
    bare = link.partition("#")[0].partition("?")[0].rstrip("/")
    if "//" in bare:
        bare = "/" + bare.split("//", 1)[1].partition("/")[2]
    above, _, last = bare.rpartition("/")
    above = above.rpartition("/")[2]
    if not ID.fullmatch(last) or (collection and above != collection):
        return ""
    return last


def encode_query(pairs: tuple[tuple[str, str], ...], number: int = 0) -> str:
    """Name=value pairs as the text behind `?`, everything but letters, digits, `_.-~` and commas encoded.

    With a `number` some letters and digits of the values, then of the names, are encoded as well: those at
    its bits that are 1, of the first 24. The text means the same (RFC 3986, 2.3), and is another one for
    another number.
    """
    # The values alone would not do: `limit=20&offset=0`, the list of the tickets of the lock in the service,
    # would have 8 addresses, and a cache would soon answer with a list from before.
    left = number % (1 << spelled_max)
    values, left = _encode_texts_by_bits((quote(value, safe=",") for _, value in pairs), left)
    names, _ = _encode_texts_by_bits((quote(name, safe="") for name, _ in pairs), left)
    return "&".join(f"{name}={value}" for name, value in zip(names, values, strict=True))


def _encode_texts_by_bits(texts: Iterable[str], number: int) -> tuple[list[str], int]:
    """Return the texts as the bits of a number spell them, in turn, and the bits that are left."""
    found, left = [], number
    for text in texts:
        spelled, left = _encode_by_bits(text, left)
        found.append(spelled)
    return found, left


def vary_query(pairs: tuple[tuple[str, str], ...], name: str, number: int) -> tuple[tuple[str, str], ...]:
    """The same query for whoever reads it, and another one for a cache that reads addresses in normal form.

    `fields` gets its list in the order that belongs to the number, of n! orders. `offset` is added with one
    of 10^9 values: only for an address of a single entity, which has no rows to leave out.
    """
    # The service's own links to single entities carry the `offset` of the list that they stand in
    # (docs/service.md, caches), so an offset there is nothing that it has not seen before.
    if name == "offset":
        return (*pairs, (name, str(number % 10**9)))
    return tuple(
        (key, ",".join(_nth_order(text.split(","), number)) if key == name else text) for key, text in pairs
    )


def _nth_order(items: list[str], number: int) -> list[str]:
    """The order of the items that belongs to a number: another one for each from 0 to n! - 1."""
    left, found = list(items), []
    while left:
        number, at = divmod(number, len(left))
        found.append(left.pop(at))
    return found


def _encode_by_bits(text: str, bits: int) -> tuple[str, int]:
    """The text with its letters and digits encoded where a bit is 1, and the bits that are left."""
    signs, end = [], 0
    # Without what is encoded already each character is a sign: no pattern has to find them.
    for sign in _SIGNS.findall(text) if "%" in text else text:
        if not bits:
            break
        end += len(sign)
        encoded = _ENCODED.get(sign)  # None: encoded already, or not ours to encode
        signs.append(encoded if encoded and bits & 1 else sign)
        bits = bits >> 1 if encoded else bits
    return "".join(signs) + text[end:], bits


def _read_prefix(base_url: str, prefix: str) -> str:
    segments = [] if not prefix.strip("/") else prefix.strip("/").split("/")
    for segment in segments:
        if not _SEGMENT.fullmatch(segment) or unquote(segment) in (".", ".."):
            raise _bad_base(
                base_url, "its path holds an empty segment, a dot segment or a sign that needs encoding"
            )
    return "".join(f"/{segment}" for segment in segments)


def _bad_base(base_url: str, why: str) -> UnusableUrl:
    # A password may stand in what cannot be read, too: before an @, in a query, or where the port is.
    shown = f" {mask_url(base_url)[:shown_max]!a}" if base_url and not {*"@?#"} & {*base_url} else ""
    return UnusableUrl(
        f"the address{shown} cannot be used: {why}.",
        "write it like https://api.example.com, or http://127.0.0.1:8480 for a sandbox",
    )
