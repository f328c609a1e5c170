"""The law of delta plans: the plan of what moved, and counts of the rest, is the plan of everything (R11)."""

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Any, TypeVar

import effort
import tally
from core.build import (
    LAB,
    MARK,
    MARKED,
    MOMENT,
    OPS,
    PLACE,
    RULES,
    STACK,
    STORE_SALT,
    TARGET,
    at,
    contact,
    device,
    phone,
    record,
    recorded,
)
from core.build import row as live_row
from msgspec import structs

from reconciler.core.compare.evidence import MissedLook
from reconciler.core.entity_table import DIGEST_BYTES
from reconciler.core.planning.deletes import forgotten_at_once
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
    digest_record,
    digest_row,
    find_rest,
    make_baseline,
)
from reconciler.core.planning.fingerprint import manifest_digest
from reconciler.core.planning.plan import MovedPlan, make_plan, make_plan_of_moved
from reconciler.core.planning.records import make_record, refresh_records, trace_origin
from reconciler.core.rules import Rules
from reconciler.engine.session import collect_known_ids
from reconciler.errors import ManifestError
from reconciler.model.address import Address
from reconciler.model.documents import Controls, Fields, Scalar
from reconciler.model.plans import Change, Create, Delete, Options, Plan
from reconciler.model.settings import Identity
from reconciler.model.snapshots import (
    ContradictedId,
    Desired,
    Entity,
    Flap,
    Live,
    LiveEntity,
    Read,
    Recorded,
    RecordedEntity,
    Scope,
)

T = TypeVar("T")
HISTORIES = effort.count(small=300, full=3_000)
SCOPES = (OPS, LAB)
NAMES = "abcdefghijklmnop"
# Few of them, so that they meet; some are one mailbox, some only look so, and one is seen by nobody.
MAILS = (
    *("a@example.com", "A@example.com", "b@example.com", "c@example.com", "strauss@example.com"),
    *(
        "strau\N{LATIN SMALL LETTER SHARP S}@example.com",
        "\N{CYRILLIC SMALL LETTER A}@example.com",
        "\u200b",
        "",
    ),
)
TITLES = ("Nurse", "Doctor", "Driver", "")
TWO_KEYS = Identity({"contacts": ("workEmailAddress1", "custom.employeeId")})
ALL_RULES: tuple[Rules, ...] = (
    RULES,
    MARKED,
    Rules(STACK, adopt=False),
    Rules(STACK, identity=TWO_KEYS, mark=MARK),
    Rules(STACK, identity=TWO_KEYS),
)


class State:
    """What is declared, live and recorded, as tables that a history edits."""

    def __init__(self, chance: Random, rules: Rules) -> None:
        self.chance = chance
        self.rules = rules
        self.entities: dict[Address, Entity] = {}
        self.rows: dict[Scope, dict[str, LiveEntity]] = {scope: {} for scope in SCOPES}
        self.devices: list[LiveEntity] = []
        self.records: dict[Address, RecordedEntity] = {}
        self.contradicted: dict[Scope, dict[str, ContradictedId]] = {scope: {} for scope in SCOPES}
        self.removed: set[Address] = set()
        self.doubts: set[Address] = set()
        self.numbers = 0
        for number, name in enumerate(NAMES[: chance.randrange(6, len(NAMES))]):
            self.settle(at(f"contact/{'lab' if number % 5 == 4 else 'ops'}/{name}"))

    def number(self) -> str:
        self.numbers += 1
        return f"{self.numbers:04X}"

    def own_fields(self, address: Address) -> dict[str, Scalar]:
        mark = {f"custom.{MARK}": f"{STACK}/{address.name}"} if self.rules.mark else {}
        return {
            "firstName": address.name,
            "lastName": "Doe",
            "workEmailAddress1": f"{address.name}@example.org",
            "custom.employeeId": f"{address.name}1",
            "jobTitle": "Nurse",
            **mark,
        }

    def settle(self, address: Address) -> None:
        """Let an address be declared, recorded and live alike."""
        fields, remote_id = self.own_fields(address), self.number()
        if self.chance.random() < 0.25:
            fields |= {"workEmailAddress1": self.chance.choice(MAILS[:-1])}
        if self.chance.random() < 0.1:
            fields.pop(f"custom.{MARK}", None)
        self.entities[address] = contact(f"{address.workspace}/{address.name}", fields)
        self.rows[Scope.of(address)][remote_id] = live_row("contact", address.workspace, remote_id, fields)
        self.records[address] = record(str(address), remote_id, fields)

    # The inputs of a plan.

    def desired(self) -> Desired:
        scopes = {OPS, LAB} if any(one.workspace == "lab" for one in self.entities) else {OPS}
        removed = dict.fromkeys(sorted(self.removed), PLACE)
        return Desired(dict(sorted(self.entities.items())), frozenset(scopes), removed=removed)

    def live(self) -> Live:
        entities = {scope: tuple(rows.values()) for scope, rows in self.rows.items()}
        entities[Scope("device", "ops")] = tuple(self.devices)
        doubtful = {scope: tuple(found.values()) for scope, found in self.contradicted.items() if found}
        totals = {scope: self.chance.choice((len(rows), -1)) for scope, rows in self.rows.items()}
        reads = tuple(Read(scope, "feed", 1, 0, totals[scope], complete=True) for scope in totals)
        return Live(entities, reads, contradictions=doubtful)

    def recorded(self) -> Recorded:
        return recorded(*self.records.values(), doubts=dict.fromkeys(self.doubts, ""))

    # What people, the service and earlier runs do.

    def change(self) -> None:
        """Do one of all that may happen."""
        kind, work = self.chance.choice(CHANGES)
        tally.count("delta histories", kind)
        work(self)

    def pick_address(self) -> Address:
        return self.chance.choice(sorted({*self.entities, *self.records, self.new_address()}))

    def new_address(self) -> Address:
        return at(f"contact/{self.chance.choice(('ops', 'ops', 'lab'))}/{self.chance.choice(NAMES)}")

    def pick_row(self) -> LiveEntity | None:
        rows = [row for rows in self.rows.values() for row in rows.values()]
        return self.chance.choice(rows) if rows else None

    def new_values(self) -> Fields:
        path = self.chance.choice(
            ("workEmailAddress1", "workEmailAddress1", "custom.employeeId", "jobTitle", f"custom.{MARK}")
        )
        values: tuple[str, ...] = TITLES if path == "jobTitle" else MAILS
        if path == "custom.employeeId":
            values = tuple(f"{name}1" for name in NAMES[:6])
        if path == f"custom.{MARK}":
            values = (*(f"{STACK}/{name}" for name in NAMES[:6]), "others/a", f" {STACK}/a", "")
        if path == "workEmailAddress1" and self.chance.random() < 0.4:
            values = tuple(f"{name}@example.org" for name in NAMES[:8])
        return {path: self.chance.choice(values)}

    def put_row(self, row: LiveEntity) -> None:
        self.rows[Scope(row.kind, row.workspace)][row.remote_id] = row


def _declare(state: State) -> None:
    address = state.new_address()
    fields = {**state.own_fields(address), **state.new_values()}
    state.entities[address] = contact(f"{address.workspace}/{address.name}", fields)


def _drop(state: State) -> None:
    gone = state.entities.pop(state.pick_address(), None)
    if gone is not None:
        for address in [one for one in state.entities if one.above == gone.address]:
            del state.entities[address]


def _edit_entry(state: State) -> None:
    entity = state.entities.get(state.pick_address())
    if entity is not None and entity.address.kind == "contact":
        fields = {**entity.fields, **state.new_values()}
        state.entities[entity.address] = structs.replace(entity, fields=fields)


def _respell_entry(state: State) -> None:
    entity = state.entities.get(state.pick_address())
    if entity is not None and entity.address.kind == "contact":
        fields = {path: f" {value}" if value else value for path, value in entity.fields.items()}
        place = structs.replace(PLACE, line=state.chance.randrange(100))
        state.entities[entity.address] = structs.replace(entity, fields=fields, place=place)


def _set_controls(state: State) -> None:
    entity = state.entities.get(state.pick_address())
    if entity is not None and entity.address.kind == "contact":
        controls = state.chance.choice(
            (
                Controls(),
                Controls(protect=True),
                Controls(ignore=frozenset({"jobTitle"})),
                Controls(reactivate=True),
            )
        )
        state.entities[entity.address] = structs.replace(entity, controls=controls)


def _rename(state: State) -> None:
    old, new = state.pick_address(), state.new_address()
    entity = state.entities.get(old)
    if entity is not None and old.workspace == new.workspace and old.kind == "contact":
        if state.chance.random() < 0.8:
            _drop_exactly(state, old)
        controls = Controls(renamed_from=old.name)
        fields = {**entity.fields, **({f"custom.{MARK}": f"{STACK}/{new.name}"} if state.rules.mark else {})}
        state.entities[new] = structs.replace(entity, address=new, fields=fields, controls=controls)


def _name_former(state: State) -> None:
    old, new = state.pick_address(), state.new_address()
    if old.workspace == new.workspace and old.kind == "contact":
        controls = Controls(renamed_from=old.name)
        state.entities[new] = contact(f"{new.workspace}/{new.name}", state.own_fields(new), controls=controls)
        state.records.pop(new, None)


def _orphan(state: State) -> None:
    """Let what nobody declares be recorded, with a row that shows something else by now."""
    address, row = state.new_address(), state.pick_row()
    if address in state.entities or address in state.records:
        return
    fields = {**state.own_fields(address), **state.new_values()}
    remote_id = row.remote_id if row and state.chance.random() < 0.3 else state.number()
    state.records[address] = record(str(address), remote_id, fields)
    if state.chance.random() < 0.8:
        shown = {**fields, **state.new_values()}
        state.rows[Scope.of(address)].setdefault(
            remote_id, live_row("contact", address.workspace, remote_id, shown)
        )


def _copy_shown(state: State) -> None:
    """Let somebody have the identity that a record shows, and that its row may not show any more."""
    known = state.records.get(state.pick_address())
    if known is not None and known.address.kind == "contact":
        fields = {path: value for path, value in known.shown.items() if path != f"custom.{MARK}"}
        state.put_row(live_row("contact", known.address.workspace, state.number(), fields))


def _drop_exactly(state: State, address: Address) -> None:
    for one in [each for each in state.entities if address in (each, each.above)]:
        del state.entities[one]


def _list_devices(state: State) -> None:
    entity = state.entities.get(state.pick_address())
    if entity is None or entity.address.kind != "contact" or entity.address.workspace != "ops":
        return
    listed = state.chance.random() < 0.7
    state.entities[entity.address] = structs.replace(entity, devices_in_scope=listed)
    address = at(f"device/ops/{entity.address.name}/phone")
    state.entities.pop(address, None)
    if listed and state.chance.random() < 0.7:
        state.entities[address] = device(f"ops/{entity.address.name}/phone")


def _record_device(state: State) -> None:
    name = state.chance.choice(NAMES[:6])
    state.records[at(f"device/ops/{name}/phone")] = record(f"device/ops/{name}/phone", state.number())


def _attach_device(state: State) -> None:
    row = state.pick_row()
    if row is not None and row.workspace == "ops":
        state.devices.append(phone(state.number(), row.remote_id))


def _remove_name(state: State) -> None:
    address = state.pick_address()
    if address.kind == "contact":
        state.removed ^= {address}


def _edit_row(state: State) -> None:
    row = state.pick_row()
    if row is not None:
        state.put_row(structs.replace(row, fields={**row.fields, **state.new_values()}))


def _touch_row(state: State) -> None:
    row = state.pick_row()
    if row is not None:
        state.put_row(structs.replace(row, modified="2026-02-01T00:00:00Z"))


def _delete_row(state: State) -> None:
    row = state.pick_row()
    if row is not None:
        del state.rows[Scope(row.kind, row.workspace)][row.remote_id]


def _add_row(state: State) -> None:
    address = state.new_address()
    fields = {**state.own_fields(address), **state.new_values()}
    if not state.rules.mark or state.chance.random() < 0.5:
        fields.pop(f"custom.{MARK}", None)
    state.put_row(live_row("contact", address.workspace, state.number(), fields))


def _copy_row(state: State) -> None:
    row = state.pick_row()
    if row is not None:
        fields = dict(row.fields)
        if state.chance.random() < 0.5:
            fields.pop(f"custom.{MARK}", None)
        state.put_row(structs.replace(row, remote_id=state.number(), fields=fields))


def _make_row_anew(state: State) -> None:
    row = state.pick_row()
    if row is not None:
        del state.rows[Scope(row.kind, row.workspace)][row.remote_id]
        state.put_row(structs.replace(row, remote_id=state.number()))


def _contradict(state: State) -> None:
    known = state.records.get(state.pick_address())
    if known is None or known.address.kind != "contact":
        return
    scope = Scope.of(known.address)
    gone = state.rows[scope].pop(known.remote_id, None)
    fields = gone.fields if gone else {}
    says: MissedLook = state.chance.choice(("absent", "elsewhere"))
    state.contradicted[scope][known.remote_id] = ContradictedId(known.remote_id, says, "why", fields)


def _agree_again(state: State) -> None:
    for scope, found in state.contradicted.items():
        for one in found.values():
            state.put_row(live_row("contact", scope.workspace, one.remote_id, one.fields))
        found.clear()


def _lose_record(state: State) -> None:
    state.records.pop(state.pick_address(), None)


def _record_again(state: State) -> None:
    address, row = state.pick_address(), state.pick_row()
    if row is not None and address.kind == "contact":
        known = record(str(address), row.remote_id, row.fields)
        state.records[address] = known


def _change_record(state: State) -> None:
    address = state.pick_address()
    known = state.records.get(address)
    if known is None or address.kind != "contact":
        return
    row = state.pick_row()
    earlier = (row.remote_id if row else "00FF",)
    flaps = {"jobTitle": Flap(3, "2026-02-01T00:00:00+00:00", "2026-02-25T00:00:00+00:00")}
    changed: Mapping[str, Any] = state.chance.choice(
        (
            {"protected": not known.protected},
            {"earlier": earlier},
            {"flaps": flaps},
            {"shown": {**known.shown, **state.new_values()}},
            {"shown": {**known.shown, **state.new_values()}},
            {"sent": {**known.sent, **state.new_values()}},
            {"adopted": "2026-02-01T00:00:00+00:00"},
        )
    )
    state.records[address] = structs.replace(known, **changed)


def _doubt(state: State) -> None:
    state.doubts ^= {state.pick_address()}


def _apply(state: State) -> None:
    """Let everything declared and matched by its record be live and recorded alike."""
    for address, known in [*state.records.items()]:
        entity = state.entities.get(address)
        rows = state.rows.get(Scope.of(address), {})
        if entity is None or known.remote_id not in rows:
            continue
        row = rows[known.remote_id]
        state.put_row(structs.replace(row, fields={**row.fields, **entity.fields}))
        state.records[address] = record(str(address), known.remote_id, entity.fields)


def _settle_one(state: State) -> None:
    address = state.new_address()
    if address not in state.entities and address not in state.records:
        state.settle(address)


CHANGES: tuple[tuple[str, Callable[[State], None]], ...] = tuple(
    (work.__name__.strip("_").replace("_", " "), work)
    for work in (
        *(
            _declare,
            _drop,
            _edit_entry,
            _edit_entry,
            _respell_entry,
            _set_controls,
            _rename,
            _name_former,
            _list_devices,
        ),
        *(_remove_name, _record_device, _attach_device, _edit_row, _edit_row, _touch_row, _delete_row),
        *(_add_row, _copy_row, _make_row_anew, _contradict, _agree_again, _lose_record, _record_again),
        *(_change_record, _change_record, _orphan, _copy_shown, _doubt, _apply, _apply, _settle_one),
    )
)


# --- A delta plan of values, as the engine makes one of what is kept --------------------------------


class DeltaOfValues:
    """The plan of now from the baselines of before, and the baselines that follow."""

    def __init__(self, state: State, before: Mapping[Scope, Baseline]) -> None:
        self.state = state
        self.desired, self.live, self.recorded = state.desired(), state.live(), state.recorded()
        self.linking = Linking(state.rules, self.recorded.salt)
        self.moved: dict[Scope, MovedScope] = {}
        self.members: dict[Scope, Members] = {}
        for scope in self.desired.scopes:
            everything = self._everything(scope)
            old = before.get(scope, Baseline(scope.kind, scope.workspace))
            moved = find_rest(
                old,
                self.linking,
                declared={one: digest_declared(entity) for one, entity in everything.entities.items()},
                recorded={one: digest_record(known) for one, known in everything.records.items()},
            )
            moved.take_rows({row.remote_id: digest_row(row) for row in everything.rows})
            addresses, ids = set(moved.rest_addresses()), set(moved.rest_ids())
            members = Members(
                {one: entity for one, entity in everything.entities.items() if one not in addresses},
                {one: known for one, known in everything.records.items() if one not in addresses},
                [row for row in everything.rows if row.remote_id not in ids],
                {*self.desired.removed, *(one.above for one in self._nested() if one.above)},
            )
            self.members[scope] = close_over(moved, members, partial(_load, everything))
            self.moved[scope] = moved

    def _nested(self) -> list[Address]:
        return [one for one in (*self.desired.entities, *self.recorded.entities) if one.above]

    def _everything(self, scope: Scope) -> Members:
        return Members(
            {one: entity for one, entity in self.desired.entities.items() if Scope.of(one) == scope},
            {one: known for one, known in self.recorded.entities.items() if Scope.of(one) == scope},
            self.live.entities[scope],
        )

    def plan(self) -> MovedPlan:
        settled = {one for moved in self.moved.values() for one in moved.rest_addresses()}
        rows = {scope: set(moved.rest_ids()) for scope, moved in self.moved.items()}
        entities = {one: entity for one, entity in self.desired.entities.items() if one not in settled}
        records = {one: known for one, known in self.recorded.entities.items() if one not in settled}
        there = {
            scope: tuple(row for row in found if row.remote_id not in rows.get(scope, ()))
            for scope, found in self.live.entities.items()
        }
        return make_plan_of_moved(
            structs.replace(self.desired, entities=entities),
            structs.replace(self.live, entities=there),
            structs.replace(self.recorded, entities=records),
            target=TARGET,
            options=Options(),
            rules=self.state.rules,
            moment=MOMENT,
            rest={scope: moved.counts for scope, moved in self.moved.items()},
            digest=manifest_digest(self.desired, MOMENT.salt),
        )

    def next(self, planned: MovedPlan) -> dict[Scope, Baseline]:
        settled = frozenset(planned.settled)
        return {
            scope: make_baseline(
                scope,
                self.members[scope],
                settled,
                self.linking,
                digests=DigestsOf(),
                before=self.moved[scope],
            )
            for scope in self.desired.scopes
        }


def _load(everything: Members, wanted: Wanted) -> Members:
    ids = frozenset(wanted.remote_ids)
    return Members(
        {one: everything.entities[one] for one in wanted.records},
        {one: everything.records[one] for one in wanted.records},
        [row for row in everything.rows if row.remote_id in ids],
    )


def _or_problems(planning: Callable[[], T]) -> T | str:
    """Return what this returns, or what it says where one live entity is declared twice."""
    try:
        return planning()
    except ManifestError as error:
        return repr(error.problems)


def _whole_plan(of: DeltaOfValues) -> Plan | str:
    inputs, rules = (of.desired, of.live, of.recorded), of.state.rules
    planning = partial(make_plan, *inputs, target=TARGET, options=Options(), rules=rules, moment=MOMENT)
    return _or_problems(planning)


def _units(baselines: Mapping[Scope, Baseline]) -> dict[Scope, tuple[object, ...]]:
    """Return what baselines say, whatever the order of their columns."""
    return {
        scope: (frozenset(one.addresses), frozenset(one.remote_ids), len(one.links), sorted(one.digests))
        for scope, one in baselines.items()
    }


# A row under an id that a settled record had earlier became a stranger in the next baseline.
FOUND = (1358,)


def check_history(seed: int) -> None:
    """Live through one history, and claim at each plan that the delta plan is the plan of everything."""
    chance = Random(seed)
    state = State(chance, chance.choice(ALL_RULES))
    baselines: Mapping[Scope, Baseline] = {}
    for step in range(chance.randrange(3, 7)):
        for _ in range(chance.choice((0, 1, 1, 2, 3)) if step else chance.choice((0, 0, 4))):
            state.change()
        delta = DeltaOfValues(state, baselines)
        whole = _whole_plan(delta)
        made = _or_problems(delta.plan)
        assert (made.plan if isinstance(made, MovedPlan) else made) == whole, (seed, step)
        if not isinstance(made, MovedPlan):
            continue
        rest = sum(one.counts.settled + one.counts.strangers for one in delta.moved.values())
        tally.count("delta plans", "with a rest" if rest else "of everything")
        baselines = delta.next(made)
        afresh = DeltaOfValues(state, {})
        assert _units(baselines) == _units(afresh.next(afresh.plan())), (seed, step)


def test_the_plan_of_what_moved_is_the_plan_of_everything() -> None:
    """Whatever is edited, renamed, lost or copied: the same bytes, and the same next baseline."""
    for seed in (*FOUND, *range(HISTORIES)):
        check_history(seed)


# --- The baseline that an apply keeps, from what it records before its first change ---------------------


class Applied:
    """An apply of everything that a state says: what it records, then some of its changes."""

    def __init__(self, state: State) -> None:
        self.before = DeltaOfValues(state, {})
        self.made = self.before.plan()
        self.baselines = self._record(state)
        known = self.before.recorded.entities.values()
        self.changed = {str(one.address) for one in self.made.plan.changes}
        self.taken = {remote_id for one in known for remote_id in (one.remote_id, *one.earlier)}
        for change in self.made.plan.changes:
            if state.chance.random() < 0.7:
                _carry_out(state, change)

    def _record(self, state: State) -> dict[Scope, Baseline]:
        plan, desired, live, known = (
            self.made.plan,
            self.before.desired,
            self.before.live,
            self.before.recorded,
        )
        scopes = {scope: ScopeDigests(DigestsOf()) for scope in desired.scopes}
        making = BaselinesAfterApply(plan, self.made.settled, known, scopes, self.before.linking)
        for old, new in plan.renames.items():
            state.records[new] = structs.replace(state.records.pop(old), address=new)
        for address in (*plan.gone, *forgotten_at_once(plan)):
            state.records.pop(address, None)
        for one in refresh_records(plan, desired, live, known):
            state.records[one.record.address] = one.record
            making.add(one, digest_record(one.record))
            tally.count("delta histories", "record written by an apply")
        return making.make(desired, live)

    def unchanged(self, baseline: Baseline) -> tuple[dict[str, bytes], dict[str, bytes]]:
        """Return the digests of whoever an apply does not change: settled ones, and strangers.

        Where something is changed, a stranger may meet who is settled only then.
        """
        size, number = 3 * DIGEST_BYTES, len(baseline.addresses)
        settled = {
            address: baseline.digests[at * size : (at + 1) * size]
            for at, address in enumerate(baseline.addresses)
        }
        strangers = {
            remote_id: baseline.digests[size * number + at * DIGEST_BYTES :][:DIGEST_BYTES]
            for at, remote_id in enumerate(baseline.remote_ids[number:])
        }
        return (
            {one: digests for one, digests in settled.items() if one not in self.changed},
            {one: digest for one, digest in strangers.items() if one not in self.taken and not self.changed},
        )


def _carry_out(state: State, change: Change) -> None:
    """Write a change of a contact, and record it as an apply does."""
    address, entity = change.address, state.entities.get(change.address)
    if address.kind != "contact":
        return
    rows = state.rows[Scope.of(address)]
    if isinstance(change, Delete):
        rows.pop(change.remote_id, None)
        state.records.pop(address, None)
    elif entity is not None:
        remote_id = state.number() if isinstance(change, Create) else change.remote_id
        fields = {**(rows[remote_id].fields if remote_id in rows else {}), **entity.fields}
        row = live_row("contact", address.workspace, remote_id, fields)
        state.put_row(row)
        before = state.records.get(address)
        written = make_record(entity, row, salt=STORE_SALT, before=before)
        state.records[address] = trace_origin(written, before)


def check_apply(seed: int) -> None:
    """Apply somewhere in a history, and claim that its baseline is the one of a plan right after it.

    But for what the apply changes: that is planned again, as after any other plan.
    """
    chance = Random(f"apply {seed}")
    state = State(chance, chance.choice(ALL_RULES))
    if chance.random() < 0.5:
        for address in [one for one in state.records if chance.random() < 0.8]:
            del state.records[address]
    for _ in range(chance.choice((0, 1, 3, 6))):
        state.change()
    applied = _or_problems(lambda: Applied(state))
    if not isinstance(applied, Applied):
        return
    afresh = DeltaOfValues(state, {})
    made = _or_problems(afresh.plan)
    if isinstance(made, MovedPlan):
        for scope, expected in afresh.next(made).items():
            kept = applied.baselines.get(scope, Baseline(scope.kind, scope.workspace))
            assert applied.unchanged(kept) == applied.unchanged(expected), seed
            tally.count("delta plans", "settled by an apply", len(kept.addresses))
    for _ in range(chance.choice((0, 0, 1, 2))):
        state.change()
    delta = DeltaOfValues(state, applied.baselines)
    made = _or_problems(delta.plan)
    assert (made.plan if isinstance(made, MovedPlan) else made) == _whole_plan(delta), seed
    rest = sum(one.counts.settled + one.counts.strangers for one in delta.moved.values())
    tally.count("delta plans", "with a rest, after an apply" if rest else "of everything, after an apply")


def test_the_baseline_of_an_apply_is_the_one_of_a_plan_after_it() -> None:
    """Whatever is adopted, renamed, forgotten, created or left alone; and the next plan is of everything."""
    for seed in range(HISTORIES):
        check_apply(seed)


# --- What a baseline takes, by itself ---------------------------------------------------------------


def _kept(state: State) -> MovedScope:
    """Return the rest of the contacts of `ops` after a plan of everything, where nothing has moved."""
    everything = DeltaOfValues(state, {})
    baseline = everything.next(everything.plan())[OPS]
    return MovedScope(baseline, bytearray(b"\1") * len(baseline.remote_ids), everything.linking)


def _state() -> State:
    state = State(Random(1), RULES)
    state.entities.clear()
    state.records.clear()
    for rows in state.rows.values():
        rows.clear()
    state.settle(at("contact/ops/a"))
    state.put_row(live_row("contact", "ops", "00AA", workEmailAddress1="stranger@example.net"))
    return state


def test_a_record_that_says_something_else_is_refreshed_by_the_next_apply() -> None:
    """The plan has nothing to say of it, and an apply writes down what the service shows now."""
    state = _state()
    address = at("contact/ops/a")
    known = state.records[address]
    shown = {**known.shown, "jobTitle": "nurse"}

    assert _kept(state).counts.settled == 1
    state.records[address] = structs.replace(known, shown=shown)

    assert _kept(state).counts.settled == 0


def test_whoever_is_left_out_keeps_identity_and_id() -> None:
    """A create whose answer shows them is another's, as after a plan of everything."""
    rest = _kept(_state())
    (own,) = rest.baseline.remote_ids[:1]
    plan = make_plan(
        Desired({}, frozenset()),
        Live({}),
        recorded(),
        target=TARGET,
        options=Options(),
        rules=RULES,
        moment=MOMENT,
    )

    assert (rest.counts.settled, rest.counts.strangers) == (1, 1)
    assert rest.is_settled("contact", _state().entities[at("contact/ops/a")].fields)
    assert not rest.is_settled("contact", {"workEmailAddress1": "stranger@example.net"})
    assert set(collect_known_ids(plan, {}, (), {OPS: rest})) == {
        ("contact", "ops", own),
        ("contact", "ops", "00AA"),
    }
