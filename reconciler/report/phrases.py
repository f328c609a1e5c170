"""Sentences that every form of a report shares.

How lists were read, what a directory answered, what a person agreed to, what looks like a rename, what is
left alone, and the sentence that matters most. They are text: each form escapes them by its own rules.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, assert_never

from msgspec import Struct

from reconciler.core.feed import parse_seconds, read_limit
from reconciler.core.review.display_names import find_lookalikes
from reconciler.core.review.drift import Drift
from reconciler.core.review.guard import Agreement
from reconciler.model.address import Address
from reconciler.model.documents import DirectoryAnswer, InputDifference
from reconciler.model.kinds import KINDS, child_kinds
from reconciler.model.notices import Notice
from reconciler.model.plans import (
    Change,
    Create,
    Delete,
    Move,
    Plan,
    RecordChange,
    Skip,
    SkipReason,
    Update,
)
from reconciler.model.runs import Outcome
from reconciler.model.snapshots import UNKNOWN, NotPlanned, Read
from reconciler.parsing.display import show_value
from reconciler.report.lines import count

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))  # seconds, and how they are written


def describe_kinds(addresses: Iterable[Address]) -> str:
    """Return how many entities of each kind there are: `3 contacts, 1 device, 0 resources`."""
    kinds = Counter(address.kind for address in addresses)
    return (
        ", ".join(count(kinds[name], name, kind.plural) for name, kind in KINDS.items() if kinds[name])
        or "nothing"
    )


def describe_read(read: Read, at: str) -> str:
    """Return `feed, 2 calls, 4,998 avoided; complete 3 h ago`. `at` is when the plan was made (ISO 8601)."""
    parts = ["read"] if not read.how else [read.how, count(read.calls, "call")]
    parts.append(f"{read.avoided:,} avoided" if read.avoided else "")
    parts.append(f"{read.settled:,} as in the last plan" if read.settled else "")
    how = [", ".join(filter(None, parts))]
    if read.completed:
        how.append(f"complete {describe_age(read.completed, at)}")
    elif read.why:
        how.append(f"full read: {read.why}")
    if read.compared:
        how.append(f"all compared: {read.compared}")
    return "; ".join(how)


def describe_read_limit(reads: Iterable[Read]) -> str:
    """Return what was read of lists that were followed, and as of when the rest is known; "" where all was.

    A change that does not update the modification time is not seen before the next complete read, so a
    sentence that says that nothing has to be done has to say this too.
    """
    limit = read_limit(reads)
    if limit is None:
        return ""
    scopes = ", ".join(f"{KINDS[one.kind].plural} in {one.workspace}" for one in limit.scopes)
    when = f"{limit.complete_at[:10]} {limit.complete_at[11:16]} UTC"
    return (
        f"Of {scopes}, only the {count(limit.pages, 'page')} changed last were read; the rest is known from "
        f"the complete read on {when}. A change without a new modification time is found only by a "
        "complete read (--refresh full)."
    )


def limit_claim(sentence: str, reads: Iterable[Read]) -> str:
    """Return a sentence about all that is live, without its full stop, limited to what was read."""
    return f"{sentence}, as far as was read" if describe_read_limit(reads) else sentence


def describe_age(moment: str, at: str) -> str:
    """Return how long before `at` a moment was (both ISO 8601): `3 h ago`, rounded down."""
    then, present = parse_seconds(moment), parse_seconds(at)
    if then is None or present is None:
        return "at an unknown time"
    age = max(0, int(present - then))
    size, unit = next((one for one in _UNITS if age >= one[0]), _UNITS[-1])
    return f"{age // size} {unit} ago"


# --- What a directory answered ---------------------------------------------------------------------


_answer_digits = 12  # hexadecimal digits: enough to tell two answers apart by eye


def describe_answer(answer: DirectoryAnswer) -> str:
    """Return `from directory staff: 1,234 rows, sha256 ab12cd34ef56`, and the rows before."""
    text = (
        f"from directory {answer.name}: {count(answer.rows, 'row')}, sha256 {answer.digest[:_answer_digits]}"
    )
    return f"{text} ({answer.before:,} at the last apply)" if answer.before not in (0, answer.rows) else text


# --- What a person agreed to with a plan (core/review/guard.py): the first thing in every review -


AGREED_TITLE = "Consent given"
_subjects_max = 20  # subjects of one word; the plan itself shows them all


def describe_agreement(one: Agreement) -> str:
    """Return what was agreed to, how it was said, and what of the plan it concerns."""
    number = f" {one.at_most}" if one.at_most else ""
    allows = f"up to {one.at_most:,} {one.allows}" if one.at_most else one.allows
    said = f"{allows} ({one.flag}{number})"
    return f"{said}: {_name_subjects(one.subjects)}" if one.subjects else f"{said}; not needed by this plan"


def _name_subjects(subjects: Sequence[str]) -> str:
    more = f" and {len(subjects) - _subjects_max:,} more" if len(subjects) > _subjects_max else ""
    return ", ".join(subjects[:_subjects_max]) + more


# --- What a run read and a commit does not hold -----------------------------------------------------


_files_max = 10  # files that a sentence names


def describe_input_differences(differences: Sequence[InputDifference]) -> str:
    """Return the files and why each of them differs, as a part of a sentence; of many the first ones."""
    named = [f"{show_value(one.path, most=400)} {one.why}" for one in differences[:_files_max]]
    more = len(differences) - len(named)
    return "; ".join([*named, *([f"and {more:,} more"] if more else [])])


# --- The hint that a delete and a create of a plan may be one entity under a new name -------------
#
# Hints decide nothing. Which entities look alike is core/review/display_names.py.


_WITH_META = (".yaml", ".yml", ".json")  # an entry in one of these may have a `meta:`; a row of a roster not


class RenameHint(NamedTuple):
    """What a change looks like, and what to write where that is so ("": the other one says it)."""

    what: str
    next: str = ""


def rename_hint(alike: Mapping[Address, Address], change: Change) -> RenameHint | None:
    """Return the hint about a change, where `alike`, the `lookalikes` of its plan, has one."""
    other = alike.get(change.address)
    if other is None:
        return None
    if not isinstance(change, Create):
        return RenameHint(f"looks like {other}, which is created: see that change")
    file, _, _ = change.place.rpartition(":")
    step = f"if so, write `meta: {{renamedFrom: {other.name}}}` at {change.place}"
    if not file.endswith(_WITH_META):
        step = "a roster row cannot declare a rename: keep the name, or declare the entity in a manifest"
    return RenameHint(f"looks like a rename of {other}, which is deleted", step)


class Lookalike(Struct, frozen=True):
    """A delete and a create that may be one entity under a new name; `next` is what to do where they are."""

    deleted: Address
    created: Address
    next: str


def lookalike_values(plan: Plan) -> tuple[Lookalike, ...]:
    """Return the hints of a plan for the JSON form, by the address of the create."""
    alike = find_lookalikes(plan)
    found = [
        Lookalike(alike[change.address], change.address, hint.next)
        for change in plan.changes
        if isinstance(change, Create) and (hint := rename_hint(alike, change))
    ]
    return tuple(sorted(found, key=lambda one: one.created))


# --- Sentences that hold no values -------------------------------------------------------------------
#
# A report goes to many readers, so these sentences hold nothing that others can write (a value, a mark)
# unless values are wanted.


# Their own sentences quote a value: the mark of another owner, or what a manifest declares.
_MARKED: Mapping[SkipReason, str] = {"foreign mark": "carries the mark of another owner; left alone."}
_NOTICED = {
    "value": "a declared value looks wrong; reconciler validate shows it.",
    "duplicate": "may be live twice; left alone.",
}


def is_reactivation(change: Change) -> bool:
    """Whether a change enables what the service disabled, so that it is charged again."""
    return isinstance(change, Update) and any(field.cause == "reactivated" for field in change.fields)


def count_by_kind(changes: Iterable[Change | Outcome | Drift]) -> str:
    """Return `3 contacts and 1 device`, in the order of the table of kinds."""
    kinds = Counter(change.address.kind for change in changes)
    parts = [count(kinds[name], name, kind.plural) for name, kind in KINDS.items() if kinds[name]]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def count_children(kind: str, number: int) -> str:
    """Return `2 devices`, for so many entities that belong to one of this kind."""
    found = child_kinds(kind)
    return count(number, found[0].name, found[0].plural) if len(found) == 1 else f"{number:,} below it"


def explain_skip(skip: Skip, *, values: bool) -> str:
    """Return why something is left alone; without values where the sentence would quote one."""
    return skip.what if values else _MARKED.get(skip.reason, skip.what)


def name_left_out(one: NotPlanned) -> str:
    """Return a workspace that is left out, with its kinds where it is not all of it."""
    kinds = [KINDS[name].plural for name in one.kinds if not KINDS[name].parent]
    return f"{one.workspace} ({', '.join(kinds)})" if kinds else one.workspace


def sum_up_left_out(left: Iterable[NotPlanned]) -> str:
    """Return the first line of a report that leaves something out, without its full stop; "" for none."""
    names = dict.fromkeys(map(name_left_out, left))
    return f"Not planned: {', '.join(names)}" if names else ""


def explain_notice(notice: Notice, *, values: bool) -> tuple[str, str]:
    """Return what a person should know and what to do; without values where either would quote one."""
    if values or notice.kind not in _NOTICED:
        return notice.what, notice.next
    return _NOTICED[notice.kind], ""


def explain_drift(drift: Drift, *, values: bool) -> str:
    """Return the sentence about a drift, without values where it would quote one."""
    return drift.what if values or drift.cause != "duplicate" else _NOTICED["duplicate"]


# --- What a delete and a record are about ------------------------------------------------------------

_paths_max = 3  # paths of fields in one line about a record


def explain_delete(change: Delete, moved: Move | None) -> str:
    """Return why something is deleted: its cause, what it is a duplicate of, or where it moves to."""
    if moved:
        return f"moves to {moved.after}"
    return f"duplicate of {change.address.base}" if change.cause == "duplicate" else change.cause


def describe_origin(change: Delete) -> str:
    """Return whether a deleted entity existed before we owned it, as far as that was recorded."""
    if change.adopted == UNKNOWN:
        return "unknown whether it existed before this stack"
    return f"existed before this stack, adopted on {change.adopted[:10]}"


def list_record_changes(plan: Plan) -> list[tuple[Address, str]]:
    """Return what changes in our records and nowhere else: the address, and what of it."""
    state = "as it is; adopted" if plan.options.adopt else "exists as declared; adopted"
    about = [(one.address, f"{state} by {one.by}" if one.by else state) for one in plan.adoptions]
    about += [(new, f"renamed from {old}") for old, new in sorted(plan.renames.items())]
    about += [(one.address, _describe_record(one)) for one in plan.records]
    forgotten = "gone and no longer declared; forgotten"
    if plan.options.undo_of:
        forgotten = "adopted by that run; no longer owned"
    return [*about, *((address, forgotten) for address in plan.gone)]


def _describe_record(change: RecordChange) -> str:
    match change.what:
        case "protected":
            return "protected from now on"
        case "no longer protected":
            return "no longer protected"
        case "fields":
            more = f" and {len(change.fields) - _paths_max} more" if len(change.fields) > _paths_max else ""
            return f"recorded again: {', '.join(change.fields[:_paths_max])}{more}"
        case "forgotten":
            return "removed from the manifests; no longer owned, and the live entity stays"
    assert_never(change.what)
