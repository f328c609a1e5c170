"""callbacks as processes: the whole story over loopback, and what must not come of it."""

import json
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from cli.hands import Project, Service
from cli.listener import JANE, KEY, SAM, answer, done, lines_of, listening, noted, register, send
from jsonschema import Draft202012Validator
from waiting import patience_s

from reconciler.schema.shipped import read_schema

HEADER = "X-Service-Callback-Key"
GOOD = {
    "messageid": "4C8FE1A2B3D4E5F6",
    "from": {"name": "Jane Doe", "mobile": JANE},
    "responseMessage": {"channel": "SMS", "acknowledged": "02/03/26 20:30", "content": "Yes"},
}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def settled(project: Project, service: Service, callback: str) -> None:
    """Return when the service has its 200 for everything."""
    for _ in range(30):
        calls = done(project, service, "callbacks", "calls", callback)["calls"]
        if calls and all(one["status"] == "SUCCESS" for one in calls):
            return
    pytest.fail("the service still waits for an answer")


@pytest.mark.parametrize("form", ["json", "xml"])
def test_a_reply_arrives_with_its_parameters(form: str, project: Project, service: Service) -> None:
    """The story of the README, in both forms: sent, answered, received, counted (specification 2.6, 6)."""
    events = project.folder / "replies.jsonl"
    with listening(project, service, "--key-env", "CALLBACK_KEY", "--events", str(events)) as ear:
        register(project, service, ear.address, "--key-env", "CALLBACK_KEY", "--content-type", form)
        message = send(project, service, "--callback", "on-call", "--param", "incident=42")
        answer(service, message, JANE, "Yes, on my way 👍")
        first = ear.reply()
        answer(service, message, SAM, "No")
        second = ear.reply()
        code, rest, told = ear.stop()

    assert (first["message_id"], first["content"], first["sender"]["mobile"]) == (
        message,
        "Yes, on my way 👍",
        JANE,
    )
    assert first["parameters"] == second["parameters"] == {"incident": "42"}
    assert (second["event"], second["content"]) == ("reply", "No")
    assert lines_of(events) == [first, second]
    assert (code, rest) == (0, "")
    assert told.endswith("stopped: 2 replies, 0 refused.\n")
    summary = done(project, service, "messages", "responses", message)["responses"]
    assert summary == [{"type": "notmatched", "recipients": 2, "percent": 100.0}]


def test_a_line_of_the_event_output_is_what_its_schema_says(
    project: Project, recorded_service: Service
) -> None:
    """Programs are written against schemas/reply.schema.json; a failed delivery is an event too."""
    service = recorded_service
    events = project.folder / "replies.jsonl"
    with listening(project, service, "--key-env", "CALLBACK_KEY", "--events", str(events)) as ear:
        register(project, service, ear.address)
        message = send(project, service, "--callback", "on-call")
        answer(service, message, JANE, "\u202eYes\x1b[2J\n")
        service.call("POST", f"/_sandbox/messages/{message}/fail", {"to": SAM, "reason": "no such number"})
        shown = [ear.reply(), ear.reply()]

    assert [one["event"] for one in shown] == ["reply", "undeliverable"]
    assert shown[1]["content"] == "no such number"
    for line in events.read_text().splitlines():
        assert list(Draft202012Validator(read_schema("reply")).iter_errors(json.loads(line))) == []
        assert line.isprintable()
    assert stat.S_IMODE(events.stat().st_mode) == 0o600
    assert stat.S_IMODE((project.folder / ".reconciler" / "inbox.db").stat().st_mode) == 0o600


def test_the_key_may_travel_in_the_query(project: Project, service: Service) -> None:
    way = ("--key-env", "CALLBACK_KEY", "--key-in", "query")
    with listening(project, service, *way) as ear:
        register(project, service, ear.address, *way)
        answer(service, send(project, service, "--callback", "on-call"), JANE, "Yes")

        assert ear.reply()["content"] == "Yes"


def test_a_reply_that_came_while_nobody_listened_arrives_later_once(
    project: Project, service: Service
) -> None:
    """Killed and started again: the service repeats the call, and the repeat is not printed."""
    port = free_port()
    with listening(project, service, port=port) as ear:
        callback = register(project, service, ear.address)
        message = send(project, service, "--callback", "on-call")
        answer(service, message, JANE, "Yes")
        assert ear.reply()["content"] == "Yes"
        settled(project, service, callback)
        noted(project, 1)  # before that it would be told again: better than not at all
        ear.process.send_signal(signal.SIGKILL)
        ear.process.wait(patience_s)
    answer(service, message, SAM, "No")

    with listening(project, service, port=port) as ear:
        assert ear.reply()["content"] == "No"
        code, rest, told = ear.stop()

    assert (code, rest) == (0, "")
    assert told.endswith("stopped: 1 reply, 0 refused.\n")
    calls = done(project, service, "callbacks", "calls", callback)["calls"]
    assert [one["status"] for one in calls] == ["SUCCESS", "SUCCESS"]


def test_a_port_in_use_is_a_clear_error(project: Project, service: Service) -> None:
    """A receiver that still runs in another window."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])

        ended = project.run(service, "callbacks", "listen", "--port", port, "--no-key")

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"the port {port} of 127.0.0.1 is in use. [E042]\n"
        "  next: stop the program that uses it, or choose another: reconciler callbacks listen --port 0\n"
    )


REFUSED: dict[str, tuple[tuple[str, ...], int]] = {
    "no key": ((), 64),
    "two sources": (("--key-env", "A", "--key-file", "b"), 64),
    "a key and none": (("--key-env", "A", "--no-key"), 64),
    "the key itself": (("--key", KEY), 64),
    "an unknown source": (("--key", f"literal:{KEY}"), 64),
    "no name": (("--key", "env:"), 64),
    "an unset variable": (("--key", "env:NOT_SET"), 3),
    "a missing file": (("--key-file", "gone.txt"), 3),
    "a key that no header carries": (("--key-env", "SPACED"), 3),
    "a path that is none": (("--no-key", "--path", "here"), 64),
    "a header that is none": (("--no-key", "--header", "X: y"), 64),
    "a folder for events": (("--no-key", "--events", "."), 1),
    "a folder for the inbox": (("--no-key", "--inbox", "."), 1),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_listened_with_is_refused(case: str, project: Project, service: Service) -> None:
    """And no secret is shown, also where it stands on the command line against all advice."""
    options, code = REFUSED[case]
    ended = project.run(
        service, "callbacks", "listen", "--port", "0", *options, env={"SPACED": f"{KEY} {KEY}"}
    )

    assert (ended.returncode, ended.stdout) == (code, "")
    assert KEY not in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "  next: " in ended.stderr


def test_the_key_may_be_in_a_file(project: Project, service: Service) -> None:
    (project.folder / "key.txt").write_text(f"{KEY}\n")
    with listening(project, service, "--key", "file:key.txt") as ear:
        assert ear.post(json.dumps(GOOD).encode(), {HEADER: KEY}) == 200
        assert ear.reply()["sender"]["name"] == "Jane Doe"


def test_forged_callbacks_are_counted_and_told_once(
    project: Project, service: Service, record_property: Callable[[str, object], None]
) -> None:
    """Over real sockets; a flood fills no log, and no line of it shows what was sent."""
    forged = 200
    with listening(project, service) as ear:
        answers = [
            ear.post(json.dumps(GOOD).encode(), {HEADER: f"{KEY}{number}"}) for number in range(forged)
        ]
        assert ear.post(json.dumps(GOOD).encode(), {HEADER: KEY}) == 200
        ear.reply()
        code, rest, told = ear.stop()
    record_property("forged callbacks over loopback", forged)

    assert answers == [404] * forged
    assert (code, rest) == (0, "")
    assert told.count("refused with 404") == 1
    assert told.endswith(f"stopped: 1 reply, {forged} refused.\n")
    assert KEY not in told
    assert "Jane" not in told


@contextmanager
def slow_sockets(address: str, count: int) -> Iterator[None]:
    """Callers who begin a request and never end it: half of them in its head, half in its body."""
    host, _, port = address.removeprefix("http://").rstrip("/").partition(":")
    body = f"POST / HTTP/1.1\r\nHost: x\r\n{HEADER}: {KEY}\r\nContent-Length: 500\r\n\r\n{{".encode()
    with ExitStack() as held:
        for number in range(count):
            one = held.enter_context(socket.create_connection((host, int(port)), timeout=patience_s))
            one.sendall(body if number % 2 else b"POST / HTTP/1.1\r\nHost: ")
        yield


def test_slow_callers_do_not_keep_a_good_one_waiting(
    project: Project, service: Service, record_property: Callable[[str, object], None]
) -> None:
    """200 sockets that drip (reliability S22): a good callback is taken while they are there.

    Served one after the other, each would cost its deadline, and the good one would come after a quarter of
    an hour; how it comes before any of them is claimed in `tests/messaging/test_hostile_callbacks.py`.
    """
    with listening(project, service) as ear, slow_sockets(ear.address, 200):
        assert ear.post(json.dumps(GOOD).encode(), {HEADER: KEY}) == 200
        ear.reply()
    record_property("slow sockets", 200)


def test_callbacks_are_listed_and_taken_away(project: Project, service: Service) -> None:
    with listening(project, service) as ear:
        callback = register(project, service, ear.address, "--no-key", "--no-replies", "--no-retries")
        (listed,) = done(project, service, "callbacks", "list")["callbacks"]
        shown = project.run(service, "callbacks", "list").stdout
        deleted = done(project, service, "callbacks", "delete", callback)
        again = done(project, service, "callbacks", "delete", callback, code=1)

    assert (listed["callback_id"], listed["name"], listed["auth"]) == (callback, "on-call", None)
    assert (listed["on_reply"], listed["on_undeliverable"], listed["retries"]) == (False, True, False)
    assert f"{callback}  on-call  json  none" in shown
    assert deleted["deleted"] == callback
    assert again["error"]["kind"] == "NotFound"
    assert done(project, service, "callbacks", "list")["callbacks"] == []


def test_a_callback_whose_address_does_not_answer_is_refused_by_the_service(
    project: Project, service: Service
) -> None:
    """The service looks first: the receiver has to run."""
    url = f"http://127.0.0.1:{free_port()}/"

    refused = done(
        project, service, "callbacks", "create", "on-call", url, "--key-env", "CALLBACK_KEY", code=1
    )

    assert refused["error"]["kind"] == "Rejected"
    assert done(project, service, "callbacks", "list")["callbacks"] == []


def test_a_callback_in_doubt_is_not_made_again(project: Project, service: Service) -> None:
    """The connection closes after the service has taken it."""
    with listening(project, service) as ear:
        service.call(
            "POST", "/_sandbox/faults", {"fault": "drop-after", "method": "POST", "path": "/callbacks"}
        )
        doubt = done(
            project,
            service,
            "callbacks",
            "create",
            "on-call",
            ear.address,
            "--key-env",
            "CALLBACK_KEY",
            code=8,
        )

    assert doubt["error"]["kind"] == "InDoubt"
    assert doubt["error"]["next"].startswith("reconciler callbacks list")
    assert service.writes().count(("POST", "/callbacks")) == 1
    assert len(done(project, service, "callbacks", "list")["callbacks"]) == 1


def test_text_for_people_is_inert(project: Project, service: Service) -> None:
    """Anybody can write a reply."""
    with listening(project, service, "--key-env", "CALLBACK_KEY", "--format", "text") as ear:
        register(project, service, ear.address)
        message = send(project, service, "--callback", "on-call", "--param", "a=\u202eb")
        answer(service, message, JANE, "Yes\x1b[2J\n\u202e[bold]")
        assert ear.process.stdout is not None
        shown = [ear.process.stdout.readline() for _ in range(3)]

    assert shown[0] == f"{JANE}: Yes\\x1b[2J\\n\\u202e[bold]\n"
    assert message in shown[1]
    assert shown[2] == "  a=\\u202eb\n"


def test_listening_needs_no_settings(tmp_path: Path, project: Project, service: Service) -> None:
    """A receiver may stand on a machine that has no credentials for the service."""
    (project.folder / "reconciler.yaml").unlink()
    with listening(project, service, "--no-key", "--inbox", str(tmp_path / "inbox.db")) as ear:
        assert ear.post(json.dumps(GOOD).encode(), {}) == 200
        assert ear.reply()["content"] == "Yes"
        ear.process.send_signal(signal.SIGINT)
        out, err = ear.process.communicate(timeout=patience_s)

    assert (ear.process.returncode, out) == (0, "")
    assert "without a key" in "".join(ear.said)
    assert err.endswith("stopped: 1 reply, 0 refused.\n")
