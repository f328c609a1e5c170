"""`reconciler resume` at work: what a run left in doubt, then the rest of its plan."""

import os
from typing import Any

from reconciler import pipeline
from reconciler.cli.console import output
from reconciler.cli.console.events import Events, events_of
from reconciler.cli.files.reports import with_reports
from reconciler.cli.session import context_of, finish, outside, patient, settings_of
from reconciler.cli.verbs.reviewing.reviews import Reviews
from reconciler.cli.verbs.writing.screen import Resuming, report
from reconciler.report.json import report_json


def resume(*, as_json: bool, events: str | None, **given: Any) -> int:
    """Finish every run of the stack that did not end, and report it. No question is asked."""
    told = events_of(events, as_json=as_json)
    with told.of_command():
        return _resumed(told, as_json=as_json, **given)


def _resumed(
    events: Events, *, fail_fast: bool, lock_timeout: float | None, full: bool, as_json: bool, **given: Any
) -> int:
    reviews = Reviews("resume", given, events.file)
    settings = patient(settings_of(given["config"], given["environment"], service=True), lock_timeout)
    declared = pipeline.load_declaration(settings, os.environ)
    with output.progress() as bars, reviews.of_refused():
        bars.advance("reading the service", 0, None)
        run = finish(
            lambda signals: pipeline.resume(
                settings,
                declared.desired,
                outside(settings, context_of(settings, declared.inputs)),
                stop=signals.stop,
                observer=Resuming(
                    bars, signals, ask=False, full=full, as_json=as_json, events=events, hears=reviews.hear
                ),
                fail_fast=fail_fast,
            )
        )
    if run is not None:
        return report(run, events=events, full=full, as_json=as_json, reviews=reviews)
    whole = reviews.write_nothing(settings)
    events.nothing()
    output.note("nothing to resume: every run of this stack has finished.")
    if as_json:
        output.json(report_json({}))
    return with_reports(0, whole=whole and events.whole)
