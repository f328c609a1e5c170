"""Traces and metrics, as a collector gets them that speaks the protocol; and as one that does not."""

import json
import re
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import collector as kinds_of_answer
import pytest
from cli.hands import PLAIN, Project, Service
from cli.test_resume import cut_off
from collector import Collector, Told, collecting
from copies import copied
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SentSpan
from waiting import patience_s

from reconciler.cli.telemetry.otlp import CollectorSession, Otlp
from reconciler.cli.telemetry.recording import AskedSignals, Telemetry, find_wanted_signals
from reconciler.errors import LockHeld
from reconciler.instrumentation import ATTRIBUTES, SPANS
from reconciler.report.metrics import METRICS, Metric
from reconciler.sandbox.app import SandboxConfig, running_sandbox

ROOT = Path(__file__).parents[2]
JSON = ("--format", "json")
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
AT_ONCE = {"OTEL_EXPORTER_OTLP_TIMEOUT": "0.2"}  # seconds: whoever does not answer is given up soon
UNDELIVERED = "telemetry was not delivered completely"


@dataclass
class Traced(Project):
    """A project whose commands have these variables besides."""

    more: dict[str, str] = field(default_factory=dict)

    def environ(self, service: Service) -> dict[str, str]:
        return {**super().environ(service), **self.more}


class Done(NamedTuple):
    """A command that has ended, and what was sent of it."""

    code: int
    out: str
    err: str
    sent: Collector

    @property
    def root(self) -> Told:
        """The span of the command."""
        (found,) = [one for one in self.sent.spans() if one.name.startswith("reconciler ")]
        return found

    def calls(self) -> list[Told]:
        """The spans of its calls."""
        return [one for one in self.sent.spans() if one.kind == SentSpan.SPAN_KIND_CLIENT]


class Life:
    """What is done in one project, each command with a collector of its own."""

    def __init__(self, folder: Path, service: Service) -> None:
        copied(ROOT / "examples" / "quickstart", folder)
        (folder / ".git").mkdir()
        self.project, self.service = Traced(folder), service
        self.done: dict[str, Done] = {}

    def run(self, name: str, *arguments: str, **more: str) -> None:
        with collecting() as sent:
            self.project.more = {**sent.environ, "TRACEPARENT": TRACEPARENT, **more}
            ended = self.project.run(self.service, *arguments)
        self.done[name] = Done(ended.returncode, ended.stdout, ended.stderr, sent)

    def is_killed(self) -> None:
        with collecting() as sent:
            self.project.more = {**sent.environ, "OTEL_BSP_SCHEDULE_DELAY": "20"}
            cut_off(self.project, self.service, lambda process: process.kill())
        self.done["killed"] = Done(-signal.SIGKILL, "", "", sent)


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Done]]:
    """Every kind of end that a command can have, in one project."""
    with running_sandbox(SandboxConfig(latency_ms=60)) as where:
        life = Life(tmp_path_factory.mktemp("life") / "project", Service(where))
        life.is_killed()
        life.run("resume", "resume", *JSON)
        life.run("nothing to resume", "resume")
        jane = life.service.contacts()["Jane"]
        life.service.rename(jane, "Changed elsewhere")
        life.run("plan", "plan", *JSON)
        life.run("drift", "drift", *JSON)
        life.run("apply", "apply", "--yes", *JSON)
        life.run("adopt", "adopt", "--all", "--yes", *JSON)
        life.run("validate", "validate")
        life.service.call("POST", "/_sandbox/faults", {"fault": "refused-before", "path": "*/contacts"})
        life.run("retried", "plan", *JSON)
        life.run("unauthorized", "plan", SVC_PASSWORD="wrong")
        life.run("usage", "apply", *JSON)
        yield life.done


ENDED = (
    "resume",
    "nothing to resume",
    "plan",
    "drift",
    "apply",
    "adopt",
    "validate",
    "unauthorized",
    "usage",
)


@pytest.mark.parametrize("name", ENDED)
def test_a_command_is_one_tree_below_the_span_of_its_caller(life: dict[str, Done], name: str) -> None:
    """The trace of a CI job goes on in it, and nothing hangs in the air."""
    done = life[name]
    spans = done.sent.spans()
    ids = {one.id for one in spans}

    assert {one.trace for one in spans} == {TRACE}
    assert [one for one in spans if one.parent not in ids] == [done.root]
    assert done.root.parent == PARENT
    assert len(ids) == len(spans)
    assert all(one.seconds > 0 for one in spans), spans
    assert sum(one.events for one in spans) == 0, "an exception is an event, and names people"


@pytest.mark.parametrize("name", ENDED)
def test_the_span_of_a_command_says_how_it_ended(life: dict[str, Done], name: str) -> None:
    """With the exit code, and the word and the code that its output has."""
    root = life[name].root

    assert root.about["process.exit.code"] == life[name].code
    assert root.failed is (life[name].code not in (0, 2))
    if name == "unauthorized":
        about = {
            key: root.about[key] for key in ("reconciler.outcome", "error.type", "reconciler.error.code")
        }
        assert about == {
            "reconciler.outcome": "failed",
            "error.type": "Unauthorized",
            "reconciler.error.code": re.findall(r"\[(E\d+)\]", life[name].err)[-1],
        }


def alone(project: Project, service: Service, *arguments: str, **more: str) -> Done:
    """A command in a project of its own, with a collector."""
    with collecting() as sent:
        traced = Traced(project.folder, {**sent.environ, "TRACEPARENT": TRACEPARENT, **more})
        ended = traced.run(service, *arguments)
    return Done(ended.returncode, ended.stdout, ended.stderr, sent)


# What the two tests above claim of every end, of one command: quicker, for whoever changes something.


def test_a_plan_is_good_and_below_the_span_of_its_caller(project: Project, service: Service) -> None:
    """Changes that are found are no error: exit code 2 says that there is work."""
    root = alone(project, service, "plan", "--detailed-exitcode").root

    assert (root.trace, root.parent) == (TRACE, PARENT)
    assert (root.about["process.exit.code"], root.failed) == (2, False)


def test_a_refused_plan_is_told_by_the_kind_of_its_error(project: Project, service: Service) -> None:
    """Its text may name somebody."""
    root = alone(project, service, "plan", SVC_PASSWORD="wrong").root

    assert (root.failed, root.about["error.type"]) == (True, "Unauthorized")


def test_only_a_try_that_is_not_the_first_was_sent_again(project: Project, service: Service) -> None:
    calls = alone(project, service, "plan").calls()

    assert calls
    assert [one for one in calls if "http.request.resend_count" in one.about] == []


def test_a_call_is_told_by_its_template(project: Project, service: Service) -> None:
    """A path has ids, a query has names of people, and a change its address."""
    spans = alone(project, service, "apply", "--yes").sent.spans()

    told = {str(one.about["url.template"]) for one in spans if one.kind == SentSpan.SPAN_KIND_CLIENT}
    assert {"/contacts", "/contacts/{id}"} <= told
    assert [one for one in told if "?" in one or re.search("[0-9A-F]{16}", one)] == []
    assert {one.about.get("reconciler.workspace") for one in spans} <= {None, "default"}


@pytest.mark.parametrize("name", ["resume", "apply", "adopt"])
def test_what_is_counted_is_what_the_report_counts(life: dict[str, Done], name: str) -> None:
    """Two truths about one run would be none: spans, metrics and JSON say the same."""
    done = life[name]
    report = json.loads(done.out)
    outcomes = Counter(one["result"] for one in report["outcomes"])
    changes = [one for one in done.sent.spans() if "reconciler.result" in one.about]

    assert done.root.about["reconciler.run.id"] == report["run"]
    assert _by(done, "outcomes", "result") == {
        **dict.fromkeys(_by(done, "outcomes", "result"), 0),
        **outcomes,
    }
    assert _by(done, "calls", "method") == report["calls"]
    assert Counter(one.about["http.request.method"] for one in done.calls()) == report["calls"]
    assert sum(count for count, _ in done.sent.durations().values()) == sum(report["calls"].values())
    assert all(seconds > 0 for _, seconds in done.sent.durations().values())
    for method, number in report["calls"].items():
        assert done.root.about[f"reconciler.calls.{method}"] == number
    if name == "apply":
        assert Counter(one.about["reconciler.result"] for one in changes) == outcomes
        assert [one.name for one in changes] == ["update contact"]


def test_a_plan_and_its_drift_are_counted_as_their_reports_do(life: dict[str, Done]) -> None:
    plan, drift = json.loads(life["plan"].out), json.loads(life["drift"].out)
    updates = sum(one["action"] == "update" for one in plan["plan"]["changes"])

    assert _by(life["plan"], "planned_changes", "action")["update"] == updates == 1
    assert life["plan"].root.about["reconciler.planned_changes.update"] == 1
    assert list(life["drift"].sent.gauges()["reconciler.drifted"].values()) == [len(drift["drifts"])]
    assert life["validate"].sent.gauges()["reconciler.mistakes"] == {(("command", "validate"),): 0}


def test_the_span_of_a_command_counts_over_kinds_and_workspaces(project: Project, service: Service) -> None:
    """A search for traces with deletes must not depend on which kind comes last."""
    with collecting() as collector:
        planned = json.loads(_plan(project, service, **collector.environ).stdout)

    done = Done(2, "", "", collector)
    kinds = {one["address"].partition("/")[0] for one in planned["plan"]["changes"]}
    assert kinds == {"contact", "device", "resource"}
    assert done.root.about["reconciler.planned_changes.create"] == len(planned["plan"]["changes"])


def _by(done: Done, metric: str, label: str) -> dict[str, float]:
    found: Counter[str] = Counter()
    for labels, value in done.sent.gauges()[f"reconciler.{metric}"].items():
        found[str(dict(labels)[label])] += int(value)
    return dict(found)


def test_every_metric_of_the_report_is_sent_and_no_other(life: dict[str, Done]) -> None:
    """One table says which there are."""
    ours = {f"reconciler.{name}" for name in METRICS}

    assert set().union(*(life[name].sent.gauges() for name in ("plan", "drift", "apply", "resume"))) == ours


def test_only_what_the_table_lists_is_sent(life: dict[str, Done]) -> None:
    """An attribute without a row is one that nobody has looked at."""
    names = [re.compile(re.sub(r"\{\w+\}", r"\\S+", row.name)) for row in SPANS.values()]
    spans = [one for done in life.values() for one in done.sent.spans()]
    counts = {*METRICS, "mistakes", "warnings"}

    assert [one.name for one in spans if not any(name.fullmatch(one.name) for name in names)] == []
    told = {key for one in spans for key in one.about if key.split(".")[1] not in counts}
    assert told <= set(ATTRIBUTES.values())


def test_the_page_lists_every_span_with_its_attributes() -> None:
    """Whoever makes a dashboard reads it there."""
    page = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    for row in SPANS.values():
        attributes = ", ".join(f"`{ATTRIBUTES[one]}`" for one in row.attributes)
        assert f"| `{row.name}` | {row.covers} | {attributes} |\n" in page
    assert {one for row in SPANS.values() for one in row.attributes} | {"error"} == set(ATTRIBUTES)


def test_a_call_is_told_as_the_conventions_of_http_say(life: dict[str, Done]) -> None:
    """So that what is bought or written for other programs shows it; the path with its ids stays here."""
    post = next(one for one in life["resume"].calls() if one.about["http.request.method"] == "POST")
    one = next(one for one in life["apply"].calls() if one.about["http.request.method"] == "PUT")

    assert post.about.items() >= {"http.response.status_code": 201, "server.address": "127.0.0.1"}.items()
    assert (one.name, one.about["url.template"]) == ("PUT /contacts/{id}", "/contacts/{id}")
    assert isinstance(one.about["server.port"], int)


def test_a_call_that_is_made_again_is_a_span_of_its_own(life: dict[str, Done]) -> None:
    """Else nobody sees that a slow plan was a service that refused."""
    first, again = (one for one in life["retried"].calls() if one.about["url.template"] == "/contacts")

    assert (first.about["http.response.status_code"], first.about["error.type"]) == (503, "503")
    assert (first.failed, "http.request.resend_count" in first.about) == (True, False)
    assert (again.failed, again.about["http.request.resend_count"]) == (False, 1)


def test_of_a_killed_run_arrives_what_was_sent_before(life: dict[str, Done]) -> None:
    """The next run knows nothing of it, and settles what the killed one left as ever."""
    spans = life["killed"].sent.spans()

    assert spans
    assert [one for one in spans if one.name.startswith("reconciler ")] == []
    assert (life["resume"].code, json.loads(life["resume"].out)["outcome"]) == (0, "done")
    assert "settle" in {one.name for one in life["resume"].sent.spans()}


def test_a_run_and_its_trace_know_each_other(life: dict[str, Done]) -> None:
    """Whoever has the one finds the other: the trace of the history is that of the caller."""
    context = json.loads(life["apply"].out)["context"]

    assert context["trace_id"] == f"1-{TRACE[:8]}-{TRACE[8:]}"


def test_nothing_is_said_where_all_is_well(life: dict[str, Done]) -> None:
    assert [name for name in ENDED if "telemetry" in life[name].err or "OTEL" in life[name].err] == []


# What is wrong with a collector, or with what OTEL_* says, never reaches the command.

BAD: Mapping[str, kinds_of_answer.Answer] = {
    "429, and come back in an hour": kinds_of_answer.status(429, retry_after="3600"),
    "503": kinds_of_answer.status(503),
    "400": kinds_of_answer.status(400),
    "no HTTP": kinds_of_answer.garbage,
    "headers that are none": kinds_of_answer.headless,
    "silence": kinds_of_answer.silence,
    "an error without end": kinds_of_answer.flood(500),
}


def _plan(project: Project, service: Service, **more: str) -> "subprocess.CompletedProcess[str]":
    return project.run(service, "plan", "--detailed-exitcode", *JSON, env=more)


def _same(one: str, other: str) -> bool:
    """Whether two plans in JSON say the same, but for when and with which salt each was made."""
    moments = re.compile(r'"(created_at|expires_at|fingerprint|manifest_digest|pushToken)": "[^"]*"')
    return moments.sub("", one) == moments.sub("", other)


@pytest.mark.parametrize("answer", BAD)
def test_a_bad_collector_changes_nothing_but_a_note(project: Project, service: Service, answer: str) -> None:
    """People are reached, or not, whatever becomes of a trace."""
    good = _plan(project, service)
    with collecting(BAD[answer]) as collector:
        done = _plan(project, service, **collector.environ, **AT_ONCE)

    assert (done.returncode, _same(done.stdout, good.stdout)) == (good.returncode, True)
    assert _is_one_note(done.stderr), done.stderr


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_no_redirect_of_a_collector_is_followed(project: Project, service: Service, code: int) -> None:
    """Its token would go to another origin, and a look at the `Location` is no delivery."""
    with collecting() as other:
        elsewhere = f"{other.address.replace('127.0.0.1', 'localhost')}/v1/traces"
        with collecting(kinds_of_answer.status(code, location=elsewhere)) as sent:
            key = {"OTEL_EXPORTER_OTLP_HEADERS": "api-key=canary"}
            ended = _plan(project, service, **sent.environ, **key, **AT_ONCE)

    assert sent.asked > 0
    assert (other.asked, other.headers) == (0, [])
    assert (ended.returncode, _is_one_note(ended.stderr)) == (2, True), ended.stderr


def test_a_collector_gets_no_login_that_nobody_gave_it(project: Project, service: Service) -> None:
    """`netrc` holds logins for every program of this account; it is never read."""
    home = project.folder / "home"
    home.mkdir()
    for name in (".netrc", "_netrc", "other"):
        text = "machine 127.0.0.1 login u password canary\ndefault login u password canary\n"
        (home / name).write_text(text)
        (home / name).chmod(0o600)
    for more in ({}, {"NETRC": str(home / "other")}):
        with collecting() as sent:
            key = {"OTEL_EXPORTER_OTLP_HEADERS": "api-key=ours", "HOME": str(home)}
            assert _plan(project, service, **sent.environ, **key, **more).returncode == 2

        assert sent.headers
        assert {one.get("api-key") for one in sent.headers} == {"ours"}
        assert not [one for one in sent.headers if "authorization" in one]


@pytest.mark.parametrize("packed", [False, True])
def test_of_an_answer_no_more_is_read_than_is_needed(*, packed: bool) -> None:
    """A collector that answers gigabytes, or what unpacks to them, took 1.3 GiB of the job's memory."""
    with collecting(kinds_of_answer.flood(200, packed=packed)) as sent, CollectorSession() as session:
        answer = session.post(sent.address, data=b"", timeout=patience_s)

    assert (answer.status_code, answer.reason) == (200, "OK")
    assert answer.raw.getbuffer().nbytes <= 65_536


def test_telemetry_goes_through_no_proxy(project: Project, service: Service) -> None:
    """Whoever may set variables of a job would see where it goes, and what is in it."""
    with collecting() as proxy, collecting() as sent:
        names = ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
        proxies = {**dict.fromkeys(names, proxy.address), "NO_PROXY": "", "no_proxy": ""}
        ended = _plan(project, service, **sent.environ, **proxies)

    assert (ended.returncode, ended.stderr) == (2, "")
    assert sent.asked > 0
    assert proxy.asked == 0


def test_no_collector_at_all_changes_nothing_but_a_note(project: Project, service: Service) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    done = _plan(project, service, OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{port}", **AT_ONCE)

    assert (done.returncode, json.loads(done.stdout)["outcome"]) == (2, "changes")
    assert _is_one_note(done.stderr), done.stderr


def test_a_command_does_not_wait_for_a_collector_that_never_ends(project: Project, service: Service) -> None:
    """A byte now and then passes every timeout of the library."""
    with collecting(kinds_of_answer.trickle) as collector:
        done = _plan(project, service, **collector.environ)
        assert (done.returncode, _is_one_note(done.stderr)) == (2, True)


def _is_one_note(err: str) -> bool:
    lines = err.splitlines()
    return len(lines) == 2 and lines[0].startswith(UNDELIVERED) and lines[1].startswith("  next: ")


def test_a_signal_while_it_is_delivered_takes_no_more_than_that(project: Project, service: Service) -> None:
    """All is printed and done: it is no interrupted command."""
    with collecting(kinds_of_answer.silence) as collector:
        env = {**collector.environ, "OTEL_EXPORTER_OTLP_TIMEOUT": "60"}
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with project.start(service, "plan", "--detailed-exitcode", env=env, **pipes) as command:
            assert command.stdout is not None
            while "Nothing was written." not in (line := command.stdout.readline()):
                assert line
            kinds_of_answer.until_asked(collector)
            command.terminate()
            _, err = command.communicate(patience_s)

    assert (command.returncode, err) == (2, "")


UNUSABLE: Mapping[str, tuple[dict[str, str], str]] = {
    "a size": ({"OTEL_BSP_MAX_QUEUE_SIZE": "-1"}, "cannot be set up (ValueError)"),
    "an exporter": ({"OTEL_TRACES_EXPORTER": "canary"}, "OTEL_TRACES_EXPORTER names an unknown exporter"),
    "a protocol": (
        {"OTEL_EXPORTER_OTLP_PROTOCOL": "canary"},
        "OTEL_EXPORTER_OTLP_PROTOCOL names an unsupported protocol",
    ),
    "an address": ({"OTEL_EXPORTER_OTLP_ENDPOINT": "canary"}, UNDELIVERED),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_variables_that_cannot_be_used_are_one_note(project: Project, service: Service, case: str) -> None:
    """What stands in them is not shown: it may be a token in the wrong place."""
    more, said = UNUSABLE[case]
    with collecting() as collector:
        done = _plan(project, service, **{**collector.environ, **AT_ONCE, **more})

    assert (done.returncode, json.loads(done.stdout)["outcome"]) == (2, "changes")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 2
    assert "canary" not in done.stderr


class Broken:
    """A library that raises, whatever it is asked for."""

    def __getattr__(self, name: str) -> NoReturn:
        raise RuntimeError(name)


def test_what_the_library_raises_stays_there() -> None:
    """A sampler of somebody else runs in it. What is recorded goes on, and its own errors are as ever."""
    otlp = Otlp("reconciler plan", {}, traces=False, metrics=False)
    otlp._tracer = otlp._duration = otlp._root = Broken()  # type: ignore[assignment]  # on purpose
    telemetry, done = Telemetry({}), []
    telemetry._otlp = otlp

    with otlp.record("call", {"method": "GET", "template": "/contacts"}):
        done.append("called")
    with pytest.raises(LockHeld), otlp.record("lock", {}):
        raise LockHeld("held")
    telemetry.measured([Metric("calls", "x", (({}, 1.0),))])
    telemetry.end(0)

    assert done == ["called"]


WITHOUT = "import sys; sys.modules['opentelemetry'] = None; "
RUN = (
    "from reconciler.cli.main import run; code = run(sys.argv[1:]); "
    "print(*sys.modules, file=sys.stderr); sys.exit(code)"
)


def _cold(code: str, folder: Path, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env={**PLAIN, "PYTHONPATH": str(ROOT), **more},
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )


def test_where_the_library_is_missing_the_command_goes_on(project: Project) -> None:
    """It is an extra, and a machine without it reaches people all the same."""
    done = _cold(WITHOUT + RUN, project.folder, "validate", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")

    assert (done.returncode, done.stdout) == (
        0,
        "no mistakes. Declared: 3 contacts, 1 device, 1 resource in 1 workspace.\n",
    )
    assert done.stderr.startswith("OTEL_* asks for telemetry, but the library for it is not installed.")
    assert "-m pip install 'opentelemetry-exporter-otlp-proto-http>=1.30'" in done.stderr


def test_without_being_asked_nothing_of_the_library_is_imported(project: Project) -> None:
    """It takes a tenth of a second, and most people have no collector."""
    done = _cold("import sys; " + RUN, project.folder, "validate", TRACEPARENT=TRACEPARENT)

    assert done.returncode == 0
    loaded = set(done.stderr.split())
    assert {"reconciler.pipeline", "reconciler.cli.telemetry.recording"} <= loaded
    assert [one for one in loaded if one.startswith(("opentelemetry", "requests", "google"))] == []
    assert "reconciler.cli.telemetry.otlp" not in loaded


ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
ASKED: Mapping[str, tuple[dict[str, str], tuple[bool, bool]]] = {
    "nothing": ({}, (False, False)),
    "an endpoint": ({ENDPOINT: "http://c:4318"}, (True, True)),
    "an endpoint that is empty": ({ENDPOINT: ""}, (False, False)),
    "an endpoint for traces": ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/t"}, (True, False)),
    "an endpoint for metrics": ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://c/m"}, (False, True)),
    "an exporter alone": ({"OTEL_TRACES_EXPORTER": "otlp"}, (True, False)),
    "no traces": ({ENDPOINT: "http://c", "OTEL_TRACES_EXPORTER": "none"}, (False, True)),
    "no metrics": ({ENDPOINT: "http://c", "OTEL_METRICS_EXPORTER": "None"}, (True, False)),
    "disabled": ({ENDPOINT: "http://c", "OTEL_SDK_DISABLED": "TRUE"}, (False, False)),
    "not disabled": ({ENDPOINT: "http://c", "OTEL_SDK_DISABLED": "1"}, (True, True)),
    "its protocol": ({ENDPOINT: "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, (True, True)),
    "a name alone": ({"OTEL_SERVICE_NAME": "x", "TRACEPARENT": TRACEPARENT}, (False, False)),
}


@pytest.mark.parametrize("case", ASKED)
def test_a_signal_is_recorded_where_a_variable_asks_for_it(case: str) -> None:
    environ, (traces, metrics) = ASKED[case]

    assert find_wanted_signals(environ) == AskedSignals(traces, metrics)


def test_another_protocol_is_said_and_turns_off_its_signal_alone() -> None:
    """Half a configuration for another program is common: `grpc` beside a port of its own."""
    asked = find_wanted_signals({ENDPOINT: "http://c", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc"})

    assert (asked.traces, asked.metrics) == (True, False)
    assert asked.trouble.startswith("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL names an unsupported protocol")


def test_what_else_the_variables_say_the_library_does(project: Project, service: Service) -> None:
    """Names, attributes, headers and compression are as for every other program."""
    more = {
        "OTEL_SERVICE_NAME": "people",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=staging",
        "OTEL_EXPORTER_OTLP_HEADERS": "x-token=canary",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
    }
    with collecting() as collector:
        done = _plan(project, service, **collector.environ, **more)

    assert (done.returncode, done.stderr) == (2, "")
    assert all(
        one.items() >= {"service.name": "people", "deployment.environment.name": "staging"}.items()
        for one in collector.resources()
    )
    assert {(one["x-token"], one["content-encoding"]) for one in collector.headers} == {("canary", "gzip")}
    assert [body for body in collector.bodies if b"canary" in body] == []


PARENTS: Mapping[str, tuple[str, bool]] = {
    "not sampled": (f"00-{TRACE}-{PARENT}-00", False),
    "no traceparent": ("canary", True),
    "of nobody": (f"00-{'0' * 32}-{PARENT}-01", True),
}


@pytest.mark.parametrize("case", PARENTS)
def test_who_started_the_command_decides_whether_it_is_traced(
    project: Project, service: Service, case: str
) -> None:
    """What cannot be read begins a trace of its own; metrics are of no trace."""
    traceparent, traced = PARENTS[case]
    with collecting() as collector:
        done = _plan(project, service, **collector.environ, TRACEPARENT=traceparent)

    assert (done.returncode, done.stderr) == (2, "")
    assert bool(collector.spans()) is traced
    assert {one.trace for one in collector.spans()}.isdisjoint({TRACE, "0" * 32})
    assert collector.gauges()["reconciler.exit_code"]
