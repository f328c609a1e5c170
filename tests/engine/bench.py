"""A store, a sandbox in process, and a wire that loses, delays and refuses what a test wants it to."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, TypeVar

import httpx2
from msgspec import structs
from wire import Fault, Rule, Send, Wire

from reconciler.concurrency import run_in_thread
from reconciler.core.compare.bodies import make_create_body
from reconciler.core.planning.plan import make_plan
from reconciler.core.planning.records import refresh_records
from reconciler.core.rules import Rules
from reconciler.engine.context import Dependencies, RunContext, ServiceLock, StopFlag
from reconciler.engine.execute import execute_changes
from reconciler.engine.live import read_live
from reconciler.engine.recover import settle_unfinished
from reconciler.model.address import Address, contact_address, device_address, resource_address
from reconciler.model.documents import Content, Controls, Fields, Place
from reconciler.model.plans import Consent, Options, Plan, PlanMoment, Target, Workspace
from reconciler.model.runs import Context, Outcome, Run
from reconciler.model.secrets import Secret
from reconciler.model.settings import Auth, Limits, Service, Settings
from reconciler.model.snapshots import Desired, Entity, LiveEntity, Recorded, Scope
from reconciler.sandbox.app import SandboxConfig, create_app
from reconciler.service.client import EntityClient, open_client
from reconciler.service.http.limiter import Timing
from reconciler.service.paging import Query
from reconciler.store.database import Offload, Store
from reconciler.store.locks import Lock

T = TypeVar("T")
Shows = Literal["shown", "masked", "omitted"]  # what of its push token a look at a device shows
ORIGIN = "http://sandbox.example.com"
WORKSPACES = (Workspace("ops", "AB12"),)
TARGET = Target(ORIGIN, "default", WORKSPACES)
JANE, SAM, ZOE = contact_address("ops", "jane"), contact_address("ops", "sam"), contact_address("ops", "zoe")


def lands_late(bench: "Bench", tasks: "list[asyncio.Task[httpx2.Response]]", seconds: float) -> Fault:
    """The answer is lost, and the request is carried out when the run has waited for this long."""

    async def later(send: Send) -> httpx2.Response:
        due = bench.waited_s + seconds
        while bench.waited_s < due:  # noqa: ASYNC110 - the condition is a sum, not an event
            await asyncio.sleep(0)
        return await send()

    async def fault(request: httpx2.Request, send: Send) -> httpx2.Response:
        tasks.append(asyncio.ensure_future(later(send)))
        raise httpx2.ReadError("lost", request=request)

    return fault


def person(address: Address = JANE, **more: str) -> Entity:
    name = address.name
    fields = {
        "firstName": name.title(),
        "lastName": "Doe",
        "workEmailAddress1": f"{name}@example.com",
        "workMobilePhone1": "+61491570156",
        "workCountry": "Australia",
    }
    return entity(address, {**fields, **{key.replace("__", "."): value for key, value in more.items()}})


def phone(owner: Address = JANE, name: str = "pixel", **more: str) -> Entity:
    fields = {
        "deviceName": name,
        "appId": "app-1",
        "platform": "GCM",
        "deviceOS": "Android",
        "deviceModel": "Pixel 8",
        "pushToken": f"token-of-{name}",
    }
    return entity(device_address("ops", owner.name, name), {**fields, **more})


def upload(name: str = "staff", data: bytes = b"a,b\n1,2\n") -> Entity:
    digest = f"sha256:{len(data):064d}"
    fields = {"name": f"{name}.csv", "scope": "private", "mimeType": "text/csv", "content": digest}
    return structs.replace(entity(resource_address("ops", name), fields), content=Content(data, digest))


def entity(address: Address, fields: Fields, controls: Controls | None = None) -> Entity:
    place = Place("ops.yaml", 1)
    return Entity(address, fields, place, controls or Controls(), devices_in_scope=address.kind == "contact")


def desire(*entities: Entity) -> Desired:
    scopes = frozenset(Scope(kind, "ops") for kind in ("contact", "resource"))
    return Desired({one.address: one for one in entities}, scopes)


async def in_place(work: Callable[[], T]) -> T:
    """Do what a run otherwise does in a thread."""
    return work()


async def nap(seconds: float) -> None:
    """Sleep in little: what the program waits for is shortened, and its order kept."""
    await asyncio.sleep(min(seconds, 0.02))


class Bench:
    """One store and one sandbox; plans and applies through the real client, as the pipeline does."""

    def __init__(
        self,
        folder: Path,
        *,
        mark: str = "",
        settle_s: float = 0.0,
        concurrency: int = 8,
        shows: Shows = "shown",
    ) -> None:
        self.offset = timedelta()
        self.set_by = timedelta()  # how far the machine's clock has been set away from the service's
        self.wire = Wire(
            httpx2.ASGITransport(
                app=create_app(
                    SandboxConfig(workspaces=(("Ops", "AB12"),), clock=self.service_now, device_token=shows)
                )
            )
        )
        self.folder = folder
        self.rules = Rules(stack="default", mark=mark)
        limits = Limits(requests_per_second=0, settle_s=settle_s, concurrency=concurrency)
        self.service = Service(
            base_url=ORIGIN,
            auth=Auth(Secret("demo"), Secret("demo"), Secret("demo-key")),
            limits=limits,
        )
        self.waited_s = 0.0  # what the runs asked to wait for, all together
        self.timing = Timing(monotonic=time.monotonic, sleep=self._nap, random=lambda: 0.0, gap_s=60.0)
        self.stop = StopFlag()
        self.heard: list[Outcome] = []
        self.rows: list[LiveEntity] = []  # what the last plan saw
        self.fail_fast = False
        self.deadline_s = 60.0
        self.settled: tuple[Outcome, ...] = ()
        self.offload: Offload = run_in_thread
        self.store_type: type[Store] = Store
        self.on_outcome: Callable[[Outcome], None] = self.heard.append
        self._tokens = (f"token-{number}" for number in itertools.count(1))

    async def _nap(self, seconds: float) -> None:
        self.waited_s += seconds
        await nap(seconds)

    def now(self) -> datetime:
        return self.service_now() + self.set_by

    def service_now(self) -> datetime:
        return datetime.now(UTC) + self.offset

    def pass_(self, seconds: float) -> None:
        """Let time pass for everybody."""
        self.offset += timedelta(seconds=seconds)

    def store(self) -> Store:
        return self.store_type.open(
            "sqlite:///store.db",
            origin=ORIGIN,
            stack="default",
            now=self.now,
            token=lambda: next(self._tokens),
            root=str(self.folder),
        )

    @asynccontextmanager
    async def client(self) -> AsyncIterator[EntityClient]:
        async with open_client(self.service, timing=self.timing, connections=self.wire) as client:
            yield client

    async def plan(self, desired: Desired, store: Store, client: EntityClient) -> tuple[Plan, Recorded]:
        """Plan, and record what the plan found, as the pipeline does before an apply."""
        recorded = store.recorded(WORKSPACES)
        ids = {one.alias: one.id for one in WORKSPACES}
        live = await read_live(client, desired, recorded, workspaces=ids, rules=self.rules)
        self.rows = [row for rows in live.entities.values() for row in rows]
        plan = make_plan(
            desired,
            live,
            recorded,
            target=TARGET,
            options=Options(),
            rules=self.rules,
            moment=PlanMoment(next(self._tokens), self.now().isoformat(timespec="seconds")),
        )
        store.rename(plan.renames.items(), WORKSPACES)
        store.forget(plan.gone, WORKSPACES)
        found = refresh_records(plan, desired, live, recorded)
        store.remember((one.record for one in found), WORKSPACES)
        return plan, recorded

    async def apply_async(
        self,
        *entities: Entity,
        meanwhile: Callable[[EntityClient], Awaitable[object]] | None = None,
        rules: Iterable[Rule] = (),
        sabotage: Callable[[Store, Lock], object] | None = None,
    ) -> Run:
        """Plan, let `meanwhile` happen, and carry the plan out under `rules`; count what that sends."""
        self.stop = StopFlag()
        desired = desire(*entities)
        with self.store() as store, store.lock("run") as lock:
            async with self.client() as client:
                unfinished = store.unfinished()
                context = self.context("settling", desired, store, lock, client)
                self.settled = await settle_unfinished(unfinished, context, TARGET)
                plan, recorded = await self.plan(desired, store, client)
                if meanwhile:
                    await meanwhile(client)
                if sabotage:
                    sabotage(store, lock)
                self.wire.sent.clear()
                self.wire.bodies.clear()
                self.wire.rules = list(rules)
                self.heard.clear()
                name = "run" + next(self._tokens)
                store.begin(name, "apply", plan, Consent(), Context())
                for one in unfinished:
                    store.close_run(one.run, "interrupted")
                context = self.context(name, desired, store, lock, client)
                run, _ = await execute_changes(
                    context, plan, desired, recorded, on_outcome=self.on_outcome, live=self.rows
                )
                store.end(run)
        self.wire.rules = []
        claim_one_outcome_each(plan, run, self.heard)
        self.pass_(60)
        return run

    def context(
        self, run: str, desired: Desired, store: Store, lock: Lock, client: EntityClient
    ) -> RunContext:
        """What a run holds that begins now, as the pipeline makes it."""
        limits = structs.replace(self.service.limits, deadline_s=self.deadline_s)
        service = structs.replace(self.service, limits=limits)
        return RunContext(
            Settings(
                root=str(self.folder),
                manifests=(),
                service=service,
                workspaces={},
                store="",
                mark=self.rules.mark,
            ),
            desired,
            Dependencies(
                now=self.now,
                token=lambda: next(self._tokens),
                run_id=lambda: run,
                timing=self.timing,
                connections=self.wire,
                offload=self.offload,
            ),
            store,
            client,
            lock,
            ServiceLock(),
            self.stop,
            now=self.now,
            run=run,
            began=self.timing.monotonic(),
            locked_at=self.timing.monotonic(),
            fail_fast=self.fail_fast,
        )

    def apply(self, *entities: Entity, **how: Any) -> Run:
        return asyncio.run(self.apply_async(*entities, **how))

    def changes(self, *entities: Entity) -> list[tuple[str, str]]:
        """What a plan would do now."""

        async def work() -> list[tuple[str, str]]:
            with self.store() as store:
                async with self.client() as client:
                    plan, _ = await self.plan(desire(*entities), store, client)
            return [(type(change).__name__.lower(), str(change.address)) for change in plan.changes]

        return asyncio.run(work())

    async def push(self, device_id: str, result: str) -> None:
        """One push to a device, that its platform takes (`ok`) or refuses (`fail`)."""
        async with httpx2.AsyncClient(
            transport=self.wire.inner, base_url=ORIGIN, auth=("demo", "demo")
        ) as client:
            answer = await client.post(f"/_sandbox/devices/{device_id}/push", json={"result": result})
            assert answer.status_code == 200

    def recorded(self) -> Recorded:
        with self.store() as store:
            return store.recorded(WORKSPACES)

    def live(self, kind: str = "contacts") -> list[dict[str, Any]]:
        """Everything of a kind at the service, whole."""

        async def work() -> list[dict[str, Any]]:
            async with self.client() as client:
                collection = getattr(client, kind)
                rows = await collection.list(workspace="AB12")
                return [(await collection.get(row.remote_id, workspace="AB12")).body for row in rows]

        return asyncio.run(work())


def claim_one_outcome_each(plan: Plan, run: Run, heard: list[Outcome]) -> None:
    """Law 7: every change of the plan ends in exactly one outcome, in the report and while it runs."""
    assert [outcome.address for outcome in run.outcomes] == [change.address for change in plan.changes]
    assert sorted(heard, key=lambda one: one.address) == sorted(run.outcomes, key=lambda one: one.address)


def results(run: Run) -> dict[str, str]:
    return {str(outcome.address): outcome.result for outcome in run.outcomes}


def only(run: Run) -> Outcome:
    assert len(run.outcomes) == 1
    return run.outcomes[0]


async def edit(client: EntityClient, email: str, **fields: Any) -> None:
    """Change a contact as somebody else would."""
    rows = await client.contacts.search(Query({"workEmailAddress1": email}), workspace="AB12")
    found = await client.contacts.get(rows[0].remote_id, workspace="AB12")
    await client.contacts.replace(found.remote_id, {**found.body, **fields}, workspace="AB12")


async def jane_is_made(client: EntityClient) -> None:
    await client.contacts.create(make_create_body(person()), workspace="AB12")
