import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli.hands import PLAIN
from waiting import patience_s

from reconciler.cli.commands.demo import remove_entry
from reconciler.errors import ReconcilerError


def sandboxes(folder: Path) -> set[str]:
    """The sandboxes that a demo in this folder has started: others of this machine are not ours."""
    found = set()
    for one in Path("/proc").glob("[0-9]*"):
        try:
            ours = f"TMPDIR={folder}".encode() in (one / "environ").read_bytes().split(b"\0")
            if ours and b"sandbox\0--port\x000" in (one / "cmdline").read_bytes():
                found.add(one.name)
        except OSError:  # it ended while we looked, or belongs to somebody else
            continue
    return found


def start(folder: Path, *options: str) -> "subprocess.Popen[str]":
    # Settings of the user's own must not lead the demo to another service.
    env = {**PLAIN, "TMPDIR": str(folder), "RECONCILER_SERVICE_BASE_URL": "https://example.com"}
    return subprocess.Popen(
        [sys.executable, "-m", "reconciler", "demo", *options],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_the_demo_tells_the_whole_story(tmp_path: Path) -> None:
    """Every step is a real command with its real output, and nothing is left behind."""
    with start(tmp_path) as process:
        printed, _ = process.communicate(timeout=patience_s)

    assert process.returncode == 0, printed
    assert re.findall(r"^\$ reconciler (.*)$", printed, re.MULTILINE) == [
        "plan",
        "apply --yes",
        "plan --detailed-exitcode",
        "drift",
        "apply --yes",
        "apply --yes",
        "apply --yes",
        "plan --detailed-exitcode",
    ]
    story = [
        "5 creates",
        "5 applied",
        "Nothing to do: the service matches the manifests.",
        "contact/default/jane-doe   Jane Doe, jane.doe@example.com, drifted",
        "Night Watch",
        "~ contact/default/jane-doe   update",
        "- contact/default/ada-king   delete",
        "the plan is refused; nothing was written.",
        "--allow-deletes 2",
        "Nothing to do: the service matches the manifests.",
        "next: README.md",
    ]
    at = 0
    for words in story:
        at = printed.find(words, at)
        assert at >= 0, words
    assert "timezone" not in printed[printed.index("$ reconciler drift") :]
    assert list(tmp_path.iterdir()) == []
    assert sandboxes(tmp_path) == set()


def test_the_demo_of_automation_tells_the_whole_story(tmp_path: Path) -> None:
    """A commit is applied, drift repaired, and a delete waits for the reply of a person."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with start(temporary, "--automation", "--keep", str(tmp_path / "kept")) as process:
        printed, _ = process.communicate(timeout=patience_s)

    assert process.returncode == 0, printed
    story = [
        "5 creates",
        "5 changes applied: the service now matches the plan.",
        "Nothing to do: the service matches the manifests.",
        "jobTitle  Night Watch",
        "1 change applied: the service now matches the plan.",
        "ask: a person must approve: 1 delete.",
        "asks for your approval of 1 delete.",
        "Look first at: delete contact/default/ada-king",
        "wrong code (does not count)",
        "give",
        "- contact/default/ada-king   delete",
        "sync          synced",
        "health        healthy",
    ]
    at = 0
    for words in story:
        at = printed.find(words, at)
        assert at >= 0, words
    page = (tmp_path / "kept" / "status" / "index.html").read_text(encoding="utf-8")
    assert "ada-king" not in page
    assert list(temporary.iterdir()) == []
    assert sandboxes(temporary) == set()


def test_a_folder_that_is_there_is_not_written(tmp_path: Path) -> None:
    """Whatever is in it is somebody's."""
    (tmp_path / "kept").mkdir()
    with start(tmp_path, "--keep", "kept") as process:
        printed, _ = process.communicate(timeout=patience_s)

    assert process.returncode == 64
    assert "kept exists" in printed


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_demo_that_is_stopped_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    """No folder, and above all no sandbox that goes on running."""
    with start(tmp_path) as process:
        assert process.stdout is not None
        while "$ reconciler" not in process.stdout.readline():
            pass
        assert sandboxes(tmp_path)
        process.send_signal(number)
        printed, _ = process.communicate(timeout=patience_s)

    assert process.returncode == 130, printed
    assert "Traceback" not in printed
    assert list(tmp_path.iterdir()) == []
    assert sandboxes(tmp_path) == set()


def test_an_entry_leaves_the_manifest_whole() -> None:
    """The rest stays as it was, to the letter."""
    text = "contacts:\n  a:\n    x: 1\n\n    y: 2\n\n  b:\n    x: 1\n\nresources:\n  a-b:\n    x: 1\n"

    assert remove_entry(text, "a") == "contacts:\n  b:\n    x: 1\n\nresources:\n  a-b:\n    x: 1\n"
    with pytest.raises(ReconcilerError):
        remove_entry(text, "c")
