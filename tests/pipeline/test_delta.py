"""A plan of what moved since the last one is the plan of everything, or it is made of everything (R11)."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import effort
import httpx2
import pytest
import tally
from msgspec import structs
from pipeline.test_feed import PLAIN
from wire import Send, edited, without_parameter
from world import World

from reconciler.model.address import Address
from reconciler.model.plans import Plan, Workspace
from reconciler.report.phrases import describe_read
from reconciler.sandbox.app import SandboxConfig
from reconciler.sandbox.contacts import invent_contacts
from reconciler.store.adapter import OF_EVERY_POOL, Connection, Observer
from reconciler.store.database import Store
from reconciler.store.schema import ENTITIES
from reconciler.store.sealed_tables import rows_query

COUNT = 620
HISTORIES = effort.count(small=6, full=120)
LYING = effort.count(small=1, full=25)  # companies, each of which lives through so many lying histories:
LIES_EACH = effort.count(small=12, full=20)
PEOPLE = [{key: str(one.fields[key]) for key in PLAIN} for one in invent_contacts(COUNT, after=0)]


def declared() -> dict[str, Any]:
    """Return a manifest of everybody but the last twenty, who are strangers."""
    return {"contacts": {f"p{number}": dict(PEOPLE[number]) for number in range(COUNT - 20)}}


class Company:
    """A project that has adopted everybody, and whose last plan had nothing to do."""

    def __init__(
        self, path: Path, *, manifest: Mapping[str, Any] | None = None, apply: bool = True, **changes: Any
    ) -> None:
        self.world = World(path, SandboxConfig(contacts=COUNT), changes=changes)
        self.world.dependencies = replace(self.world.dependencies, token=lambda: "the same for all plans")
        self.manifest = {**declared(), **(manifest or {})}
        self.write()
        if not apply:
            return
        planned, _ = self.world.apply()
        self.ids = {one.address.name: one.remote_id for one in planned.plan.adoptions}
        self.wait()

    def write(self) -> None:
        self.world.write(self.manifest)

    def wait(self) -> None:
        self.world.clock.pass_s(60)

    @property
    def kept(self) -> Path:
        """The folder of what is kept from one plan to the next."""
        return Path(self.world.settings.root, ".reconciler", "cache", "lists")

    def plan(self) -> tuple[Plan, bool]:
        """Return the plan, and whether it is of what moved. Claim that it is the one without what is kept."""
        aside = self.kept.with_name("aside")
        self.kept.rename(aside)
        whole = self.world.plan().plan
        shutil.rmtree(self.kept, ignore_errors=True)
        aside.rename(self.kept)
        plan = self.world.plan().plan
        assert told(plan) == told(whole)
        return plan, any(read.settled for read in plan.reads)

    def edit(self, *names: str, **values: str) -> None:
        """Somebody else edits these people at the service, where they are there."""

        async def work(client: Any) -> None:
            there = {row.remote_id for row in await client.contacts.list()}
            for remote_id in (self.ids[name] for name in names if self.ids[name] in there):
                found = await client.contacts.get(remote_id)
                await client.contacts.replace(remote_id, {**found.body, **values})

        self.world.behind_our_back(work)

    def copy(self, number: int) -> None:
        """Somebody else makes another one of a person."""

        async def work(client: Any) -> None:
            found = (await client.contacts.list())[number]
            fields = {key: value for key, value in found.body.items() if key in PLAIN}
            await client.contacts.create({"type": "Person", "status": "A", "externalOwner": True, **fields})

        self.world.behind_our_back(work)

    def delete(self, number: int) -> None:
        """Somebody else deletes a person."""

        async def work(client: Any) -> None:
            await client.contacts.delete((await client.contacts.list())[number].remote_id)

        self.world.behind_our_back(work)


def told(plan: Plan) -> dict[str, Any]:
    """Return what a plan says, without when and how it was read."""
    fields = structs.asdict(plan)
    for name in ("reads", "created_at", "expires_at"):
        del fields[name]
    return fields


def test_three_edits_are_planned_without_the_rest(tmp_path: Path) -> None:
    """Two in the manifest and one at the service; nobody else is compared, nor loaded from the store."""
    company = Company(tmp_path)
    company.manifest["contacts"]["p7"]["jobTitle"] = "Captain"
    company.manifest["contacts"]["p9"]["jobTitle"] = "Pilot"
    company.write()
    company.edit("p11", jobTitle="Astronaut")

    plan, moved = company.plan()
    planned = company.world.plan()

    assert moved
    assert [one.address.name for one in plan.changes] == ["p11", "p7", "p9"]
    assert len(planned.recorded.entities) == 3
    (read,) = plan.reads
    assert (read.how, read.settled) == ("feed", COUNT - 23)


def test_a_plan_after_an_apply_leaves_out_whom_nobody_touched(tmp_path: Path) -> None:
    """The records have another state then, so their digests are compared."""
    company = Company(tmp_path)
    company.manifest["contacts"]["p7"]["jobTitle"] = "Captain"
    del company.manifest["contacts"]["p8"]
    company.write()
    planned, run = company.world.apply()
    company.wait()

    plan, moved = company.plan()

    assert planned.rest
    assert run.exit_code == 0
    assert moved
    assert plan.empty


def test_the_first_plan_after_an_apply_compares_nobody(tmp_path: Path) -> None:
    """An apply that records everybody knows what a plan right after it would find, and reads no record."""
    company, asked = Company(tmp_path), _Statements()
    OF_EVERY_POOL.append(asked)
    try:
        planned = company.world.plan()
    finally:
        OF_EVERY_POOL.remove(asked)

    (read,) = planned.plan.reads
    assert (planned.plan.empty, read.settled, len(planned.recorded.entities)) == (True, COUNT - 20, 0)
    assert [sql for sql in asked.heard if sql.startswith(rows_query(ENTITIES))] == []
    assert company.plan()[1]


@pytest.mark.parametrize("left_to_make", [3, 40])
def test_an_apply_that_adopts_many_may_create_and_change_others(tmp_path: Path, left_to_make: int) -> None:
    """Those that it makes are new in the list, and are planned with what moved."""
    company = Company(tmp_path, apply=False)
    for number in range(left_to_make):
        entry = {
            **PEOPLE[number],
            "workEmailAddress1": f"new{number}@example.org",
            "firstName": f"New{number}",
        }
        company.manifest["contacts"][f"new{number}"] = entry
    company.manifest["contacts"]["p7"]["jobTitle"] = "Captain"
    company.write()
    _, run = company.world.apply()
    company.wait()

    plan, moved = company.plan()

    assert run.exit_code == 0
    assert run.count("applied") == left_to_make + 1
    assert moved
    assert plan.empty


def test_an_apply_that_adopts_the_other_half_keeps_a_baseline_of_everybody(tmp_path: Path) -> None:
    """Half of them were recorded before, and are settled as they were."""
    company = Company(tmp_path, apply=False)
    everybody = dict(company.manifest["contacts"])
    company.manifest["contacts"] = dict(list(everybody.items())[:80])
    company.write()
    company.world.apply()
    company.wait()
    company.manifest["contacts"] = everybody
    company.write()
    company.world.apply()
    company.wait()

    (read,) = company.world.plan().plan.reads

    assert read.settled == COUNT - 20
    assert company.plan()[1]


def test_no_baseline_is_kept_where_another_run_wrote_meanwhile(tmp_path: Path) -> None:
    """Our records are not those that the store holds at the end, so everything is planned."""
    company = Company(tmp_path, apply=False)
    other = _OtherRun(company)
    OF_EVERY_POOL.append(other)
    try:
        company.world.apply()
    finally:
        OF_EVERY_POOL.remove(other)
    company.wait()

    plan, moved = company.plan()

    assert not moved
    assert [str(one.address) for one in plan.records] == ["contact/default/p7"]


class _Statements(Observer):
    """Hears the statements."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def executes(self, connection: Connection, sql: str) -> None:  # noqa: ARG002 - as every observer
        self.heard.append(sql)


class _OtherRun(Observer):
    """Records something else of a person once an apply has recorded everybody, without its lock."""

    def __init__(self, company: Company) -> None:
        self._company = company
        self._done = False

    def executes(self, connection: Connection, sql: str) -> None:  # noqa: ARG002 - as every observer
        if self._done or not sql.startswith("SELECT max(updated_at)"):
            return
        self._done = True
        world, ours = self._company.world, (Workspace("default", ""),)
        with Store.open(
            f"sqlite:///{world.root}/store.db",
            origin="http://127.0.0.1:8480",
            stack="test",
            now=world.clock,
            token=str,
        ) as store:
            known = store.recorded(ours).entities[Address("contact/default/p7")]
            store.remember([structs.replace(known, protected=True)], ours)


def test_a_plan_after_an_apply_reads_the_records_that_it_wrote(tmp_path: Path) -> None:
    """All of them only where these and the remembered ones do not make the seal, as after a delete."""
    company, whole = Company(tmp_path), rows_query(ENTITIES)
    reads = []
    for name in ("p7", "p9", "p11", "p13", ""):
        if name:
            company.manifest["contacts"][name]["jobTitle"] = "Captain"
        else:
            del company.manifest["contacts"]["p7"]
        company.write()
        company.world.apply()
        company.wait()
        asked = _Statements()
        OF_EVERY_POOL.append(asked)
        try:
            planned = company.world.plan().plan
        finally:
            OF_EVERY_POOL.remove(asked)
        assert any(read.settled for read in planned.reads)
        reads.append(sum(sql in (whole, f"{whole} ORDER BY address") for sql in asked.heard))
        assert company.plan()[1]

    assert reads == [0, 0, 0, 0, 1]


def test_another_kind_beside_does_not_switch_it_off(tmp_path: Path) -> None:
    """Resources are listed in no order of change: they are read and planned whole."""
    company = Company(tmp_path, manifest={"resources": {}})
    company.manifest["contacts"]["p7"]["jobTitle"] = "Captain"
    company.write()

    plan, moved = company.plan()

    assert moved
    assert [one.address.name for one in plan.changes] == ["p7"]
    assert [(read.scope.kind, bool(read.settled)) for read in plan.reads] == [
        ("contact", True),
        ("resource", False),
    ]


def test_after_a_change_of_rules_everything_is_planned(tmp_path: Path) -> None:
    """What was nothing to do may be something under other rules."""
    company = Company(tmp_path)
    settings = company.world.settings
    company.world.settings = structs.replace(settings, adopt="never")

    _, moved = company.plan()

    assert not moved


def test_the_plan_says_why_it_is_of_everything(tmp_path: Path) -> None:
    """Where one of what moved was expected; a first plan says nothing."""
    company = Company(tmp_path)
    company.world.clock.pass_s(25 * 3600)

    (read,) = company.world.plan().plan.reads

    why = "the list of contacts in default is fully read: its last complete read is too old"
    assert read.compared == why
    assert why in describe_read(read, "2026-03-01T00:00:00+00:00")


# --- Histories ----------------------------------------------------------------------------------------


def _edit_manifest(company: Company, chance: Random) -> None:
    for number in chance.sample(range(COUNT - 20), 3):
        entry = company.manifest["contacts"].get(f"p{number}")
        if entry is not None:
            entry["jobTitle"] = chance.choice(("Captain", "Pilot", "Nurse"))


def _take_identity(company: Company, chance: Random) -> None:
    one, other = chance.sample(range(COUNT), 2)
    address = PEOPLE[other]["workEmailAddress1"]
    used = {entry["workEmailAddress1"].lower() for entry in company.manifest["contacts"].values()}
    if f"p{one}" in company.manifest["contacts"] and address.lower() not in used:
        company.manifest["contacts"][f"p{one}"]["workEmailAddress1"] = address


def _drop(company: Company, chance: Random) -> None:
    company.manifest["contacts"].pop(f"p{chance.randrange(COUNT)}", None)


def _rename(company: Company, chance: Random) -> None:
    number = chance.randrange(COUNT - 20)
    entry = company.manifest["contacts"].pop(f"p{number}", None)
    if entry is not None:
        entry.pop("meta", None)
        company.manifest["contacts"][f"n{number}"] = {**entry, "meta": {"renamedFrom": f"p{number}"}}


def _declare_stranger(company: Company, chance: Random) -> None:
    number = chance.randrange(COUNT - 20, COUNT)
    used = {entry["workEmailAddress1"].lower() for entry in company.manifest["contacts"].values()}
    if PEOPLE[number]["workEmailAddress1"].lower() not in used:
        company.manifest["contacts"][f"p{number}"] = dict(PEOPLE[number])


def _list_devices(company: Company, chance: Random) -> None:
    entry = company.manifest["contacts"].get(f"p{chance.randrange(COUNT - 20)}")
    if entry is not None:
        entry["devices"] = {}


def _edit_at_service(company: Company, chance: Random) -> None:
    names = chance.sample(sorted(company.ids), 2)
    company.edit(*names, jobTitle=chance.choice(("Nurse", "Driver")))


def _take_identity_at_service(company: Company, chance: Random) -> None:
    address = chance.choice(PEOPLE)["workEmailAddress1"]
    company.edit(chance.choice(sorted(company.ids)), workEmailAddress1=address)


def _copy_at_service(company: Company, chance: Random) -> None:
    company.copy(chance.randrange(COUNT - 30))


def _delete_at_service(company: Company, chance: Random) -> None:
    company.delete(chance.randrange(COUNT - 30))


def _apply(company: Company, _chance: Random) -> None:
    company.write()
    company.world.apply()
    company.wait()


CHANGES: tuple[Callable[[Company, Random], None], ...] = (
    *(_edit_manifest, _edit_manifest, _take_identity, _drop, _rename, _declare_stranger, _list_devices),
    *(_edit_at_service, _edit_at_service, _take_identity_at_service, _copy_at_service, _delete_at_service),
    *(_apply, _apply),
)


@effort.landing_part(6)
@pytest.mark.parametrize("seed", range(HISTORIES))
def test_the_plan_of_what_moved_is_the_plan_of_everything(tmp_path: Path, seed: int) -> None:
    """Through the store, the cached lists and the sandbox, whatever is edited on either side."""
    company, chance = Company(tmp_path), Random(seed)
    for _ in range(6):
        for work in chance.choices(CHANGES, k=chance.choice((1, 1, 2))):
            work(company, chance)
        company.write()
        company.wait()
        _, moved = company.plan()
        tally.count("delta plans", "through the engine" if moved else "of everything, through the engine")


# --- A service that lies about what changed -----------------------------------------------------------


class Liar:
    """What the service answers to a list by the time of change; the other lists are the truth.

    The order is ignored, or pages are repeated, or a row is moved to the front, or times are invented.
    """

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.lie = ""
        self.told = 0

    async def answer(self, request: httpx2.Request, send: Send) -> httpx2.Response:
        """Carry a request out, and say something else. Keeps to the truth while there is no lie."""
        if not self.lie or "sortFields" not in request.url.params:
            return await send()
        self.told += 1
        return await LIES[self.lie](self, request, send)

    async def _ignore_order(self, request: httpx2.Request, send: Send) -> httpx2.Response:
        request.url = request.url.copy_remove_param("sortOrder")
        return await without_parameter("sortFields")(request, send)

    async def _repeat_page(self, request: httpx2.Request, send: Send) -> httpx2.Response:
        offset = int(request.url.params["offset"])
        if offset:
            told = self.chance.choice((0, offset - 1, offset - 20))
            request.url = request.url.copy_set_param("offset", str(told))
        return await send()

    async def _move_row(self, request: httpx2.Request, send: Send) -> httpx2.Response:
        def move(body: dict[str, Any]) -> None:
            rows = body["contacts"]
            rows.insert(0, rows.pop(self.chance.randrange(len(rows))))

        return await edited(move)(request, send)

    async def _invent_times(self, request: httpx2.Request, send: Send) -> httpx2.Response:
        def invent(body: dict[str, Any]) -> None:
            for row in body["contacts"]:
                row["lastModifiedTime"] = f"2026-02-{self.chance.randrange(10, 28)}T09:00:00Z"

        return await edited(invent)(request, send)


LIES = {
    "order": Liar._ignore_order,
    "repeats": Liar._repeat_page,
    "moves": Liar._move_row,
    "times": Liar._invent_times,
}


@effort.landing_part(6)
@pytest.mark.parametrize("seed", range(LYING))
def test_a_service_that_lies_about_what_changed_changes_no_plan(tmp_path: Path, seed: int) -> None:
    """Each history begins with a baseline of the truth; then it lies while people edit on either side."""
    company, chance = Company(tmp_path), Random(seed)
    liar = Liar(chance)
    company.world.meets(liar.answer, "GET")
    for number in range(LIES_EACH):
        liar.lie = ""
        company.plan()
        liar.lie = sorted(LIES)[number % len(LIES)]
        for _ in range(chance.choice((1, 2))):
            for work in chance.choices(CHANGES, k=chance.choice((1, 1, 2))):
                work(company, chance)
            company.write()
            company.wait()
            company.plan()
        tally.count("delta plans", "histories in which the service lies")
    assert liar.told > LIES_EACH
