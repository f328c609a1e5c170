"""What every command prints with `--format json`, held against the schema that is published for it."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import jsonschema_rs
import pytest
from cli.hands import Project, Service
from cli.listener import JANE, answer
from copies import copied
from hostile.command import Ended
from hostile.command import run as run_here
from hypothesis import given
from report.strategies import calm, plans, verdicts

from reconciler import errors
from reconciler.cli.commands.history import history_result
from reconciler.cli.commands.lock import HolderShown, UnlockResult, lock_result, tickets_result
from reconciler.cli.console import error_text
from reconciler.cli.result_schemas import command_leaves, make_output_schemas, schema_of
from reconciler.cli.results import CommandResult
from reconciler.cli.sandbox_collections import build_own_collections
from reconciler.core.runs.recover import RunStatus
from reconciler.core.runs.ticket import Ticket
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Plan, Verdict
from reconciler.model.runs import EXIT_CODE_WORDS, AuditEntry, Running
from reconciler.report.json import drift_json, plan_json, report_json
from reconciler.sandbox.app import SandboxConfig, running_sandbox
from reconciler.schema.shipped import (
    compose_published_schema,
    is_published_schema,
    list_schema_names,
    read_schema,
    read_schema_text,
    schema_address,
)
from reconciler.service.profile import load_profile
from reconciler.signals import STOPPED_JSON
from reconciler.store.locks import Holder

ROOT = Path(__file__).parents[2]
JSON = ("--format", "json")
OWN = ROOT / "examples" / "own-kinds"
LINE = ("--to", JANE, "--subject", "Night shift", "--body", "Can you come?")
MARK = ("callbacks", "mark", "CALLBACK", "--message", "MESSAGE", "--status", "success")
BULK = ("messages", "bulk", "resource/default/rota", "--sms", "mobile", "--subject", "x", "--body", "y")
UPDATE = ("callbacks", "update", "CALLBACK", "--url", "http://127.0.0.1:9/b")

# What is run, in this order in one project, so that each command meets several states. The words in capitals
# are ids that earlier commands told.
LINES: Sequence[tuple[str, ...]] = (
    ("init",),
    ("config",),
    ("schema",),
    ("validate",),
    ("history",),
    ("history", "--verify"),
    ("status",),
    ("pause", "--until", "8h", "--reason", "moving"),
    ("sync",),
    ("unpause",),
    ("unpause",),
    ("lock",),
    ("lock", "--in-service"),
    ("approvals", "list"),
    ("approvals", "give", "Q7K2M4"),
    ("unlock", "--force", "0123456789ab"),
    ("unlock", "--in-service", "--force", "0123456789ab"),
    ("doctor",),
    ("doctor", "--offline"),
    ("list",),
    ("plan",),
    ("plan", "--detailed-exitcode", "-o", "plan.json"),
    ("show", "plan.json"),
    ("approvals", "ask", "plan.json"),
    ("approvals", "list", "--all"),
    ("approvals", "give", "QUESTION"),
    ("plan", "-o", "plan.json"),
    ("approvals", "ask", "plan.json"),
    ("approvals", "refuse", "QUESTION"),
    ("approvals", "take"),
    ("drift",),
    ("explain", "contact/default/jane-doe"),
    ("explain", "contact/default/jane-doe", "--offline"),
    ("explain", "E201", "G1"),
    ("adopt", "--all", "--yes"),
    ("apply", "plan.json"),
    ("apply", "plan.json"),
    ("apply", "--yes"),
    ("plan",),
    ("resume",),
    ("drift",),
    ("list",),
    ("list", "--owned"),
    ("list", "--only", "contact/default/nobody"),
    ("explain", "contact/default/jane-doe", "device/default/jane-doe/phone"),
    ("explain", "contact/default/nobody"),
    ("history",),
    ("history", "--verify"),
    ("status", "--all", "--check"),
    ("export", "--into", "exported", "--devices"),
    ("export", "--into", "exported", "--workspace", "default"),
    ("forget", "--yes", "contact/default/nobody"),
    ("workspaces", "list"),
    ("contacts", "search"),
    ("contacts", "search", "firstName=Jane", "--limit", "1"),
    ("contacts", "search", "firstName=Nobody"),
    ("callbacks", "list"),
    ("callbacks", "create", "on-call", "http://127.0.0.1:9/", "--key-env", "CALLBACK_KEY"),
    ("callbacks", "list"),
    ("callbacks", "get", "CALLBACK"),
    ("callbacks", "get", "4C8FE1A2B3D4E5F6"),
    (*UPDATE, "--dry-run"),
    (*UPDATE, "--yes"),
    ("messages", "list"),
    ("messages", "send", *LINE, "--dry-run"),
    ("messages", "send", *LINE, "--callback", "on-call"),
    ("messages", "send", *LINE, "--at", "2099-03-02T09:30:00+10:00"),
    ("messages", "send", *LINE, "--wait", "--timeout", "1"),
    (*BULK, "--dry-run"),
    BULK,
    ("messages", "list"),
    ("messages", "show", "MESSAGE"),
    ("messages", "status", "MESSAGE"),
    ("messages", "status", "MESSAGE", "--detailed"),
    ("messages", "responses", "MESSAGE"),
    ("ANSWERED",),
    ("messages", "responses", "MESSAGE", "--detailed"),
    ("callbacks", "calls", "CALLBACK"),
    (*MARK, "--dry-run"),
    (*MARK, "--yes"),
    ("callbacks", "inbox"),
    ("callbacks", "delete", "CALLBACK"),
    ("undo", "0123456789ab", "--yes"),
    ("undo", "RUN", "-o", "undo.json"),
    ("undo", "RUN", "--yes", "--allow-deletes", "9"),
    ("undo", "RUN", "--yes"),
    ("apply", "--no-such-option"),
    ("validate", "--config", "nowhere.yaml"),
)
# Replies take a second process: tests/cli/test_callbacks.py holds their lines against the same schema.
ELSEWHERE = {"callbacks listen", "callbacks inbox"}


@pytest.fixture(autouse=True)
def _no_kinds_are_left() -> Iterator[None]:
    yield
    KINDS.bring(())


def mistakes(name: str, document: object) -> list[str]:
    """What makes a document not fit a schema, as it is printed, with the kinds that are known now.

    The one file is all that there is: whoever reads a document has no other.
    """
    validator = jsonschema_rs.Draft202012Validator(compose_published_schema(name))
    return [f"{error.instance_path}: {error.message[:400]}" for error in validator.iter_errors(document)]


def with_json() -> dict[str, click.Command]:
    """Every command that can print JSON, by its words: that is asked of their options."""
    return {
        words: command
        for words, command in command_leaves()
        for option in command.params
        if "--format" in option.opts and "json" in getattr(option.type, "choices", ())
    }


def words_of(line: Sequence[str]) -> str:
    """The words of the command in a line."""
    known = with_json()
    return next((words for words in (" ".join(line[:2]), line[0]) if words in known), "")


def told(line: Sequence[str], ended: Ended) -> list[str]:
    """What of a command's output does not fit: its own schema, or that of an error."""
    document = json.loads(ended.out)
    name = "output/error" if "error" in document else schema_of(words_of(line))
    assert (document["exit_code"], document["outcome"]) == (ended.code, EXIT_CODE_WORDS[ended.code]), line
    return [f"{name}{one}" for one in mistakes(name, document)]


def test_every_command_that_prints_json_has_a_schema_and_is_run() -> None:
    """A new command without one is the one that nobody can rely on."""
    commands = with_json()

    assert {schema_of(one) for one in commands} <= set(list_schema_names())
    assert {words_of(line) for line in LINES} | ELSEWHERE >= set(commands)
    assert set(make_output_schemas()) == {one for one in list_schema_names() if one.startswith("output/")}


def test_the_shipped_schemas_follow_from_the_values() -> None:
    """Whoever changes a value changes what is promised of it: script/generate-schemas."""
    for name, schema in make_output_schemas().items():
        shipped = (ROOT / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")
        assert read_schema(name) == schema, name
        assert json.loads(shipped) == compose_published_schema(name), name


@pytest.mark.parametrize("name", [one for one in list_schema_names() if is_published_schema(one)])
def test_what_is_published_has_an_address_a_version_and_is_whole(name: str) -> None:
    """A document is told from one of its next form by the version, and read years later with one file."""
    schema = json.loads(read_schema_text(name))
    text = json.dumps(schema)

    assert schema["$id"] == schema_address(name)
    assert text.count('"$id"') == 1
    assert re.findall(r'"\$ref": "(?!#/\$defs/)[^"]*"', text) == []
    assert re.search(r'"version": \{[^{}]*("const": \d+|"enum": \[\d+\])[^{}]*\}', text)
    jsonschema_rs.Draft202012Validator(schema)


@pytest.mark.parametrize("name", [one for one in list_schema_names() if not is_published_schema(one)])
def test_what_people_write_has_none_so_that_editors_find_its_parts(name: str) -> None:
    """With an address an editor would look for `common.schema.json` there, and not beside the file."""
    assert '"$id"' not in read_schema_text(name)


def test_the_page_names_the_schema_of_every_command() -> None:
    """Nobody looks for what is not written down."""
    page = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    rows = {line for line in page.splitlines() if line.startswith("| `")}

    assert rows >= {f"| `{words}` | `{schema_of(words)}` |" for words in with_json()}


def test_what_every_command_prints_fits_its_schema(project: Project) -> None:
    """In several states each, errors among them; nothing printed is left unjudged."""
    rota = project.folder / "manifests" / "payloads" / "rota.csv"
    rota.write_text("name,mobile\nJane,+61491570156\n")
    seen: dict[str, set[int]] = {}
    with running_sandbox(SandboxConfig(callback_check=False)) as where:
        service = Service(where)
        environ = {**project.environ(service), "CALLBACK_KEY": "canary-callback-key-8f14e45f"}
        environ |= {"GITLAB_CI": "true", "GITLAB_USER_LOGIN": "jane-d"}  # who gives and refuses approvals
        ids = {"MESSAGE": "", "CALLBACK": "", "RUN": "", "QUESTION": ""}
        for line in LINES:
            if line == ("ANSWERED",):
                answer(service, ids["MESSAGE"], JANE, "yes")
                continue
            words = [ids.get(word, word) for word in line]
            ended = run_here(project.folder, *words, *JSON, environ=environ)
            assert ended.out or line == ("callbacks", "inbox"), (line, ended)
            if line[-1] != "jsn":
                assert told(line, ended) == [], line
                seen.setdefault(words_of(line), set()).add(ended.code)
            _learn(ids, line, ended)

    good = {words for words, codes in seen.items() if codes & {0, 2}}
    assert good >= set(with_json()) - ELSEWHERE - {"forget"}
    assert set().union(*seen.values()) >= {0, 1, 2, 3, 5, 6, 64}


def _learn(ids: dict[str, str], line: Sequence[str], ended: Ended) -> None:
    if ended.code == 0 and "--callback" in line:
        ids["MESSAGE"] = json.loads(ended.out)["sent"]["message_id"]
    if ended.code == 0 and line[0] == "apply" and json.loads(ended.out)["outcomes"]:
        ids["RUN"] = json.loads(ended.out)["run"]
    if ended.code == 0 and line[:2] == ("callbacks", "create"):
        ids["CALLBACK"] = json.loads(ended.out)["callback"]["callback_id"]
    if ended.code == 0 and line[:2] == ("approvals", "ask"):
        ids["QUESTION"] = json.loads(ended.out)["question"]["question"]


# One checks settings and tells what it found; the other needs them for a schema, and lists names here.
WITHOUT_SETTINGS = {(words, "--config", "nowhere.yaml") for words in ("doctor", "schema")}


@pytest.mark.parametrize("words", sorted(with_json()))
def test_every_error_of_every_command_fits_the_schema_of_errors(words: str, tmp_path: Path) -> None:
    """A program that asks for JSON gets it whatever is wrong: with the command line, and before all else."""
    line = next((one for one in LINES if words_of(one) == words), words.split())
    options = {name for option in with_json()[words].params for name in option.opts}
    wrong = [("--no-such-option",), *([("--config", "nowhere.yaml")] if "--config" in options else [])]
    for more in wrong:
        ended = run_here(tmp_path, *line, *more, *JSON, environ={"HOME": str(tmp_path)})
        assert told(line, ended) == [], line
        assert ended.code in {3, 64} or (words, *more) in WITHOUT_SETTINGS, line
        assert ("error" in json.loads(ended.out)) is (ended.code in {3, 64}), line


def test_kinds_of_a_projects_own_fit_the_schemas_of_the_project(tmp_path: Path) -> None:
    """And only these: without its profile their addresses are none."""
    copied(OWN, tmp_path / "project")
    project = Project(tmp_path / "project")
    (project.folder / ".git").mkdir()
    with running_sandbox(
        SandboxConfig(), collections=build_own_collections(load_profile(str(OWN / "profile.yaml")))
    ) as where:
        environ = project.environ(Service(where))
        for words in ("plan", "list", "apply --yes", "list", "drift", "history", "plan", "export --into new"):
            line = words.split()
            ended = run_here(project.folder, *line, *JSON, environ=environ)
            assert (ended.code, told(line, ended)) == (0, []), line
            if words == "list":
                listed = json.loads(ended.out)
        asked = ("schema", "output/list", "--config", "reconciler.yaml")
        printed = json.loads(run_here(project.folder, *asked, environ=environ).out)
        assert (printed, printed != json.loads(read_schema_text("output/list"))) == (
            compose_published_schema("output/list"),
            True,
        )

    KINDS.bring(())
    assert mistakes("output/list", listed)


LOCK = Holder("4c8fe1a2b3d4", "0d9e5b3c", "ci@host", "boot", 7, "2026-03-02T09:30:00+00:00", "x", 3)
HOLDER = HolderShown("4c8fe1a2b3d4", "ci@host", "0d9e5b3c", "2026-03-02T09:30:00+00:00", "x", 3)
RUNNING = Running("0d9e5b3c", "ci@host", "2026-03-02T09:30:00+00:00", "apply", 3, 40)
NOW = datetime(2026, 3, 2, 9, 31, tzinfo=UTC)
TICKET = Ticket("ops", 1_772_443_800, 1_772_443_900, "0123456789ab", "0d9e5b3c", "ci")


def document_text(result: CommandResult) -> str:
    """What the dispatcher prints of a result with --format json."""
    return report_json(result.document(), result.exit_code)


MADE: Mapping[str, tuple[str, Callable[[], str]]] = {
    "a lock that is held": (
        "output/lock",
        lambda: document_text(lock_result(LOCK, "ops", NOW, running=RUNNING)),
    ),
    "a ticket in the service": ("output/lock", lambda: document_text(tickets_result((TICKET,), "ops"))),
    "a lock that was taken away": (
        "output/unlock",
        lambda: document_text(UnlockResult(stack="ops", taken_from=HOLDER)),
    ),
    "a history with a run that lasts": (
        "output/history",
        lambda: document_text(
            history_result((AuditEntry(1, "x", "began", "0d9e5b3c"),), None, "ops", running=RUNNING)
        ),
    ),
    "stopped at the start": ("output/error", STOPPED_JSON.decode),
}


@pytest.mark.parametrize("case", MADE)
def test_what_is_hard_to_provoke_fits_its_schema(case: str) -> None:
    name, make = MADE[case]

    assert mistakes(name, json.loads(make())) == []


@calm
@given(plans(), verdicts)
def test_every_plan_that_the_model_allows_is_shown_as_its_schema_says(plan: Plan, verdict: Verdict) -> None:
    """Hostile texts among them; and what others changed of it as well."""
    shown = plan_json(plan, verdict, 0, RunStatus(RUNNING, ()))

    assert mistakes("output/plan", json.loads(shown)) == []
    assert mistakes("output/drift", json.loads(drift_json(plan))) == []


def every_error() -> Iterator[errors.ReconcilerError]:
    """One of each class, with all that it can say."""
    waiting = [errors.ReconcilerError]
    while waiting:
        kind = waiting.pop()
        waiting += [one for one in kind.__subclasses__() if one.__module__ == errors.__name__]
        more: dict[str, Any] = {}
        if issubclass(kind, errors.ProgramError):
            more = {"places": ("x.py:1",)}
        if issubclass(kind, errors.InputError):
            more = {
                "problems": (
                    errors.Problem("team.yaml", 3, 7, "x is not a field of a contact.", "y", code="E201"),
                )
            }
        yield kind("it failed.", next="do this", **more)


@pytest.mark.parametrize("error", [*every_error()], ids=lambda error: type(error).__name__)
def test_every_class_of_error_fits_the_schema_and_no_other_ones_key(error: errors.ReconcilerError) -> None:
    document = json.loads(error_text.error_json(error))

    assert mistakes("output/error", document) == []
    for key in ("method", "reasons", "places", "surprise"):
        other = deepcopy(document)
        if key not in document["error"]:
            other["error"][key] = ""
            assert mistakes("output/error", other), key
    for key, value in {"code": "E999", "exit_code": 0, "outcome": "done", "version": 2}.items():
        assert mistakes("output/error", {**document, key: value}), key


@pytest.mark.parametrize("name", sorted(make_output_schemas()))
def test_a_schema_of_an_output_is_closed_and_needs_every_key(name: str) -> None:
    """A schema that lets everything pass says nothing."""
    optional = {"running", "unfinished", "more", "unmanaged", "calls", "calls_avoided", "method", "path"}
    optional |= {"directories", "moves", "elsewhere", "commit", "status", "code", "reasons", "places"}
    optional |= {"consent", "consented", "agreements", "not_planned"}

    def walk(node: Any) -> Iterator[dict[str, Any]]:
        for below in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            yield from walk(below)
        if isinstance(node, dict) and node.get("type") == "object":
            yield node

    for one in walk(make_output_schemas()[name]):
        assert one.get("additionalProperties", True) is not True or "properties" not in one, one
        assert set(one.get("properties", ())) - set(one.get("required", ())) <= optional, one
