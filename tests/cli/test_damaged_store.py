"""The commands on a damaged store: exit code 1 and a way on, or what they do with the one that was there."""

import shutil
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
