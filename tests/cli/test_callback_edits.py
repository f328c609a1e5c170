"""callbacks get, update and mark: what is shown and asked, written once, and read back."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from cli.hands import Project, Service
from cli.listener import JANE, KEY, answer, done, register, send
from cli.test_apply import terminal
from msgspec import structs
from service.support import answer as answered
from service.support import app_wire, with_client

from reconciler.errors import InDoubt, Rejected, StalePlan
from reconciler.messaging.callback_updates import write_edit
from reconciler.messaging.values import Callback, CallbackAuth, CallbackEdit
from reconciler.model.secrets import Secret
from reconciler.sandbox.app import SandboxConfig, running_sandbox

NOWHERE = "http://127.0.0.1:9/"
ELSEWHERE = "http://127.0.0.1:9/new"
UPDATE = ("callbacks", "update")


@pytest.fixture
def service() -> Iterator[Service]:
    """A sandbox that does not look at the address of a callback."""
    with running_sandbox(SandboxConfig(callback_check=False)) as address:
        yield Service(address)


@pytest.fixture
def callback(project: Project, service: Service) -> str:
    """The id of a callback called on-call."""
    return register(project, service, NOWHERE)


def puts(service: Service) -> list[str]:
    """The paths that were written to by PUT."""
    return [path for method, path in service.writes() if method == "PUT"]


def kept(service: Service, callback: str) -> dict[str, Any]:
    """The callback as the service has it, its key too."""
    return service.call("GET", f"/callbacks/{callback}")


def test_a_callback_is_shown_whole_without_its_key(project: Project, service: Service, callback: str) -> None:
    shown = project.run(service, "callbacks", "get", callback)
    found = done(project, service, "callbacks", "get", callback)["callback"]
    gone = done(project, service, "callbacks", "get", "0123456789ABCDEF", code=1)

    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.splitlines()[:4] == [
        f"callback_id       {callback}",
        "name              on-call",
        f"url               {NOWHERE}",
        "auth              httpheader",
    ]
    assert KEY not in shown.stdout
    assert (found["name"], found["auth"], found["retries"]) == ("on-call", "httpheader", True)
    assert gone["error"]["kind"] == "NotFound"


def test_an_update_changes_what_is_named_and_keeps_the_rest(
    project: Project, service: Service, callback: str
) -> None:
    """The key too, which is written anew with every update."""
    before = kept(service, callback)

    told = project.run(service, *UPDATE, callback, "--url", ELSEWHERE, "--no-retries", "--yes")
    again = done(project, service, *UPDATE, callback, "--url", ELSEWHERE, "--yes")

    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.splitlines() == [
        f"~ callback {callback} (on-call)",
        f"    url      {NOWHERE}  →  {ELSEWHERE}",
        "    retries  yes  →  no",
        f"updated: callback {callback}",
    ]
    assert kept(service, callback) == {**before, "url": ELSEWHERE, "retriesEnabled": False}
    assert (again["changes"], again["written"]) == ([], False)
    assert puts(service) == [f"/callbacks/{callback}"]


def test_a_dry_run_shows_the_same_and_sends_nothing_but_get(
    project: Project, service: Service, callback: str
) -> None:
    before = kept(service, callback)

    told = project.run(service, *UPDATE, callback, "--url", ELSEWHERE, "--dry-run")
    found = done(project, service, *UPDATE, callback, "--url", ELSEWHERE, "--dry-run")

    assert told.stdout.splitlines()[1] == f"    url  {NOWHERE}  →  {ELSEWHERE}"
    assert found["changes"] == [{"field": "url", "before": NOWHERE, "after": ELSEWHERE}]
    assert (found["written"], puts(service), kept(service, callback)) == (False, [], before)


WRONG: dict[str, tuple[tuple[str, ...], int, str]] = {
    "nobody to ask": (("update", "ID", "--url", ELSEWHERE), 64, "pass --yes"),
    "nobody to ask in JSON": (("update", "ID", "--url", ELSEWHERE, "--format", "json"), 64, "pass --yes"),
    "nobody to ask about calls": (("mark", "ID", "C1", "--status", "success"), 64, "pass --yes"),
    "nothing to change": (("update", "ID", "--yes"), 64, "name what to change"),
    "two keys": (("update", "ID", "--yes", "--key-env", "A", "--no-key"), 64, "not several"),
    "no call": (("mark", "ID", "--status", "failed", "--yes"), 64, "--message"),
    "no status": (("mark", "ID", "C1"), 64, "missing option '--status'. Choose from: success, failed"),
    "calls and a message": (
        ("mark", "ID", "C1", "--message", "M", "--status", "failed", "--yes"),
        64,
        "--message",
    ),
    "an unknown callback": (("update", "0123456789ABCDEF", "--url", ELSEWHERE, "--yes"), 1, "404"),
    "an unknown call": (("mark", "ID", "C1", "--status", "success", "--yes"), 3, "no call C1"),
    "no call about a message": (
        ("mark", "ID", "--message", "M1", "--status", "success", "--yes"),
        3,
        "next: list them: reconciler callbacks calls",
    ),
    "an address that is none": (("update", "ID", "--url", "here", "--yes"), 3, "https://"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_changed_is_refused_unwritten(
    case: str, project: Project, service: Service, callback: str
) -> None:
    arguments, code, words = WRONG[case]

    ended = project.run(service, "callbacks", *(callback if one == "ID" else one for one in arguments))

    assert ended.returncode == code, ended.stderr
    assert words in ended.stderr + ended.stdout
    assert "Traceback" not in ended.stderr
    assert puts(service) == []


def test_a_person_is_asked_and_a_no_writes_nothing(project: Project, service: Service, callback: str) -> None:
    with terminal(project, service, *UPDATE, callback, "--url", ELSEWHERE) as screen:
        screen.wait_for("Write this? [yes/no]")
        screen.type("no\n")
        code = screen.end()

    assert code == 7
    assert "nothing was written" in screen.seen
    assert puts(service) == []


def test_calls_of_a_message_are_marked_and_read_back(
    project: Project, service: Service, callback: str
) -> None:
    """The history of a message: its calls have failed, and its reply came by telephone."""
    message = send(project, service, "--callback", "on-call")
    answer(service, message, JANE, "Yes")
    service.call("POST", "/_sandbox/callbacks/deliver", {})
    mark = ("callbacks", "mark", callback, "--message", message, "--status", "success")

    failed = done(project, service, "callbacks", "calls", callback, "--failed", "--message", message)["calls"]
    dry = done(project, service, *mark, "--dry-run")
    nobody = puts(service)
    told = done(project, service, *mark, "--yes")
    again = project.run(service, *mark, "--yes")

    (call,) = done(project, service, "callbacks", "calls", callback)["calls"]
    assert ([one["status"] for one in dry["calls"]], dry["written"], nobody) == (["FAILED"], False, [])
    assert failed == dry["calls"]
    assert done(project, service, "callbacks", "calls", callback, "--failed")["calls"] == []
    assert done(project, service, "callbacks", "calls", callback, "--message", "ABC")["calls"] == []
    assert (told["calls"], told["written"]) == ([call], True)
    assert call["status"] == "SUCCESS"
    assert again.stdout == "these calls are already SUCCESS; nothing was written\n"
    assert puts(service) == [f"/callbacks/{callback}/calls"]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"fault": "drop-after"}, 0),
        ({"fault": "refused-after", "status": 503}, 0),
        ({"fault": "drop-before"}, 8),
    ],
)
def test_an_update_whose_answer_is_lost_is_done_where_it_reads_back(
    fault: dict[str, Any], code: int, project: Project, service: Service, callback: str
) -> None:
    """It is never sent again: who knows whether somebody changes it meanwhile."""
    service.call("POST", "/_sandbox/faults", {**fault, "method": "PUT", "path": "/callbacks/*"})

    ended = project.run(service, *UPDATE, callback, "--url", ELSEWHERE, "--yes", "--format", "json")

    found = json.loads(ended.stdout)
    assert (ended.returncode, len(puts(service))) == (code, 1)
    assert kept(service, callback)["url"] == (NOWHERE if code else ELSEWHERE)
    if code:
        assert found["error"]["kind"] == "InDoubt"
        assert found["error"]["next"].startswith(f"reconciler callbacks get {callback}")


class Held:
    """A service with one callback, as it shows it at each GET; `takes` says what of a PUT it takes."""

    def __init__(self, *shown: dict[str, Any], takes: bool = True, hides: str | None = None) -> None:
        self.body = {
            "id": "A1",
            "name": "on-call",
            "url": NOWHERE,
            "auth": {"type": "httpheader", "key": KEY},
        }
        self.shown, self.takes, self.hides = list(shown), takes, hides
        self.written: list[dict[str, Any]] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "PUT":
            self.written.append(json.loads(request.content))
            if self.takes:
                self.body = {"id": "A1", **self.written[-1]}
            return answered(204)
        if self.shown:
            self.body = {**self.body, **self.shown.pop(0)}
        auth = self.body["auth"] if self.hides is None else {"type": "httpheader", "key": self.hides}
        return answered(200, {**self.body, "auth": auth})


LIVE = Callback("on-call", NOWHERE, CallbackAuth("httpheader", Secret(KEY)), "A1", retries=False)


def written(held: Held, edit: CallbackEdit, live: Callback = LIVE) -> Callback:
    """What reads back after the edit is written to this service."""
    return with_client(app_wire(held), lambda client: write_edit(client, live, edit, 10.0))


def test_an_update_of_a_callback_that_was_changed_meanwhile_writes_nothing() -> None:
    """It was shown and agreed to as it was; somebody else's edit would be lost."""
    held = Held({"email": "ops@example.com"})

    with pytest.raises(StalePlan):
        written(held, CallbackEdit(url=ELSEWHERE))

    assert held.written == []


def test_what_nobody_knows_is_written_as_it_is_right_before_the_write() -> None:
    """A field without a name of ours that was changed meanwhile stays as it is now."""
    held = Held({"removeHTML": "enabled"})

    written(held, CallbackEdit(url=ELSEWHERE))

    assert (held.written[0]["removeHTML"], held.written[0]["auth"]["key"]) == ("enabled", KEY)


def test_an_update_that_the_service_does_not_take_is_no_success() -> None:
    """It says 204 and shows what was there before, also after the settle window."""
    with pytest.raises(Rejected, match="shows other values: url") as refused:
        written(Held(takes=False), CallbackEdit(url=ELSEWHERE))

    assert "reconciler callbacks get A1" in refused.value.next


def test_a_new_key_that_is_not_shown_cannot_settle_a_doubt() -> None:
    """After a success it counts as set; where the answer is lost nothing proves it."""
    live = structs.replace(LIVE, auth=CallbackAuth("httpheader", Secret("")))
    edit = CallbackEdit(key=Secret("another"))
    held = Held(hides="")

    def losing(request: httpx2.Request) -> httpx2.Response:
        found = held(request)
        return answered(502) if request.method == "PUT" else found

    assert written(Held(hides=""), edit, live).name == "on-call"
    with pytest.raises(InDoubt):
        with_client(app_wire(losing), lambda client: write_edit(client, live, edit, 10.0))
    assert len(held.written) == 1
