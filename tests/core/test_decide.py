"""What `sync` decides, and in which words; that it applies nothing else is a law (laws/test_decide.py)."""

from datetime import UTC, datetime

import pytest
from core.build import at
from core.test_guard import deletes, plan, updates
from msgspec import structs

from reconciler.core.review.approvals import ApprovalTally
from reconciler.core.review.decide import CheckVerdict, Decision, decide
from reconciler.model.automation import Pause
from reconciler.model.documents import NamedConsent
from reconciler.model.plans import Change, Create, FieldChange, GuardReason, Plan, Update, Verdict
from reconciler.model.settings import AskWhen, Policy, Windows

SAFE = Verdict()
NOW = datetime(2026, 11, 27, 6, 30, tzinfo=UTC)  # a Friday
APPLY = Policy(mode="apply", drift="repair")
NIGHT = Windows("UTC", ("0 22 * * * for 8h",))
DRIFTED = Update(at("contact/ops/jane"), "f:1", "A1", (FieldChange("jobTitle", "a", "b", "drifted"),))
ENABLED = Update(at("device/ops/jane/phone"), "f:1", "A1", (FieldChange("enabled", "a", "b", "reactivated"),))
LOGO = Create(at("resource/ops/logo"), "f:1", {})


def decided(
    found: Plan,
    policy: Policy = APPLY,
    *,
    verdict: Verdict = SAFE,
    tally: ApprovalTally | None = None,
    pause: Pause | None = None,
    check: CheckVerdict | None = None,
) -> Decision:
    return decide(found, verdict, policy, tally=tally, pause=pause, check=check, now=NOW)


def test_a_plan_with_nothing_to_do_needs_nobody_whatever_else_holds() -> None:
    """A pause and a closed window are no reason to say anything but that all is well."""
    pause = Pause(NOW.isoformat(), "2026-12-01T00:00:00+00:00")

    assert decided(plan(), pause=pause).action == "nothing"


def test_what_the_guard_or_the_check_refuses_is_refused_in_every_mode() -> None:
    unsafe = Verdict((GuardReason("G1", "", 9, 3, "too many.", ""),))

    assert decided(plan(*updates(1)), Policy(), verdict=unsafe) == Decision(
        "refuse", "the guard refuses the plan"
    )
    refused = decided(plan(*updates(1)), Policy(), check=CheckVerdict(passed=False, what="no"))
    assert refused == Decision("refuse", "policy.check refuses the plan")
    assert decided(plan(*updates(1)), check=CheckVerdict(passed=True)).action == "apply"


@pytest.mark.parametrize(
    ("changes", "ask_when", "reason"),
    [
        (deletes(2), AskWhen(), "2 deletes"),
        (updates(3), AskWhen(updates_more_than=2), "3 updates, and 2 need no approval"),
        ([LOGO], AskWhen(creates_more_than=0), "1 create, and 0 need no approval"),
        ([ENABLED], AskWhen(), "1 reactivation"),
        ([DRIFTED], AskWhen(overwrites_drift=True), "1 change of what others changed"),
        ([LOGO], AskWhen(resources=True), "1 change of a resource"),
        (updates(2, "callback/ops"), AskWhen(callbacks=True), "2 changes of callbacks"),
        ([*deletes(1), LOGO], AskWhen(resources=True), "1 delete, 1 change of a resource"),
    ],
)
def test_a_person_is_asked_for_what_the_settings_name(
    changes: list[Change], ask_when: AskWhen, reason: str
) -> None:
    asking = Policy(mode="apply", drift="repair", ask_when=ask_when)

    assert decided(plan(*changes), asking) == Decision("ask", f"a person must approve: {reason}")
    assert decided(plan(*changes), asking, tally=ApprovalTally("approved", ("jane",))).action == "apply"


def test_nobody_is_asked_for_what_a_manifest_consents_to_by_name() -> None:
    """It was reviewed like any line; other deletes still need a person, and so does the mode approve."""
    first, second = deletes(2)
    named = NamedConsent(first.address, "delete", "2027-01-01", "left", "people.yaml:3")
    agreed = structs.replace(plan(first), consented=(named,))
    both = structs.replace(plan(first, second), consented=(named,))

    assert decided(agreed).action == "apply"
    assert decided(both).reason == "a person must approve: 1 delete"
    assert decided(agreed, Policy(mode="approve")).action == "ask"


def test_in_the_mode_approve_every_change_needs_a_person_and_records_alone_none() -> None:
    approve = Policy(mode="approve", ask_when=AskWhen(deletes=False))

    assert decided(plan(*updates(1)), approve).action == "ask"
    assert decided(plan(gone=(at("contact/ops/jane"),)), approve).action == "apply"


def test_an_answer_counts_while_it_is_an_approval_and_nothing_else() -> None:
    asking = plan(*deletes(1))

    assert decided(asking, tally=ApprovalTally("refused", (), 1)).action == "refuse"
    assert decided(asking, tally=ApprovalTally("expired", ("jane",))).action == "ask"
    half = decided(asking, tally=ApprovalTally("open", ("jane",), 1))
    assert half.reason == "a person must approve: 1 delete; 1 of the approvals are missing"


def test_drift_is_reported_and_the_whole_plan_with_it() -> None:
    """`drift: report` sets nothing back; half a plan is never applied."""
    found = decided(plan(DRIFTED, *updates(1)), Policy(mode="apply", drift="report"))

    assert found == Decision("report", "policy.drift is report, and 1 change would set back drift")


def test_outside_of_a_window_it_waits_until_the_next_one_opens() -> None:
    closed = Policy(mode="apply", drift="repair", windows=Windows("UTC", ("0 9 * * MON-FRI for 8h",)))
    never = Policy(mode="apply", drift="repair", windows=Windows("UTC", (), ("* * * * * for 1d",)))
    waits = Decision("wait", "no window of policy.windows is open", "2026-11-27T09:00:00+00:00")

    assert decided(plan(*updates(1)), closed) == waits
    assert decided(plan(*updates(1)), never) == Decision("wait", "no window of policy.windows is open")


def test_a_person_is_asked_while_the_window_is_closed() -> None:
    """So that the answer is there when it opens."""
    closed = Policy(mode="apply", drift="repair", windows=NIGHT)

    assert decided(plan(*deletes(1)), closed).action == "ask"
    assert decided(plan(*deletes(1)), closed, tally=ApprovalTally("approved", ("jane",))).action == "wait"


def test_a_pause_holds_until_it_is_over_and_asks_nobody() -> None:
    until = "2026-11-27T12:00:00+00:00"

    assert decided(plan(*deletes(1)), pause=Pause(NOW.isoformat(), until)) == Decision(
        "wait", "the stack is paused", until
    )
    assert decided(plan(*updates(1)), pause=Pause(NOW.isoformat(), NOW.isoformat())).action == "apply"
