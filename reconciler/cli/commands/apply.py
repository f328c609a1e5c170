"""`reconciler apply`: carries out a plan, and tells how each change ended."""

import os
import shlex
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli import options, output
from reconciler.errors import FileError, Refused

if TYPE_CHECKING:
    from reconciler.cli.running import Signals
    from reconciler.cli.screen import Screen
    from reconciler.core.guard import Consent
    from reconciler.model.context import Context
    from reconciler.model.outcomes import Run
    from reconciler.model.plans import Options, Plan
    from reconciler.model.settings import Settings
    from reconciler.model.snapshots import Desired


@click.command(short_help="Carry out a plan.")
@click.argument("file", required=False)
@options.settings_options
@options.selection_options
@options.consent_options
@options.yes_option
@click.option("--fail-fast", is_flag=True, help="Begin nothing new after the first failure.")
@click.option(
    "--undo",
    "undo_file",
    metavar="FILE",
    help="Write the plan that undoes this run to FILE, readable by you alone.",
)
@click.option(
    "--allow-dirty",
    is_flag=True,
    help="In CI: apply though tracked files differ from the commit that is recorded for this run.",
)
@options.lock_option
@options.recipients_options
@options.identity_option
@options.full_option
@options.format_option
def command(
    *,
    file: str | None,
    yes: bool,
    fail_fast: bool,
    undo_file: str | None,
    full: bool,
    format: str,  # noqa: A002 - the option's name
    **given: Any,
) -> int:
    """Bring the service to what the manifests say.

    Without FILE it plans, shows the plan and asks; where nobody can answer it needs --yes. With the
    FILE of `reconciler plan -o FILE` it plans afresh, and goes on only when the new plan is the same.
    What an earlier run left in doubt is looked for first. The first Ctrl-C finishes what is under way
    and reports; the second stops at once.

    With --undo FILE the inverse of what was applied is written, also when the run ended early. It is
    shown with `reconciler show` and carried out with `reconciler apply`, as a plan of its own.

    The commit is recorded with the run, and carries +dirty where tracked files differ from it. In CI
    (the variable CI is set) such a run is refused before anything is sent, unless --allow-dirty is given.

    Reads settings, manifests, FILE, the store and the service; writes the service and the store, and FILE
    of --undo.

    Exit codes: 0 done, 1 failed, 3 input invalid, 4 lock held, 5 stale plan, conflict
    or somebody ambiguous,
    6 applied in part, 7 refused by a guard or by you, 8 in doubt, 64 usage, 130 interrupted.

    \b
    Examples:
        reconciler apply
        reconciler apply plan.json
        reconciler apply --yes --allow-deletes 41
        reconciler apply plan.json --undo undo.json
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    if file is not None and (given["only"] or given["excluded"] or given["reactivate"]):
        raise click.UsageError(
            "--only, --except and --reactivate belong to the plan; FILE holds them already."
        )
    as_json = format == "json"
    if file is None and not yes and (as_json or not output.can_ask()):
        raise click.UsageError(
            "nobody can be asked here: give --yes, or the FILE of a reviewed plan (reconciler plan -o FILE)."
        )
    job = _job(
        file,
        given,
        undo_file,
        fail_fast=fail_fast,
        ask=file is None and not yes,
        full=full,
        as_json=as_json,
    )
    from reconciler.cli.screen import report  # noqa: PLC0415 - loads much that --help does not need

    undo = Undo(job.undo, job.recipients)
    try:
        run = _carry_out(job, undo)
        code = report(run, full=full, as_json=as_json)
        if job.options.undo_of and run.count("applied"):
            output.note(_STILL_IN_GIT)
    finally:
        written = undo.write()  # also where the report cannot be printed
    return code if written else code or 1


_STILL_IN_GIT = "git still holds what was undone: revert the commit as well, or the next apply does it again."


def _job(file: str | None, given: Mapping[str, Any], undo_file: str | None, **shown: bool) -> "Job":
    """Return what is to be done, from the options of the command line. Nothing is asked of the service."""
    from reconciler import pipeline  # noqa: PLC0415 - loads everything, which --help does not need
    from reconciler.cli.commands.plan import consent_of, next_step, options_of, recipients_of  # noqa: PLC0415 - the same
    from reconciler.cli.files.planfile import read_plan  # noqa: PLC0415 - the same
    from reconciler.cli.files.private import check_place  # noqa: PLC0415 - the same
    from reconciler.cli.running import context_of, patient, settings_of  # noqa: PLC0415 - the same
    from reconciler.model.snapshots import Desired  # noqa: PLC0415 - the same

    recipients = recipients_of(given, undo_file is not None, "--undo FILE")
    saved = read_plan(Path(file), identity=given["identity"], environ=os.environ) if file else None
    if undo_file is not None:
        _require_undo(saved, Path(file) if file else None, recipients)
        check_place(Path(undo_file))
    settings = patient(
        settings_of(given["config"], given["environment"], service=True), given["lock_timeout"]
    )
    # No manifest says what an undo should be: none is read for it, so none can stand in its way.
    undoing = saved is not None and bool(saved.options.undo_of)
    desired = Desired({}, frozenset()) if undoing else pipeline.validate(settings, os.environ)
    context = context_of(settings)  # after the manifests were read: what differs by now may have been read
    if not undoing and not given["allow_dirty"]:
        _check_commit(context, os.environ)
    return Job(
        settings=settings,
        desired=desired,
        context=context,
        options=saved.options if saved else options_of(given),
        consent=consent_of(given),
        saved=saved,
        again=next_step(file, given),
        undo=Path(undo_file) if undo_file is not None else None,
        recipients=recipients,
        **shown,
    )


def _check_commit(context: "Context", environ: Mapping[str, str]) -> None:
    """Raise Refused where a build system would apply what is not in the commit that is recorded for it."""
    from reconciler.cli.context import DIRTY, in_ci  # noqa: PLC0415 - it is there already

    if in_ci(environ) and context.commit.endswith(DIRTY):
        commit = context.commit.removesuffix(DIRTY)
        raise Refused(
            f"tracked files differ from commit {commit}, and this is CI (the variable CI is set): what would "
            "be applied is in no commit. Nothing was sent.",
            next="see which: git status; let no earlier step of the job change tracked files, or commit what "
            "is meant; if it is to be applied all the same: --allow-dirty",
        )


def _require_undo(saved: "Plan | None", file: Path | None, recipients: tuple[str, ...]) -> None:
    """Raise UsageError where an undo cannot be had, or would be readable by more people than the plan was."""
    from reconciler.cli.files.encryption import is_encrypted  # noqa: PLC0415 - seldom needed
    from reconciler.cli.files.private import read_file  # noqa: PLC0415 - the same

    if saved is not None and saved.options.undo_of:
        raise click.UsageError("an undo has no undo: `reconciler apply` without it does again what git says.")
    if file is not None and not recipients and is_encrypted(read_file(file)):
        raise click.UsageError(
            "the plan is encrypted, and its undo would not be: give --encrypt-to, or set plan.recipients."
        )


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be applied, how, and how it is shown."""

    settings: "Settings"
    desired: "Desired"
    context: "Context"
    options: "Options"
    consent: "Consent"
    saved: "Plan | None"
    again: str  # the command line that asks once more
    undo: "Path | None"
    recipients: tuple[str, ...]
    fail_fast: bool
    ask: bool
    full: bool
    as_json: bool


class Undo:
    """The undo of a run: heard of when it has ended, written once its report is out."""

    def __init__(self, path: Path | None, recipients: tuple[str, ...]) -> None:
        self._path = path
        self._recipients = recipients
        self._plan: Plan | None = None

    def hear(self, plan: "Plan") -> None:
        """Keep the inverse of what was applied."""
        self._plan = plan

    def write(self) -> bool:
        """Write the file that was asked for, or say why there is none; false where it could not be."""
        if self._path is None:
            return True
        from reconciler.cli.files.planfile import write_plan  # noqa: PLC0415 - where an undo is written

        plan = self._plan
        if plan is None or not (plan.changes or plan.gone):
            why = "nothing was applied" if plan is None or not plan.skips else "nothing of it can be set back"
            output.note(f"{self._path} was not written: {why}.")
            return True
        try:
            write_plan(self._path, plan, self._recipients)
        except FileError as error:
            output.note(f"{error} The run is over, and has no undo file.\n  next: {error.next}")
            return False
        output.note(f"{self._path} undoes this run.  next: reconciler show {shlex.quote(str(self._path))}")
        return True


def _carry_out(job: Job, undo: Undo) -> "Run":
    """Return the finished run. Raises Refused where the person said no."""
    from reconciler.cli.running import finish  # noqa: PLC0415 - loads everything, which --help does not need
    from reconciler.cli.screen import Screen  # noqa: PLC0415 - the same

    with output.progress() as bars:
        bars.advance("reading the service", 0, None)

        def work(signals: "Signals") -> "Coroutine[Any, Any, Run | None]":
            return _verb(
                job, undo, signals, Screen(bars, signals, ask=job.ask, full=job.full, as_json=job.as_json)
            )

        run = finish(work)
    if run is None:
        raise Refused("you did not agree; nothing was written.", next=job.again)
    return run


def _verb(job: Job, undo: Undo, signals: "Signals", watch: "Screen") -> "Coroutine[Any, Any, Run | None]":
    """Return the work of the pipeline: a plan of the manifests, or the undo of a run."""
    from reconciler import pipeline  # noqa: PLC0415 - loads everything, which --help does not need
    from reconciler.cli.running import outside  # noqa: PLC0415 - the same

    if job.saved is not None and job.saved.options.undo_of:
        return pipeline.undo(
            job.settings,
            job.saved,
            outside(job.settings, job.context),
            consent=job.consent,
            fail_fast=job.fail_fast,
            stop=signals.stop,
            watch=watch,
        )
    return pipeline.apply(
        job.settings,
        job.desired,
        outside(job.settings, job.context),
        options=job.options,
        consent=job.consent,
        saved=job.saved,
        fail_fast=job.fail_fast,
        stop=signals.stop,
        watch=watch,
        keep_undo=undo.hear if job.undo is not None else None,
    )
