"""`reconciler apply` at work: carries out a plan, or the undo of a run, and reports how each change ended."""

import os
import shlex
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from reconciler import pipeline
from reconciler.cli.console import output
from reconciler.cli.console.events import Events, events_of
from reconciler.cli.session import (
    Signals,
    checkout_of,
    context_of,
    finish,
    outside,
    patient,
    refreshed,
    settings_of,
)
from reconciler.cli.verbs.reviewing.plan import consent_of, next_step, options_of, recipients_of
from reconciler.cli.verbs.reviewing.reviews import Reviews
from reconciler.cli.verbs.writing.screen import Screen, report
from reconciler.environment.checkout import Checkout
from reconciler.environment.run_context import UNCHECKED, is_in_ci
from reconciler.errors import CommitUnreadable, FileError, NotCommitted, Refused
from reconciler.files.atomic_files import read_file, require_writable_place
from reconciler.files.encryption import is_encrypted
from reconciler.files.plan_file import read_plan, write_plan
from reconciler.manifest.cache import Declaration
from reconciler.model.codes import SKIP_CODES
from reconciler.model.plans import Consent, Options, Plan
from reconciler.model.runs import Context, Run
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired
from reconciler.pipeline import PlanResult
from reconciler.report.phrases import difference_words

skips_told_max = 10  # lines of a note; beyond that it hides what it is about
_STILL_IN_GIT = "git still holds what was undone: revert the commit too, or the next apply repeats it."


def apply(
    *,
    file: str | None,
    yes: bool,
    undo_file: str | None,
    events: str | None,
    full: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Carry out the plan of `file`, or a new one where somebody agrees to it; return the exit code."""
    of_plan = ("only", "excluded", "reactivate", "same_service")
    if file is not None and any(given[name] for name in of_plan):
        raise click.UsageError(
            "--only, --except, --reactivate and --same-service belong to the plan; FILE holds them already."
        )
    if file is not None and (given["create_again"] or given["confirm_same"]):
        raise click.UsageError(
            "--create-again and --confirm-same belong to the plan; FILE holds them already."
        )
    told, ask = events_of(events, as_json=as_json), file is None and not yes
    if ask and (as_json or told.on_stdout or not output.can_ask()):
        raise click.UsageError(
            "nobody can be asked here: give --yes, or the FILE of a reviewed plan (reconciler plan -o FILE)."
        )
    reviews = Reviews("apply", given, file, undo_file, told.file)
    with told.of_command():
        job = _job(file, undo_file, given)
        undo = Undo(job.undo, job.recipients)
        try:
            with reviews.of_refused(job.saved):
                run = carry_out(job, undo, told, ask=ask, full=full, as_json=as_json, hears=reviews.hear)
            code = report(run, events=told, full=full, as_json=as_json, reviews=reviews)
            if job.options.undo_of and run.count("applied"):
                output.note(_STILL_IN_GIT)
        finally:
            written = undo.write()  # also where the report cannot be printed
    return code if written else code or 1


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be applied, and how."""

    settings: Settings
    desired: Desired
    context: Context
    options: Options
    consent: Consent
    saved: Plan | None
    again: str  # the command line that asks once more
    undo: Path | None
    recipients: tuple[str, ...]
    fail_fast: bool


def _job(file: str | None, undo_file: str | None, given: Mapping[str, Any]) -> Job:
    """Return what is to be done, from the options of the command line. Nothing is asked of the service."""
    recipients = recipients_of(given, "--undo FILE" if undo_file is None else "")
    # Before the plan is read: an address of a kind that the profile brings would be none.
    settings = patient(
        settings_of(given["config"], given["environment"], service=True), given["lock_timeout"]
    )
    settings = refreshed(settings, given["refresh"])
    saved = read_plan(Path(file), identity=given["identity"], environ=os.environ) if file else None
    if undo_file is not None:
        _require_undo(saved, Path(file) if file else None, recipients)
        require_writable_place(Path(undo_file))
    # No manifest says what an undo should be: none is read for it, so none can stand in its way.
    undoing = saved is not None and bool(saved.options.undo_of)
    declared = (
        Declaration(Desired({}, frozenset())) if undoing else pipeline.load_declaration(settings, os.environ)
    )
    checkout = checkout_of(settings, declared.inputs)
    context = context_of(settings, checkout=checkout)
    if not undoing:
        if not given["allow_dirty"]:
            _check_commit(checkout, os.environ)
        _note_unchecked(checkout, context, os.environ)
    return Job(
        settings=settings,
        desired=declared.desired,
        context=context,
        options=saved.options if saved else options_of(given),
        consent=consent_of(given),
        saved=saved,
        again=next_step(file, given),
        undo=Path(undo_file) if undo_file is not None else None,
        recipients=recipients,
        fail_fast=given["fail_fast"],
    )


def _check_commit(checkout: Checkout, environ: Mapping[str, str]) -> None:
    """Raise NotCommitted where a build system would apply what is not known to be in the recorded commit."""
    if is_in_ci(environ) and checkout.dirty:
        raise NotCommitted(
            "this is CI (the variable CI is set), and what would be applied is not in commit "
            f"{checkout.commit}: {difference_words(checkout.differences)}. Nothing was sent.",
            next="commit it, or remove what an earlier job left; name what a step of this job makes under "
            "commit.generated of the settings; to apply it anyway: --allow-dirty",
        )
    if is_in_ci(environ) and checkout.unborn:
        raise NotCommitted(
            "this is CI (the variable CI is set), and what would be applied is in no commit: the repository "
            "has none yet where HEAD leads to. Nothing was sent.",
            next="commit it, or check out the commit that is to be applied; to apply it anyway: "
            "--allow-dirty",
        )
    if is_in_ci(environ) and checkout.unreadable:
        raise CommitUnreadable(
            "this is CI (the variable CI is set), and nobody knows whether what would be applied is in a "
            f"commit: the repository cannot be read: {checkout.reason}. Nothing was sent.",
            next="check out anew in the usual form of git (git clone --ref-format=files); to apply what is "
            "there without a comparison: --allow-dirty",
        )


def _note_unchecked(checkout: Checkout, context: Context, environ: Mapping[str, str]) -> None:
    """Say in CI that nothing was compared with the commit that is recorded."""
    if is_in_ci(environ) and context.commit.endswith(UNCHECKED):
        commit = context.commit.removesuffix(UNCHECKED)
        output.note(
            f"no commit can be read here ({checkout.reason}), so nothing was compared with commit {commit}.\n"
            "  next: look whether the checkout is whole; for one of another user: git config --global --add "
            "safe.directory FOLDER"
        )


def _require_undo(saved: Plan | None, file: Path | None, recipients: tuple[str, ...]) -> None:
    """Raise UsageError where an undo cannot be had, or would be readable by more people than the plan was."""
    if saved is not None and saved.options.undo_of:
        raise click.UsageError(
            "an undo cannot be undone; `reconciler apply` without FILE applies the manifests."
        )
    if file is not None and not recipients and is_encrypted(read_file(file)):
        raise click.UsageError(
            "the plan is encrypted, but its undo would not be: give --encrypt-to, or set plan.recipients."
        )


class Undo:
    """The undo of a run: known when the run has ended, written after its report was printed."""

    def __init__(self, path: Path | None, recipients: tuple[str, ...]) -> None:
        self._path = path
        self._recipients = recipients
        self._plan: Plan | None = None

    def hear(self, plan: Plan) -> None:
        """Keep the inverse of what was applied."""
        self._plan = plan

    def write(self) -> bool:
        """Write the file that was asked for, or say why there is none; false where it could not be."""
        if self._path is None:
            return True
        plan = self._plan
        if plan is None or not (plan.changes or plan.gone):
            why = "nothing was applied" if plan is None or not plan.skips else "no change of it can be undone"
            output.note("\n".join([f"{self._path} was not written: {why}.", *_why_not_undone(plan)]))
            return True
        try:
            write_plan(self._path, plan, self._recipients)
        except FileError as error:
            output.note(f"{error} The run is over, and has no undo file.\n  next: {error.next}")
            return False
        output.note(f"{self._path} undoes this run.  next: reconciler show {shlex.quote(str(self._path))}")
        return True


def _why_not_undone(plan: Plan | None) -> list[str]:
    """Return why the first changes of a run cannot be undone, each with the code of its reason."""
    skips = plan.skips if plan else ()
    told = [f"  {one.address} {one.what} [{SKIP_CODES[one.reason]}]" for one in skips[:skips_told_max]]
    more = len(skips) - len(told)
    return [*told, *([f"  … and {more:,} more"] if more else [])]


def carry_out(
    job: Job,
    undo: Undo,
    events: Events,
    *,
    ask: bool,
    full: bool,
    as_json: bool,
    screen: type[Screen] = Screen,
    hears: Callable[[PlanResult], None] | None = None,
) -> Run:
    """Return the finished run, seen and agreed to on `screen`. Raises Refused where the person said no.

    `hears` is called with the plan, before it is judged.
    """
    with output.progress() as bars:
        bars.advance("reading the service", 0, None)
        run = finish(
            lambda signals: _verb(
                job,
                undo,
                signals,
                screen(bars, signals, ask=ask, full=full, as_json=as_json, events=events, hears=hears),
            )
        )
    if run is None:
        raise Refused("you did not agree; nothing was written.", next=job.again)
    return run


def _verb(job: Job, undo: Undo, signals: Signals, observer: Screen) -> Coroutine[Any, Any, Run | None]:
    """Return the work of the pipeline: a plan of the manifests, or the undo of a run."""
    around = outside(job.settings, job.context)
    if job.saved is not None and job.saved.options.undo_of:
        return pipeline.undo(
            job.settings,
            job.saved,
            around,
            consent=job.consent,
            fail_fast=job.fail_fast,
            stop=signals.stop,
            observer=observer,
        )
    return pipeline.apply(
        job.settings,
        job.desired,
        around,
        options=job.options,
        consent=job.consent,
        saved=job.saved,
        fail_fast=job.fail_fast,
        stop=signals.stop,
        observer=observer,
        keep_undo=undo.hear if job.undo is not None else None,
    )
