"""Approvers are asked by messages, once each, with a code of their own; what does not count is told."""

import asyncio
import itertools
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest
from clock import Clock
from core.approving import JANE, SAM
from messaging.post import payload
from msgspec import structs
from store.remembering import PLAN, everything, store_of

from reconciler.core.review.approvals import count_reply, read_reply_text
from reconciler.errors import InDoubt, InputError, ReconcilerError, Throttled
from reconciler.messaging.approvals import (
    AskResult,
    ask_for_approval,
    read_approver_reply,
    read_reply_event,
    write_rejection,
)
from reconciler.messaging.replies import parse_reply
from reconciler.messaging.reports import reply_json
from reconciler.messaging.values import Callback, Message, Sent
from reconciler.model.automation import Counted, Question
from reconciler.model.encoding import encode_json
from reconciler.model.secrets import Secret
from reconciler.model.settings import Approver, Auth, Policy, Service, Settings, WorkspaceRef
from reconciler.store.database import Store

T = TypeVar("T")

SETTINGS = Settings(
    stack="ops-contacts",
    manifests=("manifests",),
    service=Service(
        base_url="https://api.example.com", auth=Auth(Secret("user"), Secret("password"), Secret("key"))
    ),
    workspaces={"default": WorkspaceRef()},
    store="sqlite:///store.db",
    policy=Policy(mode="approve", approvers={"jane": JANE, "sam": SAM}, quorum=2),
    root="/project",
)
CODE = re.compile(r"YES ([0-9A-Z]{10})$", re.MULTILINE)


@dataclass
class Post:
    """A service that takes messages, or refuses them; and has a callback, or none."""

    sent: list[Message] = field(default_factory=list)
    refuses: ReconcilerError | None = None
    known: tuple[str, ...] = ("approvals",)

    @property
    def messages(self) -> "Post":
        return self

    @property
    def callbacks(self) -> "Post":
        return self

    async def list(self) -> tuple[Callback, ...]:
        return tuple(Callback(name, "https://replies.example.com/") for name in self.known)

    async def send(self, message: Message, *, workspace: str = "") -> Sent:
        assert workspace == ""
        if self.refuses is not None:
            raise self.refuses
        self.sent.append(message)
        return Sent("4C8F", "/messages/4C8F")

    def codes(self) -> tuple[str, ...]:
        return tuple(CODE.findall(one.body)[0] for one in self.sent)


async def in_place(work: Callable[[], T]) -> T:
    return work()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    with store_of(f"sqlite:///{tmp_path / 'store.db'}", clock=clock) as opened:
        yield opened


_tokens = itertools.count()


def ask(store: Store, post: Post, settings: Settings = SETTINGS, plan: object = PLAN) -> AskResult:
    offload: Callable[[Callable[[], T]], Awaitable[T]] = in_place
    asking = ask_for_approval(
        plan,  # type: ignore[arg-type]  # a plan
        settings,
        store,
        post,  # type: ignore[arg-type]  # as much of a client as is used
        offload=offload,
        token=lambda: f"random {next(_tokens)}",
    )
    return asyncio.run(asking)


def test_each_approver_gets_one_message_with_a_code_of_their_own(store: Store) -> None:
    post = Post()
    found = ask(store, post)

    assert (found.sent, found.failed) == (("jane", "sam"), {})
    assert [one.to for one in post.sent] == [(JANE.phone, JANE.email), (SAM.phone, SAM.email)]
    assert len(set(post.codes())) == 2
    (kept,) = store.open_questions()
    assert kept == found.question
    assert all(one.sent_at for one in kept.codes.values())


def test_a_message_has_counts_an_address_and_no_value_and_names_its_callback(store: Store) -> None:
    post = Post()
    found = ask(store, post)

    message = post.sent[0]
    assert "2 creates" in message.body
    assert "create contact/ops/jane-doe" in message.body
    assert message.callback_id == "approvals"
    assert message.callback_parameters == {
        "reconcilerStack": "ops-contacts",
        "reconcilerQuestion": found.question.question,
    }
    assert message.more["email"]["body"] == message.body
    assert len(message.body) < 459  # three parts of a text message


def test_no_code_is_in_the_store(store: Store) -> None:
    post = Post()
    ask(store, post)
    kept = repr(everything(store))
    assert not any(code in kept for code in post.codes())


def test_an_approver_who_quotes_the_whole_message_and_says_yes_is_understood(store: Store) -> None:
    post = Post()
    ask(store, post)
    quoted = "\n".join(f"> {line}" for line in post.sent[0].body.splitlines())
    said = read_reply_text(f"Yes\n\n{quoted}")
    assert (said.codes, said.verdict) == ((post.codes()[0],), "give")


def test_nobody_is_asked_twice_about_the_same_plan(store: Store) -> None:
    first, second = Post(), Post()
    ask(store, first)
    before = everything(store)

    found = ask(store, second)

    assert (found.sent, second.sent) == ((), [])
    assert everything(store) == before


def test_another_plan_is_another_question_with_other_codes(store: Store) -> None:
    first, second = Post(), Post()
    ask(store, first)
    ask(store, second, plan=structs.replace(PLAN, fingerprint="ff" * 32))

    assert {*first.codes()}.isdisjoint(second.codes())
    assert [one.state for one in store.approvals().questions] in (
        ["superseded", "open"],
        ["open", "superseded"],
    )


def test_a_message_that_was_certainly_not_sent_is_sent_by_the_next_call(store: Store) -> None:
    failing, post = Post(refuses=Throttled("too fast")), Post()
    found = ask(store, failing)

    assert (found.sent, found.failed) == ((), {"jane": "too fast", "sam": "too fast"})
    assert ask(store, post).sent == ("jane", "sam")
    assert len(store.approvals().questions) == 1


def test_a_message_in_doubt_is_sent_again_later_with_another_code(store: Store, clock: Clock) -> None:
    """Another machine may be about to send it, too."""
    failing, post = Post(refuses=InDoubt("no answer")), Post()
    assert ask(store, failing).failed == {"jane": "no answer", "sam": "no answer"}
    assert ask(store, post).sent == ()

    clock.pass_s(601)
    assert ask(store, post).sent == ("jane", "sam")

    clock.pass_s(601)
    assert ask(store, post).sent == ()


def test_nobody_is_asked_whose_reply_would_be_lost(store: Store) -> None:
    """The service takes messages with the name of a callback that there is not."""
    post = Post(known=("on-call",))
    found = ask(store, post)

    assert post.sent == []
    assert set(found.failed) == {"jane", "sam"}
    assert "reconciler callbacks create approvals URL" in found.failed["jane"]
    assert store.open_questions() == (found.question,)
    assert ask(store, Post()).sent == ("jane", "sam")


def as_listened(body: dict[str, object]) -> str:
    """Return the line of `callbacks listen` for a payload of the service."""
    reply = parse_reply(encode_json(body), "application/json")
    return reply_json(reply, "2026-03-01T12:00:00+00:00", "1f0e3dad99908345f7439f8ffabdffc4")


def test_a_code_that_was_sent_counts(store: Store) -> None:
    post = Post()
    asked = ask(store, post).question
    body = payload(
        responseMessage={"channel": "SMS", "acknowledged": "", "content": f"YES {post.codes()[0]}"},
        customParameters=dict(post.sent[0].callback_parameters),
    )
    reply = read_approver_reply(read_reply_event(as_listened(body).encode()))

    counted = store.record_answer(
        lambda known, now: count_reply(
            known, reply, SETTINGS.policy, now, stack=SETTINGS.stack, salt=store.salt
        )
    )

    assert (counted.word, counted.approver) == ("give", "jane")
    (kept,) = store.approvals().answers
    assert (kept.question, kept.detail) == (asked.question, "sms 1f0e3dad99908345f7439f8ffabdffc4")


@pytest.mark.parametrize(
    "line", [b"{}", b"[", b'"reply"', b"\xff", b'{"event": "canary-8f14"}', b"[" * 9_999]
)
def test_a_line_that_is_no_reply_is_refused_without_its_words(line: bytes) -> None:
    with pytest.raises(InputError, match="a line is no reply") as caught:
        read_reply_event(line)
    assert "canary" not in f"{caught.value}{caught.value.next}"


def test_approvers_without_an_address_get_no_message(store: Store) -> None:
    """They approve behind the gate of a forge."""
    policy = structs.replace(SETTINGS.policy, approvers={"jane": Approver(forge="jane-d")}, quorum=1)
    post = Post()
    found = ask(store, post, structs.replace(SETTINGS, policy=policy))
    assert (found.sent, post.sent, found.question.state) == ((), [], "open")


def test_of_one_who_has_only_a_phone_no_e_mail_is_made(store: Store) -> None:
    policy = structs.replace(SETTINGS.policy, approvers={"jane": Approver(phone=JANE.phone)}, quorum=1)
    post = Post()
    ask(store, post, structs.replace(SETTINGS, policy=policy))
    assert (post.sent[0].to, post.sent[0].more) == ((JANE.phone,), {})


# --- Replies that do not count ----------------------------------------------------------------------------

ASKED = Question("Q7K2M4", "7f3a", "2026-03-01T12:00:00+00:00", "2026-03-02T12:00:00+00:00")


@pytest.mark.parametrize("word", ["no code", "wrong code", "unclear", "repeated", "late"])
def test_a_reply_that_does_not_count_is_told_to_its_sender_at_the_address_of_the_settings(word: str) -> None:
    message = write_rejection(SETTINGS, Counted(word, ASKED, approver="jane"))
    assert message is not None
    assert message.to == (JANE.phone, JANE.email)
    assert "Q7K2M4 does not count" in message.body
    assert message.callback_id == ""  # or an automatic answer to it is one more reply


@pytest.mark.parametrize(
    "counted",
    [
        Counted("unknown sender", ASKED),
        Counted("wrong code", ASKED, approver="jane", recorded=False),
        Counted("wrong code", ASKED, approver="somebody"),
    ],
)
def test_nobody_else_is_written_to_and_nobody_too_often(counted: Counted) -> None:
    """Whoever forges a sender cannot make us write to others, or without end."""
    assert write_rejection(SETTINGS, counted) is None
