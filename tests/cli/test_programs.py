"""What a program gets that plans and applies: the same as the command, as values and errors.

Only `from reconciler import ...`, as somebody would write it who installed the package; the sandbox stands in
for the service. The programs of the page are run by tests/project/test_library.py.
"""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import warm
from cli.hands import Project as Folder
from cli.hands import Service
from waiting import patience_s, until

import reconciler
from reconciler import (
    Consent,
    InputError,
    LockHeld,
    ManifestError,
    Options,
    Outcome,
    Project,
    Proposal,
    Refused,
    SettingsError,
    StalePlan,
    Unauthorized,
    Unavailable,
    UnknownAddress,
    UnsafePlan,
    apply_async,
    plan_async,
    read_plan,
    write_plan,
)

Opened = Callable[..., Project]


@pytest.fixture
def opened(project: Folder, service: Service) -> Opened:
    """`opened(SVC_USER="wrong")`: the project as a program opens it, with these variables."""

    def call(**variables: str) -> Project:
        return Project(project.folder, environ={**project.environ(service), **variables})

    return call


def everything(_: Proposal) -> bool:
    return True


def nobody(_: Proposal) -> bool:
    return False


# What is planned, and what of it is done.


def test_a_plan_sends_nothing_but_get_and_makes_no_store(
    opened: Opened, project: Folder, service: Service
) -> None:
    proposal = reconciler.plan(opened())

    assert (proposal.safe, proposal.empty, proposal.plan.count("create")) == (True, False, 5)
    assert service.writes() == []
    assert not (project.folder / ".reconciler" / "store.db").exists()


def test_an_approved_plan_is_carried_out_once(opened: Opened, service: Service) -> None:
    told: list[Outcome] = []
    project = opened()

    run = reconciler.apply(project, reconciler.plan(project).plan, ended=told.append)

    assert (run.exit_code, run.count("applied")) == (0, 5)
    assert {one.address for one in told} == {one.address for one in run.outcomes}
    assert len(service.contacts()) == 3
    assert reconciler.plan(project).empty
    assert reconciler.apply(project, everything).outcomes == ()


def test_a_proposal_as_json_is_what_the_command_prints(
    opened: Opened, project: Folder, service: Service
) -> None:
    """But for the moment, and what is drawn by chance."""
    printed = warm.run(
        "plan", "--format", "json", "--detailed-exitcode", cwd=project.folder, env=project.environ(service)
    )

    document = json.loads(reconciler.plan(opened()).json())

    assert printed.returncode == document["exit_code"] == 2
    assert steady(document) == steady(json.loads(printed.stdout))


def steady(document: Any) -> Any:
    """The document without what two plans of one state differ in: times, and masks, which each plan salts."""
    if isinstance(document, dict):
        moving = {"created_at", "expires_at", "read_at", "fingerprint", "manifest_digest"}  # digests of both
        return {key: steady(one) for key, one in document.items() if key not in moving}
    if isinstance(document, list):
        return [steady(one) for one in document]
    return "masked" if isinstance(document, str) and document.startswith("secret:") else document


def test_a_plan_file_is_that_of_the_command(opened: Opened, project: Folder, service: Service) -> None:
    """Either may review, or apply, what the other wrote."""
    path = project.folder / "plan.json"
    write_plan(path, reconciler.plan(opened()).plan)
    assert path.stat().st_mode & 0o777 == 0o600
    applied = warm.run("apply", "plan.json", cwd=project.folder, env=project.environ(service))
    assert applied.returncode == 0, applied.stderr

    project.edit("jobTitle: Engineer", "jobTitle: Lead")
    planned = warm.run("plan", "-o", "plan.json", cwd=project.folder, env=project.environ(service))
    assert planned.returncode == 0, planned.stderr
    assert reconciler.apply(opened(), read_plan(path)).count("applied") == 1


def test_options_choose_what_is_planned(opened: Opened, service: Service) -> None:
    project = opened()
    jane = Options(only=("contact/default/jane-doe",))
    assert reconciler.plan(project, options=jane).plan.count("create") == 1

    assert reconciler.apply(project, everything, options=jane).count("applied") == 1
    assert list(service.contacts()) == ["Jane"]
    with pytest.raises(UnknownAddress):
        reconciler.plan(project, options=Options(only=("contact/default/jane-deo",)))


# What is refused, and when.


def test_what_nobody_approves_is_not_written(opened: Opened, service: Service) -> None:
    with pytest.raises(Refused, match="not approved"):
        reconciler.apply(opened(), nobody)
    assert service.writes() == []


def test_a_plan_that_is_not_so_any_more_is_not_applied(opened: Opened, service: Service) -> None:
    project = opened()
    old = reconciler.plan(project).plan
    reconciler.apply(project, everything)
    before = service.writes()

    with pytest.raises(StalePlan):
        reconciler.apply(project, old)
    assert service.writes() == before


def test_the_guard_refuses_until_somebody_consents(opened: Opened, project: Folder, service: Service) -> None:
    strict = {"RECONCILER_GUARD_DELETES_MAX": "0"}
    reconciler.apply(opened(), everything)
    text = project.manifest.read_text()
    start, end = text.index("  sam-lee:"), text.index("  ada-king:")
    project.manifest.write_text(text[:start] + text[end:])

    proposal = reconciler.plan(opened(**strict))
    assert not proposal.safe
    assert [reason.rule for reason in proposal.verdict.reasons] == ["G1"]
    with pytest.raises(UnsafePlan):
        reconciler.apply(opened(**strict), proposal.plan)
    assert "Sam" in service.contacts()

    consent = Consent(deletes=1)
    assert reconciler.plan(opened(**strict), consent=consent).safe
    assert reconciler.apply(opened(**strict), everything, consent=consent).count("applied") == 1
    assert "Sam" not in service.contacts()


def test_options_beside_a_plan_are_refused(opened: Opened) -> None:
    project = opened()
    plan = reconciler.plan(project).plan
    with pytest.raises(InputError, match="belong to the plan"):
        reconciler.apply(project, plan, options=Options(only=("contact/*",)))


def test_one_run_at_a_time(opened: Opened) -> None:
    project = opened()

    def meddling(_: Proposal) -> bool:
        with pytest.raises(LockHeld):
            asyncio.run(apply_async(project, everything))
        return True

    async def aside() -> int:
        return (await apply_async(project, lambda one: threaded(lambda: meddling(one)))).exit_code

    assert asyncio.run(aside()) == 0


def threaded(work: Callable[[], bool]) -> bool:
    """What `work` returns, in a thread in which no event loop runs."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def test_in_a_loop_the_other_functions_are_named(opened: Opened) -> None:
    async def work() -> None:
        reconciler.plan(opened())

    with pytest.raises(InputError, match="event loop") as raised:
        asyncio.run(work())
    assert "plan_async" in raised.value.next


# What is wrong is an error of ours, told once.


def test_every_mistake_of_the_manifests_is_a_value(opened: Opened, project: Folder) -> None:
    project.edit("firstName: Sam", "firstNmae: Sam")
    project.edit("firstName: Ada", "fristName: Ada")

    with pytest.raises(ManifestError) as raised:
        reconciler.plan(opened())
    assert [(Path(one.file).name, one.line > 0) for one in raised.value.problems] == [("team.yaml", True)] * 2


def test_settings_that_are_not_there_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        reconciler.plan(Project(tmp_path, environ={}))


@pytest.mark.parametrize("strict", ["never", "always"])
def test_refused_credentials_are_one_error_and_not_shown(opened: Opened, strict: str) -> None:
    """Lists are read side by side, so several of them are refused at once."""
    with pytest.raises(Unauthorized) as raised:
        reconciler.plan(opened(SVC_PASSWORD="wrong-canary", RECONCILER_STRICT_SCOPES=strict))
    assert "canary" not in f"{raised.value} {raised.value.next}"


def test_nobody_at_the_other_end_is_an_error(opened: Opened) -> None:
    address = {"RECONCILER_SERVICE_BASE_URL": "http://127.0.0.1:9"}
    with pytest.raises(Unavailable):
        reconciler.plan(opened(**address, RECONCILER_SERVICE_LIMITS_DEADLINE_S="2"))


def test_nothing_is_printed(opened: Opened, capfd: pytest.CaptureFixture[str]) -> None:
    reconciler.apply(opened(), everything)
    assert tuple(capfd.readouterr()) == ("", "")


# A program that ends in the middle.


def test_cancelled_while_it_writes_it_finishes_what_is_under_way(opened: Opened, service: Service) -> None:
    """Nothing is in doubt afterwards, nobody is there twice, and the next run does the rest."""
    project = opened(RECONCILER_SERVICE_LIMITS_CONCURRENCY="1")
    slow = {"fault": "latency", "method": "POST", "path": "/contacts", "nth": 2, "seconds": 2}
    service.call("POST", "/_sandbox/faults", slow)

    async def work() -> None:
        first = asyncio.Event()
        applying = asyncio.create_task(apply_async(project, everything, ended=lambda _: first.set()))
        await first.wait()
        await asyncio.to_thread(until, lambda: lasting(service), "the second contact, which takes long")
        applying.cancel()
        await applying

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(work())
    assert 0 < created(service) == len(service.contacts()) < 3
    history = warm.run("history", cwd=Path(project.folder), env=dict(project.variables))
    assert (history.returncode, history.stdout.count("in doubt")) == (0, 0)

    proposal = reconciler.plan(project)
    assert (proposal.plan.skips, proposal.plan.adoptions) == ((), ())
    assert reconciler.apply(project, proposal.plan).exit_code == 0
    assert created(service) == len(service.contacts()) == 3


def lasting(service: Service) -> bool:
    """Whether a request is under way that does not end: no look takes as long as so many questions."""
    return all(service.call("GET", "/_sandbox/requests")["under_way"] for _ in range(30))


def created(service: Service) -> int:
    """How many contacts it was asked to create."""
    return service.writes().count(("POST", "/contacts"))


def test_cancelled_before_it_writes_nothing_is_written(opened: Opened, service: Service) -> None:
    project = opened(RECONCILER_SERVICE_LIMITS_REQUESTS_PER_SECOND="1")

    async def work() -> None:
        async with asyncio.timeout(0.5):
            await apply_async(project, everything)

    with pytest.raises(TimeoutError):
        asyncio.run(work())
    assert service.writes() == []
    assert asyncio.run(plan_async(opened())).plan.count("create") == 5


def test_a_mistake_of_the_program_stops_the_run_and_is_raised(opened: Opened, service: Service) -> None:
    """Of one that fails when it hears of an outcome nobody knows what it would have done next."""

    def failing(_: Outcome) -> None:
        raise LookupError("of the program")

    project = opened()
    with pytest.raises(LookupError):
        reconciler.apply(project, everything, ended=failing)
    assert reconciler.apply(project, everything).exit_code == 0
    assert created(service) == 3


INTERRUPTED = """
import reconciler

def ended(outcome):
    print(outcome.address, flush=True)

try:
    reconciler.apply(reconciler.Project("."), lambda proposal: True, ended=ended)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_lets_writes_end(opened: Opened, project: Folder, service: Service) -> None:
    environ = {**project.environ(service), "RECONCILER_SERVICE_LIMITS_REQUESTS_PER_SECOND": "4"}
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        cwd=project.folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=patience_s)

    assert (process.returncode, err) == (0, "")
    assert out.splitlines()[-1] == "interrupted"
    service.ends()
    assert reconciler.plan(opened()).plan.skips == ()
    reconciler.apply(opened(), everything)
    assert created(service) == 3
