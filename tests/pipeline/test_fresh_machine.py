"""A machine with an empty disk, as in CI: with a shared store its plan reads what changed, and no more."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import postgres
import psycopg
import pytest
import tally
from msgspec import structs
from pipeline.test_delta import Company, told
from pipeline.test_feed import COUNT, by_scan, crowd, edit, read_of
from world import World

from reconciler.model.settings import Refresh

READING = (
    "GRANT USAGE ON SCHEMA reconciler TO {role}",
    "GRANT SELECT ON ALL TABLES IN SCHEMA reconciler TO {role}",
)


@pytest.fixture
def url() -> Iterator[str]:
    """An empty database on a real server."""
    with postgres.database() as found:
        yield found


def emptied(world: World) -> None:
    """Give the project to another machine, which has nothing but its files."""
    shutil.rmtree(Path(world.settings.root, ".reconciler"))


def test_a_fresh_machine_reads_what_changed(tmp_path: Path, url: str) -> None:
    """In as many calls as the machine that kept the list, and to the same plan; again and again."""
    world = crowd(tmp_path, store=url)
    edit(world, 3, 150)
    scanned = by_scan(world)

    for _ in range(3):
        emptied(world)
        found, read = read_of(world)
        assert (read.how, read.total, found) == ("feed", COUNT, scanned)
        assert read.calls <= 3
        world.clock.pass_s(60)


def test_what_an_apply_wrote_is_told_to_the_next_fresh_machine(tmp_path: Path, url: str) -> None:
    """Each job of a pipeline has a disk of its own."""
    world = crowd(tmp_path, store=url)
    edit(world, 3, 4)
    emptied(world)
    world.apply()
    world.clock.pass_s(60)
    scanned = by_scan(world)
    emptied(world)

    found, read = read_of(world)

    assert (read.how, found) == ("feed", scanned)


def test_a_plan_with_a_read_only_role_keeps_nothing_and_is_quick_all_the_same(
    tmp_path: Path, url: str
) -> None:
    """It uses what an apply kept, and writes nothing to the store."""
    world = crowd(tmp_path, store=url)
    edit(world, 3, 150)
    scanned = by_scan(world)
    with postgres.role(url, *READING) as reading:
        world.settings = structs.replace(world.settings, store=reading)
        emptied(world)
        before = _rows(url)

        found, read = read_of(world)

    assert (read.how, found) == ("feed", scanned)
    assert _rows(url) == before


def _rows(url: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        parts = b"SELECT name, part, digest, md5(data) FROM reconciler.kept_parts"
        return sorted(connection.execute(parts), key=repr)


# --- Damage -----------------------------------------------------------------------------------------------
#
# Of what the project keeps and of what the store does: whatever is in its place, the plan is that of a scan.

_chance = Random(31)


def _flip(data: bytes) -> bytes:
    at = _chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << _chance.randrange(8)]) + data[at + 1 :]


_OF_FILE: list[Callable[[bytes], bytes]] = [
    _flip,
    _flip,
    _flip,
    lambda data: data[:-1],
    lambda data: data[: len(data) // 2],
    lambda data: data[:40],
    lambda data: data[:32],
    lambda _data: b"",
    lambda data: data + b"\0",
    lambda data: data + data,
    lambda data: data[1:],
    lambda data: data[32:],
    lambda data: bytes(32) + data[32:],
    lambda data: data[:32][::-1] + data[32:],
    lambda data: data[:32] + bytes(8) + data[40:],
    lambda data: data[:32] + b"\xff" * 8 + data[40:],
    lambda data: bytes(len(data)),
    lambda data: data[::-1],
    lambda data: data.replace(b"A", b"B", 1),
]
_OF_STORE = [
    "UPDATE reconciler.kept SET seal = repeat('00', 32)",
    "UPDATE reconciler.kept SET size = size - 1",
    "DELETE FROM reconciler.kept_parts WHERE part = 0",
    "UPDATE reconciler.kept_parts SET data = set_byte(data, 30, get_byte(data, 30) # 1)",
    "UPDATE reconciler.kept_parts SET data = substring(data FROM 1 FOR 20)",
    "UPDATE reconciler.kept SET seal = (SELECT max(seal) FROM reconciler.kept)",
    "DROP TABLE reconciler.kept_parts",
    "DROP TABLE reconciler.kept",
    "ALTER TABLE reconciler.kept DROP COLUMN seal CASCADE",
]


def edited(path: Path, url: str) -> tuple[Company, dict[str, Any]]:
    """Return a company with two edits in the manifest and one at the service, and the whole plan."""
    company = Company(path, store=url)
    for name in ("p7", "p9"):
        company.manifest["contacts"][name]["jobTitle"] = "Captain"
    company.write()
    company.edit("p11", jobTitle="Astronaut")
    settings = company.world.settings
    company.world.settings = structs.replace(settings, refresh=Refresh("full"))
    whole = company.world.plan().plan
    company.world.settings = settings
    assert not any(read.settled for read in whole.reads)
    assert len(whole.changes) == 3
    company.wait()
    return company, told(whole)


def test_a_fresh_machine_plans_what_moved(tmp_path: Path, url: str) -> None:
    """What the last plan had nothing to say of is kept in the store too (R11)."""
    company, whole = edited(tmp_path, url)
    emptied(company.world)

    plan = company.world.plan().plan

    assert told(plan) == whole
    assert [(read.how, bool(read.settled)) for read in plan.reads] == [("feed", True)]


def test_a_fresh_machine_compares_nobody_after_a_first_apply(tmp_path: Path, url: str) -> None:
    """The apply in another job kept what it knew of everybody (R11)."""
    company = Company(tmp_path, store=url)
    emptied(company.world)

    planned = company.world.plan()

    assert [(read.how, read.settled) for read in planned.plan.reads] == [("feed", 600)]
    assert (planned.plan.empty, planned.recorded.entities) == (True, {})


def test_damage_to_what_is_kept_changes_no_plan(tmp_path: Path, url: str) -> None:
    """28 kinds, of the list and of the baseline, in the project and in the store, unknown to who plans."""
    company, whole = edited(tmp_path, url)
    company.world.plan()
    files = {file: file.read_bytes() for file in company.kept.iterdir()}
    assert len(files) == 2
    for file in files:
        for number, hurt in enumerate(_OF_FILE):
            for one, data in files.items():
                one.write_bytes(hurt(data) if one == file else data)
            assert told(company.world.plan().plan) == whole, (file, number)
            tally.count("feeds", "kinds of damage to what is kept")
    for damage in _OF_STORE:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(damage.encode())
        emptied(company.world)
        assert told(company.world.plan().plan) == whole, damage
        tally.count("feeds", "kinds of damage to what is kept")
