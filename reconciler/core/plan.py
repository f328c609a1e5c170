"""Desired x Live x Recorded -> Plan: everything that must change, and nothing else.

In three steps for each scope: match declared with live (`core/match.py`), compare what matched
(`core/diff.py`), and look at what is ours and no longer declared. Contacts come before their
devices, because a device is looked for only within its contact.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from reconciler.core.diff import Salts, diff
from reconciler.core.fingerprint import fingerprint, manifest_digest
from reconciler.core.match import Found, Key, Matches, former_names, match
from reconciler.core.normalize import declared, instant, masked
from reconciler.core.order import ordered
from reconciler.core.select import Selection
from reconciler.errors import Malformed, ManifestError, Problem
from reconciler.model.address import NAME, Address, contact, device
from reconciler.model.changes import Change, Create, Delete, Update
from reconciler.model.entities import Entity
from reconciler.model.plans import Adoption, Options, Plan, Skip, Target
from reconciler.model.settings import Identity
from reconciler.model.snapshots import Desired, Live, LiveEntity, Recorded, RecordedEntity, Scope


class Rules(Struct, frozen=True):
    """What the settings say about planning. `mark` is a custom field's name, or empty."""

    stack: str
    identity: Identity = Identity()
    mark: str = ""
    adopt: bool = True

    @property
    def mark_path(self) -> str:
        """The path of the ownership mark, or ""."""
        return f"custom.{self.mark}" if self.mark else ""

    def keys(self, kind: str) -> tuple[Key, ...]:
        """The identities to try, in order: our mark, then the fields of the settings."""
        own = ((self.mark_path,),) if self.mark and kind == "contact" else ()
        return own + self.identity.of(kind)


class Moment(Struct, frozen=True):
    """What a plan gets from outside: a salt for its masks, and its time and end (ISO 8601, UTC)."""

    salt: str
    now: str
    expires: str = ""


def make_plan(
    desired: Desired,
    live: Live,
    recorded: Recorded,
    *,
    target: Target,
    options: Options,
    rules: Rules,
    moment: Moment,
) -> Plan:
    """Return everything that must change so that live equals desired, and nothing else.

    Shapes: `desired` and `recorded` keyed by address, `live` by scope. `live` may hold entities nobody
    declared; only what is recorded, or carries our mark, is ours to delete.
    Order: changes by wave, then by address. Same inputs, same bytes, whatever order the maps were built in.
    Errors: ManifestError where two declared entities are one live entity (M4).
    Source: docs/planning.md, S, M, D and X.
    """
    draft = _Draft(desired, live, recorded, options=options, rules=rules, moment=moment)
    for scope in sorted(desired.scopes):
        draft.plan_scope(scope)
    for entity in sorted(desired.entities.values(), key=lambda entity: entity.address):
        if entity.devices_in_scope:
            draft.plan_devices(entity)
    draft.refuse_contested()
    return draft.finish(target)


class _Draft:
    """A plan in the making: its inputs, and what was found so far."""

    def __init__(
        self,
        desired: Desired,
        live: Live,
        recorded: Recorded,
        *,
        options: Options,
        rules: Rules,
        moment: Moment,
    ) -> None:
        self.desired = desired
        self.live = live
        self.recorded = recorded
        self.options = options
        self.rules = rules
        self.moment = moment
        self.salts = Salts(store=recorded.salt, plan=moment.salt)
        self.selection = Selection(options.only, options.excluded)
        self.groups = _groups(desired)
        self.records = _records(recorded)
        self.device_rows = _by_parent(live)
        self.contacts: dict[Address, LiveEntity] = {}  # declared contacts that are live, for their devices
        self.new: set[Address] = set()  # declared contacts that are not, and will be made
        self.moved: dict[Address, Address] = {}  # devices of renamed contacts -> where they are recorded
        self.changes: list[Change] = []
        self.adoptions: list[Adoption] = []
        self.skips: list[Skip] = []
        self.gone: list[Address] = []
        self.renames: dict[Address, Address] = {}
        self.contested: list[tuple[Address, ...]] = []
        self.unchanged: Counter[str] = Counter()
        self.unmanaged: Counter[str] = Counter()
        self.owned: Counter[str] = Counter()
        self.held = Counter(str(_scope(address)) for address in recorded.entities)

    def plan_scope(self, scope: Scope) -> None:
        """Plan the contacts, or the resources, of one workspace."""
        rows = self.live.entities.get(scope, ())
        records = self.records.get((scope.kind, scope.workspace), {})
        entities = self.groups.get((scope.kind, scope.workspace), [])
        former = former_names(entities)
        total = max([read.total for read in self.live.reads if read.scope == scope], default=-1)
        self._plan(scope, entities, rows, records, former=former, total=max(total, len(rows)))

    def plan_devices(self, entity: Entity) -> None:
        """Plan the devices of one contact whose entry has a `devices:` key."""
        address = entity.address
        devices = self.groups.get((address,), [])
        records = self.records.get((address,), {})
        if not (any(map(self._takes, devices)) or any(self.selection.takes(one, {}) for one in records)):
            return
        row = self.contacts.get(address)
        if row is None and address not in self.new:
            for device_entity in devices:
                what = f"belongs to {address}, which is not acted on."
                step = "settle its contact first, or select it as well"
                self._skip(device_entity, Skip(device_entity.address, "ambiguous", what, step))
            return
        former = former_names(devices)
        rows = self.device_rows.get((address.workspace, row.remote_id), []) if row else []
        if row and not row.devices_known:
            raise Malformed(
                f"{address}: the service does not show the devices of this contact.",
                next="leave `devices:` out of its entry, so that they are not in scope",
            )
        self._plan(Scope("device", address.workspace), devices, rows, records, former=former, total=len(rows))

    def _plan(
        self,
        scope: Scope,
        entities: Sequence[Entity],
        rows: Sequence[LiveEntity],
        records: Mapping[Address, RecordedEntity],
        *,
        former: Mapping[Address, Address],
        total: int,
    ) -> None:
        """Match, compare, and look for orphans: one scope, or the devices of one contact."""
        matches = match(entities, rows, records, keys=self.rules.keys(scope.kind), former=former)
        self.contested += matches.contested
        for entity in entities:
            self._entity(entity, matches, records, former)
        taken = {hit.live.remote_id for hit in matches.found.values()}
        marked = self._orphans(scope, rows, records, matches)
        by_mark = sum(
            1 for hit in matches.found.values() if hit.record is None and hit.by == self.rules.mark_path
        )
        ours = taken.union(record.remote_id for record in records.values())
        name = str(scope)
        self.owned[name] = max(self.owned[name], self.held[name]) + marked + by_mark
        if self.options.only or self.options.excluded:
            return  # only what was selected was read: who the others are is not known
        self.unmanaged[name] += max(0, total - sum(1 for row in rows if row.remote_id in ours) - marked)

    def _entity(
        self,
        entity: Entity,
        matches: Matches,
        records: Mapping[Address, RecordedEntity],
        former: Mapping[Address, Address],
    ) -> None:
        address = entity.address
        if ids := matches.ambiguous.get(address):
            what = f"matches {len(ids)} live {address.kind}s: {', '.join(ids)}."
            step = "change or remove the others at the service, so that one is left; then plan again"
            self._skip(entity, Skip(address, "ambiguous", what, step))
        elif holder := matches.claimed.get(address):
            what = f"looks like the live {address.kind} that is {holder}."
            self._skip(entity, Skip(address, "ambiguous", what, "apply what is planned, then plan again"))
        elif found := matches.found.get(address):
            self._found(entity, found, records)
        else:
            recorded = address in records or former.get(address) in records
            self._absent(entity, recorded=recorded)

    def _found(self, entity: Entity, found: Found, records: Mapping[Address, RecordedEntity]) -> None:
        address, row = entity.address, found.live
        record = records.get(found.record) if found.record else None
        if mark := self._foreign(row):
            what = f"carries the mark of another owner ({mark}); never written."
            self._skip(entity, Skip(address, "foreign mark", what, "remove it here, or its mark there"))
            return
        if record is None and not self.rules.adopt:
            what = f"exists already (id {row.remote_id}) and the settings say `adopt: never`."
            self._skip(entity, Skip(address, "not adopted", what, "allow adoption, or remove one of the two"))
            return
        if address.kind == "contact":
            self.contacts[address] = row
        if found.record and self.moved.get(found.record, found.record) != address:
            self._renamed(found.record, address, selected=self._takes(entity))
        if not self._takes(entity):
            return
        result = diff(
            entity, row, record, salts=self.salts, reactivate=str(address) in self.options.reactivate
        )
        self.skips += result.skips
        adopts = "" if record else found.by
        if result.fields:
            update = Update(address, str(entity.place), row.remote_id, result.fields, row.parent_id, adopts)
            self.changes.append(update)
            return
        if adopts:
            self.adoptions.append(Adoption(address, row.remote_id, adopts, row.parent_id))
        else:
            self.unchanged[str(_scope(address))] += 1

    def _absent(self, entity: Entity, *, recorded: bool) -> None:
        address = entity.address
        until = self.recorded.doubts.get(address, "")
        if until and _later(until, self.moment.now):
            what = "was sent by an earlier run and its answer was lost; it may still appear."
            self._skip(entity, Skip(address, "in doubt", what, f"plan again after {until}"))
            return
        if self._takes(entity):
            self.new.add(address)
            wanted = {path: v for path, v in declared(address.kind, entity.fields).items() if v != ""}
            fields = masked(address.kind, wanted, self.moment.salt)
            self.changes.append(
                Create(address, str(entity.place), fields, "gone" if recorded else "declared")
            )

    def _renamed(self, old: Address, new: Address, *, selected: bool) -> None:
        """Carry a record, and those of a contact's devices, to the new address (rule M6)."""
        if selected:
            self.renames[self.moved.get(old, old)] = new
        if new.kind != "contact":
            return
        own = self.records.setdefault((new,), {})
        for one, record in self.records.get((old,), {}).items():
            address = device(new.workspace, new.name, one.name)
            if address not in own:
                own[address] = structs.replace(record, address=address)
                self.moved[address] = one
                if selected:
                    self.renames[one] = address

    def _orphans(
        self,
        scope: Scope,
        rows: Sequence[LiveEntity],
        records: Mapping[Address, RecordedEntity],
        matches: Matches,
    ) -> int:
        """Plan what is ours and no longer declared; return how many of those only our mark tells."""
        taken = {hit.live.remote_id for hit in matches.found.values()}
        renamed = {hit.record for hit in matches.found.values()}
        in_question = {one for ids in matches.ambiguous.values() for one in ids}
        by_id = {row.remote_id: row for row in rows}
        holders = Counter(record.remote_id for record in records.values())
        doubled = {one for one, count in holders.items() if count > 1}
        marked = self._marks(by_id, taken | holders.keys())
        for address in sorted(records.keys() | marked.keys()):
            if address in self.desired.entities or not self.selection.takes(address, {}):
                continue
            if address in renamed and address not in marked:
                continue
            # After a rename only our mark can still speak of somebody under the old name.
            record = None if address in renamed else records.get(address)
            row = by_id.get(record.remote_id) if record else None
            candidates = [*([row] if row else []), *marked.get(address, [])]
            if not candidates or candidates[0].remote_id in taken:
                self._gone(scope, address)
            elif len(candidates) > 1 or candidates[0].remote_id in in_question | doubled:
                ids = ", ".join(sorted(one.remote_id for one in candidates))
                what = f"is no longer declared, and it is not certain which one it is ({ids}); left alone."
                self.skips.append(Skip(address, "ambiguous", what, "remove at the service what is too many"))
            else:
                self._orphan(address, candidates[0], protected=record is not None and record.protected)
        return sum(map(len, marked.values()))

    def _marks(self, rows: Mapping[str, LiveEntity], known: set[str]) -> dict[Address, list[LiveEntity]]:
        """Return what only our mark tells to be ours, by the address in the mark."""
        marked: dict[Address, list[LiveEntity]] = {}
        for remote_id in sorted(rows.keys() - known):
            if name := self._marked(rows[remote_id]):
                marked.setdefault(contact(rows[remote_id].workspace, name), []).append(rows[remote_id])
        return marked

    def _gone(self, scope: Scope, address: Address) -> None:
        """Forget what is not there, or only another name of something declared; its devices with it."""
        unread = {read.scope for read in self.live.reads if not read.complete}
        if not unread & {scope, Scope("contact", scope.workspace)}:
            self.gone += [address, *self.records.get((address,), {})]

    def _orphan(self, address: Address, row: LiveEntity, *, protected: bool) -> None:
        if mark := self._foreign(row):
            what = f"is no longer declared, and carries the mark of another owner ({mark}); left alone."
            self.skips.append(
                Skip(address, "foreign mark", what, "leave it to its owner, or remove it by hand")
            )
            return
        devices = self.records.get((address,), {})
        guarded = sorted(str(one) for one, record in devices.items() if record.protected)
        if protected or guarded:
            holds = f" (its device {guarded[0]} is protected)" if guarded and not protected else ""
            what = f"is no longer declared, and protected{holds}; left alone."
            step = "declare it again, or declare it once without `protect` and apply, then remove it"
            self.skips.append(Skip(address, "protected", what, step))
            return
        assert row.known is None, f"{address}: to be deleted and not read whole"  # noqa: S101 - our own mistake
        known = {record.remote_id: str(one) for one, record in devices.items()}
        live_devices = self.device_rows.get((address.workspace, row.remote_id), [])
        takes = sorted(
            known.get(one.remote_id, str(one.fields.get("deviceName", one.remote_id))) for one in live_devices
        )
        before = masked(address.kind, row.fields, self.moment.salt)
        self.changes.append(Delete(address, row.remote_id, before, row.parent_id, tuple(takes)))

    def _foreign(self, row: LiveEntity) -> str:
        """Return the mark of somebody else, or "" (rule X5)."""
        mark = str(row.fields.get(self.rules.mark_path, ""))
        return "" if mark.startswith(f"{self.rules.stack}/") else mark

    def _marked(self, row: LiveEntity) -> str:
        """Return the name in our mark, when no declared contact has that name; else ""."""
        owner, _, name = str(row.fields.get(self.rules.mark_path, "")).partition("/")
        ours = owner == self.rules.stack and row.kind == "contact" and NAME.fullmatch(name)
        return name if ours and contact(row.workspace, name) not in self.desired.entities else ""

    def _takes(self, entity: Entity) -> bool:
        return self.selection.takes(entity.address, entity.controls.tags)

    def _skip(self, entity: Entity, skip: Skip) -> None:
        if self._takes(entity):
            self.skips.append(skip)

    def refuse_contested(self) -> None:
        """Raise ManifestError where several declared entities are one live entity (rule M4)."""
        problems = []
        for group in self.contested:
            places = [self.desired.entities[address].place for address in group]
            what = f"{group[0]} and {group[1]} ({places[1]}) are the same live {group[0].kind}."
            step = "declare it once, or give each what only it has"
            problems.append(Problem(places[0].file, places[0].line, places[0].column, what, step))
        if problems:
            raise ManifestError("The manifests declare one live entity twice.", problems=tuple(problems))

    def _outside(self) -> dict[str, int]:
        """Count what is recorded where no manifest speaks of its kind any more: left as it is (rule S1)."""
        scopes = [_scope(address) for address in self.recorded.entities if address.kind != "device"]
        return dict(
            sorted(Counter(str(scope) for scope in scopes if scope not in self.desired.scopes).items())
        )

    def finish(self, target: Target) -> Plan:
        """Return the plan with everything in its order, and its fingerprint."""
        plan = Plan(
            target=target,
            options=self.options,
            manifest_digest=manifest_digest(self.desired, self.moment.salt),
            salt=self.moment.salt,
            changes=ordered(self.changes),
            adoptions=tuple(sorted(self.adoptions, key=lambda one: one.address)),
            skips=tuple(sorted(self.skips, key=lambda one: (one.address, one.what))),
            gone=tuple(sorted(self.gone)),
            renames=dict(sorted(self.renames.items())),
            unchanged=dict(sorted(self.unchanged.items())),
            outside=self._outside(),
            unmanaged=dict(sorted(self.unmanaged.items())),
            owned=dict(sorted(self.owned.items())),
            reads=tuple(sorted(self.live.reads, key=structs.astuple)),
            created_at=self.moment.now,
            expires_at=self.moment.expires,
        )
        return structs.replace(plan, fingerprint=fingerprint(plan))


def _scope(address: Address) -> Scope:
    return Scope(address.kind, address.workspace)


def _later(one: str, other: str) -> bool:
    first, second = instant(one), instant(other)
    return first is not None and second is not None and first > second


# Contacts and resources are grouped by (kind, workspace), devices by (address of their contact,).
_Group = tuple[str, str] | tuple[Address | None]


def _group(address: Address) -> _Group:
    return (address.above,) if address.kind == "device" else (address.kind, address.workspace)


def _groups(desired: Desired) -> dict[_Group, list[Entity]]:
    groups: dict[_Group, list[Entity]] = {}
    for address in sorted(desired.entities):
        groups.setdefault(_group(address), []).append(desired.entities[address])
    return groups


def _records(recorded: Recorded) -> dict[_Group, dict[Address, RecordedEntity]]:
    groups: dict[_Group, dict[Address, RecordedEntity]] = {}
    for address in sorted(recorded.entities):
        groups.setdefault(_group(address), {})[address] = recorded.entities[address]
    return groups


def _by_parent(live: Live) -> dict[tuple[str, str], list[LiveEntity]]:
    rows: dict[tuple[str, str], list[LiveEntity]] = {}
    for scope, entities in live.entities.items():
        for row in entities if scope.kind == "device" else ():
            rows.setdefault((scope.workspace, row.parent_id), []).append(row)
    return rows
