"""`reconciler resume`: settles what an earlier run left in doubt, then goes on with its plan."""

from collections.abc import Sequence
from typing import Any, ClassVar

import click

from reconciler.cli import options
from reconciler.cli.console import output
from reconciler.cli.dispatch import prints_result
from reconciler.cli.results import CommandResult, ResultWork, RunReport
from reconciler.report.lines import Line, line


class ResumeReport(RunReport, frozen=True):
    """How the run ended that went on with an earlier one."""

    title: ClassVar[str] = "What was resumed"


class NothingToResume(CommandResult, frozen=True):
    """Every run of the stack has finished."""

    title: ClassVar[str] = "Nothing was to be resumed"

    def notes(self, form: str) -> Sequence[Line]:  # noqa: ARG002 - the same for each
        """Say so."""
        return (line("nothing to resume: every run of this stack has finished."),)


@click.command()
@options.fail_fast_option
@options.lock_option
@options.report_options
@options.events_option
@options.settings_options
@options.strict_option
@options.cache_option
@options.full_option
@options.format_option
@prints_result
def resume_command(
    *,
    events: str | None,
    fail_fast: bool,
    lock_timeout: float | None,
    full: bool,
    as_json: bool,
    **given: Any,
) -> ResultWork[ResumeReport | NothingToResume]:
    """Find out what became of the last requests of an interrupted run, then apply the rest of its plan.

    A request whose answer was lost may still take effect. The command waits until that is no longer possible,
    and then looks at the service: a request that took effect is not sent again. Then it carries out the
    remaining changes of the old plan, with the consent that was given for that plan, and without a question.
    Changes that are not in the old plan are listed, and left to a new plan.

    Reads settings, manifests, the store and the service; writes the service and the store, FILE of
    --report, and caches of large manifests and of lists in .reconciler/cache.

    Exit codes: 0 done, or nothing to resume; 1 failed; 3 the input is invalid; 4 another run holds the lock;
    5 the old plan has expired, an entity is in conflict, or an entity is ambiguous; 6 applied in part; 7 the
    guard refused; 8 in doubt: the outcome of a write is not known; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler resume
        reconciler resume --format json
    """
    from reconciler import pipeline
    from reconciler.cli.console.logs import open_events
    from reconciler.cli.review_files import Reviews
    from reconciler.cli.run_screen import Resuming, report_run
    from reconciler.cli.session import (
        load_settings,
        make_dependencies,
        read_declaration,
        read_run_context,
        run_to_end,
        with_lock_timeout,
    )

    told = open_events(events, as_json=as_json)
    with told.of_command():
        reviews = Reviews("resume", given, told.file)
        settings = with_lock_timeout(
            load_settings(given["config"], given["environment"], service=True), lock_timeout
        )
        declared = read_declaration(settings)
        with output.progress() as bars, reviews.of_refused():
            bars.advance("reading the service", 0, None)
            run = run_to_end(
                lambda signals: pipeline.resume(
                    settings,
                    declared.desired,
                    make_dependencies(settings, read_run_context(settings, declared.inputs)),
                    stop=signals.stop,
                    observer=Resuming(
                        bars, signals, ask=False, full=full, as_json=as_json, events=told, hears=reviews.hear
                    ),
                    fail_fast=fail_fast,
                )
            )
        if run is not None:
            return (yield from report_run(run, ResumeReport, events=told, full=full, reviews=reviews))
        whole = reviews.write_nothing(settings)
        told.nothing()
        yield NothingToResume()
        return whole and told.whole
