"""Explanations of addresses: as lines, and as values for the JSON form.

Data of people is escaped, and a secret is hidden as in a plan. What is explained is decided in
core/views/explain.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from reconciler.model.documents import Scalar
from reconciler.model.kinds import KINDS
from reconciler.model.plans import (
    Cause,
    Control,
    DecidingFact,
    ExplainedField,
    Explanation,
    FieldChange,
    FieldReason,
    FieldSource,
)
from reconciler.model.snapshots import UNKNOWN
from reconciler.report.escaping import escape_control
from reconciler.report.lines import BLANK, Line, Style, line, pad_text, sentence_lines, width
from reconciler.report.values import DisplayedValue, display_change, display_value

_label = 10  # columns of the words before a place, an id or a value
# Null in JSON where an entity has none.
NULLABLE = ("planned", "place", "remote_id", "found_by", "recorded_as", "adopted")
_path_max = 32  # columns; a longer path pushes its own row to the right and no other

# Why a field is written or left alone: the cause that a plan shows, and what it means.
WHY: Mapping[Cause | FieldReason, str] = {
    "declared": "the manifest declares it, and nothing else has changed it since the last apply",
    "drifted": "changed at the service since the last apply; the manifest did not change",
    "both": "changed since the last apply, in the manifest and at the service",
    "no longer declared": "we set it earlier, and the manifest no longer declares it",
    "unknown": "the service never shows it and we have no record of it, so it is sent once",
    "duplicate": "a duplicate that we own is deleted",
    "gone": "we created it and it no longer exists, so it is created again",
    "reactivated": "requested by meta.reactivate or --reactivate",
    "undone": "set back to its value before a run",
    "forgotten": "our ownership mark is removed, because we no longer own the entity",
    "given back": "set back, and no longer owned afterwards",
    "as declared": "the live value is the declared one",
    "as sent": "the service shows it in another form than it was sent; sending it again would change nothing",
    "not readable": "the service never shows it, and the declared value is the one sent last",
    "not clearable": "it cannot be cleared: the service keeps a field that a write leaves out",
    "same offset": "the service shows only the offset of a time zone, which is that of the declared one",
    "cleared": "no longer declared, and already empty: nothing to clear",
    "ignored": "listed in `ignore`: sent on create, and not compared afterwards",
    "disabled": "disabled by the service; it stays disabled until you reactivate it by name",
    "taken over": "no longer declared, and changed at the service since: left alone",
    "not declared": "not declared, so we do not own it",
    "not compared": "not compared: the whole entity is left alone",
    "not read": "the service was not read",
}

_STATES: Mapping[str, str] = {
    "declared": "declared, not owned yet",
    "owned": "owned",
    "drifted": "owned, and changed at the service",
    "removed": "removed from the manifests",
    "outside": "recorded, and not declared by any manifest",
}


def explain_lines(found: Sequence[Explanation]) -> tuple[Line, ...]:
    """Return everything about each address: what it is and why, where it is, then its fields."""
    lines: list[Line] = []
    for one in found:
        lines += [*([BLANK] if lines else []), *_entity_lines(one), BLANK, *_explained_field_lines(one)]
    return tuple(lines)


def explain_values(found: Sequence[Explanation]) -> dict[str, Any]:
    """Return the same for the JSON form; what an entity has not is null."""
    values = [structs.asdict(one) for one in found]
    return {
        "explanations": [
            {name: None if name in NULLABLE and not value else value for name, value in one.items()}
            for one in values
        ]
    }


def _entity_lines(one: Explanation) -> Iterator[Line]:
    planned = f"; an apply would {one.planned} it" if one.planned else ""
    yield line((one.address, "bold"), "   ", (f"{_STATES[one.state]}{planned}", "dim"))
    for said in one.said:
        yield from _fact_lines(said)
    if one.place:
        yield _label_line("declared", one.place)
    if one.own_kind:
        yield _label_line("kind", f"{one.address.kind}, defined by the profile")
    if one.remote_id:
        yield _label_line("id", f"{one.remote_id}{_describe_lookup(one)}")
    if one.recorded:
        yield _label_line("recorded", _describe_record_of(one))
    for control in one.controls:
        yield _control_line(control)


def _fact_lines(said: DecidingFact) -> list[Line]:
    place = f" ({said.place})" if said.place else ""
    quiet = said.word in {"unchanged", "update", "create", "adopt", "record", "rename", "removed", "not read"}
    return sentence_lines(
        f"{said.word}: ", f"{said.what}{place}", said.next, style="" if quiet else "warn", indent="  "
    )


def _describe_lookup(one: Explanation) -> str:
    if not one.read:
        return ", as recorded; not looked up"
    return f", found by {one.found_by}" if one.found_by else ""


def _describe_record_of(one: Explanation) -> str:
    parts = []
    if one.last_write:
        parts.append(f"last by run {one.last_write.run} at {one.last_write.at}")
    if one.recorded_as:
        parts.append(f"as {one.recorded_as}")
    if one.adopted == UNKNOWN:
        parts.append("unknown whether it existed before this stack")
    elif one.adopted:
        parts.append(f"adopted on {one.adopted[:10]}")
    if one.protected:
        parts.append("protected")
    return ", ".join(parts) or "yes"


def _control_line(control: Control) -> Line:
    place = f"   {control.place}" if control.place else ""
    return line("  ", (pad_text(control.name, _label), "dim"), "  ", control.value, (place, "dim"))


def _label_line(label: str, text: str) -> Line:
    return line("  ", (pad_text(label, _label), "dim"), "  ", text)


def _explained_field_lines(one: Explanation) -> list[Line]:
    columns = min(max((width(escape_control(field.path)) for field in one.fields), default=0), _path_max)
    return [each for field in one.fields for each in _field_lines(one, field, columns)]


def _field_lines(one: Explanation, field: ExplainedField, columns: int) -> Iterator[Line]:
    kind, path = one.address.kind, field.path
    sign, style = _choose_sign(one, field)
    head = ((f"{sign} ", style), (pad_text(path, columns), style), "  ")
    if one.planned == "delete":
        yield line(*head, _format_value(kind, path, field.live))
        return
    source = _describe_source(field.source) if field.source else ""
    if _needs_no_reason(one, field):
        yield line(*head, _format_value(kind, path, field.desired), ("   " + source, "dim"))
        return
    yield line(*head, _describe_becoming(kind, field), ("   " + field.reason, "dim"))
    if field.reason == "not declared":
        return
    if one.read:
        yield line("    ", (WHY[field.reason], "dim"))
    if field.source is not None:
        yield _value_line("declared", _format_value(kind, path, field.desired), source)
    if one.read:
        yield _value_line("live", _describe_live(kind, field))
    if one.recorded:
        yield _value_line("recorded", _format_value(kind, path, field.sent), _describe_shown(kind, field))


def _choose_sign(one: Explanation, field: ExplainedField) -> tuple[str, Style]:
    if one.planned == "delete":
        return "-", "delete"
    if field.decision == "change":
        return ("+", "create") if one.planned == "create" else ("~", "update")
    quiet = field.decision == "none" or field.reason in ("not declared", "not read")
    quiet = quiet or (field.reason == "ignored" and field.live == field.desired)
    return (" ", "") if quiet else ("!", "warn")


def _describe_becoming(kind: str, field: ExplainedField) -> str:
    """Return the value, or what it was and what it becomes, as a plan shows both."""
    if field.decision != "change":
        known = (field.live, field.desired, field.sent)
        return _format_value(kind, field.path, next((value for value in known if value is not None), None))
    if field.live is None and field.read and field.path not in KINDS[kind].write_only:
        return _format_value(kind, field.path, field.after)
    cause: Any = field.reason
    before, after = display_change(kind, FieldChange(field.path, field.live, field.after, cause), limit=0)
    return f"{before.text}  →  {after.text}"


def _needs_no_reason(one: Explanation, field: ExplainedField) -> bool:
    """Whether live and recorded say nothing that the declared value does not."""
    if field.desired is None:
        return False
    if one.planned == "create":
        return field.decision == "change" and field.sent in (None, field.desired)
    secret = field.path in KINDS[one.address.kind].secret
    alike = field.live == field.desired and (secret or field.sent in (None, field.desired))
    return field.reason == "as declared" and alike


def _describe_live(kind: str, field: ExplainedField) -> str:
    if field.read:
        return _format_value(kind, field.path, field.live)
    return "(never shown)" if field.path in KINDS[kind].write_only else "(not read)"


def _describe_shown(kind: str, field: ExplainedField) -> str:
    if field.sent is None or field.shown in (None, field.sent):
        return ""
    return f"the service showed {_format_value(kind, field.path, field.shown)}"


def _format_value(kind: str, path: str, value: Scalar | None) -> str:
    found: DisplayedValue = display_value(kind, path, value, limit=0)
    return found.text


def _value_line(label: str, text: str, about: str = "") -> Line:
    return line("    ", (pad_text(label, _label), "dim"), text, ("   " + about if about else "", "dim"))


def _describe_source(source: FieldSource) -> str:
    """Return where a value comes from, for people: a file and a line first, wherever there is one."""
    match source.form:
        case "mark":
            return "the ownership mark, which the settings ask for"
        case "cell":
            columns = ", ".join(repr(title) for title in source.columns)
            many = "column" if len(source.columns) == 1 else "columns"
            about = f"{source.place}, {many} {columns}, by the template at {source.template}"
        case "roster":
            about = f"{source.place}, the same for every row of the roster"
        case "defaults":
            about = f"{source.place}, under `defaults:`"
        case "entry":
            about = str(source.place)
    if source.variables:
        many = "variable" if len(source.variables) == 1 else "variables"
        about += f", filled in from the environment {many} {', '.join(source.variables)}"
    if source.file:
        about += f", content of {source.file}"
    return f"{about}; overrides the default at {source.default}" if source.default else about
