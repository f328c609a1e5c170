"""Who has approved a plan: replies and decisions are read, matched to a question, and counted. Pure.

    reply ──▶ read_reply_text ──▶ count_reply ──┐
                                                ├──▶ Counted: an answer and the question as it is from now on,
    person at a terminal, job of a forge ──▶ count_decision ┘   or why it does not count

A reply counts with a code *and* from the address of the approver that the code was made for. Neither alone
proves anything: a code can be read over a shoulder or forwarded, and whoever sends a text message can claim
any number. What a reply says has to be clear as well: words that are not known make it unclear, and what is
unclear is neither an approval nor a refusal.

Wrong replies never close a question, because anybody who can forge a sender would close every one. They are
counted, and told to the approver whose address they came from, a few times an hour. A code is one of 2^50, so
that a right reply counts however many wrong ones came before.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Literal

from msgspec import Struct, structs

from reconciler.core.compare.identity import email_key, number_key
from reconciler.core.digests import compute_scrypt
from reconciler.core.text import fold_case, normalize_unicode
from reconciler.model.automation import (
    LIVE_STATES,
    AnswerWay,
    ApprovalAnswer,
    Approvals,
    Counted,
    Question,
    QuestionState,
    Verdict,
    WrongTries,
)
from reconciler.model.plans import Delete, Plan, Update, action_of
from reconciler.model.settings import Approver, Policy

# --- Codes ----------------------------------------------------------------------------------------

# Crockford's 32: without I, L, O and U, which are taken for others or make words.
CODE_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
code_length = 10
question_length = 6
_candidates_max = 8  # codes of one reply that are compared; each takes 13 ms


def make_code(token: str) -> str:
    """Return the code of an approver, made of random text: 10 letters of 32."""
    return _letters_of(f"approval code {token}", code_length)


def make_question_id(token: str) -> str:
    """Return a short id for a question, made of random text. It is no secret."""
    return _letters_of(f"approval question {token}", question_length)


def _letters_of(text: str, length: int) -> str:
    number = int.from_bytes(sha256(text.encode()).digest())
    return "".join(CODE_LETTERS[number >> 5 * place & 31] for place in range(length))


def digest_code(code: str, *, question: str, approver: str, salt: str) -> str:
    """Return what the store keeps of a code: a slow digest, for one question and one approver."""
    # Slow, because 50 bits can be tried by a fast one, by whoever may read the store and not write it.
    return compute_scrypt(f"{question}\0{approver}\0{code}", f"reconciler approval {salt}")


# --- What a plan asks -----------------------------------------------------------------------------


def find_most_dangerous(plan: Plan) -> str:
    """Return the action and address of the change that a person should look at first; "" for no change.

    A delete before an update, an update before a create; among equals the first of the plan.
    """
    order: Mapping[type, int] = {Delete: 0, Update: 1}
    first = min(plan.changes, key=lambda one: order.get(type(one), 2), default=None)
    return f"{action_of(first)} {first.address}" if first is not None else ""


def make_question(plan: Plan, policy: Policy, *, question: str, now: datetime) -> Question:
    """Return the question about a plan, for which nobody has a code yet."""
    return Question(
        question=question,
        fingerprint=plan.fingerprint,
        asked_at=_format_time(now),
        expires_at=_format_time(now + timedelta(hours=policy.approval_hours)),
        salt=plan.salt,
        commit=plan.commit or "",
        counts=dict(Counter(map(action_of, plan.changes))),
        danger=find_most_dangerous(plan),
        quorum=policy.quorum,
    )


# --- Counting -------------------------------------------------------------------------------------


class ApprovalTally(Struct, frozen=True):
    """How a question stands: who gave approval, how many are missing, and why it is closed, if it is."""

    state: QuestionState
    given: tuple[str, ...] = ()
    missing: int = 0
    reasons: tuple[str, ...] = ()


def tally_approvals(
    question: Question, answers: Iterable[ApprovalAnswer], policy: Policy, now: datetime
) -> ApprovalTally:
    """Return how a question stands now. Each approver counts once; one refusal outweighs every approval.

    The larger quorum counts: that of the question and that of the settings now. By a code or at a terminal
    counts whoever is an approver of the settings now; behind the gate of a forge, whom the gate let through.
    """
    own = [one for one in answers if one.question == question.question and _may_answer(one, policy)]
    refused = tuple(dict.fromkeys(one.approver for one in own if one.verdict == "refuse"))
    given = tuple(dict.fromkeys(one.approver for one in own if one.verdict == "give"))
    missing = max(0, max(question.quorum, policy.quorum) - len(given))
    if question.state not in LIVE_STATES:
        return ApprovalTally(
            question.state, given, missing, (f"question {question.question} is {question.state}",)
        )
    if refused:
        return ApprovalTally("refused", given, missing, tuple(f"{name} refused" for name in refused))
    if _parse_time(question.expires_at) <= now:
        return ApprovalTally("expired", given, missing, (f"it expired at {question.expires_at}",))
    return ApprovalTally("open" if missing else "approved", given, missing)


def _may_answer(answer: ApprovalAnswer, policy: Policy) -> bool:
    return answer.how == "forge" or _is_approver(answer.approver, policy)


def _is_approver(name: str, policy: Policy) -> bool:
    """Whether the settings let somebody of this name approve; without approvers, whoever has the store."""
    return not policy.approvers or name in policy.approvers


def settle_question(
    question: Question, answers: Iterable[ApprovalAnswer], policy: Policy, now: datetime
) -> Question:
    """Return the question in the state that its answers and the time give it."""
    return structs.replace(question, state=tally_approvals(question, answers, policy, now).state)


# --- What a reply says ----------------------------------------------------------------------------


class ReplyText(Struct, frozen=True):
    """What the text of a reply says: the codes in it, and the verdict; None: it is not clear.

    `answers`: its own part, without what it quotes, has a code, a yes or a no. An automatic reply has none.
    """

    codes: tuple[str, ...]
    verdict: Verdict | None
    answers: bool


_YES = frozenset({"yes", "y", "ok", "okay", "approve", "approved"})
_NO = frozenset({"no", "n", "refuse", "refused", "reject", "rejected", "deny", "denied"})
# Words that change nothing beside a yes. Every other word makes it unclear: a list of all words that turn a
# yes into a no would never be complete.
_FILLERS = frozenset(
    (
        *("hi", "hello", "thanks", "thank", "you", "please", "this", "the", "plan", "it", "i", "we", "my"),
        *("code", "is", "reply", "go", "ahead", "and", "with", "by", "me", "fine", "good", "looks"),
    )
)
_TURNS = frozenset({"not", "never", "stop", "wait", "cancel", "hold", "but", "don", "dont", "cannot", "cant"})
_WORD = re.compile(r"[^\W_]+")
# Where what a mail program quotes begins.
_QUOTED = re.compile(r"\s*(?:>|[-_]{5,}|(?:From|Von|De|Da|Van): )|.*(?:wrote|schrieb|@[^\s]+>?) ?:\s*$")
_text_max = 20_000  # characters that are looked at


def read_reply_text(text: str) -> ReplyText:
    """Return what a reply says. Its own words come first; a code may stand in what it quotes.

    Letters of ASCII alone make a code, in either case: a letter that only looks the same is another one.
    """
    own, quoted = _split_quoted(text[:_text_max])
    lines = [[fold_case(word) for word in _WORD.findall(line)] for line in own]
    words = {word for line in lines for word in line}
    mine = _find_codes(own)
    codes = mine or _find_codes(quoted)
    yes, no = bool(words & _YES), bool(words & _NO)
    answering = [line for line in lines if any(word in _YES or _is_code(word) for word in line)]
    clear = all(word in _YES | _FILLERS or _is_code(word) for line in answering for word in line)
    doubtful = bool(words & _TURNS) or any("?" in line for line in own)
    verdict: Verdict | None = None
    if no and not yes:
        verdict = "refuse"
    elif not no and clear and not doubtful and (yes or mine):
        verdict = "give"
    answers = mine or yes or no or any(_is_code(normalize_unicode("NFKD", word)) for word in words)
    return ReplyText(codes, verdict, bool(answers))


def _split_quoted(text: str) -> tuple[list[str], list[str]]:
    lines = text.splitlines()
    end = next((number for number, line in enumerate(lines) if _QUOTED.match(line)), len(lines))
    return lines[:end], lines[end:]


def _find_codes(lines: Iterable[str]) -> tuple[str, ...]:
    found = (word.upper() for line in lines for word in _WORD.findall(line) if _is_code(word))
    return tuple(dict.fromkeys(found))[:_candidates_max]


def _is_code(word: str) -> bool:
    return len(word) == code_length and word.isascii() and all(one in CODE_LETTERS for one in word.upper())


# --- Replies --------------------------------------------------------------------------------------


class ApproverReply(Struct, frozen=True):
    """A reply as the service passed it on. `stack` and `question` are those that its message was sent for.

    They are empty where the message was none of ours. Numbers and addresses are as the service shows them.
    `id` is the same where the same reply is read again; "": not known.
    """

    content: str
    channel: str = ""
    mobile: str = ""
    email: str = ""
    stack: str = ""
    question: str = ""
    id: str = ""


ReplyWord = Literal[
    "give",
    "refuse",
    "not about an approval",  # no message of ours, and no code
    "another stack",  # the take of that stack counts it
    "read before",  # the same reply once more, after a crash
    "no answer",  # an automatic reply
    "unknown sender",
    "no code",
    "wrong code",
    "unclear",  # neither yes nor no, or both
    "repeated",  # this approver has answered
    "late",  # the question is closed
]
# What is worth no line and no message: it is no answer to us.
_UNCOUNTED: Collection[ReplyWord] = ("not about an approval", "another stack", "no answer", "read before")

told_max = 3  # wrong replies of one approver that are told and stand in the history
_told_within = timedelta(hours=1)  # ... in this time


def count_reply(
    known: Approvals, reply: ApproverReply, policy: Policy, now: datetime, *, stack: str, salt: str
) -> Counted:
    """Return what becomes of a reply: an answer that counts, or why it does not."""
    said = read_reply_text(reply.content)
    detail = f"{_channel_of(reply)} {reply.id}".strip()
    if reply.stack not in ("", stack):
        return _leave("another stack")
    if reply.id and any(one.detail == detail for one in known.answers):
        return _leave("read before")
    if not said.answers:
        return _leave("no answer" if reply.question else "not about an approval")
    senders = [name for name, one in policy.approvers.items() if _is_from(reply, one)]
    matches = list(_find_matches(known, said.codes, senders, salt=salt))
    if not matches:
        return _reject_unmatched(known, reply, said, senders, now)
    # Mail programs quote codes of older questions too.
    name, question = ([one for one in matches if _is_live(one[1], now)] or matches)[-1]
    why = _why_not(known, name, question, said, now)
    if why is not None:
        return _reject(why, question, name, now)
    assert said.verdict is not None  # noqa: S101 - `_why_not` says so otherwise
    answer = ApprovalAnswer(question.question, name, said.verdict, _format_time(now), "code", detail)
    codes = {**question.codes, name: structs.replace(question.codes[name], used=True)}
    return _accept(known, structs.replace(question, codes=codes), answer, policy, now)


def _why_not(
    known: Approvals, name: str, question: Question, said: ReplyText, now: datetime
) -> ReplyWord | None:
    """Return why a right code from its approver does not count; None where it does."""
    if any(one.approver == name for one in known.answers_to(question)):
        return "repeated"
    if not _is_live(question, now):
        return "late"
    return "unclear" if said.verdict is None else None


def _reject_unmatched(
    known: Approvals, reply: ApproverReply, said: ReplyText, senders: Sequence[str], now: datetime
) -> Counted:
    """Return what becomes of a reply without a code that was made for its sender."""
    if not reply.question:
        return _leave("not about an approval")
    asked = next((one for one in known.questions if one.question == reply.question), None)
    word: ReplyWord = "unknown sender" if not senders else "wrong code" if said.codes else "no code"
    if asked is None or not _is_live(asked, now):
        word = "late"
    return _reject(word, asked, senders[0] if senders else "", now)


def _find_matches(
    known: Approvals, codes: Iterable[str], senders: Iterable[str], *, salt: str
) -> Iterator[tuple[str, Question]]:
    """Yield the approver and the question that these codes were made for, the oldest question first."""
    codes, senders = tuple(codes), tuple(senders)
    for question in known.questions:
        for name in senders:
            made = question.codes.get(name)
            if made is None:
                continue
            digests = (
                digest_code(one, question=question.question, approver=name, salt=salt) for one in codes
            )
            if made.digest in digests:
                yield name, question


def _is_from(reply: ApproverReply, approver: Approver) -> bool:
    """Whether a reply comes from an address of this approver, on the channel that it came by."""
    channel = _channel_of(reply)
    mobile, wanted = number_key(reply.mobile), number_key(approver.phone)
    by_phone = bool(mobile) and mobile == wanted and channel != "email"
    mail = email_key(reply.email)
    by_mail = bool(mail) and mail == email_key(approver.email) and channel not in ("sms", "voice")
    return by_phone or by_mail


def _channel_of(reply: ApproverReply) -> str:
    return fold_case(reply.channel.strip())


# --- Decisions at a terminal, or behind the gate of a forge ---------------------------------------


class Person(Struct, frozen=True):
    """Who decides, and how that is known. `detail` says where: a job of a forge, a machine."""

    name: str
    how: AnswerWay
    detail: str = ""


def name_person(person: Person, policy: Policy) -> Person:
    """Return the person under the name of an approver where the settings name this login of a forge."""
    login = person.name.lower()  # a forge tells no letter case apart
    names = [name for name, one in policy.approvers.items() if one.forge and one.forge.lower() == login]
    known = names and person.how == "forge"
    return structs.replace(person, name=names[0]) if known else person


def count_decision(
    known: Approvals, question: str, now: datetime, *, person: Person, verdict: Verdict, policy: Policy
) -> Counted:
    """Return what becomes of a decision: an answer that counts, or why it does not."""
    found = next((one for one in known.questions if one.question == question), None)
    why = _why_no_decision(known, found, person, policy, now)
    if found is None or why:
        return Counted(why, found, approver=person.name, how=person.how)
    answer = ApprovalAnswer(question, person.name, verdict, _format_time(now), person.how, person.detail)
    return _accept(known, found, answer, policy, now)


def _why_no_decision(
    known: Approvals, question: Question | None, person: Person, policy: Policy, now: datetime
) -> str:
    """Return why a decision does not count, or ""."""
    if question is None:
        return "no question"
    if person.how == "terminal" and not _is_approver(person.name, policy):
        return "not an approver"
    if any(one.approver == person.name for one in known.answers_to(question)):
        return "repeated"
    return "" if _is_live(question, now) else "late"


# --- What all of them share -----------------------------------------------------------------------


def _accept(
    known: Approvals, question: Question, answer: ApprovalAnswer, policy: Policy, now: datetime
) -> Counted:
    answers = (*known.answers_to(question), answer)
    settled = settle_question(question, answers, policy, now)
    return Counted(answer.verdict, settled, answer, answer.approver, how=answer.how)


def _leave(word: ReplyWord) -> Counted:
    assert word in _UNCOUNTED  # noqa: S101 - everything else is counted
    return Counted(word, recorded=False)


def _reject(word: ReplyWord, question: Question | None, approver: str, now: datetime) -> Counted:
    """Return that a reply does not count. It is counted; over the rate neither told nor in the history."""
    if question is None:
        return Counted(word, approver=approver, recorded=False)
    before = question.wrong.get(approver, WrongTries(0))
    recent = tuple(one for one in before.told_at if now - _parse_time(one) < _told_within)
    told = len(recent) < told_max
    tries = WrongTries(before.number + 1, (*recent, _format_time(now)) if told else recent)
    wrong = {**question.wrong, approver: tries}
    return Counted(word, structs.replace(question, wrong=wrong), approver=approver, recorded=told)


def _is_live(question: Question, now: datetime) -> bool:
    return question.state in LIVE_STATES and _parse_time(question.expires_at) > now


def _parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _format_time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
