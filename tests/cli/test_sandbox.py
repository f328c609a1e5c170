import base64
import json
import signal
import socket
import subprocess
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path

from served import sandbox
from waiting import patience_s

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def asked(
    address: str, path: str, *, user: str = "demo:demo", key: str = "demo-key"
) -> tuple[int, str | None, bytes]:
    """Status, media type and body of what a GET of contacts answers."""
    connection = HTTPConnection(address.removeprefix("http://"), timeout=patience_s)
    headers = {
        "Authorization": "Basic " + base64.b64encode(user.encode()).decode(),
        "X-Api-Key": key,
        "Accept": "application/vnd.service.contact-v1+json",
    }
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.getheader("content-type"), body


def contacts(
    address: str, *, user: str = "demo:demo", key: str = "demo-key"
) -> tuple[int, dict[str, object]]:
    status, _, body = asked(address, "/contacts", user=user, key=key)
    return status, json.loads(body)


def test_the_sandbox_serves_until_it_is_stopped() -> None:
    """It prints its address as data, how to use it beside it, and ends well."""
    with sandbox("--contacts", "3", stderr=subprocess.PIPE) as (address, process):
        status, body = contacts(address)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        said = process.stderr.read()
        assert process.wait(patience_s) == 0

    assert status == 200
    assert body["status"] == "1 to 3 of 3    "
    assert f"RECONCILER_SERVICE_BASE_URL={address}" in said
    assert said.endswith("sandbox stopped.\n")


def test_the_sandbox_takes_the_credentials_it_was_given() -> None:
    """And no others."""
    with sandbox("--username", "u", "--password", "p", "--api-key", "k") as (address, _):
        assert contacts(address, user="u:p", key="k")[0] == 200
        assert contacts(address, user="u:x", key="k")[0] == 401
        assert contacts(address, user="u:p", key="x")[0] == 403


def test_the_sandbox_answers_in_the_form_with_the_switch_and_the_fault_that_it_was_given() -> None:
    """Three ways to choose an answer: the form, one switch on top of it, a fault before both."""
    options = ("--like", "recorded", "--prev-rel", "prev", "--fault", "html,path=/contacts,times=1")
    with sandbox("--contacts", "25", *options) as (address, _):
        page = asked(address, "/contacts?offset=20")
        _, _, second = asked(address, "/contacts?offset=20")

    (link,) = json.loads(second)["link"]
    assert page[:2] == (200, "text/html; charset=utf-8")
    assert link["rel"] == "prev"
    assert link["uri"].startswith("https://api.service.example/")


def test_the_sandbox_names_its_workspaces() -> None:
    """Their ids are what settings need."""
    options = ("--workspace", "Operations=4C8FE1A2", "--workspace", "People")
    with sandbox(*options, stderr=subprocess.PIPE) as (_, process):
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        said = process.stderr.read()

    assert "workspace Operations has the id 4C8FE1A2" in said
    assert "workspace People has the id " in said


def test_a_port_in_use_is_a_clear_error(run: Run) -> None:
    """The commonest accident: a sandbox that still runs in another window."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        done = run("sandbox", "--port", str(port))

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"the port {port} of 127.0.0.1 is in use. [E042]\n"
        "  next: stop the program that uses it, or choose another: reconciler sandbox --port 0\n"
    )


def test_a_data_file_that_cannot_be_used_is_a_clear_error(run: Run, tmp_path: Path) -> None:
    """A folder that is not there, a file that is something else."""
    (tmp_path / "text").write_text("this is no database, and it stays as it is")

    gone = run("sandbox", "--port", "0", "--data", str(tmp_path / "gone" / "data"))
    text = run("sandbox", "--port", "0", "--data", str(tmp_path / "text"))

    for done in (gone, text):
        assert (done.returncode, done.stdout) == (1, "")
        assert "Traceback" not in done.stderr
        assert "  next: name another file with --data" in done.stderr
    assert (tmp_path / "text").read_text() == "this is no database, and it stays as it is"
