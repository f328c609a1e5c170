"""Every command, every failure that can be provoked: no secret in any sink, people only where they may be.

Reliability P12, S1, S2, S3: the sinks are stdout, stderr, the text of a crash, all loggers at DEBUG, the plan
file, and the bytes of the store with what stands beside it.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import effort
import pytest
import tally
from cli.hands import PLAIN
from hostile import canaries
from hostile.canaries import KEY, PASSWORD, Answer, Echo, Project, Sinks, echoing
from hostile.command import Ended
from service.socket_server import free_port
from waiting import patience_s

from reconciler.cli.main import COMMANDS
from reconciler.sandbox.app import SandboxConfig, running_sandbox
from reconciler.sandbox.server import running_app

ID = "4C8FE1A2B3D4E5F6"
PERSON = "+61491570110"
CANARY = "contact/default/canary"
JSON = ("--format", "json")
# For many readers: no value of a person is in them. What begins with `plan.json` may hold people.
REPORTS = tuple(
    word
    for name in ("markdown", "junit", "sarif", "github", "gitlab")
    for word in ("--report", f"{name}=report.{name}")
)
FULL_REPORTS = ("--report", "text=plan.json.text", "--report", "json=plan.json.report")

# What is run of each command, in this order in one project: what one leaves behind the next one meets.
LINES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "validate": (("validate", *REPORTS, "--report", "html=report.html"), ("validate", *JSON)),
    "plan": (("plan", "-o", "plan.json", "--full", *REPORTS, *FULL_REPORTS), ("plan", *JSON)),
    "rosters": (("rosters", "snapshot", "staff"), ("rosters", "snapshot", "staff", "-vv", "--check")),
    "fmt": (("fmt", "--diff"), ("fmt", "--check"), ("fmt",)),
    "export": (("export", "--into", "exported", "--devices"), ("export", "--into", "again", "--full", *JSON)),
    "show": (("show", "plan.json", "--full", *REPORTS), ("show", "plan.json", *JSON)),
    "apply": (
        ("apply", "plan.json", "-vv", "--log-file", "log.jsonl"),
        ("apply", "--yes", "--full", *REPORTS, *FULL_REPORTS),
        ("apply", "--yes", *JSON),
    ),
    "adopt": (("adopt", "--yes", "--all", "--full"),),
    "forget": (("forget", "--yes", "contact/default/nobody"),),
    "resume": (("resume", *REPORTS),),
    "drift": (
        ("drift", "--no-cache"),
        ("drift", "-vv", "--log-file", "log.jsonl"),
        ("drift", "--full", *REPORTS, *FULL_REPORTS),
        ("drift", *JSON),
    ),
    "init": (("init",), ("init", "below", *JSON)),
    "list": (("list",), ("list", "--format", "csv"), ("list", "--owned", *JSON)),
    "explain": (
        ("explain", CANARY),
        ("explain", CANARY, "--offline"),
        ("explain", CANARY, *JSON),
        ("explain", "E201"),
    ),
    "sync": (("sync", *REPORTS), ("sync", "--allow-dirty", *JSON)),
    "pause": (("pause", "--until", "2099-01-01T00:00:00Z", "--reason", "A holiday"),),
    "unpause": (("unpause",),),
    "undo": (("undo", "0123456789ab", "--yes", *REPORTS),),
    "approvals": (("approvals", "ask", "plan.json"), ("approvals", "list", *JSON)),
    "status": (("status",), ("status", "--all", *JSON)),
    "history": (("history",), ("history", *JSON)),
    "lock": (("lock",),),
    "unlock": (("unlock", "--force", "0123456789ab"),),
    "doctor": (("doctor",), ("doctor", *JSON)),
    "contacts": (
        ("contacts", "search", f"password={canaries.CONTACT_PASSWORD}"),
        ("contacts", "search", "--field", "workMobilePhone1", "--field", "workEmailAddress1"),
        ("contacts", "search", "--field", "secretQuestion", *JSON),
    ),
    "messages": (
        ("messages", "send", "--to", PERSON, "--subject", "a", "--body", "b"),
        ("messages", "bulk", "resource/default/x", "--sms", "a", "--subject", "a", "--body", "b"),
        ("messages", "list", *JSON),
        ("messages", "status", ID),
    ),
    "callbacks": (
        ("callbacks", "create", "on-call", "http://127.0.0.1:9/", "--key-env", "CALLBACK_KEY"),
        ("callbacks", "list"),
        ("callbacks", "get", ID, *JSON),
        ("callbacks", "update", ID, "--key-env", "CALLBACK_KEY", "--url", "http://127.0.0.1:9/x", "--yes"),
        ("callbacks", "mark", ID, ID, "--status", "success", "--yes", *JSON),
        ("callbacks", "calls", ID, *JSON),
    ),
    "workspaces": (("workspaces", "list"),),
    "config": (("config",), ("config", *JSON)),
    "schema": (("schema",),),
    "completion": (("completion", "bash"),),
}
FOR_GIT = (
    ".gitignore",
    ".pre-commit-config.yaml",
    ".github/",
    "below/",
)  # what `init` writes: everybody may read it
ELSEWHERE = {"sandbox": "a server of its own, without our credentials", "demo": "only the sandbox's own"}


def test_every_command_is_run_here() -> None:
    """A new command that nobody thought of is the one that tells."""
    assert {*LINES, *ELSEWHERE} >= set(COMMANDS)


def _json(told: str, _where: str) -> bytes:
    return json.dumps({"errorSummary": f"no {told}", "errorText": told, "link": []}).encode()


def _listing(_told: str, where: str) -> Answer:
    links = [
        {"uri": f"https://api.example.com{where}", "rel": rel, "method": "GET"} for rel in ("self", "next")
    ]
    row = {"id": ID, "firstName": "x", "name": "x", "projectName": "x", "subject": "x", "link": links}
    keys = ("contacts", "resources", "workspaces", "messages", "callbacks")
    return (
        200,
        {},
        json.dumps({**{key: [row] for key in keys}, "status": "1 to 1 of 1", "link": links, **row}).encode(),
    )


def _status(status: int, **headers: str) -> Echo:
    return lambda told, where: (status, headers, _json(told, where))


ECHOES: dict[str, Echo] = {
    "a request that is refused, echoed": _status(400),
    "credentials that are refused, echoed": _status(401),
    "a quota, its code the key": lambda told, where: (
        403,
        {"x-error-code": f"OVER_QPD {KEY}"},
        _json(told, where),
    ),
    "nobody there, echoed": _status(404),
    "a throttle, echoed": _status(429),
    "a fault of the service, echoed": _status(500),
    "a page in HTML": lambda told, where: (200, {}, f"<html>{told} {where}</html>".encode()),
    "a fault in HTML": lambda told, where: (502, {}, f"<html>{told} {where}</html>".encode()),
    "a bare sentence": lambda told, where: (500, {}, f"{told} {where}".encode()),
    "broken JSON": lambda told, _where: (200, {}, f'{{"contacts": ["{told}"'.encode()),
    "an error under a success": _status(200),
    "links with the key": _listing,
    "a redirect with the key": lambda told, where: (302, {"location": where}, _json(told, where)),
    "headers full of it": lambda told, where: (
        500,
        {"x-request-id": KEY, "server": PASSWORD, "date": KEY, "retry-after": KEY},
        _json(told, where),
    ),
    "a wrong encoding": lambda told, _where: (200, {"content-encoding": "gzip"}, told.encode()),
}


class Failure(NamedTuple):
    """What is wrong with a project whose service is a good one."""

    prepare: Callable[[Project], None] = lambda _project: None
    environ: Mapping[str, str] = {}
    config: Mapping[str, str] = {}


def _write(name: str, content: str | bytes) -> Callable[[Project], None]:
    def prepare(project: Project) -> None:
        path = project.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(0o600)

    return prepare


def _spoiled(before: str, after: str) -> Callable[[Project], None]:
    assert before in canaries.MANIFEST
    return _write("manifests/team.yaml", canaries.MANIFEST.replace(before, after))


def _no_room(project: Project) -> None:
    _write(".reconciler", "in the way")(project)
    (project.folder / "plan.json").mkdir()


LOCAL: dict[str, Failure] = {
    "nothing wrong": Failure(),
    "nothing wrong, over XML": Failure(environ={"RECONCILER_SERVICE_FORMAT": "xml"}),
    "nothing wrong, the key in the query": Failure(environ={"RECONCILER_SERVICE_AUTH_SEND_KEY": "query"}),
    "a wrong key": Failure(config={"api_key": "another"}),
    "a wrong password": Failure(config={"password": "another"}),
    "a store that is none": Failure(_write(".reconciler/store.db", b"no database at all" * 100)),
    "a store that is a folder": Failure(
        lambda project: (project.folder / ".reconciler/store.db").mkdir(parents=True)
    ),
    "no room for files": Failure(_no_room),
    "a key with a line end": Failure(environ={"SVC_API_KEY": f"{KEY}\n{KEY}"}),
    "a key with a space": Failure(environ={"SVC_API_KEY": f"{KEY} {KEY}"}),
    "a user that is user and password": Failure(environ={"SVC_USER": f"a:{PASSWORD}"}),
    "a password with a control character": Failure(environ={"SVC_PASSWORD": f"{PASSWORD}\x01"}),
    "an address with the password": Failure(
        environ={"RECONCILER_SERVICE_BASE_URL": f"https://a:{PASSWORD}@api.example.com"}
    ),
    "an address with the key": Failure(
        environ={"RECONCILER_SERVICE_BASE_URL": f"https://a.example.com?k={KEY}"}
    ),
    "a store with the password": Failure(environ={"RECONCILER_STORE": f"mysql://a:{PASSWORD}@localhost/x"}),
    "a database that nobody runs": Failure(
        environ={"RECONCILER_STORE": f"postgresql://a:{PASSWORD}@127.0.0.1:9/x"}
    ),
    "a secret in the settings": Failure(
        lambda project: _write(
            "reconciler.yaml",
            (project.folder / "reconciler.yaml").read_text().replace("{env: SVC_API_KEY}", KEY),
        )(project)
    ),
    "a token in the wrong shape": Failure(_spoiled(canaries.TOKEN, f"[{canaries.TOKEN}]")),
    "a misspelt token": Failure(_spoiled("pushToken: ", "pushTokn: ")),
    "a password in the wrong shape": Failure(
        _spoiled(f"password: {canaries.CONTACT_PASSWORD}", f"password: {{a: {canaries.CONTACT_PASSWORD}}}")
    ),
    "a misspelt password": Failure(_spoiled("    password: ", "    pasword: ")),
    "a password twice": Failure(
        _spoiled("    devices:\n", f"    password: {canaries.CONTACT_PASSWORD}\n    devices:\n")
    ),
    "a quote left open at the token": Failure(
        _spoiled(f"pushToken: {canaries.TOKEN}", f'pushToken: "{canaries.TOKEN}')
    ),
}


@contextmanager
def service(name: str) -> Iterator[tuple[str, Failure]]:
    """The address of the service that a failure speaks of."""
    with ExitStack() as stack:
        if name in ECHOES:
            yield stack.enter_context(running_app(lambda: echoing(ECHOES[name]))), Failure()
        elif name == "nobody there":
            yield f"http://127.0.0.1:{free_port()}", Failure()
        else:
            failure = LOCAL[name]
            config = SandboxConfig(
                username=canaries.USER,
                password=failure.config.get("password", PASSWORD),
                api_key=failure.config.get("api_key", KEY),
                callback_check=False,
            )
            yield stack.enter_context(running_sandbox(config)), failure


def leaks(command: str, sinks: Sinks) -> list[str]:
    """What a command told that it must not, and to whom; and files of ours that others may read."""
    found = [f"{name}: {secret}" for name, text in sinks.texts() for secret in canaries.secrets_in(text)]
    private = {name for name in sinks.files if name.startswith((".reconciler", "plan.json", ".plan.json."))}
    showing = {"stdout"} if command in canaries.SHOWING else set()
    found += [
        f"{name}: {person}"
        for name, text in sinks.texts()
        if name not in private | showing
        for person in canaries.people_in(text)
    ]
    others = {name: 0o022 if name.startswith(FOR_GIT) else 0o077 for name in sinks.modes}
    return found + [f"{name}: mode {mode:o}" for name, mode in sinks.modes.items() if mode & others[name]]


@effort.sample(5)
@pytest.mark.parametrize("name", [*ECHOES, "nobody there", *LOCAL])
def test_no_command_tells_a_secret_whatever_fails(name: str, tmp_path: Path) -> None:
    """One project for a failure: every command meets what the one before it left behind."""
    with service(name) as (address, failure):
        project = Project.make(tmp_path / "project", address, failure.environ)
        failure.prepare(project)
        for command, lines in LINES.items():
            for line in lines:
                sinks = project.run(*line)
                assert leaks(command, sinks) == [], line
                assert not sinks.crash, line
                tally.count("canary runs", command)


@pytest.mark.parametrize(
    "breaks",
    [RuntimeError("a mistake of ours"), OSError(28, "No space left on device")],
    ids=["crash", "full disk"],
)
def test_a_crash_and_a_full_disk_tell_nothing(breaks: Exception, tmp_path: Path) -> None:
    """A traceback has no locals, and what it quotes is ours; a disk that is full is no traceback at all."""
    with service("nothing wrong") as (address, failure):
        project = Project.make(tmp_path / "project", address, failure.environ)
        for command, lines in LINES.items():
            for line in lines:
                sinks = project.run(*line, breaks=breaks)
                assert leaks(command, sinks) == [], line
                assert isinstance(breaks, RuntimeError) or not sinks.crash, line
                assert canaries.people_in(sinks.crash) == []
                tally.count("canary runs", command)


SIGNALS = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL}


@effort.sample(2)
@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("line", [("plan", "-o", "plan.json"), ("apply", "--yes")], ids=lambda line: line[0])
def test_a_process_that_is_ended_tells_nothing(line: tuple[str, ...], name: str, tmp_path: Path) -> None:
    """Real processes, in the interpreter's own debugging mode: what is cut off half-way lies on the disk."""
    config = SandboxConfig(username=canaries.USER, password=PASSWORD, api_key=KEY, latency_ms=100)
    with running_sandbox(config) as address:
        project = Project.make(tmp_path / "project", address, {"RECONCILER_SERVICE_LIMITS_TIMEOUT_S": "5"})
        environ = {**PLAIN, **project.environ, "PYTHONDEVMODE": "1", "PYTHONASYNCIODEBUG": "1"}
        for delay_s in (0.9, 1.4):
            sinks = Sinks(_cut(project.folder, line, environ, SIGNALS[name], delay_s))
            project.left_behind(sinks)
            assert leaks(line[0], sinks) == []
            tally.count("canary runs", line[0])


def _cut(
    folder: Path, line: tuple[str, ...], environ: Mapping[str, str], number: signal.Signals, delay_s: float
) -> Ended:
    with subprocess.Popen(
        [sys.executable, "-m", "reconciler", *line],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=delay_s)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
            out, err = process.communicate(timeout=patience_s)
    return Ended(process.returncode, out, err)


def test_the_person_and_the_secrets_really_went_the_way(tmp_path: Path) -> None:
    """Runs that end at the first slip would tell nothing, and prove nothing."""
    with service("nothing wrong") as (address, failure):
        project = Project.make(tmp_path / "project", address, failure.environ)
        plan = project.run("plan", "-o", "plan.json", "--full")
        apply = project.run("apply", "plan.json", "--full")
        again = project.run("plan", "--detailed-exitcode")
        callback = project.run(*LINES["callbacks"][0])

    assert [one.ended.code for one in (plan, apply, again, callback)] == [0, 0, 0, 0], apply.ended
    assert set(canaries.people_in(plan.ended.out)) == set(canaries.PEOPLE)
    assert canaries.people_in(plan.files["plan.json"])
    assert len([name for name in plan.files if name.endswith(".part")]) == 1  # of the file without a secret
    assert any(
        canaries.people_in(text) for name, text in apply.files.items() if name.startswith(".reconciler")
    )


def test_the_canaries_would_be_found() -> None:
    """A search that finds nothing anywhere proves nothing."""
    for name, secret in canaries.SECRETS.items():
        for form in canaries.spellings(secret):
            assert canaries.secrets_in(f"x {form} y") == [name], form
        assert canaries.secrets_in(f"{secret[:6]}\n  {secret[6:]}") == [name]
    assert canaries.secrets_in(f"Basic {canaries.BASIC}==") == ["user and password"]
    assert canaries.people_in("Dr. QUILLFEATHER") == ["quillfeather"]
