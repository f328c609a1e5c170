"""What the store keeps for automation: pauses, questions and their answers, what syncs found, what was told.

Times are ISO 8601 in UTC. No value holds a field of a person at the service: addresses, workspaces, names of
approvers and counts only.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, structs

# --- Pauses ---------------------------------------------------------------------------------------


class Pause(Struct, frozen=True):
    """From `since` until `until` no `sync` of the stack writes; `who` paused it, and why."""

    since: str
    until: str
    reason: str = ""
    who: str = ""


# --- Questions and answers ------------------------------------------------------------------------
#
#     open ──▶ approved ──▶ used            a run began with it
#       │          ├──────▶ refused         by one approver, also after others approved
#       ├──────────┴──────▶ superseded      another plan was asked about, or made this one pointless
#       └─────────────────▶ expired
#
# Only `open` and `approved` can change.

QuestionState = Literal["open", "approved", "refused", "used", "superseded", "expired"]
LIVE_STATES: frozenset[QuestionState] = frozenset({"open", "approved"})
Verdict = Literal["give", "refuse"]
AnswerWay = Literal["code", "forge", "terminal"]  # how an answer came


class ApprovalCode(Struct, frozen=True, omit_defaults=True):
    """The code of one approver for one question: its digest under the salt of the store, never itself.

    `sent_at` is empty until its message was taken by the service.
    """

    digest: str
    made_at: str
    sent_at: str = ""
    used: bool = False


class WrongTries(Struct, frozen=True, omit_defaults=True):
    """Replies that did not count: how many, and when the last ones of them were told to somebody."""

    number: int
    told_at: tuple[str, ...] = ()


class Question(Struct, frozen=True):
    """Whether a plan may be carried out: asked once, for one plan, and of so many approvers.

    `question` is a short id, `fingerprint` and `salt` those of the plan: one that is made later with this
    salt has this fingerprint where it does the same. `counts` says how many changes of each action the plan
    has, and `danger` names the most dangerous one: an address, no values. `codes` and `wrong` are by the name
    of an approver; replies of nobody known are counted under "".
    """

    question: str
    fingerprint: str
    asked_at: str
    expires_at: str
    salt: str = ""
    commit: str = ""
    counts: Mapping[str, int] = {}
    danger: str = ""
    quorum: int = 1
    state: QuestionState = "open"
    codes: Mapping[str, ApprovalCode] = {}
    wrong: Mapping[str, WrongTries] = {}


class ApprovalAnswer(Struct, frozen=True):
    """What an approver said to a question: each once. `detail` says where it came from."""

    question: str
    approver: str
    verdict: Verdict
    at: str
    how: AnswerWay
    detail: str = ""


class Approvals(Struct, frozen=True):
    """All questions of a stack that the store still knows, oldest first, and their answers."""

    questions: tuple[Question, ...] = ()
    answers: tuple[ApprovalAnswer, ...] = ()

    def answers_to(self, question: Question) -> tuple[ApprovalAnswer, ...]:
        """Return the answers to one question, in their order."""
        return tuple(one for one in self.answers if one.question == question.question)


class Counted(Struct, frozen=True):
    """What became of a reply, or of another look at a question.

    `question` is as it is from now on; None: no question changes. `answer` is one that counts. `word` says
    what became of it (an outcome of the history), `approver` who it was, as far as that is known, and `how`
    by which way it came. With `recorded` it stands in the history.
    """

    word: str
    question: Question | None = None
    answer: ApprovalAnswer | None = None
    approver: str = ""
    recorded: bool = True
    how: AnswerWay = "code"


# --- What syncs found -----------------------------------------------------------------------------

# Exit codes that say nothing of a failure: done, changes that are only reported, a person or a window waits.
HEALTHY_EXIT_CODES = frozenset({0, 2, 9, 10})


class SyncResult(Struct, frozen=True):
    """What the last `sync` found: of a workspace, or of the stack as a whole (`workspace` is "").

    `outcome` is the word of `exit_code`, `decision` what was decided (apply, ask, wait, report, refuse,
    nothing) and `reason` why. `run` is the run that it began, if it did. `failing_since` is empty where it
    did not fail. `expect_every_s` is `policy.expect_every` of that sync, in seconds; 0: not set.
    """

    workspace: str
    at: str
    outcome: str
    exit_code: int = 0
    commit: str = ""
    fingerprint: str = ""
    counts: Mapping[str, int] = {}
    next_window: str = ""
    failing_since: str = ""
    last_good: str = ""
    run: str = ""
    decision: str = ""
    reason: str = ""
    expect_every_s: int = 0

    def after(self, before: "SyncResult | None") -> "SyncResult":
        """Return this result with what it takes over from the one before: failing since, and last good."""
        if self.exit_code in HEALTHY_EXIT_CODES:
            return structs.replace(self, failing_since="", last_good=self.at)
        since = before.failing_since if before else ""
        return structs.replace(
            self, failing_since=since or self.at, last_good=before.last_good if before else ""
        )


# --- Notifications --------------------------------------------------------------------------------


class Told(Struct, frozen=True):
    """What was last told over a channel about one thing (`state_key`), as a digest of it.

    `failed_times` counts deliveries that failed since the last one that did not.
    """

    channel: str
    state_key: str
    digest: str
    at: str
    failed_times: int = 0
    last_error: str = ""
