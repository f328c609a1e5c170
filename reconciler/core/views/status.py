"""Rows of a store -> how each stack stands: is the service as declared, and does somebody look after it?

    sync    paused | waiting | out of sync | unknown | synced
    health  in doubt | failing | stale | unknown | progressing | healthy

Two tables of rules, the worst state first: the first rule that holds is the state. A stack is as bad as its
worst workspace. What was found is the newest of three things: what the last `sync` said, how the last run
that failed ended, and the last apply of everything. So a project in which people apply by hand has a status
too. Only what the store holds is known: the service is not asked.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Generic, Literal, NamedTuple, TypeVar, get_args

from msgspec import Struct, structs

from reconciler.model.automation import ApprovalAnswer, Pause, Question, SyncResult
from reconciler.model.plans import ACTION_WORDS
from reconciler.model.runs import EXIT_CODE_WORDS

# The worst first: both are in the order of their rules.
SyncState = Literal["paused", "waiting", "out of sync", "unknown", "synced"]
HealthState = Literal["in doubt", "failing", "stale", "unknown", "progressing", "healthy"]
SYNC_STATES: tuple[SyncState, ...] = get_args(SyncState)
HEALTH_STATES: tuple[HealthState, ...] = get_args(HealthState)

_NO_ACTION = frozenset[HealthState]({"healthy", "progressing"})
State = TypeVar("State", SyncState, HealthState)


# --- What the store holds. Times are ISO 8601 in UTC; "" is never, or not known ---------------------------


class RunRow(Struct, frozen=True):
    """A run. `outcome` is empty while it is under way, and for ever where it was interrupted."""

    run: str
    command: str
    started_at: str
    ended_at: str
    outcome: str
    exit_code: int
    counts: Mapping[str, int] = {}
    commit: str = ""


class WorkspaceRow(Struct, frozen=True):
    """A workspace that something is recorded of.

    `applied`: when an apply of all of it ended last. `in_doubt`: requests of which nobody knows whether they
    were carried out, without those of the run that is under way.
    """

    workspace: str
    applied: str = ""
    in_doubt: int = 0


class StackRows(Struct, frozen=True):
    """What is known of one stack. Runs come newest first; `under_way` is the id of the one that lives.

    `results` are what the last `sync` found, of the stack (`workspace` is "") and of each workspace.

    `expect_every_s` is how often somebody has to sync; 0: not set. `undelivered` counts notifications that
    could not be delivered, `policy_mistakes` those of the settings. `damage` says why rows cannot be read.
    """

    origin: str
    stack: str
    workspaces: tuple[WorkspaceRow, ...] = ()
    runs: tuple[RunRow, ...] = ()
    under_way: str = ""
    results: tuple[SyncResult, ...] = ()
    pause: Pause | None = None
    questions: tuple[Question, ...] = ()
    answers: tuple[ApprovalAnswer, ...] = ()
    expect_every_s: int = 0
    undelivered: int = 0
    policy_mistakes: int = 0
    damage: str = ""


# --- What is said of it -----------------------------------------------------------------------------------


class SyncFinding(Struct, frozen=True):
    """Whether the service is as declared. `since` is when that was found; `next` what to do, or empty.

    `why` are words of the program. `reason` is what a person wrote, or what the sync said beyond that: it may
    name an entity, so it does not stand on a page that many can read.
    """

    state: SyncState
    since: str
    why: str
    reason: str
    next: str


class HealthFinding(Struct, frozen=True):
    """Whether somebody has to look. `since` is when that began; the others are as of a SyncFinding."""

    state: HealthState
    since: str
    why: str
    reason: str
    next: str


Finding = TypeVar("Finding", SyncFinding, HealthFinding)


class WorkspaceStatus(Struct, frozen=True):
    """How a workspace stands. `last_read` is when all of it was compared, `changes` are those found then."""

    workspace: str
    sync: SyncFinding
    health: HealthFinding
    last_read: str
    in_doubt: int
    changes: int


class LastRun(Struct, frozen=True):
    """A run, without who it was. `outcome` is `running`, or `interrupted` where it never ended."""

    run: str
    command: str
    started_at: str
    ended_at: str
    outcome: str
    commit: str
    applied: int
    not_applied: int


class StackStatus(Struct, frozen=True):
    """How a stack stands. `service` is the address of the service; `last_good` when all was well last.

    `waiting_for` are those who were asked and have not answered, as the policy names them: they do not stand
    on a page either. `paused_until` is empty where nothing is paused. `stale` is true of a stack that fails,
    too, if nobody has synced for too long.
    """

    service: str
    stack: str
    sync: SyncFinding
    health: HealthFinding
    commit: str
    last_read: str
    last_good: str
    next_window: str
    paused_until: str
    stale: bool
    approvals_open: int
    waiting_for: tuple[str, ...]
    undelivered: int
    policy_mistakes: int
    in_doubt: int
    workspaces: tuple[WorkspaceStatus, ...]
    runs: tuple[LastRun, ...]

    @property
    def finding(self) -> SyncFinding | HealthFinding:
        """What a reader has to know first: what needs somebody, else why the service is not as declared."""
        return self.health if self.needs_somebody or self.sync.state == "synced" else self.sync

    @property
    def fine(self) -> bool:
        """Whether there is nothing to say: as declared, looked after, and everybody was told."""
        return self.sync.state == "synced" and not self.needs_somebody and not self.undelivered

    @property
    def needs_somebody(self) -> bool:
        """Whether a person has to look: what was paused, waits or only differs was meant so."""
        return self.health.state not in _NO_ACTION


class StoreStatus(Struct, frozen=True):
    """How all stacks stand that were asked for, the worst first; and how many are in each state."""

    at: str
    stacks: tuple[StackStatus, ...]
    sync: Mapping[SyncState, int]
    health: Mapping[HealthState, int]


def judge_stacks(stacks: Iterable[StackRows], now: datetime) -> StoreStatus:
    """Return how these stacks stand at `now`, the store's time in UTC: the worst first, then by name."""
    found = sorted((judge_stack(one, now) for one in stacks), key=_urgency)
    return StoreStatus(
        at=_format(now),
        stacks=tuple(found),
        sync={state: sum(one.sync.state == state for one in found) for state in SYNC_STATES},
        health={state: sum(one.health.state == state for one in found) for state in HEALTH_STATES},
    )


def judge_stack(rows: StackRows, now: datetime) -> StackStatus:
    """Return how a stack stands at `now`: as bad as the worst of its workspaces, and as the stack itself."""
    whole = _Subject(rows, now)
    names = {one.workspace for one in rows.workspaces} | {one.workspace for one in rows.results} - {""}
    parts = [_Subject(rows, now, name) for name in sorted(names)]
    workspaces = tuple(map(_judge_workspace, parts))
    # Of equals the first: what is true of the stack as a whole is not said of one workspace.
    of_sync = [_find_sync(whole), *(_name_workspace(one.sync, one) for one in workspaces)]
    of_health = [_find_health(whole), *(_name_workspace(one.health, one) for one in workspaces)]
    return StackStatus(
        service=rows.origin,
        stack=rows.stack,
        sync=min(of_sync, key=lambda one: SYNC_STATES.index(one.state)),
        health=min(of_health, key=lambda one: HEALTH_STATES.index(one.state)),
        commit=whole.commit,
        last_read=min((one.last_read for one in workspaces), default=whole.last_read),
        last_good=whole.last_good,
        next_window=whole.result.next_window if whole.result else "",
        paused_until=whole.pause.until if whole.pause else "",
        stale=_stale_since(whole) is not None,
        approvals_open=len(whole.unanswered),
        waiting_for=_name_approvers(whole.unanswered, rows.answers),
        undelivered=rows.undelivered,
        policy_mistakes=rows.policy_mistakes,
        in_doubt=whole.in_doubt,
        workspaces=workspaces,
        runs=tuple(_describe_run(one, rows.under_way) for one in rows.runs),
    )


def _name_approvers(questions: Iterable[Question], answers: Iterable[ApprovalAnswer]) -> tuple[str, ...]:
    """Return who was asked and has not answered."""
    answered = {(one.question, one.approver) for one in answers}
    waited = {name for one in questions for name in one.codes if (one.question, name) not in answered}
    return tuple(sorted(waited))


def _urgency(one: StackStatus) -> tuple[bool, int, int, str, str]:
    health, sync = HEALTH_STATES.index(one.health.state), SYNC_STATES.index(one.sync.state)
    return one.fine, health, sync, one.stack, one.service


def _name_workspace(finding: Finding, status: WorkspaceStatus) -> Finding:
    return structs.replace(finding, why=f"{status.workspace}: {finding.why}" if finding.why else "")


def _judge_workspace(subject: "_Subject") -> WorkspaceStatus:
    return WorkspaceStatus(
        workspace=subject.workspace,
        sync=_find_sync(subject),
        health=_find_health(subject),
        last_read=subject.last_read,
        in_doubt=subject.in_doubt,
        changes=subject.changes,
    )


def _describe_run(one: RunRow, under_way: str) -> LastRun:
    applied = sum(number for word, number in one.counts.items() if word.endswith(" applied"))
    # A run that has ended counts more than changes: what it saw twice.
    ended = {word: number for word, number in one.counts.items() if word.partition(" ")[0] in _ACTIONS}
    return LastRun(
        run=one.run,
        command=one.command,
        started_at=one.started_at,
        ended_at=one.ended_at,
        outcome=one.outcome or ("running" if one.run == under_way else EXIT_CODE_WORDS[INTERRUPTED]),
        commit=one.commit,
        applied=applied,
        not_applied=sum(ended.values()) - applied,
    )


_ACTIONS = frozenset(ACTION_WORDS.values())
INTERRUPTED = 130


# --- What an exit code says of the service, whoever met it: `sync`, or a person's `apply` -----------------


class _Meaning(NamedTuple):
    state: SyncState
    failing: bool
    why: str
    next: str


_MEANINGS: Mapping[int, _Meaning] = {
    0: _Meaning("synced", False, "", ""),
    1: _Meaning("unknown", True, "it failed before everything was compared", "reconciler plan"),
    2: _Meaning("out of sync", False, "changes were found and only reported", "reconciler plan"),
    3: _Meaning("unknown", True, "settings or manifests have mistakes", "reconciler validate"),
    4: _Meaning("unknown", False, "another run held the lock", "reconciler lock"),
    5: _Meaning("out of sync", True, "somebody else changed the service meanwhile", "reconciler plan"),
    6: _Meaning("out of sync", True, "it was applied in part", "reconciler history, then reconciler plan"),
    7: _Meaning("out of sync", True, "the plan was refused", "reconciler plan"),
    8: _Meaning("out of sync", True, "changes were left in doubt", "reconciler resume"),
    9: _Meaning("waiting", False, "a change waits for approval", "reconciler approvals list"),
    10: _Meaning("out of sync", False, "changes wait for the end of a pause, or for a window", ""),
    INTERRUPTED: _Meaning("out of sync", True, "a run was interrupted", "reconciler resume"),
}
# Of a newer version of the program.
_STRANGE = _Meaning(
    "unknown", True, "it ended in a way that this version does not know", "reconciler history"
)
# After these all of it had been compared.
_COMPARED = frozenset({0, 2, 5, 6, 7, 8, 9, 10})


class _Found(NamedTuple):
    """What was found last: when, its exit code, and what is said of it."""

    at: str
    exit_code: int
    reason: str = ""

    @classmethod
    def of(cls, result: SyncResult) -> "_Found":
        return cls(result.at, result.exit_code, result.reason)

    @property
    def meaning(self) -> _Meaning:
        return _MEANINGS.get(self.exit_code, _STRANGE)


class _Subject:
    """What a rule looks at: a stack as a whole, or one workspace of it."""

    def __init__(self, rows: StackRows, now: datetime, workspace: str = "") -> None:
        self.rows = rows
        self.now = now
        self.workspace = workspace
        mine = [one for one in rows.workspaces if workspace in ("", one.workspace)]
        self.in_doubt = sum(one.in_doubt for one in mine)
        # Of a stack the oldest counts: something of it was never applied as a whole where one was not.
        self.applied = min((one.applied for one in mine), default="")
        results = {one.workspace: one for one in rows.results}
        self.own = results.get(workspace)
        self.result = self.own or results.get("")
        self.pause = rows.pause if rows.pause and _is_ahead(rows.pause.until, now) else None
        live = [one for one in rows.questions if _is_ahead(one.expires_at, now)]
        self.unanswered = tuple(one for one in live if one.state == "open")
        self.approved = tuple(one for one in live if one.state == "approved")
        self.failed = self._failed_runs()
        self.found = self._newest()

    def _failed_runs(self) -> tuple[RunRow, ...]:
        """Return the runs that did not end well and are not made good by a later one, newest first."""
        ended = [one for one in self.rows.runs if one.run != self.rows.under_way]
        good = (at for at, one in enumerate(ended) if self._made_good(one))
        return tuple(one for one in ended[: next(good, None)] if _run_code(one))

    def _made_good(self, one: RunRow) -> bool:
        """Whether a run left nothing open that was open before: an apply of everything, or a resume."""
        return _run_code(one) == 0 and (one.command == "resume" or "" < one.ended_at <= self.applied)

    def _newest(self) -> _Found | None:
        """Return what was found last; the worse of two that were found at once."""
        found = [_Found.of(self.result)] if self.result else []
        if self.failed:
            found.append(
                _Found(self.failed[0].ended_at or self.failed[0].started_at, _run_code(self.failed[0]))
            )
        elif self.applied:
            found.append(_Found(self.applied, 0))
        return max(found, key=lambda one: (one.at, one.exit_code), default=None)

    @property
    def changes(self) -> int:
        """How many changes the last sync found here, where nothing was carried out since."""
        is_last = self.own is not None and self.found == _Found.of(self.own)
        return sum(self.own.counts.values()) if self.own and is_last else 0

    @property
    def failing_since(self) -> str | None:
        """When the failures began of which the last is what was found last; None where it is none."""
        if self.found is None or not self.found.meaning.failing:
            return None
        if self.result and self.found == _Found.of(self.result):
            return self.result.failing_since or self.result.at
        first = self.failed[-1]
        return first.ended_at or first.started_at

    @property
    def last_read(self) -> str:
        """When all of it was compared with the service last, as far as the store says."""
        compared = self.result.at if self.result and self.result.exit_code in _COMPARED else ""
        return max(compared, self.applied)

    @property
    def last_good(self) -> str:
        """When a sync or a run last ended well."""
        good = [one.ended_at for one in self.rows.runs if one.outcome and not one.exit_code]
        if self.result:
            good += [self.result.last_good, "" if self.result.exit_code else self.result.at]
        return max(good, default="")

    @property
    def last_sign(self) -> str:
        """When anybody synced last; where nobody ever did, when somebody began or ended a run.

        Who applies by hand beside a timer does not hide that the timer has stopped.
        """
        synced = [one.at for one in self.rows.results]
        runs = [max(one.started_at, one.ended_at) for one in self.rows.runs]
        return max(synced or runs, default="")

    @property
    def commit(self) -> str:
        """The commit that was synced or applied last."""
        run = next(iter(self.rows.runs), None)
        if self.result and (run is None or self.result.at >= run.started_at):
            return self.result.commit
        return run.commit if run else ""


def _run_code(one: RunRow) -> int:
    return one.exit_code if one.outcome else INTERRUPTED


# --- The rules --------------------------------------------------------------------------------------------


class _Rule(NamedTuple, Generic[State]):
    """A state; since when a subject is in it (None: it is not); why, what to do, and what else was said."""

    state: State
    since: Callable[[_Subject], str | None]
    why: Callable[[_Subject], str] = lambda _subject: ""
    next: Callable[[_Subject], str] = lambda _subject: ""
    reason: Callable[[_Subject], str] = lambda _subject: ""


def _say(text: str) -> Callable[[_Subject], str]:
    return lambda _subject: text


def _found_as(state: SyncState) -> Callable[[_Subject], str | None]:
    return lambda one: one.found.at if one.found and one.found.meaning.state == state else None


def _found_why(one: _Subject) -> str:
    return one.found.meaning.why if one.found else ""


def _found_reason(one: _Subject) -> str:
    return one.found.reason if one.found else ""


def _found_next(one: _Subject) -> str:
    return one.found.meaning.next if one.found else ""


def _asked_since(one: _Subject) -> str | None:
    return _oldest(one, one.unanswered)


def _approved_since(one: _Subject) -> str | None:
    return _oldest(one, one.approved)


def _oldest(one: _Subject, questions: Iterable[Question]) -> str | None:
    """When the first of them was asked. A workspace that is as declared waits for nobody."""
    if one.workspace and one.found and one.found.meaning.state == "synced":
        return None
    return min((question.asked_at for question in questions), default=None)


def _doubtful_since(one: _Subject) -> str | None:
    if not one.in_doubt:
        return None
    return one.found.at if one.found else ""


def _stale_since(one: _Subject) -> str | None:
    rows = one.rows
    if not rows.expect_every_s or rows.under_way or rows.damage:
        return None
    if not one.last_sign:
        return ""
    # Compared as a length of time: no time of a store and no limit is too large for that.
    last = _parse(one.last_sign)
    if (one.now - last).total_seconds() <= rows.expect_every_s:
        return None
    return _format(last + timedelta(seconds=rows.expect_every_s))


def _unknown_since(one: _Subject) -> str | None:
    return "" if one.rows.damage or not (one.last_sign or one.rows.under_way) else None


def _progressing_since(one: _Subject) -> str | None:
    """A run that has not begun to write has no row yet."""
    if not one.rows.under_way:
        return None
    return next((run.started_at for run in one.rows.runs if run.run == one.rows.under_way), "")


def _doubtful_why(one: _Subject) -> str:
    return (
        f"{one.in_doubt:,} {'request' if one.in_doubt == 1 else 'requests'} may have been carried out, or not"
    )


def _mistaken_why(one: _Subject) -> str:
    number = one.rows.policy_mistakes
    return f"the policy of the settings has {number:,} {'mistake' if number == 1 else 'mistakes'}"


def _unknown_why(what: str) -> Callable[[_Subject], str]:
    return lambda one: one.rows.damage or what


def _unknown_next(one: _Subject) -> str:
    return "reconciler doctor" if one.rows.damage else "reconciler plan"


_SYNC_RULES: tuple[_Rule[SyncState], ...] = (
    _Rule(
        "paused",
        lambda one: one.pause.since if one.pause else None,
        _say("syncing is paused"),
        _say("reconciler unpause, when it may go on"),
        lambda one: one.pause.reason if one.pause else "",
    ),
    _Rule("waiting", _asked_since, _say("a change waits for approval"), _say("reconciler approvals list")),
    _Rule("out of sync", _approved_since, _say("a change is approved"), _say("reconciler sync")),
    _Rule("waiting", _found_as("waiting"), _found_why, _found_next, _found_reason),
    _Rule("out of sync", _found_as("out of sync"), _found_why, _found_next, _found_reason),
    _Rule("unknown", _found_as("unknown"), _found_why, _found_next, _found_reason),
    _Rule("synced", _found_as("synced")),
    _Rule("unknown", _say(""), _unknown_why("nothing was ever synced or applied as a whole"), _unknown_next),
)

_HEALTH_RULES: tuple[_Rule[HealthState], ...] = (
    _Rule("in doubt", _doubtful_since, _doubtful_why, _say("reconciler resume")),
    _Rule("failing", lambda one: one.failing_since, _found_why, _found_next, _found_reason),
    _Rule(
        "failing",
        lambda one: "" if one.rows.policy_mistakes else None,
        _mistaken_why,
        _say("reconciler validate"),
    ),
    _Rule(
        "stale",
        _stale_since,
        _say("nobody has synced for longer than policy.expect_every"),
        _say("check the timer or the job that runs reconciler sync"),
    ),
    _Rule("unknown", _unknown_since, _unknown_why("nobody has ever synced or applied"), _unknown_next),
    _Rule("progressing", _progressing_since, _say("a run is under way")),
    _Rule("healthy", _say("")),
)


def _find_sync(one: _Subject) -> SyncFinding:
    rule, since = _first_rule(_SYNC_RULES, one)
    return SyncFinding(rule.state, since, rule.why(one), rule.reason(one), rule.next(one))


def _find_health(one: _Subject) -> HealthFinding:
    rule, since = _first_rule(_HEALTH_RULES, one)
    return HealthFinding(rule.state, since, rule.why(one), rule.reason(one), rule.next(one))


def _first_rule(rules: Iterable[_Rule[State]], one: _Subject) -> tuple[_Rule[State], str]:
    """Return the first rule that holds, and since when. The last one always does."""
    return next((rule, since) for rule in rules if (since := rule.since(one)) is not None)


def _is_ahead(moment: str, now: datetime) -> bool:
    """Whether a moment is still to come; one that is not said never comes."""
    return not moment or _parse(moment) > now


def _parse(moment: str) -> datetime:
    found = datetime.fromisoformat(moment)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _format(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")
