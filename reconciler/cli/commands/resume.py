"""`reconciler resume`: settles what an earlier run left in doubt, then goes on with its plan."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs


@click.command(short_help="Go on with a run that did not finish.")
@options.settings_options
@click.option("--fail-fast", is_flag=True, help="Begin nothing new after the first failure.")
@options.lock_option
@options.full_option
@options.format_option
@runs("verbs.resume:resume")
def command() -> None:
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
    """
