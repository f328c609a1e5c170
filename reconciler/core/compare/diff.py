"""Two entities, and what we recorded of them, to the fields that must change, each with its cause."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from reconciler.core.compare import normalize
from reconciler.core.compare.normalize import (
    digest_for_store,
    digest_value_for_store,
    normalize_fields,
    redact_value_for_plan,
)
from reconciler.core.compare.readback import is_flag_cleared
from reconciler.core.text import trim_edges
from reconciler.model.documents import Fields, Scalar
from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Cause, FieldChange, Skip
from reconciler.model.snapshots import Entity, LiveEntity, RecordedEntity


class Salts(Struct, frozen=True):
    """The keys of the digests that stand for secrets: the store's, and this plan's."""

    store: str
    plan: str


class Difference(Struct, frozen=True):
    """The fields to change, by path, and what was seen and is left alone."""

    fields: tuple[FieldChange, ...] = ()
    skips: tuple[Skip, ...] = ()


# Why a field is not written.
Unchanged = Literal[
    "as declared",
    "as sent",  # the service shows it in its own way, and has since it was sent
    "not readable",  # never shown; as it was sent last
    "not clearable",  # a PUT that leaves it out keeps it
    "same offset",  # the service shows the offset of the declared time zone
    "cleared",  # no longer declared, and not there any more
]
Judgement = FieldChange | Skip | Unchanged


def diff_entity(
    desired: Entity,
    live: LiveEntity,
    recorded: RecordedEntity | None,
    *,
    salts: Salts,
    reactivate: bool = False,
) -> Difference:
    """Compare declared fields only, three ways. Source: planning rules D1 to D5.

    Masks: `desired` and `live` hold values, `recorded` holds secrets as digests under the store's
    salt; the result holds them as digests under the plan's.
    """
    if recorded is None and not reactivate and _is_live_as_declared(desired, live):
        return Difference((), ())
    changes, skips = [], []
    for _, found in compare_fields(desired, live, recorded, salts=salts, reactivate=reactivate):
        if isinstance(found, FieldChange):
            changes.append(found)
        elif isinstance(found, Skip):
            skips.append(found)
    return Difference(tuple(sorted(changes, key=lambda change: change.path)), tuple(skips))


def _is_live_as_declared(desired: Entity, live: LiveEntity) -> bool:
    """Whether every declared field can be read, and is live as declared: then it needs no record to tell."""
    # Nearly everybody of a first plan.
    kind, shows = KINDS[desired.address.kind], live.fields
    if desired.controls.reactivate or not kind.write_only.isdisjoint(desired.fields):
        return False
    want = normalize_fields(kind.name, desired.fields)
    return all(shows.get(path, "") == value for path, value in want.items())


def unchanged_since_apply(
    desired: Entity, live: LiveEntity, recorded: RecordedEntity, *, reactivate: bool = False
) -> bool:
    """Whether it is certain at a glance that nothing is to be written of an entity, nor to be recorded.

    What is declared was sent, and every field is live as declared, or as it was shown then. Where this is
    false `diff_entity` decides, and `record_changes`; where it is true both find nothing.
    """
    kind, controls = KINDS[desired.address.kind], desired.controls
    # Nearly everything in nearly every plan. What needs a digest, or a rule of its own, is not decided here.
    if controls.ignore or controls.reactivate or reactivate or desired.unowned_paths:
        return False
    want = normalize_fields(kind.name, desired.fields)
    if want != recorded.sent or controls.protect != recorded.protected or not kind.veiled.isdisjoint(want):
        return False
    shows, shown = live.fields, recorded.shown
    return all(
        shows.get(path, "") == value
        or (path not in kind.revives and shows.get(path, "") == shown.get(path, ""))
        for path, value in want.items()
    )


def compare_fields(
    desired: Entity,
    live: LiveEntity,
    recorded: RecordedEntity | None,
    *,
    salts: Salts,
    reactivate: bool = False,
) -> Iterator[tuple[str, Judgement]]:
    """Yield what becomes of each field that is compared, by path: declared ones, then those we sent once."""
    kind = KINDS[desired.address.kind]
    want = {
        path: value
        for path, value in normalize_fields(kind.name, desired.fields).items()
        if not is_ignored_path(desired, path)
    }
    reactivate, revives = reactivate or desired.controls.reactivate, kind.revives
    for path, (off, on) in revives.items():
        if reactivate and live.fields.get(path) == off:
            want.setdefault(path, on)  # asked for by name, so it need not be declared as well
    state = _Comparison(kind, live.fields, recorded, salts)
    for path, value in sorted(want.items()):
        if path in revives:
            yield path, _decide_status(desired, state, (path, value), revives[path], reactivate=reactivate)
        else:
            yield path, state.field(path, value)
    for path in _withdrawn_paths(desired, kind, recorded):
        yield path, _decide_withdrawn(desired, state, path)


class _Comparison:
    """One live entity beside its record, with secrets brought to one form on both sides."""

    def __init__(self, kind: Kind, live: Fields, recorded: RecordedEntity | None, salts: Salts) -> None:
        self.kind = kind
        self.salts = salts
        self.live = live
        self.sent: Fields = recorded.sent if recorded else {}
        self.shown: Fields = recorded.shown if recorded else {}
        # The record never holds a secret in clear; live values are brought to its form to compare.
        self.live_masked = digest_for_store(kind.name, live, salts.store)

    def changed_since_shown(self, path: str) -> bool:
        """Whether the live value is not the one that the service last showed us: blanks at its edges aside.

        An offset of the time zone that we sent is the one that it showed, at another time of the year.
        """
        if self.same_as_shown(path) or self._same_zone_as_shown(path):
            return False
        # Older records hold what was shown without them (tests/core/test_diff.py): those are unchanged.
        now = digest_value_for_store(
            self.kind.name, path, _trim_value(self.live.get(path, "")), self.salts.store
        )
        return now != _trim_value(self.shown.get(path, ""))

    def same_as_shown(self, path: str) -> bool:
        """Whether the live value is, to the character, the one that the service last showed us."""
        return self.live_masked.get(path, "") == self.shown.get(path, "")

    def _same_zone_as_shown(self, path: str) -> bool:
        """Whether the service shows, and showed when we sent it, an offset that the zone has in a year."""
        sent = self.sent.get(path, "")
        return self._same_zone(path, sent, self.live) and self._same_zone(path, sent, self.shown)

    @staticmethod
    def _same_zone(path: str, zone: Scalar, seen: Fields) -> bool:
        return path == normalize.ZONE_PATH and normalize.zone_has_offset(zone, seen.get(path, ""))

    def field(self, path: str, value: Scalar) -> FieldChange | Unchanged:
        """Decide one declared field (rule D2; D3 for what cannot be read back).

        declared is what was sent | live is what was shown then | result
        yes                       | yes                         | unchanged, as sent
        yes                       | no                          | drifted
        no                        | yes                         | declared
        no                        | no                          | both
        """
        known = path in self.sent
        as_sent = known and self._as_sent(path, value)
        # D3: the service never shows it, so the record alone decides; without one it is sent once and said to
        # be.
        if path in self.kind.write_only:
            cause: Cause = "declared" if known else "unknown"
            same = as_sent or (value == "" and not known)
            return "not readable" if same else self._change(path, value, cause)
        # A PUT that leaves a sticky field out keeps it (docs/service.md, contacts), so clearing would never
        # end (D5).
        if value == self.live.get(path, ""):
            return "as declared"
        if value == "" and path in self.kind.sticky:
            return "not clearable"
        if not known:
            # After a lost store every contact with a zone would be written once, to change nothing
            # (tests/core/test_zones.py).
            shown = self._same_zone(path, value, self.live)
            return "same offset" if shown else self._change(path, value, "declared")
        match (as_sent, self.changed_since_shown(path)):
            # The service rewrote it when we sent it; again it changes nothing.
            case (True, False) if self.same_as_shown(path) or self._same_zone_as_shown(path):
                return "as sent"
            case (True, True):
                return self._change(path, value, "drifted")
            # Also blanks that the service was not seen to write by itself: they are taken off, once.
            case (_, False):
                return self._change(path, value, "declared")
            case _:
                return self._change(path, value, "both")

    def clear(self, path: str) -> FieldChange:
        """Clear a field that we set and that is no longer declared."""
        return self._change(path, None, "no longer declared")

    def _as_sent(self, path: str, value: Scalar) -> bool:
        sent = self.sent[path]
        if not sent or not value:  # "" stands for itself, and needs no digest of the other one
            return sent == value
        return sent == digest_value_for_store(self.kind.name, path, value, self.salts.store)

    def _change(self, path: str, value: Scalar | None, cause: Cause) -> FieldChange:
        before = self.live.get(path)
        if path in self.kind.secret:
            kind, salt = self.kind.name, self.salts.plan
            before = before if before is None else redact_value_for_plan(kind, path, before, salt)
            value = value if value is None else redact_value_for_plan(kind, path, value, salt)
        return FieldChange(path, before, None if value == "" else value, cause)


def _trim_value(value: Scalar) -> Scalar:
    return value if isinstance(value, bool) else trim_edges(value)


def _decide_status(
    desired: Entity,
    state: _Comparison,
    wanted: tuple[str, Scalar],
    revives: tuple[str, str],
    *,
    reactivate: bool,
) -> Judgement:
    """Decide a status that the service sets too: what it disabled stays so until asked otherwise (D4)."""
    path, value = wanted
    now = state.live.get(path, "")
    # Enabled again, it costs: its pushes are charged (docs/service.md, devices). So it takes a wish by name.
    if (now, value) != revives:
        return state.field(path, value)
    if reactivate:
        return FieldChange(path, now, value, "reactivated")
    return Skip(
        desired.address,
        "disabled",
        "was disabled by the service after failed pushes; it stays disabled.",
        f"reconciler apply --reactivate {desired.address}   (pushes are charged again)",
    )


def _withdrawn_paths(desired: Entity, kind: Kind, recorded: RecordedEntity | None) -> Iterator[str]:
    """Yield what we once sent, that the manifest does not speak of any more and that can be cleared."""
    for path in sorted(recorded.sent if recorded else ()):
        # None of them can be cleared: a sticky field stays when a PUT leaves it out, and of one that is never
        # shown it is not known whether it still is what we sent. A secret that is no longer declared is no
        # longer ours: without it a device cannot be reached.
        if (
            path not in desired.fields
            and path not in kind.sticky | kind.write_only | kind.readable_secrets
            and not is_ignored_path(desired, path)
        ):
            yield path


def _decide_withdrawn(desired: Entity, state: _Comparison, path: str) -> Judgement:
    # Gone already, or a flag that shows false because its channel keeps another option: clearing that again
    # and again would never end (D5).
    if path not in state.live or is_flag_cleared(state.kind.name, path, "", state.live[path]):
        return "cleared"
    if not state.changed_since_shown(path):
        return state.clear(path)
    return Skip(
        desired.address,
        "taken over",
        f"{path} is no longer declared, and somebody else has changed it since; it is left as it is.",
        "declare the field to manage it again, or leave it as it is",
    )


def is_ignored_path(desired: Entity, path: str) -> bool:
    """Whether `meta.ignore` names the path, or what it belongs to."""
    if not desired.controls.ignore:
        return False
    # With the dot: `role` must not silence `role1` (tests/core/test_diff.py).
    return any(path == other or path.startswith(f"{other}.") for other in desired.controls.ignore)


def paths_to_read(desired: Iterable[Entity], recorded: Mapping[str, RecordedEntity]) -> frozenset[str]:
    """Return every path that `diff_entity` will look at for these entities: what a read has to bring."""
    # A list that brings less than this makes unread fields look empty, and the plan would fill them.
    wanted = {path for entity in desired for path in entity.fields}
    return frozenset(wanted.union(*(record.sent for record in recorded.values())))
