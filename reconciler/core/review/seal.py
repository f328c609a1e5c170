"""The form in which a plan is kept: canonical, sealed, and holding nothing that moves by itself.

What a plan says of strangers (how many there are, in how many calls they were read) is told on the
screen and not kept: nothing would hold it to the truth later. Everything that is kept is compared
with the fresh plan when the file is applied, so that what a reviewer reads is what will be done.

A seal is no signature. It finds what was changed by accident or without care; whoever can change a
file can seal it again. Against that stand the fresh plan (`outdated`) and encryption.
"""

import hashlib
from datetime import UTC, datetime, timedelta

from msgspec import structs

from reconciler.core.comparing.normalize import instant
from reconciler.model.encoding import encode
from reconciler.model.plan.plans import Plan
from reconciler.model.snapshots import Read

# How far the clocks of two machines may be apart. Seconds; more, and a plan from the future is refused.
skew_s = 300.0


class PlanFile(Plan, frozen=True):
    """A plan as its file holds it. `program` is the version that made it, `seal` covers all the rest."""

    program: str = ""
    seal: str = ""


def sealed(plan: Plan, program: str) -> bytes:
    """Return the one text that a file with this plan has."""
    fields = {name: value for name, value in structs.asdict(kept(plan)).items() if name in _FIELDS}
    file = PlanFile(**fields, program=program)
    seal = hashlib.sha256(encode(file)).hexdigest()
    return encode(structs.replace(file, seal=seal), indent=2)


# The fields of a plan without those that only its file has.
_FIELDS = frozenset(Plan.__struct_fields__)


def opened(file: PlanFile) -> Plan:
    """Return the plan of a file that was found whole."""
    return Plan(**{name: value for name, value in structs.asdict(file).items() if name in _FIELDS})


def kept(plan: Plan) -> Plan:
    """Return the plan without what is shown when it is made and not kept."""
    # Both move by themselves: a stranger more, or a list that took another way, must not make a plan stale.
    reads = {Read(read.scope, "", 0, 0, -1, read.complete) for read in plan.reads}
    return structs.replace(plan, unmanaged={}, reads=tuple(sorted(reads, key=structs.astuple)))


def outdated(saved: Plan, fresh: Plan, now: datetime, *, hours: float = 24.0) -> str:
    """Return why `saved` may not be carried out any more, or "" (planning rule A1).

    `hours` is how long a plan may live by the settings. Also a plan that would do the same and that
    shows something else (a place, a count, something left alone) is refused.
    """
    if late := expired(saved, now, hours=hours):
        return late
    # That something else would be done is worse than that something else is shown, so it is reported first.
    if saved.fingerprint != fresh.fingerprint:
        return "the plan is stale: what would be done now is not what it says."
    if shown_by(saved) != shown_by(fresh):
        return "the plan is stale: it would do the same, and what it shows is not what is found now."
    return ""


def expired(saved: Plan, now: datetime, *, hours: float) -> str:
    """Return why a saved plan is out of its time, or "".

    The file's own end counts, and so does the age that the settings allow: a later end that somebody
    writes into the file prolongs nothing.
    """
    made, until = instant(saved.created_at), instant(saved.expires_at)
    if made is None or until is None:
        return "the plan does not say when it was made and until when it holds."
    # A date proves nothing (docs/security.md): only what no honest clock could have written is refused.
    if made > now + timedelta(seconds=skew_s):
        return f"the plan says that it was made at {_text(made)}, which is still to come."
    # The shorter of the two: a later end that somebody writes into the file prolongs nothing.
    end = min(until, made + timedelta(hours=hours))
    return f"the plan expired at {_text(end)}." if end <= now else ""


def shown_by(plan: Plan) -> bytes:
    """Return everything that a saved plan shows, but for its times."""
    # Two plans always differ in their times, and the fingerprint has a sentence of its own (`outdated`).
    return encode(structs.replace(kept(plan), created_at="", expires_at="", fingerprint=""))


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")
