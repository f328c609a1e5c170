"""`reconciler validate`: settings and manifests checked offline. Sends nothing, reads no secret."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import click

from reconciler.cli import options
from reconciler.cli.dispatch import prints_result
from reconciler.cli.results import CommandResult, Doc
from reconciler.errors import DirectoryError, InputError, Problem
from reconciler.report.lines import Line, count, line, notice_lines

if TYPE_CHECKING:
    from reconciler.cli.review_files import Reports
    from reconciler.model.notices import Notice
    from reconciler.model.snapshots import Desired
    from reconciler.report.review_document import Validated

_warnings_shown_max = 1000  # as many as mistakes


class ValidateResult(CommandResult, frozen=True):
    """What is wrong with the input. An input with mistakes ends in an error, which names them all."""

    title: ClassVar[str] = "What is wrong with the input"
    exit_codes: ClassVar[tuple[int, ...]] = (0, 3)
    problems: Annotated[tuple[Problem, ...], Doc("Every mistake, in file order.")]
    notices: Annotated["tuple[Notice, ...]", Doc("What else a person should know.")]
    desired: "Desired"

    def notes(self, form: str) -> Sequence[Line]:
        """Return the warnings, which JSON holds."""
        return () if form == "json" else notice_lines(self.notices[:_warnings_shown_max], full=True)

    def lines(self) -> Sequence[Line]:
        """Say how many warnings there are, and what is declared."""
        from reconciler.report.phrases import describe_kinds

        warnings = len(self.notices)
        verdict = "no mistakes" + (f", {count(warnings, 'warning')}" if warnings else "")
        if warnings > _warnings_shown_max:
            verdict += f" (the first {_warnings_shown_max:,} are shown)"
        workspaces = count(len({scope.workspace for scope in self.desired.scopes}), "workspace")
        return (line(f"{verdict}. Declared: {describe_kinds(self.desired.entities)} in {workspaces}."),)


@click.command()
@options.report_option
@click.option(
    "--without-variables",
    is_flag=True,
    help="Accept unset variables, and do not query directories. Each of them is shown as a warning.",
)
@options.settings_options
@options.cache_option
@options.format_option
@prints_result
def validate_command(
    *,
    config: str | None,
    environment: str | None,
    without_variables: bool,
    reports: tuple[str, ...],
) -> ValidateResult:
    """Check the settings and every manifest without a call to the service, and show all mistakes at once.

    At most 1,000 mistakes are shown; the others are counted. If a file is not valid YAML, only its syntax
    error is shown.

    A value that is probably wrong, such as a phone number in no known range, is shown as a warning. Warnings
    do not change the exit code. `checks` in the settings says how strict the checks are.

    Rosters that come from a directory (a database, LDAP or SCIM) are queried.

    Use --without-variables where secrets are not available, such as in a pull request. Then the values of
    unset variables and the rosters from directories are not checked; everything else is checked. `plan` and
    `apply` need every value.

    Reads settings, manifests, the files that manifests name, and the directories that rosters come from;
    writes nothing, except FILE of --report, and caches of large manifests in .reconciler/cache.

    Exit codes: 0 no mistakes; 1 a directory did not answer, or a report could not be written; 3 mistakes
    found; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler validate
        reconciler validate --report sarif=out.sarif --report html=out.html
    """
    from reconciler import pipeline
    from reconciler.cli.review_files import Reports
    from reconciler.cli.session import load_settings
    from reconciler.report.report_formats import CHECKS
    from reconciler.report.review_document import Validated

    asked = Reports[Validated].asked(reports, CHECKS)
    try:
        settings = load_settings(config, environment, service=False)
        every = not without_variables
        desired = pipeline.validate(settings, os.environ, all_values=every, asks=every)
    except (InputError, DirectoryError) as error:
        itself = Problem("", 0, 0, str(error), error.next, code=error.error_code)
        _write_reports(asked, Validated(error.problems or (itself,)))
        raise
    notices = desired.notices
    whole = _write_reports(asked, Validated((), notices))
    return ValidateResult(problems=(), notices=notices, desired=desired, reports_missing=not whole)


def _write_reports(asked: "Reports[Validated]", found: "Validated") -> bool:
    from reconciler.cli.telemetry.recording import current_telemetry
    from reconciler.report.metrics import validation_metrics

    current_telemetry().measured(validation_metrics(found))
    return asked.write(found)
