"""Extras: what is installed apart, what the program says of it, and how much of the lock each of them needs.

What happens where one is missing is tried in an environment without any (test_installed.py).
"""

import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import files
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from reconciler.extras import EXTRAS, installed_versions, is_extra_installed

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
    told = {name: sorted(one.required for one in extra.libraries) for name, extra in EXTRAS.items()}

    assert told == {
        name: sorted(wanted) for name, wanted in DECLARED.items() if name not in ("all", "sandbox")
    }


def test_what_was_the_extra_of_the_sandbox_brings_nothing_more() -> None:
    """`pip install messaging-reconciler[sandbox]` goes on working: its libraries are part of the base."""
    assert DECLARED["sandbox"] == []
    assert {"starlette", "uvicorn"} <= {Requirement(one).name for one in PROJECT["dependencies"]}


def test_all_is_all_of_them() -> None:
    (wanted,) = DECLARED["all"]

    assert Requirement(wanted).name == PROJECT["name"]
    assert Requirement(wanted).extras == {*EXTRAS}


@pytest.mark.parametrize("name", [*EXTRAS])
def test_the_modules_of_an_extra_are_those_of_its_packages(name: str) -> None:
    """Found by their modules and told by their packages: a slip in one of them would contradict the other."""
    extra = EXTRAS[name]
    brought = {str(file) for package in extra.packages for file in files(package) or ()}

    assert is_extra_installed(name)
    assert [one.split(" ")[0] for one in installed_versions(name)] == [*extra.packages]
    for module in extra.modules:
        path = module.replace(".", "/")
        assert {f"{path}/__init__.py", f"{path}/__init__.pyi"} & brought, module


def test_a_missing_extra_is_named_before_its_library_is_imported() -> None:
    """The import would end with the name of a library, which says nothing of what to do."""
    code = """
import sys
sys.modules["pyrage"] = None
from reconciler.errors import MissingExtra
from reconciler.extras import require_extra
try:
    require_extra("encryption")
except MissingExtra as error:
    print(error, error.next, sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == (
        "encrypting or decrypting a plan needs the extra encryption, which is not installed.\n"
        f"{shlex.quote(sys.executable)} -P -m pip install 'pyrage>=1.2'\n"
    )


def asked_without(*modules: str, names: tuple[str, ...]) -> list[str]:
    """The words of the hint for these extras, in a process that has none of these modules."""
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({modules!r}))\n"
        f"from reconciler.extras import install_hint; print(install_hint(*{names!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return shlex.split(done.stdout)


@pytest.mark.parametrize("name", [*EXTRAS])
def test_the_hint_names_libraries_and_the_python_that_runs(name: str) -> None:
    """`pip install 'reconciler[...]'` installed another project's package, by the pip of the path."""
    wanted = [Requirement(one) for one in DECLARED[name]]

    words = asked_without(*EXTRAS[name].modules, names=(name,))

    assert words[:5] == [sys.executable, "-P", "-m", "pip", "install"]
    assert sorted(map(str, map(Requirement, words[5:]))) == sorted(map(str, wanted))
    assert PROJECT["name"] not in {one.name for one in map(Requirement, words[5:])}


@pytest.mark.parametrize(
    ("without", "names", "wanted"),
    [
        (("pyrage",), ("encryption", "ldap"), ["pyrage>=1.2"]),
        (("opentelemetry.sdk",), ("otel",), ["opentelemetry-sdk>=1.30"]),
        (("opentelemetry",), ("otel",), [one.required for one in EXTRAS["otel"].libraries[:2]]),
        (("psycopg", "ldap3"), ("ldap", "postgres"), ["ldap3>=2.9", "psycopg[binary]>=3.2"]),
    ],
)
def test_the_hint_leaves_out_what_is_there(
    without: tuple[str, ...], names: tuple[str, ...], wanted: list[str]
) -> None:
    """An upgrade of a library that works is more than was asked for."""
    assert asked_without(*without, names=names)[5:] == wanted


def test_an_environment_without_pip_is_told_to_use_uv() -> None:
    """`uv tool install` makes such ones; `python -m pip` would end with "No module named pip"."""
    words = asked_without("pip", "pyrage", names=("encryption",))

    assert words == ["uv", "pip", "install", "--python", sys.executable, "pyrage>=1.2"]


def test_no_file_of_the_working_directory_takes_the_place_of_pip(tmp_path: Path) -> None:
    """The hint is typed in a project, whose files others may have written."""
    (tmp_path / "pip.py").write_text("print('not pip')")
    words = [*asked_without("pyrage", names=("encryption",))[:4], "--version"]

    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout.startswith("pip ")


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
