"""What passwords cost a plan: processor time of whole processes, for people with a password each.

    .venv/bin/python bench/passwords.py [N]        default: 2000

A sandbox holds N contacts; one apply sends every one of them another password. Then `reconciler plan`:

    nothing     nothing has changed: the passwords are proved in 100 parts
    one         one password is another one: those of its part are compared one by one
    no proofs   the table `proofs` of the store is empty: each password is compared by itself
    none        the manifests declare no password: what the rest of a plan costs

The numbers are written to stdout and nowhere else.
"""

import itertools
import json
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from cases import project
from people import write_yaml
from processes import Measured, reconciler
from service import sandbox


def declare(folder: Path, count: int, *, changed: int = 0) -> None:
    """Give everybody a password; the first so many get another one."""
    write_yaml(folder / "manifests", count)
    numbers = itertools.count()
    for path in sorted((folder / "manifests").glob("people-*.yaml")):
        head, *entries = path.read_text(encoding="utf-8").split("    firstName:")
        text = [head]
        for entry, number in zip(entries, numbers, strict=False):
            word = f"{'another' if number < changed else 'the'} word of {number}"
            text.append(f'    password: "{word}"\n    firstName:{entry}')
        path.write_text("".join(text), encoding="utf-8")


def planned(folder: Path) -> Measured:
    """Run a plan whose JSON can be read."""
    return reconciler(folder, "plan", "--format", "json")


def cases(count: int) -> Iterator[tuple[str, Measured]]:
    """Yield each case with what its plan took."""
    with sandbox(count) as base_url, project(count, "yaml", base_url) as folder:
        reconciler(folder, "apply", "--yes")
        yield "none", planned(folder)
        declare(folder, count)
        reconciler(folder, "apply", "--yes", "--allow-updates", str(count))
        time.sleep(3)  # a time of change counts when it is two seconds old: until then all are read again
        reconciler(folder, "apply", "--yes")
        yield "nothing", planned(folder)
        declare(folder, count, changed=1)
        yield "one", planned(folder)
        declare(folder, count)
        with closing(sqlite3.connect(folder / ".reconciler" / "store.db")) as connection, connection:
            connection.execute("DELETE FROM proofs")
        yield "no proofs", planned(folder)


def main() -> None:
    """Measure every case and print them as a table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("| contacts | case | changes | seconds | CPU s |\n|---|---|---|---|---|")
    for case, result in cases(count):
        changes = len(json.loads(result.output)["plan"]["changes"])
        print(f"| {count} | {case} | {changes} | {result.wall_s:.2f} | {result.cpu_s:.2f} |", flush=True)


if __name__ == "__main__":
    main()
