"""`reconciler pause` and `unpause`: whether `sync` may write. Kept in the store, and in its history."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar

import click

from reconciler.cli import options
from reconciler.cli.dispatch import prints_result
from reconciler.cli.results import CommandResult, Doc
from reconciler.model.automation import Pause
from reconciler.report.lines import Line, line
from reconciler.report.values import moment_text


class PauseResult(CommandResult, frozen=True):
    """The pause of a stack, as it is from now on."""

    title: ClassVar[str] = "The pause of a stack"
    stack: Annotated[str, Doc("The stack of the settings.")]
    pause: Annotated[Pause, Doc("Until when no sync writes, and why. Times are ISO 8601 in UTC.")]

    def lines(self) -> Sequence[Line]:
        """Say until when, and how to end it."""
        return (
            line(f"stack {self.stack} is paused until {moment_text(self.pause.until)}: sync writes nothing."),
            line(("  next: ", "bold"), "reconciler unpause   (ends it before)"),
        )


class UnpauseResult(CommandResult, frozen=True):
    """The pause that was ended; None where there was none."""

    title: ClassVar[str] = "The pause that was ended"
    stack: Annotated[str, Doc("The stack of the settings.")]
    ended: Annotated[Pause | None, Doc("The pause that was ended; null where there was none.")]

    def lines(self) -> Sequence[Line]:
        """Say whether there was one."""
        if self.ended is None:
            return (line(f"stack {self.stack} was not paused."),)
        return (line(f"stack {self.stack} is no longer paused."),)


def _parse_end(ctx: click.Context, parameter: click.Parameter, written: str) -> datetime:
    """Return the moment that a time or a duration from now says."""
    from reconciler.core.review.windows import parse_duration

    now = datetime.now(UTC)
    try:
        return now + parse_duration(written)
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        what = "write a time as 2026-03-02T09:30, in UTC if it has no zone, or a duration as 90m, 8h or 2d."
        raise click.BadParameter(what, ctx, parameter) from None
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    if found <= now:
        raise click.BadParameter(f"{written} is over.", ctx, parameter)
    return found


@click.command()
@click.option(
    "--until",
    required=True,
    metavar="TIME",
    callback=_parse_end,
    help="An ISO time, in UTC if it has no zone, or a duration from now: 90m, 8h, 2d.",
)
@click.option("--reason", required=True, metavar="TEXT", help="Why; the history and `status` show it.")
@options.settings_options
@options.format_option
@prints_result
def pause_command(*, until: datetime, reason: str, **given: Any) -> PauseResult:
    """Let no `reconciler sync` of this stack write until TIME.

    sync still compares and reports, and ends with exit code 10 while there are changes. `reconciler apply`
    is not affected, in CI neither. A second pause replaces the first.

    Reads settings and the store; writes the store and its history.

    Exit codes: 0 paused; 1 failed; 3 settings invalid; 64 usage error.

    \b
    Examples:
        reconciler pause --until 8h --reason "moving the directory"
        reconciler pause --until 2027-01-04T08:00+10:00 --reason "holidays"
    """
    from reconciler.cli.session import open_project_store

    with open_project_store(given, create=True) as (store, settings):
        return PauseResult(stack=settings.stack, pause=store.pause(until, reason))


@click.command()
@options.settings_options
@options.format_option
@prints_result
def unpause_command(**given: Any) -> UnpauseResult:
    """End the pause of this stack: the next sync may write again.

    Reads settings and the store; writes the store and its history.

    Exit codes: 0 ended, or there was none; 1 failed; 3 settings invalid; 64 usage error.

    \b
    Examples:
        reconciler unpause
    """
    from reconciler.cli.session import open_project_store

    with open_project_store(given, create=True) as (store, settings):
        return UnpauseResult(stack=settings.stack, ended=store.unpause())
