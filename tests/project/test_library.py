"""Claims about the library as its users meet it: what is exported, what the page's programs do.

Only `from reconciler import ...`, as somebody who installed the package would write it; the sandbox
stands in for the service.
"""

import ast
import asyncio
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from copies import copied
from waiting import patience_s, until

import reconciler
from reconciler import (
    Callback,
    CallbackAuth,
    Found,
    InDoubt,
    InputError,
    Limits,
    Malformed,
    Message,
    MessageRow,
    NotFound,
    ReconcilerError,
    Reply,
    Secret,
    Sent,
    ServiceClient,
    ServiceError,
    SettingsError,
    Unauthorized,
    Unavailable,
    Workspace,
    parse_reply,
)
from reconciler.sandbox.app import SandboxConfig, running_sandbox
from reconciler.service.paging import Query

PAGE = Path(__file__).parents[2] / "docs" / "library.md"
WRITTEN = "http://127.0.0.1:8480"
PROGRAMS = {
    re.split(r"\n#+ ", before)[-1].partition("\n")[0]: program
    for before, program in re.findall(r"(.*?)```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
}


# What a service does to the receiver of the page: once with a wrong key, and twice with the right one.
REPLYING = """
import asyncio, httpx2

PAYLOAD = b'''{"messageid": "A1B2", "location": "https://api.example.com/messages/A1B2",
    "from": {"mobile": "+61491570156"},
    "responseMessage": {"channel": "SMS", "acknowledged": "01/03/26 12:00", "content": "yes"}}'''


async def call() -> None:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://here") as client:
        statuses = []
        for given in ("wrong", key.reveal(), key.reveal()):
            headers = {"X-Service-Callback-Key": given, "Content-Type": "application/json"}
            statuses.append((await client.post("/replies", content=PAYLOAD, headers=headers)).status_code)
        print(statuses)


asyncio.run(call())
inbox.close()
"""


def program(heading: str, base: str, folder: Path) -> list[str]:
    """The command that runs the program below a heading of the page, against this address."""
    path = folder / "program.py"
    path.write_text(PROGRAMS[heading].replace(WRITTEN, base), encoding="utf-8")
    return [sys.executable, "-W", "error", str(path)]


def told(heading: str, folder: Path, config: SandboxConfig | None = None) -> list[str]:
    """What the program below a heading prints, line by line."""
    with running_sandbox(config or SandboxConfig(contacts=55)) as base:
        ended = subprocess.run(
            program(heading, base, folder), capture_output=True, text=True, timeout=patience_s, check=False
        )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout.splitlines()


# The page.


def test_a_program_sends_a_message_and_waits_for_the_reply(tmp_path: Path) -> None:
    """From the first line to the reply, as its reader will run it, with a person who answers."""
    heading = "Send a message and wait for the replies"
    with (
        running_sandbox(SandboxConfig()) as base,
        subprocess.Popen(program(heading, base, tmp_path), stdout=subprocess.PIPE, text=True) as process,
    ):
        timer = threading.Timer(30, process.kill)
        timer.start()
        try:
            found = answering(process, base)
        finally:
            timer.cancel()

    assert process.returncode == 0
    assert re.fullmatch(r"queued: [0-9A-F]+", found[0])
    assert found[1] == "noresponse: 1 of all, 100 %"
    assert found[-2:] == ["notmatched: 1 of all, 100 %", "+61491570156 says: yes"]


def answering(process: "subprocess.Popen[str]", base: str) -> list[str]:
    """All lines of the program, whose message is answered once it has counted nobody."""
    assert process.stdout is not None
    # Output into a pipe comes in blocks; the service itself tells when the message is there.
    message_id = sent_to(base)
    answered = httpx2.post(
        f"{base}/_sandbox/messages/{message_id}/reply", json={"content": "yes"}, auth=("demo", "demo")
    )
    assert answered.status_code == 200, answered.text
    return process.stdout.read().splitlines()


def sent_to(base: str) -> str:
    """The id of the message that the program has sent, once it has looked at its responses."""

    def looks() -> list[str]:
        requests = httpx2.get(f"{base}/_sandbox/requests", auth=("demo", "demo")).json()["requests"]
        found = (
            re.fullmatch(r"/messages/([0-9A-F]+)/messageresponses", one["path"]) for one in requests[:-1]
        )
        return [one[1] for one in found if one]

    until(looks, "a look at the responses")
    return looks()[0]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The quickstart in a folder of one's own, which is not locked in the service: that waits for seconds."""
    folder = copied(PAGE.parents[1] / "examples" / "quickstart", tmp_path / "project")
    settings = folder / "reconciler.yaml"
    text = settings.read_text("utf-8") + "lock: {in_service: never}\n"
    settings.write_text(
        text.replace("  auth:", "  limits: {requests_per_second: 0}\n  auth:"), encoding="utf-8"
    )
    return folder


def test_a_program_plans_and_applies(project: Path) -> None:
    first, second = planned("Plan and apply", project, times=2)

    assert first[0] == "to create: 5 to delete: 0"
    assert sorted(first[1:]) == [
        "contact/default/ada-king applied ",
        "contact/default/jane-doe applied ",
        "contact/default/sam-lee applied ",
        "device/default/jane-doe/phone applied ",
        "resource/default/rota applied ",
    ]
    assert second == ["to create: 0 to delete: 0"]


def test_a_program_plans_and_applies_in_a_loop_of_its_own(project: Path) -> None:
    first, second = planned("Plan and apply with asyncio", project, times=2)

    assert (first[0], first[-1], len(first)) == ("changes: 3", "done 3", 5)
    assert second == ["changes: 0", "done 0"]


def planned(heading: str, folder: Path, *, times: int) -> list[list[str]]:
    """What a program of the page prints in this project, run so many times against one service."""
    found = []
    with running_sandbox(SandboxConfig()) as base:
        variables = {"SVC_USER": "demo", "SVC_PASSWORD": "demo", "SVC_API_KEY": "demo-key"}
        environ = {**os.environ, **variables, "RECONCILER_SERVICE_BASE_URL": base}
        for _ in range(times):
            command = program(heading, base, folder)
            ended = subprocess.run(
                command,
                cwd=folder,
                env=environ,
                capture_output=True,
                text=True,
                timeout=patience_s,
                check=False,
            )
            assert (ended.returncode, ended.stderr) == (0, "")
            found.append(ended.stdout.splitlines())
    return found


def test_a_program_searches_contacts(tmp_path: Path) -> None:
    lines = told("Search contacts", tmp_path)

    assert lines[0] == "complete: True"
    assert len(lines) == 5
    assert all("a" in line.split()[1].lower() for line in lines[1:4])


def test_a_program_walks_pages(tmp_path: Path) -> None:
    assert told("Walk pages", tmp_path) == ["20 of 55", "40 of 55", "55 of 55"]


def test_a_program_reads_what_the_service_calls_with(tmp_path: Path) -> None:
    assert told("Be called instead of asking", tmp_path) == [
        "200 A1B2 7 yes",
        "400 a callback cannot be read: it names no message.",
    ]


def test_a_program_tells_errors_apart_by_what_to_do_next(tmp_path: Path) -> None:
    assert told("When something goes wrong", tmp_path) == [
        "not sent: the credentials, or the quota of the day",
        "not sent: the message has no recipient.",
    ]


def test_every_program_of_the_page_is_run_here() -> None:
    """A new one needs a claim."""
    claims = Path(__file__).read_text("utf-8")

    assert len(PROGRAMS) == 8
    assert [heading for heading in PROGRAMS if f'"{heading}"' not in claims] == []


def test_a_strict_type_check_passes_the_programs_and_tells_a_misspelt_name(tmp_path: Path) -> None:
    """In a folder that knows nothing of this project: the types come with the package.

    Names that load when they are used could pass for anything.
    """
    for number, text in enumerate(PROGRAMS.values()):
        (tmp_path / f"program_{number}.py").write_text(text, encoding="utf-8")
    (tmp_path / "wrong.py").write_text("from reconciler import ServiceCleint\n", encoding="utf-8")
    checker = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "."]

    ended = subprocess.run(checker, cwd=tmp_path, capture_output=True, text=True, check=False)

    told, summary = ended.stdout.splitlines()
    assert told.startswith("wrong.py:1: error: ")
    assert 'has no attribute "ServiceCleint"' in told
    assert summary == "Found 1 error in 1 file (checked 9 source files)"


# What is exported.


def test_every_public_name_is_there() -> None:
    assert [name for name in reconciler.__all__ if not hasattr(reconciler, name)] == []
    assert set(reconciler.__all__) <= set(dir(reconciler))


def test_the_names_that_type_checkers_read_are_those_that_programs_get() -> None:
    """The two lists stand apart, so that nothing is loaded for `--version`."""
    module = ast.parse(Path(reconciler.__file__).read_text("utf-8"))
    imported = {
        (str(node.module), one.name)
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("reconciler.")
        for one in node.names
    }
    served = {(home, name) for home, names in reconciler._HOMES.items() for name in names.split()}

    assert imported == served
    assert {name for _, name in served} == set(reconciler.__all__)


def test_every_public_name_is_on_the_page_or_in_a_type_that_is() -> None:
    page = PAGE.read_text("utf-8")
    of_values = {"Found", "Page", "Rows", "Respondent", "Permanent", "ServiceError", "Timing", "__version__"}

    assert [name for name in reconciler.__all__ if name not in page and name not in of_values] == []


def test_a_name_that_is_not_there_is_told_as_usual() -> None:
    with pytest.raises(AttributeError, match="module 'reconciler' has no attribute 'Sender'"):
        _ = reconciler.Sender  # type: ignore[attr-defined]  # the claim itself


def test_importing_the_package_loads_none_of_it() -> None:
    """`reconciler --version` answers at once, whatever the library grows to."""
    loaded = "[name for name in sys.modules if name.startswith(('reconciler.', 'httpx2', 'msgspec'))]"
    code = f"import sys, reconciler; print({loaded})"

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ended.stdout == "[]\n"


# The client.

FORMS: tuple[Literal["json", "xml"], ...] = ("json", "xml")


@pytest.mark.parametrize("form", FORMS)
def test_the_whole_service_is_at_hand(form: Literal["json", "xml"]) -> None:
    """One program, every part, in both forms."""

    async def work(base: str) -> None:
        async with ServiceClient.open(
            base, username="demo", password="demo", api_key="demo-key", format=form
        ) as client:
            workspace = await client.workspaces.create("Operations")
            assert await client.workspaces.list() == (workspace,)
            assert isinstance(workspace, Workspace)
            body = {"firstName": "Jane", "lastName": "Doe", "workMobilePhone1": "+61491570156"}
            jane = await client.contacts.create(body, workspace=workspace.id)
            assert isinstance(jane, Found)
            [found] = await client.contacts.search(Query({"firstName": "Jane"}), workspace=workspace.id)
            assert found.remote_id == jane.remote_id
            sent = await client.messages.send(Message(("+61491570156",), "s", "b"), workspace=workspace.id)
            assert isinstance(sent, Sent)
            [row] = await client.messages.list(workspace=workspace.id)
            assert isinstance(row, MessageRow)
            assert row.message_id == sent.message_id
            counts = await client.messages.responses(sent.message_id, workspace=workspace.id)
            assert sum(each.recipients for each in counts) == 1
            assert await client.callbacks.list() == ()
            with pytest.raises(NotFound):
                await client.messages.get("0000")

    with running_sandbox(SandboxConfig()) as base:
        asyncio.run(work(base))


def opened(base: str = WRITTEN, **changes: Any) -> Any:
    given = {"username": "demo", "password": "demo", "api_key": "demo-key", **changes}
    return ServiceClient.open(base, **given)


@pytest.mark.parametrize(
    ("base", "changes"),
    [
        ("ftp://127.0.0.1", {}),
        ("http://user:secret@127.0.0.1", {}),
        ("", {}),
        (WRITTEN, {"username": ""}),
        (WRITTEN, {"api_key": "line\nbreak"}),
        (WRITTEN, {"profile": "unheard of"}),
    ],
)
def test_a_client_that_cannot_be_meant_is_refused_when_it_is_opened(
    base: str, changes: dict[str, str]
) -> None:
    async def work() -> None:
        async with opened(base, **changes):
            raise AssertionError("it was opened")

    with pytest.raises(SettingsError) as raised:
        asyncio.run(work())
    assert "secret" not in str(raised.value)
    assert isinstance(raised.value, InputError)


def test_nobody_at_the_other_end_is_an_error_of_ours() -> None:
    async def work() -> None:
        async with opened("http://127.0.0.1:9", limits=Limits(timeout_s=2)) as client:
            await client.messages.list()

    with pytest.raises(Unavailable) as raised:
        asyncio.run(work())
    assert isinstance(raised.value, ReconcilerError)
    assert raised.value.next


def test_wrong_credentials_stop_a_program_and_are_not_shown() -> None:
    async def work(base: str) -> None:
        async with opened(base, password="wrong-password") as client:
            await client.contacts.list()

    with running_sandbox(SandboxConfig()) as base, pytest.raises(Unauthorized) as raised:
        asyncio.run(work(base))
    assert "wrong-password" not in f"{raised.value} {raised.value.next}"


def test_errors_are_classed_by_what_to_do_next() -> None:
    assert issubclass(InDoubt, ServiceError)
    assert issubclass(Malformed, ServiceError)
    assert issubclass(ServiceError, ReconcilerError)


def test_a_callback_is_described_and_read_without_a_service() -> None:
    callback = Callback("ops", "https://hooks.example.com", CallbackAuth("querystring", Secret("canary")))
    reply = parse_reply(
        b'{"messageid": "A1", "from": {}, "responseMessage": {"content": "yes"}}', "application/json"
    )

    assert isinstance(reply, Reply)
    assert (reply.message_id, reply.content) == ("A1", "yes")
    assert "canary" not in repr(callback)


def test_the_receiver_of_the_page_takes_a_reply_once(tmp_path: Path) -> None:
    """The program is a module that a server imports; here a client calls its application in process."""
    script = PROGRAMS["A receiver of your own"] + REPLYING
    path = tmp_path / "replies.py"
    path.write_text(script, encoding="utf-8")

    ended = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == ["+61491570156 says: yes", "[404, 200, 200]"]
