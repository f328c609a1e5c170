"""`reconciler init`: what a project begins with. Calls nobody, and writes over nothing."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import click

from reconciler.cli import options
from reconciler.cli.dispatch import Completes, prints_result
from reconciler.cli.results import CommandResult, Doc
from reconciler.errors import InputError, SettingsError
from reconciler.report.escaping import is_hidden
from reconciler.report.lines import BLANK, Line, line

if TYPE_CHECKING:
    from reconciler.core.project_skeleton import Ci, ProjectStart


class InitResult(CommandResult, frozen=True):
    """Files written and files kept, by path in the project.

    `elsewhere`: jobs were not written, because the folder is not the root of its repository.
    """

    title: ClassVar[str] = "What a project begins with"
    written: Annotated[tuple[str, ...], Doc("Files that were written.")]
    kept: Annotated[tuple[str, ...], Doc("Files that were there.")]
    lacking: Annotated[tuple[str, ...], Doc("Lines that a .gitignore of your own lacks.")]
    edit: Annotated[tuple[str, ...], Doc("Files with something to edit.")]
    elsewhere: Annotated[bool, Doc("Whether jobs were left out, because this is no root of a repository.")]
    next: Annotated[tuple[str, ...], Doc("The next commands.")]

    def lines(self) -> Sequence[Line]:
        """Return a line for each file, what is to be done by hand, and the next commands."""
        lines: list[Line] = [line(("written  ", "create"), name) for name in self.written]
        lines += [line(("kept     ", "dim"), name) for name in self.kept]
        if self.lacking:
            lines.append(line(("! ", "warn"), f".gitignore has no line for {', '.join(self.lacking)}"))
        for name in self.edit:
            lines.append(line(("! ", "warn"), f"{name}: edit the lines marked `edit` before it runs"))
        if self.elsewhere:
            why = "this is not the root of its repository (see docs/ci.md)"
            lines.append(line(("! ", "warn"), f"CI jobs and hooks were not written: {why}"))
        if self.next:
            lines += [BLANK, line("next:"), *(line("  ", command) for command in self.next)]
        return tuple(lines)


def _check_workspace_id(_ctx: click.Context, _parameter: click.Parameter, given: str) -> str:
    from reconciler.model.settings import WORKSPACE_ID

    if given and not re.fullmatch(WORKSPACE_ID, given):
        raise click.BadParameter("an id has 1 to 64 letters, digits, hyphens and underscores.")
    return given


@click.command()
@click.argument("folder", default=".", shell_complete=Completes("folders"))
@click.option(
    "--workspace-id",
    default="",
    metavar="ID",
    callback=_check_workspace_id,
    help="Manage the workspace with this id, under the alias `main`, instead of the default workspace.",
)
@click.option(
    "--ci",
    type=click.Choice(("github", "gitlab", "none")),
    help="Write CI jobs for this provider. Default: detected from the git remotes, otherwise github.",
)
@options.format_option
@prints_result
def init_command(*, folder: str, workspace_id: str, ci: "Ci | None") -> InitResult:
    """Start a project in FOLDER: settings, a manifest, .gitignore, hooks and a CI job that check it.

    Without FOLDER, the project is started in the current folder; a FOLDER that does not exist is created. The
    command asks no question and keeps every existing file; it lists the files that it kept. The address of
    the service comes from RECONCILER_SERVICE_BASE_URL; without this variable, the settings name a sandbox on
    this machine. A project that already has settings or manifests gets no new manifest.

    Writes reconciler.yaml, manifests/people.yaml, .gitignore, .pre-commit-config.yaml, and .github or
    .gitlab-ci.yml, from the templates of docs/ci.md. Makes no network request.

    Exit codes: 0 written, or everything existed already; 1 failed; 3 the input is invalid; 64 usage error;
    130 interrupted.

    \b
    Examples:
        reconciler init
        reconciler init on-call --workspace-id 4C8FE1A2B3D4E5F6 --ci none
    """
    from reconciler.core.project_skeleton import (
        HOOKS,
        IGNORE,
        MANIFEST,
        ProjectStart,
        find_missing_ignores,
        pre_commit_hooks,
    )
    from reconciler.files.atomic_files import read_file
    from reconciler.service.http.urls import parse_base_url
    from reconciler.settings.layers import flag_variable, variable_of_setting
    from reconciler.settings.reader import working_folder

    cwd = working_folder()
    address = flag_variable(variable_of_setting("service.base_url"), os.environ) or ""
    if address:
        parse_base_url(address)  # raises what every other command would say of it
    place = _prepare_folder(folder, cwd)
    files = _list_project_files(place, ProjectStart(place.resolve().name, address, workspace_id))
    at_root = _is_repository_root(place)
    jobs = _read_ci_jobs(place, ci) if at_root else {}
    wanted = {**files, **({HOOKS: pre_commit_hooks()} if at_root else {}), **jobs}
    _check_paths_are_free(place, wanted)
    written = _write_project(place, wanted)
    kept = tuple(name for name in wanted if name not in written)
    lacking: tuple[str, ...] = ()
    if IGNORE in kept:
        lacking = find_missing_ignores(read_file(place / IGNORE).decode("utf-8", errors="replace"))
    manifests = Path(MANIFEST).parent.as_posix()
    if MANIFEST not in wanted and (place / manifests).is_dir():
        kept += (f"{manifests}/",)
    return InitResult(
        written=written,
        kept=kept,
        lacking=lacking,
        elsewhere=not at_root and ci != "none",
        edit=tuple(name for name in written if "# edit" in jobs.get(name, "")),
        next=_choose_next_commands(folder, address) if written else (),
    )


# --- Looking at the folder, and writing. Which files, and their text: core/project_skeleton.py ---


def _prepare_folder(folder: str, cwd: Path) -> Path:
    """Return the folder, made if need be, and fit to hold settings. Raises InputError, FileError."""
    from reconciler.core.project_skeleton import SETTINGS
    from reconciler.files.atomic_files import make_folder, require_writable_place
    from reconciler.settings import trust

    if any(map(is_hidden, folder)) or not folder:
        raise InputError(
            f"{folder!r} is empty or has characters that cannot be shown.", next="use printable characters"
        )
    place = cwd / folder
    if place.is_symlink():
        raise InputError(f"{folder} is a link.", next="name the folder that it points to")
    if place.exists() and not place.is_dir():
        raise InputError(f"{folder} is a file.", next="choose a folder; it is created if missing")
    make_folder(place)
    require_writable_place(place / f"{SETTINGS}.new")
    if found := trust.find_folder_objection(place, trust.trusted_users(os.environ)):
        raise SettingsError(f"settings in {folder} would not be read: {found.what}.", next=found.next)
    return place


def _list_project_files(place: Path, start: "ProjectStart") -> dict[str, str]:
    """Return the files to be, but for a manifest where there are settings or manifests already.

    One more manifest would say that a kind is managed in a workspace, and a plan could then delete people:
    not ours to say in a project that has begun.
    """
    from reconciler.core.project_skeleton import MANIFEST, SETTINGS, project_files

    files = project_files(start)
    manifests = place / Path(MANIFEST).parent
    begun = os.path.lexists(place / SETTINGS) or (manifests.is_dir() and any(manifests.iterdir()))
    if begun and not os.path.lexists(place / MANIFEST):
        del files[MANIFEST]
    return files


def _is_repository_root(place: Path) -> bool:
    """Whether jobs of a repository are looked for in this folder: it is the root of one, or in none."""
    real = place.resolve()
    above = next((one for one in (real, *real.parents) if os.path.lexists(one / ".git")), real)
    return above == real


def _read_ci_jobs(place: Path, ci: "Ci | None") -> dict[str, str]:
    from reconciler.cli.project_files import find_example
    from reconciler.core.project_skeleton import TEMPLATES, detect_ci
    from reconciler.environment.checkout import read_remotes
    from reconciler.files.atomic_files import read_file

    there = frozenset(name for name in (".github", ".gitlab-ci.yml") if os.path.lexists(place / name))
    chosen = ci or detect_ci(read_remotes(place), os.environ, there)
    shipped = find_example("ci")
    return {
        target: read_file(shipped / source).decode("utf-8") for source, target in TEMPLATES[chosen].items()
    }


def _check_paths_are_free(place: Path, wanted: Mapping[str, str]) -> None:
    """Raise InputError where a link, or something that is no folder, stands in the way of a file."""
    from reconciler.core.project_skeleton import MANIFEST

    for name in (*wanted, MANIFEST):
        for above in (place / name).relative_to(place).parents:
            way = place / above
            if above != Path() and os.path.lexists(way) and (way.is_symlink() or not way.is_dir()):
                what = "a link, and may lead out of the project" if way.is_symlink() else "no folder"
                raise InputError(
                    f"{above} is {what}.", next=f"remove it, or replace it with a folder: {above}"
                )
        if (place / name).is_dir():
            raise InputError(f"{name} is a folder; expected a file.", next=f"move {name} away")


def _write_project(place: Path, wanted: dict[str, str]) -> tuple[str, ...]:
    """Return what was written. The settings come last: without them a second try begins anew."""
    from reconciler.files.atomic_files import make_folder, write_new

    written = set()
    for name, text in reversed(wanted.items()):
        path = place / name
        make_folder(path.parent)
        if write_new(path, text.encode("utf-8")):
            written.add(name)
    return tuple(name for name in wanted if name in written)


def _choose_next_commands(folder: str, address: str) -> tuple[str, ...]:
    """Return commands, at most three, that lead from here to a plan; where credentials are, without them."""
    from reconciler.settings.layers import variable_of_setting

    enter = f"cd {shlex.quote(folder if not folder.startswith('-') else f'./{folder}')}"
    here = Path(folder) == Path()
    first = (lambda command: command) if here else (lambda command: f"{enter} && {command}")
    # Where credentials may be, by the settings that are written and by those that go over them.
    credentials = (
        ("SVC_USER", variable_of_setting("service.auth.username")),
        ("SVC_PASSWORD", variable_of_setting("service.auth.password")),
        ("SVC_API_KEY", variable_of_setting("service.auth.api_key")),
    )
    known = all(any(os.environ.get(name) for name in names) for names in credentials)
    if known:
        return first("reconciler doctor"), "reconciler export", "reconciler plan"
    if address:
        return first("reconciler doctor"), "reconciler export"
    demo = "export SVC_USER=demo SVC_PASSWORD=demo SVC_API_KEY=demo-key"
    return "reconciler sandbox &", first(demo), "reconciler plan"
