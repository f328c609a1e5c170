"""What changed between a saved plan and a fresh one: why the saved one is stale (docs/planning.md, A1).

Which changes differ is decided in core/review/saved_plans.py. DeepDiff only explains what is inside of two
changes that differ; nothing is decided by it. Import this module where a plan is stale and not before:
the explaining is slow to load.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deepdiff import DeepDiff

from reconciler.core.review.saved_plans import compare_plans, encode_shown, without_transient
from reconciler.model.address import Address
from reconciler.model.plans import Delete, Plan
from reconciler.report.escaping import escape_control
from reconciler.report.lines import ACTIONS, BLANK, Line, count, fold_items, line, pad_text, width
from reconciler.report.values import display_value, short_fingerprint, value_max

_address_max = 64  # columns
_path_max = 40  # columns

# What DeepDiff calls the differences that plain values can have.
_KINDS = (
    "values_changed",
    "type_changes",
    "dictionary_item_added",
    "dictionary_item_removed",
    "iterable_item_added",
    "iterable_item_removed",
)


def plan_difference(before: Plan, after: Plan, *, full: bool = False) -> tuple[Line, ...]:
    """Return what the fresh plan `after` would do that the saved plan `before` does not say, and back.

    Empty when they are the same but for their times. Changes that differ only in their place are not
    listed; one line says that lines have moved.
    """
    before, after = without_transient(before), without_transient(after)
    if before.fingerprint == after.fingerprint and encode_shown(before) == encode_shown(after):
        return ()
    found = compare_plans(before, after)
    listed, rest = fold_items(found.addresses, full=full)
    at = min(max((width(address) for address in listed), default=0), _address_max)
    codes = " → ".join(short_fingerprint(plan.fingerprint) for plan in (before, after))
    lines = [
        line(
            (f"{count(len(found.addresses), 'change')} not as in the saved plan", "bold"),
            (f"   {codes}", "dim"),
        ),
        *_list_circumstances(before, after),
        BLANK,
    ]
    for address in listed:
        lines += _change_lines(address, found.old.get(address), found.new.get(address), at, full=full)
    return *lines, *rest


def _list_circumstances(before: Plan, after: Plan) -> Iterator[Line]:
    """Yield what else the fingerprint covers and is not as it was."""
    for name, said in (
        ("target", "The service, the stack or a workspace is different."),
        ("options", "The selection or another option is different."),
        ("manifest_digest", "The manifests were edited since."),
        ("adoptions", "Other entities would be adopted."),
        ("gone", "Other entities would be forgotten."),
        ("records", "Other records would be updated."),
        ("renames", "Other entities would be renamed."),
        ("skips", "Other entities are left alone, or for other reasons."),
        ("unchanged", _describe_unchanged(before, after)),
        ("outside", "The number of recorded entities that no manifest declares has changed."),
        ("owned", "The number of entities that were ours before has changed."),
        ("directories", "A directory returns other data now."),
        ("notices", "The notices are different."),
        ("reads", "Other scopes were read, or not as completely."),
    ):
        if getattr(before, name) != getattr(after, name):
            yield line("  ", said)
    places = _map_change_places(after)
    if any(places.get(address, place) != place for address, place in _map_change_places(before).items()):
        yield line("  ", "Lines of the manifests have moved.")


def _describe_unchanged(before: Plan, after: Plan) -> str:
    old, new = (sum(plan.unchanged.values()) for plan in (before, after))
    if old == new:
        return (
            "The unchanged entities are in other workspaces or of other kinds than when this plan was made."
        )
    was = "entity was" if old == 1 else "entities were"
    return f"{old:,} {was} unchanged when this plan was made; now it is {new:,}."


def _map_change_places(plan: Plan) -> dict[Address, str]:
    return {change.address: change.place for change in plan.changes if not isinstance(change, Delete)}


def _change_lines(
    address: Address, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None, at: int, *, full: bool
) -> list[Line]:
    was, now = (form["action"] if form else "" for form in (old, new))
    if not was:
        style, about = "create", f"{now} is new"
    elif not now:
        style, about = "delete", f"{was} is no longer planned"
    else:
        style, about = "update", now if was == now else f"{was} before, {now} now"
    sign, colour = ACTIONS[style]
    head = line((f"{sign} ", colour), (pad_text(address, at), colour), "   ", (about, "dim"))
    return [
        head,
        *(_value_change_lines(address.kind, old, new, full=full) if old and new and was == now else ()),
    ]


def _value_change_lines(
    kind: str, old: Mapping[str, Any], new: Mapping[str, Any], *, full: bool
) -> list[Line]:
    """Return one line for each value that differs, its path as in the plan file but for `fields`."""
    found = DeepDiff(old, new, view="tree", threshold_to_diff_deeper=0)
    levels = [level for name in _KINDS for level in found.get(name, ())]
    table = sorted(
        (_format_key_path(keys), _describe_value_change(kind, keys, level.t1, level.t2, full=full))
        for keys, level in ((level.path(output_format="list"), level) for level in levels)
    )
    at = min(max((width(label) for label, _ in table), default=0), _path_max)
    return [line("    ", pad_text(label, at), "  ", said) for label, said in table]


def _format_key_path(keys: Sequence[str | int]) -> str:
    return escape_control(".".join(str(key) for key in keys if key != "fields" and not isinstance(key, int)))


def _describe_value_change(
    kind: str, keys: Sequence[str | int], before: object, after: object, *, full: bool
) -> str:
    """Return what became of one value: a field's whole entry, an item of a list, or a scalar."""
    limit = 0 if full else value_max
    field = str(keys[1]) if len(keys) > 1 else ""
    if isinstance(before, Mapping):
        return "no longer written"
    if isinstance(after, Mapping):
        ends = [display_value(kind, field, after.get(end), limit=limit).text for end in ("before", "after")]
        return "written now: " + " → ".join(ends)
    ends = [_format_scalar(kind, field, value, limit) for value in (before, after)]
    return "a different secret" if ends == ["(secret)", "(secret)"] else " → ".join(ends)


def _format_scalar(kind: str, field: str, value: object, limit: int) -> str:
    if value is None or isinstance(value, str | bool):
        return display_value(kind, field, value, limit=limit).text
    return "(not planned)"  # DeepDiff's stand-in for what is not there
