"""Extras: what is installed apart, what the program says of it, and how much of the lock each of them needs.

What happens where one is missing is tried in an environment without any (test_installed.py).
"""

import subprocess
import sys
import tomllib
from importlib.metadata import files
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from reconciler.extras import EXTRAS, is_installed, versions

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DECLARED: dict[str, list[str]] = PROJECT["optional-dependencies"]


def locked(*extras: str) -> "subprocess.CompletedProcess[str]":
    """The rows of the lock that the package needs with these extras."""
    return subprocess.run(
        [sys.executable, "script/locked.py", *extras], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_the_table_names_what_the_package_installs() -> None:
    """An error names an extra; pip has to find it, and bring what the error missed."""
    told = {name: sorted(extra.packages) for name, extra in EXTRAS.items()}

    assert told == {
        name: sorted(Requirement(one).name for one in wanted)
        for name, wanted in DECLARED.items()
        if name != "all"
    }


def test_all_is_all_of_them() -> None:
    (wanted,) = DECLARED["all"]

    assert Requirement(wanted).name == PROJECT["name"]
    assert Requirement(wanted).extras == {*EXTRAS}


@pytest.mark.parametrize("name", [*EXTRAS])
def test_the_modules_of_an_extra_are_those_of_its_packages(name: str) -> None:
    """Found by their modules and told by their packages: a slip in one of them would contradict the other."""
    extra = EXTRAS[name]
    brought = {str(file) for package in extra.packages for file in files(package) or ()}

    assert is_installed(name)
    assert [one.split(" ")[0] for one in versions(name)] == [*extra.packages]
    for module in extra.modules:
        path = module.replace(".", "/")
        assert {f"{path}/__init__.py", f"{path}/__init__.pyi"} & brought, module


def test_a_command_asks_for_its_extra_before_it_begins() -> None:
    """Its module would end with the name of a library, which says nothing of what to do."""
    code = """
import sys
sys.modules["uvicorn"] = None
from reconciler.cli.main import run
sys.exit(run(["sandbox", "--port", "0"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "serving the sandbox or receiving callbacks needs the extra sandbox, which is not installed. [E005]\n"
        "  next: pip install 'reconciler[sandbox]'\n"
    )


def test_the_whole_lock_is_what_all_extras_need_and_the_base_needs_less() -> None:
    """Who installs a part of the lock installs what is reviewed there, with all that belongs to it."""
    whole = (ROOT / "requirements" / "run.txt").read_text(encoding="utf-8")
    base = locked().stdout

    assert locked(*EXTRAS).stdout == whole
    assert base
    assert all(row in whole for row in base.splitlines())
    for extra in EXTRAS.values():
        for package in extra.packages:
            assert f"\n{package}==" not in base


def test_an_extra_that_there_is_not_is_told() -> None:
    done = locked("exel")

    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.startswith("'exel' is not an extra.\n  next: one of encryption, fast,")
