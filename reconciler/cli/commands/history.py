"""`reconciler history`: who applied what, when, from which commit; and whether the record is whole."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli import options, output
from reconciler.errors import UnknownAddress

if TYPE_CHECKING:
    from reconciler.model.address import Address
    from reconciler.model.audit import AuditEntry, Head
    from reconciler.store.database import Store

_ANCHOR = re.compile(r"([1-9][0-9]{0,17}):([0-9a-f]{64})", re.ASCII)
_read_first = 1_000  # entries; the last few runs are among them, mostly
_read_max = 10_000_000  # entries; ten years of a thousand changes a day have under four million


@click.command(short_help="Show who applied what, when, from which commit.")
@options.settings_options
@click.option("--run", metavar="ID", help="Only this run, with each of its changes.")
@click.option("--of", "address", metavar="ADDRESS", help="Only the changes of this entity.")
@click.option(
    "--limit",
    type=click.IntRange(min=1, max=100_000),
    default=20,
    show_default=True,
    metavar="N",
    help="The last N runs.",
)
@click.option("--verify", is_flag=True, help="Check that no entry was changed, taken out or moved.")
@click.option(
    "--anchor",
    metavar="N:HASH",
    help="With --verify: a head that was printed earlier; it proves that no end was cut off.",
)
@options.full_option
@options.format_option
def command(*, verify: bool, anchor: str | None, format: str, full: bool, **given: Any) -> int:  # noqa: A002 - the option's name
    """Show runs and what they changed, the newest last.

    The store holds one line for the begin and the end of each run and for each change, chained by
    hashes. People's data is not in it: an entity stands as a keyed hash, by which --of finds it. What the
    store still knows is shown by its address, also in JSON (`addresses`, by hash); who was deleted is not.

    --verify finds every line that was changed, taken out, put in or moved. An end that was cut off, or
    a history written anew from some line on, shows only against a head that was kept where nobody who
    can write the store can reach it: each run's report and each --verify print one; keep it (a CI log, a
    ticket, a signed tag) and give it back as --anchor.

    Reads settings and the store; writes nothing, and reads no credential of the service.

    Exit codes: 0 shown, or unbroken; 1 broken, or the store cannot be read; 3 settings or
    address invalid, 64 usage.

    \b
    Examples:
        reconciler history
        reconciler history --of contact/ops/jane-doe
        reconciler history --verify
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    if anchor is not None and not verify:
        raise click.UsageError("--anchor belongs to --verify.")
    if verify:
        return _verify(given, _head(anchor), as_json=format == "json")
    return _show(given, full=full, as_json=format == "json")


def _verify(given: Mapping[str, Any], anchor: "Head | None", *, as_json: bool) -> int:
    from reconciler.cli.storing import opened  # noqa: PLC0415 - loads the store, which --help does not need
    from reconciler.report.history import verification_json, verification_lines  # noqa: PLC0415 - the same

    if given["run"] or given["address"]:
        raise click.UsageError("--verify checks the whole history; --run and --of do not go with it.")
    with opened(given) as (store, _):
        found = store.verify(anchor)
    if as_json:
        output.json(verification_json(found, anchor))
    else:
        output.lines(verification_lines(found, anchor))
    return 1 if found.broken_at else 0


def _show(given: Mapping[str, Any], *, full: bool, as_json: bool) -> int:
    from reconciler.cli.storing import opened  # noqa: PLC0415 - loads the store, which --help does not need
    from reconciler.report.history import history_json, history_lines  # noqa: PLC0415 - the same

    address = None if given["address"] is None else _address(given["address"])
    with opened(given) as (store, settings):
        entity = "" if address is None else store.entity_hash(address)
        entries = _entries(store, given["run"] or "", entity, given["limit"])
        head = store.head()
        running, addresses = store.standing().running, store.addresses()
    if as_json:
        output.json(history_json(entries, head, running, addresses))
    else:
        whole = full or given["run"] is not None
        shown = history_lines(entries, head, settings.stack, full=whole, running=running, addresses=addresses)
        output.lines(shown)
    return 0


def _entries(store: "Store", run: str, entity: str, runs: int) -> "tuple[AuditEntry, ...]":
    """Return the entries of the last runs, of one run, or of all runs that changed one entity."""
    if run:
        return store.history(_read_max, run)
    if entity:
        return _last_runs(_of_entity(store.history(_read_max), entity), runs)
    limit = _read_first
    entries = store.history(limit)
    # The first run of what was read may be cut: one more than wanted has to be there, or the beginning.
    while len(entries) == limit < _read_max and len({one.run for one in entries}) <= runs:
        limit *= 10
        entries = store.history(limit)
    return _last_runs(entries, runs)


def _of_entity(entries: "Iterable[AuditEntry]", entity: str) -> "tuple[AuditEntry, ...]":
    """Return what happened to the entity, with the begin and the end of each run that did it."""
    told = tuple(entries)
    runs = {one.run for one in told if one.entity == entity}
    return tuple(one for one in told if one.entity == entity or (one.run in runs and not one.entity))


def _last_runs(entries: "Sequence[AuditEntry]", runs: int) -> "tuple[AuditEntry, ...]":
    wanted = set(list(dict.fromkeys(one.run for one in reversed(entries)))[:runs])
    return tuple(one for one in entries if one.run in wanted)


def _address(text: str) -> "Address":
    from reconciler.model.address import parse  # noqa: PLC0415 - with the store it is there already

    found = parse(text)
    if found is None:
        raise UnknownAddress(
            f"{text[:80]!r} is not an address.",
            next="write it as a plan shows it: contact/ops/jane-doe",
        )
    return found


def _head(anchor: str | None) -> "Head | None":
    from reconciler.model.audit import Head  # noqa: PLC0415 - where a head is needed

    if anchor is None:
        return None
    found = _ANCHOR.fullmatch(anchor.strip())
    if found is None:
        raise click.UsageError(
            "--anchor takes a head as it was printed: a number, a colon, 64 hexadecimal digits."
        )
    return Head(int(found[1]), found[2])
