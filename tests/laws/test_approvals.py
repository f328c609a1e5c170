"""Laws of approvals: of generated replies hostile ones count nothing and good ones once, in any order."""

import random
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
import tally
from core.approving import JANE, NOW, POLICY, QUESTION_ID, SALT, SAM, STACK, after, code_of, question
from core.approving import reply as reply_of
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from reconciler.core.review.approvals import (
    CODE_LETTERS,
    ApproverReply,
    Person,
    count_decision,
    count_reply,
    tally_approvals,
)
from reconciler.model.automation import LIVE_STATES, ApprovalAnswer, Approvals, Counted, Verdict
from reconciler.model.settings import Approver

HOSTILE = 500
GOOD = 100

EVE = Approver(phone="+61491570158", email="eve@example.com")
OLD = "OLD234"


def wide(text: str) -> str:
    """The same in full-width letters."""
    return "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in text)


def other_letter(code: str, rng: random.Random) -> str:
    """A code with one letter that differs."""
    at = rng.randrange(len(code))
    return code[:at] + rng.choice(sorted(set(CODE_LETTERS) - {code[at]})) + code[at + 1 :]


def likeness(number: str, rng: random.Random) -> str:
    """Another number, or none, that looks like this one."""
    at = rng.randrange(1, len(number))
    digit = rng.choice(sorted(set("0123456789") - {number[at]}))
    changes = (
        number[:at] + digit + number[at + 1 :],
        number + rng.choice("0123456789"),
        number.replace("1", "l", 1),
        number.replace("0", "O", 1),
        number.replace("+61", "+1"),
        number.replace("+61", "+62"),
        f"{number}x7",
        f"{number}, {EVE.phone}",
        number[:-1],
        "",
        "OPERATIONS",
    )
    return rng.choice(changes)


# Each makes a reply that may not count, of a quorum of two: nobody gave an approval by it.
ATTACKS: dict[str, Callable[[random.Random], ApproverReply]] = {
    "wrong person": lambda _: reply_of(f"YES {code_of('jane')}", EVE),
    "the other approver": lambda _: reply_of(f"YES {code_of('jane')}", SAM),
    "wrong code": lambda rng: reply_of(f"YES {other_letter(code_of('jane'), rng)}"),
    "code of the other, sender forged": lambda _: reply_of(f"YES {code_of('sam')}", JANE),
    "fingerprint, sender forged": lambda rng: reply_of(f"YES {rng.randbytes(32).hex()}"),
    "first letters of the fingerprint": lambda rng: reply_of(f"YES {rng.randbytes(5).hex()}"),
    "id of the question": lambda _: reply_of(f"YES {QUESTION_ID}"),
    "late": lambda _: reply_of(f"YES {code_of('jane', OLD)}", question=OLD),
    "other stack": lambda rng: reply_of(f"YES {code_of('jane')}", stack=rng.choice(["other", "ops-contact"])),
    "look-alike number": lambda rng: reply_of(code_of("jane"), mobile=likeness(JANE.phone, rng)),
    "look-alike mailbox": lambda rng: reply_of(
        code_of("jane"),
        channel="EMAIL",
        email=rng.choice(
            [
                "jane.doe@example.com.evil.example",
                "j\u0430ne.doe@example.com",
                "jane.doe+x@example.com",
                "janedoe@example.com",
                wide(JANE.email),
                f'"{JANE.email}" <{EVE.email}>',
                f"{JANE.email}\n{EVE.email}",
            ]
        ),
    ),
    "full-width letters": lambda _: reply_of(f"YES {wide(code_of('jane'))}"),
    "code in halves": lambda rng: reply_of(
        code_of("jane")[:5] + rng.choice([" ", "-", "\u200b", "\n"]) + code_of("jane")[5:]
    ),
    "automatic reply": lambda _: reply_of(
        f"I am away until Monday.\n\nOn 1 March, ops wrote:\n> YES {code_of('jane')}\n> NO {code_of('jane')}"
    ),
    "neither yes nor no": lambda rng: reply_of(
        rng.choice(["maybe {}", "{} ?", "yes no {}", "do not approve {}", "yes if Sam agrees {}"]).format(
            code_of("jane")
        )
    ),
    "no code": lambda rng: reply_of(rng.choice(["yes", "YES!", "approve", "ok thanks"])),
    "plain guess": lambda rng: reply_of("".join(rng.choices(CODE_LETTERS, k=10)), rng.choice([JANE, SAM])),
    "channel that is none": lambda _: reply_of(code_of("jane"), mobile="", email="", channel="WEB"),
}


def hostile_replies() -> Iterator[tuple[str, ApproverReply]]:
    """Yield every attack in turn, each with chance of its own."""
    names = list(ATTACKS)
    for number in range(HOSTILE):
        name = names[number % len(names)]
        yield name, ATTACKS[name](random.Random(f"{name} {number}"))


def counted(known: Approvals, one: ApproverReply) -> Counted:
    return count_reply(known, one, POLICY, NOW, stack=STACK, salt=SALT)


def test_500_hostile_replies_count_nothing_and_close_nothing() -> None:
    """Whatever they did before, the two right replies still approve the plan."""
    known = Approvals((question(OLD, state="superseded"), question()))
    tally.count("approvals by hostile replies", "counted", 0)
    for name, one in hostile_replies():
        found = counted(known, one)
        tally.count("hostile replies", name)
        tally.count("approvals by hostile replies", "counted", found.answer is not None)
        assert found.answer is None, (name, one)
        known = after(known, found)
        assert known.questions[-1].state == "open", (name, one)
        assert known.questions[0].state == "superseded"
    told = sum(len(one.told_at) for each in known.questions for one in each.wrong.values())
    assert told <= 3 * 5  # of each approver and of strangers, for each question

    known = after(known, counted(known, reply_of(f"YES {code_of('jane')}")))
    known = after(known, counted(known, reply_of(f"YES {code_of('sam')}", SAM)))

    assert known.questions[-1].state == "approved"


WORDS = ["{}", "YES {}", "yes {}.", "{} ok", "Approved {}", "yes\n\n> YES {}\n> NO {}", "{}\n-- \nOperations"]


def test_100_good_replies_count_once_each() -> None:
    """Each comes three times, as the service repeats what it is not sure of; hostile ones come between."""
    names = [f"approver-{number:02}" for number in range(GOOD // 2)]
    policy = structs.replace(
        POLICY,
        quorum=50,
        approvers={
            name: Approver(phone=f"+614915701{number:02}", email=f"{name}@example.com")
            for number, name in enumerate(names)
        },
    )
    rng = random.Random(7)
    replies = 0
    for round_ in range(2):
        asked = f"ROUND{round_}"
        known = Approvals((question(asked, policy),))
        for name in rng.sample(names, len(names)):
            channel = rng.choice(["SMS", "EMAIL", "sms", ""])
            text = rng.choice(WORDS).replace("{}", code_of(name, asked))
            good = reply_of(text, policy.approvers[name], channel, question=asked)
            answers = []
            for one in (good, reply_of(code_of(name, asked), EVE, question=asked), good, good):
                found = count_reply(known, one, policy, NOW, stack=STACK, salt=SALT)
                answers.append(found.answer)
                known = after(known, found)
            assert [one is not None for one in answers] == [True, False, False, False], text
            replies += 1
        assert known.questions[0].state == "approved"
        assert len(known.answers) == len(names)
    tally.count("good replies", "counted once", replies)
    assert replies == GOOD


# --- Generated questions and answers ----------------------------------------------------------------------

NAMES = ("jane", "sam", "eve")
verdicts: st.SearchStrategy[Verdict] = st.sampled_from(["give", "refuse"])
answers = st.builds(
    ApprovalAnswer,
    question=st.sampled_from([QUESTION_ID, OLD]),
    approver=st.sampled_from(NAMES),
    verdict=verdicts,
    at=st.just(NOW.isoformat()),
    how=st.sampled_from(["code", "forge", "terminal"]),
)


@given(
    st.lists(answers, max_size=6),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from(["open", "approved", "refused", "used", "superseded", "expired"]),
    st.integers(-30, 30),
)
def test_a_plan_is_approved_only_by_enough_people_in_time_and_refused_by_nobody(
    given_: list[ApprovalAnswer], quorum: int, wanted: int, state: str, hours: int
) -> None:
    policy = structs.replace(POLICY, quorum=wanted)
    now = NOW + timedelta(hours=hours)
    asked = question(policy=policy, quorum=quorum, state=state)

    found = tally_approvals(asked, given_, policy, now)

    own = [one for one in given_ if one.question == QUESTION_ID]
    allowed = [one for one in own if one.how == "forge" or one.approver in POLICY.approvers]
    people = {one.approver for one in allowed if one.verdict == "give"}
    refused = any(one.verdict == "refuse" for one in allowed)
    enough = len(people) >= max(quorum, wanted)
    in_time = now.isoformat() < asked.expires_at
    assert (found.state == "approved") == (state in LIVE_STATES and enough and in_time and not refused)
    if state not in LIVE_STATES:
        assert found.state == state
    assert set(found.given) == people
    assert tally_approvals(asked, [*given_, *given_], policy, now) == found  # each person once


@given(st.permutations([0, 1, 2, 3]), verdicts, verdicts)
def test_the_order_of_answers_does_not_matter(order: list[int], first: Verdict, second: Verdict) -> None:
    """Replies overtake each other; only what closes a question ends it."""
    words = {"give": "YES", "refuse": "NO"}
    sent = [
        reply_of(f"{words[first]} {code_of('jane')}"),
        reply_of(f"{words[second]} {code_of('sam')}", SAM),
        reply_of(f"YES {code_of('jane')}", EVE),
        reply_of("YES 0123456789"),
    ]
    known = Approvals((question(),))
    for number in order:
        known = after(known, counted(known, sent[number]))

    both = first == second == "give"
    assert known.questions[0].state == ("approved" if both else "refused")


@given(st.text(max_size=60), st.sampled_from(["SMS", "EMAIL", ""]))
def test_no_text_without_a_code_is_an_answer(text: str, channel: str) -> None:
    """Any text at all, from the right address."""
    assert counted(Approvals((question(),)), reply_of(text, channel=channel)).answer is None


@given(st.sampled_from(NAMES), verdicts, st.sampled_from(["forge", "terminal"]))
@pytest.mark.parametrize("state", sorted({"used", "refused", "superseded", "expired"}))
def test_nobody_reopens_a_closed_question(state: str, name: str, verdict: Verdict, how: str) -> None:
    known = Approvals((question(state=state),))
    person = Person(name, how)  # type: ignore[arg-type]  # one of the words
    found = count_decision(known, QUESTION_ID, NOW, person=person, verdict=verdict, policy=POLICY)
    assert found.answer is None
    assert found.question is None or found.question.state == state
