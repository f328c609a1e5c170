"""`reconciler history`: who applied what, when, from which commit; and whether the record is whole."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import click
from msgspec import structs

from reconciler.cli import options
from reconciler.cli.dispatch import prints_result
from reconciler.cli.results import CommandResult, Doc
from reconciler.errors import UnknownAddress
from reconciler.model.address import Address, parse_address
from reconciler.model.runs import AuditEntry, Head, Running
from reconciler.report.lines import (
    ACTIONS,
    BLANK,
    Line,
    Style,
    count,
    fold_items,
    line,
    pad_text,
    sentence_lines,
)
from reconciler.report.values import moment_text, short_fingerprint

if TYPE_CHECKING:
    from reconciler.core.runs.audit import Verification
    from reconciler.store.database import Store


# --- The history and its check: as lines and as JSON ----------------------------------------------
#
# Whether the chain is sound: core/runs/audit.py. An entry may have been written by somebody else's hand, so
# every text of it is inert.


_UNENDED = "not ended"
_head_columns = 50
_commit_digits = 10  # what `git log --oneline` shows in large repositories


def history_lines(
    entries: Sequence[AuditEntry],
    head: str,
    stack: str,
    *,
    full: bool = False,
    running: Running | None = None,
    addresses: Mapping[str, Address] = MappingProxyType({}),
) -> tuple[Line, ...]:
    """Return runs with their changes, the newest last, and the head of the chain at the end.

    `running` is the run that is alive: it is not one that has not ended. `addresses` holds, by keyed hash,
    what the store still knows; anything else is shown as its hash.
    """
    if not entries:
        return (line(f"nothing is recorded for stack {stack}."),)
    # What belongs to no run stands by itself, between the runs before and after it.
    groups: dict[str, list[AuditEntry]] = {}
    for entry in entries:
        groups.setdefault(entry.run or f"entry {entry.number}", []).append(entry)
    runs = len({entry.run for entry in entries if entry.run})
    size = f"{count(runs, 'run')}, {count(len(entries), 'entry', 'entries')}"
    shown: list[Line] = [
        line((pad_text(f"history of stack {stack}", _head_columns), "bold"), "  ", (size, "dim")),
        BLANK,
    ]
    for told in groups.values():
        if told[0].run:
            shown += [*_run_history_lines(told, running, addresses, full=full), BLANK]
        else:
            shown += [*_lone_entry_lines(told[0]), BLANK]
    return *shown, *([line(("head ", "dim"), (head, "dim"))] if head else [])


class HistoryResult(CommandResult, frozen=True):
    """Runs with their changes, as they are stored. `stack` and `full` are for the text."""

    title: ClassVar[str] = "The history, or whether it is whole"
    exit_codes: ClassVar[tuple[int, ...]] = (0, 1)
    entries: Annotated[tuple[AuditEntry, ...], Doc("As they are stored, the newest last.")]
    head: Annotated[str, Doc("Number and hash of the last entry; empty where there is none.")]
    running: Annotated[Running | None, Doc("The run that has not ended.")]
    # Beside the entries, so that their hashes can be computed from what is shown.
    addresses: Annotated[Mapping[str, Address], Doc("By the hash of an entity, its address if it is known.")]
    stack: str = ""
    full: bool = False

    def document(self) -> dict[str, object]:
        """Return the document, in which an entry has every key, also where its value is the default."""
        return {**CommandResult.document(self), "entries": tuple(map(structs.asdict, self.entries))}

    def lines(self) -> Sequence[Line]:
        """Return runs with their changes, the newest last, and the head of the chain at the end."""
        return history_lines(
            self.entries,
            self.head,
            self.stack,
            full=self.full,
            running=self.running,
            addresses=self.addresses,
        )


class VerificationResult(CommandResult, frozen=True):
    """Whether the chain of entries is unbroken."""

    entries: Annotated[int, Doc("How many were checked.")]
    head: Annotated[str, Doc("Number and hash of the last one.")]
    anchor: Annotated[str, Doc("The head that they were held against; empty for none.")]
    broken_at: Annotated[int, Doc("The number of the first entry that does not fit; 0: none.")]
    what: Annotated[str, Doc("What is wrong there; empty where nothing is.")]

    @property
    def exit_code(self) -> int:
        """1 where the chain is broken, else 0."""
        return 1 if self.broken_at else 0

    def lines(self) -> Sequence[Line]:
        """Say whether the chain is sound, and what to keep or to do."""
        if self.broken_at:
            return tuple(sentence_lines("", f"the history is broken: {self.what}", _BROKEN))
        if not self.head:
            return (line("nothing is recorded yet."),)
        end = " Nothing was cut off since the anchor." if self.anchor else ""
        lines = [
            line(f"{count(self.entries, 'entry', 'entries')}, unbroken.{end}"),
            line("head ", (self.head, "bold")),
        ]
        if not self.anchor:
            lines.append(
                line("  entries cut off at the end are detected only with a head that is kept elsewhere.")
            )
        step = f"keep it, and check later: reconciler history --verify --anchor {self.head}"
        return *lines, line(("  next: ", "bold"), step)

    def failure_lines(self) -> Sequence[Line]:
        """Say the same, where it failed."""
        return self.lines() if self.broken_at else ()


def _run_history_lines(
    entries: Sequence[AuditEntry], running: Running | None, addresses: Mapping[str, Address], *, full: bool
) -> list[Line]:
    """Return a run: how it ended, who it was, and each of its changes."""
    first, last = entries[0], entries[-1]
    ended = next((one for one in reversed(entries) if one.event == "ended"), None)
    command = _find_first_text(entries, "command") or "run"
    outcome = ended.outcome if ended else _UNENDED
    if running is not None and running.run == first.run and ended is None:
        outcome = f"running ({running.how_far})"
    counts = ended.counts if ended else Counter(one.outcome for one in entries if one.event == "changed")
    said = ", ".join(f"{number:,} {word}" for word, number in counts.items() if number)
    style: Style = "" if outcome == "done" else "warn"
    shown = [
        line(
            (moment_text(first.at), "bold"),
            "  ",
            f"{command}  ",
            (outcome, style),
            f"   {said}" if said else "",
        )
    ]
    shown += [line("  ", (about, "dim")) for about in _describe_run(entries, first, last)]
    listed, rest = fold_items([one for one in entries if _entry_line(one, addresses)], full=full)
    return [*shown, *(_entry_line(one, addresses) for one in listed), *rest]


def _lone_entry_lines(entry: AuditEntry) -> list[Line]:
    """Return an entry that belongs to no run: what happened, and who did it."""
    # Whoever forges a sender is not the approver whose address it is.
    forgeable = entry.event == "rejected" and entry.action == "code" and entry.who
    who = f"from the address of {entry.who}" if forgeable else entry.who
    about = "   ".join(filter(None, (who, f"entry {entry.number}")))
    return [
        line((moment_text(entry.at), "bold"), "  ", (_describe_event(entry), "warn")),
        line("  ", (about, "dim")),
    ]


def _describe_event(entry: AuditEntry) -> str:
    match entry.event:
        case "paused":
            because = f": {entry.reason}" if entry.reason else ""
            return f"sync is paused until {moment_text(entry.until)}{because}"
        case "unpaused":
            return "the pause was ended"
        case "asked":
            said = ", ".join(count(number, word) for word, number in entry.counts.items() if number)
            instead = f"; it replaces {entry.before}" if entry.before else ""
            return f"question {entry.question} was asked: {said or 'no changes'}{instead}"
        case "answered":
            return f"question {entry.question} was answered: {entry.outcome}   by {entry.action}"
        case "rejected":
            about = f" to question {entry.question}" if entry.question else ""
            return f"an answer{about} did not count: {entry.outcome}"
        case _:
            return entry.event


def _describe_run(entries: Sequence[AuditEntry], first: AuditEntry, last: AuditEntry) -> list[str]:
    commit, print_ = (
        _find_first_text(entries, "commit"),
        short_fingerprint(_find_first_text(entries, "fingerprint")),
    )
    trace = _find_first_text(entries, "trace_id")
    parts = (
        _find_first_text(entries, "who"),
        f"commit {_shorten_commit(commit)}" if commit else "",
        f"fingerprint {print_}" if print_ else "",
        f"approved by question {approved}" if (approved := _find_first_text(entries, "question")) else "",
        f"entries {first.number} to {last.number}",
    )
    named = (f"run {first.run}", f"trace {trace}" if trace else "")
    return ["   ".join(filter(None, parts)), "   ".join(filter(None, named))]


def _find_first_text(entries: Sequence[AuditEntry], name: str) -> str:
    return next((text for one in entries if (text := str(getattr(one, name)))), "")


def _shorten_commit(commit: str) -> str:
    """Return the first digits, and what stands behind all of them: `+dirty`."""
    digits, plus, mark = commit.partition("+")
    return digits[:_commit_digits] + plus + mark


def _describe_entity(entry: AuditEntry, addresses: Mapping[str, Address]) -> str:
    known = addresses.get(entry.entity)
    return str(known) if known else f"{entry.kind} in {entry.workspace}  {entry.entity}"


def _entry_line(entry: AuditEntry, addresses: Mapping[str, Address]) -> Line:
    """Return the line of what happened between begin and end; none for these two."""
    match entry.event:
        case "changed":
            sign, style = ACTIONS.get(entry.action, ("·", ""))
            what = _describe_entity(entry, addresses)
            word = "forgotten" if entry.action == "forget" else entry.outcome
            return line(
                "  ",
                (f"{sign} {what}", style),
                "   ",
                (word, "dim" if entry.outcome == "applied" else "warn"),
            )
        case "settled":
            about = f"  {_describe_entity(entry, addresses)}" if entry.entity else ""
            return line(
                "  ", (f"? outcome found at {moment_text(entry.at)}", "warn"), about, f"   {entry.outcome}"
            )
        case "renamed":
            now = f"workspace {entry.before} is now called {entry.workspace}"
            records = f"   {count(entry.counts.get('records', 0), 'record')} moved with it"
            return line("  ", (f"= {now}", "warn"), records)
        case "moved":
            number = entry.counts.get("records", 0)
            way = "came from" if number >= 0 else "went to"
            return line("  ", (f"= {count(abs(number), 'record')} {way} {entry.before}", "warn"))
        case "unlocked":
            return line(
                "  ",
                (f"! the lock was released by force at {moment_text(entry.at)}", "warn"),
                f"   {entry.who}",
            )
        case _:
            return BLANK


_BROKEN = (
    "the entries after it cannot be trusted; compare them with a copy of the store, "
    "and with the heads that runs reported"
)


def history_result(
    entries: Sequence[AuditEntry],
    head: Head | None,
    stack: str,
    *,
    full: bool = False,
    running: Running | None = None,
    addresses: Mapping[str, Address] = MappingProxyType({}),
) -> HistoryResult:
    """Return the entries, with the addresses of those entities that the store still knows."""
    known = {one.entity: addresses[one.entity] for one in entries if one.entity in addresses}
    return HistoryResult(
        entries=tuple(entries),
        head=str(head or ""),
        running=running,
        addresses=known,
        stack=stack,
        full=full,
    )


def verification_result(found: "Verification", anchor: Head | None) -> VerificationResult:
    """Return what a check of the chain found."""
    return VerificationResult(
        entries=found.entries,
        head=str(found.head or ""),
        anchor=str(anchor or ""),
        broken_at=found.broken_at,
        what=found.what,
    )


@click.command()
@click.option("--run", metavar="ID", help="Show only this run, with all its changes.")
@click.option("--of", "address", metavar="ADDRESS", help="Show only changes to this entity.")
@click.option(
    "--limit",
    type=click.IntRange(min=1, max=100_000),
    default=20,
    show_default=True,
    metavar="N",
    help="Show the last N runs.",
)
@click.option("--verify", is_flag=True, help="Check that no entry was changed, removed or moved.")
@click.option(
    "--anchor",
    metavar="N:HASH",
    help="With --verify: a head that was printed earlier. Detects that the end of the history was cut off.",
)
@options.settings_options
@options.full_option
@options.format_option
@prints_result
def history_command(
    *, verify: bool, anchor: str | None, full: bool, **given: Any
) -> HistoryResult | VerificationResult:
    """Show runs and what they changed, the newest last.

    The store holds one entry for the start and the end of each run, and one for each change; a chain of
    hashes connects the entries. The history holds no personal data: an entry names an entity by a keyed hash,
    and --of computes this hash from an address. Entities that the store still knows are shown by address,
    also in JSON (`addresses`, by hash); deleted entities are shown by hash.

    --verify finds every entry that was changed, removed, inserted or moved. By itself, it cannot detect that
    the last entries were cut off, or that everything after some entry was rewritten. To detect that too, pass
    an earlier head as --anchor. A head is the number and hash of the last entry; `history`, --verify, `apply
    -v` and the JSON report of a run print it. Keep a head where people who can write to the store cannot
    change it, such as a CI log, a ticket or a signed tag.

    Reads settings and the store; writes nothing, and reads no credential of the service.

    Exit codes: 0 shown, or the history is intact; 1 the history was changed, or the store cannot be read; 3
    the settings or an address are invalid; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler history
        reconciler history --of contact/ops/jane-doe
        reconciler history --verify
    """
    if anchor is not None and not verify:
        raise click.UsageError("--anchor needs --verify.")
    if verify:
        return _verify_history(given, _parse_anchor(anchor))
    return _read_history(given, full=full)


# --- `reconciler history` at work: who applied what, when; and whether the record is whole --------


_ANCHOR = re.compile(r"([1-9][0-9]{0,17}):([0-9a-f]{64})", re.ASCII)
_read_first = 1_000  # entries; the last few runs are among them, mostly
_read_max = 10_000_000  # entries; ten years of a thousand changes a day have under four million


def _verify_history(given: Mapping[str, Any], anchor: Head | None) -> VerificationResult:
    from reconciler.cli.session import open_project_store

    if given["run"] or given["address"]:
        raise click.UsageError("--verify checks the whole history; it takes no --run or --of.")
    with open_project_store(given) as (store, _):
        store.check_whole()
        found = store.verify(anchor)
    return verification_result(found, anchor)


def _read_history(given: Mapping[str, Any], *, full: bool) -> HistoryResult:
    from reconciler.cli.session import open_project_store

    address = None if given["address"] is None else _require_address(given["address"])
    with open_project_store(given) as (store, settings):
        entity = "" if address is None else store.entity_hash(address)
        entries = _read_entries(store, given["run"] or "", entity, given["limit"])
        head = store.head()
        running, addresses = store.standing().running, store.addresses()
    whole = full or given["run"] is not None
    return history_result(entries, head, settings.stack, full=whole, running=running, addresses=addresses)


def _read_entries(store: "Store", run: str, entity: str, runs: int) -> tuple[AuditEntry, ...]:
    """Return the entries of the last runs, of one run, or of all runs that changed one entity."""
    if run:
        return store.history(_read_max, run)
    if entity:
        return _select_last_runs(_select_runs_of_entity(store.history(_read_max), entity), runs)
    limit = _read_first
    entries = store.history(limit)
    # The first run of what was read may be cut: one more than wanted has to be there, or the beginning.
    while len(entries) == limit < _read_max and len({one.run for one in entries}) <= runs:
        limit *= 10
        entries = store.history(limit)
    return _select_last_runs(entries, runs)


def _select_runs_of_entity(entries: Iterable[AuditEntry], entity: str) -> tuple[AuditEntry, ...]:
    """Return what happened to the entity, with the begin and the end of each run that did it."""
    told = tuple(entries)
    runs = {one.run for one in told if one.entity == entity}
    return tuple(one for one in told if one.entity == entity or (one.run in runs and not one.entity))


def _select_last_runs(entries: Sequence[AuditEntry], runs: int) -> tuple[AuditEntry, ...]:
    wanted = set(list(dict.fromkeys(one.run for one in reversed(entries)))[:runs])
    return tuple(one for one in entries if one.run in wanted)


def _require_address(text: str) -> Address:
    found = parse_address(text)
    if found is None:
        raise UnknownAddress(
            f"{text[:80]!r} is not an address.",
            next="use the form that plans show: contact/ops/jane-doe",
        )
    return found


def _parse_anchor(anchor: str | None) -> Head | None:
    if anchor is None:
        return None
    found = _ANCHOR.fullmatch(anchor.strip())
    if found is None:
        raise click.UsageError(
            "--anchor takes a head as it was printed: a number, a colon, 64 hexadecimal digits."
        )
    return Head(int(found[1]), found[2])
