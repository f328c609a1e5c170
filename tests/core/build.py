"""Small builders for the tests of the planning core: entities, live rows, records, and a plan of them.

Every person is invented. Fields come as a mapping (`{"custom.employeeId": "1042"}`), as keywords, or both.
"""

from collections.abc import Iterable, Mapping

from reconciler.core.compare.diff import Salts
from reconciler.core.compare.normalize import digest_for_store, normalize_fields
from reconciler.core.planning.plan import make_plan
from reconciler.core.rules import Rules
from reconciler.model.address import Address, parse_address
from reconciler.model.documents import Content, Controls, Fields, Place, Scalar
from reconciler.model.plans import Options, Plan, PlanMoment, Target, Workspace
from reconciler.model.snapshots import (
    Desired,
    Entity,
    Live,
    LiveEntity,
    Read,
    Recorded,
    RecordedEntity,
    Scope,
)

STORE_SALT = "salt of the store"
PLAN_SALT = "salt of the plan"
SALTS = Salts(store=STORE_SALT, plan=PLAN_SALT)
STACK = "ops-contacts"
MARK = "managedBy"
RULES = Rules(STACK)
MARKED = Rules(STACK, mark=MARK)
NOW = "2026-03-01T12:00:00+00:00"
MOMENT = PlanMoment(PLAN_SALT, NOW, "2026-03-02T12:00:00+00:00")
TARGET = Target(
    "https://api.example.com",
    STACK,
    (Workspace("default", ""), Workspace("lab", "CD34", "Lab"), Workspace("ops", "AB12", "Operations")),
)
PLACE = Place("manifests/ops.yaml", 4, 3)

OPS = Scope("contact", "ops")
LAB = Scope("contact", "lab")
FILES = Scope("resource", "ops")

PHONE: Mapping[str, Scalar] = {
    "deviceName": "Phone",
    "appId": "com.example.oncall",
    "platform": "GCM",
    "deviceOS": "Android 15",
    "deviceModel": "Pixel 9",
    "pushToken": "token-of-the-phone",
}


def at(text: str) -> Address:
    """Return the address that `text` writes; it must write one."""
    address = parse_address(text)
    assert address is not None, text
    return address


def contact(
    where: str,
    fields: Fields | None = None,
    /,
    *,
    controls: Controls = Controls(),  # noqa: B008 - a frozen value
    place: Place = PLACE,
    devices: bool = False,
    **named: Scalar,
) -> Entity:
    """Return a declared contact at `workspace/name`; `devices`: its entry has a `devices:` key."""
    return Entity(at(f"contact/{where}"), {**(fields or {}), **named}, place, controls, None, devices)


def device(
    where: str,
    fields: Fields | None = None,
    /,
    *,
    controls: Controls = Controls(),  # noqa: B008 - a frozen value
    place: Place = PLACE,
    **named: Scalar,
) -> Entity:
    """Return a declared device at `workspace/contact/name`, with the fields of PHONE where none is given."""
    return Entity(at(f"device/{where}"), {**PHONE, **(fields or {}), **named}, place, controls)


def resource(
    where: str,
    data: bytes = b"a,b\n",
    /,
    *,
    controls: Controls = Controls(),  # noqa: B008 - a frozen value
    place: Place = PLACE,
    **named: Scalar,
) -> Entity:
    """Return a declared resource at `workspace/name` with this payload."""
    content = content_of(data)
    fields: dict[str, Scalar] = {"name": "staff.csv", "scope": "private", "mimeType": "text/csv"}
    fields |= {**named, "content": content.digest}
    return Entity(at(f"resource/{where}"), fields, place, controls, content)


def content_of(data: bytes) -> Content:
    """Return a payload; its digest stands in for a hash, and is readable in a failure."""
    return Content(data, f"sha256:{data.hex()}")


def row(
    kind: str,
    workspace: str,
    remote_id: str,
    fields: Fields | None = None,
    /,
    *,
    parent: str = "",
    modified: str = "",
    seen: str = "",
    known: frozenset[str] | None = None,
    **named: Scalar,
) -> LiveEntity:
    """Return a live entity that was read whole, unless `known` says otherwise."""
    values = {**(fields or {}), **named}
    return LiveEntity(kind, workspace, remote_id, values, parent, known, modified, seen, kind == "contact")


def person(
    remote_id: str, fields: Fields | None = None, /, *, workspace: str = "ops", **named: Scalar
) -> LiveEntity:
    """Return a live contact of `ops`."""
    return row("contact", workspace, remote_id, {**(fields or {}), **named})


def phone(remote_id: str, parent: str, fields: Fields | None = None, /, **named: Scalar) -> LiveEntity:
    """Return a live, active device of `ops` under the contact with the id `parent`."""
    values = {**PHONE, "status": "ACTIVE", **(fields or {}), **named}
    return row("device", "ops", remote_id, values, parent=parent)


def record(
    where: str,
    remote_id: str,
    sent: Fields | None = None,
    /,
    *,
    shown: Fields | None = None,
    parent: str = "",
    protected: bool = False,
    modified: str = "",
    salt: str = STORE_SALT,
    **named: Scalar,
) -> RecordedEntity:
    """Return what is remembered of an address: `sent`, and `shown` (the same, unless given)."""
    address = at(where)
    values = digest_for_store(address.kind, normalize_fields(address.kind, {**(sent or {}), **named}), salt)
    looks = values if shown is None else digest_for_store(address.kind, shown, salt)
    return RecordedEntity(address, remote_id, parent, values, looks, modified, protected)


def desired(*entities: Entity, scopes: Iterable[Scope] = ()) -> Desired:
    """Return what should be; the scopes are those of the entities, and `scopes`."""
    own = {Scope(e.address.kind, e.address.workspace) for e in entities if e.address.kind != "device"}
    return Desired({entity.address: entity for entity in entities}, frozenset(own | set(scopes)))


def live(*rows: LiveEntity, reads: tuple[Read, ...] = ()) -> Live:
    """Return what is, in the order given."""
    scopes = dict.fromkeys(Scope(one.kind, one.workspace) for one in rows)
    return Live({s: tuple(one for one in rows if Scope(one.kind, one.workspace) == s) for s in scopes}, reads)


def recorded(*records: RecordedEntity, doubts: Mapping[Address, str] | None = None) -> Recorded:
    """Return what earlier runs left."""
    return Recorded({one.address: one for one in records}, STORE_SALT, doubts or {})


def planned(
    want: Desired,
    there: Live,
    known: Recorded | None = None,
    *,
    only: tuple[str, ...] = (),
    excluded: tuple[str, ...] = (),
    reactivate: tuple[str, ...] = (),
    rules: Rules = RULES,
    moment: PlanMoment = MOMENT,
) -> Plan:
    """Return the plan of the three."""
    options = Options(only, excluded, reactivate)
    return make_plan(
        want, there, known or recorded(), target=TARGET, options=options, rules=rules, moment=moment
    )
