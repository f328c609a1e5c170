"""Command lines and plan files that nobody should give: one sentence, its exit code, and nothing moved."""

import re
from pathlib import Path

from hostile import command, corpora
from hostile.corpora import Case

SETTINGS = """\
version: 1
service:
  base_url: http://127.0.0.1:9
  auth: {username: {env: SVC_USER}, password: {env: SVC_PASSWORD}, api_key: {env: SVC_KEY}}
"""
MANIFEST = "version: 1\nworkspace: default\ncontacts: {}\n"
_CODE = r" \[E0[0-9]{2}\](?= next:|$)"
SECRETS = {"SVC_USER": "canary-user", "SVC_PASSWORD": "canary-pass", "SVC_KEY": "canary-key"}


def _project(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / "reconciler.yaml").write_text(SETTINGS)
    (folder / "manifests").mkdir()
    (folder / "manifests" / "a.yaml").write_text(MANIFEST)


def _ended(folder: Path, *arguments: str) -> str:
    with corpora.untouched(folder):
        ended = command.run(folder, *arguments, environ=SECRETS)
    require_plain(ended.out + ended.err)
    # An error as JSON is said on stderr as well, for logs: the document is what is looked at.
    told = ended.out if ended.out.startswith("{") and ended.code else ended.err or ended.out
    said = " ".join(corpora.placed(told, folder).split())
    # Which error has which code is a claim of tests/project/test_codes.py.
    return f"{ended.code}: {re.sub(_CODE, '', said)}"


def require_plain(text: str) -> None:
    """No traceback, no secret, nothing that acts on a terminal."""
    assert "Traceback" not in text
    assert "canary" not in text
    assert all(line.isprintable() for line in text.split("\n"))


def said_arguments(case: Case, folder: Path) -> str:
    """The exit code of a command line and what it said."""
    _project(folder)
    return _ended(folder, *case.raw)


def said_plan(case: Case, folder: Path) -> str:
    """The exit code of `show` for a file with this content and what it said."""
    _project(folder)
    (folder / "plan.json").write_bytes(case.data)
    shown = _ended(folder, "show", "plan.json")
    applied = _ended(folder, "apply", "plan.json")
    assert shown.partition(":")[0] == applied.partition(":")[0] != "0"
    return shown


@corpora.each("arguments")
def test_every_command_line_meets_its_line(case: Case, tmp_path: Path) -> None:
    """64 and a hint, or what the command says; never a traceback, never a file."""
    corpora.claim(case, "command lines", lambda: said_arguments(case, tmp_path))


@corpora.each("plan-files")
def test_every_plan_file_meets_its_line(case: Case, tmp_path: Path) -> None:
    """What is no plan is shown by nobody and applied by nobody."""
    corpora.claim(case, "plan files", lambda: said_plan(case, tmp_path))
