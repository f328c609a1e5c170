"""The first create of each scope: its own lookup has to find it before another create of that scope begins.

The lookup before a create prevents duplicates. A search that answers "No records found" to everything, a
wrong identity in the settings, or an index that lags for minutes makes it worthless, and nothing else would
show that: a whole roster was once created a second time. So one entity is created, and searched for by the
very same lookup; where it is not found the run stops. Only GET here.

    first create ─▶ applied? ─ no ─▶ the next create is the first
                      │ yes
                      └▶ look ─▶ found: the others, side by side
                          ▲└ not found ─▶ wait, within the settle window ─▶ the run stops
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec import structs

from reconciler.engine import look
from reconciler.engine.context import StopReason
from reconciler.engine.look import ContactGone
from reconciler.engine.session import NotDone, Session
from reconciler.errors import ReconcilerError, Unauthorized
from reconciler.instrumentation import step_log
from reconciler.model.address import Address
from reconciler.model.plans import Change, Create
from reconciler.model.snapshots import Entity, Scope

wait_first_s = 0.25  # seconds before the second look; doubled before each further one: 7 looks in 10 s

_NEXT = (
    "check `identity` in the settings, the workspace, and what the service's search returns; "
    "then plan again. What was created is recorded, and is not created again."
)

_NEXT_OF_ANOTHER = (
    "check what the service has made of it; write its identity in the manifest as the service does, "
    "then apply again. Nothing is sent twice."
)


class FirstCreateGate:
    """Holds back the creates of each scope (kind and workspace) until a lookup has found the first one."""

    def __init__(self, run: Session) -> None:
        self._run = run
        self._confirmed: set[Scope] = set()
        self._turns: dict[Scope, asyncio.Lock] = {}

    @asynccontextmanager
    async def turn(self, change: Change) -> AsyncIterator[bool]:
        """Let the body carry out a change where this yields true; false where the run is over by then.

        A create waits until the first one of its scope was found. The outcome has to be in `run.outcomes`.
        """
        scope = Scope.of(change.address)
        if not isinstance(change, Create) or scope in self._confirmed:
            yield True
            return
        async with self._turns.setdefault(scope, asyncio.Lock()):
            if self._run.over() is not None:
                yield False
                return
            if scope not in self._confirmed:
                yield True
                await self._confirm(scope, change)
                return
        yield True  # not under the lock: from here on the creates of the scope run side by side

    async def _confirm(self, scope: Scope, change: Create) -> None:
        """Look for the new entity. A create that made nothing, or nothing certain, proves nothing."""
        made = self._run.outcomes[change.address]
        if made.result != "applied":
            # The next create is the first; a doubt is settled at the end of the run. But where the service
            # says that it created another entity than was sent, it may do so with every create.
            if made.result == "in doubt" and self._run.is_named(change.address):
                what = f"{change.address} was created, but the service now shows a different entity."
                self._run.halt(StopReason("unconfirmed", what, _NEXT_OF_ANOTHER))
            return
        entity = self._with_shown_identity(self._run.desired.entities[change.address])
        try:
            why = await self._why_not_found(entity, made.remote_id, self._run.parent_id(change))
        except ContactGone:
            return  # the contact was deleted, and the device with it
        if not why:
            self._confirmed.add(scope)
            return
        what = f"{change.address} was created (id {made.remote_id}), and {why}: no lookup can be trusted."
        self._run.halt(StopReason("unconfirmed", what, _NEXT))

    def _with_shown_identity(self, entity: Entity) -> Entity:
        """Return the entity with its identity as the service shows it: a lookup finds it by that."""
        row = self._run.shown.get(entity.address)
        paths = {path for key in self._run.rules.keys(entity.address.kind) for path in key}
        shown = {path: row.fields[path] for path in paths if row and row.fields.get(path)}
        return structs.replace(entity, fields={**entity.fields, **shown})

    async def _why_not_found(self, entity: Entity, remote_id: str, parent_id: str) -> str:
        """Return why the lookup does not find exactly this one, or ""; it is repeated for a settle window."""
        # An index may lag: a miss proves nothing within its window (service.limits.settle_s).
        left_s, wait_s = self._run.context.limits.settle_s, wait_first_s
        while True:
            why = await self._look_once(entity, remote_id, parent_id)
            if not why or left_s <= 0 or self._run.over() is not None:
                return why
            pause_s = min(wait_s, left_s)
            step_log.info("%s: no lookup finds it yet; again in %.1f s", entity.address, pause_s)
            await self._run.pause(pause_s)
            left_s, wait_s = left_s - wait_s, wait_s * 2

    async def _look_once(self, entity: Entity, remote_id: str, parent_id: str) -> str:
        try:
            hits = await look.find_matches(self._run, entity, parent_id)
        except ContactGone:
            raise
        except NotDone as ended:
            return ended.what.removesuffix(".")
        except Unauthorized as error:
            self._run.halt(StopReason("credentials", str(error), error.next))
            return str(error).removesuffix(".")
        except ReconcilerError as error:
            return f"the lookup failed ({error})"
        ids = sorted({hit.found.remote_id for hit in hits})
        if ids == [remote_id]:
            return ""
        by = self._describe_identities(entity.address)
        if not ids:
            return f"a lookup by {by} does not find it"
        return f"a lookup by {by} finds {len(ids)} (ids {', '.join(ids)})"

    def _describe_identities(self, address: Address) -> str:
        """Return the fields that the lookup used; never their values."""
        keys = self._run.rules.keys(address.kind)
        return " or ".join(" and ".join(key) for key in keys)
