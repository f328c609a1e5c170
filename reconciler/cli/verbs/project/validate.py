"""`reconciler validate` at work: settings and manifests checked offline."""

import os
from collections import Counter
from collections.abc import Iterable

from reconciler import pipeline
from reconciler.cli.console import output
from reconciler.cli.files.reports import Reports, with_reports
from reconciler.cli.session import settings_of
from reconciler.cli.telemetry.recording import telemetry
from reconciler.errors import DirectoryError, InputError, Problem
from reconciler.model.address import Address
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import Desired
from reconciler.report.json import problems_json
from reconciler.report.lines import count, notice_lines
from reconciler.report.report_formats import CHECKS
from reconciler.report.validation import Validated, validation_metrics

_warnings_shown_max = 1000  # as many as mistakes


def validate(
    *,
    config: str | None,
    environment: str | None,
    without_variables: bool,
    as_json: bool,
    reports: tuple[str, ...],
) -> int:
    """Show warnings and what is declared. Raises InputError with every mistake."""
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


def _write(asked: Reports[Validated], found: Validated) -> bool:
    telemetry().measured(validation_metrics(found))
    return asked.write(found)


def _show(desired: Desired) -> None:
    shown = desired.notices[:_warnings_shown_max]
    if shown:
        output.note_lines(notice_lines(shown, full=True))
    workspaces = count(len({scope.workspace for scope in desired.scopes}), "workspace")
    verdict = _verdict(len(desired.notices))
    output.data(f"{verdict}. Declared: {declared(desired.entities)} in {workspaces}.")


def declared(addresses: Iterable[Address]) -> str:
    """Return how many entities of each kind there are: `3 contacts, 1 device, 0 resources`."""
    kinds = Counter(address.kind for address in addresses)
    return (
        ", ".join(count(kinds[name], name, kind.plural) for name, kind in KINDS.items() if kinds[name])
        or "nothing"
    )


def _verdict(warnings: int) -> str:
    if not warnings:
        return "no mistakes"
    shown = f" (the first {_warnings_shown_max:,} are shown)" if warnings > _warnings_shown_max else ""
    return f"no mistakes, {count(warnings, 'warning')}{shown}"
