"""What `sync` does with a plan: apply it, ask a person, wait, report it, refuse it, or nothing.

    nothing to do ─▶ guard ─▶ check ─▶ mode, drift ─▶ pause ─▶ approval ─▶ window ─▶ apply
         │             │        │          │            │         │           │
      nothing       refuse   refuse     report         wait    ask, refuse   wait

The first that holds decides. Whether a person has to be asked comes before the window: the answer may come
while it is closed. Everything is an argument, also the time and what the check command said.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct

from reconciler.core.review.approvals import ApprovalTally
from reconciler.core.review.drift import find_drift
from reconciler.core.review.named_consents import without_consented
from reconciler.core.review.windows import find_next_opening, is_open_at, make_calendar
from reconciler.model.automation import Pause
from reconciler.model.plans import Plan, Update, Verdict, action_of
from reconciler.model.settings import AskWhen, Policy, Windows

Action = Literal["apply", "ask", "wait", "report", "refuse", "nothing"]

# The exit code of each action; `apply` ends with that of its run, `nothing` with that of its plan.
ACTION_EXIT_CODES: Mapping[Action, int] = {
    "apply": 0,
    "ask": 9,
    "wait": 10,
    "report": 2,
    "refuse": 7,
    "nothing": 0,
}


class Decision(Struct, frozen=True):
    """What is done with a plan, and why, in a sentence that names nobody.

    `until` is when a pause ends or a window opens, ISO 8601 in UTC; "" where nothing waits, or none opens.
    """

    action: Action
    reason: str
    until: str = ""


class CheckVerdict(Struct, frozen=True):
    """What `policy.check` said of a plan. `what` is the last of its text, or why there is none."""

    passed: bool
    what: str = ""


def decide(
    plan: Plan,
    verdict: Verdict,
    policy: Policy,
    *,
    tally: ApprovalTally | None,
    pause: Pause | None,
    check: CheckVerdict | None,
    now: datetime,
) -> Decision:
    """Return what `sync` does with a plan.

    `tally` is how the question about exactly this plan stands, None where nobody was asked; `check` is None
    where the settings name none.
    """
    if plan.empty:
        return Decision("nothing", "there is nothing to do")
    asks = list_ask_reasons(plan, policy)
    return (
        _refuse_unsafe(verdict, check)
        or _report_only(plan, policy)
        or _wait_for_pause(pause, now)
        or _ask_people(asks, tally)
        or _wait_for_window(policy.windows, now)
        or Decision("apply", f"policy.mode is {policy.mode}{', and people have approved' if asks else ''}")
    )


def _refuse_unsafe(verdict: Verdict, check: CheckVerdict | None) -> Decision | None:
    if not verdict.safe:
        return Decision("refuse", "the guard refuses the plan")
    if check is not None and not check.passed:
        return Decision("refuse", "policy.check refuses the plan")
    return None


def _report_only(plan: Plan, policy: Policy) -> Decision | None:
    if policy.mode == "report":
        return Decision("report", "policy.mode is report")
    if policy.drift == "report" and (number := count_overwritten(plan)):
        return Decision(
            "report", f"policy.drift is report, and {_say(number, 'change')} would set back drift"
        )
    return None


def _wait_for_pause(pause: Pause | None, now: datetime) -> Decision | None:
    if pause is not None and datetime.fromisoformat(pause.until) > now:
        return Decision("wait", "the stack is paused", pause.until)
    return None


def _ask_people(asks: tuple[str, ...], tally: ApprovalTally | None) -> Decision | None:
    why = ", ".join(asks)
    if not asks or (tally is not None and tally.state == "approved"):
        return None
    if tally is not None and tally.state == "refused":
        return Decision("refuse", f"an approver refused the plan: {why}")
    missing = f"; {tally.missing} of the approvals are missing" if tally and tally.given else ""
    return Decision("ask", f"a person must approve: {why}{missing}")


def _wait_for_window(windows: Windows, now: datetime) -> Decision | None:
    calendar = make_calendar(windows)
    if is_open_at(calendar, now):
        return None
    opens = find_next_opening(calendar, now)
    until = opens.isoformat(timespec="seconds") if opens else ""
    return Decision("wait", "no window of policy.windows is open", until)


def count_overwritten(plan: Plan) -> int:
    """Return how many changes of a plan set back, or make again, what others changed at the service."""
    drifted = {one.address for one in find_drift(plan)}
    return sum(1 for one in plan.changes if one.address in drifted)


def list_ask_reasons(plan: Plan, policy: Policy) -> tuple[str, ...]:
    """Return why a person has to approve this plan, in counts and without a name; nothing: nobody has to.

    With mode `apply` nobody is asked about what manifests consent to by name; with mode `approve` about all.
    """
    if policy.mode == "approve":
        changes = len(plan.changes)
        return (f"policy.mode is approve, {_say(changes, 'change')}",) if changes else ()
    left = without_consented(plan)
    return tuple(
        reason for name, ask in _ASKS.items() for reason in ask(left, getattr(policy.ask_when, name))
    )


def _say(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def _ask_over(word: str) -> Callable[[Plan, int | None], Iterator[str]]:
    def ask(plan: Plan, limit: int | None) -> Iterator[str]:
        number = plan.count(word)
        if limit is not None and number > limit:
            yield f"{_say(number, word)}, and {limit:,} need no approval"

    return ask


def _ask_for_deletes(plan: Plan, wanted: bool) -> Iterator[str]:  # noqa: FBT001 - of the table below
    if wanted and (number := plan.count("delete")):
        yield _say(number, "delete")


def _ask_for_unprotected(plan: Plan, wanted: bool) -> Iterator[str]:  # noqa: FBT001 - the same
    number = sum(1 for one in plan.records if one.what == "no longer protected")
    if wanted and number:
        yield f"{_say(number, 'entity', 'entities')} no longer protected"


def _ask_for_reactivation(plan: Plan, wanted: bool) -> Iterator[str]:  # noqa: FBT001 - the same
    number = sum(
        1
        for one in plan.changes
        if isinstance(one, Update) and any(field.cause == "reactivated" for field in one.fields)
    )
    if wanted and number:
        yield _say(number, "reactivation")


def _ask_for_drift(plan: Plan, wanted: bool) -> Iterator[str]:  # noqa: FBT001 - the same
    if wanted and (number := count_overwritten(plan)):
        yield f"{_say(number, 'change')} of what others changed"


def _ask_for_kind(kind: str) -> Callable[[Plan, bool], Iterator[str]]:
    def ask(plan: Plan, wanted: bool) -> Iterator[str]:  # noqa: FBT001 - the same
        found = Counter(action_of(one) for one in plan.changes if one.address.kind == kind)
        if wanted and found:
            yield f"{_say(found.total(), f'change of a {kind}', f'changes of {kind}s')}"

    return ask


# Setting below policy.ask_when -> why it asks for a plan.
_ASKS: Mapping[str, Callable[..., Iterator[str]]] = {
    "deletes": _ask_for_deletes,
    "creates_more_than": _ask_over("create"),
    "updates_more_than": _ask_over("update"),
    "protected": _ask_for_unprotected,
    "reactivate": _ask_for_reactivation,
    "overwrites_drift": _ask_for_drift,
    "resources": _ask_for_kind("resource"),
    "callbacks": _ask_for_kind("callback"),
}
assert tuple(_ASKS) == AskWhen.__struct_fields__  # noqa: S101 - every setting has its row
