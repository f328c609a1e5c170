"""Three edits among many: each command that somebody starts who changes three people, with what it costs.

    .venv/bin/python bench/edits.py 100000
    .venv/bin/python bench/edits.py 100000 --form roster --runs 3
    .venv/bin/python bench/edits.py 100000 --form yaml --rows 'three people'
    .venv/bin/python bench/edits.py 100000 --write           also puts the table into docs/performance.md

The steps of bench/walk.py, for ten files, one roster and many workspaces. Prints a table, with the budget of
each step (bench/budgets.py). Exit code 1 where one was missed in calls or memory; seconds depend on the
machine, and are only marked.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from budgets import missed
from cases import walk_group
from people import FORMS
from processes import compile_programs
from stages import Case, carry_out, is_wanted, merged
from tables import PAGE, as_json, case_rows, machine, measured_at, write_into_page


def main() -> int:
    """Print what each step cost."""
    parser = argparse.ArgumentParser(prog="bench/edits.py")
    parser.add_argument("count", type=int, help="number of people")
    parser.add_argument("--form", choices=FORMS, action="append", help="repeatable; default all")
    parser.add_argument("--runs", type=int, default=1, help="how often three people are edited; default 1")
    parser.add_argument("--rows", action="append", default=[], metavar="TEXT", help="as script/bench")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    parser.add_argument("--output", type=Path, help="where results go as JSON")
    asked = parser.parse_args()
    compile_programs()
    where = machine()
    cases = merged(_cases(asked))
    if asked.output:
        told = json.dumps(as_json(where, cases), indent=2)
        asked.output.write_text(f"{told}\n", encoding="utf-8")
    text = "".join(f"{line}\n" for line in (measured_at(where), "", *case_rows(cases)))
    sys.stdout.write(text)
    if asked.write:
        write_into_page("bench/edits.py", text)
    return 1 if any(figure in {"calls", "peak_mib"} for case in cases for figure in missed(case)) else 0


def _cases(asked: argparse.Namespace) -> Iterator[Case]:
    for form in asked.form or FORMS:
        print(f"{asked.count:,} people, {form}", file=sys.stderr, flush=True)
        group = walk_group(asked.count, form, asked.runs)
        yield from carry_out(group, lambda name: is_wanted(name, asked.rows))


if __name__ == "__main__":
    sys.exit(main())
