"""`reconciler fmt`: manifests in one form, so that a review shows what was meant and nothing else."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli import options
from reconciler.cli.console import output
from reconciler.cli.dispatch import Completes, prints_result
from reconciler.errors import ManifestError, Problem
from reconciler.model.settings import Settings
from reconciler.report.lines import count

if TYPE_CHECKING:
    from reconciler.manifest.sources import ManifestFile


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", shell_complete=Completes("files"))
@click.option("--check", is_flag=True, help="Write nothing; exit with 2 if a file is not formatted.")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change. Exits like --check.")
@options.settings_options
@prints_result
def fmt_command(
    *, paths: tuple[str, ...], check: bool, diff: bool, config: str | None, environment: str | None
) -> int:
    """Format manifests: order of keys, quotes, indentation, blank lines.

    The meaning of a manifest and its comments do not change. Each file is read again after formatting and
    compared; a file whose meaning would change is left as it is and reported.

    Keys are in the order in which `export` writes them. Entries, tags, custom fields and columns keep
    your order. A blank line ends a group of keys, and keys are sorted within their group; a comment above
    a key moves with it. A value gets quotes where other YAML parsers would see a number, a date or a
    boolean; quotes that are not needed are removed.

    PATH is a manifest, or a folder of them. Default: the manifests of the settings. JSON manifests,
    rosters and the settings are left alone.

    Needs no secrets, no variables and no service. Reads manifests and, where there are any, the settings;
    writes manifests.

    Exit codes: 0 done, or nothing to do; 1 a file cannot be written; 2 not formatted (--check,
    --diff); 3 a file cannot be read.

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
    settings = _settings(config, environment, cwd, needed=not paths)
    root = Path(settings.root) if settings and not paths else cwd
    sources = [Path(one) for one in (paths or (settings.manifests if settings else ()))]
    files, missing = find_manifests(sources, root.resolve())
    problems = [*missing]
    changed: list[str] = []
    same = 0
    for file in files:
        if file.name.lower().endswith(".json"):
            continue
        done, wrong = _one(file, write=write, show=diff)
        problems += wrong
        if done:
            changed.append(file.name)
        elif not wrong:
            same += 1
    _tell(changed, same, wrote=write, quiet=diff)
    if problems:
        raise ManifestError(_untold(problems), problems=tuple(problems))
    return _CHANGES if changed and not write else 0


# --- `reconciler fmt` at work: manifests are read, formatted, and written where that changes them -


_CHANGES = 2  # the exit code of `plan` and `drift` where there is something to do


def _settings(config: str | None, environment: str | None, cwd: Path, *, needed: bool) -> Settings | None:
    """Return the settings, for the kinds that their profile brings; None where nobody needs any."""
    from reconciler.settings.layers import find_settings_file
    from reconciler.settings.reader import read_settings

    if not needed and config is None and find_settings_file(cwd, os.environ) is None:
        return None
    return read_settings(
        config=config, environment=environment, cwd=cwd, environ=os.environ, service=False
    ).settings


def _one(file: "ManifestFile", *, write: bool, show: bool) -> tuple[bool, Sequence[Problem]]:
    """Format one file. Return whether its form is another one, and why it stays as it is."""
    from reconciler.cli.project_files import write_manifests
    from reconciler.manifest.fmt import diff_formatted, format_manifest
    from reconciler.manifest.sources import read_manifest

    data = read_manifest(file)
    if isinstance(data, Problem):
        return False, (data,)
    result = format_manifest(data, file.name)
    if result.problems or result.data == data:
        return False, result.problems
    if show:
        output.data("\n".join(diff_formatted(file.name, data, result.data)))
    if write:
        write_manifests(file.path.parent, {}, {file.path.name: (data, result.data)})
    return True, ()


def _tell(changed: Sequence[str], same: int, *, wrote: bool, quiet: bool) -> None:
    """Name each file on stdout; what they are together goes to stderr, so that a diff stays one."""
    if changed and not quiet:
        output.data("\n".join(f"{'formatted' if wrote else 'would format'} {name}" for name in changed))
    verb = "formatted" if wrote else "would be formatted"
    parts = [f"{count(len(changed), 'file')} {verb}"] if changed else []
    parts += [f"{count(same, 'file')} left unchanged"] if same else []
    if parts:
        output.note(f"{', '.join(parts)}.")


def _untold(problems: Iterable[Problem]) -> str:
    files = {problem.file for problem in problems}
    return f"{count(len(files), 'file')} cannot be formatted."
