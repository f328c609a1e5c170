"""A project with every kind of secret: every command, option of output and report, and no secret in any sink.

The sinks: stdout, stderr, a crash, all loggers at DEBUG, every file that was made or changed (store, caches,
journal, plans, reports, logs, events), and what a collector of telemetry is sent. test_canaries.py has more
failures with fewer secrets.
"""

import base64
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

import click
import effort
import pytest
import tally
from collector import collecting
from hostile import test_canaries, vault
from hostile.canaries import echoing
from hostile.vault import LIVE, PUBLIC, VARIABLES, Vault

from reconciler.cli.main import cli
from reconciler.sandbox.app import SandboxConfig, running_sandbox
from reconciler.sandbox.server import running_app

ELSEWHERE = {
    ("sandbox",): "a server of its own, without our credentials",
    ("demo",): "only the sandbox's own",
    ("callbacks", "listen"): "a server that runs until it is stopped: tests/cli/test_callbacks.py",
    ("approvals", "give"): "needs a question: tests/cli/test_approvals.py looks for its code in all output",
    ("approvals", "refuse"): "the same",
    ("approvals", "take"): "the same",
}
PLANS = (
    ("plan", "-o", "plan.age", "--encrypt-to", PUBLIC),
    ("show", "plan.age", "--identity", "identity"),
    ("show", "plan.age", "--identity", vault.IDENTITY),
    ("messages", "responses", test_canaries.ID),
    ("messages", "show", test_canaries.ID),
    ("callbacks", "inbox"),
    ("callbacks", "delete", test_canaries.ID),
    ("rosters", "snapshot", "tree"),
    ("rosters", "snapshot", "users"),
    ("doctor", "-e", "proxied"),
    ("plan", "-e", "proxied"),
    ("config", "-e", "proxied"),
    ("plan", "-e", "filed"),
    ("plan", "-e", "broken"),
    ("apply", "plan.age", "--identity", "identity"),
)
# Those that end at the first answer; the others wait before they try again, and are in test_canaries.py.
ECHOES = tuple(test_canaries.ECHOES)[:3]
BASES = (*(line for lines in test_canaries.LINES.values() for line in lines), *PLANS)


def leaves(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command of the tree that is none of groups, by its words."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        if (found := command.get_command(context, name)) is not None:
            yield from leaves(found, (*path, name))


LEAVES = dict(leaves(cli))


def widened(line: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield a line as it is, with every file of output, in every format, and with every report."""
    yield tuple(line)
    path = max((one for one in LEAVES if tuple(line[: len(one)]) == one), key=len)
    options = {name: one for one in LEAVES[path].params for name in one.opts}
    noise = [word for word in ("-vv",) if word in options or "-v" in options]
    for option in ("--log-file", "--events"):
        if option in options and option not in line:
            noise += [option, f"{option[2:]}.jsonl"]
    if noise and "-vv" not in line:
        yield (*line, *noise)
    if "--format" in options and "--format" not in line:
        kinds = options["--format"].type
        yield from ((*line, "--format", one) for one in getattr(kinds, "choices", ("json",)))
    if "--report" in options and "--report" not in line:
        names = ("text", "json", "markdown", "html", "junit", "sarif", "github", "gitlab")
        yield (*line, *(word for one in names for word in ("--report", f"{one}=.reconciler/report.{one}")))


def test_every_command_of_the_tree_is_run_here() -> None:
    """A new command, or one below another, is the one that nobody thought of."""
    run = {path for path in LEAVES for line in BASES if tuple(line[: len(path)]) == path}

    assert set(LEAVES) - run - set(ELSEWHERE) == set()
    values = (VARIABLES, vault.SHARED, vault.FILES, vault.LITERALS, LIVE)
    assert len({one for source in values for one in source.values() if vault.WORD in unquote(one)}) >= 35


def leaks(project: Vault, *line: str) -> tuple[int, list[str]]:
    """The exit code of a command, and the sinks in which a secret stands."""
    sinks = project.run(*line)
    assert not sinks.crash, (line, sinks.crash)
    tally.count("canary runs", line[0])
    written = [
        (name, text.encode("utf-8", "surrogatepass"))
        for name, text in sinks.texts()
        if name in {"stdout", "stderr", "logs"}
    ]
    if line[:2] == ("fmt", "--diff"):  # shows the lines of a manifest, without the values of secret fields
        shown = vault.LITERALS["resource"].encode()
        written = [(name, data.replace(shown, b"") if name == "stdout" else data) for name, data in written]
    found = [f"{name}: {one}" for name, data in (*written, *project.left()) for one in vault.finds(data)]
    return sinks.ended.code, found


@effort.sample(2)
@pytest.mark.parametrize("name", ["nothing wrong", "a wrong key", "no store", *ECHOES])
def test_no_command_lets_any_of_many_secrets_out(name: str, tmp_path: Path) -> None:
    """Whatever is read along the way: variables, files, manifests, and what only the service knows."""
    key = "another" if name == "a wrong key" else VARIABLES["SVC_API_KEY"]
    config = SandboxConfig(
        username=VARIABLES["SVC_USER"], password=VARIABLES["SVC_PASSWORD"], api_key=key, callback_check=False
    )
    echo = test_canaries.ECHOES.get(name)
    served = running_app(lambda: echoing(echo)) if echo else running_sandbox(config)
    done = set()
    with served as address, collecting() as collector:
        more = vault.SHARED if name == "no store" else {}
        project = Vault.fill(tmp_path / "project", address, {**collector.environ, **more})
        if name == "nothing wrong":
            project.live_first(address)
        for base in BASES:
            for line in widened(base):
                code, found = leaks(project, *line)
                assert found == [], line
                done |= {line[0]} if code == 0 else set()
        assert collector.bodies
        assert [one for body in collector.bodies for one in vault.finds(body)] == []
    if name == "nothing wrong":
        # A run that ends at the first mistake would meet no secret.
        assert {"plan", "apply", "show", "export", "adopt", "resume", "drift", "list", "explain"} <= done
        assert {"validate", "fmt", "doctor", "config", "history", "contacts", "messages", "callbacks"} <= done


def test_a_leak_in_any_form_is_found(tmp_path: Path) -> None:
    """A search that finds nothing anywhere proves nothing."""
    forms = [
        *(value.encode() for value in (*VARIABLES.values(), *vault.LITERALS.values(), *LIVE.values())),
        *(text.encode() for text in vault.FILES.values()),
        vault.IDENTITY.encode(),
    ]
    value = vault.secret("any")
    forms += [
        json.dumps(value).encode(),
        value[::-1].encode(),
        value.encode().hex().encode(),
        value.encode("utf-16-le"),
        "".join(f"%{one:02X}" for one in value.encode()).encode(),
        *(base64.b64encode(bytes(at) + value.encode()) for at in range(3)),
        *(base64.b64encode(bytes(at) + value.encode("utf-16-le")) for at in range(3)),
        f"{value[:12]}\n  {value[12:]}".encode(),
        b"SQLite format 3\0" + zlib.compress(b"x" * 99 + value.encode()),
    ]
    forms.remove(VARIABLES["SVC_USER"].encode())  # no secret
    for form in forms:
        assert vault.finds(b"before " + form + b" after"), form

    project = Vault.fill(tmp_path / "project", "http://127.0.0.1:1", {})
    assert list(project.left()) == []
    (project.folder / "report.md").write_text(value)
    assert [name for name, data in project.left() if vault.finds(data)] == ["report.md"]
