"""The sandbox on a real port: ready, busy port, restart, signals."""

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest
from sandbox.asking import JANE, usual_headers
from waiting import patience_s

from reconciler.sandbox.app import running_sandbox, serve_sandbox
from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.state import DataFileError

SERVE = """
import sys
from reconciler.sandbox.app import SandboxConfig, serve_sandbox
serve_sandbox(SandboxConfig(data=sys.argv[1]), port=0, on_ready=lambda address: print(address, flush=True))
print("stopped", flush=True)
"""


def test_it_answers_over_loopback() -> None:
    """The whole way once: port, HTTP, JSON, Location on the address that was asked."""
    with running_sandbox(SandboxConfig(contacts=3)) as base, httpx2.Client(base_url=base) as client:
        made = client.post("/contacts", json=JANE, headers=usual_headers("/contacts"))
        page = client.get("/contacts", headers=usual_headers("/contacts"))

        assert made.headers["location"].startswith(f"{base}/contacts/")
        assert page.json()["status"] == "1 to 4 of 4    "
        assert len(page.headers.get_list("date")) == 1


def test_an_empty_answer_keeps_the_connection_usable() -> None:
    """204 comes with a content type and a length of 0, as recorded, and the next request goes through."""
    with running_sandbox(SandboxConfig()) as base, httpx2.Client(base_url=base) as client:
        path = client.post("/contacts", json=JANE, headers=usual_headers("/contacts")).headers["location"]
        for _ in range(3):
            answer = client.put(path, json=JANE, headers=usual_headers("/contacts"))
            assert (answer.status_code, answer.headers["content-length"]) == (204, "0")
        assert client.delete(path, headers=usual_headers("/contacts")).status_code == 204


def test_an_oversized_request_is_answered_and_not_cut() -> None:
    """The sender of 11 MB sees the 413, not a broken connection."""
    with running_sandbox(SandboxConfig()) as base, httpx2.Client(base_url=base) as client:
        answer = client.post("/resources", content=b"x" * 11_000_000, headers=usual_headers("/resources"))

        assert answer.status_code == 413


def test_a_restart_with_a_data_file_goes_on_where_it_was(tmp_path: Path) -> None:
    """Stopped and started again: the same contacts under the same ids."""
    config = SandboxConfig(data=tmp_path / "sandbox.db")
    paths = []
    for _ in range(2):
        with running_sandbox(config) as base, httpx2.Client(base_url=base) as client:
            made = client.post("/contacts", json=JANE, headers=usual_headers("/contacts"))
            paths.append(made.headers["location"].removeprefix(base))
            answers = [client.get(path, headers=usual_headers(path)).status_code for path in paths]
            assert answers == [200] * len(paths)
    assert len(set(paths)) == 2


def test_latency_is_added_to_each_request() -> None:
    """So that a client's concurrency can be measured; requests wait side by side."""
    with running_sandbox(SandboxConfig(latency_ms=80)) as base, httpx2.Client(base_url=base) as client:
        start = time.perf_counter()
        client.get("/contacts", headers=usual_headers("/contacts"))

        assert time.perf_counter() - start >= 0.08


def test_a_port_in_use_is_an_os_error() -> None:
    """The caller says so to the user; nothing was started, no file was touched."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()

        with pytest.raises(OSError, match="in use"):
            serve_sandbox(
                SandboxConfig(), port=taken.getsockname()[1], on_ready=lambda _: pytest.fail("ready")
            )


def test_an_unusable_data_file_frees_the_port(tmp_path: Path) -> None:
    """The error of the file comes through, and the address is free for the next try."""
    with pytest.raises(DataFileError):
        serve_sandbox(SandboxConfig(data=tmp_path), port=0, on_ready=lambda _: pytest.fail("ready"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    """It returns, the exit code is 0, nothing is on stderr, and the data file is whole and free."""
    data = tmp_path / "sandbox.db"
    command = [sys.executable, "-c", SERVE, str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        base = process.stdout.readline().strip()
        made = httpx2.post(f"{base}/contacts", json=JANE, headers=usual_headers("/contacts"))
        process.send_signal(number)
        output, errors = process.communicate(timeout=patience_s)

    assert (made.status_code, process.returncode, output, errors) == (201, 0, "stopped\n", "")
    with running_sandbox(SandboxConfig(data=data)) as again, httpx2.Client(base_url=again) as client:
        assert (
            client.get("/contacts", headers=usual_headers("/contacts")).json()["status"] == "1 to 1 of 1    "
        )


def test_errors_within_the_context_stop_the_server_too() -> None:
    """A failing test must not leave a thread behind."""
    with pytest.raises(RuntimeError, match="in the test"), running_sandbox(SandboxConfig()) as base:
        raise RuntimeError("in the test")

    with httpx2.Client() as client, pytest.raises(httpx2.ConnectError):
        client.get(base)
