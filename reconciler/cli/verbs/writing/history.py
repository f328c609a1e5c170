"""`reconciler history` at work: who applied what, when; and whether the record is whole."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from reconciler.cli.console import output
from reconciler.cli.session import opened
from reconciler.errors import UnknownAddress
from reconciler.model.address import Address, parse_address
from reconciler.model.runs import AuditEntry, Head
from reconciler.report.runs.history import history_json, history_lines, verification_json, verification_lines
from reconciler.store.database import Store

_ANCHOR = re.compile(r"([1-9][0-9]{0,17}):([0-9a-f]{64})", re.ASCII)
_read_first = 1_000  # entries; the last few runs are among them, mostly
_read_max = 10_000_000  # entries; ten years of a thousand changes a day have under four million


def history(*, verify: bool, anchor: str | None, full: bool, as_json: bool, **given: Any) -> int:
    """Show the last runs, those of one run or entity, or whether the chain of entries is unbroken."""
    if anchor is not None and not verify:
        raise click.UsageError("--anchor belongs to --verify.")
    if verify:
        return _verify(given, _head(anchor), as_json=as_json)
    return _show(given, full=full, as_json=as_json)


def _verify(given: Mapping[str, Any], anchor: Head | None, *, as_json: bool) -> int:
    if given["run"] or given["address"]:
        raise click.UsageError("--verify checks the whole history; --run and --of do not go with it.")
    with opened(given) as (store, _):
        store.check_whole()
        found = store.verify(anchor)
    if as_json:
        output.json(verification_json(found, anchor))
    else:
        output.lines(verification_lines(found, anchor))
    if found.broken_at:
        output.explain_failure(verification_lines(found, anchor))
    return 1 if found.broken_at else 0


def _show(given: Mapping[str, Any], *, full: bool, as_json: bool) -> int:
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


def _entries(store: Store, run: str, entity: str, runs: int) -> tuple[AuditEntry, ...]:
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


def _of_entity(entries: Iterable[AuditEntry], entity: str) -> tuple[AuditEntry, ...]:
    """Return what happened to the entity, with the begin and the end of each run that did it."""
    told = tuple(entries)
    runs = {one.run for one in told if one.entity == entity}
    return tuple(one for one in told if one.entity == entity or (one.run in runs and not one.entity))


def _last_runs(entries: Sequence[AuditEntry], runs: int) -> tuple[AuditEntry, ...]:
    wanted = set(list(dict.fromkeys(one.run for one in reversed(entries)))[:runs])
    return tuple(one for one in entries if one.run in wanted)


def _address(text: str) -> Address:
    found = parse_address(text)
    if found is None:
        raise UnknownAddress(
            f"{text[:80]!r} is not an address.",
            next="write it as a plan shows it: contact/ops/jane-doe",
        )
    return found


def _head(anchor: str | None) -> Head | None:
    if anchor is None:
        return None
    found = _ANCHOR.fullmatch(anchor.strip())
    if found is None:
        raise click.UsageError(
            "--anchor takes a head as it was printed: a number, a colon, 64 hexadecimal digits."
        )
    return Head(int(found[1]), found[2])
