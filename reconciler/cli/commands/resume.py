"""`reconciler resume`: settles what an earlier run left in doubt, then goes on with its plan."""

import os
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli import options, output

if TYPE_CHECKING:
    from reconciler.model.outcomes import Run


@click.command(short_help="Go on with a run that did not finish.")
@options.settings_options
@click.option("--fail-fast", is_flag=True, help="Begin nothing new after the first failure.")
@options.lock_option
@options.full_option
@options.format_option
def command(*, fail_fast: bool, full: bool, format: str, **given: Any) -> int:  # noqa: A002 - the option's name
    """Settle what a run left in doubt when it was cut off, then do what is left of its plan.

    What was sent and not answered is looked for, once it can no longer arrive late; nothing is sent
    twice. Of the rest, only what the old plan says, just as it says it, is done, with the consent that was
    given then: no question is asked. What there would be to do besides is named, and left to a new plan.

    Reads settings, manifests, the store and the service; writes the service and the store.

    Exit codes: 0 done, or nothing to resume, 1 failed, 3 input invalid, 4 lock held,
    5 the old plan expired, a conflict
    or somebody ambiguous, 6 applied in part, 7 refused by a guard, 8 in doubt,
    64 usage, 130 interrupted.

    \b
    Examples:
        reconciler resume
        reconciler resume --format json
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    as_json = format == "json"
    run = _resumed(given, fail_fast=fail_fast, full=full, as_json=as_json)
    if run is None:
        output.note("nothing to resume: every run of this stack has finished.")
        if as_json:
            output.json('{"version": 1, "outcome": "done", "exit_code": 0}')
        return 0
    from reconciler.cli.screen import report  # noqa: PLC0415 - where a run has ended

    return report(run, full=full, as_json=as_json)


def _resumed(given: dict[str, Any], *, fail_fast: bool, full: bool, as_json: bool) -> "Run | None":
    from reconciler import pipeline  # noqa: PLC0415 - loads everything, which --help does not need
    from reconciler.cli.running import finish, outside, patient, settings_of  # noqa: PLC0415 - the same
    from reconciler.cli.screen import Resuming  # noqa: PLC0415 - the same

    settings = patient(
        settings_of(given["config"], given["environment"], service=True), given["lock_timeout"]
    )
    desired = pipeline.validate(settings, os.environ)
    with output.progress() as bars:
        bars.advance("reading the service", 0, None)

        return finish(
            lambda signals: pipeline.resume(
                settings,
                desired,
                outside(settings),
                stop=signals.stop,
                watch=Resuming(bars, signals, ask=False, full=full, as_json=as_json),
                fail_fast=fail_fast,
            )
        )
