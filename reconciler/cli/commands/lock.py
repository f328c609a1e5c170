"""`reconciler lock` and `unlock`: who may write now, and taking that right from a run that is gone.

Both for the lock of the store, and with --in-service for the tickets in the service. How runs take them:
store/locks.py, engine/service_lock.py.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeVar

import click
from msgspec import Struct, structs

from reconciler.cli import options
from reconciler.cli.dispatch import prints_result
from reconciler.cli.results import CommandResult, Doc
from reconciler.model.runs import Running
from reconciler.report.lines import Line, line, pad_text
from reconciler.report.values import moment_text

if TYPE_CHECKING:
    from reconciler.core.runs.ticket import Ticket
    from reconciler.engine.service_lock import TicketLock
    from reconciler.model.settings import Settings
    from reconciler.store.locks import Holder

T = TypeVar("T")

_store_columns = 9  # of the names in the text
_ticket_columns = 8


class HolderShown(Struct):
    """Who holds the lock. Times are ISO 8601."""

    id: str
    holder: str
    run: str
    since: str
    expires: str
    counter: int


class HolderNow(HolderShown):
    """The same, with how old the lock is and how long its lease lasts, in seconds."""

    age_s: int
    lease_left_s: int


class TicketShown(Struct):
    """A ticket of the lock in the service. `made` and `until` are ISO 8601 in UTC, by the service's clock."""

    stack: str
    made: str
    until: str
    nonce: str
    run: str
    holder: str


# --- reconciler lock --------------------------------------------------------------------------------------


class LockResult(CommandResult, frozen=True):
    """Who holds the lock of the store."""

    title: ClassVar[str] = "Who holds the lock"
    stack: Annotated[str, Doc("The stack of the settings.")]
    held: Annotated[bool, Doc("Whether the lock is held.")]
    gone: Annotated[bool, Doc("Whether its process has ended.")]
    holder: Annotated[HolderNow | None, Doc("Who holds it.")]
    running: Annotated[Running | None, Doc("How far its run is.")]

    def lines(self) -> Sequence[Line]:
        """Say who holds the lock, for how long it may, and what to do."""
        if self.holder is None:
            return (line(f"the lock of stack {self.stack} is free."),)
        ended = " by a process that has ended: the next run takes it" if self.gone else ""
        shown = (line(f"the lock of stack {self.stack} is held{ended}."), *self._rows(self.holder))
        if self.gone:
            return (*shown, line(("  next: ", "bold"), "reconciler resume"))
        return (
            *shown,
            line(("  next: ", "bold"), "wait until that run ends"),
            line(f"        if that run is dead: reconciler unlock --force {self.holder.id}"),
        )

    def _rows(self, holder: HolderNow) -> Iterator[Line]:
        left_s = holder.lease_left_s
        lease = (
            f"{_describe_span(left_s)} left; renewed while the run lives"
            if left_s
            else "expired: the next run takes the lock"
        )
        rows = (
            ("holder", holder.holder),
            ("run", holder.run),
            ("since", f"{moment_text(holder.since)} ({_describe_span(holder.age_s)} ago)"),
            ("progress", self.running.how_far if self.running else "unknown"),
            ("lease", lease),
            ("counter", f"{holder.counter:,}"),
            ("id", holder.id),
        )
        for name, value in rows:
            yield line("  ", (pad_text(name, _store_columns), "dim"), value)


class TicketsResult(CommandResult, frozen=True):
    """Who holds the lock in the service, and who waits for it."""

    stack: Annotated[str, Doc("The stack of the settings.")]
    held: Annotated[bool, Doc("Whether the lock is held.")]
    tickets: Annotated[tuple[TicketShown, ...], Doc("The first one holds the lock.")]

    def lines(self) -> Sequence[Line]:
        """Say who holds the lock or waits for it, the first before the others, and what to do."""
        if not self.tickets:
            return (line(f"the lock of stack {self.stack} in the service is free."),)
        shown = [line(f"the lock of stack {self.stack} in the service is held.")]
        for number, one in enumerate(self.tickets):
            rows = (
                ("holder" if number == 0 else "waits", one.holder),
                ("run", one.run),
                ("since", one.made),
                ("until", f"{one.until}, by the service's clock; renewed while the run lives"),
                ("id", one.nonce),
            )
            shown += [line("  ", (pad_text(name, _ticket_columns), "dim"), value) for name, value in rows]
        force = f"reconciler unlock --in-service --force {self.tickets[0].nonce}"
        return (
            *shown,
            line(("  next: ", "bold"), "wait until that run ends"),
            line(f"        if that run is dead: {force}"),
        )


@click.command()
@options.in_service_option
@options.settings_options
@options.format_option
@prints_result
def lock_command(
    *, config: str | None, environment: str | None, in_service: bool
) -> LockResult | TicketsResult:
    """Show who holds the lock of this stack: holder, run, start, progress, lease and id.

    Only one run at a time writes for one service and stack. A run renews its lock as long as it lives. If a
    run has died, the next run takes its lock: at once on the same machine, otherwise when the lease of the
    lock has ended.

    With --in-service, the command shows the lock in the service (lock.in_service), which keeps apart runs
    with separate stores.

    Reads settings and the store; writes nothing, and reads no credential of the service. With --in-service,
    it reads the credentials and the service, and not the store.

    Exit codes: 0 shown, whether the lock is free or held; 1 the lock cannot be read; 3 the settings are
    invalid; 4 another version of this program holds the lock; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler lock
        reconciler lock --format json
        reconciler lock --in-service
    """
    from reconciler.cli.session import open_project_store, read_utc_clock
    from reconciler.store.locks import holder_process_ended

    if in_service:
        settings, tickets = _ask_tickets(config, environment, lambda held: held.standing())
        return tickets_result(tickets.values(), settings.stack)
    with open_project_store({"config": config, "environment": environment}) as (store, settings):
        holder = store.holder()
        running = store.running()
    ended = holder is not None and holder_process_ended(holder)
    return lock_result(holder, settings.stack, read_utc_clock(), gone=ended, running=running)


def lock_result(
    holder: "Holder | None", stack: str, now: datetime, *, gone: bool = False, running: Running | None = None
) -> LockResult:
    """Return what is shown of the lock of the store. `holder_process_ended`: its process has ended."""
    seen = None
    if holder is not None:
        age_s, left_s = _seconds_between(holder.since, now), max(0, -_seconds_between(holder.expires, now))
        seen = HolderNow(**structs.asdict(_holder_shown(holder)), age_s=age_s, lease_left_s=left_s)
    return LockResult(stack=stack, held=holder is not None, gone=gone, holder=seen, running=running)


def tickets_result(tickets: "Iterable[Ticket]", stack: str) -> TicketsResult:
    """Return what is shown of the tickets in the service, the first of which holds the lock."""
    shown = tuple(
        TicketShown(**structs.asdict(one) | {"made": _show_utc(one.made), "until": _show_utc(one.until)})
        for one in sorted(tickets, key=lambda one: one.order)
    )
    return TicketsResult(stack=stack, held=bool(shown), tickets=shown)


def _holder_shown(holder: "Holder") -> HolderShown:
    return HolderShown(**{name: getattr(holder, name) for name in HolderShown.__struct_fields__})


def _show_utc(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _seconds_between(since: str, now: datetime) -> int:
    try:
        return int((now - datetime.fromisoformat(since)).total_seconds())
    except (TypeError, ValueError):  # a damaged time: whose lock it is matters more
        return 0


def _describe_span(seconds: int) -> str:
    """Return a length of time: `2 h 5 min`, `3 min 20 s`, `7 s`."""
    minutes, rest_s = divmod(max(0, seconds), 60)
    hours, rest_min = divmod(minutes, 60)
    return f"{hours} h {rest_min} min" if hours else f"{minutes} min {rest_s} s" if minutes else f"{rest_s} s"


# --- reconciler unlock ------------------------------------------------------------------------------------


class UnlockResult(CommandResult, frozen=True):
    """Whose lock of the store was taken away."""

    title: ClassVar[str] = "The lock that was released"
    stack: Annotated[str, Doc("The stack of the settings.")]
    taken_from: Annotated[HolderShown | None, Doc("Who held it; null: nobody.")]

    def lines(self) -> Sequence[Line]:
        """Say whose lock was taken away, and what comes next."""
        if self.taken_from is None:
            return (line(f"the lock of stack {self.stack} is free."),)
        who = f"{self.taken_from.holder}, run {self.taken_from.run}"
        return (
            line(f"the lock of stack {self.stack} is free; it was taken from {who}."),
            line(
                ("  next: ", "bold"),
                "reconciler resume   (finds out what became of the requests of that run; nothing is "
                "sent twice)",
            ),
        )


class TicketRemoval(CommandResult, frozen=True):
    """Whether a ticket was removed from the service."""

    stack: Annotated[str, Doc("The stack of the settings.")]
    id: Annotated[str, Doc("The id that was given.")]
    removed: Annotated[bool, Doc("Whether the lock was there and was removed.")]

    def lines(self) -> Sequence[Line]:
        """Say that the ticket is gone, and what comes next."""
        if not self.removed:
            absent = f"the service has no lock of stack {self.stack} with the id {self.id[:40]!a}"
            return (
                line(f"{absent}; nothing was changed."),
                line(("  next: ", "bold"), "reconciler lock --in-service   (shows who holds it)"),
            )
        return (
            line(f"the lock of stack {self.stack} with the id {self.id} was removed from the service."),
            line(("  next: ", "bold"), "reconciler resume   (where that run had its store)"),
        )


@click.command()
@click.option("--force", "lock_id", metavar="ID", help="The id of the holder, as `reconciler lock` shows it.")
@options.in_service_option
@options.settings_options
@options.format_option
@prints_result
def unlock_command(
    *, config: str | None, environment: str | None, lock_id: str | None, in_service: bool
) -> UnlockResult | TicketRemoval:
    """Release the lock of this stack, if its holder has the id that --force gives.

    This is rarely needed, because the lock of a dead run expires; `reconciler lock` shows when. Make sure
    that the run is dead. A run that is still alive notices the release before its next write, and writes
    nothing more; the outcome of the request that it was sending is then not known. The history records who
    released the lock.

    With --in-service, the command releases the lock that the run with this id keeps in the service. The
    history does not record that.

    Reads settings and the store; writes the store. Makes no request, and reads no credential of the service.
    With --in-service, it reads the credentials, and reads and writes the service instead of the store.

    Exit codes: 0 released, or already free; 1 failed; 3 the settings are invalid; 4 another run holds the
    lock, and nothing was changed; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler unlock --force 9f3c12ab34cd
        reconciler unlock --in-service --force 9f3c12ab34cd
    """
    if lock_id is None:
        raise click.UsageError(
            "unlock can take the lock from a run that is still writing. `reconciler lock` shows the "
            "holder and its id; if that run is dead, pass --force ID."
        )
    if in_service:
        settings, removed = _ask_tickets(config, environment, lambda held: held.force(lock_id))
        return TicketRemoval(stack=settings.stack, id=lock_id, removed=removed)
    taken, stack = _release_lock(config, environment, lock_id)
    return UnlockResult(stack=stack, taken_from=_holder_shown(taken) if taken else None)


def _release_lock(config: str | None, environment: str | None, lock_id: str) -> "tuple[Holder | None, str]":
    """Return whom the lock of the store was taken from (None: it is free), and the stack. Raises LockHeld."""
    from reconciler import signals
    from reconciler.cli.session import open_project_store
    from reconciler.errors import LockHeld

    given = {"config": config, "environment": environment}
    with open_project_store(given) as (store, settings):
        holder = store.holder()
    if holder is None:
        return None, settings.stack
    if holder.id != lock_id:
        raise LockHeld(
            f"the lock of stack {settings.stack} does not have the id {lock_id[:40]}: {holder.holder} holds "
            f"it, run {holder.run}, since {holder.since}, with the id {holder.id}. Nothing was changed.",
            next="check again: reconciler lock",
        )
    signals.set_reaction(signals.HoldWhileReporting())  # the report must still be printed
    with open_project_store(given, create=True) as (store, _):
        return store.unlock(lock_id), settings.stack


def _ask_tickets(
    config: str | None, environment: str | None, ask: "Callable[[TicketLock], Awaitable[T]]"
) -> "tuple[Settings, T]":
    """Return the settings, and the answer about the tickets of their stack in the service."""
    from reconciler.cli.session import load_settings, make_dependencies, run_to_end
    from reconciler.engine.resources import open_service_lock

    settings = load_settings(config, environment, service=True)
    around = make_dependencies(settings)

    async def work() -> T:
        async with open_service_lock(settings, around) as held:
            return await ask(held)

    return settings, run_to_end(lambda _signals: work())
