"""Counts as small bars: what is about to happen by kind, by cause and by workspace.

Belongs here: counting changes, and a table whose bars are SVG. Every number stands as text in the table, and
the bars are for the eye alone.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TypeVar

from msgspec import Struct

from reconciler.core.review.drift import Drift
from reconciler.model.address import Address
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Change, Update, action_of
from reconciler.report.html.markup import Html, text

rows_max = 8  # of a chart; what is beyond them is counted together
_width = 1000  # units of a bar's width

One = TypeVar("One", "Counted", "CountedMistake")


class Counted(Struct, frozen=True):
    """What the charts know of one change: what is done, to whom, and why (each cause once)."""

    action: str
    address: Address
    causes: frozenset[str]


class CountedMistake(Struct, frozen=True):
    """What the charts know of one mistake or warning: which of both, in which file, and its code."""

    action: str
    file: str
    code: str


# By action: its column in a chart. The order is that of the bars and of the page.
CHART_COLUMNS: Mapping[str, str] = {
    "delete": "Delete",
    "update": "Update",
    "create": "Create",
    "drift": "Changed",
    "mistake": "Mistakes",
    "warning": "Warnings",
}


def of_changes(changes: Iterable[Change]) -> list[Counted]:
    """Return what is counted of a plan."""
    return [Counted(action_of(one), one.address, _causes(one)) for one in changes]


def of_drifts(drifts: Iterable[Drift]) -> list[Counted]:
    """Return what is counted of what others changed."""
    return [Counted("drift", one.address, _alone(one.cause)) for one in drifts]


def _causes(change: Change) -> frozenset[str]:
    if isinstance(change, Update):
        return frozenset(field.cause for field in change.fields)
    return _alone(change.cause)


@cache
def _alone(cause: str) -> frozenset[str]:
    """Return the same set each time: it takes more memory than all else of what is counted."""
    return frozenset({cause})


def charts(counted: Sequence[Counted]) -> Html:
    """Return the three charts of changes, or nothing where nothing is counted."""
    return _charts(
        counted,
        [
            ("By kind", "Kind", lambda one: (KINDS[one.address.kind].plural,)),
            ("By cause", "Cause", lambda one: tuple(sorted(one.causes))),
            ("By workspace", "Workspace", lambda one: (one.address.workspace,)),
        ],
    )


def charts_of_mistakes(counted: Sequence[CountedMistake]) -> Html:
    """Return the two charts of mistakes and warnings, or nothing where there is none."""
    return _charts(
        counted, [("By code", "Code", lambda one: (one.code,)), ("By file", "File", lambda one: (one.file,))]
    )


def _charts(
    counted: Sequence[One], wanted: Iterable[tuple[str, str, Callable[[One], tuple[str, ...]]]]
) -> Html:
    if not counted:
        return Html("")
    actions = [one for one in CHART_COLUMNS if any(each.action == one for each in counted)]
    drawn = (_chart(title, head, _tally(counted, names), actions) for title, head, names in wanted)
    return Html(f"<section class=charts aria-label=Counts>{''.join(drawn)}</section>")


def _tally(counted: Sequence[One], names: Callable[[One], tuple[str, ...]]) -> list[tuple[str, Counter[str]]]:
    """Return by name how many of each action there are, the most first; those beyond `rows_max` as one."""
    found: dict[str, Counter[str]] = {}
    for one in counted:
        for name in names(one):
            found.setdefault(name, Counter())[one.action] += 1
    rows: list[tuple[str, Counter[str]]] = sorted(found.items(), key=lambda row: (-row[1].total(), row[0]))
    if len(rows) <= rows_max:
        return rows
    rest = rows[rows_max - 1 :]
    together: Counter[str] = Counter()
    for _, counts in rest:
        together.update(counts)
    return [*rows[: rows_max - 1], (f"{len(rest)} others", together)]


def _chart(title: str, head: str, rows: Sequence[tuple[str, Counter[str]]], actions: Sequence[str]) -> Html:
    most = max((counts.total() for _, counts in rows), default=0)
    columns = "".join(f'<th scope=col class="{one}">{text(CHART_COLUMNS[one])}' for one in actions)
    lines = "".join(_row(name, counts, most, actions) for name, counts in rows)
    return Html(
        f"<div><table><caption>{text(title)}</caption><thead><tr><th scope=col>{text(head)}{columns}</thead>"
        f"<tbody>{lines}</tbody></table></div>"
    )


def _row(name: str, counts: Counter[str], most: int, actions: Sequence[str]) -> Html:
    numbers = "".join(f'<td class="{one if counts[one] else "none"}">{counts[one]:,}' for one in actions)
    return Html(f"<tr><th scope=row>{text(name)}{_bar(counts, most, actions)}{numbers}")


def _bar(counts: Counter[str], most: int, actions: Sequence[str]) -> Html:
    """Return one bar, the width of each part in proportion to the longest bar of its chart."""
    at, parts = 0, []
    for one in actions:
        wide = counts[one] * _width // most
        if counts[one]:
            parts.append(f'<rect class="{one}" x="{at}" width="{max(wide, 4)}" height="8"/>')
        at += wide
    return Html(
        f'<svg viewBox="0 0 {_width} 8" preserveAspectRatio=none aria-hidden=true focusable=false>'
        f"{''.join(parts)}</svg>"
    )
