"""A service, or a gateway before it, that says a write was done, or somebody gone, when that is not so.

Belongs here: what becomes of the write, and which answer is given. Not here: how often (faults.py), the way
of the answer (network.py), and whether a run believed it (oracle.py).
"""

import copy
from dataclasses import replace
from random import Random
from typing import Protocol

from simulation import modelwire
from simulation.modelservice import Body, Model, Refused, Write
from simulation.modelwire import Answer


class Sent(Protocol):
    """A request as far as the service sees it."""

    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def query(self) -> str: ...
    @property
    def content(self) -> bytes: ...


def no_effect(model: Model, request: Sent, _chance: Random) -> Answer:
    """The answer of a success, and nothing is done. What would be refused is refused."""
    asked = modelwire.taken_apart(request.method, request.path, request.query)
    try:
        row = model.row(asked.kind, asked.workspace, asked.one, asked.parent)
    except Refused as refused:
        return modelwire.refusal(model.switches, refused.status, str(refused), model.now())
    return modelwire.done_answer(model, row, request.method)


def field_ignored(model: Model, request: Sent, chance: Random) -> Answer:
    """A full replace by which one of the changed fields stays as it was."""
    found = modelwire.answer(model, request.method, request.path, request.query, request.content)
    write = found.write
    if write is None or write.before is None or write.after is None:
        return found
    changed = [key for key in write.after if _plain(write.after, key) and _moved(write, key)]
    if not changed:
        return found
    key, body = chance.choice(sorted(changed)), model.rows[write.id].body
    if key in write.before:
        body[key] = write.before[key]
    else:
        del body[key]
    model.moved(write.id)
    return replace(found, body=b"", write=replace(write, after=copy.deepcopy(body)))


def names_another(model: Model, request: Sent, chance: Random) -> Answer:
    """The answer to a create is about an entity that was there before; the new one is made, or it is not."""
    asked = modelwire.taken_apart(request.method, request.path, request.query)
    others = [row for row in model.of(asked.kind, asked.workspace) if row.parent == asked.parent]
    made = modelwire.answer(model, request.method, request.path, request.query, request.content)
    if made.write is None or not others:
        return made
    if chance.random() < 0.5:
        model.delete(asked.kind, asked.workspace, made.write.id)
        made = replace(made, write=None)
    return replace(modelwire.made_answer(model, chance.choice(others), asked), write=made.write)


def absent_though_there(model: Model, request: Sent, _chance: Random) -> Answer:
    """A look at one entity that finds nothing, whoever is there; a list is told truly."""
    try:
        asked = modelwire.taken_apart(request.method, request.path, request.query)
    except Refused:
        asked = None
    if asked is None or not asked.one:
        return modelwire.answer(model, request.method, request.path, request.query, request.content)
    return modelwire.refusal(model.switches, 404, "no such entity", model.now())


def shows_another(model: Model, request: Sent, chance: Random) -> Answer:
    """A look at one entity that shows another one of the same collection, as after a merge."""
    try:
        asked = modelwire.taken_apart(request.method, request.path, request.query)
    except Refused:
        asked = None
    rows = model.of(asked.kind, asked.workspace) if asked is not None and asked.one else []
    others = [row for row in rows if asked and row.parent == asked.parent and row.id != asked.one]
    path = request.path
    if others:
        path = f"{path.rpartition('/')[0]}/{chance.choice(others).id}"
    return modelwire.answer(model, request.method, path, request.query, request.content)


def _plain(body: Body, key: str) -> bool:
    return isinstance(body.get(key), str) and key not in ("mri", "lastModifiedTime")


def _moved(write: Write, key: str) -> bool:
    assert write.before is not None
    assert write.after is not None
    return write.before.get(key) != write.after.get(key)
