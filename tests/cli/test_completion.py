"""Completion in the real shell: commands, options, environments and addresses, and nothing hostile."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import warm
from cli.hands import PLAIN, Project

from reconciler.cli.commands.completion import SHELLS

# What bash does when somebody presses the tab key: words, the number of the one at the cursor, the function.
TAB = """\
eval "$(reconciler completion bash)"
complete -p reconciler >&2
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_reconciler_completion reconciler
printf '%s\\n' "${COMPREPLY[@]}"
"""


def tab(folder: Path, *words: str) -> list[str]:
    """Return what bash offers for the last of these words."""
    commands = folder.parent / "commands"
    commands.mkdir(exist_ok=True)
    (commands / "reconciler").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m reconciler "$@"\n')
    (commands / "reconciler").chmod(0o755)
    done = subprocess.run(
        ["bash", "--norc", "-c", TAB, "bash", "reconciler", *words],
        cwd=folder,
        env={**PLAIN, "PATH": f"{commands}{os.pathsep}{PLAIN['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == "complete -o nosort -F _reconciler_completion reconciler\n"
    return done.stdout.split()


def test_bash_completes_commands_options_and_choices(project: Project) -> None:
    assert tab(project.folder, "f") == ["fmt", "forget"]
    assert tab(project.folder, "messages", "s") == ["send", "show", "status"]
    assert "--detailed-exitcode" in tab(project.folder, "plan", "--d")
    assert tab(project.folder, "plan", "--format", "") == ["text", "json"]
    assert tab(project.folder, "completion", "") == [*SHELLS]
    assert tab(project.folder, "schema", "man") == ["manifest"]


def test_bash_completes_what_the_project_declares(project: Project) -> None:
    """No variable is set and no service is there; secrets are not read."""
    settings = project.folder / "reconciler.yaml"
    settings.write_text(f"{settings.read_text()}environments:\n  staging: {{}}\n  production: {{}}\n")
    assert tab(project.folder, "plan", "-e", "") == ["production", "staging"]
    assert tab(project.folder, "plan", "--only", "contact/default/j") == ["contact/default/jane-doe"]
    assert tab(project.folder, "forget", "contact/default/sam-lee", "dev") == [
        "device/default/jane-doe/phone"
    ]
    assert tab(project.folder, "contacts", "search", "--workspace", "") == ["default"]


def test_names_that_are_no_words_are_not_offered(project: Project) -> None:
    """A checkout may be anybody's, and what is offered stands in a command line of somebody."""
    settings = project.folder / "reconciler.yaml"
    before = settings.read_text()
    odd = ['"$(touch x)"', '"a b"', '"`x`"', '"-x"', '"a;b"', '"a\\nplain,b"', '"*"']
    sections = "".join(f"  {name}: {{}}\n" for name in [*odd, "ok"])
    settings.write_text(f"{before}environments:\n{sections}")
    assert set(tab(project.folder, "plan", "-e", "")) <= {"ok"}
    settings.write_text(before)
    project.edit("  jane-doe:", '  "jane $(touch x)":')
    assert tab(project.folder, "forget", "contact/default/j") == []
    assert not (project.folder / "x").exists()


def test_broken_files_offer_nothing_and_say_nothing(project: Project) -> None:
    project.manifest.write_text("contacts: [\n")
    assert tab(project.folder, "forget", "contact/") == []
    (project.folder / "reconciler.yaml").write_text("version: [\n")
    assert tab(project.folder, "forget", "contact/") == []
    assert tab(project.folder, "plan", "-e", "") == []


def test_a_manifest_of_another_shape_offers_nothing(project: Project) -> None:
    project.manifest.write_text("version: 1\nworkspace: default\ncontacts: {jane: x}\n")
    assert tab(project.folder, "forget", "contact/") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_takes_its_script(shell: str, tmp_path: Path) -> None:
    """The script is read by the shell itself, where this machine has it."""
    done = warm.run("completion", shell, cwd=tmp_path, env=PLAIN)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"_RECONCILER_COMPLETE={shell}_complete" in done.stdout
    found = shutil.which(shell)
    if found:
        checked = subprocess.run(
            [found, "-n"], input=done.stdout, capture_output=True, text=True, check=False
        )
        assert (checked.returncode, checked.stderr) == (0, "")
