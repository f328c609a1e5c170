"""`reconciler resume`: settles what an earlier run left in doubt, then goes on with its plan."""

import os
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli import options
from reconciler.cli.console import output
from reconciler.cli.dispatch import prints_result

if TYPE_CHECKING:
    from reconciler.cli.console.logs import Events


@click.command()
@options.settings_options
@options.cache_option
@options.fail_fast_option
@options.lock_option
@options.report_options
@options.events_option
@options.full_option
@options.format_option
@prints_result
def resume_command(*, as_json: bool, events: str | None, **given: Any) -> int:
    """Settle the changes that an interrupted run left in doubt, then apply the rest of its plan.

    A request without an answer is looked up once it can no longer arrive late; nothing is sent twice.
    Then the remaining changes of the old plan are applied with the consent given for it, without a
    question. Other changes are listed and left to a new plan.

    Reads settings, manifests, the store and the service; writes the service and the store, FILE of
    --report, and caches of large manifests and of lists in .reconciler/cache.

    Exit codes: 0 done, or nothing to resume, 1 failed, 3 input invalid, 4 lock held,
    5 the old plan expired, conflict
    or ambiguous entity, 6 applied in part, 7 refused by a guard, 8 in doubt,
    64 usage, 130 interrupted.

    \b
    Examples:
        reconciler resume
        reconciler resume --format json
    """
    from reconciler.cli.console.logs import events_of

    told = events_of(events, as_json=as_json)
    with told.of_command():
        return _resumed(told, as_json=as_json, **given)


# --- `reconciler resume` at work: what a run left in doubt, then the rest of its plan -------------


def _resumed(
    events: "Events", *, fail_fast: bool, lock_timeout: float | None, full: bool, as_json: bool, **given: Any
) -> int:
    from reconciler import pipeline
    from reconciler.cli.review_files import Reviews, with_reports
    from reconciler.cli.run_screen import Resuming, report
    from reconciler.cli.session import context_of, finish, make_dependencies, patient, settings_of
    from reconciler.report.json import report_json

    reviews = Reviews("resume", given, events.file)
    settings = patient(settings_of(given["config"], given["environment"], service=True), lock_timeout)
    declared = pipeline.load_declaration(settings, os.environ)
    with output.progress() as bars, reviews.of_refused():
        bars.advance("reading the service", 0, None)
        run = finish(
            lambda signals: pipeline.resume(
                settings,
                declared.desired,
                make_dependencies(settings, context_of(settings, declared.inputs)),
                stop=signals.stop,
                observer=Resuming(
                    bars, signals, ask=False, full=full, as_json=as_json, events=events, hears=reviews.hear
                ),
                fail_fast=fail_fast,
            )
        )
    if run is not None:
        return report(run, events=events, full=full, as_json=as_json, reviews=reviews)
    whole = reviews.write_nothing(settings)
    events.nothing()
    output.note("nothing to resume: every run of this stack has finished.")
    if as_json:
        output.json(report_json({}))
    return with_reports(0, whole=whole and events.whole)
