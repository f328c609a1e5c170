"""`reconciler fmt`: manifests in one form, so that a review shows what was meant and nothing else."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli import options
from reconciler.cli.console import output
from reconciler.cli.dispatch import Completes, prints_result
from reconciler.cli.results import CommandResult, ResultWork
from reconciler.errors import ManifestError, Problem
from reconciler.model.settings import Settings
from reconciler.report.lines import count

if TYPE_CHECKING:
    from reconciler.manifest.sources import ManifestFile


_CHANGES = 2  # the exit code of `plan` and `drift` where there is something to do


class FmtResult(CommandResult, frozen=True):
    """Which files were formatted, or would be; with --diff what changes in them."""

    changed: tuple[str, ...]
    unchanged: int
    is_written: bool
    diffs: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """2 where a file is not formatted, and stays so."""
        return _CHANGES if self.changed and not self.is_written else 0

    def text(self) -> str:
        """Return the diffs, or the name of each file."""
        verb = "formatted" if self.is_written else "would format"
        return "\n".join(self.diffs or (f"{verb} {name}" for name in self.changed))

    def summary(self) -> str:
        """Return how many files there are of each sort; empty where there was none."""
        verb = "formatted" if self.is_written else "would be formatted"
        parts = [f"{count(len(self.changed), 'file')} {verb}"] if self.changed else []
        parts += [f"{count(self.unchanged, 'file')} left unchanged"] if self.unchanged else []
        return f"{', '.join(parts)}." if parts else ""


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", shell_complete=Completes("files"))
@click.option("--check", is_flag=True, help="Write nothing; exit with 2 if a file is not formatted.")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change. Exits like --check.")
@options.settings_options
@prints_result
def fmt_command(
    *, paths: tuple[str, ...], check: bool, diff: bool, config: str | None, environment: str | None
) -> ResultWork[FmtResult]:
    """Format manifests: order of keys, quotes, indentation, blank lines.

    Formatting changes neither the meaning of a manifest nor its comments. The formatted text is read and
    compared with the original before a file is written: a file whose meaning would change is reported and
    left as it is.

    Keys are put into the order in which `export` writes them; entries, tags, custom fields and columns keep
    your order. A blank line separates groups of keys, and keys are sorted within their group. A comment above
    a key moves with the key. A value gets quotes where other YAML parsers would read a number, a date or a
    boolean; quotes that are not needed are removed.

    PATH is a manifest or a folder of manifests. Default: the manifests that the settings name. JSON
    manifests, rosters and the settings file are not formatted.

    Needs no secrets, no variables and no service. Reads manifests and, if there are any, the settings; writes
    manifests.

    Exit codes: 0 done, or nothing to do; 1 a file cannot be written; 2 a file is not formatted (with --check
    or --diff); 3 a file cannot be read; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler fmt
        reconciler fmt --check manifests/
        reconciler fmt --diff manifests/ops.yaml
    """
    from reconciler.manifest.sources import find_manifests
    from reconciler.settings.reader import working_folder

    write = not (check or diff)
    cwd = working_folder()
    settings = _read_settings(config, environment, cwd, needed=not paths)
    root = Path(settings.root) if settings and not paths else cwd
    sources = [Path(one) for one in (paths or (settings.manifests if settings else ()))]
    files, missing = find_manifests(sources, root.resolve())
    problems = [*missing]
    changed: list[str] = []
    diffs: list[str] = []
    unchanged = 0
    for file in files:
        if file.name.lower().endswith(".json"):
            continue
        difference, wrong = _format_file(file, write=write, show=diff)
        problems += wrong
        if difference is not None:
            changed.append(file.name)
            diffs += [difference] if diff else []
        elif not wrong:
            unchanged += 1
    result = FmtResult(changed=tuple(changed), unchanged=unchanged, is_written=write, diffs=tuple(diffs))
    yield result
    # On stderr, so that a diff stays one.
    if summary := result.summary():
        output.note(summary)
    if problems:
        files_left = count(len({problem.file for problem in problems}), "file")
        raise ManifestError(f"{files_left} cannot be formatted.", problems=tuple(problems))
    return True


# --- `reconciler fmt` at work: manifests are read, formatted, and written where that changes them -


def _read_settings(
    config: str | None, environment: str | None, cwd: Path, *, needed: bool
) -> Settings | None:
    """Return the settings, for the kinds that their profile brings; None where none are needed."""
    from reconciler.settings.layers import find_settings_file
    from reconciler.settings.reader import read_settings

    if not needed and config is None and find_settings_file(cwd, os.environ) is None:
        return None
    return read_settings(
        config=config, environment=environment, cwd=cwd, environ=os.environ, service=False
    ).settings


def _format_file(file: "ManifestFile", *, write: bool, show: bool) -> tuple[str | None, Sequence[Problem]]:
    """Format one file. Return the difference, None where there is none, and why it stays as it is.

    The difference is empty unless `show`.
    """
    from reconciler.cli.project_files import write_manifests
    from reconciler.manifest.fmt import diff_formatted, format_manifest
    from reconciler.manifest.sources import read_manifest

    data = read_manifest(file)
    if isinstance(data, Problem):
        return None, (data,)
    result = format_manifest(data, file.name)
    if result.problems or result.data == data:
        return None, result.problems
    if write:
        write_manifests(file.path.parent, {}, {file.path.name: (data, result.data)})
    return "\n".join(diff_formatted(file.name, data, result.data)) if show else "", ()
