"""The shapes of paths and of good answers: page, entity, what belongs to an entity, created, done.

Belongs here: the one place that knows what an answer of each call looks like. Not here: which calls
there are (entities.py), lists beyond one page (paging.py).

Every function raises BadBody for a shape it does not know; the transport turns that into another try
for a GET and into a doubt for a write.
"""

from collections.abc import Callable, Mapping
from typing import Any

from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS
from reconciler.model.profile import Profile
from reconciler.service import paging
from reconciler.service.answers import ITS_ERROR, AnotherEntity, Answer, BadBody
from reconciler.service.found import Done, Found, Page, cut_queries, iso_date, remote_id
from reconciler.service.http import media, urls

_created_statuses = (200, 201)  # facts 2 to 4: 201; 200 is read liberally. 202 promises nothing yet


def template(kind: Kind, *, named: bool, one: bool) -> str:
    """The path of a kind's collection, or of one entity in it, in a named workspace or the default one."""
    within = "/workspaces/{wid}" if named else ""
    above = f"/{KINDS[kind.parent].segment}/{{parent}}" if kind.parent else ""
    return f"{within}{above}/{kind.segment}{'/{id}' if one else ''}"


def page(answer: Answer, collection: str, offset: int, profile: Profile, *, segment: str = "") -> Page:
    """One page of a list."""
    asked = paging.List(collection, offset, profile, _date(answer), segment)
    return paging.read_page(decoded(answer), asked)


def entity(answer: Answer, kind: Kind, asked: str) -> Found:
    """One entity, the one that was asked for."""
    return single(
        answer, asked, kind.name, kind.segment, lambda body: not body.keys().isdisjoint(kind.telling)
    )


def single(
    answer: Answer, asked: str, name: str, collection: str, is_one: Callable[[Mapping[str, Any]], bool]
) -> Found:
    """The one document that was asked for by its id, in a collection of documents that `is_one` knows."""
    document = decoded(answer)
    if media.is_error(document) or not is_one(document):
        raise BadBody(f"it is no {name}")
    # Somebody else's fields would be written back to the one that was asked for.
    given = document.get("id")
    if str(asked if given is None else given) != asked or remote_id(document, collection) not in ("", asked):
        raise AnotherEntity(f"it is another {name}")
    return Found(asked, document, _date(answer))


def inside(answer: Answer, kind: Kind, parent: str) -> Page:
    """The entities of a kind in the document of what they belong to, all on one page."""
    found = entity(answer, KINDS[kind.parent], parent)
    items = found.body.get(kind.rows_key)
    # A body without the list says nothing. Read as none, each of them would be made again.
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise BadBody(f"it shows no list of {kind.plural}")
    rows = tuple(Found(remote_id(item, kind.segment), item, found.date) for item in items)
    if not all(row.remote_id for row in rows):
        raise BadBody(f"one of its {kind.plural} has no id")
    return Page(rows, len(rows), last=True)


def created(answer: Answer, plural: str) -> Found:
    """What was created: its id from Location, else its own link or id; its body where it was shown."""
    if answer.status not in _created_statuses:
        raise BadBody(f"{answer.status} does not say that it was created")
    body = agreed(answer) if answer.body.strip() else {}
    located, named = urls.id_of(answer.headers.get("location", ""), plural), remote_id(body, plural)
    if not (located or named):
        raise BadBody("it does not tell the new id")
    # One of the two may be a stranger, who would be recorded as ours.
    if located and named and located != named:
        raise BadBody("its address and its body name two ids")
    return Found(located or named, body, _date(answer))


def done(answer: Answer) -> Done:
    """A write that needs no more than its status; a body, if there is one, must be no error."""
    # 204 comes without one (facts 2); a 200 may bring the error of a gateway.
    if answer.body.strip():
        agreed(answer)
    return Done(answer.status)


def agreed(answer: Answer) -> dict[str, Any]:
    """The document of a write that was done: its status says yes, so it may not be an error."""
    document = decoded(answer)
    if media.is_error(document):
        raise BadBody(f"its status says yes ({answer.status}) and its body is an error message", ITS_ERROR)
    return document


def decoded(answer: Answer) -> dict[str, Any]:
    """The answer's document, without queries in its links."""
    document = raw(answer)
    # XML can spell a letter in other ways, so there the bytes tell nothing.
    if answer.form == "xml" or b"apikey" in answer.body.lower():
        cut_queries(document)
    return document


def raw(answer: Answer) -> dict[str, Any]:
    """The answer's document as it came: its links may hold a key."""
    return media.decode(answer.body, answer.media, answer.form)


def _date(answer: Answer) -> str:
    return iso_date(answer.headers.get("date", ""))
