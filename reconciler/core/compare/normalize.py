"""Desired and live values in one form in which equal means equal, and the digests that stand for secrets.

Flat fields by path: a list of channels becomes `messagingOptions.sms.primary`, a list of custom
fields `custom.employeeId`, so that the order of a list never matters. Empty means absent on the
service's side; on ours it means "clear it" and is kept.
"""

import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from itertools import chain
from sys import intern
from typing import Any

from reconciler.core.digests import stretch_secret
from reconciler.core.text import fold_case, normalize_unicode, parse_instant, shorten_number, trim_edges
from reconciler.model.documents import Fields, Scalar
from reconciler.model.field_types import FieldShape, NormalForm, require_rows
from reconciler.model.geography import zone_offsets
from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS, child_kinds
from reconciler.model.snapshots import Entity, LiveEntity, RecordedEntity

SECRET = "secret:"  # noqa: S105 - the prefix that says "masked", not a secret
SLOW = f"{SECRET}scrypt:"
WITHHELD = f"{SECRET}withheld"

# Text goes in and a truth comes out (docs/service.md, contacts): compared as they stand, every channel would
# be written with every run.
_TRUTH: Mapping[str, Scalar] = {"true": True, "false": False}
# Times of change have whole seconds, so an edit within the second of our look shows the same time. Two,
# because the machines behind one address are taken to agree to a second only (docs/service.md, caches).
_SETTLED = timedelta(seconds=2)


def flatten_body(kind: str, body: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return what a body of the service says: flat, normalized, without server-owned and empty fields.

    A text keeps the blanks at its edges, which a declared one never has: they are a difference to be seen.
    Unknown fields are kept when they are scalars; nested ones that we do not
    manage are left out here and survive a write through `core/compare/bodies.py`.
    """
    row = KINDS[kind]
    fields: dict[str, Scalar] = {}
    ours, structured, unread, write_only = row.ours, row.structured, row.unread, row.write_only
    rules = _known_rules(row)
    for key, value in body.items():
        path = ours.get(key, key)
        # D3: what is never shown, or not to be relied upon where it is, is compared by its record.
        if path in unread:
            continue
        if path not in structured and isinstance(value, str):
            normal = _normalize_shown(rules.get(path) or _find_rule(row, path), value)
            if normal != "":
                fields[path] = normal
            continue
        for leaf, scalar in _scalar_leaves(row, path, value):
            normal = _normalize_shown(rules.get(leaf) or _find_rule(row, leaf), scalar)
            if normal != "" and leaf not in write_only:
                fields[leaf] = normal
    # Of a group, one that is shown counts alone: the others are off then, and not what they mean by default.
    untold = [one for one in row.presumed if fields.keys().isdisjoint(row.beside(one))]
    return fields | {one.name: one.absent for one in untold} if untold else fields


def secrets_in_body(kind: Kind, body: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the secrets that a body of the service holds, in clear."""
    leaves = (_scalar_leaves(kind, kind.ours.get(key, key), value) for key, value in body.items())
    return tuple(str(scalar) for path, scalar in chain.from_iterable(leaves) if path in kind.secret)


def normalize_fields(kind: str, fields: Fields) -> Fields:
    """Return declared fields in the normal form; `""` (clear it) stays. Fields that have it are returned."""
    row = KINDS[kind]
    rules = _known_rules(row)
    found: dict[str, Scalar] | None = None
    for path, value in fields.items():
        rule = rules.get(path) or _find_rule(row, path)
        # As the rule would, without calling it: nearly every value.
        plain = isinstance(value, str) and rule is _normalize_text and value.isascii()
        normal = str(value).strip() if plain else rule(value)
        # Nearly all are normal as they stand. A copy of each would be most of what a plan makes.
        if normal is not value and found is None:
            found = dict(fields)
        if found is not None:
            found[path] = normal
    return fields if found is None else found


def normalize_value(kind: str, path: str, value: Scalar) -> Scalar:
    """Return one declared value in the normal form: NFC, no blanks around it, known spellings folded."""
    return _find_rule(KINDS[kind], path)(value)


# --- The normal form of one value, by its field ---------------------------------------------------

# The normal form of a value, by the path of its field.
_NormalRule = Callable[[Scalar], Scalar]
_rules_max = 10_000  # paths of one kind; custom fields of the service have any name


def _known_rules(row: Kind) -> dict[str, _NormalRule]:
    """Return the rules of a kind that were looked up before, by path."""
    rules: dict[str, _NormalRule] = row.memory
    return rules


def _find_rule(row: Kind, path: str) -> _NormalRule:
    """Return how values of a path are brought to the normal form: looked up in the row's columns once."""
    rules = _known_rules(row)
    rule = rules.get(path)
    if rule is None:
        rule = _choose_rule(row, path)
        if len(rules) < _rules_max:
            rules[path] = rule
    return rule


def _choose_rule(row: Kind, path: str) -> _NormalRule:
    if _is_flag_path(row, path):
        return _normalize_flag
    if path in row.guessable:
        return _keep_value
    folds = row.folds.get(path)
    if folds:
        return partial(_normalize_word, folds)
    # Below the name of a structured field stand texts, whatever the type of the whole is.
    return _NORMAL[row.by_name[path].row.normal] if path in row.by_name else _normalize_text


def _normalize_text(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()  # where no flag stands, a manifest can only hold the word
    # An ASCII text without edges to trim is its own normal form; nearly all of them are.
    return trim_edges(value if value.isascii() else normalize_unicode("NFC", value))


def _normalize_shown(rule: _NormalRule, value: Scalar) -> Scalar:
    """Return a value that the service shows in the normal form, with the blanks at the edges of a text.

    Around a number, a flag or a word of a few they mean nothing.
    """
    # Nearly every value, decided without a call of the rule: what is left of it without blanks, if anything.
    if rule is _normalize_text and isinstance(value, str) and value.isascii():
        return "" if value.isspace() else value
    normal = rule(value)
    # A declared value is sent without them (core/desired/resolve.py), so one with them is another.
    if rule is not _normalize_text or normal is value or normal == "" or isinstance(value, bool):
        return normal
    return value if value.isascii() else normalize_unicode("NFC", value)


def _keep_value(value: Scalar) -> Scalar:
    return value  # a password is sent and compared as it is written


def _normalize_flag(value: Scalar) -> Scalar:
    if isinstance(value, bool):
        return value
    text = _normalize_text(value)
    return _TRUTH.get(fold_case(text), text)


def _normalize_number(value: Scalar) -> str:
    return shorten_number(_normalize_text(value))


# The normal form of a value, by the type of its field.
_NORMAL: Mapping[NormalForm, _NormalRule] = require_rows(
    NormalForm, {"text": _normalize_text, "flag": _normalize_flag, "number": _normalize_number}
)


def _normalize_word(words: Mapping[str, str], value: Scalar) -> str:
    # A table of known spellings and no guess: an unknown status stays as it is.
    text = _normalize_text(value)
    return text if isinstance(value, bool) else words.get(fold_case(text), text)


def is_flag(kind: str, path: str) -> bool:
    """Whether a field holds true or false, as whether a channel of a contact is on."""
    return _is_flag_path(KINDS[kind], path)


def _is_flag_path(row: Kind, path: str) -> bool:
    if path in row.flags:
        return True
    part = _FLAG_PARTS[row.type_of(path).shape]
    return bool(part) and path.endswith(part)


# The end of a path below a field that holds true or false, by the shape of the field; "": none does.
_FLAG_PARTS: Mapping[FieldShape, str] = require_rows(
    FieldShape, {"scalar": "", "content": "", "custom": "", "channels": ".enabled", "group": ""}
)


# --- Secrets: what a plan and what a store may hold of them ---------------------------------------


def _replace_secrets(
    kind: str, fields: Fields, salt: str, replace: Callable[[str, str, Scalar, str], Scalar]
) -> Fields:
    secret = KINDS[kind].secret
    # Most have none, and are returned as they are.
    if secret.isdisjoint(fields):
        return fields
    return {
        path: replace(kind, path, value, salt) if path in secret else value for path, value in fields.items()
    }


def redact_for_plan(kind: str, fields: Fields, salt: str) -> Fields:
    """Return the fields as a plan may hold them; those without a secret are returned as they are."""
    return _replace_secrets(kind, fields, salt, redact_value_for_plan)


def redact_value_for_plan(kind: str, path: str, value: Scalar, salt: str) -> Scalar:
    """Return one value as a plan may hold it: a token as a digest that only `salt` makes comparable.

    Of a secret that people choose (a password) there is no digest at all: a plan file is mailed around, and
    words are tried against a digest by the million.
    """
    if path not in KINDS[kind].secret:
        return value
    if path in KINDS[kind].guessable:
        return WITHHELD if value else value
    return mask_secret(value, salt)


def digest_for_store(kind: str, fields: Fields, salt: str) -> Fields:
    """Return the fields as a store may hold them: every secret as a digest under the store's salt.

    Fields without a secret are returned.
    """
    return _replace_secrets(kind, fields, salt, digest_value_for_store)


def digest_value_for_store(kind: str, path: str, value: Scalar, salt: str) -> Scalar:
    """Return one value as a store may hold it: a secret as a digest, a slow one where it can be guessed."""
    if path not in KINDS[kind].secret:
        return value
    return mask_password(value, salt) if path in KINDS[kind].guessable else mask_secret(value, salt)


def mask_secret(value: Scalar, salt: str) -> Scalar:
    """Return `secret:` and 16 hexadecimal digits keyed by `salt`; an empty value as it is.

    A value that begins with `secret:` is masked like any other: it may be somebody's real secret.
    """
    if not isinstance(value, str) or not value:
        return value
    # 64 bits: enough to tell equal from changed within one plan or store, and no more than that is asked of
    # it.
    return SECRET + hmac.new(salt.encode(), value.encode(), hashlib.sha256).hexdigest()[:16]


def mask_password(value: Scalar, salt: str) -> Scalar:
    """Return `secret:scrypt:` and 32 hexadecimal digits that take milliseconds to compute; "" as it is."""
    if not isinstance(value, str) or not value:
        return value
    # Over the fast mask: what waits in memory to be compared (core/compare/password_digests.py) is no word
    # in clear.
    return f"{SLOW}{stretch_secret(str(mask_secret(value, salt)), salt)}"


# --- Times of change ------------------------------------------------------------------------------


def reliable_modified(modified: str, seen: str) -> str:
    """Return `modified` if a later edit must show another time, else "".

    The service's times have whole seconds. An edit in the second in which we looked would leave the
    same time behind, and would stay unseen for ever; so a time is relied upon only when it was at
    least two seconds old when we saw it.
    """
    changed, looked = parse_instant(modified), parse_instant(seen)
    return modified if changed and looked and looked - changed >= _SETTLED else ""


# --- Values of structured fields, as scalars by path ----------------------------------------------


def _scalar_leaves(kind: Kind, path: str, value: object) -> Iterator[tuple[str, Scalar]]:
    return _LEAVES[kind.structured.get(path, "scalar")](path, value)


def _scalar_leaf(path: str, value: object) -> Iterator[tuple[str, Scalar]]:
    if isinstance(value, (str, bool)):
        yield path, value
    # A manifest holds text. A number that counted as nothing would be written again with every run.
    elif isinstance(value, (int, float)):
        yield path, str(value)


def _channel_leaves(path: str, value: object) -> Iterator[tuple[str, Scalar]]:
    for option in list_objects(value):
        if isinstance(option.get("channel"), str):
            channel = fold_case(option["channel"])
            for key, setting in option.items():
                if key != "channel":
                    yield from _scalar_leaf(intern(f"{path}.{channel}.{key}"), setting)


def _custom_leaves(path: str, value: object) -> Iterator[tuple[str, Scalar]]:
    for field in list_objects(value):
        if name := custom_field_name(field):
            # One text for all entities that have this field: nearly every one, among thousands.
            yield from _scalar_leaf(intern(f"{path}.{name}"), field.get("fieldValue"))


def _group_leaves(path: str, value: object) -> Iterator[tuple[str, Scalar]]:
    for key, part in value.items() if isinstance(value, dict) else ():
        yield from _scalar_leaf(f"{path}.{key}", part)


# How a value becomes scalars by path, by the shape of its field.
_LEAVES: Mapping[FieldShape, Callable[[str, object], Iterator[tuple[str, Scalar]]]] = require_rows(
    FieldShape,
    {
        "scalar": _scalar_leaf,
        "content": _scalar_leaf,
        "channels": _channel_leaves,
        "custom": _custom_leaves,
        "group": _group_leaves,
    },
)


def list_objects(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list; a bare object, as some answers write a list of one, is that one."""
    # Samples of the service show lists of one without their brackets; dropped, a PUT would clear them.
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, dict)]


def custom_field_name(field: Mapping[str, Any]) -> str:
    """Return the name by which manifests know a custom field: its search key without `custom_`."""
    # The vendor may change the display name; the search key is what queries use (docs/service.md, contacts).
    key = field.get("searchKey")
    if isinstance(key, str) and key.startswith("custom_"):
        return key.removeprefix("custom_")
    name = field.get("fieldName")
    return name if isinstance(name, str) else ""


# --- Time zones, which the service shows otherwise than they were written -------------------------
#
# The service shows a zone as its offset ("+10"), and takes an offset for nonsense: "+10" in a PUT reads
# back as "0" (docs/service.md, contacts). A read-modify-write would move every person it touches to
# London. So an offset is written as the name of a zone that has it all year, and the name we once
# sent is preferred to any other. And where no record says what the service made of a name, a name and
# an offset that it has are the same: writing it again would change nothing.


ZONE_PATH = "timezone"

# Zones without summer time, so that any reading of "the offset of a zone" gives the same number.
FIXED_OFFSET_ZONES: Mapping[str, str] = {
    "-11": "Pacific/Pago_Pago",
    "-10": "Pacific/Honolulu",
    "-9:30": "Pacific/Marquesas",
    "-9": "Pacific/Gambier",
    "-8": "Pacific/Pitcairn",
    "-7": "America/Phoenix",
    "-6": "America/Regina",
    "-5": "America/Bogota",
    "-4": "America/Puerto_Rico",
    "-3": "America/Argentina/Buenos_Aires",
    "-2": "America/Noronha",
    "-1": "Atlantic/Cape_Verde",
    "0": "Etc/UTC",
    "+1": "Africa/Lagos",
    "+2": "Africa/Johannesburg",
    "+3": "Africa/Nairobi",
    "+4": "Asia/Dubai",
    "+4:30": "Asia/Kabul",
    "+5": "Asia/Karachi",
    "+5:30": "Asia/Kolkata",
    "+5:45": "Asia/Kathmandu",
    "+6": "Asia/Dhaka",
    "+6:30": "Asia/Yangon",
    "+7": "Asia/Bangkok",
    "+8": "Asia/Singapore",
    "+8:45": "Australia/Eucla",
    "+9": "Asia/Tokyo",
    "+9:30": "Australia/Darwin",
    "+10": "Australia/Brisbane",
    "+11": "Pacific/Guadalcanal",
    "+12": "Pacific/Tarawa",
    "+13": "Pacific/Tongatapu",
    "+14": "Pacific/Kiritimati",
}


def zone_to_write(shown: Scalar, entity: Entity, before: RecordedEntity | None) -> Scalar:
    """Return what to write so that the service goes on showing `shown`.

    The declared name, if that is what we sent and `shown` is what the service made of it, or an offset that
    it has in a year; else a zone with that offset; else the text itself, which then is a name already.
    """
    declared = entity.fields.get(ZONE_PATH, "")
    sent: Fields = before.sent if before else {}
    # The name that we sent comes first: the service may keep more of it than it shows
    # (tests/core/test_zones.py).
    if before and declared and declared == sent.get(ZONE_PATH) and shown == before.shown.get(ZONE_PATH):
        return declared
    # The offset of summer is no other zone than that of winter: Melbourne would become Guadalcanal.
    if declared and zone_has_offset(declared, shown):
        return declared
    # An offset that is sent back reads as "0" (docs/service.md, contacts): everybody a PUT touches would move
    # to London.
    return FIXED_OFFSET_ZONES.get(str(shown), shown)


def zone_has_offset(declared: Scalar, shown: Scalar) -> bool:
    """Whether the service may show `shown` for the declared name: an offset that it has in a year."""
    # Any offset of the year: it is not documented whether the one of today or that of winter is shown.
    return str(shown) in zone_offsets(str(declared))


# --- A body of the service -> LiveEntity ----------------------------------------------------------


def observe_entity(
    kind: str, workspace: str, remote_id: str, body: Mapping[str, Any], *, seen: str = "", parent_id: str = ""
) -> LiveEntity:
    """Return one whole body as a live entity.

    `workspace` is the alias; `seen` the service's clock at the answer (ISO 8601), "" where unknown;
    `parent_id` the remote id of a device's contact.
    """
    # Live data of any shape is data, never a crash: a time that is no text is no time.
    modified = body.get("lastModifiedTime")
    return LiveEntity(
        kind=kind,
        workspace=workspace,
        remote_id=remote_id,
        fields=flatten_body(kind, body),
        parent_id=parent_id,
        modified=modified if isinstance(modified, str) else "",
        seen=seen,
        # A body without the list says nothing of devices. Read as "none", each would seem gone and be made
        # again.
        devices_known=any(isinstance(body.get(child.rows_key), list) for child in child_kinds(kind)),
    )
