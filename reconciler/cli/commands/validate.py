"""`reconciler validate`: settings and manifests checked offline. Calls nobody, reads no secret."""

import os
from collections import Counter

import click

from reconciler.cli import options, output

_SHOWN_MAX = 1000  # warnings, as many as mistakes


@click.command(short_help="Check settings and manifests offline, all problems at once.")
@options.settings_options
@options.format_option
@click.option(
    "--without-variables",
    is_flag=True,
    help="Take variables that are not set for given: each is a warning, and its value is not checked.",
)
def command(
    config: str | None,
    environment: str | None,
    format: str,  # noqa: A002 - the option's name
    *,
    without_variables: bool,
) -> int:
    """Check the settings and every manifest, offline, and show all mistakes at once.

    Of more than 1,000 mistakes the first 1,000 are shown, and how many more there are. Of a file that
    is no YAML, that alone is shown.

    Values that are probably wrong, such as a phone number in no known range, are warnings: they are shown
    and change no exit code (`checks` of the settings).

    Where secrets must not be, as in a pull request, use --without-variables: manifests whose values come
    from the environment are checked all the same. `plan` and `apply` need every value.

    Reads settings, manifests and the files they name; writes nothing.

    Exit codes: 0 no mistakes, 3 mistakes.

    \b
    Example:
        reconciler validate
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    from reconciler import pipeline  # noqa: PLC0415 - loads everything, which --help does not need
    from reconciler.cli.running import settings_of  # noqa: PLC0415 - the same
    from reconciler.report.json import problems_json  # noqa: PLC0415 - the same
    from reconciler.report.lines import count, notice_lines  # noqa: PLC0415 - the same

    settings = settings_of(config, environment, service=False)
    desired = pipeline.validate(settings, os.environ, all_values=not without_variables)
    if format == "json":
        output.json(problems_json((), notices=desired.notices))
        return 0
    told = desired.notices[:_SHOWN_MAX]
    if told:
        output.note_lines(notice_lines(told, full=True))
    kinds = Counter(address.kind for address in desired.entities)
    declared = [count(kinds[kind], kind) for kind in ("contact", "device", "resource")]
    workspaces = count(len({scope.workspace for scope in desired.scopes}), "workspace")
    output.data(f"{_verdict(len(desired.notices))}. Declared: {', '.join(declared)} in {workspaces}.")
    return 0


def _verdict(warnings: int) -> str:
    shown = f" (the first {_SHOWN_MAX:,} are shown)" if warnings > _SHOWN_MAX else ""
    if not warnings:
        return "no mistakes"
    return f"no mistakes, {warnings:,} {'warning' if warnings == 1 else 'warnings'}{shown}"
