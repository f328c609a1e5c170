"""One request as the endpoints see it, and one answer as they give it, and as it is sent."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar
from urllib.parse import unquote_plus

import msgspec

from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.documents import DocumentWriter, media_type, media_words
from reconciler.sandbox.faults import Course, no_fault_course
from reconciler.sandbox.queries import Page, page_document, read_page
from reconciler.sandbox.records import Body, Device, StoredRecord
from reconciler.sandbox.refusals import malformed, not_acceptable, wrong_media_type
from reconciler.sandbox.state import Shelf, State
from reconciler.sandbox.xml_codec import NO_XML_FORMS, XmlForm, read_xml, write_xml

Record = TypeVar("Record", bound=StoredRecord | Device)
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
    course: Course = no_fault_course


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of an endpoint: a document, a plain text, or nothing; Location after a create."""

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
    """One accepted request: authenticated, with a known address and matching media types."""

    state: State
    shelf: Shelf
    ids: tuple[str, ...]  # the ids in the path, without that of the workspace
    incoming: Incoming
    writer: DocumentWriter
    hidden: frozenset[str]  # ids that lists do not show yet, by a fault
    kind: str  # of the documents at this address
    form: str  # of the body: json or xml
    own: Mapping[str, XmlForm]  # the XML forms of kinds that are rows

    @property
    def query(self) -> Mapping[str, str]:
        """The parameters of the query; of a repeated one the last."""
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
        """The page that the query asks for; refuses (400) an invalid one."""
        return read_page(self.query, zero=self.config.limit_zero)

    def body(self) -> Body:
        """The body as a JSON object, whatever it is written in; refuses (400) anything else."""
        written = self.incoming.body or b""
        body = read_xml(self.kind, written, self.own) if self.form == "xml" else _read_json_object(written)
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


json_depth_max = 64  # levels, so that whatever was read can be written


def _read_json_object(written: bytes) -> Body:
    try:
        body = msgspec.json.decode(written, type=dict[str, object])
    except msgspec.ValidationError:
        raise malformed("the body must be a JSON object") from None
    except (msgspec.DecodeError, RecursionError, ValueError):
        raise malformed("the body is not well-formed JSON") from None
    if not _is_nested_within(body, json_depth_max):
        raise malformed(f"the body is nested more than {json_depth_max} levels deep")
    return body


def _is_nested_within(value: object, levels: int) -> bool:
    match value:
        case dict():
            return levels > 0 and all(_is_nested_within(item, levels - 1) for item in value.values())
        case list():
            return levels > 0 and all(_is_nested_within(item, levels - 1) for item in value)
        case _:
            return True


# --- Media types: which one a request's body has, which one its answer gets, and writing it -------
#
# Source: specification 4 and 9; docs/service.md, addresses and XML.


BodyForm = Literal["json", "xml"]
BODY_FORMS: tuple[BodyForm, ...] = ("json", "xml")


@dataclass(frozen=True, slots=True)
class AnswerType:
    """How an answer is written: its Content-Type, and which of the two that means."""

    type: str
    form: BodyForm


def choose_answer_type(accept: str, config: SandboxConfig, kind: str) -> AnswerType | None:
    """What the answer is written in; None where nothing fits.

    The best by q; the vendor's types before the plain ones, those before wildcards, then the first named.
    A wildcard, and no Accept at all, is the default form's vendor type.
    """
    ours = {media_type(config.vendor, word, one): one for word in media_words(kind) for one in BODY_FORMS}
    usual = AnswerType(media_type(config.vendor, kind, config.default_form), config.default_form)
    found: list[tuple[float, int, int, AnswerType]] = []
    for place, part in enumerate(accept.lower().split(",") if accept else ()):
        name, quality = _read_media_range(part)
        if quality <= 0:
            continue
        if name in ours:
            found.append((-quality, 0, place, AnswerType(name, ours[name])))
        elif name in ("application/json", "application/xml"):
            found.append((-quality, 1, place, AnswerType(name, "xml" if name.endswith("xml") else "json")))
        elif name in ("*/*", "application/*"):
            found.append((-quality, 2, place, usual))
    if not accept:
        return usual
    return min(found, key=lambda one: one[:3])[3] if found else None


def choose_refusal_type(accept: str, config: SandboxConfig, kind: str | None) -> AnswerType:
    """What an error body is written in: as the answer would be, or the vendor's type that was asked for."""
    shown = choose_answer_type(accept, config, kind) if kind else None
    if shown is not None:
        return shown
    asked = accept.partition(",")[0].partition(";")[0].strip().lower()
    match = re.fullmatch(rf"application/(?:vnd\.{re.escape(config.vendor)}\.[a-z-]+-v1\+)?(json|xml)", asked)
    if match:
        return AnswerType(asked, "xml" if match[1] == "xml" else "json")
    return AnswerType(f"application/{config.default_form}", config.default_form)


def require_answer_type(headers: Mapping[str, str], config: SandboxConfig, kind: str) -> AnswerType:
    """What the answer is written in; refuses an Accept that cannot be met (406)."""
    accept = headers.get("accept", "")
    shown = choose_answer_type(accept, config, kind)
    if shown is None:
        raise not_acceptable(accept)
    return shown


def require_body_type(headers: Mapping[str, str], config: SandboxConfig, kind: str) -> BodyForm:
    """What the body is written in; refuses (415) every type but the kind's own."""
    sent = headers.get("content-type", "").partition(";")[0].strip().lower()
    ours = {media_type(config.vendor, word, one): one for word in media_words(kind) for one in BODY_FORMS}
    if sent not in ours:
        raise wrong_media_type(" or ".join(ours))
    return ours[sent]


def encode_document(
    document: Body,
    kind: str,
    shown: AnswerType,
    config: SandboxConfig,
    own: Mapping[str, XmlForm] = NO_XML_FORMS,
) -> bytes:
    """The document of this kind, in the form that is shown; `own` are the XML forms of rows."""
    if shown.form == "json":
        return msgspec.json.encode(document)
    return write_xml(kind, document, config.xml_prefixes, own)


def _read_media_range(part: str) -> tuple[str, float]:
    """The media range without its parameters, and its q; what is no number counts as 1."""
    name, *parameters = (piece.strip() for piece in part.split(";"))
    quality = 1.0
    for parameter in parameters:
        key, _, value = (piece.strip() for piece in parameter.partition("="))
        if key == "q" and re.fullmatch(r"[01](\.\d{0,3})?", value):
            quality = float(value)
    return name, quality
