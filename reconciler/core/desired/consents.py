"""`consent:` of manifests: which address may be deleted, updated or reactivated, until when, and why.

What is written becomes `NamedConsent`s, and what is wrong with it is said at its place. What they do to a
plan: core/review/named_consents.py. Whether one has ended is judged there: nothing here knows the time.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta

from reconciler.core.suggest import did_you_mean
from reconciler.errors import Problem
from reconciler.model.address import Address, parse_address
from reconciler.model.documents import ConsentLine, Manifest, NamedConsent, Place
from reconciler.model.kinds import KINDS

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})", re.ASCII)
_WILDCARD = re.compile(r"[*?\[\]]")


def resolve_consents(manifests: Iterable[Manifest]) -> tuple[NamedConsent, ...]:
    """Return what the manifests consent to, sorted, without what `find_consent_mistakes` yields."""
    found: dict[tuple[Address, str], NamedConsent] = {}
    for manifest in manifests:
        for line in manifest.consents:
            address = parse_address(line.text)
            if address and not any(_check_line(manifest, line)):
                one = NamedConsent(address, line.action, line.until, line.reason, str(line.place))
                found.setdefault((address, line.action), one)
    return tuple(sorted(found.values()))


def find_consent_mistakes(manifests: Sequence[Manifest]) -> Iterator[Problem]:
    """Yield what is wrong with each line by itself, and the lines that repeat an earlier one."""
    first: dict[tuple[str, str], ConsentLine] = {}
    for manifest in manifests:
        items = {line.until_place: line for line in manifest.consents}
        for line in items.values():
            for place in manifest.hidden.keys() & {line.until_place, line.reason_place}:
                yield _variable_problem(place)
            if parse_consent_end(line.until) is None and line.until_place not in manifest.hidden:
                what = f"consent: until: {line.until} is neither a day nor a moment with its zone."
                hint = "write the last day, in UTC, as 2026-12-15; or 2026-12-15T18:00:00+10:00"
                yield line.until_place.problem(what, hint, code="E317")
        for line in manifest.consents:
            yield from _check_line(manifest, line)
            before = first.setdefault((line.text, line.action), line)
            if before is not line and line.place not in manifest.hidden:
                what = f"consent: {line.action} {line.text}: this stands at {before.place} too."
                yield line.place.problem(what, "keep one of the two", code="E318")


def _check_line(manifest: Manifest, line: ConsentLine) -> Iterator[Problem]:
    """Yield what is wrong with an address: there is at most one mistake."""
    address, front = parse_address(line.text), f"consent: {line.action}: {line.text}"
    if line.place in manifest.hidden:
        yield _variable_problem(line.place)
    elif _WILDCARD.search(line.text):
        what = f"{front} is a pattern; consent is for addresses that are named."
        yield line.place.problem(what, "write each address, as the plan shows it", code="E317")
    elif address is None:
        kind = line.text.partition("/")[0]
        hint = did_you_mean("kind", kind, KINDS, "write it as the plan shows it: contact/ops/jane-doe")
        yield line.place.problem(f"{front} is not an address.", hint, code="E317")
    elif address.workspace != manifest.workspace and not manifest.workspace.startswith("?"):
        what = f"{front} is in another workspace than this manifest ({manifest.workspace})."
        step = f"move the line into a manifest with `workspace: {address.workspace}`"
        yield line.place.problem(what, step, code="E317")


def _variable_problem(place: Place) -> Problem:
    what = "consent: a variable stands here; consent is what was reviewed, letter by letter."
    return place.problem(what, "write the text itself", code="E317")


def parse_consent_end(until: str) -> datetime | None:
    """Return the moment from which a consent is over; None where `until` is none. A day ends in UTC."""
    try:
        if _DAY.fullmatch(until):
            day = date.fromisoformat(until) + timedelta(days=1)
            return datetime(day.year, day.month, day.day, tzinfo=UTC)
        return datetime.fromisoformat(until) if _MOMENT.fullmatch(until) else None
    except (ValueError, OverflowError):  # 2026-02-30; the last day that there is
        return None
