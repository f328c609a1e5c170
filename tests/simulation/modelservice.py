"""A model of the service: small, in memory, without time of its own, and with every doubt as a switch.

Written from the specification as far as the client needs it, not from the sandbox: two models that were
made apart do not share a mistake. What is here: contacts, devices, resources, workspaces, what a write does
to them, and what a list shows. Not here: bytes (modelwire.py), trouble (network.py), judgement (oracle.py).
"""

import copy
import heapq
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Literal

Body = dict[str, Any]

EPOCH = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
SIDS = {"ops": "AB12", "lab": "CD34"}  # workspaces by the alias of the settings
OFFSETS = {
    "Australia/Melbourne": "+10",
    "Australia/Brisbane": "+10",
    "Asia/Singapore": "+8",
    "Etc/UTC": "0",
}
WRITE_ONLY = frozenset({"password", "secretAnswer", "derefUri"})
STICKY = {"contact": ("status", "messagingoptions", "locations"), "device": ("status",), "resource": ()}
SEVEN = ("deviceName", "appId", "platform", "deviceOS", "deviceModel", "status", "pushToken")


@dataclass(frozen=True, slots=True)
class Switches:
    """What the specification leaves open, one choice for a world."""

    filtering: Literal["contains", "folded", "prefix", "exact", "ignored"] = "contains"
    lag_s: float = 0.0  # how long lists and searches show what was
    uneven: bool = False  # whether each write is listed after a time of its own, `lag_s` at most
    page: int = 20  # rows of a page at most, whatever was asked for
    order: Literal["made", "recent", "name"] = "made"
    counted: bool = True  # whether lists tell how many there are
    whole: bool = False  # whether list rows of contacts tell everything
    heeds_fields: bool = True
    extra: bool = False  # whether entities have fields that nobody knows
    errors: Literal["json", "text", "empty", "html"] = "json"
    created: Literal["whole", "brief", "location"] = "whole"  # what the answer to a POST shows
    replaced: Literal["empty", "body", "blank"] = "empty"  # the same of a PUT
    form: Literal["json", "xml"] = "json"
    mark: str = ""

    @classmethod
    def drawn(cls, chance: Random) -> "Switches":
        """One service out of the many that the specification allows."""
        pick = chance.choice
        return cls(
            filtering=pick(("contains", "contains", "folded", "prefix", "exact", "ignored")),
            lag_s=pick((0.0, 0.0, 0.0, 1.0, 6.0)),
            page=pick((20, 20, 5, 2, 1)),
            order=pick(("made", "recent", "name")),
            counted=chance.random() < 0.75,
            whole=chance.random() < 0.3,
            heeds_fields=chance.random() < 0.7,
            extra=chance.random() < 0.6,
            errors=pick(("json", "json", "text", "empty", "html")),
            created=pick(("whole", "whole", "brief", "location")),
            replaced=pick(("empty", "empty", "body", "blank")),
            form=pick(("json", "json", "json", "xml")),
            mark=pick(("", "", "managedBy")),
        )


@dataclass(slots=True)
class Row:
    """One entity as the service holds it. `body` has no id and no links."""

    id: str
    kind: str
    workspace: str
    parent: str
    body: Body
    made_at: float
    touched_at: float
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Write:
    """A write that was carried out: what was there, and what is there now (None: nothing)."""

    method: str
    kind: str
    workspace: str
    id: str
    parent: str
    before: Body | None
    after: Body | None


class Refused(Exception):
    """The service says no, with this status."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass
class Model:
    """Everything the service holds. `now` is its clock in seconds."""

    switches: Switches
    now: Callable[[], float]
    rows: dict[str, Row] = field(default_factory=dict)
    workspaces: dict[str, str] = field(default_factory=lambda: {sid: name for name, sid in SIDS.items()})

    def __post_init__(self) -> None:
        self._ids = itertools.count(0xA0)
        self._index: dict[str, Row] = {}
        self._late: list[tuple[float, int, str, Row | None]] = []
        self._moves = itertools.count(1)
        self._shown: dict[str, int] = {}  # number of the write that the lists show of an entity

    # Writes.

    def create(self, kind: str, workspace: str, body: Body, parent: str = "") -> Write:
        """A new entity. Raises Refused."""
        if kind == "device":
            self.row("contact", workspace, parent)
        kept = {key: copy.deepcopy(value) for key, value in body.items() if key not in WRITE_ONLY}
        one = f"{next(self._ids):016X}"
        now = self.now()
        self.rows[one] = Row(one, kind, workspace, parent, self._settled(kind, kept, {}, one), now, now)
        self.moved(one)
        return Write("POST", kind, workspace, one, parent, None, copy.deepcopy(self.rows[one].body))

    def replace(self, kind: str, workspace: str, one: str, body: Body, parent: str = "") -> Write:
        """A full replace: what `body` leaves out is gone, but for what is sticky. Raises Refused."""
        row = self.row(kind, workspace, one, parent)
        if kind == "device" and any(not body.get(name) for name in SEVEN):
            raise Refused(422, "a device needs all of its fields")
        before = row.body
        kept = {key: copy.deepcopy(value) for key, value in body.items() if key not in WRITE_ONLY}
        row.body = self._settled(kind, kept, before, one)
        row.touched_at, row.failures = self.now(), 0
        self.moved(one)
        return Write("PUT", kind, workspace, one, row.parent, before, copy.deepcopy(row.body))

    def delete(self, kind: str, workspace: str, one: str, parent: str = "") -> Write:
        """It is gone, and a contact's devices with it. Raises Refused."""
        row = self.row(kind, workspace, one, parent)
        for gone in [one, *(device.id for device in self.devices(one))]:
            del self.rows[gone]
            self.moved(gone)
        return Write("DELETE", kind, workspace, one, row.parent, row.body, None)

    def push_failed(self, device: str) -> None:
        """A push to a device fails; the second time without an update between, the service disables it."""
        row = self.rows[device]
        row.failures += 1
        if row.failures > 1:
            row.body["status"] = "DISABLED"

    # Reads.

    def row(self, kind: str, workspace: str, one: str, parent: str = "") -> Row:
        """Raises Refused where there is no such entity at this address."""
        row = self.rows.get(one)
        if row is None or (row.kind, row.workspace) != (kind, workspace) or (parent and row.parent != parent):
            raise Refused(404, "no such entity")
        return row

    def devices(self, contact: str) -> list[Row]:
        return [row for row in self.rows.values() if row.kind == "device" and row.parent == contact]

    def of(self, kind: str, workspace: str) -> list[Row]:
        """Everything of a kind in a workspace, as it is."""
        return [row for row in self.rows.values() if (row.kind, row.workspace) == (kind, workspace)]

    def listed(self, kind: str, workspace: str, filters: Mapping[str, str]) -> list[Row]:
        """What a list shows, in its order: it may lag behind, and filters are heeded in the world's way."""
        self._catch_up()
        rows = [r for r in self._index.values() if (r.kind, r.workspace) == (kind, workspace)]
        rows = [r for r in rows if all(self._fits(r, name, text) for name, text in filters.items())]
        match "recent" if kind == "resource" else self.switches.order:
            case "recent":
                rows.sort(key=lambda r: (-r.touched_at, r.id))
            case "name":
                rows.sort(key=lambda r: (str(r.body.get("lastName", r.body.get("name", ""))), r.id))
            case _:
                rows.sort(key=lambda r: r.id)
        return rows

    def moment(self, seconds: float) -> str:
        """A moment of the service's clock as its bodies write it."""
        return (EPOCH + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _fits(self, row: Row, name: str, text: str) -> bool:
        value = searched(row.body, name)
        match self.switches.filtering:
            case "contains":
                return text in value
            case "folded":
                return text.casefold() in value.casefold()
            case "prefix":
                return value.startswith(text)
            case "exact":
                return value == text
            case "ignored":
                return True

    def _settled(self, kind: str, body: Body, before: Body, one: str) -> Body:
        """What becomes of a body that was sent: rewritten values, kept ones, the service's own."""
        for key in STICKY[kind]:
            if key not in body and key in before:
                body[key] = before[key]
        if kind == "contact":
            self._contact(body, before, one)
        elif kind == "device":
            status = str(body.get("status", "ACTIVE")).upper()
            body["status"] = {"A": "ACTIVE", "D": "DISABLED"}.get(status, status)
        elif body.get("scope") == "public":
            body["url"] = f"https://files.example.com/{one}"
        else:
            body.pop("url", None)
        if self.switches.extra and not before:
            body["riskBand"] = f"band-{one[-2:]}"
            if self.switches.form == "json":
                body["telemetry"] = {"seen": [1, None, {"deep": True}], "ratio": 0.5}
        return body

    def _contact(self, body: Body, before: Body, one: str) -> None:
        for key in ("id", "link", "devices"):
            body.pop(key, None)
        if not before:
            body["type"] = "PROJECT"
            body.setdefault("status", "A")
            place = {"longitude": 0.0, "latitude": 0.0, "type": "CurrentLocation"}
            body.setdefault("locations", [place])
        body["mri"] = f"{body.get('firstName', '')}_{body.get('lastName', '')}.{one[-4:]}@Contact.example.com"
        if "timezone" in body:
            zone = str(body["timezone"])
            body["timezone"] = OFFSETS.get(zone, "0" if zone.startswith("+") else zone)
        for option in body.get("messagingoptions", []):
            option["enabled"] = str(option.get("enabled", "")).casefold() == "true"
            for name in ("secondary", "tertiary"):
                option.setdefault(name, "")
        body.setdefault("messagingoptions", [])
        body["lastModifiedTime"] = self.moment(self.now())

    # Lists see every write `lag_s` later.

    def moved(self, one: str) -> None:
        """Let lists see, a little later, what is so of an entity now."""
        row = self.rows.get(one)
        seen = copy.copy(row) if row is not None else None
        number = next(self._moves)
        share = Random(f"lag {number} {self.switches.lag_s}").random() if self.switches.uneven else 1.0
        heapq.heappush(self._late, (self.now() + self.switches.lag_s * share, number, one, seen))

    def _catch_up(self) -> None:
        while self._late and self._late[0][0] <= self.now():
            _, number, one, row = heapq.heappop(self._late)
            if number < self._shown.get(one, 0):
                continue
            self._shown[one] = number
            if row is None:
                self._index.pop(one, None)
            else:
                self._index[one] = row


def searched(body: Body, name: str) -> str:
    """The text of a field by the name of its query parameter."""
    if name.startswith("custom_"):
        rows: Iterable[Body] = body.get("customFields", [])
        return next((str(r.get("fieldValue", "")) for r in rows if r.get("fieldName") == name[7:]), "")
    return str(body.get({"workEmailAddressPrimary": "workEmailAddress1"}.get(name, name), ""))
