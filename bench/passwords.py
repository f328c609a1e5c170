"""What passwords cost a plan: processor time of whole processes, for people with a password each.

    .venv/bin/python bench/passwords.py [N]        default: 2000

A sandbox holds N contacts; one apply sends every one of them another password. Then `reconciler plan`:

    nothing     nothing has changed: the passwords are proved in 100 parts
    one         one password is another one: those of its part are compared one by one
    no proofs   the table `proofs` of the store is empty: each password is compared by itself
    none        the manifests declare no password: what the rest of a plan costs

The numbers are written to stdout and nowhere else.
"""

import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from measure import project, run, sandbox


def declare(folder: Path, *, changed: int = 0) -> None:
    """Give everybody in the manifest a password; the first so many get another one."""
    path = folder / "manifests" / "people.yaml"
    head, *entries = path.read_text(encoding="utf-8").split("    firstName:")
    text = [head]
    for number, entry in enumerate(entries):
        word = f"{'another' if number < changed else 'the'} word of {number}"
        text.append(f'    password: "{word}"\n    firstName:{entry}')
    path.write_text("".join(text), encoding="utf-8")


def cases(count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each case with what its plan took."""
    with sandbox(count) as base_url, project(count, "yaml", base_url) as folder:
        manifest = folder / "manifests" / "people.yaml"
        plain = manifest.read_text(encoding="utf-8")
        run(folder, "apply", "--yes")
        yield "none", run(folder, "plan")
        declare(folder)
        run(folder, "apply", "--yes", "--allow-updates", str(count))
        time.sleep(
            3
        )  # a time of change counts when it is two seconds old: until then everybody is read again
        run(folder, "apply", "--yes")
        yield "nothing", run(folder, "plan")
        manifest.write_text(plain, encoding="utf-8")
        declare(folder, changed=1)
        yield "one", run(folder, "plan")
        manifest.write_text(plain, encoding="utf-8")
        declare(folder)
        with closing(sqlite3.connect(folder / ".reconciler" / "store.db")) as connection, connection:
            connection.execute("DELETE FROM proofs")
        yield "no proofs", run(folder, "plan")


def main() -> None:
    """Measure every case and print them as a table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("| contacts | case | changes | seconds | CPU s |\n|---|---|---|---|---|")
    for case, result in cases(count):
        changes = len(result["output"]["plan"]["changes"])
        print(f"| {count} | {case} | {changes} | {result['wall_s']} | {result['cpu_s']} |", flush=True)


if __name__ == "__main__":
    main()
