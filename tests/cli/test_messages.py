"""messages as processes: sent once, followed, listed and shown."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import warm
from cli.hands import Project, Service
from cli.listener import JANE, SAM, answer, done, send
from waiting import patience_s, readable, taken, until

ONE = ("messages", "send", "--to", JANE, "--subject", "Night shift")
BODY = ("--body", "Can you come?")
SENT = ("POST", "/messages")

late_s = 60.0  # of the clock of the sandbox


def test_a_message_is_sent_once_and_named(project: Project, service: Service) -> None:
    """Accepted is not delivered: the next step says how to see."""
    ended = project.run(service, *ONE, *BODY)

    assert (ended.returncode, ended.stderr) == (0, "")
    first, second = ended.stdout.splitlines()
    message = first.removeprefix("accepted, and queued: message ")
    assert second == f"  next: reconciler messages responses {message}"
    assert service.writes() == [SENT]
    shown = done(project, service, "messages", "show", message)["message"]["fields"]
    assert (shown["to"], shown["subject"], shown["body"]) == (JANE, "Night shift", "Can you come?")


@pytest.mark.parametrize("source", ["-", "text.txt"])
def test_the_text_may_come_from_a_file(source: str, project: Project, service: Service) -> None:
    """Without the line end that every editor adds, which would be charged."""
    text = project.folder / "text.txt"
    text.write_text("Two lines\nwith 👍\n")
    with (
        text.open() as given,
        project.start(
            service, *ONE, "--body-file", source, "--format", "json", stdin=given, stdout=subprocess.PIPE
        ) as process,
    ):
        out, _ = process.communicate(timeout=patience_s)

    message = json.loads(out)["sent"]["message_id"]
    shown = done(project, service, "messages", "show", message)["message"]["fields"]
    assert shown["body"] == "Two lines\nwith 👍"


def test_our_key_is_hidden_where_the_service_shows_it_as_data(project: Project, service: Service) -> None:
    """Somebody may have written it into a field; a log keeps what a command prints."""
    sent = project.run(service, *ONE, "--body", "the key is demo-key, in hex 64656d6f2d6b6579")
    message = sent.stdout.split()[-1]

    for form in ("text", "json"):
        shown = project.run(service, "messages", "show", message, "--format", form)
        assert shown.returncode == 0
        assert "the key is (secret), in hex (secret)" in shown.stdout


def test_a_message_with_an_unknown_callback_is_not_sent(project: Project, service: Service) -> None:
    """The service takes any name, and the replies come back to nobody."""
    ended = project.run(service, *ONE, *BODY, "--callback", "on-cal")

    assert ended.returncode == 3
    assert "there is no callback 'on-cal'; nothing was sent." in ended.stderr
    assert service.writes() == []


def test_a_callback_may_be_named_by_its_address_in_the_manifests(project: Project, service: Service) -> None:
    """In the manifests it has a name of ours; messages need the service's."""
    project.manifest.with_name("callbacks.yaml").write_text(
        "version: 1\nworkspace: default\ncallbacks:\n  on-call:\n    name: Night shift\n"
        "    url: https://replies.example.com/\n    auth: {type: httpheader, key: a-key-of-nobody}\n"
    )

    ended = project.run(service, *ONE, *BODY, "--callback", "callback/default/on_call")
    unmade = project.run(service, *ONE, *BODY, "--callback", "callback/default/on-call")

    assert (ended.returncode, unmade.returncode) == (3, 3)
    assert "callback/default/on_call is not a callback of the manifests; nothing was sent." in ended.stderr
    assert "did you mean callback/default/on-call?" in ended.stderr
    assert "there is no callback 'Night shift'; nothing was sent." in unmade.stderr
    assert service.writes() == []


MISTAKES: dict[str, tuple[tuple[str, ...], int]] = {
    "no recipient": (("messages", "send", "--subject", "x", *BODY), 64),
    "no subject": (("messages", "send", "--to", JANE, *BODY), 64),
    "no text": (ONE, 64),
    "two texts": ((*ONE, *BODY, "--body-file", "-"), 64),
    "a parameter for nobody": ((*ONE, *BODY, "--param", "a=b"), 64),
    "a parameter that is none": ((*ONE, *BODY, "--callback", "c", "--param", "a"), 64),
    "a parameter given twice": ((*ONE, *BODY, "--callback", "c", "--param", "a=b", "--param", "a=c"), 64),
    "two recipients in one": ((*ONE, *BODY, "--to", f"{JANE};{SAM}"), 3),
    "an empty recipient": ((*ONE, *BODY, "--to", " "), 3),
    "a missing file": ((*ONE, "--body-file", "gone.txt"), 1),
    "a file that is no text": ((*ONE, "--body-file", "bytes"), 3),
    "a time that is none": ((*ONE, *BODY, "--wait", "--timeout", "0"), 64),
    "an end without a start": (("messages", "list", "--to", "2026-03-02"), 64),
    "an end before the start": (("messages", "list", "--from", "2026-03-02", "--to", "2026-03-01"), 64),
    "a date that is none": (("messages", "list", "--from", "02/03/2026"), 64),
    "a filter that is none": (("messages", "responses", "AB", "--filter", "x"), 64),
    "an id that is a path": (("messages", "show", "../contacts"), 3),
    "a command that is none": (("messages", "sent"), 64),
    "no command": (("messages",), 64),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_sends_nothing(case: str, project: Project, service: Service) -> None:
    """Nothing is guessed where a guess would wake somebody."""
    arguments, code = MISTAKES[case]
    (project.folder / "bytes").write_bytes(b"\xff\xfe")

    ended = project.run(service, *arguments)

    assert (ended.returncode, ended.stdout) == (code, "")
    assert "Traceback" not in ended.stderr
    assert "  next: " in ended.stderr
    assert service.requests() == []


@pytest.mark.parametrize("fault", ["drop-after", "land-late", "truncate", "html", "refused-after"])
def test_a_send_in_doubt_is_told_and_never_repeated(fault: str, project: Project, service: Service) -> None:
    """At most one message for one intent (P10): nobody is woken twice."""
    rule = {"fault": fault, "method": "POST", "path": "/messages"}
    service.call("POST", "/_sandbox/faults", rule | ({"seconds": late_s} if fault == "land-late" else {}))

    told = done(project, service, *ONE, *BODY, code=8)

    assert told["error"]["kind"] == "InDoubt"
    assert "Nothing is sent again." in told["error"]["message"]
    assert told["error"]["next"].startswith("reconciler messages list")
    assert service.writes().count(SENT) == 1
    service.call("POST", "/_sandbox/clock", {"advance_s": 2 * late_s})
    assert len(done(project, service, "messages", "list")["messages"]) == 1


@pytest.mark.parametrize(("status", "code"), [(503, 8), (408, 8), (429, 1)])
def test_only_a_limit_says_that_a_message_was_not_sent(
    status: int, code: int, project: Project, service: Service
) -> None:
    """A gateway that says 503 or 408 may have passed the message on, and "send it again" made two."""
    rule = {"fault": "refused-before", "method": "POST", "path": "/messages", "status": status}
    service.call("POST", "/_sandbox/faults", rule)

    told = done(project, service, *ONE, *BODY, code=code)

    assert told["error"]["kind"] == ("InDoubt" if code == 8 else "Throttled")
    assert ("messages list" in told["error"]["next"]) is (code == 8)
    assert service.writes().count(SENT) == 1


def test_a_send_that_never_left_is_no_doubt(project: Project, service: Service) -> None:
    """Refused before it was sent: the same command may be given again."""
    nobody = Service("http://127.0.0.1:9")

    told = done(project, nobody, *ONE, *BODY, code=1)

    assert told["error"]["kind"] == "Unavailable"
    assert service.requests() == []


def test_waiting_ends_when_everybody_answered(project: Project, service: Service) -> None:
    """The id is printed at once; each reply as it comes."""
    with following(project, service, "--to", SAM) as (process, message):
        answer(service, message, JANE, "Yes")
        answer(service, message, SAM, "No\x1b[2J")
        out, err = process.communicate(timeout=patience_s)

    assert process.returncode == 0
    assert f"  {JANE}: Yes\n" in err
    assert f"  {SAM}: No\\x1b[2J\n" in err
    assert out.endswith("everybody replied.\n")
    assert service.writes().count(SENT) == 1


def test_waiting_ends_when_its_time_is_over(project: Project, service: Service) -> None:
    """6: the message is out, and not everybody answered; JSON says who did."""
    told = done(project, service, *ONE, *BODY, "--wait", "--timeout", "1", code=6)

    assert (told["outcome"], told["end"]) == ("partial", "time is over")
    assert told["responses"] == [{"type": "noresponse", "recipients": 1, "percent": 100.0}]
    assert told["sent"]["message_id"]
    assert [one["name"] for one in told["status"] if one["recipients"]] == ["Received"]


def test_nobody_is_waited_for_whom_nothing_reached(project: Project, service: Service) -> None:
    """A failed delivery never answers."""
    with following(project, service) as (process, message):
        service.call("POST", f"/_sandbox/messages/{message}/fail", {"to": JANE})
        out, _ = process.communicate(timeout=patience_s)

    assert process.returncode == 6
    assert out.endswith("not delivered to 1 recipient; everybody else replied.\n")


def test_a_signal_ends_the_waiting_and_takes_nothing_back(project: Project, service: Service) -> None:
    """130, and never "run it again": the message is out."""
    with following(project, service) as (process, _):
        _wait_for_looks(service, 2)  # the second shows that the first was read
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=patience_s)

    assert process.returncode == 130
    assert out.endswith("interrupted: no reply from 1 recipient yet.\n")
    assert "again" not in out + err
    assert service.writes().count(SENT) == 1


def test_trouble_while_waiting_is_told_beside_the_message(project: Project, service: Service) -> None:
    """The message is out; what cannot be seen of it is another matter."""
    rule = {"fault": "malformed", "method": "GET", "path": "/messages/*", "times": None}
    service.call("POST", "/_sandbox/faults", rule)

    told = done(project, service, *ONE, *BODY, "--wait", "--timeout", "2", code=1)

    assert told["end"] == "not told"
    assert told["sent"]["message_id"]
    assert told["trouble"]
    assert service.writes().count(SENT) == 1


def test_two_signals_during_a_slow_send_are_in_doubt(project: Project, service: Service) -> None:
    """The first signal lets the call finish; the second ends it and says what is not known."""
    rule = {"fault": "latency", "method": "POST", "path": "/messages", "seconds": 2 * patience_s}
    service.call("POST", "/_sandbox/faults", rule)
    with project.start(
        service, *ONE, *BODY, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        until(lambda: service.call("GET", "/_sandbox/faults")["faults"][0]["struck"], "the call")
        process.send_signal(signal.SIGINT)
        taken(signal.SIGINT, process)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=patience_s)

    assert (process.returncode, out) == (8, "")
    assert "Nothing is sent again." in err
    assert "next: reconciler messages list" in err


def test_on_a_terminal_the_status_is_shown_in_place(project: Project, service: Service) -> None:
    """And nothing of a reply acts on it."""
    ours, theirs = pty.openpty()
    env = {"NO_COLOR": "1", "TERM": "xterm"}
    seen = ""
    with project.start(
        service,
        *ONE,
        *BODY,
        "--wait",
        "--timeout",
        f"{patience_s:g}",
        env=env,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        replied = False
        while readable(ours):
            try:
                seen += os.read(ours, 65_536).decode()
            except OSError:  # how a terminal says that the other side has gone
                break
            if not replied and "noresponse 1" in seen:
                (message,) = service.call("GET", "/_sandbox/requests")["requests"][1]["path"].split("/")[2:3]
                answer(service, message, JANE, "Yes\x1b]0;x\x07")
                replied = True
        code = process.wait(patience_s)
    os.close(ours)

    assert (code, replied) == (0, True)
    assert "status     Received 1" in seen
    assert f"{JANE}: Yes\\x1b]0;x\\x07" in seen
    assert "\x1b]0;" not in seen
    assert "everybody replied." in seen


def test_dates_are_sent_as_all_four_criteria_or_none(project: Project, service: Service) -> None:
    """With three of them the service does not filter at all (specification 8, rule 4)."""
    message = send(project, service)
    without = done(project, service, "messages", "list")["messages"]
    dated = done(project, service, "messages", "list", "--from", "2026-03-02", "--to", "2026-03-08")
    timed = done(project, service, "messages", "list", "--from", "2026-03-02T09:30+11:00")["messages"]
    shared = done(project, service, "messages", "list", "--shared")["messages"]

    asked = [one["query"] for one in service.call("GET", "/_sandbox/requests")["requests"]]
    criteria = [{key for key in query if key.startswith("criteria")} for query in asked if query]
    assert set(map(len, criteria)) == {0, 4}
    assert [one["message_id"] for one in without] == [message]
    assert [one["message_id"] for one in timed] == [message]
    assert (dated["messages"], shared) == ([], [])


def test_messages_are_shown_as_tables(project: Project, service: Service) -> None:
    """Every view, with 100 % accounted for."""
    message = send(project, service)
    answer(service, message, JANE, "Yes\u202e")

    listed = project.run(service, "messages", "list").stdout.splitlines()
    shown = project.run(service, "messages", "show", message).stdout
    status = project.run(service, "messages", "status", message).stdout.splitlines()
    each = project.run(service, "messages", "status", message, "--detailed").stdout.splitlines()
    summary = project.run(service, "messages", "responses", message).stdout.splitlines()
    replies = project.run(service, "messages", "responses", message, "--detailed").stdout.splitlines()

    assert listed[0].split() == ["message", "created", "direction", "responses", "subject"]
    assert listed[1].startswith(message)
    assert listed[-1] == "1 message"
    assert ["to", f"{JANE};{SAM}"] in [line.split() for line in shown.splitlines()]
    assert "Acknowledged   1           50 %" in status
    assert [line.split()[0] for line in each[1:3]] == [JANE, SAM]
    assert (len(each), each[-1]) == (4, "2 deliveries")
    assert summary[-1] == "2 recipients, 100 % accounted for"
    assert replies[-1] == f"  {JANE}: Yes\\u202e"


def test_a_message_that_is_not_there_is_not_found(project: Project, service: Service) -> None:
    for words in (
        ("show",),
        ("status",),
        ("status", "--detailed"),
        ("responses",),
        ("responses", "--detailed"),
    ):
        told = done(project, service, "messages", words[0], "4C8FE1A2B3D4E5F6", *words[1:], code=1)

        assert told["error"]["kind"] == "NotFound"


def test_what_people_wrote_is_shown_and_kept_nowhere(project: Project, service: Service) -> None:
    """Shown to who asks, and written to no file and no log (P13)."""
    before = {path for path in project.folder.rglob("*") if path.is_file()}
    message = send(project, service)
    answer(service, message, JANE, "canary reply")
    ended = project.run(service, "messages", "responses", message, "--detailed")

    assert "canary reply" in ended.stdout
    assert ended.stderr == ""
    assert {path for path in project.folder.rglob("*") if path.is_file()} == before


@contextmanager
def following(project: Project, service: Service, *options: str) -> Iterator[tuple[warm.Command, str]]:
    """A send that waits, and the id of its message."""
    with project.start(
        service,
        *(*ONE, *BODY, *options, "--wait", "--timeout", f"{patience_s:g}"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            assert first.startswith("accepted, and queued: message ")
            _wait_for_looks(service, 1)
            yield process, first.split()[-1]
        finally:
            process.kill()


def _wait_for_looks(service: Service, number: int) -> None:
    def looked() -> bool:
        asked = [(method, path.split("/")[-1]) for method, path in service.requests()]
        return asked.count(("GET", "messagestatus")) >= number  # the first call of each look

    until(looked, "a look at what became of it")
