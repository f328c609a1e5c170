"""Errors show the line that they are about, read again at one place."""

import os
import time
from pathlib import Path

import pytest

from reconciler.cli.console import error_text, output
from reconciler.errors import InputError, ManifestError, Problem, SettingsError
from reconciler.report.lines import plain

SECRET = "canary-hunter2"
MANIFEST = f"version: 1\r\nworkspace: ops\r\ncontacts:\r\n  jane: {{fristName: {SECRET}}}\r\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.yaml").write_bytes(MANIFEST.encode())
    output.reset_command()
    output.set_project_folder(str(tmp_path))
    return tmp_path


def told(*problems: Problem, kind: type[InputError] = ManifestError) -> str:
    return _shown(kind("it cannot be used.", problems=problems))


def _shown(error: InputError, *, columns: int = 0, whole: bool = False) -> str:
    """Return what `output.failure` prints."""
    project, since = output.project_folder(), output.command_began_at()
    return plain(error_text.error_lines(error, columns=columns, whole=whole, project=project, since=since))


def at(file: str, line: int = 4, column: int = 10) -> Problem:
    return Problem(file, line, column, "fristName is not a field.", "did you mean firstName?", code="E208")


def test_the_line_stands_between_the_mistake_and_what_to_do(folder: Path) -> None:
    """As compilers show it; whatever else the line holds is left out."""
    assert (folder / "people.yaml").is_file()
    assert told(at("people.yaml")) == (
        "people.yaml:4:10: fristName is not a field. [E208]\n"
        "    4 |   ...: {fristName: ...}\n"
        "      |         ^^^^^^^^^\n"
        "  next: did you mean firstName?\n"
        "it cannot be used. [E002]\n"
    )


def test_a_row_shows_its_cells_by_their_number(folder: Path) -> None:
    """A row is not a line where a cell holds a line break."""
    (folder / "staff.csv").write_text(f'id;name\n1;"a\n{SECRET}"\n2;b\n')
    output.reset_command()
    output.set_project_folder(str(folder))

    assert "    3 | ...; ...\n      |      ^^^\n" in told(at("staff.csv", 3, 2))


def test_a_file_that_was_written_since_is_not_shown(folder: Path) -> None:
    """Another line stands there now."""
    later = time.time() + 60
    os.utime(folder / "people.yaml", (later, later))

    assert " | " not in told(at("people.yaml"))


@pytest.mark.parametrize(
    "problem",
    [
        at("gone.yaml"),
        at("people.yaml", line=99),
        at("people.yaml", column=99),
        at("people.yaml", 0, 0),
        at("folder.yaml"),
        at("binary.yaml"),
        at("environment RECONCILER_STACK"),
        at("nul\0.yaml"),
    ],
)
def test_what_cannot_be_shown_is_left_out(folder: Path, problem: Problem) -> None:
    """An excerpt is a help and no reason for another error."""
    (folder / "folder.yaml").mkdir()
    (folder / "binary.yaml").write_bytes(b"\xff\xfe\x00\n" * 9)

    text = told(problem)

    assert " | " not in text
    assert "fristName is not a field." in text


def test_without_a_project_files_are_looked_for_where_we_are(folder: Path) -> None:
    """Settings are named from the current folder, which is not always that of the project."""
    absolute = str(folder / "people.yaml")
    output.reset_command()

    assert "    4 |   ...: {fristName: ...}\n" in told(at(absolute), kind=SettingsError)


def test_json_holds_no_excerpt(folder: Path) -> None:
    """Programs have the place; the form of an error stays as it is published."""
    assert (folder / "people.yaml").is_file()
    error = ManifestError("it cannot be used.", problems=(at("people.yaml"),))

    assert " | " not in error_text.error_json(error)


def test_a_terminal_shows_the_line_as_it_is_but_for_secrets(folder: Path) -> None:
    """The author wrote it; a log shows its structure alone."""
    (folder / "team.yaml").write_text(f"contacts:\n  jane:\n    jobTitel: Engineer\n    pasword: {SECRET}\n")
    output.reset_command()
    output.set_project_folder(str(folder))
    problems = (at("team.yaml", 3, 5), at("team.yaml", 4, 5))
    error = ManifestError("it cannot be used.", problems=problems)

    text = _shown(error, columns=80, whole=True)

    assert "    3 |     jobTitel: Engineer\n      |     ^^^^^^^^\n" in text
    assert SECRET not in text
    assert "Engineer" not in _shown(error, columns=80)
