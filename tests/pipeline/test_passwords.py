"""Passwords from the manifest to the store and back: what a later plan has to compute of them."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from world import World

from reconciler.core import digests
from reconciler.core.compare import password_digests
from reconciler.model.plans import Options

T = TypeVar("T")
COUNT = 16


def people(changed: int = 0) -> dict[str, Any]:
    """Everybody has words of their own; the first so many have another password than at first."""
    contacts = {
        f"p{number}": {
            "firstName": f"P{number}",
            "lastName": "Doe",
            "workEmailAddress1": f"p{number}@example.com",
            "password": f"{'another' if number < changed else 'the first'} word of {number}",
            "secretAnswer": f"answer {number}",
        }
        for number in range(COUNT)
    }
    return {"contacts": contacts}


@pytest.fixture
def world(tmp_path: Path) -> World:
    """People whose passwords were sent."""
    made = World(tmp_path)
    made.write(people())
    made.apply()
    made.clock.pass_s(60)
    return made


def calls(work: Callable[[], object]) -> int:
    """How many calls of scrypt this takes in a new process."""
    digests.forget_stretched()
    work()
    return digests.compute_scrypt.cache_info().misses


def in_the_store(world: World, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(world.root / "store.db")) as connection, connection:
        return connection.execute(statement).fetchall()


def parts(world: World) -> int:
    """How many parts there are, some of several values."""
    planned = world.plan()
    found = password_digests.partition_digests(planned.desired.entities, planned.recorded)
    assert planned.plan.changes == ()
    assert sum(len(part.pairs) for part in found.values()) == 2 * COUNT
    assert len(found) < 2 * COUNT - 3
    return len(found)


def test_a_plan_that_finds_all_passwords_as_they_were_proves_them_together(world: World) -> None:
    """One call of scrypt for each part, and none for each person."""
    assert calls(world.plan) == parts(world)


@pytest.mark.parametrize(
    "damage", ["DELETE FROM proofs", "UPDATE proofs SET proof = 'ü'", "UPDATE proofs SET proof = x'ff'"]
)
def test_proofs_that_are_lost_or_damaged_cost_time_and_change_nothing(world: World, damage: str) -> None:
    """They are no record: the digests decide. The next apply makes them again, where nothing is to do too."""
    before = in_the_store(world, "SELECT * FROM proofs ORDER BY part")
    in_the_store(world, damage)
    digests.forget_stretched()

    assert calls(world.plan) >= 2 * COUNT
    assert world.plan().plan.changes == ()
    world.apply()

    assert in_the_store(world, "SELECT * FROM proofs ORDER BY part") == before


def test_after_a_change_the_next_plan_proves_all_of_them_together_again(world: World) -> None:
    """The run that sent the new passwords has made the proofs of their parts anew."""
    world.write(people(changed=COUNT // 2))
    digests.forget_stretched()
    planned, _ = world.apply()
    world.clock.pass_s(60)

    assert len(planned.plan.changes) == COUNT // 2
    assert calls(world.plan) == parts(world)


def test_a_run_about_some_people_keeps_the_proofs_of_the_others(world: World) -> None:
    before = in_the_store(world, "SELECT * FROM proofs")
    digests.forget_stretched()
    world.apply(options=Options(only=("contact/default/p1",)))

    assert in_the_store(world, "SELECT * FROM proofs") == before


def test_no_password_is_computed_on_the_event_loop(tmp_path: Path) -> None:
    """A lock is held meanwhile and has to be renewed. Not where somebody comes under another name either."""
    world = World(tmp_path)
    beside = 0

    async def counting(work: Callable[[], T]) -> T:
        nonlocal beside
        before = digests.compute_scrypt.cache_info().misses
        try:
            return work()
        finally:
            beside += digests.compute_scrypt.cache_info().misses - before

    world.dependencies = replace(world.dependencies, offload=counting)
    digests.forget_stretched()
    world.write(people())
    world.apply()
    assert beside == digests.compute_scrypt.cache_info().misses >= 2 * COUNT
    world.clock.pass_s(60)
    contacts = {f"new-{name}": fields for name, fields in people()["contacts"].items()}
    world.write({"contacts": contacts})
    beside = 0
    made = calls(world.plan)

    assert beside == made == 2 * COUNT
