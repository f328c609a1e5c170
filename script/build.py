# noqa: INP001 - a script, started by script/build; part of no package
"""Build the wheel and the source distribution of a commit, and print their digests as sha256sum does.

    script/build                     of the last commit, into dist/
    script/build --into FOLDER v1.2  of a tag, somewhere else

A commit gives the same bytes in every folder, under every umask, time zone and language: the build sees what
is committed and nothing beside it, in a folder of its own, at the time of the commit. The build backend is
the locked one of .venv; nothing is downloaded. Only the zlib of the Python that builds decides beside these.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Build, and tell what is not in it. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="script/build")
    parser.add_argument("commit", nargs="?", default="HEAD", help="default: the last one")
    parser.add_argument("--into", type=Path, default=ROOT / "dist", help="default: dist")
    asked = parser.parse_args()
    try:
        commit = _git("rev-parse", "--verify", f"{asked.commit}^{{commit}}").decode().strip()
    except subprocess.CalledProcessError as error:
        print(f"{asked.commit} cannot be built: {error.stderr.decode().strip()}", file=sys.stderr)  # noqa: T201 - a script
        print("  next: build in a checkout, a commit that it has", file=sys.stderr)  # noqa: T201 - the same
        return 1
    for path in build(commit, asked.into.absolute()):
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}")  # noqa: T201 - the same
    if asked.commit == "HEAD" and (changed := _git("status", "--porcelain").decode().splitlines()):
        print(f"not in it: {len(changed)} changes that are not committed", file=sys.stderr)  # noqa: T201 - the same
    return 0


def build(commit: str, into: Path) -> list[Path]:
    """Build a commit, and return the files: the source distribution, then the wheel."""
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder, made = Path(name, "source"), Path(name, "made")
        # Line ends and modes are those of the commit, whatever this user's git makes of them in a checkout.
        fixed = ("-c", "core.autocrlf=false", "-c", "tar.umask=0022")
        folder.mkdir()
        subprocess.run(["tar", "-x"], cwd=folder, input=_git(*fixed, "archive", commit), check=True)  # noqa: S607 - as git
        epoch = _git("log", "-1", "--format=%ct", commit).decode().strip()
        done = subprocess.run(  # noqa: S603 - the locked build backend
            [sys.executable, "-I", "-m", "hatchling", "build", "-d", str(made), "-t", "sdist", "-t", "wheel"],
            cwd=folder,
            env={**os.environ, "SOURCE_DATE_EPOCH": epoch, "TZ": "UTC", "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{done.stdout}{done.stderr}the commit cannot be built: see above.")
        # Both are there, or neither replaces what was.
        return [_moved(one, into) for one in sorted(made.iterdir(), key=lambda path: path.suffix)]


def _moved(path: Path, into: Path) -> Path:
    there = into / path.name
    part = there.with_name(f".{path.name}.part")
    part.write_bytes(path.read_bytes())
    part.replace(there)
    return there


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout  # noqa: S603, S607 - git of this machine


if __name__ == "__main__":
    sys.exit(main())
