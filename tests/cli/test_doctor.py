"""doctor as a process: it works when nothing else does, hides nothing, shows no secret, writes nothing."""

import hashlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import tally
from cli.hands import Project, Service
from cli.keeping import RUN, rewrite, seal_again, store_file, store_of, told
from waiting import patience_s

from reconciler.sandbox.app import SandboxConfig, running_sandbox

Run = Callable[..., "subprocess.CompletedProcess[str]"]

ALL = [
    *(
        "settings",
        "secrets",
        "manifests",
        "store",
        "lock",
        "service lock",
        "last run",
        "duplicates",
        "history",
    ),
    *("service", "credentials", "workspaces", "feed", "clock"),
    *("limits", "files", "proxies", "certificates", "program", "extras"),
]
SECRETS = {"SVC_USER": "canary-user", "SVC_PASSWORD": "canary-pass", "SVC_API_KEY": "canary-key"}

# No limit at all, as other tests have it, is worth a warning.
LIMITED = {"RECONCILER_SERVICE_LIMITS_REQUESTS_PER_SECOND": "100"}


def states(done: "subprocess.CompletedProcess[str]") -> dict[str, str]:
    """The state of each look; the worst, where there are several lines."""
    order = ("ok", "unchecked", "warn", "fail")
    found: dict[str, str] = {}
    for one in told(done)["checks"]:
        found[one["name"]] = max(found.get(one["name"], "ok"), one["state"], key=order.index)
    return found


def doctor(
    project: Project, service: Service, *options: str, **env: str
) -> "subprocess.CompletedProcess[str]":
    """The command in JSON; it has never a traceback, and its exit code is what its lines say.

    On stderr stands what failed, and nothing else.
    """
    done = project.run(service, "doctor", "--format", "json", *options, env=LIMITED | env)
    assert "Traceback" not in done.stderr
    assert done.stderr.count("FAIL  ") == sum(1 for one in told(done)["checks"] if one["state"] == "fail")
    assert done.stderr.startswith("FAIL  ") or not done.stderr
    assert done.returncode == told(done)["exit_code"] == ("fail" in states(done).values())
    return done


def line(done: "subprocess.CompletedProcess[str]", name: str) -> dict[str, Any]:
    """The first line of a look."""
    found: dict[str, Any] = next(one for one in told(done)["checks"] if one["name"] == name)
    return found


def digest(folder: Path) -> dict[str, str]:
    """Every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@contextmanager
def answering(answer: bytes | None) -> Iterator[Service]:
    """Somebody on loopback who gives every request this answer; None: takes it, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        kept = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                kept.append(connection)
                connection.recv(65_536)
                if answer is not None:
                    connection.sendall(answer)
                    connection.close()

        threading.Thread(target=serve, daemon=True).start()
        yield Service(f"http://127.0.0.1:{server.getsockname()[1]}")
        for connection in kept:
            connection.close()


def http(status: str, body: bytes, **headers: str) -> bytes:
    """A whole answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def test_where_all_is_well_every_line_is_ok_and_two_gets_were_sent(
    project: Project, service: Service
) -> None:
    """After an apply there is everything to look at; looking costs the service two calls."""
    assert project.run(service, "apply", "--yes").returncode == 0
    before, seen = digest(project.folder), len(service.requests())

    done = doctor(project, service)
    text = project.run(service, "doctor", env=LIMITED)

    assert states(done) == dict.fromkeys(ALL, "ok")
    assert list(states(done)) == ALL
    assert (text.returncode, text.stderr) == (0, "")
    assert text.stdout.endswith("\n\nnothing failed.\n")
    assert [method for method, _ in service.requests()[seen:]] == ["GET"] * 4
    assert digest(project.folder) == before


@pytest.mark.parametrize("fault", ["ignored-order", "wrong-order"])
def test_a_service_that_does_not_sort_is_a_warning(project: Project, fault: str) -> None:
    """Then every list is read completely: right, and slower than it could be."""
    with running_sandbox(SandboxConfig(contacts=40)) as address:
        service = Service(address)
        good = doctor(project, service)
        service.call("POST", "/_sandbox/faults", {"fault": fault, "path": "/contacts", "times": None})
        bad = doctor(project, service)

    assert line(good, "feed")["what"] == "contacts in default: newest changes first, 40 rows in all"
    assert (states(bad)["feed"], bad.returncode) == ("warn", 0)
    assert "not in the order of their times" in line(bad, "feed")["what"]


def test_before_the_first_apply_no_store_is_made(project: Project, service: Service) -> None:
    """A look is no beginning."""
    done = doctor(project, service)

    assert set(states(done).values()) == {"ok"}
    assert "does not exist yet" in line(done, "store")["what"]
    assert not store_file(project).parent.exists()


def test_offline_leaves_out_the_service_and_nothing_else(project: Project, service: Service) -> None:
    done = doctor(project, service, "--offline")

    assert list(states(done)) == [name for name in ALL if name not in ALL[9:14]]
    assert service.requests() == []


def test_without_settings_the_rest_is_still_looked_at(run: Run, tmp_path: Path) -> None:
    """The first thing that a new user asks, in a folder with nothing in it."""
    done = run("doctor", "--format", "json", cwd=tmp_path)

    found = states(done)
    assert (done.returncode, done.stderr.count("FAIL  ")) == (1, 1)
    assert found["settings"] == "fail"
    assert {found[name] for name in ("secrets", "manifests", "store", "service", "limits", "proxies")} == {
        "unchecked"
    }
    assert {found[name] for name in ("files", "program")} == {"ok"}


def test_a_working_folder_that_is_gone_is_one_line(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code = (
        "import os, sys; os.rmdir(os.getcwd()); "
        "from reconciler.cli.main import run; sys.exit(run(['doctor', '--format', 'json']))"
    )

    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=gone,
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )

    assert (done.returncode, done.stderr.count("\n")) == (1, 2)
    assert done.stderr.startswith("FAIL  settings  the working directory no longer exists.")
    assert "working directory" in line(done, "settings")["what"]
    assert states(done)["program"] == "ok"


def test_missing_secrets_do_not_hide_whether_the_service_is_there(project: Project, service: Service) -> None:
    """Two different people mend these two."""
    done = doctor(project, service, SVC_API_KEY="", SVC_PASSWORD="")

    assert (states(done)["secrets"], states(done)["service"], states(done)["credentials"]) == (
        *("fail", "ok", "unchecked"),
    )
    assert len([one for one in told(done)["checks"] if one["name"] == "secrets"]) == 2
    assert service.requests() == []


def test_wrong_credentials_are_told_apart_from_a_service_that_is_down(
    project: Project, service: Service
) -> None:
    wrong = doctor(project, service, SVC_PASSWORD="canary-wrong")
    with socket.create_server(("127.0.0.1", 0)) as free:
        nowhere = Service(f"http://127.0.0.1:{free.getsockname()[1]}")
    down = doctor(project, nowhere)

    assert (states(wrong)["service"], states(wrong)["credentials"]) == ("ok", "fail")
    assert (states(down)["service"], states(down)["credentials"]) == ("fail", "unchecked")
    assert line(down, "service")["next"]
    assert "canary" not in wrong.stdout


def test_a_service_that_never_answers_holds_up_nobody_for_long(project: Project) -> None:
    """Every other line is there, and the command ends."""
    began = time.monotonic()
    with answering(None) as silent:
        done = doctor(project, silent, "--timeout", "1")

    assert states(done)["service"] == "fail"
    assert {states(done)[name] for name in ("manifests", "store", "files", "program")} == {"ok"}
    assert time.monotonic() - began < patience_s, "it waited for the service"


def test_a_secret_that_takes_for_ever_is_late_and_hides_nothing(project: Project, service: Service) -> None:
    """A password manager may wait for somebody who is not there."""
    settings = project.folder / "reconciler.yaml"
    settings.write_text(settings.read_text().replace("{env: SVC_API_KEY}", "{command: [sleep, '60']}"))

    done = doctor(project, service, "--timeout", "1")

    assert states(done)["secrets"] == "fail"
    assert "no answer within 1 s" in line(done, "secrets")["what"]
    assert (states(done)["manifests"], states(done)["service"]) == ("ok", "ok")


def test_a_clock_that_is_wrong_is_a_warning(project: Project) -> None:
    """Plans would expire at the wrong time."""
    body = b'{"contacts": []}'
    late = http("200 OK", body, Date="Sun, 01 Mar 2020 12:00:00 GMT", Content_Type="application/json")
    none = http("200 OK", body, Content_Type="application/json")

    with answering(late) as service:
        apart = doctor(project, service)
    with answering(none) as service:
        untold = doctor(project, service)

    assert states(apart)["clock"] == "warn"
    assert "ahead of the service's" in line(apart, "clock")["what"]
    assert states(untold)["clock"] == "unchecked"


ANSWERS = {
    "a page of somebody else": http("200 OK", b"<html>Welcome</html>", Content_Type="text/html"),
    "no JSON": http("200 OK", b"{", Content_Type="application/json"),
    "an unknown shape": http("200 OK", b'{"people": 3}', Content_Type="application/json"),
    "not found": http("404 Not Found", b"", Content_Type="text/plain"),
    "refused": http("401 Unauthorized", b"", Content_Type="text/plain"),
    "forbidden": http("403 Forbidden", b"", Content_Type="text/plain"),
    "broken": http("500 Internal Server Error", b"", Content_Type="text/plain"),
    "away": http("302 Found", b"", Location="https://evil.example.com/"),
    "no HTTP": b"SSH-2.0-something\r\n",
    "nothing": b"",
    "half a head": b"HTTP/1.1 200",
    "a short body": b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{",
    "a date that is none": http("500 No", b"", Date="yesterday\x1b[2J"),
    "terminal escapes": http("400 Bad", b'{"message": "\\u001b[2J"}', Content_Type="application/json"),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_no_answer_of_a_stranger_breaks_it(what: str, project: Project) -> None:
    """Whatever sits at that address: a line, and all the others."""
    with answering(ANSWERS[what]) as stranger:
        done = doctor(project, stranger, "--timeout", "3", **SECRETS)

    tally.count("bad inputs", "answers to doctor")
    found = states(done)
    assert "fail" in {found["service"], found["credentials"]}
    assert {found[name] for name in ("settings", "manifests", "store", "program")} == {"ok"}
    assert "canary" not in done.stdout
    assert "\x1b" not in done.stdout


def test_workspaces_that_the_account_has_not_are_named(project: Project) -> None:
    settings = project.folder / "reconciler.yaml"
    settings.write_text(settings.read_text() + "  ops: {name: Operations}\n  opz: {name: Operatoins}\n")
    with running_sandbox(SandboxConfig(workspaces=(("Operations", "4C8FE1A2"),))) as address:
        service = Service(address)
        wrong = doctor(project, service)
        settings.write_text(settings.read_text().replace("  opz: {name: Operatoins}\n", ""))
        right = doctor(project, service)

    assert states(wrong)["workspaces"] == "fail"
    assert line(wrong, "workspaces")["what"].startswith("workspace opz:")
    assert line(right, "workspaces")["what"] == "1 of 1 known: ops"


def test_mistakes_in_manifests_are_told_by_place(project: Project, service: Service) -> None:
    project.edit("    firstName: Sam\n", "    fristName: Sam\n")

    done = doctor(project, service)

    assert states(done)["manifests"] == "fail"
    assert "manifests/team.yaml:25:5" in line(done, "manifests")["what"]
    assert states(done)["service"] == "ok"


def test_a_lock_and_a_run_that_did_not_end_are_warnings(project: Project, service: Service) -> None:
    """A run that is under way is no run left open; a killed one is, and resume is what helps."""
    assert project.run(service, "apply", "--yes").returncode == 0
    run = told(project.run(service, "history", "--format", "json"))["entries"][0]["run"]
    assert rewrite(project, "UPDATE runs SET ended_at = '', outcome = ''")
    seal_again(project)

    with store_of(project, service) as store, store.lock(run):
        under_way = doctor(project, service)
    with store_of(project, service) as store, store.lock(RUN):
        held = doctor(project, service)
    left = doctor(project, service)

    assert (states(under_way)["lock"], states(under_way)["last run"]) == ("warn", "ok")
    assert (states(held)["lock"], states(held)["last run"]) == ("warn", "warn")
    assert (states(left)["lock"], states(left)["last run"]) == ("ok", "warn")
    assert line(left, "last run")["next"].startswith("reconciler resume")
    assert left.returncode == 0


def test_duplicates_and_ambiguous_people_that_the_last_run_saw_are_a_warning(
    project: Project, service: Service
) -> None:
    """A plan has to name both; until then somebody may be notified twice, or not at all."""
    assert project.run(service, "apply", "--yes").returncode == 0
    run = told(project.run(service, "history", "--format", "json"))["entries"][-1]["run"]
    none = doctor(project, service)
    again = '{"create applied": 4, "seen ambiguous": 1, "seen twice": 2}'
    assert rewrite(project, "UPDATE runs SET counts = ? WHERE run = ?", again, run)
    seal_again(project)
    seen = len(service.requests())

    both = doctor(project, service)
    text = project.run(service, "doctor", "--offline", env=LIMITED)

    assert states(none)["duplicates"] == "ok"
    assert line(none, "duplicates")["what"].startswith(f"none found by run {run}, which ended ")
    assert (states(both)["duplicates"], both.returncode) == ("warn", 0)
    assert line(both, "duplicates")["what"].startswith(
        f"2 entities live twice, 1 entity ambiguous; found by run {run}, "
    )
    assert line(both, "duplicates")["next"].startswith("reconciler plan ")
    assert "2 entities live twice" in text.stdout
    assert [method for method, _ in service.requests()[seen:]] == ["GET", "GET"]


@pytest.mark.parametrize(
    ("statement", "failed"),
    [
        ("UPDATE runs SET counts = '[\"seen twice\"'", "duplicates"),
        ("UPDATE audit SET body = 'x' WHERE number = 3", "history"),
        ("DELETE FROM audit WHERE number = 2", "history"),
        ("UPDATE locks SET nonce = 'x', expires = 'never', run = 3.5, pid = 'x'", "lock"),
        ("ALTER TABLE runs RENAME TO walks", "last run, duplicates"),
        ("DROP TABLE audit", "history"),
        ("UPDATE meta SET value = '999' WHERE key = 'version'", "store"),
    ],
)
def test_one_damaged_table_hides_no_other(
    statement: str, failed: str, project: Project, service: Service
) -> None:
    """Each look at the store stands alone, and says what is wrong with its part."""
    assert project.run(service, "apply", "--yes").returncode == 0
    assert rewrite(project, statement)
    if failed == "duplicates":
        seal_again(project)  # or the runs as a whole would be damaged, and `last run` say so

    found = states(doctor(project, service))

    damaged = set(failed.split(", "))
    assert {found[name] for name in damaged} == {"fail"}
    others = {"store", "lock", "last run", "duplicates", "history"} - damaged
    assert {found[name] for name in others} <= {"ok", "warn", "unchecked"}
    assert (found["service"], found["manifests"]) == ("ok", "ok")


@pytest.mark.parametrize("content", [b"no database", b"", b"SQLite format 3\x00" + b"\x00" * 100])
def test_a_store_that_is_none_is_told_and_left_alone(
    content: bytes, project: Project, service: Service
) -> None:
    store_file(project).parent.mkdir(mode=0o700)
    store_file(project).write_bytes(content)
    store_file(project).chmod(0o600)

    done = doctor(project, service)

    assert states(done)["service"] == "ok"
    assert states(done)["store"] == ("fail" if content else "ok")
    assert store_file(project).read_bytes() == content


def test_a_shared_store_that_is_not_there_is_a_line_without_its_password(
    project: Project, service: Service
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    done = doctor(project, service, RECONCILER_STORE=f"postgresql://me:canary-db@127.0.0.1:{port}/people")

    assert states(done)["store"] == "fail"
    assert states(done)["service"] == "ok"
    assert "canary" not in done.stdout


def test_files_that_others_may_read_are_named(project: Project, service: Service) -> None:
    """The store, secrets in files, plans lying around: they hold people's data, or more."""
    assert project.run(service, "plan", "-o", "plan.json").returncode == 0
    assert project.run(service, "apply", "--yes").returncode == 0
    (project.folder / "key").write_text("demo-key")
    settings = project.folder / "reconciler.yaml"
    settings.write_text(settings.read_text().replace("{env: SVC_API_KEY}", "{file: key}"))
    for name, mode in (("key", 0o600), ("plan.json", 0o600), ("reconciler.yaml", 0o644)):
        (project.folder / name).chmod(mode)
    closed = doctor(project, service)
    for name, mode in (("key", 0o644), ("plan.json", 0o666), (".reconciler/store.db", 0o666)):
        (project.folder / name).chmod(mode)
    settings.chmod(0o666)

    opened = doctor(project, service, RECONCILER_SAFE_DIRECTORY=str(project.folder))

    warned = " ".join(one["what"] for one in told(opened)["checks"] if one["state"] == "warn")
    assert set(states(closed).values()) == {"ok"}
    for name in (
        "may read key",
        "1 plan file: plan.json",
        "may read .reconciler/store.db",
        "may write reconciler.yaml",
    ):
        assert name in warned
    assert opened.returncode == 0
    assert "demo-key" not in opened.stdout


def test_variables_that_other_programs_listen_to_are_named_and_not_shown(
    project: Project, service: Service
) -> None:
    """A proxy's address may hold a password; that it has no effect is what people search for."""
    done = doctor(project, service, HTTP_PROXY="http://me:canary-proxy@proxy.example.com", SSLKEYLOGFILE="x")

    assert (states(done)["proxies"], states(done)["certificates"]) == ("ok", "warn")
    assert "(127.0.0.1 is this machine; HTTP_PROXY is not in effect)" in line(done, "proxies")["what"]
    assert any("SSLKEYLOGFILE: set, but ignored" in one["what"] for one in told(done)["checks"])
    assert states(done)["service"] == "ok"
    assert "canary" not in done.stdout


def test_with_everything_broken_every_look_has_its_line(project: Project) -> None:
    """One mistake hides another one only where the second cannot be looked at at all."""
    project.edit("    firstName: Sam\n", "    fristName: Sam\n")
    store_file(project).parent.mkdir()
    store_file(project).write_bytes(b"no database")
    with socket.create_server(("127.0.0.1", 0)) as free:
        nowhere = Service(f"http://127.0.0.1:{free.getsockname()[1]}")

    done = doctor(
        project, nowhere, SVC_USER="", HTTP_PROXY="x", RECONCILER_SERVICE_LIMITS_REQUESTS_PER_SECOND="0"
    )

    assert {name for name, state in states(done).items() if state == "fail"} == {
        *("secrets", "manifests", "store", "service"),
    }
    assert list(states(done)) == ALL


def test_no_secret_is_shown_in_either_form(project: Project, service: Service) -> None:
    """It is the output that people paste into tickets."""
    for options in ((), ("--format", "json"), ("--offline",)):
        done = project.run(service, "doctor", *options, env=SECRETS)
        assert "canary" not in done.stdout + done.stderr


@pytest.mark.parametrize("given", ["0", "-1", "nan", "inf", "soon", "1e9"])
def test_a_deadline_that_is_none_is_a_mistake_in_the_command_line(
    given: str, project: Project, service: Service
) -> None:
    assert project.run(service, "doctor", "--timeout", given).returncode == 64
