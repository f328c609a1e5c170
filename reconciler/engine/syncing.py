"""What a `sync` reads of the store besides the plan, and what it leaves there for `status`."""

from contextlib import suppress
from datetime import datetime
from functools import partial

from msgspec import Struct

from reconciler.core.review.approvals import ApprovalTally, settle_question, tally_approvals
from reconciler.core.review.decide import CheckVerdict, Decision, decide, list_ask_reasons
from reconciler.core.review.sync_results import list_sync_results, make_failed_sync
from reconciler.core.review.windows import find_next_opening, is_open_at, make_calendar, parse_duration
from reconciler.engine.context import Dependencies, format_utc
from reconciler.engine.resources import open_run_store
from reconciler.errors import ReconcilerError, StoreError
from reconciler.model.automation import ApprovalAnswer, Approvals, Counted, Pause, Question, SyncResult
from reconciler.model.plans import Plan, Verdict
from reconciler.model.runs import Run
from reconciler.model.settings import Policy, Settings
from reconciler.store.database import Store, await_store

# States of a question that says something about the plan that it was asked about.
_TELLING = frozenset({"open", "approved", "refused"})


class SyncEvidence(Struct, frozen=True):
    """What the store knows when a sync decides.

    `last_commit` is the one that was applied last as a whole, "" where none is known. `question` is the
    newest one that still says something.
    """

    now: datetime
    last_commit: str = ""
    pause: Pause | None = None
    question: Question | None = None
    answers: tuple[ApprovalAnswer, ...] = ()

    @property
    def salt(self) -> str:
        """The salt of the question: a plan that is made with it and does the same has its fingerprint."""
        return self.question.salt if self.question else ""

    def concerns(self, plan: Plan, policy: Policy) -> bool:
        """Whether the question was asked about this plan, and has to be: only then may it have its salt.

        A salt is for one plan that is applied; one that nobody has to approve would use it up.
        """
        asked = self.question is not None and self.question.fingerprint == plan.fingerprint
        return asked and bool(list_ask_reasons(plan, policy))

    def tally(self, plan: Plan, policy: Policy) -> ApprovalTally | None:
        """Return how the question stands, where it was asked about this plan."""
        if self.question is None or not self.concerns(plan, policy):
            return None
        return tally_approvals(self.question, self.answers, policy, self.now)

    def question_for(self, plan: Plan, policy: Policy) -> str:
        """Return the id of the question that approved this plan; "" where no person had to."""
        return self.question.question if self.question and self.concerns(plan, policy) else ""


def load_sync_evidence(store: Store) -> SyncEvidence:
    """Return what the store knows now. Raises StoreError."""
    known, now = store.approvals(), store.now()
    telling = (
        one
        for one in reversed(known.questions)
        if one.state in _TELLING and datetime.fromisoformat(one.expires_at) > now
    )
    question = next(telling, None)
    answers = known.answers_to(question) if question else ()
    return SyncEvidence(now, store.last_applied_commit(), store.paused(), question, answers)


def settle_open_question(store: Store, question: str, policy: Policy) -> None:
    """Let a question be in the state that its answers and the policy give it: a quorum may be lower now."""

    def count(known: Approvals, now: datetime) -> Counted:
        found = next((one for one in known.questions if one.question == question), None)
        settled = settle_question(found, known.answers_to(found), policy, now) if found else None
        return Counted("", settled, recorded=False)

    store.record_answer(count)


def decide_sync(
    plan: Plan, verdict: Verdict, policy: Policy, evidence: SyncEvidence, check: CheckVerdict | None
) -> Decision:
    """Return what is done with a plan, by what the store knows."""
    tally = evidence.tally(plan, policy)
    return decide(plan, verdict, policy, tally=tally, pause=evidence.pause, check=check, now=evidence.now)


async def record_sync(
    settings: Settings,
    dependencies: Dependencies,
    plan: Plan,
    decision: Decision,
    run: Run | None,
    *,
    exit_code: int,
) -> None:
    """Record what a sync found. Raises StoreError."""

    def work(store: Store) -> None:
        now, calendar = store.now(), make_calendar(settings.policy.windows)
        opens = None if is_open_at(calendar, now) else find_next_opening(calendar, now)
        store.record_sync(
            list_sync_results(
                plan,
                decision,
                run,
                exit_code=exit_code,
                at=format_utc(now),
                next_window=format_utc(opens) if opens else "",
                expect_every_s=_expect_every_s(settings.policy),
            )
        )

    async with open_run_store(settings, dependencies, create=True) as store:
        await await_store(dependencies.offload, partial(work, store), give_up=store.give_up)


async def record_failed_sync(settings: Settings, dependencies: Dependencies, error: ReconcilerError) -> None:
    """Record that a sync ended with an error, where the store can be written."""
    commit = (await dependencies.offload(dependencies.context)).commit

    def work(store: Store) -> None:
        found = make_failed_sync(
            error,
            at=format_utc(store.now()),
            commit=commit,
            expect_every_s=_expect_every_s(settings.policy),
        )
        store.record_sync([found, *_list_workspaces_of(store)])

    with suppress(StoreError):  # the error that is under way says more
        async with open_run_store(settings, dependencies, create=True) as store:
            await await_store(dependencies.offload, partial(work, store), give_up=store.give_up)


def _list_workspaces_of(store: Store) -> tuple[SyncResult, ...]:
    """Return what the last sync found of workspaces: an error before the plan says nothing of them."""
    return tuple(one for one in store.sync_results() if one.workspace)


def _expect_every_s(policy: Policy) -> int:
    return int(parse_duration(policy.expect_every).total_seconds()) if policy.expect_every else 0
