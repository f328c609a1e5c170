"""A store on either database, and what a run leaves in it: plans, intents, outcomes, all invented."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from clock import Clock
from core import build
from store.support import JANE, ORIGIN, SAM, observed, pool_of

from reconciler.model.address import Address
from reconciler.model.plans import Consent, Plan
from reconciler.model.runs import Context, Intent, Outcome, Result, Run
from reconciler.store.adapter import Connection, Observer
from reconciler.store.database import Store
from reconciler.store.schema import TABLES

CONTEXT = Context(program="0.4.0", commit="4f" * 20, trace_id="a1" * 16)
CONSENT = Consent(deletes=3, creates=2, updates=1)
UNTIL = "2026-03-01T12:05:10+00:00"


def store_of(
    url: str,
    *,
    clock: Clock | None = None,
    stack: str = "default",
    origin: str = ORIGIN,
    create: bool = True,
    prefix: str = "token",
) -> Store:
    """Open the store that `url` names; everything else is filled in."""
    count = itertools.count(1)
    return Store.open(
        url,
        origin=origin,
        stack=stack,
        now=clock or Clock(),
        token=lambda: f"{prefix}-{next(count)}",
        create=create,
    )


def plan_of(*addresses: Address) -> Plan:
    """Return a plan that makes these contacts of ops."""
    people = [build.contact(f"ops/{address.name}", firstName=address.name) for address in addresses]
    return build.planned(build.desired(*people, scopes=[build.OPS]), build.live())


PLAN = plan_of(JANE, SAM)


def begin(store: Store, run: str = "run-1", plan: Plan = PLAN) -> None:
    """Begin a run with a plan, a consent and a context."""
    store.begin(run, "apply", plan, CONSENT, CONTEXT)


def intent(address: Address = JANE, action: str = "create", *, until: str = UNTIL) -> Intent:
    """Return an intent of noon."""
    return Intent(address, action, "2026-03-01T12:00:00+00:00", until)


def ended(address: Address = JANE, result: Result = "applied", action: str = "create") -> Outcome:
    """Return how a change ended."""
    return Outcome(address, action, result)


def run_of(*outcomes: Outcome, run: str = "run-1", outcome: str = "done") -> Run:
    """Return a finished run."""
    return Run(
        run=run,
        fingerprint=PLAN.fingerprint,
        started_at="2026-03-01T12:00:00+00:00",
        ended_at="2026-03-01T12:00:09+00:00",
        outcome=outcome,
        exit_code=0,
        outcomes=outcomes,
    )


def everything(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """Return every row of every table, to compare before with after."""
    with store._database.reading() as connection:
        return {table.name: sorted(connection.execute(table.select)) for table in TABLES}


class Statements(Observer):
    """Counts statements, and raises in place of the one with the number `fatal`, counted from 1."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.fatal = 0

    def executes(self, connection: Connection, sql: str) -> None:  # noqa: ARG002 - as it is called
        self.seen.append(sql)
        if len(self.seen) == self.fatal:
            raise Crash


class Crash(Exception):
    """The process ends here."""


@contextmanager
def watched(store: Store) -> Iterator[Statements]:
    """Watch the statements of a store, and crash where that is asked for."""
    statements = Statements()
    with observed(pool_of(store), statements):
        yield statements
