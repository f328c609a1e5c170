"""`reconciler status`: how stacks stand, from the store alone."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import click
from msgspec import structs

from reconciler.cli import options
from reconciler.cli.dispatch import prints_result
from reconciler.cli.results import CommandResult, Doc, ResultWork
from reconciler.core.views.status import HealthState, StackRows, StackStatus, StoreStatus, SyncState
from reconciler.report.lines import Line

if TYPE_CHECKING:
    from reconciler.model.settings import Settings


class StandingResult(CommandResult, frozen=True):
    """How stacks stand. With `checks` a stack that needs somebody is a failure."""

    title: ClassVar[str] = "How stacks stand"
    exit_codes: ClassVar[tuple[int, ...]] = (0, 1)
    at: Annotated[str, Doc("When the store was read, in UTC: all states are those of this moment.")]
    stacks: Annotated[tuple[StackStatus, ...], Doc("What is not fine first, the worst before the others.")]
    sync: Annotated[Mapping[SyncState, int], Doc("How many stacks are in each state.")]
    health: Annotated[Mapping[HealthState, int], Doc("How many stacks are in each state.")]
    checks: bool = False

    @property
    def exit_code(self) -> int:
        """1 where it was asked for and a stack needs somebody."""
        return 1 if self.checks and any(one.needs_somebody for one in self.stacks) else 0

    def lines(self) -> Sequence[Line]:
        """Return what is not fine, and counts."""
        from reconciler.report.status_text import status_lines

        return status_lines(self._status())

    def failure_lines(self) -> Sequence[Line]:
        """Return what needs somebody."""
        from reconciler.report.status_text import attention_lines

        return attention_lines(self._status()) if self.exit_code else ()

    def _status(self) -> StoreStatus:
        return StoreStatus(self.at, self.stacks, self.sync, self.health)


@click.command()
@click.option("--all", "everyone", is_flag=True, help="Show every stack that the store knows.")
@click.option(
    "--check", "checks", is_flag=True, help="Exit with 1 if a stack is in doubt, failing, stale or unknown."
)
@click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="FORMAT=PLACE",
    help="Also write html=FOLDER, static pages for a browser, or prometheus=FILE, metrics for alerts. Both "
    "name nobody. Repeatable.",
)
@options.settings_options
@options.format_option
@prints_result
def status_command(
    *, everyone: bool, checks: bool, reports: tuple[str, ...], **given: Any
) -> ResultWork[StandingResult]:
    """Show how the stack of the settings stands: whether it is synced, and whether somebody has to look.

    Sync is synced, out of sync, waiting (for an approval), paused or unknown. Health is healthy,
    progressing (a run is under way), in doubt, failing, stale (nobody has synced for longer than
    policy.expect_every) or unknown. A line with the reason and the next step stands for each stack that is
    not synced and healthy, the worst first; counts follow. It also works where nothing but `apply` ever ran.

    The states are those that syncs and runs recorded: the service is not asked. `reconciler plan` does.

    --check is for monitoring. A stack that is paused, waits for an approval or is out of sync is no failure
    by itself, because its policy may mean that.

    Reads settings and the store; writes only the reports, and reads no credential of the service.

    Exit codes: 0 shown, whatever the states are; 1 the store cannot be read, a report cannot be written, or
    with --check a stack needs somebody; 3 the settings are invalid; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler status
        reconciler status --all --check
        reconciler status --format json
        reconciler status --all --report html=site --report prometheus=status.prom
    """
    from reconciler.cli.session import open_store
    from reconciler.cli.status_files import StatusReports
    from reconciler.core.digests import keyed_digest
    from reconciler.core.views.status import judge_stacks

    files = StatusReports(reports)
    settings, policy_mistakes = _load_settings(given["config"], given["environment"])
    with open_store(settings, create=False) as store:
        rows = [_add_settings(one, settings, policy_mistakes) for one in store.status_rows(everyone=everyone)]
        found, mark = judge_stacks(rows, store.now()), keyed_digest(store.salt, "status pages", "")
    yield StandingResult(
        at=found.at, stacks=found.stacks, sync=found.sync, health=found.health, checks=checks
    )
    return files.write(found, mark, everyone=everyone)


def _load_settings(config: str | None, environment: str | None) -> "tuple[Settings, int]":
    """Return the settings, and how many mistakes their policy has: each is printed, and ends nothing."""
    from reconciler.cli.console import output
    from reconciler.cli.session import load_settings
    from reconciler.errors import SettingsError
    from reconciler.report.text import problem_lines
    from reconciler.settings.layers import is_policy_problem

    try:
        return load_settings(config, environment, service=False), 0
    except SettingsError as error:
        if not error.problems or not all(map(is_policy_problem, error.problems)):
            raise
        found = load_settings(config, environment, service=False, without="policy")
        output.note_lines(problem_lines(error.problems))
        return found, len(error.problems)


def _add_settings(rows: StackRows, settings: "Settings", policy_mistakes: int) -> StackRows:
    """Return the rows of the stack of the settings with what the settings say of it, which is newer."""
    from reconciler.core.review.windows import parse_duration
    from reconciler.service.http.urls import origin_of

    if (rows.origin, rows.stack) != (origin_of(settings.service.base_url), settings.stack):
        return rows
    expected = settings.policy.expect_every
    # Of a wrong policy nothing is known: what the last sync ran with stands.
    expect_every_s = rows.expect_every_s if policy_mistakes else 0
    expect_every_s = int(parse_duration(expected).total_seconds()) if expected else expect_every_s
    return structs.replace(rows, expect_every_s=expect_every_s, policy_mistakes=policy_mistakes)
