"""Approvals are counted: who may answer, what a reply says, and what closes a question."""

from datetime import datetime, timedelta

import pytest
from core import build
from core.approving import (
    JANE,
    NOW,
    POLICY,
    QUESTION_ID,
    SALT,
    SAM,
    STACK,
    after,
    code_of,
    question,
    reply,
)
from msgspec import structs

from reconciler.core.review.approvals import (
    CODE_LETTERS,
    ApproverReply,
    Person,
    ReplyText,
    count_decision,
    count_reply,
    digest_code,
    find_most_dangerous,
    make_code,
    make_question,
    name_person,
    read_reply_text,
    tally_approvals,
)
from reconciler.model.automation import ApprovalAnswer, Approvals, Counted, QuestionState
from reconciler.model.settings import Approver, Policy

CODE = "K5T9W2QXB7"
OPEN = Approvals((question(),))


def counted(
    content: ApproverReply, known: Approvals = OPEN, policy: Policy = POLICY, now: datetime = NOW
) -> Counted:
    return count_reply(known, content, policy, now, stack=STACK, salt=SALT)


# --- Codes ------------------------------------------------------------------------------------------------


def test_a_code_has_ten_letters_that_nobody_takes_for_others() -> None:
    codes = {make_code(f"token {number}") for number in range(500)}

    assert len(codes) == 500
    assert {len(one) for one in codes} == {10}
    assert set("".join(codes)) == set(CODE_LETTERS)
    assert set("ILOU").isdisjoint(CODE_LETTERS)


def test_the_digest_of_a_code_is_of_one_question_one_approver_and_one_store() -> None:
    about = {"question": "Q1", "approver": "jane", "salt": SALT}
    others = ({"question": "Q2"}, {"approver": "sam"}, {"salt": "another"})
    digests = {digest_code(CODE, **{**about, **other}) for other in ({}, *others)}
    assert len(digests) == 4


# --- What a plan asks -------------------------------------------------------------------------------------


def test_the_most_dangerous_change_is_a_delete_then_an_update() -> None:
    there = build.live(build.person("00AB", {"firstName": "Jane"}))
    plan = build.planned(build.desired(build.contact("ops/sam", {"firstName": "Sam"})), there)
    assert find_most_dangerous(plan) == "create contact/ops/sam"
    assert find_most_dangerous(structs.replace(plan, changes=())) == ""


def test_a_question_says_counts_and_an_address_and_no_value() -> None:
    plan = build.planned(build.desired(build.contact("ops/sam", {"firstName": "Wilhelmina"})), build.live())
    asked = make_question(structs.replace(plan, commit="4f" * 20), POLICY, question=QUESTION_ID, now=NOW)

    assert (asked.fingerprint, asked.salt, asked.commit) == (plan.fingerprint, plan.salt, "4f" * 20)
    assert (asked.counts, asked.danger, asked.quorum) == ({"create": 1}, "create contact/ops/sam", 2)
    assert asked.expires_at == (NOW + timedelta(hours=24)).isoformat()
    assert "Wilhelmina" not in repr(asked)


# --- What a reply says ------------------------------------------------------------------------------------

GIVES = [
    CODE,
    CODE.lower(),
    f"  yes {CODE}\n",
    f"Yes, {CODE}.",
    f"{CODE} ok",
    f"Approved. {CODE}\n\nJane Doe\nOperations",
    f"YES\n{CODE}",
    f"Thanks, looks good, go ahead with {CODE}",
    f"Yes\n\n> To approve, reply: YES {CODE}\n> To refuse, reply: NO {CODE}",
    f"ok\n\nOn 1 March 2026, reconciler wrote:\n> YES {CODE}\n> NO {CODE}",
    f"approved\n-----Original Message-----\nFrom: reconciler\nYES {CODE}\nNO {CODE}",
    f"yes {CODE}\n\nAm 01.03.2026 schrieb ops <ops@example.com>:\nNO {CODE}",
]
REFUSES = [
    f"NO {CODE}",
    f"no. {CODE}",
    f"{CODE} refused",
    f"No, this is the wrong file.\n{CODE}",
    f"No\n> YES {CODE}\n> NO {CODE}",
    f"No problem {CODE}",  # a refusal is the safe side
]
UNCLEAR = [
    f"YES NO {CODE}",
    f"I do not approve {CODE}",
    f"I can't approve {CODE}",
    f"yes, but not today: {CODE}",
    f"What is {CODE}?",
    f"yes {CODE}\nwait",
    f"Approve? {CODE}",
    f"I disapprove {CODE}",
    f"yes if Sam agrees {CODE}",
    f"{CODE} was sent to me by mistake",
    f"YES {CODE}\nTo refuse, reply: NO {CODE}",  # a quote that is not marked as one
]


@pytest.mark.parametrize("text", GIVES)
def test_a_code_with_a_yes_or_alone_is_an_approval(text: str) -> None:
    assert read_reply_text(text) == ReplyText((CODE,), "give", answers=True)


@pytest.mark.parametrize("text", REFUSES)
def test_a_code_with_a_no_is_a_refusal(text: str) -> None:
    assert read_reply_text(text) == ReplyText((CODE,), "refuse", answers=True)


@pytest.mark.parametrize("text", UNCLEAR)
def test_words_that_may_turn_a_yes_into_a_no_make_it_unclear(text: str) -> None:
    assert read_reply_text(text) == ReplyText((CODE,), None, answers=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I am on holiday until Monday.",
        f"I am on holiday until Monday.\n\n> To approve, reply: YES {CODE}",
        f"> YES {CODE}",
    ],
)
def test_a_reply_that_only_quotes_is_no_answer(text: str) -> None:
    """Or the robot that answers for people on holiday approves deletes."""
    assert not read_reply_text(text).answers


FULL_WIDTH_NUMBER = "+" + "".join(chr(ord(one) + 0xFEE0) for one in "61491570156")
FULL_WIDTH = "".join(chr(ord(one) + 0xFEE0) for one in CODE)


@pytest.mark.parametrize(
    "text",
    [
        f"YES {FULL_WIDTH}",
        f"YES {CODE}X",
        f"YES {CODE[:-1]}",
        f"YES X{CODE}",
        f"YES {CODE[:5]}\u200b{CODE[5:]}",
        f"YES {CODE[:5]} {CODE[5:]}",
        f"YES \u212a{CODE[1:]}",  # the sign of kelvin, whose small letter is a k
        f"YES {CODE[:-1]}\u0667",
        f"YES \u017f{CODE[1:]}",  # the long s, whose capital is an S
        f"YES é{CODE}",
    ],
)
def test_what_only_looks_like_a_code_is_none(text: str) -> None:
    assert read_reply_text(text).codes == ()


def test_the_codes_of_a_long_reply_are_few() -> None:
    """Each that is compared takes 13 ms: a reply of a megabyte is no way to keep us busy."""
    text = " ".join(make_code(str(number)) for number in range(5_000))
    assert len(read_reply_text(text).codes) == 8


# --- Replies ----------------------------------------------------------------------------------------------


def test_a_code_from_its_approver_counts_and_the_quorum_approves() -> None:
    first = counted(reply(code_of("jane")))
    assert (first.word, first.approver, first.answer) == (
        "give",
        "jane",
        ApprovalAnswer(QUESTION_ID, "jane", "give", NOW.isoformat(), "code", "sms"),
    )
    assert first.question is not None
    assert (first.question.state, first.question.codes["jane"].used) == ("open", True)

    second = counted(reply(f"YES {code_of('sam')}", SAM, "EMAIL"), after(OPEN, first))
    assert second.question is not None
    assert second.question.state == "approved"


def test_one_refusal_closes_the_question_also_after_it_was_approved() -> None:
    policy = structs.replace(POLICY, quorum=1)
    known = Approvals((question(policy=policy),))
    known = after(known, counted(reply(code_of("jane")), known, policy))
    assert known.questions[0].state == "approved"

    known = after(known, counted(reply(f"NO {code_of('sam')}", SAM), known, policy))

    assert known.questions[0].state == "refused"
    assert counted(reply(code_of("jane")), known, policy).word == "repeated"


# Each is a reply, and the word for why it does not count.
REJECTED = {
    "the code of another approver": (reply(code_of("sam")), "wrong code"),
    "the code from somebody else's number": (
        reply(code_of("jane"), Approver(phone="+61491570158")),
        "unknown sender",
    ),
    "the code from the address of the other approver": (reply(code_of("jane"), SAM), "wrong code"),
    "a number that ends alike": (reply(code_of("jane"), Approver(phone="+1491570156")), "unknown sender"),
    "a number with the letter l": (reply(code_of("jane"), mobile="+6149l570156"), "unknown sender"),
    "a number with an extension": (reply(code_of("jane"), mobile="+61491570156x1"), "unknown sender"),
    "no number": (reply(code_of("jane"), mobile=""), "unknown sender"),
    "a mailbox with a Cyrillic a": (
        reply(code_of("jane"), channel="EMAIL", email="j\u0430ne.doe@example.com"),
        "unknown sender",
    ),
    "a domain that begins alike": (
        reply(code_of("jane"), channel="EMAIL", email="jane.doe@example.com.evil.example"),
        "unknown sender",
    ),
    "a display name with her address": (
        reply(code_of("jane"), channel="EMAIL", email='"jane.doe@example.com" <eve@example.com>'),
        "unknown sender",
    ),
    "her mailbox, claimed by a text message": (
        reply(code_of("jane"), mobile="+61491570158", email=JANE.email),
        "unknown sender",
    ),
    "her number, claimed by an e-mail": (
        reply(code_of("jane"), channel="EMAIL", email="eve@example.com", mobile=JANE.phone),
        "unknown sender",
    ),
    "the fingerprint, which every log shows": (reply(f"YES fingerprint of {QUESTION_ID}"), "no code"),
    "the id of the question": (reply(f"YES {QUESTION_ID}"), "no code"),
    "a guess": (reply("YES 0123456789"), "wrong code"),
    "a plain yes": (reply("yes"), "no code"),
    "neither yes nor no": (reply(f"perhaps {code_of('jane')}"), "unclear"),
    "full-width letters": (
        reply("".join(chr(ord(one) + 0xFEE0) for one in code_of("jane"))),
        "no code",
    ),
    "another stack": (reply(code_of("jane"), stack="other"), "another stack"),
    "an automatic reply": (reply(f"On holiday.\n> YES {code_of('jane')}"), "no answer"),
    "a chat about something else": (reply("yes", stack="", question=""), "not about an approval"),
}


@pytest.mark.parametrize("name", REJECTED)
def test_a_reply_that_is_not_certainly_an_approver_s_answer_does_not_count(name: str) -> None:
    sent, word = REJECTED[name]
    found = counted(sent)

    assert (found.word, found.answer) == (word, None)
    assert found.question is None or found.question.state == "open"
    # The right reply still counts.
    assert counted(reply(code_of("jane")), after(OPEN, found)).word == "give"


def test_a_number_is_the_same_however_it_is_written() -> None:
    for mobile in ("61491570156", "+61 491 570 156", "+61 (491) 570-156", FULL_WIDTH_NUMBER):
        assert counted(reply(code_of("jane"), mobile=mobile)).word == "give"
    for email in ("Jane.Doe@EXAMPLE.com", "jane.doe@example.com."):
        assert counted(reply(code_of("jane"), channel="EMAIL", email=email)).word == "give"


def test_no_number_is_not_the_number_of_one_who_has_none() -> None:
    """Nor is no mailbox that of one who has none."""
    policy = structs.replace(POLICY, approvers={"jane": Approver(forge="jane-d"), "sam": SAM})
    found = counted(reply(code_of("jane"), mobile="", email=""), policy=policy)
    assert (found.word, found.answer) == ("unknown sender", None)


@pytest.mark.parametrize("state", ["used", "refused", "superseded", "expired"])
def test_a_code_for_a_plan_that_has_changed_is_refused_and_told(state: QuestionState) -> None:
    known = Approvals((question(state=state), question("NEXT99")))

    found = counted(reply(code_of("jane")), known)

    assert (found.word, found.answer, found.approver, found.recorded) == ("late", None, "jane", True)
    assert found.question is not None
    assert (found.question.question, found.question.state) == (QUESTION_ID, state)


def test_a_code_after_its_time_is_late() -> None:
    assert counted(reply(code_of("jane")), now=NOW + timedelta(hours=24)).word == "late"
    assert counted(reply(code_of("jane")), now=NOW + timedelta(hours=23, minutes=59)).word == "give"


def test_a_code_counts_once() -> None:
    """Also where it says the opposite the second time: whoever wants to take it back refuses by name."""
    known = after(OPEN, counted(reply(code_of("jane"))))
    for text in (code_of("jane"), f"NO {code_of('jane')}"):
        found = counted(reply(text), known)
        assert (found.word, found.answer) == ("repeated", None)


def test_a_reply_that_is_read_twice_is_told_to_nobody() -> None:
    """After a crash the listener prints the last ones again: nobody sent a second one."""
    sent = reply(code_of("jane"), id="1f0e3dad99908345f7439f8ffabdffc4")
    known = after(OPEN, counted(sent))
    found = counted(sent, known)
    assert (found.word, found.answer, found.recorded) == ("read before", None, False)


def test_an_older_code_that_is_quoted_takes_nothing_from_the_new_one() -> None:
    """Mail programs quote the whole thread."""
    known = Approvals((question(state="superseded"), question("NEXT99")))
    text = f"yes\n> YES {code_of('jane', 'NEXT99')}\n>> YES {code_of('jane')}"

    found = counted(reply(text), known)

    assert found.answer is not None
    assert found.answer.question == "NEXT99"


def test_wrong_replies_are_told_a_few_times_an_hour_and_counted_always() -> None:
    """And never close the question: whoever can forge a sender would close every one."""
    known, told = OPEN, 0
    for _ in range(200):
        found = counted(reply("YES 0123456789"), known)
        known, told = after(known, found), told + found.recorded
    assert told == 3
    assert known.questions[0].wrong["jane"].number == 200
    assert known.questions[0].state == "open"

    later = counted(reply("YES 0123456789"), known, now=NOW + timedelta(hours=2))
    assert later.recorded
    assert counted(reply(code_of("jane")), after(known, later)).word == "give"


def test_wrong_replies_of_strangers_do_not_keep_an_approver_from_being_told() -> None:
    known = OPEN
    for _ in range(10):
        known = after(known, counted(reply("YES 0123456789", Approver(phone="+61491570158")), known))
    assert known.questions[0].wrong[""].number == 10
    assert counted(reply("YES 0123456789"), known).recorded


# --- Decisions at a terminal and behind the gate of a forge -----------------------------------------------

AT_TERMINAL = Person("jane", "terminal", "jane on build-7")
AT_FORGE = Person("octocat", "forge", "GitHub, run 42")


def decided(person: Person, known: Approvals = OPEN, policy: Policy = POLICY, **changes: object) -> Counted:
    given = {"person": person, "verdict": "give", "policy": policy, **changes}
    return count_decision(known, QUESTION_ID, NOW, **given)  # type: ignore[arg-type]  # what a test says


def test_an_approver_decides_at_a_terminal_and_a_stranger_does_not() -> None:
    found = decided(AT_TERMINAL)
    assert found.answer == ApprovalAnswer(
        QUESTION_ID, "jane", "give", NOW.isoformat(), "terminal", "jane on build-7"
    )
    stranger = decided(structs.replace(AT_TERMINAL, name="eve"))
    assert (stranger.word, stranger.answer) == ("not an approver", None)


def test_whom_the_gate_of_a_forge_let_through_counts() -> None:
    assert decided(AT_FORGE).word == "give"


def test_a_person_counts_once_by_a_reply_and_behind_a_gate() -> None:
    """Or one person is a quorum of two."""
    person = name_person(Person("Jane-D", "forge"), POLICY)
    assert person.name == "jane"
    known = after(OPEN, counted(reply(code_of("jane"))))
    assert decided(person, known).word == "repeated"


def test_a_login_means_nothing_at_a_terminal() -> None:
    assert name_person(Person("jane-d", "terminal"), POLICY).name == "jane-d"


def test_without_approvers_whoever_has_the_store_decides_at_a_terminal() -> None:
    """They could apply the plan as well."""
    policy = Policy(mode="approve")
    known = Approvals((question(policy=policy),))
    found = decided(structs.replace(AT_TERMINAL, name="jane on build-7"), known, policy)
    assert found.question is not None
    assert found.question.state == "approved"


@pytest.mark.parametrize("state", ["used", "refused", "superseded", "expired"])
def test_a_decision_about_a_closed_question_is_late(state: QuestionState) -> None:
    assert decided(AT_FORGE, Approvals((question(state=state),))).word == "late"


def test_a_decision_about_a_question_that_nobody_asked_does_not_count() -> None:
    assert decided(AT_FORGE, Approvals()).word == "no question"


# --- The tally --------------------------------------------------------------------------------------------


def given(*names: str, how: str = "code") -> tuple[ApprovalAnswer, ...]:
    return tuple(
        ApprovalAnswer(QUESTION_ID, name, "give", NOW.isoformat(), how)  # type: ignore[arg-type]  # one of the words
        for name in names
    )


def test_the_tally_says_who_and_how_many_more() -> None:
    found = tally_approvals(question(), given("jane"), POLICY, NOW)
    assert (found.state, found.given, found.missing) == ("open", ("jane",), 1)


def test_a_higher_quorum_of_the_settings_counts_and_a_lower_one_does_not() -> None:
    more, fewer = structs.replace(POLICY, quorum=3), structs.replace(POLICY, quorum=1)
    assert tally_approvals(question(), given("jane", "sam"), more, NOW).state == "open"
    assert tally_approvals(question(), given("jane"), fewer, NOW).state == "open"


def test_whoever_is_no_approver_any_more_does_not_count() -> None:
    policy = structs.replace(POLICY, approvers={"jane": JANE})
    assert tally_approvals(question(), given("jane", "sam"), policy, NOW).given == ("jane",)


def test_an_approval_expires_though_it_was_complete() -> None:
    found = tally_approvals(
        question(state="approved"), given("jane", "sam"), POLICY, NOW + timedelta(hours=25)
    )
    assert (found.state, found.reasons) == ("expired", (f"it expired at {question().expires_at}",))


def test_answers_to_another_question_do_not_count() -> None:
    """A new plan needs a new approval."""
    found = tally_approvals(question("NEXT99"), given("jane", "sam"), POLICY, NOW)
    assert (found.given, found.missing) == ((), 2)
