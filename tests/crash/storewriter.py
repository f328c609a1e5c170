"""Processes that write intents and results through the real Store as fast as they can, and say what was kept.

    echo URL RUN | python storewriter.py       a line for each commit that returned: `intent 7`, `result 7`

Started and killed by test_store_kills.py. Nothing is claimed here.
"""

import os
import sys
from datetime import UTC, datetime
from itertools import count
from secrets import token_hex

from reconciler.model.address import Address, contact_address
from reconciler.model.plans import Consent, Options, Plan, Target, Workspace
from reconciler.model.runs import Context, Intent, Outcome
from reconciler.model.snapshots import RecordedEntity
from reconciler.store.database import Store
from reconciler.store.records import Batch

ORIGIN, STACK = "https://api.example.com:443", "crash"
WORKSPACES = (Workspace("default", ""),)
PLAN = Plan(Target(ORIGIN, STACK, WORKSPACES), Options(), "", "salt", (), fingerprint="7f3a")
_UNTIL = "2026-03-01T12:05:10+00:00"


def now() -> datetime:
    return datetime.now(UTC)


def open_store(url: str) -> Store:
    return Store.open(url, origin=ORIGIN, stack=STACK, now=now, token=lambda: token_hex(16))


def address(run: str, number: int) -> Address:
    return contact_address("default", f"{run}-{number}")


def write(url: str, run: str) -> None:
    """Write until killed."""
    with open_store(url) as store, store.lock(run) as lock:
        store.begin(run, "apply", PLAN, Consent(), Context())
        for number in count():
            one = address(run, number)
            store.record([Batch(intents=(Intent(one, "create", _UNTIL, _UNTIL),))], WORKSPACES, lock=lock)
            _say(f"intent {number}")
            entity = RecordedEntity(one, f"{number:04d}")
            ended = Outcome(one, "create", "applied", remote_id=f"{number:04d}")
            store.record([Batch(remember=(entity,), ended=(ended,))], WORKSPACES)
            _say(f"result {number}")


def _say(line: str) -> None:
    os.write(1, line.encode() + b"\n")  # at once, and unbuffered: what was said was kept before


if __name__ == "__main__":
    # Children of one parent, each killed by whoever reads: imports of its own would outlast its life.
    for job in sys.stdin:
        url_, run_ = job.split()
        child = os.fork()
        if not child:
            write(url_, run_)
        _say(f"child {child}")
        os.waitpid(child, 0)
        _say("ended")
