"""The plan of an earlier run that said nothing, where nothing has changed since: found again, not made again.

    what the manifests were made of, the target, the seals of the records, each list as it is remembered
        the same ──▶ one page of each list in order of change ──▶ it is as it was ──▶ the same plan

So a plan with nothing to do neither loads its records nor decodes its lists. Anything else, or any doubt, and
it is made as every other. What is kept lies beside the lists and is sealed as they are.

Belongs here: what has to be the same, and keeping it. Not here: which plan is such (core/planning/
standstill.py), what proves that a list is as it was (core/feed.py).
"""

from functools import partial

import msgspec
from msgspec import Struct

from reconciler.core.feed import NewestRows
from reconciler.core.planning.fingerprint import is_noop_plan
from reconciler.engine.context import ReadContext
from reconciler.engine.following import ListRequest, is_list_unchanged
from reconciler.engine.list_cache import RowCache, open_row_cache
from reconciler.engine.targets import resolve_target
from reconciler.instrumentation import step_log
from reconciler.model.encoding import decode_json, encode_json
from reconciler.model.plans import Options, Plan, Target
from reconciler.model.snapshots import Read
from reconciler.store.database import Store

_plan_cache_form = "2"  # 1 saw no blanks at the edges of live values, and knew another form of identities


class _CachedList(Struct, frozen=True, array_like=True):
    """One list: what it was asked for, its state (engine/list_cache.py), and its newest rows."""

    asked: ListRequest
    state: tuple[str, ...]
    newest: NewestRows


class _CachedPlan(Struct, frozen=True, array_like=True):
    """What a plan followed from, and the plan in JSON."""

    followed_from: tuple[str, ...]
    lists: tuple[_CachedList, ...]
    plan: bytes


async def open_plan_cache(context: ReadContext, options: Options, made_of: str) -> "PlanCache | None":
    """Return the plan of these manifests that said nothing, if there may be one.

    `made_of` tells what is declared from all else that might be; "" where that is not known.
    """
    lists = await open_row_cache(context) if made_of and options == Options() else None
    state = await context.ask(Store.state) if lists else ""
    if lists is None or not state:
        return None
    return PlanCache(context, lists, await resolve_target(context, context.desired), made_of, state)


class PlanCache:
    """The plan of these manifests, target and records that said nothing, if there is one."""

    def __init__(
        self, context: ReadContext, lists: RowCache, target: Target, made_of: str, state: str
    ) -> None:
        self.target = target
        self.lists = lists
        self._context = context
        self._state = state
        self._name = f"{target.origin}\n{target.stack}\nstandstill"
        self._followed_from = (_plan_cache_form, encode_json(target).decode(), made_of, state)

    async def again(self) -> Plan | None:
        """Return that plan where nothing has changed since, by one call for each list; None: make it.

        Errors: whatever the service's client raises.
        """
        kept, plan = await self._context.outside.offload(self._read)
        for one in kept:
            if not await is_list_unchanged(self._context.client, one.asked, one.newest):
                step_log.info("%s: not as it was when a plan said nothing", one.asked.scope)
                return None
        if plan is not None:
            step_log.info("nothing has changed since a plan said nothing; lists: %d", len(kept))
        return plan

    async def keep(self, plan: Plan) -> None:
        """Keep a plan that says nothing and that was made of lists alone, each by what had changed in it."""
        if is_noop_plan(plan) and (lists := self._followed(plan)):
            # Who wrote records meanwhile may have done so before they were loaded, or after.
            if await self._context.ask(Store.state) != self._state:
                return
            data = msgspec.msgpack.encode(_CachedPlan(self._followed_from, lists, encode_json(plan)))
            await self._context.outside.offload(partial(self.lists.files.write, self._name, data))

    def _read(self) -> tuple[tuple[_CachedList, ...], Plan | None]:
        """Return the lists and the plan that were kept, where all but the service is as it was then."""
        data = self.lists.files.read(self._name)
        try:
            kept = msgspec.msgpack.decode(data, type=_CachedPlan) if data else None
            if kept is None or kept.followed_from != self._followed_from:
                return (), None
            plan = decode_json(kept.plan, Plan)
        except msgspec.MsgspecError:  # of a version that did not say so
            return (), None
        as_then = (one.state == self.lists.state(one.asked, now=True) for one in kept.lists)
        due = any(self.lists.why_whole(one.newest) for one in kept.lists)
        return (kept.lists, plan) if all(as_then) and not due else ((), None)

    def _followed(self, plan: Plan) -> tuple[_CachedList, ...]:
        """Return the lists that a plan was made of; none where anything else was read for it."""
        found = []
        for read in plan.reads:
            asked, newest, calls = self.lists.newest.get(read.scope, (None, None, 0))
            state = self.lists.state(asked, now=False) if asked else ()
            if asked is None or newest is None or not state or not _is_read_from_list_alone(read, calls):
                return ()
            found.append(_CachedList(asked, state, newest))
        return tuple(found)


def _is_read_from_list_alone(read: Read, calls: int) -> bool:
    """Whether a scope was read by what had changed in its list, in so many calls, and nothing besides."""
    return read.how == "feed" and read.complete and read.calls == calls
