"""One project against one sandbox in process: the real client, store, planner and engine, no network.

For tests of more than one part. `World` counts what is sent at the transport, below everything
that could miscount.
"""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from clock import Clock
from msgspec import structs
from wire import Fault, Rule, Wire

from reconciler import pipeline
from reconciler.core.runs.recover import InterruptedRun
from reconciler.engine.context import StopFlag
from reconciler.messaging.client import open_service_client
from reconciler.model.plans import Change, Consent, Options, Plan
from reconciler.model.runs import Outcome, Run
from reconciler.model.secrets import Secret
from reconciler.model.settings import Auth, Limits, Service, Settings, WorkspaceRef
from reconciler.sandbox.app import SandboxConfig, create_app
from reconciler.sandbox.collections import Collection
from reconciler.service.http.limiter import Timing

T = TypeVar("T")
BASE = "http://127.0.0.1:8480"
AUTH = Auth(Secret("demo"), Secret("demo"), Secret("demo-key"))
# A push device without its token, which is one device's own.
PHONE: Mapping[str, str] = {
    "deviceName": "phone",
    "appId": "com.example.app",
    "platform": "GCM",
    "deviceOS": "Android 15",
    "deviceModel": "Pixel 9",
}
ALLOWED = Consent(deletes=10_000, creates=10_000, updates=10_000)


def actions(plan: Plan) -> list[str]:
    """Return what a plan does, in its order: `Create`, `Update`, `Delete`."""
    return [type(change).__name__ for change in plan.changes]


class Agreeing:
    """Looks on, agrees to everything, and keeps what it saw."""

    def __init__(self) -> None:
        self.plan: pipeline.PlanResult | None = None
        self.compared: tuple[Plan, pipeline.PlanResult] | None = None
        self.outcomes: list[Outcome] = []
        self.waited: list[str] = []
        self.left: tuple[InterruptedRun, ...] = ()
        self.besides: tuple[Change, ...] = ()
        self.doubts: list[str] = []

    def planned(self, planned: pipeline.PlanResult) -> None:
        self.plan = planned

    def unfinished(self, runs: tuple[InterruptedRun, ...]) -> None:
        self.left = runs

    def doubtful(self, why: str) -> None:
        self.doubts.append(why)

    def beyond(self, changes: tuple[Change, ...]) -> None:
        self.besides = changes

    def waits(self, what: str) -> None:
        self.waited.append(what)

    def stale(self, saved: Plan, planned: pipeline.PlanResult) -> None:
        self.compared = (saved, planned)

    def agrees(self, _planned: pipeline.PlanResult) -> bool:
        return True

    def ended(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)


@dataclass
class World:
    """A folder with a project, a sandbox, and everything between them."""

    root: Path
    config: SandboxConfig = field(default_factory=SandboxConfig)
    workspaces: Mapping[str, WorkspaceRef] = field(default_factory=lambda: {"default": WorkspaceRef()})
    changes: Mapping[str, Any] = field(default_factory=dict)
    service: Mapping[str, Any] = field(default_factory=dict)  # fields of Service: format, profile
    environ: Mapping[str, str] = field(default_factory=dict)  # what manifests may read of it
    collections: Sequence[Collection] = ()  # what the sandbox serves besides

    def __post_init__(self) -> None:
        self.clock = Clock()
        self.config = replace(self.config, clock=self.clock)
        self.wire = Wire(httpx2.ASGITransport(app=create_app(self.config, collections=self.collections)))
        self.tokens = iter(f"token-{number:04d}" for number in range(100_000))
        self.runs = itertools.count(1)
        self.settings = Settings(
            root=str(self.root),
            manifests=("manifests",),
            service=Service(base_url=BASE, auth=AUTH, limits=Limits(requests_per_second=0, settle_s=0)),
            workspaces=self.workspaces,
            store="sqlite:///store.db",
            stack="test",
        )
        service = structs.replace(self.settings.service, **self.service)
        self.settings = structs.replace(self.settings, service=service, **self.changes)
        self.dependencies = pipeline.Dependencies(
            now=self.clock,
            token=self.tokens.__next__,
            run_id=lambda: f"00000000-0000-4000-8000-{next(self.runs):012d}",
            timing=Timing(self.clock.monotonic, self.clock.sleep, random=lambda: 0.5, now=self.clock),
            connections=self.wire,
        )

    def meets(self, fault: Fault, method: str = "", nth: int = 0) -> None:
        """Let this happen to the requests of a method (empty: to all), or to the nth of them from now on."""
        self.wire.rules.append(Rule(method, fault, nth))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what `work` returns; the time it sleeps passes for everybody here."""
        return self.clock.run(work)

    def write(self, manifest: Mapping[str, Any], name: str = "main.json") -> None:
        """Make this the project's manifest; JSON is the same language as YAML."""
        folder = self.root / "manifests"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps({"version": "1", "workspace": "default", **manifest}), "utf-8")

    def plan(
        self, *, options: Options | None = None, consent: Consent = ALLOWED, made_of: str = ""
    ) -> pipeline.PlanResult:
        """Plan, and claim that nothing but GET was sent."""
        before = len(self.wire.sent)
        desired = pipeline.load_declaration(self.settings, self.environ).desired
        planned = self.run(
            pipeline.plan(
                self.settings,
                desired,
                self.dependencies,
                options=options or Options(),
                consent=consent,
                made_of=made_of,
            )
        )
        assert {method for method, _ in self.wire.sent[before:]} <= {"GET"}, "a plan has written"
        return planned

    def apply(
        self,
        *,
        options: Options | None = None,
        consent: Consent = ALLOWED,
        saved: Plan | None = None,
        keep_undo: Callable[[Plan], None] | None = None,
    ) -> tuple[pipeline.PlanResult, Run]:
        """Apply, agreeing to whatever the plan is."""
        desired = pipeline.load_declaration(self.settings, self.environ).desired
        observer = Agreeing()
        run = self.run(
            pipeline.apply(
                self.settings,
                desired,
                self.dependencies,
                options=options or Options(),
                consent=consent,
                saved=saved,
                fail_fast=False,
                stop=StopFlag(),
                observer=observer,
                keep_undo=keep_undo,
            )
        )
        assert run is not None
        assert observer.plan is not None
        assert sorted(o.address for o in observer.outcomes) == sorted(o.address for o in run.outcomes)
        return observer.plan, run

    def apply_with_undo(self) -> Plan:
        """Apply, let a minute pass, and return the undo of the run."""
        kept: list[Plan] = []
        self.apply(keep_undo=kept.append)
        self.clock.pass_s(60)
        return kept[0]

    def undo(
        self,
        saved: Plan,
        *,
        consent: Consent = ALLOWED,
        stop: StopFlag | None = None,
        observer: Agreeing | None = None,
    ) -> Run:
        """Carry out the undo of a run."""
        run = self.run(
            pipeline.undo(
                self.settings,
                saved,
                self.dependencies,
                consent=consent,
                fail_fast=False,
                stop=stop or StopFlag(),
                observer=observer or Agreeing(),
            )
        )
        assert run is not None
        return run

    def resume(self, observer: Agreeing | None = None) -> Run | None:
        """Go on with what is unfinished, as the command does."""
        desired = pipeline.load_declaration(self.settings, self.environ).desired
        observer = observer or Agreeing()
        run = self.run(
            pipeline.resume(
                self.settings, desired, self.dependencies, stop=StopFlag(), observer=observer, fail_fast=False
            )
        )
        if run is not None:
            assert sorted(o.address for o in observer.outcomes) == sorted(o.address for o in run.outcomes)
        return run

    def client(self) -> Any:
        """Open a client of one's own, to edit at the service as another user."""
        return open_service_client(
            self.settings.service, timing=self.dependencies.timing, connections=self.wire
        )

    def behind_our_back(self, edit: Any) -> Any:
        """Run `edit(client)`, a coroutine function, and let a minute pass."""

        async def work() -> Any:
            async with self.client() as client:
                return await edit(client)

        result = self.run(work())
        self.clock.pass_s(60)
        return result

    def sent(self) -> Counter[str]:
        """How many requests left, by method, since the last call of this."""
        counts = Counter(method for method, _ in self.wire.sent)
        self.wire.sent.clear()
        return counts
