"""Claims about what the store keeps of what was deleted."""

from datetime import timedelta

from clock import Clock
from store.support import JANE, SAM, WORKSPACES, record, store_at

from reconciler.model.address import Address
from reconciler.model.runs import Outcome, Result
from reconciler.store.records import Batch


def gone(address: Address = JANE, *, action: str = "delete", result: Result = "applied") -> Batch:
    return Batch(ended=(Outcome(address, action, result, remote_id="00AB"),))


def test_what_was_deleted_is_kept_for_90_days(store_url: str) -> None:
    """A backup of the service that is restored brings it back, and nobody would know it."""
    clock = Clock()
    with store_at(store_url, clock=clock) as store:
        store.remember([record()], WORKSPACES)
        store.record([gone()], WORKSPACES)
        (kept,) = store.deleted(WORKSPACES)
        assert (kept.address, kept.remote_id) == (JANE, "00AB")

        clock.pass_s(timedelta(days=89).total_seconds())
        assert len(store.deleted(WORKSPACES)) == 1
        clock.pass_s(timedelta(days=2).total_seconds())
        assert store.deleted(WORKSPACES) == ()


def test_only_deletes_that_were_carried_out_are_kept(store_url: str) -> None:
    with store_at(store_url) as store:
        for batch in (gone(result="failed"), gone(result="in doubt"), gone(SAM, action="update")):
            store.record([batch], WORKSPACES)

        assert store.deleted(WORKSPACES) == ()


def test_deleted_twice_it_is_kept_once(store_url: str) -> None:
    with store_at(store_url) as store:
        for _ in range(2):
            store.record([gone()], WORKSPACES)

        assert len(store.deleted(WORKSPACES)) == 1


def test_nothing_is_kept_of_another_stack_or_workspace(store_url: str) -> None:
    with store_at(store_url) as store:
        store.record([gone()], WORKSPACES)

        assert store.deleted(WORKSPACES[:1]) == ()
    with store_at(store_url, stack="another") as store:
        assert store.deleted(WORKSPACES) == ()
