"""One value of a plan as people read it: secrets hidden, absence named, digests short.

The last place that could show a secret, so it does not rely on the mask alone: a field that KINDS
calls secret is hidden whatever its text is. Nothing here lays out lines.
"""

from msgspec import Struct

from reconciler.core.text import has_edges
from reconciler.model.documents import Scalar
from reconciler.model.kinds import KINDS
from reconciler.model.plans import FieldChange
from reconciler.report.escaping import escape_control

MASK = "secret:"  # how a masked secret starts (core/compare/normalize.py)

value_max = 60  # characters of a value that is shown without --full

_digest_shown = 8  # hexadecimal digits: enough to tell two contents apart by eye
_lead = 12  # characters shown before the first difference of two long values
_kib = 1024


class DisplayedValue(Struct, frozen=True, gc=False):
    """A value as text. `placeholder` is true where the text replaces the value, like `(secret)`."""

    text: str
    placeholder: bool = False


def display_value(kind: str, path: str, value: Scalar | None, *, limit: int = value_max) -> DisplayedValue:
    """Return the value of a kind's field as inert text of at most `limit` characters (0: any length)."""
    if value is None:
        return DisplayedValue("(none)", placeholder=True)
    if isinstance(value, bool):
        return DisplayedValue("true" if value else "false")
    if value == "":
        return DisplayedValue("(cleared)", placeholder=True)
    if value.startswith(MASK) or path in KINDS[kind].secret:
        return DisplayedValue("(secret)", placeholder=True)
    if is_digest(value) and path in KINDS[kind].write_only:
        return DisplayedValue(short_digest(value))
    if has_edges(value):
        return DisplayedValue(
            escape_control(f'"{value}"', limit=limit)
        )  # without quotes the difference would not show
    return DisplayedValue(escape_control(value, limit=limit))


def display_change(
    kind: str, field: FieldChange, *, limit: int = value_max
) -> tuple[DisplayedValue, DisplayedValue]:
    """Return a field before and after, long values cut so that their first difference is in sight."""
    before, after = field.before, field.after
    if before is None and field.path in KINDS[kind].write_only:
        word = "(unknown)" if field.cause == "unknown" else "(not readable)"
        return DisplayedValue(word, placeholder=True), display_value(kind, field.path, after, limit=limit)
    skip = _count_common(before, after, limit) if isinstance(before, str) and isinstance(after, str) else 0
    return (
        display_value(kind, field.path, _cut_start(before, skip), limit=limit),
        display_value(kind, field.path, _cut_start(after, skip), limit=limit),
    )


def _count_common(before: str, after: str, limit: int) -> int:
    """How many leading characters to leave out so that a cut at `limit` still shows a difference."""
    if not limit or max(len(before), len(after)) <= limit or before.startswith(MASK):
        return 0
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    return same - _lead if same > limit // 2 else 0


def _cut_start(value: Scalar | None, skip: int) -> Scalar | None:
    return "…" + value[skip:] if skip and isinstance(value, str) else value


def is_digest(text: str) -> bool:
    """Whether this is a digest as Content has it: the algorithm, a colon, hexadecimal digits."""
    name, _, digits = text.partition(":")
    return name == "sha256" and len(digits) >= _digest_shown and set(digits) <= set("0123456789abcdef")


def short_digest(text: str) -> str:
    """`sha256 0123abcd`, of a digest."""
    name, _, digits = text.partition(":")
    return f"{name} {digits[:_digest_shown]}"


def short_fingerprint(text: str) -> str:
    """`7f3a 91c2`: the first eight digits in two groups, as people compare them by eye."""
    digits = text.rpartition(":")[2][:8]
    return f"{digits[:4]} {digits[4:]}".strip()


def format_size(octets: int) -> str:
    """`512 bytes`, `12.4 KiB`, `3.1 MiB`."""
    if octets < _kib:
        return f"{octets:,} bytes" if octets != 1 else "1 byte"
    if octets < _kib * _kib:
        return f"{octets / _kib:,.1f} KiB"
    return f"{octets / (_kib * _kib):,.1f} MiB"


def moment_text(at: str) -> str:
    """Return a moment in ISO 8601 as people read it: `2026-03-02 09:30:00 UTC`."""
    return at.removesuffix("+00:00").replace("T", " ", 1) + (" UTC" if at.endswith("+00:00") else "")
