"""Saved plans: the sealed form of the file, why one may not be carried out, which of its changes differ now.

The difference in full, which a terminal shows, is made by report/plan_difference.py.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any, assert_never

from msgspec import UNSET, Struct, structs

from reconciler.core.compare.normalize import SECRET
from reconciler.core.planning.fingerprint import fingerprint, list_without_places, manifest_digest
from reconciler.core.planning.unplanned import concerns, is_left_out, list_scopes
from reconciler.core.text import parse_instant
from reconciler.model.address import Address
from reconciler.model.documents import without_row_number
from reconciler.model.encoding import encode_json, encode_json_pieces
from reconciler.model.plans import Change, Create, Delete, GuardReason, Plan, Update, Verdict, action_of
from reconciler.model.snapshots import Desired, NotPlanned, Read, Scope

# --- The file: canonical, sealed, and holding nothing that changes by itself ----------------------
#
# What a plan says of unmanaged entities (how many, in how many calls they were read) is shown on the
# screen and not kept: nothing would hold it to the truth later. Everything that is kept is compared
# with the fresh plan when the file is applied, so that what a reviewer reads is what will be done.
#
# A seal is not a signature. It finds what was changed by accident or without care; a person who can change a
# file can seal it again. Against that stand the fresh plan (`why_stale`) and encryption.


class PlanFile(Plan, frozen=True):
    """A plan as its file holds it. `program` is the version that made it, `seal` covers all the rest."""

    program: str = ""
    seal: str = ""


def seal_plan(plan: Plan, program: str) -> bytes:
    """Return the one text that a file with this plan has."""
    return b"".join(seal_plan_pieces(plan, program))


def seal_plan_pieces(plan: Plan, program: str) -> Iterator[bytes]:
    """Yield the same, for a long plan."""
    fields = {
        name: value for name, value in structs.asdict(without_transient(plan)).items() if name in _FIELDS
    }
    file = PlanFile(**fields, program=program)
    seal = hashlib.sha256()
    for piece in encode_json_pieces(file):
        seal.update(piece)
    return encode_json_pieces(structs.replace(file, seal=seal.hexdigest()), indent=2)


# The fields of a plan without those that only its file has.
_FIELDS = frozenset(Plan.__struct_fields__)


def open_plan_file(file: PlanFile) -> Plan:
    """Return the plan of a file that was found whole."""
    return Plan(**{name: value for name, value in structs.asdict(file).items() if name in _FIELDS})


def without_transient(plan: Plan) -> Plan:
    """Return the plan without what is shown when it is made and not kept."""
    # Both move by themselves: a stranger more, or a list that took another way, must not make a plan stale.
    reads = {Read(read.scope, "", 0, 0, -1, read.complete) for read in plan.reads}
    return structs.replace(
        plan, unmanaged={}, unapplied=UNSET, reads=tuple(sorted(reads, key=structs.astuple))
    )


def encode_shown(plan: Plan) -> bytes:
    """Return everything that a saved plan shows, but for its times."""
    # Two plans always differ in their times, and the fingerprint has a sentence of its own (`why_stale`).
    # A database promises no order: the number of a row is that of one answer, and no part of a review.
    changes = tuple(
        one if isinstance(one, Delete) else structs.replace(one, place=without_row_number(one.place))
        for one in plan.changes
    )
    notices = tuple(structs.replace(one, place=without_row_number(one.place)) for one in plan.notices)
    # What is left out counts, and not why: a service that fails may say something else each time.
    left = tuple(NotPlanned(one.workspace, "service", "", kinds=one.kinds) for one in plan.left_out)
    shown = structs.replace(
        without_transient(plan), changes=changes, notices=notices, not_planned=left or UNSET
    )
    # Another commit with the same manifests is no other plan.
    return encode_json(structs.replace(shown, created_at="", expires_at="", fingerprint="", commit=UNSET))


# --- Stale: is what would be done now still what the plan says? (rule A1) -------------------------

RULE = "A1"  # docs/planning.md

# How far the clocks of two machines may be apart. Seconds; more, and a plan from the future is refused.
skew_s = 300.0

Form = Mapping[str, Any]  # a change as nested plain values, fields by path, without its place

_hidden = SECRET + "hidden"  # stands for every secret where two plans mask them differently


class ChangedBetween(Struct, frozen=True):
    """The changes of two plans by address, and the addresses at which they differ, sorted."""

    old: Mapping[Address, Form]
    new: Mapping[Address, Form]
    addresses: tuple[Address, ...]


def why_stale(saved: Plan, fresh: Plan, now: datetime, *, hours: float = 24.0) -> str:
    """Return why `saved` may not be carried out any more, or "" (planning rule A1).

    `hours` is how long a plan may live by the settings. Also a plan that would do the same and that
    shows something else (a place, a count, something left alone) is refused.
    """
    if late := why_expired(saved, now, hours=hours):
        return late
    known = {(one.workspace, one.kinds) for one in saved.left_out}
    for one in fresh.left_out:
        if (one.workspace, one.kinds) not in known:
            return f"the plan is stale: {one.workspace} cannot be planned now: {one.what.removesuffix('.')}."
    # That something else would be done is worse than that something else is shown, so it is reported first.
    other = _describe_changed_answers(saved, fresh)
    agreed, agreed_now = (list_without_places(one.named_consents) for one in (saved, fresh))
    if agreed != agreed_now and not compare_plans(saved, fresh).addresses:
        return "the plan is stale: same changes, but `consent:` of the manifests allows others of them now."
    if saved.fingerprint != fresh.fingerprint:
        return f"the plan is stale: the changes would differ now{other and f'; {other}'}."
    if other:
        return f"the plan is stale: same changes, but {other}."
    if encode_shown(saved) != encode_shown(fresh):
        return "the plan is stale: same changes, but a notice, a count or a place differs."
    return ""


def narrow_saved_plan(saved: Plan, fresh: Plan, desired: Desired, *, strict: bool) -> Plan:
    """Return the part of a saved plan that may be carried out where the fresh one has to leave out more.

    `desired` is what is declared now of what the saved plan did not leave out. A workspace that cannot be
    read now leaves the rest of the plan as it was reviewed: less is done than was agreed to, and nothing
    else. Where its manifests have mistakes now, they are not those that were reviewed; then, and with
    `strict`, the plan is returned whole, and differs from the fresh one.
    """
    known = {(one.workspace, one.kinds) for one in saved.left_out}
    more = [one for one in fresh.left_out if (one.workspace, one.kinds) not in known]
    unread = all(one.by == "service" for one in more)
    if strict or not more or not unread or manifest_digest(desired, saved.salt) != saved.manifest_digest:
        return saved
    narrowed = leave_out_of_plan(saved, more, digest=fresh.manifest_digest)
    return structs.replace(narrowed, fingerprint=fingerprint(narrowed))


def leave_out_of_plan(plan: Plan, left: Collection[NotPlanned], *, digest: str) -> Plan:
    """Return a plan without everything that it says of these workspaces; `digest` is that of the others."""

    def outside(one: Scope | Address) -> bool:
        return not is_left_out(one, left)

    def counts(found: Mapping[str, int]) -> dict[str, int]:
        names = {str(scope) for scope in list_scopes(left)}
        return {name: number for name, number in found.items() if name not in names}

    used = {scope.workspace for scope in map(attrgetter("scope"), plan.reads) if outside(scope)}
    gone = {one.workspace for one in left if not one.kinds or one.workspace not in used}
    workspaces = tuple(one for one in plan.target.workspaces if one.alias not in gone)
    return structs.replace(
        plan,
        target=structs.replace(plan.target, workspaces=workspaces),
        manifest_digest=digest,
        changes=tuple(one for one in plan.changes if outside(one.address)),
        adoptions=tuple(one for one in plan.adoptions if outside(one.address)),
        skips=tuple(one for one in plan.skips if outside(one.address)),
        gone=tuple(filter(outside, plan.gone)),
        records=tuple(one for one in plan.records if outside(one.address)),
        renames={old: new for old, new in plan.renames.items() if outside(old)},
        unchanged=counts(plan.unchanged),
        outside=counts(plan.outside),
        unmanaged=counts(plan.unmanaged),
        owned=counts(plan.owned),
        contents={one: path for one, path in plan.contents.items() if outside(one)},
        consented=tuple(one for one in plan.named_consents if outside(one.address)) or UNSET,
        notices=tuple(one for one in plan.notices if not concerns(one.subject, left)),
        reads=tuple(one for one in plan.reads if outside(one.scope)),
        not_planned=tuple(sorted({*plan.left_out, *left})),
    )


def _describe_changed_answers(saved: Plan, fresh: Plan) -> str:
    """Return which directory returns other data now, as a part of a sentence, or ""."""
    before = {one.name: one.digest for one in saved.answers}
    changed = [one.name for one in fresh.answers if before.get(one.name, one.digest) != one.digest]
    if not changed:
        return ""
    who = (
        f"directory {changed[0]} returns" if len(changed) == 1 else f"directories {', '.join(changed)} return"
    )
    return f"the {who} other data now"


def why_expired(saved: Plan, now: datetime, *, hours: float) -> str:
    """Return why a saved plan is out of its time, or "".

    The file's own end counts, and so does the age that the settings allow: a later end that somebody
    writes into the file prolongs nothing.
    """
    made, until = parse_instant(saved.created_at), parse_instant(saved.expires_at)
    if made is None or until is None:
        return "the plan has no valid time of creation or expiry."
    # A date proves nothing (docs/security.md): only what no honest clock could have written is refused.
    if made > now + timedelta(seconds=skew_s):
        return f"the plan says that it was made at {_format_moment(made)}, which is in the future."
    # The shorter of the two: a later end that somebody writes into the file prolongs nothing.
    end = min(until, made + timedelta(hours=hours))
    return f"the plan expired at {_format_moment(end)}." if end <= now else ""


def compare_plans(before: Plan, after: Plan) -> ChangedBetween:
    """Return what of `before` is another one in `after`. That lines of a manifest have moved is nothing."""
    same_salt = before.salt == after.salt
    old, new = (
        {change.address: _change_form(change, same_salt) for change in plan.changes}
        for plan in (before, after)
    )
    differing = sorted(address for address in old.keys() | new.keys() if old.get(address) != new.get(address))
    return ChangedBetween(old, new, tuple(differing))


def make_stale_verdict(saved: Plan, fresh: Plan | None, why: str, next_step: str) -> Verdict:
    """Return a verdict that refuses `saved`: first `why`, then a reason for each change that is another now.

    By address. `fresh` is what would be done now, None where nothing was planned: a plan that has expired.
    """
    found = compare_plans(saved, fresh) if fresh is not None else ChangedBetween({}, {}, ())
    said = ((one, _describe_change(found.old.get(one), found.new.get(one))) for one in found.addresses)
    reasons = (GuardReason(RULE, one, 1, 0, f"{one}: {what}", "") for one, what in said)
    return Verdict((GuardReason(RULE, "", len(found.addresses), 0, why, next_step), *reasons))


def _describe_change(old: Form | None, new: Form | None) -> str:
    was, now = (form["action"] if form else "" for form in (old, new))
    if not old:
        return f"{now} now, but not in the saved plan."
    if not new:
        return f"{was} in the saved plan, but nothing to do now."
    if was != now:
        return f"{was} in the saved plan, {now} now."
    before, after = (form["before" if was == "delete" else "fields"] for form in (old, new))
    paths = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    of = f" ({', '.join(paths)})" if paths else ""
    return f"not as in the saved plan{of}."


def _change_form(change: Change, same_salt: bool) -> dict[str, Any]:  # noqa: FBT001 - both ways are named by the parameter
    """A change as nested plain values, fields by path, so that DeepDiff can name what is inside."""
    form = structs.asdict(change)
    form.pop("place", None)
    form["action"] = action_of(change)
    match change:
        case Create():
            form["fields"] = dict(change.fields)
        case Update():
            form["fields"] = {
                field.path: {"before": field.before, "after": field.after, "cause": field.cause}
                for field in change.fields
            }
        case Delete():
            form["before"] = dict(change.before)
            form["takes"] = list(form.pop("cascades"))  # the name that plan files use
        case _:
            assert_never(change)
    return form if same_salt else _hide_masks(form)


def _hide_masks(form: Any) -> Any:
    if isinstance(form, dict):
        return {key: _hide_masks(value) for key, value in form.items()}
    return _hidden if isinstance(form, str) and form.startswith(SECRET) else form


def _format_moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")
