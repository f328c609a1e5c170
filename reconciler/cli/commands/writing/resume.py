"""`reconciler resume`: settles what an earlier run left in doubt, then goes on with its plan."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs


@click.command()
@options.settings_options
@options.cache_option
@options.fail_fast_option
@options.lock_option
@options.report_options
@options.events_option
@options.full_option
@options.format_option
@runs("writing.resume:resume")
def command() -> None:
    """Settle the changes that an interrupted run left in doubt, then apply the rest of its plan.

    A request without an answer is looked up once it can no longer arrive late; nothing is sent twice.
    Then the remaining changes of the old plan are applied as they are in it, with the consent that was
    given then, without a question. Further changes are listed, and left to a new plan.

    Reads settings, manifests, the store and the service; writes the service and the store, FILE of
    --report, and what it keeps of large manifests and of lists below .reconciler/cache.

    Exit codes: 0 done, or nothing to resume, 1 failed, 3 input invalid, 4 lock held,
    5 the old plan expired, conflict
    or ambiguous entity, 6 applied in part, 7 refused by a guard, 8 in doubt,
    64 usage, 130 interrupted.

    \b
    Examples:
        reconciler resume
        reconciler resume --format json
    """
