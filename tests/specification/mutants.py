"""Planted defects for each statement of the specification; the tests that name the statement must catch them.

The rows of mutants/N.toml, N being the chapter:

    [[mutant]]
    statement = "8/limit.max"
    in = "read_page"
    old = "min(_number(query, 'limit', rows_max), rows_max)"
    new = "_number(query, 'limit', rows_max)"

`in`, `old` and `new` are those of tests/sabotage/defects/README.md. The tests are those that name the
statement: one of them must fail under each of its mutants, and each of them under one of these. A statement
whose tests look at several sides of it, such as the sandbox and the client, has several rows.

Belongs here: reading the rows. Not here: how a defect is planted (sabotage/anchors.py) and tried (trial.py).
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sabotage.defects import Defect, defect
from specification.statements import claims, statements

FOLDER = Path(__file__).with_name("mutants")
KEYS = frozenset({"statement", "in", "old", "new"})


def read_mutants(rows: Iterable[Mapping[str, Any]]) -> tuple[Defect, ...]:
    """Return the rows as planted defects, named by their statements, in the order of the statements."""
    order = {statement: at for at, statement in enumerate(statements())}
    found = [
        defect({**row, "name": row["statement"], "tests": claims().get(row["statement"], ())}) for row in rows
    ]
    return tuple(sorted(found, key=lambda one: order.get(one.name, len(order))))


def rows() -> list[dict[str, Any]]:
    """Return every row as it is written; `chapter` is the name of its file."""
    return [
        {**row, "chapter": path.stem}
        for path in sorted(FOLDER.glob("*.toml"))
        for row in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
    ]


def mistakes(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what is wrong with these rows, a sentence each: every statement has a row, in its chapter."""
    number = dict.fromkeys(row["statement"] for row in found)
    told = [f"{one}: has no row" for one in statements() if one not in number]
    told += [f"{one}: there is no such statement" for one in number if one not in statements()]
    for row in found:
        statement, keys = row["statement"], row.keys() - {"chapter"}
        if row["chapter"] != statement[:1]:
            told.append(f"{statement}: stands in {row['chapter']}.toml")
        if keys != KEYS:
            told.append(f"{statement}: has {_names(keys)}, and needs {_names(KEYS)}")
    return told


def _names(keys: Iterable[str]) -> str:
    return ", ".join(sorted(keys))


MUTANTS = read_mutants(rows())
BY_STATEMENT = {one: tuple(mutant for mutant in MUTANTS if mutant.name == one) for one in statements()}
