"""Bytes that are not UTF-8, wherever the system hands them over: an error as promised, exit code 3."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli.hands import PLAIN

from reconciler.core.text import escape_undecodable, why_not_text
from reconciler.errors import SettingsError
from reconciler.settings.reader import read_settings

SETTINGS = b"""\
version: 1
service:
  base_url: http://127.0.0.1:9
  auth: {username: {env: SVC_USER}, password: {env: SVC_PASSWORD}, api_key: {env: SVC_KEY}}
variables: [EXAMPLE_*]
workspaces: {default: {}}
"""
MANIFEST = b"""\
version: 1
workspace: default
contacts: {jane: {firstName: Jane, workEmailAddress1: jane@example.com}}
"""
BYTES = b"x-\xff"


def project(folder: Path) -> bytes:
    """A project in a folder that may have any name."""
    place = os.fsencode(folder)
    os.makedirs(place + b"/manifests")  # noqa: PTH103 - a path of bytes
    for name, text in ((b"reconciler.yaml", SETTINGS), (b"manifests/a.yaml", MANIFEST)):
        with open(place + b"/" + name, "wb") as file:  # noqa: PTH123 - the same
            file.write(text)
    return place


def run(
    place: bytes, *words: "str | bytes", env: "dict[bytes, bytes] | None" = None
) -> "subprocess.CompletedProcess[bytes]":
    plain = {**PLAIN, "SVC_USER": "u", "SVC_PASSWORD": "p", "SVC_KEY": "k"}
    return subprocess.run(
        [sys.executable, "-m", "reconciler", *words],
        cwd=place,
        env={os.fsencode(name): os.fsencode(text) for name, text in plain.items()} | (env or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


def refused(done: "subprocess.CompletedProcess[bytes]") -> str:
    """What is said by a command that ends with the document of an error, and the code of such bytes."""
    found = json.loads(done.stdout)
    assert (done.returncode, found["code"][:1]) == (3, "E")
    log = done.stderr.decode()  # is text, and says the same
    assert "[E123]" in log
    assert (found["outcome"], found["exit_code"]) == ("invalid", 3)
    assert {one["code"] for one in found["problems"]} == {"E123"}
    assert all(one["next"] for one in found["problems"])
    said = json.dumps(found)
    assert "damaged" not in said
    assert "UnicodeEncodeError" not in said
    return said


ARGUMENTS: dict[str, tuple["str | bytes", ...]] = {
    "the settings": ("plan", "--config", BYTES),
    "an environment": ("plan", "--environment", BYTES),
    "a plan file to write": ("plan", "-o", BYTES),
    "a report": ("plan", "--report", b"html=" + BYTES),
    "a selector": ("plan", "--only", BYTES),
    "a plan file to carry out": ("apply", BYTES),
    "events": ("apply", "--yes", "--events", BYTES),
    "an undo file": ("apply", "--yes", "--undo", BYTES),
    "an address": ("explain", BYTES),
    "a filter": ("contacts", "search", b"firstName=" + BYTES),
    "a subject": ("messages", "send", "--to", "+61491570156", "--subject", BYTES, "--body", "Come?"),
    "an inbox": ("callbacks", "inbox", "--inbox", BYTES),
    "a folder to format": ("fmt", BYTES),
    "a command": (BYTES,),
    "an option": ("plan", b"--" + BYTES),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_an_argument_that_is_no_text_is_an_error_in_the_promised_form(case: str, tmp_path: Path) -> None:
    """A program that reads the document would get none, and a message would go out half."""
    place = project(tmp_path / "p")
    done = run(place, *ARGUMENTS[case], "--format", "json")

    said = refused(done)
    assert "holds bytes that are not UTF-8" in said
    assert "x-" not in said
    assert not (tmp_path / "p/.reconciler").exists()


@pytest.mark.parametrize("words", [("plan",), ("apply", "--yes"), ("history",), ("validate",), ("lock",)])
def test_a_folder_that_is_no_text_is_not_a_damaged_store(words: tuple[str, ...], tmp_path: Path) -> None:
    """Who moved the store away, as the advice was, would make everybody twice."""
    place = project(tmp_path / os.fsdecode(b"q-\xff"))

    said = refused(run(place, *words, "--format", "json"))

    assert "q-\\\\xff" in said
    assert "the name of the working directory holds bytes that are not UTF-8" in said


@pytest.mark.parametrize("words", [("plan",), ("validate",)])
def test_settings_in_such_a_folder_are_refused_through_a_link_and_a_variable(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    """The store lies beside the file that is meant, whatever name leads there."""
    place = project(tmp_path / os.fsdecode(b"q-\xff"))
    (tmp_path / "link").symlink_to(os.fsdecode(place))
    by_link = run(os.fsencode(tmp_path), *words, "--config", "link/reconciler.yaml", "--format", "json")
    variable = {b"RECONCILER_CONFIG": place + b"/reconciler.yaml"}
    by_variable = run(os.fsencode(tmp_path), *words, "--format", "json", env=variable)

    assert "the name of the settings file" in refused(by_link)
    assert "the name of the settings file" in refused(by_variable)


@pytest.mark.parametrize("name", [b"b-\xff.yaml", b"\xe9t\xe9.yml", b"d-\xff/b.yaml", b"c-\xed\xa0\x80.json"])
def test_a_manifest_whose_name_is_no_text_is_a_mistake_and_never_left_out(
    name: bytes, tmp_path: Path
) -> None:
    """No message, plan or report could name it; left out, whom it declares would be deleted."""
    place = project(tmp_path / "p")
    path = place + b"/manifests/" + name
    os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120 - a path of bytes
    with open(path, "wb") as file:  # noqa: PTH123 - the same
        file.write(MANIFEST)

    said = refused(run(place, "validate", "--format", "json"))

    assert "the name holds bytes that are not UTF-8" in said
    assert run(place, "fmt", "--check").returncode == 3


def test_a_variable_of_ours_with_such_a_name_is_named(tmp_path: Path) -> None:
    """As every other that means nothing."""
    place, env = project(tmp_path / "p"), {b"RECONCILER_\xff": b"x"}
    done = run(place, "validate", "--format", "json", env=env)
    looked = json.loads(run(place, "doctor", "--format", "json", env=env).stdout)

    assert done.returncode == 3
    assert json.loads(done.stdout)["problems"][0]["file"] == "environment RECONCILER_\\xff"
    assert "RECONCILER_\\xff: no setting" in looked["checks"][0]["what"]


@pytest.mark.parametrize("code", ["ascii", "latin-1", "utf-8"])
def test_a_terminal_of_another_code_gets_the_error_too(code: str, tmp_path: Path) -> None:
    """LANG=C, or PYTHONIOENCODING: what it cannot show is shown as an escape."""
    place = project(tmp_path / "p")
    with open(place + b"/manifests/a.yaml", "wb") as file:  # noqa: PTH123 - a path of bytes
        file.write(MANIFEST.replace(b"firstName: Jane", "firstName: Zoë, emoji: \U0001f691".encode()))
    env = {b"LC_ALL": b"C", b"LANG": b"C", b"PYTHONIOENCODING": code.encode()}

    assert run(place, "validate", env=env).returncode == 3
    assert b"emoji" in run(place, "validate", env=env).stderr
    assert run(place, "plan", "--only", BYTES, env=env).returncode == 3


def test_text_that_the_locale_does_not_have_says_what_to_set(tmp_path: Path) -> None:
    """Python turns UTF-8 on by itself in the locale C, unless it is told not to."""
    env = {b"LC_ALL": b"C", b"PYTHONUTF8": b"0", b"PYTHONCOERCECLOCALE": b"0"}
    done = run(project(tmp_path / "p"), "plan", "--config", "é.yaml".encode(), "--format", "json", env=env)

    assert "set LC_ALL=C.UTF-8" in refused(done)


def test_a_program_that_names_a_path_with_a_nul_gets_a_settings_error(tmp_path: Path) -> None:
    """The system knows no such path, and raises something else than every other mistake."""
    with pytest.raises(SettingsError) as caught:
        read_settings(config="a\0b", environment=None, cwd=tmp_path, environ={}, service=False)

    assert "holds the character NUL" in str(caught.value.problems[0])


def test_what_is_no_text_is_shown_as_its_bytes() -> None:
    """And nothing else is changed."""
    shown = {"x-\udcff": "x-\\xff", "\ud800": "\\ud800", "é\U0001f691\n": "é\U0001f691\n"}

    assert {text: escape_undecodable(text) for text in shown} == shown
    assert [bool(why_not_text(text)) for text in shown] == [True, True, False]
