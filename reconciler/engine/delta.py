"""Delta plans at work (rule R11): read what moved since the last plan, and keep what the next one needs.

    the kept baseline --read_moved--> what is declared, recorded and live of what moved; counts of the rest
                                      None: a plan of everything has to be made, and `why` says why
    a plan            --keep--------> the baseline of the next one
    an apply that records many --follow_apply--> the same, from what it records

Who may be left out of a plan is decided in core/planning/delta.py. The baseline lies beside the cached lists,
sealed as they are. It only spares work: with any difference in what it is for, with damage, and where
anything is not certain, everything is planned.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from itertools import chain

import msgspec
from msgspec import Struct, structs

from reconciler.core.entity_table import DigestedEntities, EntityTable
from reconciler.core.planning.delta import (
    Baseline,
    BaselinesAfterApply,
    DigestsOf,
    Linking,
    Members,
    MovedScope,
    ScopeDigests,
    Wanted,
    close_over,
    digest_declared,
    find_rest,
    list_settled_records,
    make_baseline,
)
from reconciler.core.planning.plan import MovedPlan
from reconciler.core.planning.records import RefreshedRecord
from reconciler.core.planning.scopes import RestCounts
from reconciler.engine.context import ReadContext
from reconciler.engine.lists import ListCacheRequest, RowCache
from reconciler.engine.live import ScopeReader, make_readers, read_scopes
from reconciler.errors import ServiceError, unwrap_exception_group
from reconciler.instrumentation import step_log
from reconciler.model.address import Address
from reconciler.model.encoding import encode_json
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Target
from reconciler.model.snapshots import DeletedEntity, Desired, Entity, Live, Recorded, Scope
from reconciler.store.database import Store
from reconciler.store.records import RecordsMoved

_form = "1"  # of what is kept; another one is not read
settled_min = 500  # entities; of fewer a plan of everything takes no longer
# What moved, in entities and as a share of what is declared: of more, a plan of everything takes no longer.
moved_max, moved_share = 1_000, 0.1
# Who moved since the columns of the baseline were made, and is planned each time until they are made anew.
_renewed_from = 250


class _KeptScope(Struct, frozen=True, array_like=True):
    """The baseline of a scope, for rows of this list that show these paths.

    `asked` stands for all that decides what the rows show, `deleted` for what we had deleted. `rest` has a 0
    for whoever moved since.
    """

    baseline: Baseline
    rest: bytes
    asked: bytes
    paths: tuple[str, ...]
    shown: tuple[str, ...]
    deleted: bytes


class _KeptBaseline(Struct, frozen=True, array_like=True):
    """What the last plan was made for, and from.

    `state` is that of the records, `others` are the digests of the records that are in the rest of no scope;
    `written` is when a record had been written last.
    """

    key: tuple[str, ...]
    state: str
    others: dict[str, bytes]
    scopes: tuple[_KeptScope, ...]
    written: str = ""


class DeltaInputs(Struct, frozen=True):
    """The inputs of a plan, and how each scope was read. `moved` has the scopes that leave a rest out.

    `declared` are the digests of everything that is declared.
    """

    desired: Desired
    live: Live
    recorded: Recorded
    readers: Mapping[Scope, ScopeReader]
    declared: Mapping[Address, bytes]
    moved: Mapping[Scope, MovedScope] = {}

    @property
    def counts(self) -> Mapping[Scope, RestCounts]:
        """How many are left out."""
        return {scope: one.counts for scope, one in self.moved.items()}


class _Unusable(Exception):
    """Why everything has to be planned."""


class DeltaPlanner:
    """The baseline of one project and target."""

    def __init__(self, context: ReadContext, target: Target, lists: RowCache) -> None:
        self.context = context
        self._target = target
        self._lists = lists
        self._workspaces = {one.alias: one.id for one in target.workspaces}
        self.linking = Linking(context.rules, context.store.salt)
        self._name = f"{target.origin}\n{target.stack}\nbaseline"
        rules = encode_json([context.rules, list(KINDS.values()), context.settings.adopt])
        self._key = (_form, encode_json(target).decode(), sha256(rules).hexdigest())
        self._state = ""  # of the records, before any of them was read
        # The digests of the records that are in the rest of no scope by their digests, and these rests.
        self._outside: dict[Address, bytes] = {}
        self._began: dict[Scope, bytes] = {}
        self._kept: _KeptBaseline | None = None
        self.why = ""  # everything is planned although there is a baseline

    async def read_moved(self, desired: Desired, gone: Sequence[DeletedEntity]) -> DeltaInputs | None:
        """Return what moved since the last plan, read as every plan reads it; None: everything is to be read.

        Errors: whatever the service's client and the store raise.
        """
        self._state = await self.context.ask(Store.state)
        self._kept = await self.context.dependencies.offload(self._read) if self._state else None
        if self._kept is None:
            return None
        try:
            return await self._read_moved(self._kept, desired, gone)
        except (ServiceError, BaseExceptionGroup) as error:
            cause = unwrap_exception_group(error) if isinstance(error, BaseExceptionGroup) else error
            if not isinstance(cause, ServiceError):
                raise
            # Whether that is one workspace or all of them is judged when everything is read.
            step_log.info("everything is planned: %s", cause)
            return None
        except (_Unusable, RecordsMoved) as why:
            self.why = str(why) or "records were written meanwhile"
            step_log.info("everything is planned: %s", self.why)
            return None

    async def _read_moved(
        self, kept: _KeptBaseline, desired: Desired, gone: Sequence[DeletedEntity]
    ) -> DeltaInputs:
        ask = self.context.ask
        digests: Mapping[Address, bytes] | None = None
        if kept.state != self._state:
            digests = await ask(partial(_read_digests, self._target, kept))
        declared = DeclaredDigests(desired.entities)
        scopes = {one.baseline.scope: one for one in kept.scopes if one.baseline.scope in desired.scopes}
        moved = {
            scope: find_rest(one.baseline, self.linking, declared=declared, recorded=digests, rest=one.rest)
            for scope, one in scopes.items()
        }
        settled = set(chain.from_iterable(one.rest_addresses() for one in moved.values()))
        entities = {one: desired.entities[one] for one in desired.entities if one not in settled}
        if digests is None:
            wanted = _list_others(kept, moved)
        else:
            wanted = {one: digest for one, digest in digests.items() if one not in settled}
        del digests  # of a hundred thousand records they take 20 MiB
        self._outside, self._began = wanted, {scope: bytes(one.rest) for scope, one in moved.items()}
        limit = max(moved_max, int(moved_share * len(desired.entities)))
        _check_limit(len({*entities, *wanted}), limit)
        load = partial(Store.recorded, workspaces=self._target.workspaces)
        known = await ask(partial(load, addresses=wanted))
        if known.elsewhere:
            raise _Unusable("there are records at other addresses of the service")
        readers = make_readers(
            self.context.client,
            structs.replace(desired, entities=entities),
            known,
            workspaces=self._workspaces,
            rules=self.context.rules,
            concurrency=self.context.limits.concurrency,
            lists=self._lists,
            deleted=gone,
            paths={scope: frozenset(one.paths) for scope, one in scopes.items()},
        )
        async with asyncio.TaskGroup() as group:
            opened = [group.create_task(self._open_list(readers[one], scopes[one])) for one in moved]
        if why := next(filter(None, (one.result() for one in opened)), ""):
            raise _Unusable(why)
        names = {*desired.removed, *(one.above for one in (*entities, *known.entities) if one.above)}
        records = dict(known.entities)
        for scope, one in moved.items():
            if scopes[scope].deleted != _digest_deleted(readers[scope].wanted.deleted):
                one.take_strangers()
            left = one.take_rows(readers[scope].row_digests())
            members = _list_members(readers[scope], one, names)
            loading = partial(self._load_wanted, desired, readers[scope])
            found = await ask(partial(_close_over, one, members, loading, left))
            entities |= found.entities
            records |= found.records
            _check_limit(len(found.rows), limit)
            _narrow(readers[scope], found, one)
        live = await read_scopes(readers)
        self._check_read(live, readers, moved)
        if await ask(Store.state) != self._state:
            raise RecordsMoved
        planned, rest = len({*entities, *records}), sum(one.counts.settled for one in moved.values())
        step_log.info("planned afresh: %d, as in the last plan: %d", planned, rest)
        return DeltaInputs(
            structs.replace(desired, entities=dict(sorted(entities.items()))),
            live,
            structs.replace(known, entities=dict(sorted(records.items()))),
            readers,
            declared,
            moved,
        )

    def _load_wanted(self, desired: Desired, reader: ScopeReader, store: Store, wanted: Wanted) -> Members:
        """Return whoever left the rest. Raises RecordsMoved."""
        known = Recorded({})
        if wanted.records:
            known = store.recorded(self._target.workspaces, addresses=wanted.records)
        entities = {one: desired.entities[one] for one in wanted.records}
        return Members(entities, known.entities, reader.observe(wanted.remote_ids))

    async def _open_list(self, reader: ScopeReader, kept: _KeptScope) -> str:
        """Open a list; return why its rows may not be compared with those of the baseline, or ""."""
        scope, rows = reader.wanted.scope, await reader.list_all()
        if rows is None:
            why = reader.following.why or "no earlier read is stored"
            return f"the list of {scope} is fully read: {why}"
        if self._digest_asked(reader) != kept.asked or reader.shown() != frozenset(kept.shown):
            return f"the list of {scope} shows other fields"
        return ""

    def _check_read(
        self, live: Live, readers: Mapping[Scope, ScopeReader], moved: Mapping[Scope, MovedScope]
    ) -> None:
        """Raise _Unusable where what was read says more of the rest than the lists did."""
        if any(not read.complete for read in live.reads):
            raise _Unusable("a list was not read completely")
        for scope, one in moved.items():
            looked = [row for row in live.entities[scope] if row.remote_id in readers[scope].looked]
            if one.pull_in(Members(rows=looked)):
                raise _Unusable(f"an entity of {scope} has another identity than its list shows")

    # What is kept for the next plan.

    async def keep(self, made: MovedPlan, inputs: DeltaInputs, *, anew: bool = False) -> None:
        """Keep the baseline of the next plan, where one would pay. `anew`: everything was planned."""
        settled = made.settled
        if not self._state or any(not read.complete for read in made.plan.reads):
            return
        kept, moved = self._kept, inputs.moved
        stale = sum(len(one.rest) - one.rest.count(1) for one in moved.values())
        if not anew and kept is not None and kept.state == self._state and stale < _renewed_from:
            return
        if anew and len(settled) < settled_min:
            return
        digests = await self.context.ask(self._read_record_digests) if anew else None
        written = await self.context.ask(Store.last_written)
        if await self.context.ask(Store.state) != self._state:
            return
        renewing = anew or stale >= _renewed_from
        others = dict(digests) if digests is not None else self._list_outside(moved)
        making = partial(self._renew, others, settled, inputs, anew=renewing, written=written)
        await self.context.dependencies.offload(lambda: self._write(making()))

    async def follow_apply(self, made: MovedPlan, inputs: DeltaInputs) -> "BaselineAfterApply | None":
        """Return what keeps the baseline when a plan of everything is applied; None where it records few."""
        plan, ask = made.plan, self.context.ask
        many = len(plan.adoptions) + len(plan.records) >= settled_min
        if not many or any(not read.complete for read in plan.reads):
            return None
        before: Mapping[Address, bytes] = {}
        if self._state and inputs.recorded.entities:
            digests = await ask(self._read_record_digests)
            before = digests if await ask(Store.state) == self._state else {}
        return BaselineAfterApply(self, made, inputs, before)

    def _read_record_digests(self, store: Store) -> Mapping[Address, bytes]:
        return store.record_digests(self._target.workspaces)

    def _list_outside(self, moved: Mapping[Scope, MovedScope]) -> dict[Address, bytes]:
        """Return the digests of all records that are in the rest of no scope."""
        found = dict(self._outside)
        for scope, one in moved.items():
            found |= one.records_left(self._began[scope])
        return found

    def _renew(
        self,
        others: dict[Address, bytes],
        settled: Collection[Address],
        inputs: DeltaInputs,
        *,
        anew: bool,
        written: str,
    ) -> _KeptBaseline:
        """Return what to keep: the columns made anew, or those of before without whoever moved.

        `others` are the digests of the records that are in the rest of no scope now.
        """
        moved, kept = inputs.moved, self._kept
        if anew:
            keeping = [one for one in inputs.readers.values() if is_comparable(one)]
            by_scope: dict[Scope, list[Address]] = {}
            for address in settled:
                by_scope.setdefault(Scope.of(address), []).append(address)
            scopes = tuple(
                self._keep_scope(one, others, by_scope.get(one.wanted.scope, []), inputs) for one in keeping
            )
            for one in scopes:  # who has joined the rest of a scope
                for text in one.baseline.addresses:
                    others.pop(Address(text), None)
        else:
            before = {one.baseline.scope: one for one in kept.scopes} if kept else {}
            scopes = tuple(
                structs.replace(
                    before[scope],
                    rest=bytes(one.rest),
                    deleted=_digest_deleted(inputs.readers[scope].wanted.deleted),
                )
                for scope, one in moved.items()
            )
        kept_others = {str(one): digest for one, digest in others.items()}
        return _KeptBaseline(self._key, self._state, kept_others, scopes, written)

    def _keep_scope(
        self,
        reader: ScopeReader,
        digests: Mapping[Address, bytes],
        settled: Collection[Address],
        inputs: DeltaInputs,
    ) -> _KeptScope:
        scope, of = reader.wanted.scope, self.digest_scope(reader, digests, inputs)
        baseline = make_baseline(
            scope,
            Members(reader.wanted.entities, reader.wanted.records, inputs.live.entities[scope]),
            settled,
            self.linking,
            restless_ids=of.restless_ids,
            digests=of.digests,
            before=inputs.moved.get(scope),
        )
        return self.make_kept_scope(reader, baseline)

    def digest_scope(
        self, reader: ScopeReader, recorded: Mapping[Address, bytes], inputs: DeltaInputs
    ) -> ScopeDigests:
        """Return what stands for the inputs of a plan in a scope; `recorded` are the digests of records."""
        scope, shown = reader.wanted.scope, reader.shown() or frozenset()
        rows = reader.row_digests()
        restless = {row.remote_id for row in inputs.live.entities[scope] if row.known != shown}
        restless |= reader.looked
        restless |= {one for ids in inputs.live.again.get(scope, {}).values() for one in ids}
        of_declared = inputs.declared.get
        digests = DigestsOf(
            lambda entity: of_declared(entity.address, b""),
            lambda record: recorded.get(record.address, b""),
            lambda row: rows.get(row.remote_id, b""),
        )
        return ScopeDigests(digests, restless)

    def make_kept_scope(self, reader: ScopeReader, baseline: Baseline) -> _KeptScope:
        """Return the baseline of a scope with what it is for."""
        return _KeptScope(
            baseline,
            b"\1" * len(baseline.remote_ids),
            self._digest_asked(reader),
            tuple(sorted(map(str, reader.paths))),
            tuple(sorted(map(str, reader.shown() or frozenset()))),
            _digest_deleted(reader.wanted.deleted),
        )

    async def keep_scopes(
        self, scopes: tuple[_KeptScope, ...], others: Mapping[Address, bytes], state: str, written: str
    ) -> None:
        """Keep these, made for records in this state; `others` are in the rest of none of them."""
        kept_others = {str(one): digest for one, digest in others.items()}
        kept = _KeptBaseline(self._key, state, kept_others, scopes, written)
        await self.context.dependencies.offload(partial(self._write, kept))

    def _digest_asked(self, reader: ScopeReader) -> bytes:
        """Return what stands for all that decides what the rows of a list show."""
        asked = ListCacheRequest(reader.wanted.scope, reader.wanted.workspace, reader.fields)
        return sha256(encode_json(self._lists.cache_key(asked))).digest()

    def _read(self) -> _KeptBaseline | None:
        data = self._lists.files.read(self._name)
        try:
            kept = msgspec.msgpack.decode(data, type=_KeptBaseline) if data else None
        except msgspec.MsgspecError:  # written in another form by a version that did not change the number
            return None
        return kept if kept is not None and kept.key == self._key else None

    def _write(self, kept: _KeptBaseline) -> None:
        data = msgspec.msgpack.encode(kept, enc_hook=str.__str__)  # an address is a text
        self._lists.files.write(self._name, (data,))


class BaselineAfterApply:
    """Keeps the baseline after an apply that records many, for everybody who was as declared before it.

    `take` gets each record that changes before the first change, `finish` ends them, `keep` ends the run.
    """

    def __init__(
        self, planner: DeltaPlanner, made: MovedPlan, inputs: DeltaInputs, before: Mapping[Address, bytes]
    ) -> None:
        """`before` are the digests of the records that the plan was made from, as far as they are known."""
        self._planner = planner
        self._workspaces = made.plan.target.workspaces
        # The readers hold whole lists, and are not needed any more once this is made of them.
        read = {scope: one for scope, one in inputs.readers.items() if is_comparable(one)}
        scopes = {scope: planner.digest_scope(one, before, inputs) for scope, one in read.items()}
        self._empty = {
            scope: planner.make_kept_scope(one, Baseline(scope.kind, scope.workspace))
            for scope, one in read.items()
        }
        self._making: BaselinesAfterApply | None = BaselinesAfterApply(
            made.plan, made.settled, inputs.recorded, scopes, planner.linking
        )
        self._others = dict(before)  # of records that are in no baseline yet, or in none at all
        self._scopes: tuple[_KeptScope, ...] = ()
        self._since = ""

    async def take(self, written: Sequence[tuple[RefreshedRecord, bytes]]) -> None:
        """Take records that were written, each with its digest."""
        await self._planner.context.dependencies.offload(partial(self._add, written))

    def _add(self, written: Sequence[tuple[RefreshedRecord, bytes]]) -> None:
        assert self._making is not None  # noqa: S101 - nothing is taken after `finish`
        for found, digest in written:
            if not self._making.add(found, digest):
                self._others[found.record.address] = digest

    async def finish(self, desired: Desired, live: Live) -> None:
        """Take note that what is written from now on is changed by the run; the plan was made from these."""
        context = self._planner.context
        await context.dependencies.offload(partial(self._make_scopes, desired, live))
        self._since = await context.ask(Store.last_written)

    def _make_scopes(self, desired: Desired, live: Live) -> None:
        assert self._making is not None  # noqa: S101 - it is called once
        self._scopes = tuple(
            structs.replace(self._empty[scope], baseline=one, rest=b"\1" * len(one.remote_ids))
            for scope, one in self._making.make(desired, live).items()
        )
        self._making = None

    async def keep(self) -> None:
        """Keep the baseline, if the records are the ones that were taken: those of another run are not."""
        planner, ask, known = self._planner, self._planner.context.ask, self._others
        state = await ask(Store.state)
        for one in self._scopes:
            known.update(list_settled_records(one.baseline, one.rest))
        reading = partial(Store.record_digests, workspaces=self._workspaces, known=known, since=self._since)
        others = dict(await ask(reading))
        known.clear()  # of 100,000 records these take 10 MiB, and nobody asks for them any more
        written = await ask(Store.last_written)
        if not state or await ask(Store.state) != state:
            return
        for one in self._scopes:
            for address, digest in list_settled_records(one.baseline, one.rest):
                if others.pop(address, b"") != digest:
                    return
        await planner.keep_scopes(self._scopes, others, state, written)


class DeclaredDigests(Mapping[Address, bytes]):
    """The digest of every declared entity; b"" where it has none. Each is looked up when it is asked for."""

    def __init__(self, entities: Mapping[Address, Entity]) -> None:
        self._entities = entities
        known = entities if isinstance(entities, EntityTable | DigestedEntities) else None
        self._known = known.digest_of if known is not None else None

    def __getitem__(self, address: Address) -> bytes:
        known = self._known(address) if self._known else b""
        return known or digest_declared(self._entities[address])

    def __iter__(self) -> Iterator[Address]:
        return iter(self._entities)

    def __len__(self) -> int:
        return len(self._entities)


def _read_digests(target: Target, kept: _KeptBaseline, store: Store) -> Mapping[Address, bytes]:
    """Return the digests of all records now, of which those of a baseline are known. Raises CorruptRecord."""
    known = {Address(one): digest for one, digest in kept.others.items()}
    for scope in kept.scopes:
        known.update(list_settled_records(scope.baseline, scope.rest))
    return store.record_digests(target.workspaces, known=known, since=kept.written)


def _list_others(kept: _KeptBaseline, moved: Mapping[Scope, MovedScope]) -> dict[Address, bytes]:
    """Return the digests of the records that are in the rest of no scope; all records are as they were."""
    found = {Address(one): digest for one, digest in kept.others.items()}
    for scope in kept.scopes:
        one = moved.get(scope.baseline.scope)
        if one is None:
            found.update(list_settled_records(scope.baseline, scope.rest))
        else:
            found |= one.records_left(scope.rest)
    return found


def _digest_deleted(deleted: Sequence[DeletedEntity]) -> bytes:
    return sha256(
        encode_json(sorted((one.remote_id, sorted(one.identities.items())) for one in deleted))
    ).digest()


def _check_limit(number: int, limit: int) -> None:
    if number > limit:
        raise _Unusable(f"{number:,} entities need planning, more than {limit:,}")


def _list_members(reader: ScopeReader, moved: MovedScope, names: Collection[str]) -> Members:
    """Return everything of a scope that is not in the rest."""
    rest, wanted = set(moved.rest_ids()), reader.wanted
    rows = reader.observe(one for one in reader.listed if one not in rest)
    return Members(wanted.entities, wanted.records, rows, names, {one.remote_id for one in wanted.deleted})


def _close_over(
    moved: MovedScope,
    members: Members,
    load: Callable[[Store, Wanted], Members],
    wanted: Wanted,
    store: Store,
) -> Members:
    return close_over(moved, members, partial(load, store), wanted)


def _narrow(reader: ScopeReader, found: Members, moved: MovedScope) -> None:
    """Let a scope be read for what moved in it. Raises _Unusable where the rest is the smaller part."""
    counts = moved.counts
    if counts.settled < len(found.records) + len(found.entities):
        raise _Unusable(f"most {reader.wanted.scope} changed")
    ids = {row.remote_id for row in found.rows}
    request = structs.replace(
        reader.wanted, entities=found.entities, records=found.records, rest=counts.settled
    )
    reader.narrow(request, [one for one in reader.listed if one in ids])


def is_comparable(reader: ScopeReader) -> bool:
    """Whether the next plan can compare the rows of a list with what they are now."""
    shown, first = reader.shown(), reader.first
    if not reader.kind.listing.changed or not reader.listed or first is None:
        return False
    again = reader.followed or reader.following.rows is not None or first.last
    return again and shown is not None and shown != reader.kind.listing.always
