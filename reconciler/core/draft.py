"""A plan in the making: what it is made from, in the groups in which it is looked at, and what was found.

State and small questions only; which changes are made is decided in `plan.py` (what is declared) and
`orphans.py` (what is not any more).
"""

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct, structs

from reconciler.core.diff import Salts
from reconciler.core.fingerprint import fingerprint, manifest_digest
from reconciler.core.match import Key
from reconciler.core.order import ordered
from reconciler.core.records import to_keep
from reconciler.core.select import Selection
from reconciler.errors import ManifestError, Problem
from reconciler.model.address import Address, parse
from reconciler.model.changes import Change, Delete
from reconciler.model.entities import Entity
from reconciler.model.notices import Notice
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


class Draft:
    """The inputs of one plan, and what was found so far."""

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
        self.notices: list[Notice] = list(desired.notices)
        self.gone: list[Address] = []
        self.renames: dict[Address, Address] = {}
        self.contested: list[tuple[Address, ...]] = []
        self.unchanged: Counter[str] = Counter()
        self.unmanaged: Counter[str] = Counter()
        self.owned: Counter[str] = Counter()
        self.held = Counter(str(Scope.of(address)) for address in recorded.entities)

    def takes(self, entity: Entity) -> bool:
        """Whether the run is about this entity."""
        return self.selection.takes(entity.address, entity.controls.tags)

    def skip(self, entity: Entity, skip: Skip) -> None:
        """Leave a declared entity alone, and say why."""
        if self.takes(entity):
            self.skips.append(skip)

    def foreign(self, row: LiveEntity) -> str:
        """Return the mark of somebody else, or "" (rule X5)."""
        mark = str(row.fields.get(self.rules.mark_path, ""))
        return "" if mark.startswith(f"{self.rules.stack}/") else mark

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

    def _concerns(self, notice: Notice) -> bool:
        """Whether the notice is about something that the run is about."""
        address = parse(notice.subject)
        entity = self.desired.entities.get(address) if address else None
        if entity is not None:
            return self.takes(entity)
        return address is None or self.selection.takes(address, {})

    def _contents(self) -> dict[Address, str]:
        """Return the file of each content that is sent, so that a reviewer sees what becomes public."""
        sent = (change.address for change in ordered(self.changes) if not isinstance(change, Delete))
        entities = ((address, self.desired.entities[address]) for address in sent)
        return {
            address: entity.content.path
            for address, entity in entities
            if entity.content and entity.content.path
        }

    def finish(self, target: Target, outside: Mapping[str, int]) -> Plan:
        """Return the plan with everything in its order, and its fingerprint. `outside` is as in Plan."""
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
            outside=outside,
            unmanaged=dict(sorted(self.unmanaged.items())),
            owned=dict(sorted(self.owned.items())),
            contents=self._contents(),
            notices=tuple(sorted(filter(self._concerns, self.notices), key=structs.astuple)),
            reads=tuple(sorted(self.live.reads, key=structs.astuple)),
            created_at=self.moment.now,
            expires_at=self.moment.expires,
        )
        plan = structs.replace(plan, records=to_keep(plan, self.desired, self.live, self.recorded))
        return structs.replace(plan, fingerprint=fingerprint(plan))


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
