"""The five endpoints of every collection that is a row: list, create, get, replace, delete.

Belongs here: what each of them does, whatever the row says. Not here: the rows and their hooks (row.py).
"""

from collections.abc import Awaitable, Callable

from reconciler.sandbox.calls import Answer, Call, no_content
from reconciler.sandbox.collections.row import AnyRow

Endpoint = Callable[[Call], Answer | Awaitable[Answer]]

SAYS = {
    "list": "One page of the {plural}.",
    "create": "A new {name}; the answer is the whole of it.",
    "get": "The whole {name}.",
    "put": "The {name} is replaced.",
    "delete": "The {name} is gone.",
}
"""Verb -> what its endpoint does, in the description of every row that does not say it in other words."""


def list_endpoint(row: AnyRow) -> dict[str, Endpoint]:
    """What the address of the whole collection does, by method."""
    return {"GET": _named(row, "list", _list), "POST": _named(row, "create", _create)}


def record_endpoint(row: AnyRow) -> dict[str, Endpoint]:
    """What the address of one record does, by method."""
    return {
        "GET": _named(row, "get", _get),
        "PUT": _named(row, "put", _put),
        "DELETE": _named(row, "delete", _delete),
    }


def _named(row: AnyRow, verb: str, does: Callable[[AnyRow, Call], Answer | Awaitable[Answer]]) -> Endpoint:
    """The endpoint of this row, under the name and with the sentence that its description shows."""

    def endpoint(call: Call) -> Answer | Awaitable[Answer]:
        return does(row, call)

    endpoint.__name__ = f"{verb}_{row.plural if verb == 'list' else row.name}"
    endpoint.__doc__ = row.says.get(verb) or SAYS[verb].format(name=row.name, plural=row.plural)
    return endpoint


def _list(row: AnyRow, call: Call) -> Answer:
    found = row.found(call)
    return call.paged(row.key, found, lambda one: row.shown(call, one, "row"))


async def _create(row: AnyRow, call: Call) -> Answer:
    record = row.read(call, None)
    await row.check(call, record)
    row.keep(call, record)
    return Answer(201, row.shown(call, record, "created"), f"{call.address}/{record.id}")


def _get(row: AnyRow, call: Call) -> Answer:
    return Answer(200, row.shown(call, row.one(call), "whole"))


def _put(row: AnyRow, call: Call) -> Answer:
    record = row.read(call, row.one(call))
    row.keep(call, record)
    return row.replaced(call, record)


def _delete(row: AnyRow, call: Call) -> Answer:
    row.drop(call, row.one(call))
    return no_content
