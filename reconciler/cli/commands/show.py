"""`reconciler show`: a saved plan, as text or JSON. Reads the file, its key, and manifests for names."""

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import click

from reconciler.cli import options
from reconciler.cli.commands.plan import PlanReport
from reconciler.cli.dispatch import Completes, prints_result
from reconciler.errors import ReconcilerError, SettingsError
from reconciler.model.address import Address
from reconciler.model.plans import Consent, Plan
from reconciler.model.settings import GuardLimits, Settings
from reconciler.model.snapshots import Live, Recorded
from reconciler.report.lines import Line

if TYPE_CHECKING:
    from reconciler.cli.review_files import Reviews
    from reconciler.core.review.display_names import DisplayName


class SavedPlanReport(PlanReport, frozen=True):
    """A plan as its file holds it."""

    schema: ClassVar[str] = "output/plan"

    def failure_lines(self) -> Sequence[Line]:
        """Return nothing: the guard decides when the plan is applied."""
        return ()


Report = TypeVar("Report", bound=SavedPlanReport)


@click.command()
@click.argument("file", shell_complete=Completes("files"))
@options.identity_option
@options.report_options
@options.full_option
@options.format_option
@prints_result
def show_command(*, file: str, identity: str | None, full: bool, **given: Any) -> SavedPlanReport:
    """Show the plan that `reconciler plan -o FILE` or `reconciler apply --undo FILE` wrote.

    The verdict of the guard is shown as the default limits give it; when the plan is applied, the limits of
    the settings decide. If manifests are found, the names of updated people are shown beside their addresses.

    Reads FILE and manifests; writes nothing but reports, and makes no request.

    Exit codes: 0 shown; 1 the file cannot be read; 3 the file is not a plan, or was changed; 5 another
    version of this program made the plan; 64 usage error; 130 interrupted.

    \b
    Example:
        reconciler show plan.json --full
    """
    from reconciler.cli.review_files import Reviews
    from reconciler.files.plan_file import read_plan
    from reconciler.settings.reader import read_settings, working_folder

    reviews = Reviews("show", given, file)
    settings = None
    with suppress(SettingsError):  # a plan is shown without settings too, but for kinds of their profile
        settings = read_settings(
            config=None, environment=None, cwd=working_folder(), environ=os.environ, service=False
        ).settings
    plan = read_plan(Path(file), identity=identity, environ=os.environ)
    return make_saved_plan_report(plan, file, reviews, settings, full=full, kind=SavedPlanReport)


# --- `reconciler show` at work: a saved plan, as text or JSON -------------------------------------


def make_saved_plan_report(
    plan: Plan,
    file: str,
    reviews: "Reviews",
    settings: Settings | None,
    *,
    full: bool,
    consent: Consent | None = None,
    kind: type[Report],
) -> Report:
    """Return what is shown of the plan in a file, and write the reports that were asked for.

    `consent` is what is said beside a plan that carries none.
    """
    from reconciler.core.review.display_names import no_name
    from reconciler.core.review.guard import NO_CONSENT, check_plan, format_consent_flags
    from reconciler.report.json import plan_values

    verdict = check_plan(plan, GuardLimits(), plan.consent or consent or NO_CONSENT)
    flags = format_consent_flags(consent or NO_CONSENT)
    step = " ".join(filter(None, (shlex.join(["reconciler", "apply", file]), flags)))
    who = _make_display_name(plan, settings) if settings else no_name
    whole = reviews.write(plan, verdict, 0, next_step=step, whom=who)
    return kind(
        **plan_values(plan, verdict),
        made=plan,
        judged=verdict,
        code=0,
        full=full,
        next_step=" ".join(filter(None, (f"reconciler apply {file}", flags))),
        whom=who,
        reports_missing=not whole,
    )


def _make_display_name(plan: Plan, settings: Settings) -> "DisplayName":
    """Return the names of people from the manifests: for updates the plan file has only addresses.

    Manifests are read when a name is first asked for, and without any variable of the environment. Where they
    cannot be used, people are shown by address.
    """
    from reconciler import pipeline
    from reconciler.core.review.display_names import make_display_name, no_name
    from reconciler.core.rules import make_rules

    @cache
    def declared() -> "DisplayName":
        try:
            desired = pipeline.validate(settings, {}, all_values=False, asks=False)
        except ReconcilerError:
            return no_name
        return make_display_name(plan, desired, Live({}), Recorded({}), make_rules(settings))

    def who(address: Address) -> str:
        return declared()(address)

    return who
