"""The commands on a damaged store: exit code 1 and a way on, or what they do with the one that was there."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import effort
import pytest
import tally
from cli.hands import Project, Service
from cli.keeping import store_file
from hostile import damage

COMMANDS = (("plan",), ("apply", "--yes"), ("history",), ("doctor",), ("lock",))
DAMAGES = effort.count(small=1, full=3)  # of each kind


@pytest.mark.parametrize("kind", damage.KINDS)
def test_a_damaged_store_ends_a_command_in_our_words_and_changes_nobody(
    kind: str, project: Project, service: Service, tmp_path: Path
) -> None:
    """Read as an empty one, everybody would be made again."""
    assert project.run(service, "apply", "--yes").returncode == 0
    project.edit("jobTitle: Engineer", "jobTitle: Senior Engineer")
    older, whole = tmp_path / "older", tmp_path / "whole"
    damage.copied(store_file(project).parent, older)
    assert project.run(service, "apply", "--yes").returncode == 0
    damage.copied(store_file(project).parent, whole)
    before = service.writes()

    for seed in range(DAMAGES):
        shutil.rmtree(store_file(project).parent)
        damage.copied(whole, store_file(project).parent)
        what = damage.KINDS[kind](store_file(project).parent, Random(f"{kind} {seed}"), older)
        for command in COMMANDS:
            done = project.run(service, *command)
            case = (kind, seed, what, command, done.stdout, done.stderr)
            assert "Traceback" not in done.stdout + done.stderr, case
            assert done.returncode in (0, 1, 3), case
            assert done.returncode == 0 or "next: " in done.stdout + done.stderr, case
        assert service.writes() == before, (kind, seed, what)
        tally.count("damaged stores", "through the command")


def test_neither_doctor_nor_a_verified_history_calls_a_store_with_lost_pages_well(
    project: Project, service: Service
) -> None:
    """A file system that lost a page leaves zeros; the command that is asked has to look at all of them."""
    assert project.run(service, "apply", "--yes").returncode == 0
    with closing(sqlite3.connect(store_file(project))) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        roots = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name IN ('paces', 'runs')")
        places = [(number - 1) * damage.PAGE for (number,) in roots]
    whole = store_file(project).read_bytes()

    for at in (damage.PAGE, *places):
        store_file(project).write_bytes(whole[:at] + bytes(damage.PAGE) + whole[at + damage.PAGE :])
        for command in (("doctor",), ("history", "--verify")):
            done = project.run(service, *command)
            assert done.returncode == 1, (at, command, done.stdout, done.stderr)
            assert "damaged" in done.stdout + done.stderr
            assert "next" in done.stdout + done.stderr
            assert "Traceback" not in done.stdout + done.stderr
