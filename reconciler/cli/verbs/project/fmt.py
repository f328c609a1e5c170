"""`reconciler fmt` at work: manifests are read, formatted, and written where that changes them."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from reconciler.cli.console import output
from reconciler.cli.files.manifests import write_manifests
from reconciler.errors import ManifestError, Problem
from reconciler.manifest.fmt import diff_formatted, format_manifest
from reconciler.manifest.sources import ManifestFile, find_manifests, read_manifest
from reconciler.model.settings import Settings
from reconciler.report.lines import count
from reconciler.settings.reading import read_settings, working_folder
from reconciler.settings.sources import nearest

_CHANGES = 2  # the exit code of `plan` and `drift` where there is something to do


def fmt(
    *, paths: tuple[str, ...], check: bool, diff: bool, config: str | None, environment: str | None
) -> int:
    """Format the files, and tell which ones changed. Raises ManifestError with every file that stays."""
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


def _settings(config: str | None, environment: str | None, cwd: Path, *, needed: bool) -> Settings | None:
    """Return the settings, for the kinds that their profile brings; None where nobody needs any."""
    if not needed and config is None and nearest(cwd, os.environ) is None:
        return None
    return read_settings(
        config=config, environment=environment, cwd=cwd, environ=os.environ, service=False
    ).settings


def _one(file: ManifestFile, *, write: bool, show: bool) -> tuple[bool, Sequence[Problem]]:
    """Format one file. Return whether its form is another one, and why it stays as it is."""
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
