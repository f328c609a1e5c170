"""`reconciler validate`: settings and manifests checked offline. Calls nobody, reads no secret."""

import os
from collections import Counter

import click

from reconciler.cli import options, output


@click.command(short_help="Check settings and manifests offline, all problems at once.")
@options.settings_options
@options.format_option
def command(config: str | None, environment: str | None, format: str) -> int:  # noqa: A002 - the option's name
    """Check the settings and every manifest, offline, and show all mistakes at once.

    \b
    Reads settings, manifests and the files they name; writes nothing.
    Exit codes: 0 no mistakes, 3 mistakes.

    \b
    Example:
        reconciler validate
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    from reconciler import pipeline  # noqa: PLC0415 - loads everything, which --help does not need
    from reconciler.cli.running import settings_of  # noqa: PLC0415 - the same
    from reconciler.report.json import problems_json  # noqa: PLC0415 - the same
    from reconciler.report.lines import count  # noqa: PLC0415 - the same

    desired = pipeline.validate(settings_of(config, environment, service=False), os.environ)
    if format == "json":
        output.json(problems_json(()))
        return 0
    kinds = Counter(address.kind for address in desired.entities)
    declared = [count(kinds[kind], kind) for kind in ("contact", "device", "resource")]
    workspaces = count(len({scope.workspace for scope in desired.scopes}), "workspace")
    output.data(f"no mistakes. Declared: {', '.join(declared)} in {workspaces}.")
    return 0
