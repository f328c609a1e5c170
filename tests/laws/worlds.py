"""Worlds for the laws of planning: what is declared, what the service holds, what is recorded.

Few names, addresses and values, so that they meet often. The service is a table of bodies that answers
as the real one does where it matters: it rewrites time zones, keeps what a PUT may not remove, and adds
fields that nobody asked for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from core.build import MARK, MARKED, MOMENT, RULES, STACK, STORE_SALT, TARGET, at, content_of
from hypothesis import strategies as st
from msgspec import structs

from reconciler.core.compare.bodies import make_create_body, make_update_body
from reconciler.core.compare.normalize import observe_entity
from reconciler.core.desired.crosscheck import (
    Declared,
    DeclaredEntities,
    check_renames,
    check_unique,
    digest_claims,
    find_alike,
    unique_keys,
)
from reconciler.core.planning.deletes import forgotten_at_once
from reconciler.core.planning.plan import make_plan
from reconciler.core.planning.records import make_record, refresh_records
from reconciler.core.rules import Rules
from reconciler.core.text import trim_edges
from reconciler.model.address import Address
from reconciler.model.documents import Controls, Document, Place, Scalar
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Change, Create, Delete, Options, Plan, Update
from reconciler.model.settings import Identity
from reconciler.model.snapshots import Desired, Entity, Live, LiveEntity, Recorded, RecordedEntity, Scope

CANARY = "canary-"  # every secret of these worlds begins with it
# A name is shown as its offset; an offset is taken for nonsense, and shown as 0.
OFFSETS = {
    "Australia/Melbourne": "+10",
    "Australia/Brisbane": "+10",
    "Australia/Perth": "+8",
    "Asia/Singapore": "+8",
    "Etc/UTC": "0",
    "+10": "0",
}
NAMES = ("ann", "ben", "cas", "dot")
DEVICES = ("phone", "tab")
WORKSPACES = ("lab", "ops")


def as_resolved(fields: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return declared values as the resolver leaves them: without blanks at their edges."""
    return {path: trim_edges(one) if isinstance(one, str) else one for path, one in fields.items()}


values = st.sampled_from(["a", "b", "c", "é", "e\u0301", " a ", ""])
mails = st.sampled_from(["a@example.com", "b@example.com", "C@example.com", "c@example.com"])
staff = st.sampled_from(["1", "2", "3"])
flags: st.SearchStrategy[Scalar] = st.sampled_from(["true", "false", True, False])
spellings = st.sampled_from(["Active", "ACTIVE", "active", "A", "Disabled", "D"])
secrets = st.sampled_from([f"{CANARY}{n}" for n in range(3)])

CONTACT_FIELDS: Mapping[str, st.SearchStrategy[Any]] = {
    "firstName": values,
    "jobTitle": values,
    "timezone": st.sampled_from(["Australia/Melbourne", "Australia/Perth", "+10", ""]),
    "custom.shoeSize": values,
    "messagingOptions.sms.primary": values,
    "messagingOptions.sms.enabled": flags,
    "messagingOptions.email.primary": values,
    "status": spellings,
    "password": secrets,
}
controls = st.builds(
    Controls,
    protect=st.booleans(),
    ignore=st.sets(st.sampled_from(["jobTitle", "custom", "messagingOptions.sms"]), max_size=1).map(
        frozenset
    ),
    renamed_from=st.sampled_from(["", "", "", *NAMES, *DEVICES]),
    tags=st.sampled_from([{}, {"team": "sre"}]),
    reactivate=st.booleans(),
)


@dataclass
class Row:
    """One entity as the service holds it."""

    kind: str
    workspace: str
    parent: str
    body: dict[str, Any]


@dataclass
class World:
    """The three inputs of a plan, and the service that can be written to."""

    desired: Desired
    rows: dict[str, Row]
    records: dict[Address, RecordedEntity]
    rules: Rules
    made: int = field(default=0)

    @property
    def live(self) -> Live:
        scopes: dict[Scope, list[LiveEntity]] = {}
        for remote_id, row in self.rows.items():
            seen = observe_entity(row.kind, row.workspace, remote_id, row.body, parent_id=row.parent)
            scopes.setdefault(Scope(row.kind, row.workspace), []).append(seen)
        return Live({scope: tuple(rows) for scope, rows in scopes.items()})

    @property
    def recorded(self) -> Recorded:
        return Recorded(dict(self.records), STORE_SALT)

    def plan(self, options: Options = Options()) -> Plan:  # noqa: B008 - a frozen value
        return make_plan(
            self.desired,
            self.live,
            self.recorded,
            target=TARGET,
            options=options,
            rules=self.rules,
            moment=MOMENT,
        )

    def apply(self, plan: Plan) -> None:
        """Carry the plan out as apply does, with nothing going wrong."""
        self.keep(plan)
        self.carry_out(plan.changes)

    def keep(self, plan: Plan) -> None:
        """Record what the plan found, as apply does before its first write."""
        for old, new in plan.renames.items():
            self.records[new] = structs.replace(self.records.pop(old), address=new)
        for address in (*plan.gone, *forgotten_at_once(plan)):
            self.records.pop(address, None)
        renamed = self.recorded
        for kept in [*refresh_records(plan, self.desired, self.live, renamed)]:
            self.records[kept.record.address] = kept.record

    def carry_out(self, changes: Iterable[Change]) -> None:
        """Write, and record, these changes."""
        for change in changes:
            if isinstance(change, Delete):
                self._delete(change)
                continue
            if isinstance(change, Update) and any(field.cause == "forgotten" for field in change.fields):
                self._unmark(change)
                continue
            entity = self.desired.entities[change.address]
            created = isinstance(change, Create)
            if isinstance(change, Create):
                remote_id = self._create(entity)
            else:
                remote_id = change.remote_id
                there = self.rows[remote_id]
                body = make_update_body(there.body, entity, change, self.records.get(change.address))
                there.body = answered(there.kind, body, there.body)
            row = self.rows[remote_id]
            seen = observe_entity(row.kind, row.workspace, remote_id, row.body, parent_id=row.parent)
            before = self.records.get(change.address)
            self.records[change.address] = make_record(
                entity, seen, salt=STORE_SALT, before=before, created=created
            )

    def _create(self, entity: Entity) -> str:
        self.made += 1
        address, remote_id = entity.address, f"N{self.made}"
        parent = self.records[address.above].remote_id if address.above else ""
        body = answered(address.kind, make_create_body(entity), {})
        self.rows[remote_id] = Row(address.kind, address.workspace, parent, body)
        return remote_id

    def _unmark(self, change: Update) -> None:
        entity = Entity(change.address, {field.path: "" for field in change.fields}, Place(""))
        there = self.rows[change.remote_id]
        there.body = answered(there.kind, make_update_body(there.body, entity, change), there.body)
        for address in [one for one in self.records if change.address in (one, one.above)]:
            del self.records[address]

    def _delete(self, change: Delete) -> None:
        del self.rows[change.remote_id]
        for device in [one for one, row in self.rows.items() if row.parent == change.remote_id]:
            del self.rows[device]
        for address in [one for one in self.records if change.address in (one, one.above)]:
            del self.records[address]


def answered(kind: str, sent: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """What the service holds after it was sent `sent`: full replace, with its recorded exceptions."""
    body = {key: value for key, value in sent.items() if key not in ("password", "derefUri")}
    if kind == "contact":
        body = {"unknown": {"nested": [1, None]}, "devices": [], **body}
    if kind == "device":
        body.setdefault("status", "ACTIVE")
    for key in KINDS[kind].sticky & old.keys():
        body.setdefault(key, old[key])
    if "timezone" in body:
        body["timezone"] = OFFSETS.get(body["timezone"], body["timezone"])
    return body


@st.composite
def contact_fields(draw: st.DrawFn, name: str, *, marked: bool) -> dict[str, Scalar]:
    wanted = draw(st.sets(st.sampled_from(sorted(CONTACT_FIELDS)), max_size=4))
    fields: dict[str, Scalar] = {path: draw(CONTACT_FIELDS[path]) for path in sorted(wanted)}
    fields["workEmailAddress1"] = draw(mails)
    if draw(st.booleans()):
        fields["custom.employeeId"] = draw(staff)
    return {**fields, f"custom.{MARK}": f"{STACK}/{name}"} if marked else fields


@st.composite
def device_fields(draw: st.DrawFn) -> dict[str, Scalar]:
    fields: dict[str, Scalar] = {
        "deviceName": draw(st.sampled_from(["Phone", "Tablet"])),
        "appId": "com.example.oncall",
        "platform": "GCM",
        "deviceOS": draw(st.sampled_from(["14", "15"])),
        "deviceModel": "Pixel 9",
        "pushToken": draw(secrets),
    }
    return fields | ({"status": draw(spellings)} if draw(st.booleans()) else {})


@st.composite
def entities(draw: st.DrawFn, *, marked: bool) -> dict[Address, Entity]:
    """Declared entities; two of them may have one identity, which is for the plan to refuse."""
    found: list[Entity] = []
    for workspace in WORKSPACES:
        for name in draw(st.sets(st.sampled_from(NAMES), max_size=3)):
            scoped = draw(st.booleans())
            fields = draw(contact_fields(name, marked=marked))
            where, place = at(f"contact/{workspace}/{name}"), Place("ops.yaml", len(found) + 1, 3)
            found.append(Entity(where, as_resolved(fields), place, draw(controls), None, scoped))
            for device in draw(st.sets(st.sampled_from(DEVICES), max_size=2)) if scoped else ():
                where = at(f"device/{workspace}/{name}/{device}")
                found.append(Entity(where, as_resolved(draw(device_fields())), place, draw(controls)))
    if draw(st.booleans()):
        content = content_of(draw(st.sampled_from([b"1", b"2"])))
        fields = {"name": "staff.csv", "scope": "private", "mimeType": "text/csv", "content": content.digest}
        found.append(Entity(at("resource/ops/staff"), fields, Place("ops.yaml"), draw(controls), content))
    return {entity.address: entity for entity in found}


@st.composite
def service(draw: st.DrawFn) -> dict[str, Row]:
    """What the service holds, ours or not."""
    rows: dict[str, Row] = {}
    for number in range(draw(st.integers(0, 5))):
        workspace = draw(st.sampled_from(WORKSPACES))
        fields = draw(contact_fields(draw(st.sampled_from(NAMES)), marked=draw(st.booleans())))
        if draw(st.booleans()):
            fields[f"custom.{MARK}"] = draw(st.sampled_from([f"others/{NAMES[0]}", f"{STACK}/eve", ""]))
        stand_in = Entity(at("contact/ops/x"), fields, Place(""))
        body = answered("contact", make_create_body(stand_in), {})
        rows[f"C{number}"] = Row("contact", workspace, "", {**body, "department": "Night"})
        for device in range(draw(st.integers(0, 2))):
            stand_in = Entity(at("device/ops/x/y"), draw(device_fields()), Place(""))
            body = answered("device", make_create_body(stand_in), {})
            rows[f"C{number}D{device}"] = Row("device", workspace, f"C{number}", {**body, "badge": 3})
    if draw(st.booleans()):
        body = {
            "name": "staff.csv",
            "scope": "private",
            "mimeType": draw(st.sampled_from(["text/csv", "text/xml"])),
        }
        rows["R1"] = Row("resource", "ops", "", body)
    return rows


@st.composite
def history(draw: st.DrawFn, rows: dict[str, Row]) -> dict[Address, RecordedEntity]:
    """Records of some of it, each of its own remote id, and of some that is there no longer."""
    records: dict[Address, RecordedEntity] = {}
    names: dict[str, str] = {}
    for remote_id, row in rows.items():
        if not draw(st.booleans()):
            continue
        name = draw(st.sampled_from(NAMES))
        if row.kind == "contact":
            text = f"contact/{row.workspace}/{name}"
            names[remote_id] = name
        elif row.kind == "device":
            text = f"device/{row.workspace}/{names.get(row.parent, name)}/{draw(st.sampled_from(DEVICES))}"
        else:
            text = f"resource/{row.workspace}/staff"
        fields = draw(device_fields() if row.kind == "device" else contact_fields(name, marked=False))
        entity = Entity(at(text), {} if row.kind == "resource" else fields, Place(""))
        seen = observe_entity(row.kind, row.workspace, remote_id, row.body, parent_id=row.parent)
        kept = make_record(entity, seen, salt=STORE_SALT, created=True)
        records.setdefault(entity.address, structs.replace(kept, protected=draw(st.booleans())))
    for name in draw(st.sets(st.sampled_from(NAMES), max_size=2)):
        address = at(f"contact/ops/{name}")
        records.setdefault(address, RecordedEntity(address, f"gone-{name}"))
    return records


def accepted(world: World) -> World:
    """Return the world without what no manifest can say beside the entries before it.

    Two of one identity, and a former name that is in use, claimed twice, or the entry's own.
    """
    rules, kept = (
        Rules(workspaces=frozenset(WORKSPACES), identity=world.rules.identity),
        dict[Address, Entity](),
    )
    for address, entity in world.desired.entities.items():
        together = {**kept, address: entity}
        if (address.above is None or address.above in kept) and not _refused(together, rules):
            kept = together
    return replace(world, desired=structs.replace(world.desired, entities=kept))


def _refused(declared: Mapping[Address, Entity], rules: Rules) -> bool:
    keys = unique_keys(rules)
    first = {
        address: Declared(entity, _document(entity), claims=digest_claims(entity, keys))
        for address, entity in declared.items()
    }
    every = tuple(first.values())
    group = DeclaredEntities(every, first, find_alike(every))
    return any(True for check in (check_unique, check_renames) for _ in check(group, rules))


def _document(entity: Entity) -> Document:
    address = entity.address
    return Document(
        address.kind,
        address.name,
        entity.place,
        entity.fields,
        {},
        parent=address.parent,
        controls=entity.controls,
    )


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Any mixture of the three."""
    rules = draw(st.sampled_from([RULES, MARKED, structs.replace(RULES, adopt=False), STAFF]))
    declared = draw(entities(marked=bool(rules.mark)))
    kinds = [Scope(kind, workspace) for kind in ("contact", "resource") for workspace in WORKSPACES]
    scopes = {Scope(one.kind, one.workspace) for one in declared if one.kind != "device"}
    scopes |= draw(st.sets(st.sampled_from(kinds)))
    rows = draw(service())
    records = draw(history(rows))
    leaving = draw(st.sets(st.sampled_from(sorted(records)), max_size=2)) if records else set()
    removed = {one: Place("ops.yaml", 9, 3) for one in sorted(leaving - declared.keys())}
    return World(Desired(declared, frozenset(scopes), removed=removed), rows, records, rules)


STAFF = structs.replace(RULES, identity=Identity({"contacts": ("custom.employeeId", "workEmailAddress1")}))
