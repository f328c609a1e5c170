"""What the help of commands claims of itself, held for every command that claims it."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from cli.hands import Project, Service

from reconciler.cli.main import COMMANDS, cli

# What to call a command with that needs more than the id of something. No message or callback has this id.
NOBODY = "00AB"
CALLS = {
    "completion": ["bash"],
    "contacts search": ["firstName=Jane"],
    "history": ["--verify"],
    "lock": ["--in-service"],
    "schema": ["plan"],
    "show": ["plan.json"],
}
# A call of each that reads no credential of the service.
CLOSED = {
    "approvals give": ["approvals", "give", "Q7K2M4"],
    "approvals list": ["approvals", "list"],
    "approvals refuse": ["approvals", "refuse", "Q7K2M4"],
    "config": ["config"],
    "history": ["history"],
    "lock": ["lock"],
    "schema": ["schema", "plan"],
    "show": ["show", "plan.json"],
    "status": ["status", "--all"],
    "unlock": ["unlock", "--force", "00AB"],
    "validate": ["validate"],
}


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its words; a group is not one."""
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {below}", one) for below, one in command.commands.items())
        else:
            yield name, command


def call_of(name: str, command: click.Command) -> list[str]:
    """A call of a command, with an id in the place of each argument that it needs."""
    needed = [one for one in command.params if isinstance(one, click.Argument) and one.required]
    return [*name.split(), *CALLS.get(name, [NOBODY] * len(needed))]


def claiming(*words: str) -> set[str]:
    """The commands whose help says one of these."""
    told = {name: " ".join(str(command.help).split()) for name, command in commands()}
    return {name for name, text in told.items() if any(word in text for word in words)}


def everything(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def applied(project: Project, service: Service) -> Project:
    """A project with a store, a plan file and something that would change."""
    assert project.run(service, "apply", "--yes").returncode == 0
    project.edit("jobTitle: Engineer", "jobTitle: Senior Engineer")
    assert project.run(service, "plan", "-o", "plan.json").returncode == 0
    return project


def test_each_command_that_says_it_writes_nothing_writes_nothing(applied: Project, service: Service) -> None:
    """No file of the project is made, changed or removed, and the service is sent GET alone."""
    reading = claiming("writes nothing.", "writes nothing,", "Writes nothing.")
    assert {"doctor", "drift", "history", "messages status", "validate"} <= reading
    for name, command in commands():
        if name not in reading:
            continue
        before, sent = everything(applied.folder), len(service.requests())

        done = applied.run(service, *call_of(name, command))

        assert done.returncode != 64, (name, done.stderr)
        assert everything(applied.folder) == before, name
        assert {method for method, _ in service.requests()[sent:]} <= {"GET"}, name


def test_each_command_that_reads_no_credential_starts_no_command_for_one(
    applied: Project, service: Service
) -> None:
    """Where a `command:` provides one, it would run; and a variable that is not set would be an error."""
    assert claiming("no credential") <= set(CLOSED)
    path = applied.folder / "reconciler.yaml"
    marked = "{username: {command: [touch, read]}, password: {env: NOBODY_SETS}, api_key: {env: NOBODY_SETS}}"
    before = path.read_text()
    start = before.index("auth: ") + len("auth: ")
    path.write_text(before[:start] + marked + before[before.index("\n", start) :])
    asked = len(service.requests())

    for name, call in CLOSED.items():
        done = applied.run(service, *call)
        assert "NOBODY_SETS" not in done.stderr, name
        assert not (applied.folder / "read").exists(), name

    assert service.requests()[asked:] == []
    assert applied.run(service, "drift").returncode == 3
    assert (applied.folder / "read").exists()


def test_no_option_takes_a_credential_of_the_service() -> None:
    """Options stand in process lists and shell histories. Those of `sandbox` are what it accepts itself.

    `--secrets-file` names a file.
    """
    words = ("password", "username", "api-key", "secret", "credential")
    found = {
        f"{name} {option}"
        for name, command in commands()
        for parameter in command.params
        for option in parameter.opts
        if any(word in option for word in words)
    }

    ours = {"sandbox --username", "sandbox --password", "sandbox --api-key"}
    assert found == {*ours, "export --secrets-file"}
