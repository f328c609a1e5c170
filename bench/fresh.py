"""A machine with an empty disk, as each job in CI has: what a plan costs there, with a store that is shared.

    .venv/bin/python bench/fresh.py 20000 --store postgresql://user@host/database

Everybody is live already and becomes ours with a first apply. Each plan is made on a disk that holds the
manifests alone: once with what the store keeps, once reading everything, as without it. The database has to
be empty, and is left with what was measured in it.
"""

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from cases import project
from people import FORMS, three_of
from processes import Measured, compile_programs, reconciler
from service import edit_live, sandbox
from stages import count_calls

_READ_ALL = ("--refresh", "full")


def main() -> None:
    """Print what each plan cost."""
    parser = argparse.ArgumentParser(prog="bench/fresh.py")
    parser.add_argument("count", type=int, help="number of people")
    parser.add_argument("--store", required=True, help="URL of an empty PostgreSQL database")
    parser.add_argument("--runs", type=int, default=2, help="of each plan; default 2")
    asked = parser.parse_args()
    compile_programs()
    environ = {"RECONCILER_STORE": asked.store}
    with sandbox(asked.count) as base_url, project(asked.count, "yaml", base_url) as folder:
        reconciler(folder, "apply", "--yes", environ=environ)
        _show("everybody becomes ours", _plan(folder, environ), ())
        _compare("nothing to do", folder, environ, asked.runs)
        FORMS["yaml"](folder / "manifests", asked.count, edited=three_of(asked.count, 1))
        _compare("three people edited in files", folder, environ, asked.runs)
        edit_live(base_url, three_of(asked.count, 2))
        _compare("and three others at the service", folder, environ, asked.runs)


def _compare(what: str, folder: Path, environ: dict[str, str], runs: int) -> None:
    # What the store keeps is read first: a complete read would keep it anew.
    for options in [()] * runs + [_READ_ALL] * runs:
        _show(what, _plan(folder, environ, *options), options)


def _plan(folder: Path, environ: dict[str, str], *options: str) -> Measured:
    """Plan on a disk that holds the project's files alone."""
    for kept in (".reconciler", ".state"):
        shutil.rmtree(folder / kept, ignore_errors=True)
    return reconciler(folder, "plan", "--format", "json", *options, allowed=(0, 2), environ=environ)


def _show(what: str, measured: Measured, options: Sequence[str]) -> None:
    how = "everything is read" if options else "by what the store keeps"
    print(
        f"{what}, {how}: {count_calls(measured)} calls, {measured.cpu_s:.2f} s CPU, {measured.wall_s:.2f} s, "
        f"{measured.peak_mib:.0f} MiB"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
