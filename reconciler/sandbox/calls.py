"""One request as the endpoints see it, and one answer as they give it, and as it is sent.

Belongs here: the values between the HTTP side (app.py) and the endpoints, and reading a body.
Not here: routing, rules.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import unquote_plus

import msgspec

from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.entities.wire import Writer
from reconciler.sandbox.faults import Course, straight
from reconciler.sandbox.keeping.shelf import Shelf
from reconciler.sandbox.keeping.state import State
from reconciler.sandbox.paging import Page, page_document, read_page
from reconciler.sandbox.records import Body, Device, Kept
from reconciler.sandbox.refusals import malformed
from reconciler.sandbox.xml.forms import Form, read_xml

Record = TypeVar("Record", bound=Kept | Device)
Item = TypeVar("Item")
Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Incoming:
    """One request as it arrived; header names in lower case, the body None when it is over the limit."""

    method: str
    path: str
    headers: dict[str, str]
    query: dict[str, str]
    query_text: str
    base: str
    body: bytes | None
    address: str = ""  # path and query as they were written
    course: Course = straight


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: a document, a plain text, or nothing; Location after a create."""

    status: int
    document: Body | None = None
    location: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One answer as it is sent."""

    status: int
    content: bytes = b""
    content_type: str = "application/json"
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One accepted request: who it is is settled, its address is known, its media types fit."""

    state: State
    shelf: Shelf
    ids: tuple[str, ...]  # the ids in the path, without that of the workspace
    incoming: Incoming
    writer: Writer
    hidden: frozenset[str]  # ids that lists do not show yet, by a fault
    kind: str  # of the documents at this address
    form: str  # of the body: json or xml
    own: Mapping[str, Form]  # the XML forms of kinds that are rows

    @property
    def query(self) -> Mapping[str, str]:
        """The parameters of the query, of those that stand there twice the last."""
        return self.incoming.query

    @property
    def config(self) -> SandboxConfig:
        """The options of this sandbox."""
        return self.state.config

    @property
    def address(self) -> str:
        """The absolute address that was asked for, without its query."""
        return f"{self.writer.base}{self.incoming.path.removesuffix('/')}"

    @property
    def page(self) -> Page:
        """The page that the query asks for; refuses (400) one that cannot be."""
        return read_page(self.query, zero=self.config.limit_zero)

    def body(self) -> Body:
        """The body as a JSON object, whatever it is written in; refuses (400) anything else."""
        written = self.incoming.body or b""
        body = read_xml(self.kind, written, self.own) if self.form == "xml" else _json(written)
        return self.incoming.course.read(body)

    def listed(self, records: Iterable[Record]) -> list[Record]:
        """These records, as far as lists show them at this moment."""
        return [one for one in records if one.id not in self.hidden]

    @property
    def echoed_query(self) -> str:
        """The query as links repeat it, with its question mark; "" for none.

        Without the API key, whatever its letter case and however its name is escaped: a link goes into logs
        and to other people. `key_in_links` leaves it in, as public samples show it.
        """
        parts = [part for part in self.incoming.query_text.split("&") if part]
        if not self.config.key_in_links:
            parts = [part for part in parts if not _names_key(unquote_plus(part.partition("=")[0]))]
        return f"?{'&'.join(parts)}" if parts else ""

    def paged(self, key: str, found: Sequence[Item], row: Callable[[Item], Body]) -> Answer:
        """One page of what was found as a list document; its links repeat the query without the API key."""
        page, shows_key = self.page, self.config.key_in_links
        query = {name: value for name, value in self.query.items() if shows_key or not _names_key(name)}
        rows, prev_rel = [row(one) for one in page.cut(found)], self.config.prev_rel
        document = page_document(
            key, rows, page=page, total=len(found), address=self.address, query=query, prev_rel=prev_rel
        )
        return Answer(200, document)


no_content = Answer(204)


def _names_key(parameter: str) -> bool:
    return parameter.lower() == "apikey"


depth_max = 64  # levels; what was once read can always be written again


def _json(written: bytes) -> Body:
    try:
        body = msgspec.json.decode(written, type=dict[str, object])
    except msgspec.ValidationError:
        raise malformed("the body must be a JSON object") from None
    except (msgspec.DecodeError, RecursionError, ValueError):
        raise malformed("the body is not well-formed JSON") from None
    if not _shallow(body, depth_max):
        raise malformed(f"the body is nested more than {depth_max} levels deep")
    return body


def _shallow(value: object, levels: int) -> bool:
    match value:
        case dict():
            return levels > 0 and all(_shallow(item, levels - 1) for item in value.values())
        case list():
            return levels > 0 and all(_shallow(item, levels - 1) for item in value)
        case _:
            return True
