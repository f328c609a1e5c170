"""What is checked out, built; and environments that hold it and nothing of this one, as a stranger has them.

Building and installing takes seconds, so the workers of a run share both: whoever comes first makes them.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest
from waiting import patience_s

ROOT = Path(__file__).parents[1]
# Of the commit that is built here: a test that looks at the clock would fail once a year.
MOMENT = "2026-01-02T03:04:05+00:00"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")  # those that the metadata name
_USABLE = "import ensurepip, sqlite3, ssl, sys, venv; print(*sys.version_info[:2], sep='.')"


def run(
    *command: str | Path, cwd: Path, env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end; `env` is all of its environment, beside the path."""
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=patience_s * 6,
        check=False,
    )


def shared(factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this run have in common."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def once(folder: Path, make: Callable[[Path], None]) -> Path:
    """Return the folder, made by the first of all workers who asks. What fails is tried again by the next."""
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            part = folder.with_name(f"{folder.name}.part")
            shutil.rmtree(part, ignore_errors=True)
            make(part)
            part.rename(folder)
    return folder


def repository(folder: Path) -> None:
    """Make a repository of one commit: the files that belong to this checkout, as they are now."""
    told = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in filter(None, told.stdout.split("\0")):
        if (ROOT / name).is_file():  # not one that is deleted and still in the index
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    who = {f"GIT_{role}_{what}": text for role in ("AUTHOR", "COMMITTER") for what, text in _WHO.items()}
    for words in ("init -q", "add --all --force", "commit -q -m One"):
        done = run("git", *words.split(), cwd=folder, env=who)
        assert done.returncode == 0, done.stderr


_WHO = {"NAME": "Jane Doe", "EMAIL": "jane@example.com", "DATE": MOMENT}


def built(common: Path) -> Path:
    """Return the folder with wheel and source distribution of this checkout. `common` is `shared`."""
    here = once(common / "repository", repository)

    def make(folder: Path) -> None:
        done = run(sys.executable, here / "script" / "build.py", "--into", folder, cwd=here)
        assert done.returncode == 0, done.stderr

    return once(common / "built", make)


def wheel(common: Path) -> Path:
    """Return the wheel of this checkout."""
    (found,) = built(common).glob("*.whl")
    return found


@cache
def pythons() -> Mapping[str, Path]:
    """The interpreters of this machine that the package is for, by version; that of these tests at least."""
    home = Path.home() / ".pyenv" / "versions"
    found: dict[str, Path] = {}
    for version in VERSIONS:
        named = [Path(one) for one in (f"/usr/bin/python{version}", shutil.which(f"python{version}")) if one]
        here = [Path(sys._base_executable)]  # type: ignore[attr-defined]  # what made this environment
        for each in (*named, *sorted(home.glob(f"{version}.*/bin/python"), reverse=True), *here):
            if each.exists() and run(each, "-I", "-c", _USABLE, cwd=ROOT).stdout.strip() == version:
                found[version] = each
                break
    return found


def install(environment: Path, python: Path, file: Path, *extras: str) -> None:
    """Make an environment with what the lock says for these extras, and the wheel `file`.

    Everything is found by its hash; what is in the environment of the tests is in no way in it.
    """
    inside = environment / "bin" / "python"
    # An environment of the same Python can do without a pip of its own, which takes as long as the libraries.
    same = python == pythons().get(f"{sys.version_info.major}.{sys.version_info.minor}")
    pip = (sys.executable, "-I", "-m", "pip", "--python", inside) if same else (inside, "-I", "-m", "pip")
    options = ("install", "--quiet", "--disable-pip-version-check", "--no-compile", "--no-deps")
    steps = [
        (python, "-I", "-m", "venv", *(["--without-pip"] if same else []), environment),
        (*pip, *options, "--require-hashes", "--only-binary", ":all:", "-r", "rows.txt"),
        (*pip, *options, file),
        (*pip, "check"),
    ]
    locked = run(sys.executable, ROOT / "script" / "locked.py", *extras, cwd=ROOT)
    environment.mkdir(parents=True)
    rows = environment / "rows.txt"
    rows.write_text(locked.stdout, encoding="utf-8")
    index = {name: text for name, text in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
    for step in steps:
        words = [rows if word == "rows.txt" else word for word in step]
        done = run(*words, cwd=environment.parent, env=index)
        assert done.returncode == 0, done.stdout + done.stderr
