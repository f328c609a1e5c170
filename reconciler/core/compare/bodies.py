"""The bodies that are sent: a declared entity to POST, or the fresh body with our changes to PUT.

A PUT replaces everything, so what is not declared, fields that this version does not know
included, is carried over from the body that was read a moment before (planning rule A4).
"""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from reconciler.core.compare import normalize
from reconciler.core.compare.diff import is_ignored_path
from reconciler.core.compare.normalize import SECRET, custom_field_name, flatten_body, list_objects
from reconciler.core.text import fold_case
from reconciler.model.documents import Fields, Scalar
from reconciler.model.field_types import FieldShape, require_rows
from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS
from reconciler.model.plans import FieldChange, Update
from reconciler.model.snapshots import Entity, LiveEntity, RecordedEntity

# --- Secrets that are not declared and that a PUT has to carry ------------------------------------
#
# What a look shows of one, and what follows:
#
#     a value that can be the secret      the PUT carries it, and the read-back has to show the same
#     nothing, where the service needs one   no PUT: it would take the secret away
#     a mask in its place                 no PUT: it would put the mask in the place of the secret
#
# Which form a GET has is not known (docs/service.md, devices). So everything that may stand for a secret, and
# is not one, is a row of MASKS; a new form is one row. Which fields these are: `readable_secrets` of a kind.
# No value gets into a message, and none is kept.


# Characters. A token of a push platform has 64 or more, and what stands for one often its last four.
secret_length_min = 8
# Contacts whose devices show one value. A duty phone may stand under two of them.
alike_min = 3

_WORDS = frozenset(
    {
        *("redacted", "hidden", "masked", "secret", "withheld", "removed", "concealed", "obfuscated"),
        *(
            "confidential",
            "protected",
            "private",
            "encrypted",
            "sensitive",
            "filtered",
            "omitted",
            "censored",
        ),
        *("null", "none", "nil", "undefined", "unknown", "unavailable", "empty", "default", "placeholder"),
        *("notshown", "notavailable", "notdisclosed", "notset", "password", "token", "string", "value"),
        *("pushtoken", "devicetoken", "hiddenvalue", "redactedvalue", "maskedvalue", "secretvalue"),
    }
)
# Parts of a name for something that is not shown, such as `token-not-shown`, and what says that it is not.
_PARTS = frozenset({*"na", *("push", "device", "api", "key", "data", "is", "the", "by", "for", "policy")})
_NOT_SHOWN = frozenset(
    {
        *("redacted", "hidden", "masked", "withheld", "removed", "concealed", "obfuscated", "filtered"),
        *("omitted", "censored", "not", "shown", "available", "unavailable", "undisclosed", "disclosed"),
        *("encrypted", "confidential", "placeholder", "undefined", "null", "na"),
    }
)
# What pads a mask, and is in no token: those are base64url, hexadecimal, and ":" between two parts.
_MASK_SIGNS = "*•●∙·⋅…█▒░■◦○※⚫"
_PADDED = re.compile(
    rf"[{re.escape(_MASK_SIGNS)}]|\.\.|^[xX]{{4}}|[xX]{{4}}$|^[#?]{{3}}|[#?]{{3}}$|[xX]{{8}}"
    r"|^([-_=~+/])\1{3}|([-_=~+/])\2{3}$"
)
# A token may end in brackets (`ExponentPushToken[...]`), and begins with none.
_BRACKETED = re.compile(r"^(?:<.*>|\[.*\]|\(.*\)|\{.*\}|\$\{.*|%.*%|__.*__)$|^[\[(<{].*[\])>}]", re.DOTALL)
_IN_BRACKETS = re.compile(r"[\[(<{]([^\[\](){}<>]*)[\])>}]")
# No platform writes them into a token: those are letters, digits and what a URL may hold.
_IN_NO_TOKEN = re.compile(r"[^\x20-\x7e]|[(){}<>|\\^`\";]")
_DIGEST = re.compile(
    r"^(?:secret|sha-?\d+|md5|hmac|scrypt|bcrypt|argon2\w*|pbkdf2)[:$]|^\$\w+\$", re.IGNORECASE
)
_SIGN = re.compile(r"[^a-z0-9]")
# As Apple once wrote a token: eight groups of eight digits, in angle brackets.
_IN_GROUPS = re.compile(r"<?[0-9a-fA-F]{8}(?: [0-9a-fA-F]{8}){7,}>?")


class MaskForm(Struct, frozen=True):
    """One form of what is shown in the place of a secret, and what is said of it. `example` has the form."""

    says: str
    example: str
    fits: Callable[[str], object]


def is_placeholder_word(text: str) -> bool:
    """Whether nothing but the words of a placeholder stands there: `[REDACTED]`, `NOT_AVAILABLE`."""
    folded = fold_case(text)
    words = _SIGN.sub(" ", folded).split()
    named = not _NOT_SHOWN.isdisjoint(words) or folded.startswith("n/a")
    return "".join(words) in _WORDS or (named and _WORDS.union(_PARTS, _NOT_SHOWN).issuperset(words))


def _is_hidden_in_brackets(text: str) -> bool:
    return _BRACKETED.match(text) is not None or any(map(is_placeholder_word, _IN_BRACKETS.findall(text)))


MASKS: tuple[MaskForm, ...] = (
    MaskForm("is shorter than a secret can be", "1234", lambda text: len(text) < secret_length_min),
    MaskForm("holds blanks or control characters", "not shown here", re.compile(r"[\s\x00-\x1f\x7f]").search),
    MaskForm("is filled with the characters of a mask", "************1234", _PADDED.search),
    MaskForm("stands in brackets", "<not-shown>", _is_hidden_in_brackets),
    MaskForm("is a word that stands for a hidden value", "REDACTED", is_placeholder_word),
    MaskForm("is a digest", f"{SECRET}0123456789abcdef", _DIGEST.match),
    MaskForm("holds characters that tokens do not have", "jetón-0001-verborgen", _IN_NO_TOKEN.search),
    MaskForm(
        "repeats one or two characters",
        "00000000-0000-0000",
        lambda text: len({*fold_case(text)}) <= 2,  # noqa: PLR2004 - the row says which number
    ),
)


_NO_TEXT = "is not shown as text"


def why_not_secret(value: Scalar) -> str:
    """Return why a shown value cannot be the secret itself, as the end of a sentence; "" where it can be."""
    if value == "":
        return "is not shown"
    if isinstance(value, bool):
        return _NO_TEXT
    if _IN_GROUPS.fullmatch(value):
        value = value.strip("<>").replace(" ", "")
    return next((one.says for one in MASKS if one.fits(value)), "")


def find_shared_secrets(rows: Iterable[LiveEntity]) -> frozenset[str]:
    """Return the values that stand for a secret everywhere: half of the entities of a workspace show them.

    And several contacts do: the devices of one are in each workspace that shares her, and some share a phone.
    """
    holders: dict[tuple[str, str, str], dict[str, set[str]]] = {}
    for row in rows:
        for path in KINDS[row.kind].readable_secrets & row.fields.keys():
            values = holders.setdefault((row.kind, row.workspace, path), {})
            values.setdefault(str(row.fields[path]), set()).add(row.parent_id or row.remote_id)
    return frozenset(
        value
        for values in holders.values()
        for value, ids in values.items()
        if len(ids) >= alike_min and 2 * len(ids) >= sum(map(len, values.values()))
    )


def _why_not_carried(kind: Kind, fresh: Mapping[str, Any], path: str, shown: Scalar) -> str:
    """Return why what a body shows of a secret cannot be it; `shown` is its normal form, always a text."""
    number = isinstance(fresh.get(kind.wire.get(path, path)), int | float)
    return _NO_TEXT if number else why_not_secret(shown)


class UnusableSecret(Struct, frozen=True):
    """A secret that a PUT would take away or spoil: its field, and why, as the end of a sentence."""

    path: str
    why: str


def list_undeclared_secrets(entity: Entity, change: Update) -> tuple[str, ...]:
    """Return the readable secrets that an update leaves as they are: not declared, or ignored."""
    written = {field.path for field in change.fields}
    return tuple(
        sorted(
            path
            for path in KINDS[change.address.kind].readable_secrets - written
            if not entity.fields.get(path) or is_ignored_path(entity, path)
        )
    )


def find_unusable_secrets(
    fresh: Mapping[str, Any], entity: Entity, change: Update, shared: frozenset[str] = frozenset()
) -> Iterator[UnusableSecret]:
    """Yield each undeclared secret that a PUT of `fresh` would lose. `shared` are values of several entities.

    One that the service does not need, and does not show, may not be set at all: it is none of them.
    """
    kind = KINDS[change.address.kind]
    shown = flatten_body(kind.name, fresh)
    for path in list_undeclared_secrets(entity, change):
        value = shown.get(path, "")
        why = _why_not_carried(kind, fresh, path, value) or (
            "is the same for several of them" if value in shared else ""
        )
        if why and (value != "" or path in kind.required):
            yield UnusableSecret(path, why)


def find_stand_in_secrets(fresh: Mapping[str, Any], entity: Entity, change: Update) -> Fields:
    """Return the declared secrets that a PUT of `fresh` would spoil: a look shows no value of them."""
    kind = KINDS[change.address.kind]
    if kind.readable_secrets.isdisjoint(entity.fields):
        return {}
    left = {*list_undeclared_secrets(entity, change), *(field.path for field in change.fields)}
    shown = flatten_body(kind.name, fresh)
    return {
        path: entity.fields[path]
        for path in sorted(kind.readable_secrets - left)
        if _why_not_carried(kind, fresh, path, shown.get(path, ""))
    }


def find_lost_secrets(
    looked: Mapping[str, Any], found: Mapping[str, Any], entity: Entity, change: Update
) -> tuple[str, ...]:
    """Return the undeclared secrets that a PUT has carried, and that are not shown as they were before it."""
    paths = list_undeclared_secrets(entity, change)
    if not paths:
        return ()
    before, after = flatten_body(change.address.kind, looked), flatten_body(change.address.kind, found)
    return tuple(path for path in paths if path in before and after.get(path, "") != before[path])


Body = dict[str, Any]


def make_create_body(entity: Entity) -> Body:
    """Return the body to POST: every declared field that is not to be cleared, in the service's form."""
    return _overlay_values(
        entity.address.kind, {}, {path: v for path, v in entity.fields.items() if v != ""}, entity
    )


def make_update_body(
    fresh: Mapping[str, Any], entity: Entity, change: Update, before: RecordedEntity | None = None
) -> Body:
    """Return the body to PUT: `fresh` with exactly the changed paths overlaid. `before` is our record of it.

    `entity` gives the values (a change holds secrets only as digests); a changed path that it does
    not declare is cleared. A device's status is the one just read, unless the change says otherwise.
    """
    kind = KINDS[change.address.kind]
    # All the rest stays, nested and unknown fields too: a PUT removes what it leaves out (docs/service.md,
    # contacts).
    base = {key: value for key, value in fresh.items() if key not in kind.server_owned}
    values: dict[str, Scalar] = {field.path: _value_to_send(entity, field) for field in change.fields}
    for path in kind.zones:
        if path in base and path not in values:
            base[path] = normalize.zone_to_write(base[path], entity, before)
    # What cannot be read back would be lost by a PUT without it; where declared, it always travels along.
    values |= {path: entity.fields[path] for path in kind.write_only if path in entity.fields}
    # So would be what is shown as a mask, or not at all.
    values |= find_stand_in_secrets(fresh, entity, change)
    return _overlay_values(kind.name, base, values, entity)


def _value_to_send(entity: Entity, field: FieldChange) -> Scalar:
    # A device may be reactivated though its manifest says nothing of the status, or ignores it.
    if field.cause == "reactivated" and field.after is not None:
        return field.after
    return entity.fields.get(field.path, "")


def _overlay_values(kind: str, base: Body, values: Fields, entity: Entity) -> Body:
    row = KINDS[kind]
    body = dict(base)
    for path, text in values.items():
        head, _, below = path.partition(".")
        value = _parse_json_number(text) if path in row.numbers else text
        key = row.wire.get(head, head)
        shape = row.type_of(head).shape
        if shape == "content":
            value = _encode_content(entity)
        elif below:
            value = _SETTERS[shape](body.get(key), below, value)
        # A field is removed at the service by leaving it out (S2).
        if value in ("", {}):
            body.pop(key, None)
        else:
            body[key] = value
    return body


def _encode_content(entity: Entity) -> str:
    assert entity.content is not None, f"{entity.address}: its content is declared but was not loaded"  # noqa: S101 - our own mistake
    # docs/service.md, resources: base64 with padding. Its lines may break; these do not.
    return base64.b64encode(entity.content.data).decode("ascii")


def _parse_json_number(text: Scalar) -> Any:
    """Return the number that a text writes in JSON; another text as it is, for the service to refuse."""
    try:
        return json.loads(str(text)) if text != "" else ""
    except ValueError:
        return text


def _set_custom_field(fields: object, name: str, value: Scalar) -> list[Body]:
    """Return the list of custom fields with one set, or left out when `value` is empty."""
    found = list_objects(fields)
    if value == "":
        return [row for row in found if custom_field_name(row) != name]
    # Of a known field the value alone: its display name is the service's.
    if any(custom_field_name(row) == name for row in found):
        return [{**row, "fieldValue": value} if custom_field_name(row) == name else row for row in found]
    # A name that is new to a contact is sent as all three (docs/service.md, contacts, A).
    return [*found, {"fieldName": name, "fieldValue": value, "searchKey": f"custom_{name}"}]


def _set_channel_option(options: object, path: str, value: Scalar) -> list[Body]:
    """Return the list of messaging options with one option of one channel set.

    Leaving the list out would keep it as it is (docs/service.md, contacts), so it is always sent; a
    channel that holds nothing any more is taken off it.
    """
    channel, _, option = path.partition(".")
    found = list_objects(options)
    if not any(_is_channel(row, channel) for row in found):
        found = [*found, {"channel": channel}]
    found = [_with_key(row, option, value) if _is_channel(row, channel) else row for row in found]
    return [
        row
        for row in found
        if not _is_channel(row, channel) or any(key != "channel" and row[key] != "" for key in row)
    ]


def _set_group_field(group: object, key: str, value: Scalar) -> Body:
    """Return a group with one of its fields set, or left out when `value` is empty."""
    return _with_key(group if isinstance(group, dict) else {}, key, value)


def _replace_value(_now: object, _below: str, value: Scalar) -> Scalar:
    """Return the value: a scalar has no parts, and a dot in its name is a part of the name."""
    return value


# How one path of a field is set within what the service has of it, by the shape of the field.
_SETTERS: Mapping[FieldShape, Callable[[object, str, Scalar], list[Body] | Body | Scalar]] = require_rows(
    FieldShape,
    {
        "scalar": _replace_value,
        "content": _replace_value,
        "custom": _set_custom_field,
        "channels": _set_channel_option,
        "group": _set_group_field,
    },
)


def _with_key(row: Body, key: str, value: Scalar) -> Body:
    rest = {other: kept for other, kept in row.items() if other != key}
    return rest if value == "" else {**rest, key: value}


def _is_channel(row: Body, channel: str) -> bool:
    # A second row beside `SMS` would say two things about one channel (tests/core/test_merge.py).
    return fold_case(str(row.get("channel", ""))) == channel
