"""`reconciler validate`: settings and manifests checked offline. Sends nothing, reads no secret."""

import os
from typing import TYPE_CHECKING

import click

from reconciler.cli import options
from reconciler.cli.console import output
from reconciler.cli.dispatch import prints_result
from reconciler.errors import DirectoryError, InputError, Problem
from reconciler.model.snapshots import Desired
from reconciler.report.lines import count, notice_lines
from reconciler.report.phrases import describe_kinds
from reconciler.report.review_document import Validated

if TYPE_CHECKING:
    from reconciler.cli.review_files import Reports
    from reconciler.report.review_document import Validated


@click.command()
@options.settings_options
@options.cache_option
@options.report_option
@options.format_option
@click.option(
    "--without-variables",
    is_flag=True,
    help="Accept unset variables and do not query directories: each is a warning and is not checked.",
)
@prints_result
def validate_command(
    *,
    config: str | None,
    environment: str | None,
    without_variables: bool,
    as_json: bool,
    reports: tuple[str, ...],
) -> int:
    """Check the settings and every manifest offline, and show all mistakes at once.

    At most 1,000 mistakes are shown, with the number of the others. For a file that is not valid YAML,
    only the syntax error is shown.

    Values that are probably wrong, such as a phone number in no known range, are warnings. They do not
    change the exit code (`checks` of the settings).

    Use --without-variables where secrets are not available, such as in a pull request: manifests that
    take values from the environment are still checked, and so is the rest of a manifest with a roster
    from a directory. `plan` and `apply` need every value.

    Reads settings, manifests, the files they name and the directories that rosters come from; writes
    nothing, except FILE of --report, and caches of large manifests in .reconciler/cache.

    Exit codes: 0 no mistakes, 1 a directory did not answer or a report could not be written, 3 mistakes.

    \b
    Examples:
        reconciler validate
        reconciler validate --report sarif=out.sarif --report html=out.html
    """
    from reconciler import pipeline
    from reconciler.cli.review_files import Reports, with_reports
    from reconciler.cli.session import settings_of
    from reconciler.report.json import problems_json
    from reconciler.report.report_formats import CHECKS
    from reconciler.report.review_document import Validated

    asked = Reports[Validated].asked(reports, CHECKS)
    try:
        settings = settings_of(config, environment, service=False)
        every = not without_variables
        desired = pipeline.validate(settings, os.environ, all_values=every, asks=every)
    except (InputError, DirectoryError) as error:
        itself = Problem("", 0, 0, str(error), error.next, code=error.error_code)
        _write(asked, Validated(error.problems or (itself,)))
        raise
    whole = _write(asked, Validated((), desired.notices))
    if as_json:
        output.json(problems_json((), notices=desired.notices))
        return with_reports(0, whole=whole)
    _show(desired)
    return with_reports(0, whole=whole)


# --- `reconciler validate` at work: settings and manifests checked offline ------------------------


_warnings_shown_max = 1000  # as many as mistakes


def _write(asked: "Reports[Validated]", found: "Validated") -> bool:
    from reconciler.cli.telemetry.recording import telemetry
    from reconciler.report.metrics import validation_metrics

    telemetry().measured(validation_metrics(found))
    return asked.write(found)


def _show(desired: Desired) -> None:
    shown = desired.notices[:_warnings_shown_max]
    if shown:
        output.note_lines(notice_lines(shown, full=True))
    workspaces = count(len({scope.workspace for scope in desired.scopes}), "workspace")
    verdict = _verdict(len(desired.notices))
    output.data(f"{verdict}. Declared: {describe_kinds(desired.entities)} in {workspaces}.")


def _verdict(warnings: int) -> str:
    if not warnings:
        return "no mistakes"
    shown = f" (the first {_warnings_shown_max:,} are shown)" if warnings > _warnings_shown_max else ""
    return f"no mistakes, {count(warnings, 'warning')}{shown}"
