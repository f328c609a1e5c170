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

# What a shell does when somebody presses the tab key, with the words in its arguments. bash: words, which of
# them is at the cursor, the function. zsh: the same; what it would show is printed in place of being shown.
# fish asks itself, and says what it would offer with a description behind it.
TAB = {
    "bash": """\
eval "$(reconciler completion bash)"
complete -p reconciler >&2
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_reconciler_completion reconciler
printf '%s\\n' "${COMPREPLY[@]}"
""",
    "zsh": """\
compdef() { print -r -- "compdef $*" >&2 }
compadd() { print -rl -- "${completions[@]}" }
_describe() { print -rl -- "${completions_with_descriptions[@]%%:*}" }
eval "$(reconciler completion zsh)"
words=("$@"); CURRENT=$#
_reconciler_completion
""",
    "fish": """\
reconciler completion fish | source
complete | string match -- '*reconciler*' >&2
complete -C (string join ' ' -- $argv) | string replace -r '\\t.*' ''
true
""",
}
START = {"bash": ["--norc", "-c"], "zsh": ["-f", "-c"], "fish": ["--no-config", "-c"]}
SET_UP = {
    "bash": "complete -o nosort -F _reconciler_completion reconciler\n",
    "zsh": "compdef _reconciler_completion reconciler\n",
    "fish": "complete --no-files reconciler -a '(_reconciler_completion)'\n",
}


def tab(folder: Path, *words: str, shell: str = "bash") -> list[str]:
    """Return what a shell offers for the last of these words."""
    commands = folder.parent / "commands"
    commands.mkdir(exist_ok=True)
    (commands / "reconciler").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m reconciler "$@"\n')
    (commands / "reconciler").chmod(0o755)
    name = [] if shell == "fish" else [shell]  # what stands before the arguments: $0, which fish has not
    done = subprocess.run(
        [found(shell), *START[shell], TAB[shell], *name, "reconciler", *words],
        cwd=folder,
        env={**PLAIN, "PATH": f"{commands}{os.pathsep}{PLAIN['PATH']}", "HOME": str(folder.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == SET_UP[shell]
    return done.stdout.split()


def found(shell: str) -> str:
    """Return where a shell is. CI has all of them (`.ci/run`)."""
    path = shutil.which(shell)
    if not path and not os.environ.get("CI"):
        pytest.skip(f"no {shell} on PATH; apt-get install {shell} brings it")
    assert path, f"CI needs {shell}, and it is not on PATH"
    return path


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_completes_commands_choices_and_what_is_declared(shell: str, project: Project) -> None:
    """Each asks in its own words, and gets the same answers."""
    assert tab(project.folder, "f", shell=shell) == ["fmt", "forget"]
    assert sorted(tab(project.folder, "plan", "--format", "", shell=shell)) == ["json", "text"]
    assert tab(project.folder, "adopt", "contact/default/j", shell=shell) == ["contact/default/jane-doe"]


def test_explain_completes_addresses_and_codes(project: Project) -> None:
    """Codes once a word begins like one: unasked, a hundred of them would hide the addresses."""
    assert tab(project.folder, "explain", "contact/default/j") == ["contact/default/jane-doe"]
    assert tab(project.folder, "explain", "e10")[:2] == ["E100", "E101"]
    assert not [word for word in tab(project.folder, "explain", "") if "/" not in word]


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
    """The script is read by the shell itself."""
    done = warm.run("completion", shell, cwd=tmp_path, env=PLAIN)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"_RECONCILER_COMPLETE={shell}_complete" in done.stdout
    checked = subprocess.run(
        [found(shell), "-n"], input=done.stdout, capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")
