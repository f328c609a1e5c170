"""`reconciler approvals`: asks who may approve a plan, and counts what they say.

What counts is decided in core/review/approvals.py; messages are written and sent in messaging/approvals.py.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import click
from msgspec import Struct

from reconciler.cli import options
from reconciler.cli.dispatch import Completes, prints_result
from reconciler.cli.results import CommandResult, Doc
from reconciler.model.automation import LIVE_STATES, Approvals, Counted, Question, Verdict
from reconciler.report.lines import BLANK, Line, count, line
from reconciler.report.values import moment_text, short_fingerprint

if TYPE_CHECKING:
    from datetime import datetime

    from reconciler.cli.session import Signals
    from reconciler.core.review.approvals import Person
    from reconciler.messaging.client import ServiceClient
    from reconciler.model.settings import Policy, Settings
    from reconciler.store.database import Store

line_bytes_max = 1_048_576  # bytes of one reply of `callbacks listen`
_fingerprint_digits = 12  # of a fingerprint that names a question: no two plans of a stack share them


@click.group(name="approvals", no_args_is_help=False)
def command() -> None:
    """Ask people whether a plan may be carried out, and count their answers.

    A question is about one plan of one stack. Enough approvals (policy.quorum) let `reconciler sync` carry
    out exactly this plan, once. A question expires (policy.approval_hours); one refusal closes it; a new plan
    needs a new one.

    Exit codes: 0 done; 1 failed; 3 the input is invalid; 6 asked, but not everybody; 7 the answer does not
    count; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler approvals list
        reconciler approvals give Q7K2M4
        reconciler callbacks listen --key-env CALLBACK_KEY \\
            | reconciler approvals take
    """


# --- What is shown of questions ---------------------------------------------------------------------------


class QuestionShown(Struct, frozen=True):
    """A question, and how it stands. Times are ISO 8601 in UTC."""

    question: str
    state: str
    fingerprint: str
    commit: str
    asked_at: str
    expires_at: str
    counts: Mapping[str, int]
    danger: str
    quorum: int
    given: tuple[str, ...]
    missing: int
    waiting_for: tuple[str, ...]
    rejected: int
    reasons: tuple[str, ...]


def show_question(known: Approvals, question: Question, policy: "Policy", now: "datetime") -> QuestionShown:
    """Return what is shown of a question: who gave approval, who was asked and has not answered."""
    from reconciler.core.review.approvals import tally_approvals

    answers = known.answers_to(question)
    tally = tally_approvals(question, answers, policy, now)
    answered = {one.approver for one in answers}
    return QuestionShown(
        question=question.question,
        state=tally.state,
        fingerprint=question.fingerprint,
        commit=question.commit,
        asked_at=question.asked_at,
        expires_at=question.expires_at,
        counts=question.counts,
        danger=question.danger,
        quorum=max(question.quorum, policy.quorum),
        given=tally.given,
        missing=tally.missing if tally.state in LIVE_STATES else 0,
        waiting_for=tuple(name for name in policy.approvers if name not in answered),
        rejected=sum(one.number for one in question.wrong.values()),
        reasons=tally.reasons,
    )


def _question_lines(shown: QuestionShown) -> Iterator[Line]:
    said = ", ".join(count(number, word) for word, number in shown.counts.items() if number)
    yield line((f"question {shown.question}", "bold"), "  ", shown.state, f"   {said or 'no changes'}")
    rows = (
        ("look first", shown.danger),
        ("plan", f"{short_fingerprint(shown.fingerprint)}   commit {shown.commit[:10] or 'unknown'}"),
        ("asked", f"{moment_text(shown.asked_at)}, until {moment_text(shown.expires_at)}"),
        ("approved", f"{len(shown.given)} of {shown.quorum}   {', '.join(shown.given)}".rstrip()),
        ("waits for", ", ".join(shown.waiting_for) if shown.state == "open" else ""),
        ("rejected", count(shown.rejected, "reply", "replies") if shown.rejected else ""),
        ("because", "; ".join(shown.reasons) if shown.state in ("refused", "expired") else ""),
    )
    for name, text in rows:
        if text:
            yield line("  ", (f"{name:<11}", "dim"), text)


def _find_question(known: Approvals, named: str) -> Question:
    """Return the question with this id, or about the plan whose fingerprint begins so. Raises InputError."""
    from reconciler.errors import InputError

    for question in reversed(known.questions):
        long = len(named) >= _fingerprint_digits and question.fingerprint.startswith(named.lower())
        if question.question == named.upper() or long:
            return question
    raise InputError(
        f"no question {named[:80]!r} is known for this stack.",
        next="reconciler approvals list   (shows the questions)",
    )


# --- reconciler approvals ask -----------------------------------------------------------------------------


class AskedResult(CommandResult, frozen=True):
    """Who was asked about a plan."""

    title: ClassVar[str] = "Who was asked about a plan"
    exit_codes: ClassVar[tuple[int, ...]] = (0, 6)
    question: Annotated[QuestionShown, Doc("The question, and how it stands.")]
    sent: Annotated[tuple[str, ...], Doc("The approvers to whom a message was sent now.")]
    failed: Annotated[Mapping[str, str], Doc("Why a message was not sent, by approver.")]

    @property
    def exit_code(self) -> int:
        """6 where a message was not sent."""
        return 6 if self.failed else 0

    def lines(self) -> Sequence[Line]:
        """Show the question, who was asked, and who could not be."""
        told = f"asked {', '.join(self.sent)}" if self.sent else "nobody was sent a message"
        return (*_question_lines(self.question), line(told), *self.failure_lines())

    def failure_lines(self) -> Sequence[Line]:
        """Say whom no message was sent to, and why."""
        return tuple(line((f"{name} was not asked: {why}", "warn")) for name, why in self.failed.items())


@command.command(name="ask", short_help="Ask the approvers about a saved plan.")
@click.argument("file", shell_complete=Completes("files"))
@options.identity_option
@options.settings_options
@options.format_option
@prints_result
def ask_command(
    *, file: str, identity: str | None, config: str | None, environment: str | None
) -> AskedResult:
    """Ask the approvers of the settings about the plan in FILE, which `reconciler plan -o FILE` wrote.

    Each approver with a phone number or an e-mail address gets one message with counts, the address of the
    most dangerous change, and a code of their own. `reconciler sync` asks by itself where the policy says so.
    Who was asked about this plan already is not asked again. A question about another plan is closed.

    Reads settings, FILE and the store; writes the store, and sends messages.

    Exit codes: 0 asked; 1 failed; 3 the input is invalid; 5 another version of this program made the plan; 6
    asked, but not everybody; 64 usage error; 130 interrupted.

    \b
    Example:
        reconciler approvals ask plan.json
    """
    import os
    from pathlib import Path

    from reconciler.cli.client_session import run_with_client
    from reconciler.cli.session import make_dependencies, open_store
    from reconciler.files.plan_file import read_plan
    from reconciler.messaging.approvals import ask_for_approval

    async def ask(client: "ServiceClient", settings: "Settings", signals: "Signals") -> AskedResult:
        plan = read_plan(Path(file), identity=identity, environ=os.environ)
        around = make_dependencies(settings)
        signals.apply_begins()
        with open_store(settings, create=True) as store:
            asked = await ask_for_approval(
                plan, settings, store, client, offload=around.offload, token=around.token
            )
            shown = show_question(store.approvals(), asked.question, settings.policy, store.now())
        return AskedResult(question=shown, sent=asked.sent, failed=asked.failed)

    return run_with_client(config, environment, ask)


# --- reconciler approvals list ----------------------------------------------------------------------------


class QuestionsResult(CommandResult, frozen=True):
    """The questions of a stack."""

    title: ClassVar[str] = "Questions to approvers"
    stack: Annotated[str, Doc("The stack of the settings.")]
    questions: Annotated[tuple[QuestionShown, ...], Doc("The oldest first.")]

    def lines(self) -> Sequence[Line]:
        """Show each question and who has answered it."""
        if not self.questions:
            return (line(f"no question is open for stack {self.stack}."),)
        return tuple(one for shown in self.questions for one in (*_question_lines(shown), BLANK))[:-1]


@command.command(name="list", short_help="Show the questions and who has answered.")
@click.option("--all", "everything", is_flag=True, help="Show closed questions too, of the last 90 days.")
@options.settings_options
@options.format_option
@prints_result
def list_questions(*, everything: bool, config: str | None, environment: str | None) -> QuestionsResult:
    """Show the questions that can still be answered or used, and who has answered.

    Reads settings and the store; writes nothing, and reads no credential of the service.

    Exit codes: 0 shown; 1 the store cannot be read; 3 the settings are invalid; 64 usage error; 130
    interrupted.

    \b
    Examples:
        reconciler approvals list
        reconciler approvals list --all --format json
    """
    from reconciler.cli.session import open_project_store

    with open_project_store({"config": config, "environment": environment}) as (store, settings):
        known, now = store.approvals(), store.now()
    shown = (show_question(known, one, settings.policy, now) for one in known.questions)
    return QuestionsResult(
        stack=settings.stack,
        questions=tuple(one for one in shown if everything or one.state in LIVE_STATES),
    )


# --- reconciler approvals give, refuse --------------------------------------------------------------------


class DecisionResult(CommandResult, frozen=True):
    """A decision that counts."""

    title: ClassVar[str] = "A decision about a plan"
    stack: Annotated[str, Doc("The stack of the settings.")]
    verdict: Annotated[str, Doc("give or refuse.")]
    approver: Annotated[str, Doc("Who decided.")]
    how: Annotated[str, Doc("How that is known: forge or terminal.")]
    question: Annotated[QuestionShown, Doc("The question, and how it stands now.")]

    def lines(self) -> Sequence[Line]:
        """Say who decided, and how the question stands now."""
        word = "approved" if self.verdict == "give" else "refused"
        return (line(f"{self.approver} {word}."), *_question_lines(self.question))


_QUESTION = click.argument("question", metavar="QUESTION")
_AS = click.option(
    "--as",
    "name",
    metavar="NAME",
    help="At a terminal: which approver of the settings you are. Default: the name of your account.",
)
_YES = click.option("--yes", is_flag=True, help="Do not ask at the terminal.")
_decision_options = options.combine_options(_QUESTION, _AS, _YES)


@command.command(name="give", short_help="Approve the plan of a question.")
@_decision_options
@options.settings_options
@options.format_option
@prints_result
def give_command(
    *, question: str, name: str | None, yes: bool, config: str | None, environment: str | None
) -> DecisionResult:
    """Approve the plan that QUESTION is about: its id, or the first 12 digits of the plan's fingerprint.

    In a job of GitHub, GitLab, Forgejo or Gitea it is the person who started the job, as the forge says: put
    this command behind a gate of the forge (an environment with reviewers, a manual job, a protected branch).
    At a terminal it is an approver of the settings, who is asked once more.

    Reads settings and the store; writes the store. Makes no request, and reads no credential of the service.

    Exit codes: 0 approved, perhaps by one of several; 1 failed; 3 the input is invalid; 7 the approval does
    not count, and nothing was changed; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler approvals give Q7K2M4
        reconciler approvals give Q7K2M4 --as jane --yes
    """
    return _decide("give", question, name, yes=yes, config=config, environment=environment)


@command.command(name="refuse", short_help="Refuse the plan of a question.")
@_decision_options
@options.settings_options
@options.format_option
@prints_result
def refuse_command(
    *, question: str, name: str | None, yes: bool, config: str | None, environment: str | None
) -> DecisionResult:
    """Refuse the plan that QUESTION is about. This closes the question, also where others have approved.

    Who may refuse, and how it is known who does: as with `reconciler approvals give`.

    Reads settings and the store; writes the store. Makes no request, and reads no credential of the service.

    Exit codes: 0 refused; 1 failed; 3 the input is invalid; 7 the refusal does not count, and nothing was
    changed; 64 usage error; 130 interrupted.

    \b
    Example:
        reconciler approvals refuse Q7K2M4
    """
    return _decide("refuse", question, name, yes=yes, config=config, environment=environment)


_NOT_COUNTED = {
    "not an approver": "{name} is no approver of the settings (policy.approvers)",
    "repeated": "{name} has answered this question before",
    "late": "question {question} is closed: {why}",
}


def _decide(
    verdict: Verdict, named: str, name: str | None, *, yes: bool, config: str | None, environment: str | None
) -> DecisionResult:
    from reconciler.cli.session import open_project_store
    from reconciler.core.review.approvals import count_decision, name_person
    from reconciler.errors import NotApproved

    with open_project_store({"config": config, "environment": environment}, create=True) as (store, settings):
        policy = settings.policy
        before = store.approvals()
        asked = _find_question(before, named)
        person = name_person(_find_person(name), policy)
        if person.how == "terminal":
            _confirm(_question_lines(show_question(before, asked, policy, store.now())), verdict, yes=yes)
        counted = store.record_answer(
            lambda known, now: count_decision(
                known, asked.question, now, person=person, verdict=verdict, policy=policy
            )
        )
        known, now = store.approvals(), store.now()
    shown = show_question(known, _find_question(known, asked.question), policy, now)
    if counted.answer is None:
        why = "; ".join(shown.reasons) or shown.state
        what = _NOT_COUNTED[counted.word].format(name=person.name, question=asked.question, why=why)
        raise NotApproved(
            f"the answer does not count: {what}. The history has it.",
            next="reconciler approvals list   (shows what is asked, and who has answered)",
        )
    return DecisionResult(
        stack=settings.stack, verdict=verdict, approver=person.name, how=person.how, question=shown
    )


def _find_person(name: str | None) -> "Person":
    """Return who decides. Raises Refused where that is not known."""
    import os

    from reconciler.cli.console import output
    from reconciler.core.review.approvals import Person
    from reconciler.environment.forges import find_forge_person
    from reconciler.environment.run_context import is_in_ci
    from reconciler.errors import Refused
    from reconciler.store.history import name_operator

    found = find_forge_person(os.environ)
    if found is not None:
        if name is not None:
            raise click.UsageError("--as is for a terminal: in a job the forge says who it is.")
        return found
    if is_in_ci(os.environ) or not output.can_ask():
        raise Refused(
            "it is not known who decides: this is no terminal, and no job of a forge that names a person.",
            next="run it in a job that a person starts, or at a terminal; or reply with the code",
        )
    operator = name_operator()
    return Person(name or operator.partition(" on ")[0], "terminal", operator)


def _confirm(shown: Iterator[Line], verdict: Verdict, *, yes: bool) -> None:
    from reconciler.cli.console import output
    from reconciler.errors import Refused

    if yes:
        return
    output.note_lines(tuple(shown))
    if not output.confirm("Approve this plan?" if verdict == "give" else "Refuse this plan?"):
        raise Refused("not confirmed; nothing was written.", next="reconciler approvals list")


# --- reconciler approvals take ----------------------------------------------------------------------------


class TakenReply(Struct, frozen=True):
    """What became of a reply. `told`: its sender was told that it does not count."""

    id: str
    outcome: str
    counts: bool
    approver: str
    question: str
    told: bool


class TakenResult(CommandResult, frozen=True):
    """What became of the replies that were read."""

    title: ClassVar[str] = "What became of replies"
    exit_codes: ClassVar[tuple[int, ...]] = (0, 3)
    stack: Annotated[str, Doc("The stack of the settings.")]
    replies: Annotated[tuple[TakenReply, ...], Doc("In the order in which they came, the last 10,000.")]
    counted: Annotated[int, Doc("How many were an answer that counts.")]
    unreadable: Annotated[int, Doc("How many lines were no reply.")]

    @property
    def exit_code(self) -> int:
        """3 where a line was no reply."""
        return 3 if self.unreadable else 0

    def lines(self) -> Sequence[Line]:
        """Say how many counted."""
        read = count(len(self.replies), "reply", "replies")
        return (line(f"{count(self.counted, 'answer')} of {read} counted."),)


_replies_max = 10_000  # that the result lists; a listener may run for months


@command.command(name="take", short_help="Count replies to questions, from standard input.")
@options.settings_options
@options.format_option
@prints_result
def take_command(*, config: str | None, environment: str | None) -> TakenResult:
    """Count the replies that `reconciler callbacks listen` prints, from standard input, until it ends.

    A reply counts with the code of its question and from the address of the approver to whom the code was
    sent: YES and the code, NO and the code, or the code alone. Anything else is counted as rejected, is in
    the history, and is told to the approver whose address it came from, at most three times an hour. Replies
    to other messages are left alone. What becomes of each reply is said on standard error at once.

    Reads settings, standard input and the store; writes the store, and sends messages.

    Exit codes: 0 all were read, whether they counted or not; 1 failed; 3 a line was no reply (the others
    were counted), or the settings are invalid; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler callbacks listen --key-env CALLBACK_KEY \\
            | reconciler approvals take
        reconciler approvals take < replies.jsonl
    """
    from reconciler.cli.client_session import run_with_client
    from reconciler.cli.session import open_store
    from reconciler.concurrency import run_in_thread
    from reconciler.errors import InputError

    async def take(client: "ServiceClient", settings: "Settings", _signals: "Signals") -> TakenResult:
        taken: list[TakenReply] = []
        unreadable = 0
        with open_store(settings, create=True) as store:
            while data := await run_in_thread(_read_line):
                if data.strip():
                    try:
                        taken.append(await _take_reply(data, settings, store, client))
                    except InputError as error:  # one line of a stranger ends nothing
                        unreadable += 1
                        _note(f"{error}\n  next: {error.next}")
                    else:
                        _tell_taken(taken[-1])
        return TakenResult(
            stack=settings.stack,
            replies=tuple(taken[-_replies_max:]),
            counted=sum(one.counts for one in taken),
            unreadable=unreadable,
        )

    return run_with_client(config, environment, take)


def _read_line() -> bytes:
    if sys.stdin is None or sys.stdin.closed:
        raise click.UsageError("standard input is closed: pass on what `reconciler callbacks listen` prints.")
    return sys.stdin.buffer.readline(line_bytes_max)


async def _take_reply(
    data: bytes, settings: "Settings", store: "Store", client: "ServiceClient"
) -> TakenReply:
    from reconciler.concurrency import run_in_thread
    from reconciler.core.review.approvals import count_reply
    from reconciler.errors import ReconcilerError
    from reconciler.messaging.approvals import read_approver_reply, read_reply_event, write_rejection
    from reconciler.store.database import await_store

    event = read_reply_event(data)
    if event.event == "undeliverable":
        return TakenReply(event.id, "not delivered", False, "", "", False)
    reply = read_approver_reply(event)

    def work() -> Counted:
        return store.record_answer(
            lambda known, now: count_reply(
                known, reply, settings.policy, now, stack=settings.stack, salt=store.salt
            )
        )

    counted = await await_store(run_in_thread, work, give_up=store.give_up)
    message, told = write_rejection(settings, counted), False
    if message is not None:
        try:
            await client.messages.send(message)
            told = True
        except ReconcilerError as error:
            _note(f"{counted.approver} could not be told: {error}")
    question = counted.question.question if counted.question else ""
    return TakenReply(event.id, counted.word, counted.answer is not None, counted.approver, question, told)


def _tell_taken(taken: TakenReply) -> None:
    about = f" to question {taken.question}" if taken.question else ""
    who = f" of {taken.approver}" if taken.approver else ""
    _note(f"reply{who}{about}: {taken.outcome}{'' if taken.counts else ' (does not count)'}")


def _note(text: str) -> None:
    from reconciler.cli.console import output

    output.note(text)
