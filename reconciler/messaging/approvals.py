"""Asks approvers about a plan by messages with a code for each, and says why a reply did not count.

    ask_for_approval: the question in the store ─▶ a message to each approver ─▶ which of them were sent

A question is stored before a message leaves, so that a reply always finds it. An approver whose message was
not sent, or of whom that is not known, gets another one with a new code by a later call. How replies are
counted is in core/review/approvals.py.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Literal

from msgspec import DecodeError, Struct, structs

from reconciler.core.review.approvals import (
    ApproverReply,
    digest_code,
    make_code,
    make_question,
    make_question_id,
)
from reconciler.errors import InDoubt, InputError, ReconcilerError
from reconciler.messaging.client import ServiceClient
from reconciler.messaging.values import Message, Respondent
from reconciler.model.automation import LIVE_STATES, ApprovalCode, Approvals, Counted, Question
from reconciler.model.encoding import decode_json
from reconciler.model.plans import Plan
from reconciler.model.settings import Approver, Settings
from reconciler.report.lines import count
from reconciler.report.values import moment_text
from reconciler.store.database import Offload, Store, await_store

# What a message of ours carries, and the service returns with every reply to it.
STACK_PARAMETER = "reconcilerStack"
QUESTION_PARAMETER = "reconcilerQuestion"

resend_after = timedelta(minutes=10)  # a message that another machine may be sending is left to it so long


class AskResult(Struct, frozen=True):
    """How a question stands after it was asked: `sent` are the approvers whose message left now.

    `failed` says of the others that should have got one why they did not.
    """

    question: Question
    sent: tuple[str, ...] = ()
    failed: Mapping[str, str] = {}


async def ask_for_approval(
    plan: Plan,
    settings: Settings,
    store: Store,
    client: ServiceClient,
    *,
    offload: Offload,
    token: Callable[[], str],
) -> AskResult:
    """Ask the approvers of the settings about this plan, unless they are asked already.

    A question about another plan is superseded. Every approver with an address gets one message; one that was
    not sent is in `failed`, and sent by a later call. Without approvers the question waits for
    `reconciler approvals give`. Raises StoreError.
    """
    wait = partial(await_store, offload, give_up=store.give_up)
    question, unasked = await wait(partial(_store_question, plan, settings, token, store))
    if not unasked:
        return AskResult(question)
    if why := await _find_callback_fault(client, settings.policy.callback):
        return AskResult(question, failed=dict.fromkeys(unasked, why))
    question, codes = await wait(partial(_make_codes, question, settings, token, store))
    sent: list[str] = []
    failed: dict[str, str] = {}
    for name, code in codes.items():
        try:
            await client.messages.send(write_question(settings, question, name, code))
        except InDoubt as error:  # it may have arrived: its code stays good until another one is made
            failed[name] = str(error)
            continue
        except ReconcilerError as error:
            failed[name] = str(error)
        else:
            sent.append(name)
        question = await wait(partial(_note_sent, question, name, store, sent=name in sent))
    return AskResult(question, tuple(sent), failed)


async def _find_callback_fault(client: ServiceClient, callback: str) -> str:
    """Return why replies to a question would be lost, or ""."""
    try:
        known = {one.name for one in await client.callbacks.list()}
    except ReconcilerError as error:
        return str(error)
    if callback in known:
        return ""
    return (
        f"the service has no callback {callback!r} (policy.callback), so the reply would be lost. Create it: "
        f"reconciler callbacks create {callback} URL"
    )


def _store_question(
    plan: Plan, settings: Settings, token: Callable[[], str], store: Store
) -> tuple[Question, list[str]]:
    """Return the question as it is in the store, and the approvers who have to be asked now."""
    asked = make_question(plan, settings.policy, question=make_question_id(token()), now=store.now())
    question = store.ask_question(asked)
    return question, _list_unasked(question, settings, store.now())


def _make_codes(
    question: Question, settings: Settings, token: Callable[[], str], store: Store
) -> tuple[Question, dict[str, str]]:
    """Return the question with new codes for whoever has to be asked, and these codes by approver."""
    now = store.now()
    codes = {name: make_code(token()) for name in _list_unasked(question, settings, now)}
    made = {
        name: ApprovalCode(
            digest_code(code, question=question.question, approver=name, salt=store.salt),
            now.isoformat(timespec="seconds"),
        )
        for name, code in codes.items()
    }

    def add_codes(known: Approvals, now: datetime) -> Counted:
        # Another machine may have come first: its codes are on their way.
        current = _find_question(known, question)
        wanted = {name: made[name] for name in _list_unasked(current, settings, now) if name in made}
        return Counted("asked", structs.replace(current, codes={**current.codes, **wanted}), recorded=False)

    kept = store.record_answer(add_codes).question
    assert kept is not None  # noqa: S101 - `add_codes` returns one
    return kept, {name: code for name, code in codes.items() if kept.codes.get(name) == made[name]}


def _list_unasked(question: Question, settings: Settings, now: datetime) -> list[str]:
    """Return the approvers who can be reached and have no code that was sent, or is about to be."""

    def is_asked(name: str) -> bool:
        code = question.codes.get(name)
        if code is None:
            return False
        return bool(code.sent_at) or now - datetime.fromisoformat(code.made_at) < resend_after

    if question.state not in LIVE_STATES:
        return []
    return [
        name for name, one in settings.policy.approvers.items() if _address_of(one) and not is_asked(name)
    ]


def _note_sent(question: Question, name: str, store: Store, *, sent: bool) -> Question:
    """Record that the message of an approver was sent, or that it certainly was not: its code goes."""

    def note(known: Approvals, now: datetime) -> Counted:
        current = _find_question(known, question)
        codes = {one: code for one, code in current.codes.items() if one != name}
        if sent:
            at = now.isoformat(timespec="seconds")
            codes[name] = structs.replace(current.codes[name], sent_at=at)
        return Counted("sent", structs.replace(current, codes=codes), recorded=False)

    return store.record_answer(note).question or question


def _find_question(known: Approvals, question: Question) -> Question:
    return next((one for one in known.questions if one.question == question.question), question)


# --- Messages -------------------------------------------------------------------------------------


def write_question(settings: Settings, question: Question, name: str, code: str) -> Message:
    """Return the message that asks an approver: counts and one address, no values."""
    policy = settings.policy
    words = (count(number, word) for word, number in question.counts.items() if number)
    counts = ", ".join(words)
    until = moment_text(question.expires_at)
    text = (
        f"reconciler, stack {settings.stack}: asks for your approval of {counts or 'no changes'}.\n"
        f"Look first at: {question.danger or '-'}\n"
        f"Commit {question.commit[:10] or 'unknown'}, question {question.question}, until {until}.\n"
        f"To approve, reply: YES {code}\n"
        f"To refuse, reply: NO {code}"
    )
    subject = f"Approve changes of {settings.stack}? {counts}"
    parameters = {STACK_PARAMETER: settings.stack, QUESTION_PARAMETER: question.question}
    return write_approver_message(policy.approvers[name], subject, text, policy.callback, parameters)


_BECAUSE = {
    "unknown sender": "it came from an address of nobody who may approve",
    "no code": "it has no code; reply YES and your code, or NO and your code",
    "wrong code": "the code is not one that was sent to you for this question",
    "unclear": "it says neither yes nor no clearly; reply with nothing but YES or NO and your code",
    "repeated": "you have answered this question before",
    "late": "the plan has changed since, or the question is closed; a new plan is a new question",
}


def write_rejection(settings: Settings, counted: Counted) -> Message | None:
    """Return the message that tells an approver why a reply did not count; None: it is told to nobody.

    Only an approver is written to, at the address of the settings, and a few times an hour: whoever forges a
    sender cannot make us write to others.
    """
    approver = settings.policy.approvers.get(counted.approver)
    if approver is None or counted.answer is not None or not counted.recorded:
        return None
    about = f" to question {counted.question.question}" if counted.question else ""
    text = (
        f"reconciler, stack {settings.stack}: your reply{about} does not count: {_BECAUSE[counted.word]}. "
        "If you sent none, somebody else used your address."
    )
    return write_approver_message(approver, f"Your reply does not count ({settings.stack})", text)


def write_approver_message(
    approver: Approver, subject: str, text: str, callback: str = "", parameters: Mapping[str, str] = {}
) -> Message:
    """Return a message to a person of the policy, by all of their addresses."""
    more = {"email": {"body": text, "type": "text/plain"}} if approver.email else {}
    return Message(
        to=tuple(filter(None, (approver.phone, approver.email))),
        subject=subject,
        body=text if approver.phone else "",
        callback_id=callback,
        callback_parameters=parameters,
        more=more,
    )


def _address_of(approver: Approver) -> str:
    return approver.phone or approver.email


class ReplyEvent(Struct, frozen=True):
    """A line of `reconciler callbacks listen` (schemas/reply.schema.json), as far as it is read here."""

    id: str
    event: Literal["reply", "undeliverable"]
    sender: Respondent
    channel: str
    content: str
    parameters: Mapping[str, str]


def read_reply_event(line: bytes) -> ReplyEvent:
    """Return the reply in a line. Raises InputError, without its words, for any other line."""
    try:
        return decode_json(line, ReplyEvent)
    except (DecodeError, ValueError, RecursionError):
        raise InputError(
            "a line is no reply.",
            next="pass on what this prints: reconciler callbacks listen --format json",
        ) from None


def read_approver_reply(reply: ReplyEvent) -> ApproverReply:
    """Return what matters of a reply to whoever counts approvals."""
    return ApproverReply(
        content=reply.content,
        id=reply.id,
        channel=reply.channel,
        mobile=reply.sender.mobile,
        email=reply.sender.email,
        stack=reply.parameters.get(STACK_PARAMETER, ""),
        question=reply.parameters.get(QUESTION_PARAMETER, ""),
    )
