"""`reconciler apply`: carries out a plan, and reports how each change ended."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import Completes, runs


@click.command()
@click.argument("file", required=False, shell_complete=Completes("files"))
@options.settings_options
@options.cache_option
@options.selection_options
@options.consent_options
@options.yes_option
@options.fail_fast_option
@click.option(
    "--undo",
    "undo_file",
    metavar="FILE",
    help="Write the plan that undoes this run to FILE, which only you can read.",
)
@click.option(
    "--allow-dirty",
    is_flag=True,
    help="In CI: apply even if what was read is not in the commit that is recorded.",
)
@options.same_service_option
@options.refresh_option
@options.lock_option
@options.recipients_options
@options.identity_option
@options.report_options
@options.events_option
@options.full_option
@options.format_option
@runs("writing.apply:apply")
def command() -> None:
    """Change the service to what the manifests say.

    Without FILE it plans, shows the plan and asks; if nobody can answer, give --yes. With the FILE of
    `reconciler plan -o FILE` it plans again, and continues only if the new plan is the same. Changes
    that an earlier run left in doubt are settled first. The first Ctrl-C finishes the requests under way
    and reports; the second stops at once.

    With --undo FILE it writes the inverse of what was applied, also if the run ended early. Show it with
    `reconciler show`, and apply it with `reconciler apply`, as a plan of its own.

    The commit is recorded with the run, with +dirty if something was read that it does not hold. In CI
    (the variable CI is set) such a run is refused before anything is sent, unless --allow-dirty is given.

    Reads settings, manifests, FILE, the store and the service; writes the service and the store, FILE of
    --undo and --report, and what it keeps of large manifests and of lists below .reconciler/cache.

    Exit codes: 0 done, 1 failed, 3 input invalid, 4 lock held, 5 stale plan, conflict
    or ambiguous entity,
    6 applied in part, 7 refused by a guard or by you, 8 in doubt, 64 usage, 130 interrupted.

    \b
    Examples:
        reconciler apply
        reconciler apply plan.json
        reconciler apply --yes --allow-deletes 41
        reconciler apply plan.json --undo undo.json
    """
