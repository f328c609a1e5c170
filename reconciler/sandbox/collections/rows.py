"""The five endpoints of every collection that is a row: list, create, get, replace, delete.

Belongs here: what each of them does, whatever the row says. Not here: what follows from a row (row.py).
"""

from collections.abc import Callable, Sequence

import msgspec

from reconciler.sandbox.calls import Answer, Call, no_content
from reconciler.sandbox.collections.row import Collection
from reconciler.sandbox.keeping.records import Body, Record
from reconciler.sandbox.paging import page_document, read_order
from reconciler.sandbox.refusals import invalid, not_found

Endpoint = Callable[[Call], Answer]


def list_endpoint(row: Collection) -> dict[str, Endpoint]:
    """What the address of the whole collection does, by method."""
    return {
        "GET": _named(row, _list, f"list_{row.plural}", f"One page of the {row.plural}."),
        "POST": _named(
            row, _create, f"create_{row.name}", f"A new {row.name}; the answer is the whole of it."
        ),
    }


def record_endpoint(row: Collection) -> dict[str, Endpoint]:
    """What the address of one record does, by method."""
    return {
        "GET": _named(row, _get, f"get_{row.name}", f"The whole {row.name}."),
        "PUT": _named(row, _put, f"put_{row.name}", f"The {row.name} is replaced."),
        "DELETE": _named(row, _delete, f"delete_{row.name}", f"The {row.name} is gone."),
    }


def _named(row: Collection, does: Callable[[Collection, Call], Answer], name: str, summary: str) -> Endpoint:
    """The endpoint of this row, under the name and with the sentence that its description shows."""

    def endpoint(call: Call) -> Answer:
        return does(row, call)

    endpoint.__name__, endpoint.__doc__ = name, summary
    return endpoint


def _list(row: Collection, call: Call) -> Answer:
    page, found = call.page, _sorted(row, call, _matching(row, call))
    rows = [_document(row, call, one, brief=True) for one in page.cut(found)]
    document = page_document(
        row.plural,
        rows,
        page=page,
        total=len(found),
        address=f"{call.writer.base}{call.path}",
        query=call.query,
        prev_rel=call.config.prev_rel,
    )
    return Answer(200, document)


def _create(row: Collection, call: Call) -> Answer:
    fields = _read(row, call.body())
    _require_unique(row, call, fields, owner="")
    record_id, number = call.state.new_id(row.name)
    record = Record(id=record_id, number=number, workspace=call.shelf.id, fields=fields)
    call.state.put_record(row.name, record)
    document = _document(row, call, record, brief=False)
    return Answer(201, document, call.writer.address(row.plural, record.id))


def _get(row: Collection, call: Call) -> Answer:
    return Answer(200, _document(row, call, _one(row, call), brief=False))


def _put(row: Collection, call: Call) -> Answer:
    before = _one(row, call)
    spared = {name: before.fields[name] for name in row.spares if name in before.fields}
    fields = _read(
        row, {**spared, **{name: value for name, value in call.body().items() if value is not None}}
    )
    _require_unique(row, call, fields, owner=before.id)
    after = msgspec.structs.replace(before, fields=fields)
    call.state.put_record(row.name, after, last=row.order == "updated")
    return no_content


def _delete(row: Collection, call: Call) -> Answer:
    call.state.drop_record(row.name, _one(row, call))
    return no_content


def _one(row: Collection, call: Call) -> Record:
    record = call.shelf.records(row.name).get(call.ids[0])
    if record is None:
        raise not_found()
    return record


def _matching(row: Collection, call: Call) -> list[Record]:
    """The records that contain every text that is asked for, in any letter case, oldest first."""
    wanted = {name: call.query.get(name, "").casefold() for name in row.asked}
    asked = {name: text for name, text in wanted.items() if text}
    return [
        one
        for one in call.listed(call.shelf.records(row.name).values())
        if all(text in str(one.fields.get(name, "")).casefold() for name, text in asked.items())
    ]


def _sorted(row: Collection, call: Call, found: list[Record]) -> Sequence[Record]:
    if row.order == "updated":
        found.reverse()
    names = [name.strip() for name in call.query.get("sortFields", "").split(",") if name.strip()]
    if names:
        found.sort(key=lambda one: [str(one.fields.get(name, "")).casefold() for name in names])
    if read_order(call.query) == "desc":
        found.reverse()
    return found


def _read(row: Collection, body: Body) -> Body:
    """The fields of the row that the body gives; refuses (422) a missing or wrong one by name.

    null counts as absent; what is no field of the row is ignored.
    """
    given = {one.name: body[one.name] for one in row.fields if body.get(one.name) is not None}
    missing = [name for name in row.required if given.get(name, "") == ""]
    if missing:
        raise invalid(f"{', '.join(missing)}: required and missing")
    for one in row.fields:
        value = given.get(one.name, "")
        if not isinstance(value, str):
            raise invalid(f"{one.name} must be a string")
        if one.one_of and one.name in given and value not in one.one_of:
            raise invalid(f"{one.name} must be one of {', '.join(one.one_of)}")
    return given


def _require_unique(row: Collection, call: Call, fields: Body, *, owner: str) -> None:
    for name in row.unique:
        others = (one for one in call.shelf.records(row.name).values() if one.id != owner)
        if name in fields and any(one.fields.get(name) == fields[name] for one in others):
            raise invalid(f"{name}: there is a {row.name} with this {name} already")


def _document(row: Collection, call: Call, record: Record, *, brief: bool) -> Body:
    uri = call.writer.address(row.plural, record.id)
    links = call.writer.record_links(uri, row.noun, row.kind, change=not brief)
    return {**row.shown(record, brief=brief), "link": links}
