"""`reconciler plan`: what apply would do, and why. Sends nothing but GET."""

import click

from reconciler.cli import options
from reconciler.cli.dispatch import runs


@click.command()
@options.settings_options
@options.cache_option
@options.selection_options
@options.consent_options
@click.option(
    "--output", "-o", "file", metavar="FILE", help="Write the plan to FILE, which only you can read."
)
@options.recipients_options
@options.same_service_option
@options.refresh_option
@options.detailed_option
@options.report_options
@options.full_option
@options.format_option
@runs("reviewing.plan:plan")
def command() -> None:
    """Compare the manifests with the service, and show what would change and why.

    Nothing is written to the service. With -o the plan can be reviewed and then applied with `reconciler
    apply FILE`, which refuses it if anything has changed since. With --encrypt-to, or plan.recipients in
    the settings, only those people can read FILE.

    Reads settings, manifests, the store and the service; writes FILE with -o and --report, and what
    it keeps of large manifests and of lists below .reconciler/cache.

    Exit codes: 0 planned, 1 failed, 2 changes or records to keep found (--detailed-exitcode),
    3 input invalid, 5 planned, but an entity is ambiguous or waits for a secret, 7 refused by a guard.

    \b
    Examples:
        reconciler plan
        reconciler plan -o plan.json --only workspace:ops
        reconciler plan --report markdown=plan.md --report html=plan.html
        reconciler plan -o plan.age --recipients-file team.keys
    """
