"""Whether the service took what was sent: each field as it was before, as it was sent, and as it reads back.

    reads back as sent, after normalizing        taken
    as it was before, in any spelling, or absent not taken: nothing is recorded, the next plan shows it again
    as sent, with blanks at its edges            taken, and rewritten as in the next line
    reads back as something else                 taken; from now on this is how the service writes that value,
                                                 but not where nothing was sent: then it is not taken either

Of a create also: is the entity that came back the one that was sent? What a record then says is decided in
core/planning/records.py.
"""

from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct

from reconciler.core.compare import normalize
from reconciler.core.compare.identity import email_key, identity_key, identity_text
from reconciler.core.compare.normalize import (
    is_flag,
    normalize_fields,
    redact_for_plan,
    redact_value_for_plan,
)
from reconciler.core.text import fold_case, has_edges, parse_instant, trim_edges
from reconciler.model.documents import Fields, Scalar
from reconciler.model.field_types import ReadBack, require_rows, same_phone
from reconciler.model.kind import PHONE_NAME, IdentityPath, Key
from reconciler.model.kinds import KINDS
from reconciler.model.runs import FieldResult


class FieldReadings(Struct, frozen=True):
    """What a read-back says of the fields that were sent.

    `taken` are the paths that a record may claim: shown as sent, rewritten, or never readable.
    `refused` were not taken, `rewritten` are shown in the service's own way; both by path.
    """

    taken: frozenset[str]
    refused: tuple[FieldResult, ...] = ()
    rewritten: tuple[FieldResult, ...] = ()


def judge_read_back(
    kind: str,
    sent: Fields,
    shown: Fields,
    *,
    before: Fields | None,
    salt: str,
    touched: bool = True,
) -> FieldReadings:
    """Judge each field of `sent` ("": to be cleared) by what the service shows now.

    `before` is what it showed right before the write ({}: the entity is new). None: too long ago to tell who
    wrote another value, so whatever is not as sent is not taken. Values of the result are secrets masked
    with `salt`. What cannot be read back counts as taken, but not when the write visibly did nothing:
    none of its readable fields was taken, or the service's time of change has not moved (`touched` false).
    """
    row = KINDS[kind]
    readable = {
        path: value for path, value in normalize_fields(kind, sent).items() if path not in row.write_only
    }
    results = {
        path: _judge_field(kind, path, value, shown.get(path, ""), before) for path, value in readable.items()
    }
    # Leaving a sticky field out clears nothing, so that it still shows is no refusal (docs/planning.md, S).
    kept = {
        path: one for path, one in results.items() if not (one and path in row.sticky and one.sent is None)
    }
    refused = tuple(_redact_result(kind, one, salt) for one in kept.values() if one and not one.taken)
    rewritten = tuple(_redact_result(kind, one, salt) for one in kept.values() if one and one.taken)
    taken = readable.keys() - {one.path for one in refused}
    hidden = sent.keys() & row.write_only
    # A PUT that did nothing visible did not set the password either (tests/core/test_taken.py).
    if hidden and touched and (taken or not readable):
        taken |= hidden
    elif hidden:
        # What can never be read back has no value to show.
        refused += tuple(
            _redact_result(kind, FieldResult(path, _none_for_empty(sent[path]), None), salt)
            for path in sorted(hidden)
        )
    return FieldReadings(frozenset(taken), tuple(sorted(refused)), tuple(sorted(rewritten)))


def reads_back_as(kind: str, path: str, sent: Scalar, shown: Scalar) -> bool:
    """Whether a value reads back as it was sent: equal, or another spelling of the same.

    Both are in the normal form of the field already.

    Spellings: the offset that a time zone has in a year, the digits of a phone number, the letter case and
    the A-labels of an e-mail address. Blanks at the edges are another value: none are sent.
    """
    if sent == shown or is_flag_cleared(kind, path, sent, shown):
        return True
    # No value is another spelling of none: once learnt, it would stay there for ever, unnoticed.
    if sent == "" or shown == "" or isinstance(sent, bool) or isinstance(shown, bool):
        return False
    if has_edges(shown) or has_edges(sent):
        return False
    rule = KINDS[kind].type_of(path).same
    if rule == "identity" and PHONE_NAME.search(path) and "." not in path:
        rule = same_phone
    return _SAME[rule](path, sent, shown) if isinstance(rule, str) else rule(sent, shown)


def is_flag_cleared(kind: str, path: str, sent: Scalar, shown: Scalar) -> bool:
    """Whether a flag was taken away: a channel that keeps another option shows it as false, never as absent.

    Source: docs/service.md, contacts. To clear it again and again would be a write without an end.
    """
    return sent == "" and shown is False and is_flag(kind, path)


def judge_identity(
    kind: str, sent: Fields, shown: Fields, keys: tuple[Key, ...]
) -> Literal["same", "other", "hidden"]:
    """Whether what the service shows is the entity that was sent, by every identity that was sent.

    One field that differs is another entity. `hidden`: an identity field that was sent is not shown.
    """
    wanted = {path: str(sent[path]) for key in keys for path in key if sent.get(path)}
    # One that differs is enough: an answer that shows somebody else makes no stranger ours (rule A3).
    if any(not _identity_reads_back(kind, path, sent, shown) for path in wanted if path in shown):
        return "other"
    return "same" if wanted and wanted.keys() <= shown.keys() else "hidden"


def _identity_reads_back(kind: str, path: str, sent: Fields, shown: Fields) -> bool:
    """Whether an identity value is shown as it was sent, or is the same identity."""
    if reads_back_as(kind, path, sent[path], shown[path]):
        return True
    # A country that is not shown is the one that was sent with the number.
    beside = path.beside if isinstance(path, IdentityPath) else ()
    known = {**{one: sent[one] for one in beside if one in sent}, **shown}
    return bool(shown[path]) and identity_text(path, sent) == identity_text(path, known)


def _judge_field(
    kind: str, path: str, sent: Scalar, shown: Scalar, before: Fields | None
) -> FieldResult | None:
    """Return None where the value is taken as it is."""
    if reads_back_as(kind, path, sent, shown):
        return None
    # An absent value is never a way of writing one: a number that is not there is a lost call. Nor is a
    # value a way of writing none: somebody else wrote it, or the service fills in a default.
    learnt = (
        before is not None
        and sent != ""
        and shown != ""
        # The old value in another spelling is no effect either: a gateway may ignore a field and format it.
        # But the value that was sent with blanks around it is what the service makes of that one: sent again
        # and again, it would never end (tests/core/test_taken.py).
        and (
            _same_without_edges(kind, path, sent, shown)
            or not _same_without_edges(kind, path, before.get(path, ""), shown)
        )
    )
    return FieldResult(path, _none_for_empty(sent), _none_for_empty(shown), taken=learnt)


def _same_without_edges(kind: str, path: str, one: Scalar, other: Scalar) -> bool:
    """Whether two values are the same but for blanks at their edges."""
    texts = (value if isinstance(value, bool) else trim_edges(value) for value in (one, other))
    return reads_back_as(kind, path, *texts)


def _none_for_empty(value: Scalar) -> Scalar | None:
    return None if value == "" else value


def _redact_result(kind: str, one: FieldResult, salt: str) -> FieldResult:
    if one.path not in KINDS[kind].secret:
        return one
    sent, shown = (
        value if value is None else redact_value_for_plan(kind, one.path, value, salt)
        for value in (one.sent, one.shown)
    )
    return FieldResult(one.path, sent, shown, one.taken)


# Whether two values are spellings of one, by the type of their field, where the texts alone do not decide.
_SAME: Mapping[ReadBack, Callable[[str, str, str], bool]] = require_rows(
    ReadBack,
    {
        "identity": lambda path, sent, shown: identity_key(path, sent) == identity_key(path, shown),
        "email": lambda _path, sent, shown: email_key(sent) == email_key(shown),
        "zone": lambda _path, sent, shown: normalize.zone_has_offset(sent, shown),
    },
)


# --- Creates: is what was made, or may have been made, the entity that was sent? ------------------
#
# A service may write an address in its own way: a domain in its A-label, without the part behind a plus sign,
# gmail for googlemail. Taken for somebody else's, every apply would make one more person. Taken for ours too
# easily, a stranger would be ours.
# Source: docs/planning.md, A12.


MadeAs = Literal["same", "rewritten", "hidden", "other"]

# Seconds for which the service's clock and the moment of a request may disagree: it tells whole seconds.
_slack_s = 2.0


def judge_created(
    kind: str,
    sent: Fields,
    reading: FieldReadings,
    shown: Fields,
    *,
    keys: tuple[Key, ...],
    of_another: bool,
    old: bool,
) -> MadeAs:
    """Return what a new entity is that shows these fields; `reading` is what it says of each that was sent.

    `of_another`: it shows the identity of another entity that is declared or recorded. `old`: it was there
    before the create was sent. What it shows otherwise may be its identity alone.

        identity       everything else | of another, or old | is
        same           any             | (not asked)        | same
        other          as sent         | no                 | rewritten: the service writes it in its own way
        hidden         as sent, or not | no                 | hidden: taken for it, as far as can be seen
                       shown           |                    |
        other, hidden  otherwise       | any                | other
    """
    identity = judge_identity(kind, sent, shown, keys)
    if identity == "same":
        return "same"
    paths = {path for key in keys for path in key}
    apart = {one.path for one in (*reading.refused, *reading.rewritten)} - paths
    if identity == "hidden":
        # A field that is not shown does not differ: that a create lost it is said, and it is planned again.
        apart -= {one.path for one in reading.refused if one.shown is None}
    if apart or of_another or old or not reading.taken - paths:
        return "other"
    return "rewritten" if identity == "other" else "hidden"


# So many values that tell one from another have to agree; of an entity that has fewer, all of them.
_agreeing_min = 2
# So many where one of them differs, and it is no older than the create: the service may rewrite that one too.
_agreeing_but_one_min = 3


def may_have_created(
    kind: str, sent: Fields, shown: Fields, *, keys: tuple[Key, ...], salt: str, fresh: bool
) -> bool:
    """Whether a create whose answer was lost may have made an entity that shows another identity.

    Asked only of entities that are neither recorded nor declared by another entry. Values are compared
    that were sent and are shown, except the identities and values that many share (countries, time zones,
    flags, messaging options). `fresh`: its time of change says that it is no older than the create. Secrets
    of `sent` are in clear or masked with `salt`, those of `shown` in clear. A text in another letter case
    agrees: a service that writes addresses in its own way may do so with names.

        values that differ | values that tell, and agree            | may be
        none               | 2, or all where fewer were sent        | yes
        none               | fewer, or nothing but the identity     | no
        one                | 3 or more, of a fresh one              | yes
        otherwise          | any                                    | no
    """
    row = KINDS[kind]
    unasked = {path for key in keys for path in key} | row.unread | row.revives.keys()
    telling = [
        path
        for path, value in sent.items()
        if value != "" and path not in unasked and row.type_of(path).distinguishes
    ]
    veiled = redact_for_plan(kind, shown, salt)
    both = [path for path in telling if shown.get(path, "") != ""]
    equal = {p for p in both if _is_same_value(kind, p, sent[p], shown[p]) or sent[p] == veiled[p]}
    differing = len(both) - len(equal)
    # A word of a list (public, private) may speak against it, and never for it.
    agreeing = len(equal - row.folds.keys())
    fewest = max(1, min(_agreeing_min, len(set(telling) - row.folds.keys())))
    if differing == 0:
        return agreeing >= fewest
    return differing == 1 and fresh and agreeing >= _agreeing_but_one_min


def _is_same_value(kind: str, path: str, sent: Scalar, shown: Scalar) -> bool:
    texts = [fold_case(trim_edges(str(value))) for value in (sent, shown)]
    return reads_back_as(kind, path, sent, shown) or (path not in KINDS[kind].secret and texts[0] == texts[1])


def is_older_than_request(modified: str, seen: str, *, within_s: float) -> bool:
    """Whether an entity was there before a request that was sent `within_s` seconds before it was seen.

    Both times are the service's (ISO 8601). Without one of them nothing is said.
    """
    changed, looked = parse_instant(modified), parse_instant(seen)
    if changed is None or looked is None:
        return False
    return (looked - changed).total_seconds() > within_s + _slack_s
