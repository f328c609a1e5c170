"""How a measurement is put together: rows that take turns, what is prepared before them, and what was found.

A group is one project beside one sandbox. Its stages follow each other as a user's day does: a row that
writes is needed by those after it, so it runs also where only a later row is asked for.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from processes import Measured

Wanted = Callable[[str], bool]


class Case(NamedTuple):
    """One row: how many people it is about, and each of its runs. Calls are told by our commands alone."""

    contacts: int
    name: str
    runs: tuple[Measured, ...]
    calls: int | None = None


@dataclass
class Stand:
    """A project and the sandbox beside it. Both are there once the group is opened; `edited` grows."""

    count: int
    folder: Path = Path()
    base_url: str = ""
    edited: set[int] = field(default_factory=set)


class Row(NamedTuple):
    """What is run. `before` is not measured; `needed`: later stages depend on it.

    `changes`: what our command must find or carry out; None: whatever it is.
    """

    name: str
    run: Callable[[], Measured]
    before: Callable[[], object] | None = None
    needed: bool = False
    changes: int | None = None


class Stage(NamedTuple):
    """Rows whose runs take turns (A B A B), so that a machine that grows slower is slower for each alike."""

    rows: Sequence[Row]
    runs: int = 1
    prepare: Callable[[], object] | None = None


class Group(NamedTuple):
    """Stages in their order; `opened` makes the project and its sandbox, and removes both."""

    contacts: int
    opened: AbstractContextManager[object]
    stages: Sequence[Stage]


def is_wanted(name: str, texts: Sequence[str]) -> bool:
    """Whether a row is asked for: its name holds one of the texts, or there are none."""
    return not texts or any(text in name for text in texts)


def carry_out(group: Group, wanted: Wanted) -> Iterator[Case]:
    """Yield the wanted rows of a group; nothing is made where it has none, and nothing after the last."""
    numbers = [n for n, one in enumerate(group.stages, 1) if any(wanted(row.name) for row in one.rows)]
    if not numbers:
        return
    with group.opened:
        for stage in group.stages[: numbers[-1]]:
            if stage.prepare:
                stage.prepare()
            yield from _take_turns(group.contacts, stage, wanted)


def _take_turns(contacts: int, stage: Stage, wanted: Wanted) -> Iterator[Case]:
    found: dict[str, list[Measured]] = {}
    for turn in range(stage.runs):
        for row in stage.rows:
            if not (wanted(row.name) or (row.needed and turn == 0)):
                continue
            if row.before:
                row.before()
            found.setdefault(row.name, []).append(row.run())
            _check(row, found[row.name][-1])
    for name, runs in found.items():
        if wanted(name):
            calls = [calls for run in runs if (calls := count_calls(run)) is not None]
            yield Case(contacts, name, tuple(runs), max(calls, default=None))


def _check(row: Row, run: Measured) -> None:
    """Raise SystemExit where a command found other changes than those that were made for it."""
    result = _result(run)
    changes = len(result["plan"]["changes"] if "plan" in result else result.get("outcomes", ()))
    if row.changes is not None and changes != row.changes:
        raise SystemExit(f"{row.name}: {changes} changes instead of {row.changes}; nothing was measured.")


def count_calls(run: Measured) -> int | None:
    """Return the calls of one of our commands; None where it made none, or is not ours."""
    result = _result(run)
    if "plan" in result:
        return sum(read["calls"] for read in result["plan"]["reads"])
    return sum(result["calls"].values()) if "calls" in result else None


def _result(run: Measured) -> dict:  # type: ignore[type-arg]  # JSON, read where it is used
    if not run.output.startswith("{"):
        return {}
    found = json.loads(run.output)
    return found if isinstance(found, dict) else {}


def merged(cases: Iterable[Case]) -> list[Case]:
    """Put runs of the same case together, in the order in which they came first."""
    found: dict[tuple[int, str], Case] = {}
    for case in cases:
        key = (case.contacts, case.name)
        if key in found:
            calls = [one.calls for one in (found[key], case) if one.calls is not None]
            found[key] = case._replace(runs=(*found[key].runs, *case.runs), calls=max(calls, default=None))
        else:
            found[key] = case
    return list(found.values())
