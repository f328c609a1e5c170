"""The name of the distribution: that of the package is another project's on the public index.

Who follows a page or a hint must get this program, or nothing. So nothing names it to an installer: a name
that is free today may be somebody else's tomorrow.
"""

import re
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from installing import ROOT, run

from reconciler.version import DISTRIBUTION, __version__

# What a person reads or copies. Tests install on purpose, and the build file names itself.
_LEFT_OUT = ("tests/", "bench/", "pyproject.toml", "requirements/", "docs/sbom.cdx.json")
_INSTALLER = re.compile(r"\b(?:pip3?|pipx|uv|uvx|poetry|pdm|conda|mamba|hatch|rye|easy_install)\b[^\n`]*")
_VERB = re.compile(r"(?<![\w-])(?:install|add|download|wheel|run|inject|upgrade|uvx|--with|--from|--spec)\b")
_OURS = re.compile(
    r"(?:messaging[-_.]*)?reconciler(?:\[[^\]]*\])?(?:\s*(?:[=<>~!@;].*)?)?", re.IGNORECASE | re.DOTALL
)


def installs_by_name(text: str) -> list[str]:
    """The commands that ask an index for this program, and what is required of it with extras."""
    found = []
    for command in (match[0] for match in _INSTALLER.finditer(text)):
        if verb := _VERB.search(command):
            words = re.findall(r"'[^']*'|\"[^\"]*\"|[^\s'\"]+", command[verb.end() :])
            if any(_OURS.fullmatch(word.strip("'\".,()")) for word in words):
                found.append(command)
    extras = re.finditer(r"(?<![\w/.-])(?:messaging[-_.]*)?reconciler\[[a-zA-Z,{ ]+[^\]]*\]", text)
    return [*found, *(match[0] for match in extras)]


@pytest.mark.parametrize(
    "text",
    [
        "pip install 'reconciler[xlsx]'",
        "python3 -m pip install --upgrade reconciler",
        "pip install reconciler==0.1.0",
        'pip install "reconciler >= 0.1"',
        "pip install messaging-reconciler",
        "pip install Messaging_Reconciler[all]",
        "uv tool install reconciler",
        "uv pip install --python x messaging-reconciler",
        "uvx --from reconciler reconciler plan",
        "pipx run reconciler validate",
        "pipx inject reconciler ldap3",
        "poetry add reconciler",
        "uv run --with reconciler plan",
        "additional_dependencies: ['reconciler[xlsx]']",
    ],
)
def test_a_command_that_installs_by_a_name_is_found(text: str) -> None:
    assert installs_by_name(text)


@pytest.mark.parametrize(
    "text",
    [
        "pip install .",
        "pip install '.[all]'",
        "pip install './messaging_reconciler-0.1.0-py3-none-any.whl[encryption]'",
        "pip uninstall reconciler",
        "pip install --no-deps -r locked.txt, and `reconciler plan` is there",
        "git clone <this repository> reconciler",
    ],
)
def test_what_comes_from_where_it_is_named_is_not_found(text: str) -> None:
    assert not installs_by_name(text)


def test_nothing_installs_this_program_by_a_name() -> None:
    """Pages, examples, templates, scripts, and every text of the program: help, errors, hints."""
    told = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", cwd=ROOT)
    found = {}
    for name in filter(None, told.stdout.split("\0")):
        path = ROOT / name
        if name.startswith(_LEFT_OUT) or not path.is_file():
            continue
        if bad := installs_by_name(path.read_text(encoding="utf-8", errors="replace")):
            found[name] = bad

    assert found == {}


def test_the_distribution_has_a_name_of_its_own() -> None:
    """What is installed is looked for by that name, never by that of the package."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert declared["name"] == DISTRIBUTION
    assert re.sub(r"[-_.]+", "-", DISTRIBUTION).lower() != "reconciler"
    assert declared["scripts"] == {"reconciler": "reconciler.cli.entry:main"}
    assert version(DISTRIBUTION) == __version__


def _beside(folder: Path, name: str, number: str) -> dict[str, str]:
    """The environment of a program beside which a distribution of that name is installed."""
    about = folder / f"{name}-{number}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n")
    return {"PYTHONPATH": str(folder), "PYTHONWARNINGS": "error"}


@pytest.mark.parametrize("number", ["0.2.2", "99.0", "0.1.0"])
def test_doctor_tells_of_a_distribution_with_the_name_of_the_package(tmp_path: Path, number: str) -> None:
    """Both write the folder `reconciler`: what runs may be a mixture, and what pip removes is of both."""
    stranger = tmp_path / "libraries"
    stranger.mkdir()
    env = _beside(stranger, "reconciler", number)
    command = [sys.executable, "-m", "reconciler"]

    told = run(*command, "doctor", "--offline", cwd=tmp_path, env=env)
    alone = run(*command, "doctor", "--offline", cwd=tmp_path)

    assert f"the distribution reconciler {number} is installed too" in told.stdout + told.stderr
    assert "create a new environment" in told.stdout + told.stderr
    assert "is installed too" not in alone.stdout + alone.stderr
    assert run(*command, "--version", cwd=tmp_path, env=env).stdout == f"reconciler {__version__}\n"


def test_no_code_asks_the_metadata_of_the_other_project() -> None:
    """A stranger's number decided which entries of the cache were of this program."""
    names = r"(?:version|metadata|distribution|requires|files|entry_points)\(\s*[\"']reconciler[\"']"
    lines = [
        path.name
        for folder in ("reconciler", "script")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "shipped.py" and re.search(names, path.read_text(encoding="utf-8"))
    ]

    assert lines == []
