"""`reconciler show` at work: a saved plan, as text or JSON."""

import os
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any

from reconciler.cli import output
from reconciler.cli.files.planfile import read_plan
from reconciler.cli.files.reports import with_reports
from reconciler.cli.settings.reading import read_settings, working_folder
from reconciler.cli.verbs.reviews import Reviews
from reconciler.core.guard import Consent, guard
from reconciler.errors import SettingsError
from reconciler.model.settings import GuardLimits
from reconciler.report.json import plan_json
from reconciler.report.text import plan_lines


def show(*, file: str, identity: str | None, full: bool, as_json: bool, **given: Any) -> int:
    """Show the plan of a file, with the verdict of the guard's default limits."""
    reviews = Reviews("show", given, file)
    with suppress(SettingsError):  # a plan is shown without settings too, but for kinds of their profile
        read_settings(config=None, environment=None, cwd=working_folder(), environ=os.environ, service=False)
    plan = read_plan(Path(file), identity=identity, environ=os.environ)
    verdict = guard(plan, GuardLimits(), Consent())
    step = shlex.join(["reconciler", "apply", file])
    whole = reviews.write(plan, verdict, 0, next_step=step)
    if as_json:
        output.json(plan_json(plan, verdict, 0))
    else:
        output.lines(plan_lines(plan, verdict, full=full, next_step=f"reconciler apply {file}"))
    return with_reports(0, whole=whole)
