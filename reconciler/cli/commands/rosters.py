"""`reconciler rosters`: what directories say, as files that git holds."""

import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli import options
from reconciler.cli.console import output
from reconciler.cli.dispatch import Completes, prints_result
from reconciler.cli.results import CommandResult
from reconciler.errors import DirectoryError, FileError, InputError, ManifestError
from reconciler.model.settings import Settings
from reconciler.report.lines import Line, count, line

if TYPE_CHECKING:
    from reconciler.directories.answers import ReadOnce
    from reconciler.manifest.rosters.snapshot import Snapshot
    from reconciler.manifest.rosters.table import RosterTable


_DIFFERS = 2  # the exit code of `plan` and `drift` where there is something to do


class SnapshotResult(CommandResult, frozen=True):
    """What was written, or would be. A file that is up to date is a note: nothing is new."""

    summary: str
    is_current: bool = False
    code: int = 0

    @property
    def exit_code(self) -> int:
        """2 where the file differs, and stays so."""
        return self.code

    def notes(self, form: str) -> Sequence[Line]:  # noqa: ARG002 - the command has one format
        """Say that the file is up to date."""
        return (line(self.summary),) if self.is_current else ()

    def lines(self) -> Sequence[Line]:
        """Say which file has how many rows, and how many come and go."""
        return () if self.is_current else (line(self.summary),)


@click.group(name="rosters", no_args_is_help=False)
def rosters_command() -> None:
    """Read the directories that rosters come from: SQL, LDAP, SCIM.

    Exit codes: 0 done; 1 failed; 2 the file differs (with --check); 3 the input is invalid; 64 usage error;
    130 interrupted.

    \b
    Examples:
        reconciler rosters snapshot staff
        reconciler rosters snapshot staff --into people/staff.csv --check
    """


@rosters_command.command()
@click.argument("name", metavar="NAME")
@click.option(
    "--into",
    metavar="FILE",
    shell_complete=Completes("files"),
    help="The CSV file. Default: rosters/NAME.csv beside the settings.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit with 2 if the file would change.")
@click.option("--force", is_flag=True, help="Replace a file that has other columns or is not CSV.")
@options.settings_options
@prints_result
def snapshot_command(
    *, name: str, into: str | None, check: bool, force: bool, config: str | None, environment: str | None
) -> SnapshotResult:
    """Save the rows of a directory (a database, LDAP or SCIM) as a CSV file.

    NAME is the name under `directories` of the settings. Rows are sorted, so that a commit shows who was
    added and who was removed. A roster with `file:` instead of `directory:` then declares the same people
    from the CSV file. Rosters can use only text: a column that holds anything else, such as bytes or
    lists, is left out and reported.

    An existing file is replaced only if it has the same columns; with --force, any file is replaced. Cells
    are not changed: a spreadsheet program reads a cell that begins with = as a formula.

    Reads the settings, the secrets of this directory, and the directory; calls no service.

    Exit codes: 0 done, or nothing to do; 1 the directory did not answer, or the file cannot be written; 2 the
    file differs (with --check); 3 the directory is not in the settings, or its answer cannot be used as a
    roster; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler rosters snapshot staff
        reconciler rosters snapshot staff --into people/staff.csv --check
    """
    from reconciler.cli.session import load_settings
    from reconciler.manifest.rosters.snapshot import compare_snapshots
    from reconciler.settings.reader import working_folder

    settings = load_settings(config, environment, service=False)
    shown = into or f"rosters/{name}.csv"
    path = (working_folder() if into else Path(settings.root)) / shown
    if path.suffix.lower() != ".csv":
        raise InputError(f"{shown}: a snapshot is CSV.", next="name a file that ends in .csv")
    before = _read_former(path, shown)
    made = _make_snapshot(settings, name, before or b"", path)
    for title, (what, number) in made.left_out.items():
        output.note(f"left out: the column {title}, which holds {what} in {count(number, 'row')}.")
    if before == made.data:
        if not check and stat.S_IMODE(path.stat().st_mode) & 0o077:
            _write_snapshot(path, shown, before, made.data)
        return SnapshotResult(summary=f"{shown} matches {name}: {count(made.rows, 'row')}.", is_current=True)
    found = compare_snapshots(before, made.data, shown) if before is not None else None
    rows = count(made.rows, "row")
    if found and found.alike:
        rows += f"; {count(found.come, 'comes', 'come')}, {count(found.go, 'goes', 'go')}"
    if check:
        is_what = f"not what {name} has" if before is not None else f"missing; {name} has"
        return SnapshotResult(summary=f"{shown} is {is_what}: {rows}", code=_DIFFERS)
    if not (force or found is None or found.alike):
        raise InputError(
            f"{shown} has other columns than {name} and was not changed.",
            next="name another file with --into, or replace it with --force",
        )
    _write_snapshot(path, shown, before, made.data)
    return SnapshotResult(summary=f"wrote {shown}: {rows}")


# --- `reconciler rosters` at work: what a directory says becomes a file, or is compared with one --


_HOLDS = "check the content of the directory; a roster from this directory would be refused as well"


def _make_snapshot(settings: Settings, name: str, before: bytes, into: Path) -> "Snapshot":
    """Return what a directory says. Raises DirectoryError, ManifestError, InputError."""
    from reconciler.directories.answers import ReadOnce
    from reconciler.manifest.rosters.snapshot import build_snapshot, find_secret_columns

    asked = ReadOnce(settings.directories)
    if name not in asked.known:
        what, hint = asked.unknown(name)
        raise InputError(what, next=hint)
    table, place = _read_answer_table(asked, name), asked.known[name].place
    if not table.rows:
        raise ManifestError(
            f"nothing was written for {name}.",
            problems=(
                place.problem(f"the directory {name} ({place}) returned no rows.", _HOLDS, code="E515"),
            ),
        )
    if table.problems:
        raise ManifestError(f"the answer of {name} cannot be used as a roster.", problems=table.problems)
    sources = [Path(one) for one in settings.manifests]
    secret = find_secret_columns(sources, Path(settings.root), name, table.header, into)
    for title, field in secret.items():
        output.note(
            f"left out: the column {title}, which fills {field}, a secret. A roster that takes it stays "
            f"`directory: {name}`."
        )
    made = build_snapshot(table, before, secret=secret)
    if not made.data:
        what = "has no column whose cells are all text"
        raise ManifestError(
            f"nothing was written for {name}.",
            problems=(place.problem(f"the directory {name} {what}.", _HOLDS, code="E100"),),
        )
    return made


def _read_answer_table(asked: "ReadOnce", name: str) -> "RosterTable":
    from reconciler.directories.answers import DirectoryFailed
    from reconciler.manifest.rosters.roster_sources import build_answer_table

    try:
        return build_answer_table(
            asked.answer(name), lambda row: asked.place_of(name, row), mend=asked.cell_mend(name)
        )
    except DirectoryFailed as failed:
        problem = asked.known[name].place.problem(
            f"the directory {name} cannot be read: {failed}", failed.hint, code="E514"
        )
        raise DirectoryError(f"nothing was written for {name}.", problems=(problem,)) from failed


def _read_former(path: Path, shown: str) -> bytes | None:
    """Return what is in the file; None where there is none. Raises FileError."""
    from reconciler.files.atomic_files import read_file

    if path.is_symlink():
        raise FileError(f"{shown}: is a link.", next="replace the link with the file")
    return read_file(path) if path.exists() else None


def _write_snapshot(path: Path, shown: str, before: bytes | None, data: bytes) -> None:
    from reconciler.files.atomic_files import make_folder, private_mode, write_new, write_over

    if before is not None:
        write_over(path, before, data, private=True)  # as reports: people are in it, whatever it was before
        return
    make_folder(path.parent, mode=0o777)
    if not write_new(path, data, mode=private_mode):
        raise FileError(f"{shown}: another process has created it.", next="try again")
