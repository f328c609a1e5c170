"""The status of a stack, and what was told of it before -> what there is to tell now, over one channel.

Told once for each change of state, also when all is well again, and as a digest every so often. Progress is
no news: a run that began is over before anybody reads of it. Names of people and addresses of entities are in
no notification; workspaces, states and counts are.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Literal

from msgspec import Struct

from reconciler.core.views.status import StackStatus, WorkspaceStatus
from reconciler.model.automation import Told

NewsType = Literal["stack.changed", "stack.digest"]
_text_max = 300  # characters: two SMS
_begin = datetime(1970, 1, 1)  # noqa: DTZ001 - compared with the same moment alone


class News(Struct, frozen=True):
    """One notification. `telling` is what the store remembers of it; `text` is for people, in one line."""

    type: NewsType
    telling: Told
    text: str
    data: dict[str, Any]


def find_news(
    status: StackStatus, told: Iterable[Told], *, channel: str, now: datetime, digest_every: timedelta | None
) -> tuple[News, ...]:
    """Return what is to be told over `channel` at `now` (UTC): the change of state, else the digest.

    A stack that is fine when nothing was ever told is no news.
    """
    before = {one.state_key: one for one in told if one.channel == channel}
    state = _name_state(status)
    known = before.get("state")
    if (known is None and not status.fine) or (known is not None and known.digest != state):
        return (_make_news("stack.changed", status, _make_telling(channel, "state", state, now, known)),)
    if digest_every is None:
        return ()
    period = str((now.replace(tzinfo=None) - _begin) // digest_every)
    digest = before.get("digest")
    if digest is not None and digest.digest == period:
        return ()
    return (_make_news("stack.digest", status, _make_telling(channel, "digest", period, now, digest)),)


def _make_telling(channel: str, key: str, digest: str, now: datetime, before: Told | None) -> Told:
    failed = (before.failed_times, before.last_error) if before else (0, "")
    return Told(channel, key, digest, now.isoformat(timespec="seconds"), *failed)


def _make_news(type_: NewsType, status: StackStatus, telling: Told) -> News:
    return News(type_, telling, describe_status(status), _list_facts(status))


def _name_state(status: StackStatus) -> str:
    health = "healthy" if status.health.state == "progressing" else status.health.state
    return f"{status.sync.state}, {health}"


def describe_status(status: StackStatus) -> str:
    """Return how a stack stands in one line of at most 300 characters."""
    if status.fine:
        return f"{status.stack}: synced and healthy."
    findings = [one for one in (status.health, status.sync) if one.why]
    whys = dict.fromkeys(f"{one.state}: {one.why}" for one in findings)
    next_steps = dict.fromkeys(one.next for one in findings if one.next)
    steps = f" Next: {next(iter(next_steps))}." if next_steps else ""
    text = f"{status.stack}: {'; '.join(whys) or _name_state(status)}.{steps}"
    return text if len(text) <= _text_max else f"{text[: _text_max - 1]}\N{HORIZONTAL ELLIPSIS}"


def _list_facts(status: StackStatus) -> dict[str, Any]:
    return {
        "service": status.service,
        "stack": status.stack,
        "sync": {"state": status.sync.state, "since": status.sync.since, "why": status.sync.why},
        "health": {"state": status.health.state, "since": status.health.since, "why": status.health.why},
        "commit": status.commit,
        "last_good": status.last_good,
        "next_window": status.next_window,
        "paused_until": status.paused_until,
        "approvals_open": status.approvals_open,
        "in_doubt": status.in_doubt,
        "workspaces": [_list_workspace_facts(one) for one in status.workspaces],
    }


def _list_workspace_facts(one: WorkspaceStatus) -> dict[str, Any]:
    return {
        "workspace": one.workspace,
        "sync": one.sync.state,
        "health": one.health.state,
        "changes": one.changes,
        "in_doubt": one.in_doubt,
    }
