"""A question to two approvers, their codes, and replies to it: all invented."""

from datetime import UTC, datetime, timedelta
from functools import cache

from msgspec import structs

from reconciler.core.review.approvals import ApproverReply, digest_code, make_code
from reconciler.model.automation import ApprovalAnswer, ApprovalCode, Approvals, Counted, Question
from reconciler.model.settings import Approver, Policy

SALT = "salt-of-the-store"
STACK = "ops-contacts"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
JANE = Approver(phone="+61491570156", email="jane.doe@example.com", forge="jane-d")
SAM = Approver(phone="+61491570157", email="sam.lee@example.com")
POLICY = Policy(mode="approve", approvers={"jane": JANE, "sam": SAM}, quorum=2)
QUESTION_ID = "Q7K2M4"


@cache
def code_of(name: str, question: str = QUESTION_ID) -> str:
    """Return the code that an approver got for a question."""
    return make_code(f"{question} {name}")


@cache
def made_code(name: str, question: str = QUESTION_ID) -> ApprovalCode:
    """Return what the store has of it."""
    digest = digest_code(code_of(name, question), question=question, approver=name, salt=SALT)
    return ApprovalCode(digest, NOW.isoformat(), sent_at=NOW.isoformat())


def question(name: str = QUESTION_ID, policy: Policy = POLICY, **changes: object) -> Question:
    """Return an open question, one minute old, to all approvers."""
    return structs.replace(
        Question(
            name,
            f"fingerprint of {name}",
            (NOW - timedelta(minutes=1)).isoformat(),
            (NOW + timedelta(hours=24)).isoformat(),
            counts={"delete": 4},
            danger="delete contact/ops/jane-doe",
            quorum=policy.quorum,
            codes={one: made_code(one, name) for one in policy.approvers},
        ),
        **changes,
    )


def reply(content: str, sender: Approver = JANE, channel: str = "SMS", **changes: str) -> ApproverReply:
    """Return a reply to a message of ours, from an approver by one channel."""
    by_mail = channel == "EMAIL"
    made = ApproverReply(
        content,
        channel,
        mobile="" if by_mail else sender.phone,
        email=sender.email if by_mail else "",
        stack=STACK,
        question=QUESTION_ID,
    )
    return structs.replace(made, **changes)


def after(known: Approvals, counted: Counted) -> Approvals:
    """Return what the store knows once a reply was counted."""
    changed = counted.question
    questions = tuple(
        changed if changed and changed.question == one.question else one for one in known.questions
    )
    added: tuple[ApprovalAnswer, ...] = (counted.answer,) if counted.answer else ()
    return Approvals(questions, (*known.answers, *added))
