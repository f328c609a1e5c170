"""Somebody else who edits, creates, deletes and disables, at any moment between any two steps."""

from random import Random

from simulation.modelservice import OFFSETS, SIDS, Body, Model, Row, Write
from simulation.oracle import Oracle
from simulation.people import DEVICES, NAMES

ZONES = {offset: name for name, offset in OFFSETS.items()}
EDITS = ("jobTitle", "department", "workSuburb", "firstName", "companyName", "riskBand")


class Somebody:
    """A person with a browser. What they do is told to the oracle; `edits` counts it."""

    def __init__(self, model: Model, oracle: Oracle, chance: Random) -> None:
        self.edits = 0
        self._model = model
        self._oracle = oracle
        self._chance = chance
        self._acts = (
            (self._edit, 10),
            (self._custom, 3),
            (self._disable, 3),
            (self._expire, 1),
            (self._create, 1),
            (self._same, 1),
            (self._delete, 1),
            (self._device, 1),
        )

    def act(self) -> None:
        """Do one thing."""
        acts, weights = zip(*self._acts, strict=True)
        (chosen,) = self._chance.choices(acts, weights)
        write = chosen()
        if write is not None:
            self.edits += 1
            self._oracle.edited(write)

    def _one(self, kind: str) -> Row | None:
        rows = [row for row in self._model.rows.values() if row.kind == kind]
        return self._chance.choice(rows) if rows else None

    def _edit(self) -> Write | None:
        row = self._one("contact")
        if row is None:
            return None
        return self._put(row, {self._chance.choice(EDITS): f"by hand {self.edits}"})

    def _custom(self) -> Write | None:
        row = self._one("contact")
        if row is None:
            return None
        kept = [one for one in row.body.get("customFields", []) if one["fieldName"] != "badge"]
        badge = {"fieldName": "badge", "fieldValue": f"{self.edits}", "searchKey": "custom_badge"}
        return self._put(row, {"customFields": [*kept, badge]})

    def _put(self, row: Row, changed: Body) -> Write:
        """Change a contact as a good client does: the service takes an offset in a PUT for nonsense."""
        zone = str(row.body.get("timezone", ""))
        named = {"timezone": ZONES[zone]} if zone in ZONES else {}
        return self._model.replace("contact", row.workspace, row.id, {**row.body, **named, **changed})

    def _disable(self) -> Write | None:
        row = self._one("device")
        if row is None:
            return None
        before = dict(row.body)
        for _ in range(2):
            self._model.push_failed(row.id)
        return Write("PUT", "device", row.workspace, row.id, row.parent, before, dict(row.body))

    def _expire(self) -> Write | None:
        row = self._one("resource")
        return self._model.delete("resource", row.workspace, row.id) if row else None

    def _create(self) -> Write | None:
        """A stranger, whom nobody declares."""
        name = f"guest{self.edits}"
        body = {"firstName": name, "lastName": "Roe", "workEmailAddress1": f"{name}@example.com"}
        return self._model.create("contact", SIDS["ops"], body)

    def _same(self) -> Write | None:
        """Somebody whom we may have declared too, unless they are there."""
        name = self._chance.choice(NAMES)
        mail = f"{name}@example.com"
        rows = self._model.of("contact", SIDS["ops"])
        if any(row.body.get("workEmailAddress1") == mail for row in rows):
            return None
        body = {"firstName": name, "lastName": "By-Hand", "workEmailAddress1": mail}
        return self._model.create("contact", SIDS["ops"], body)

    def _delete(self) -> Write | None:
        row = self._one("contact")
        return self._model.delete("contact", row.workspace, row.id) if row else None

    def _device(self) -> Write | None:
        row = self._one("contact")
        if row is None:
            return None
        name = self._chance.choice((*DEVICES, "watch"))
        if any(one.body.get("deviceName") == name for one in self._model.devices(row.id)):
            return None
        body = {
            "deviceName": name,
            "appId": "app-1",
            "platform": "APNS",
            "deviceOS": "IOS",
            "deviceModel": "Watch",
            "pushToken": f"hand-{self.edits}",
        }
        return self._model.create("device", row.workspace, body, row.id)
