"""The history and its check: as lines and as JSON.

Whether the chain is sound: core/runs/audit.py. An entry may have been written by somebody else's hand, so
every text of it is inert.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import structs

from reconciler.model.address import Address
from reconciler.model.runs import AuditEntry, Head, Running
from reconciler.report.json import report_json
from reconciler.report.lines import ACTIONS, BLANK, Line, Style, count, fold, line, pad, sentence
from reconciler.report.values import moment_text, short_fingerprint

if TYPE_CHECKING:
    from reconciler.core.runs.audit import Verification

_UNENDED = "not ended"
_head_columns = 50
_commit_digits = 10  # what `git log --oneline` shows in large repositories


def history_lines(
    entries: Sequence[AuditEntry],
    head: Head | None,
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
    runs: dict[str, list[AuditEntry]] = {}
    for entry in entries:
        runs.setdefault(entry.run, []).append(entry)
    size = f"{count(len(runs), 'run')}, {count(len(entries), 'entry', 'entries')}"
    shown: list[Line] = [
        line((pad(f"history of stack {stack}", _head_columns), "bold"), "  ", (size, "dim")),
        BLANK,
    ]
    for told in runs.values():
        shown += [*_run(told, running, addresses, full=full), BLANK]
    return *shown, *_kept(head)


def history_json(
    entries: Sequence[AuditEntry],
    head: Head | None,
    running: Running | None,
    addresses: Mapping[str, Address],
) -> str:
    """Return the entries as they are stored, the newest last, and the run that has not ended, or null.

    `addresses` stands beside the entries, so that their hashes can be computed from what is shown: by
    `entity` the address, of those entries whose entity the store still knows.
    """
    told = tuple(map(structs.asdict, entries))
    known = {one.entity: str(addresses[one.entity]) for one in entries if one.entity in addresses}
    return report_json({"entries": told, "head": str(head or ""), "running": running, "addresses": known})


def _run(
    entries: Sequence[AuditEntry], running: Running | None, addresses: Mapping[str, Address], *, full: bool
) -> list[Line]:
    """Return a run: how it ended, who it was, and each of its changes."""
    first, last = entries[0], entries[-1]
    ended = next((one for one in reversed(entries) if one.event == "ended"), None)
    command = _first(entries, "command") or "run"
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
    shown += [line("  ", (about, "dim")) for about in _about(entries, first, last)]
    listed, rest = fold([one for one in entries if _line(one, addresses)], full=full)
    return [*shown, *(_line(one, addresses) for one in listed), *rest]


def _about(entries: Sequence[AuditEntry], first: AuditEntry, last: AuditEntry) -> list[str]:
    commit, print_ = _first(entries, "commit"), short_fingerprint(_first(entries, "fingerprint"))
    trace = _first(entries, "trace_id")
    parts = (
        _first(entries, "who"),
        f"commit {_short(commit)}" if commit else "",
        f"fingerprint {print_}" if print_ else "",
        f"entries {first.number} to {last.number}",
    )
    named = (f"run {first.run}", f"trace {trace}" if trace else "")
    return ["   ".join(filter(None, parts)), "   ".join(filter(None, named))]


def _first(entries: Sequence[AuditEntry], name: str) -> str:
    return next((text for one in entries if (text := str(getattr(one, name)))), "")


def _short(commit: str) -> str:
    """Return the first digits, and what stands behind all of them: `+dirty`."""
    digits, plus, mark = commit.partition("+")
    return digits[:_commit_digits] + plus + mark


def _entity(entry: AuditEntry, addresses: Mapping[str, Address]) -> str:
    known = addresses.get(entry.entity)
    return str(known) if known else f"{entry.kind} in {entry.workspace}  {entry.entity}"


def _line(entry: AuditEntry, addresses: Mapping[str, Address]) -> Line:
    """Return the line of what happened between begin and end; none for these two."""
    match entry.event:
        case "changed":
            sign, style = ACTIONS.get(entry.action, ("·", ""))
            what = _entity(entry, addresses)
            word = "forgotten" if entry.action == "forget" else entry.outcome
            return line(
                "  ",
                (f"{sign} {what}", style),
                "   ",
                (word, "dim" if entry.outcome == "applied" else "warn"),
            )
        case "settled":
            about = f"  {_entity(entry, addresses)}" if entry.entity else ""
            return line("  ", (f"? settled at {moment_text(entry.at)}", "warn"), about, f"   {entry.outcome}")
        case "renamed":
            now = f"workspace {entry.before} is called {entry.workspace} now"
            records = f"   {count(entry.counts.get('records', 0), 'record')} went with it"
            return line("  ", (f"= {now}", "warn"), records)
        case "moved":
            number = entry.counts.get("records", 0)
            way = "came from" if number >= 0 else "went to"
            return line("  ", (f"= {count(abs(number), 'record')} {way} {entry.before}", "warn"))
        case "unlocked":
            return line(
                "  ",
                (f"! the lock was taken away by force at {moment_text(entry.at)}", "warn"),
                f"   {entry.who}",
            )
        case _:
            return BLANK


def _kept(head: Head | None) -> list[Line]:
    return [line(("head ", "dim"), (str(head), "dim"))] if head else []


def verification_lines(found: "Verification", anchor: Head | None) -> tuple[Line, ...]:
    """Say whether the chain is sound, and what to keep or to do."""
    if found.broken_at:
        what = f"the history is broken: {found.what}"
        return tuple(sentence("", what, _BROKEN))
    if found.head is None:
        return (line("nothing is recorded yet."),)
    end = " Nothing was cut off since the anchor." if anchor else ""
    lines = [
        line(f"{count(found.entries, 'entry', 'entries')}, unbroken.{end}"),
        line("head ", (str(found.head), "bold")),
    ]
    if not anchor:
        lines.append(line("  an end that was cut off shows only against a head that is kept elsewhere."))
    lines.append(
        line(("  next: ", "bold"), f"keep it, and later: reconciler history --verify --anchor {found.head}")
    )
    return tuple(lines)


_BROKEN = (
    "the entries after it prove nothing; compare them with a copy of the store, "
    "and with the heads that runs reported"
)


def verification_json(found: "Verification", anchor: Head | None) -> str:
    """Return the same for programs; exit code 1 where the chain is broken."""
    about = {
        "entries": found.entries,
        "head": str(found.head or ""),
        "anchor": str(anchor or ""),
        "broken_at": found.broken_at,
        "what": found.what,
    }
    return report_json(about, 1 if found.broken_at else 0)
