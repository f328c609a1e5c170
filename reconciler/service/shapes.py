"""The shapes of paths and of good answers: page, entity, devices of a contact, created, done.

Belongs here: the one place that knows what an answer of each call looks like. Not here: which calls
there are (entities.py), lists beyond one page (paging.py).

Every function raises Malformed for a shape it does not know; the transport turns that into another try
for a GET and into a doubt for a write.
"""

from collections.abc import Mapping
from typing import Any

from reconciler.model.kinds import CONTACT, DEVICE, Kind
from reconciler.model.profile import Profile
from reconciler.service import paging
from reconciler.service.answers import Answer, Call
from reconciler.service.found import Done, Found, Page, cut_queries, iso_date, remote_id
from reconciler.service.http import media, refusals, urls

_created_statuses = (200, 201)  # facts 2 to 4: 201; 200 is read liberally. 202 promises nothing yet


def template(kind: Kind, *, named: bool, one: bool) -> str:
    """The path of a kind's collection, or of one entity in it, in a named workspace or the default one."""
    within = "/workspaces/{wid}" if named else ""
    above = f"/{CONTACT.plural}/{{parent}}" if kind.parent else ""
    return f"{within}{above}/{kind.plural}{'/{id}' if one else ''}"


def page(call: Call, answer: Answer, collection: str, offset: int, profile: Profile) -> Page:
    """One page of a list."""
    asked = paging.List(collection, offset, profile, _date(answer))
    return page_of(call, answer, decoded(call, answer), asked)


def page_of(call: Call, answer: Answer, found: dict[str, Any], asked: paging.List) -> Page:
    """The page that a decoded document is."""
    try:
        return paging.read_page(found, asked)
    except media.BadBody as error:
        raise refusals.malformed(call, str(error), status=answer.status) from None


def entity(call: Call, answer: Answer, kind: Kind, asked: str) -> Found:
    """One entity, the one that was asked for."""
    document = decoded(call, answer)
    if media.is_error(document) or document.keys().isdisjoint(kind.telling):
        raise refusals.malformed(call, f"it is no {kind.name}", status=answer.status)
    if not is_asked(document, kind.plural, asked):
        raise refusals.malformed(call, f"it is another {kind.name}", status=answer.status)
    return Found(asked, document, _date(answer))


def is_asked(document: Mapping[str, Any], plural: str, asked: str) -> bool:
    """Whether a document may be the entity of this id: one that tells another id, or an odd one, is not."""
    given = document.get("id")
    return (given is None or str(given) == asked) and remote_id(document, plural) in ("", asked)


def devices(call: Call, answer: Answer, contact: str) -> Page:
    """The devices in a contact's document, all on one page."""
    found = entity(call, answer, CONTACT, contact)
    items = found.body.get(DEVICE.plural)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise refusals.malformed(call, "it shows no list of devices", status=answer.status)
    rows = tuple(Found(remote_id(item, DEVICE.plural), item, found.date) for item in items)
    if not all(row.remote_id for row in rows):
        raise refusals.malformed(call, "one of its devices has no id", status=answer.status)
    return Page(rows, len(rows), last=True)


def created(call: Call, answer: Answer, plural: str) -> Found:
    """What was created: its id from Location, else its own link or id; its body where it was shown."""
    if answer.status not in _created_statuses:
        raise refusals.malformed(
            call, f"{answer.status} does not say that it was created", status=answer.status
        )
    body = decoded(call, answer) if answer.body.strip() else {}
    if media.is_error(body):
        raise _error_document(call, answer)
    located, named = urls.id_of(answer.headers.get("location", ""), plural), remote_id(body, plural)
    if not (located or named):
        raise refusals.malformed(call, "it does not tell the new id", status=answer.status)
    if located and named and located != named:
        raise refusals.malformed(call, "its address and its body name two ids", status=answer.status)
    found = located or named
    return Found(found, body, _date(answer))


def done(call: Call, answer: Answer) -> Done:
    """A write that needs no more than its status; a body, if there is one, must be no error."""
    if answer.body.strip() and media.is_error(decoded(call, answer)):
        raise _error_document(call, answer)
    return Done(answer.status)


def decoded(call: Call, answer: Answer) -> dict[str, Any]:
    """The answer's document, without queries in its links."""
    document = raw(call, answer)
    # XML can spell a letter in other ways, so there the bytes tell nothing.
    if answer.form == "xml" or b"apikey" in answer.body.lower():
        cut_queries(document)
    return document


def raw(call: Call, answer: Answer) -> dict[str, Any]:
    """The answer's document as it came: its links may hold a key."""
    try:
        return media.decode(answer.body, call.media, answer.form)
    except media.BadBody as error:
        raise refusals.malformed(call, str(error), status=answer.status) from None


def _error_document(call: Call, answer: Answer) -> Exception:
    what = f"its status says yes ({answer.status}) and its body is an error message"
    return refusals.malformed(call, what, status=answer.status)


def _date(answer: Answer) -> str:
    return iso_date(answer.headers.get("date", ""))
