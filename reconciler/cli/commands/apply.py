"""`reconciler apply`: carries out a plan, and reports how each change ended."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli import options
from reconciler.cli.console import output
from reconciler.cli.dispatch import Completes, prints_result
from reconciler.cli.results import ResultWork, RunReport
from reconciler.model.plans import Plan
from reconciler.model.snapshots import Desired

if TYPE_CHECKING:
    from reconciler.cli.run_screen import Job

STILL_IN_GIT = (
    "git still has the commit that was undone: revert the commit too, or the next apply repeats its changes."
)


@click.command()
@click.argument("file", required=False, shell_complete=Completes("files"))
@options.yes_option
@click.option(
    "--undo",
    "undo_file",
    metavar="FILE",
    help="Write the plan that undoes this run to FILE. Only you can read FILE.",
)
@options.selection_options
@options.consent_options
@options.fail_fast_option
@options.lock_option
@click.option(
    "--allow-dirty",
    is_flag=True,
    help="In CI: apply even if the files differ from the commit that the run records.",
)
@options.report_options
@options.events_option
@options.refresh_option
@options.identity_option
@options.recipients_options
@options.same_service_option
@options.settings_options
@options.strict_option
@options.cache_option
@options.full_option
@options.format_option
@prints_result
def apply_command(
    *,
    file: str | None,
    yes: bool,
    undo_file: str | None,
    events: str | None,
    full: bool,
    as_json: bool,
    **given: Any,
) -> ResultWork[RunReport]:
    """Change the service to what the manifests say.

    Without FILE, the command makes a plan, shows it and asks you; where there is no terminal, pass --yes.
    With FILE, which `reconciler plan -o FILE` wrote, it makes the plan again, and continues only if the new
    plan is the same as the one in FILE.

    If the outcome of a request of an earlier run is not known, the command first finds out at the service.
    The first Ctrl-C finishes the requests under way and reports what was done; the second one stops at once.

    If a workspace cannot be read, or its manifests have mistakes, this workspace is left out and named first;
    the others are applied. The exit code is then 6, or 1 or 3 if there was nothing to apply.

    With --undo FILE, the command writes a plan that undoes what this run applied, even if the run ended
    early. Review that plan with `reconciler show FILE`, and carry it out with `reconciler apply FILE`.

    The run records the commit of the manifests, and adds +dirty to it if the files differ from the commit. In
    CI, where the variable CI is set, apply refuses to run with such files before it sends anything, unless
    you pass --allow-dirty.

    Reads settings, manifests, FILE, the store and the service; writes the service and the store, FILE of
    --undo and --report, and caches of large manifests and of lists in .reconciler/cache.

    Exit codes: 0 done; 1 failed; 3 the input is invalid; 4 another run holds the lock; 5 the plan is stale,
    an entity is in conflict, or an entity is ambiguous; 6 applied in part; 7 the guard refused, or you
    declined; 8 in doubt: the outcome of a write is not known; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler apply
        reconciler apply plan.json
        reconciler apply --yes --allow-deletes 41
        reconciler apply plan.json --undo undo.json
    """
    from reconciler.cli.console.logs import open_events
    from reconciler.cli.review_files import Reviews
    from reconciler.cli.run_screen import Undo, carry_out, report_run

    of_plan = ("only", "excluded", "reactivate", "same_service")
    if file is not None and any(given[name] for name in of_plan):
        raise click.UsageError(
            "--only, --except, --reactivate and --same-service belong to the plan; "
            "FILE already contains them."
        )
    if file is not None and (given["create_again"] or given["confirm_same"]):
        raise click.UsageError(
            "--create-again and --confirm-same belong to the plan; FILE already contains them."
        )
    told, ask = open_events(events, as_json=as_json), file is None and not yes
    if ask and (as_json or told.on_stdout or not output.can_ask()):
        raise click.UsageError(
            "not a terminal: pass --yes, or the FILE of a reviewed plan (reconciler plan -o FILE)."
        )
    reviews = Reviews("apply", given, file, undo_file, told.file)
    with told.of_command():
        job = _make_apply_job(file, undo_file, given)
        undo = Undo(job.undo, job.recipients)
        try:
            with reviews.of_refused(job.saved):
                run = carry_out(job, undo, told, ask=ask, full=full, as_json=as_json, hears=reviews.hear)
            whole = yield from report_run(run, RunReport, events=told, full=full, reviews=reviews)
            if job.options.undo_of and run.count("applied"):
                output.note(STILL_IN_GIT)
        finally:
            is_undo_written = undo.write()  # also where the report cannot be printed
    return whole and is_undo_written


# --- `reconciler apply` at work: carries out a plan, or the undo of a run, and reports how each change ended


def _make_apply_job(file: str | None, undo_file: str | None, given: Mapping[str, Any]) -> "Job":
    """Return what is to be done, from the options of the command line. Nothing is asked of the service."""
    from reconciler.cli.commit_checks import note_unchecked, require_committed
    from reconciler.cli.planning import make_consent, make_next_step, make_plan_options, read_plan_recipients
    from reconciler.cli.run_screen import Job
    from reconciler.cli.session import (
        load_settings,
        read_declaration,
        read_project_checkout,
        read_run_context,
        with_lock_timeout,
        with_refresh_mode,
    )
    from reconciler.environment.run_context import is_in_ci
    from reconciler.files.atomic_files import require_writable_place
    from reconciler.files.plan_file import read_plan
    from reconciler.manifest.cache import Declaration

    recipients = read_plan_recipients(given, "--undo FILE" if undo_file is None else "")
    # Before the plan is read: an address of a kind that the profile brings would be none.
    settings = with_lock_timeout(
        load_settings(given["config"], given["environment"], service=True), given["lock_timeout"]
    )
    settings = with_refresh_mode(settings, given["refresh"])
    saved = read_plan(Path(file), identity=given["identity"], environ=os.environ) if file else None
    if undo_file is not None:
        _require_undo(saved, Path(file) if file else None, recipients)
        require_writable_place(Path(undo_file))
    # No manifest says what an undo should be: none is read for it, so none can stand in its way.
    undoing = saved is not None and bool(saved.options.undo_of)
    only = saved.options.only if saved else given["only"]
    declared = Declaration(Desired({}, frozenset())) if undoing else read_declaration(settings, only)
    checkout = read_project_checkout(settings, declared.inputs)
    context = read_run_context(settings, checkout=checkout)
    if not undoing:
        in_ci = is_in_ci(os.environ)
        if in_ci and not given["allow_dirty"]:
            require_committed(checkout, "the variable CI is set")
        if in_ci:
            note_unchecked(checkout, context)
    return Job(
        settings=settings,
        desired=declared.desired,
        context=context,
        options=saved.options if saved else make_plan_options(given),
        consent=make_consent(given),
        saved=saved,
        again=make_next_step(file, given),
        undo=Path(undo_file) if undo_file is not None else None,
        recipients=recipients,
        fail_fast=given["fail_fast"],
    )


def _require_undo(saved: Plan | None, file: Path | None, recipients: tuple[str, ...]) -> None:
    """Raise UsageError where an undo cannot be had, or would be readable by more people than the plan was."""
    from reconciler.files.atomic_files import read_file
    from reconciler.files.encryption import is_encrypted

    if saved is not None and saved.options.undo_of:
        raise click.UsageError(
            "an undo cannot be undone; `reconciler apply` without FILE applies the manifests."
        )
    if file is not None and not recipients and is_encrypted(read_file(file)):
        raise click.UsageError(
            "the plan is encrypted, but the undo file would not be: give --encrypt-to, or set "
            "plan.recipients."
        )
