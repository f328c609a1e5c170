"""Law: `sync` applies a plan exactly where guard, check, mode, drift, pause, approval and window all let it.

Over generated plans, policies, windows, answers and clocks; the nights in which clocks change are among them.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from laws.test_windows import NIGHTS

from reconciler.core.review.approvals import ApprovalTally
from reconciler.core.review.decide import ACTION_EXIT_CODES, CheckVerdict, Decision, decide
from reconciler.core.review.windows import is_open_at, make_calendar
from reconciler.model.address import parse_address
from reconciler.model.automation import Pause
from reconciler.model.plans import (
    Adoption,
    Change,
    Create,
    Delete,
    FieldChange,
    GuardReason,
    Options,
    Plan,
    RecordChange,
    Target,
    Update,
    Verdict,
)
from reconciler.model.settings import AskWhen, Policy, Windows

ADDRESSES = [
    address
    for text in ("contact/ops/jane", "contact/ops/sam", "resource/ops/logo", "callback/ops/replies")
    if (address := parse_address(text)) is not None
]
addresses = st.sampled_from(ADDRESSES)
causes = st.sampled_from(("declared", "drifted", "both", "reactivated"))
changes: st.SearchStrategy[Change] = st.one_of(
    st.builds(
        lambda one, cause: Create(one, "f:1", {}, cause), addresses, st.sampled_from(("declared", "gone"))
    ),
    st.builds(
        lambda one, cause: Update(one, "f:1", "A1", (FieldChange("name", "a", "b", cause),)),
        addresses,
        causes,
    ),
    st.builds(lambda one: Delete(one, "A1", {}), addresses),
)
plans = st.builds(
    lambda found, adopted, records: Plan(
        Target("https://api.example.com", "ops", ()),
        Options(),
        "digest",
        "salt",
        tuple({one.address: one for one in found}.values()),
        adoptions=tuple(Adoption(one, "A1", "name") for one in adopted),
        records=tuple(RecordChange(one, "no longer protected") for one in records),
    ),
    st.lists(changes, max_size=4),
    st.lists(addresses, max_size=1),
    st.lists(addresses, max_size=1),
)
windows = st.builds(
    Windows,
    st.sampled_from(("Australia/Melbourne", "Europe/Berlin", "UTC")),
    st.lists(
        st.sampled_from(("0 9 * * MON-FRI for 8h", "30 2 * * * for 45m", "0 22 * * * for 8h")), max_size=2
    ).map(tuple),
    st.lists(
        st.sampled_from(("0 0 4 4 * for 2d", "0 2 * * SUN for 90m", "* * * * * for 2m")), max_size=1
    ).map(tuple),
)
limits = st.none() | st.integers(0, 3)
policies = st.builds(
    lambda mode, drift, ask_when, windows: Policy(mode=mode, drift=drift, ask_when=ask_when, windows=windows),
    st.sampled_from(("report", "approve", "apply", "apply")),
    st.sampled_from(("report", "repair")),
    st.builds(AskWhen, st.booleans(), limits, limits, *[st.booleans()] * 5),
    windows,
)
moments = st.builds(
    lambda night, minutes: night + timedelta(minutes=minutes),
    st.sampled_from(NIGHTS),
    st.integers(0, 48 * 60),
)
tallies = st.none() | st.builds(
    ApprovalTally,
    st.sampled_from(("open", "approved", "refused", "expired")),
    st.just(("jane",)),
    st.integers(0, 2),
)
verdicts = st.just(Verdict()) | st.just(Verdict((GuardReason("G1", "", 9, 3, "too many.", ""),)))
checks = st.none() | st.builds(CheckVerdict, st.booleans())


def overwrites(change: Change) -> bool:
    match change:
        case Create(cause=cause):
            return cause == "gone"
        case Update(fields=fields):
            return any(one.cause in ("drifted", "both") for one in fields)
        case Delete():
            return False


def asked(plan: Plan, policy: Policy) -> Iterator[bool]:
    """Whether a person has to approve, told again from the words of the settings."""
    ask, found = policy.ask_when, plan.changes
    if policy.mode == "approve":
        yield bool(found)
        return
    yield ask.deletes and any(isinstance(one, Delete) for one in found)
    for limit, kind in ((ask.creates_more_than, Create), (ask.updates_more_than, Update)):
        yield limit is not None and len([one for one in found if isinstance(one, kind)]) > limit
    yield ask.protected and bool(plan.records)
    reactivated = [
        one for one in found if isinstance(one, Update) and one.fields[0].cause == "reactivated"
    ]  # fmt: skip
    yield ask.reactivate and bool(reactivated)
    yield ask.overwrites_drift and any(map(overwrites, found))
    for wanted, kind_name in ((ask.resources, "resource"), (ask.callbacks, "callback")):
        yield wanted and any(one.address.kind == kind_name for one in found)


@given(plans, verdicts, policies, tallies, st.none() | st.integers(-60, 600), checks, moments)
def test_a_plan_is_applied_exactly_where_everything_lets_it(  # noqa: PLR0917 - as hypothesis gives them
    plan: Plan,
    verdict: Verdict,
    policy: Policy,
    tally: ApprovalTally | None,
    paused_min: int | None,
    check: CheckVerdict | None,
    now: datetime,
) -> None:
    """Nothing that is missing, unsure or late applies a plan; and nothing else holds one back."""
    pause = (
        Pause(now.isoformat(), (now + timedelta(minutes=paused_min)).isoformat())
        if paused_min is not None
        else None
    )
    decision = decide(plan, verdict, policy, tally=tally, pause=pause, check=check, now=now)

    lets = (
        not plan.empty
        and verdict.safe
        and (check is None or check.passed)
        and policy.mode != "report"
        and not (policy.drift == "report" and any(map(overwrites, plan.changes)))
        and (paused_min is None or paused_min <= 0)
        and (not any(asked(plan, policy)) or (tally is not None and tally.state == "approved"))
        and is_open_at(make_calendar(policy.windows), now)
    )
    assert (decision.action == "apply") is lets
    assert (decision.action == "nothing") is plan.empty
    assert decision.action in ACTION_EXIT_CODES
    assert not any(one.name in decision.reason for one in ADDRESSES)


@given(plans, policies, tallies, moments)
def test_what_waits_says_until_when_and_no_longer_waits_then(
    plan: Plan, policy: Policy, tally: ApprovalTally | None, now: datetime
) -> None:
    """Two timers with the same clock decide the same, and the one that comes when the window opens writes."""

    def at(moment: datetime) -> Decision:
        return decide(plan, Verdict(), policy, tally=tally, pause=None, check=None, now=moment)

    decision = at(now)
    assert decision == at(now)
    if decision.until:
        opens = datetime.fromisoformat(decision.until)
        assert decision.action == "wait"
        assert opens > now
        assert at(opens).action == "apply"
