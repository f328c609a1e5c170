"""Promises of the store that only show when two write at the same moment."""

import threading
import time
from pathlib import Path

import pytest
from store.support import JANE, WORKSPACES, record, store_at

from reconciler.errors import LockHeld, StoreError
from reconciler.store.records import Batch

WAIT_S = 0.3  # seconds; a write that waits for its turn has looked at everything before it by then


def test_a_lock_that_is_lost_while_a_write_waits_for_its_turn_keeps_nothing_of_it(tmp_path: Path) -> None:
    """Looked at before the transaction, it would be ours then, and another one's when the intent is kept."""
    ended: list[BaseException] = []

    def write() -> None:
        try:
            mine.record([Batch(remember=(record(),))], WORKSPACES, lock=lock)
        except LockHeld as error:
            ended.append(error)

    with store_at(tmp_path / "store.db") as mine, store_at(tmp_path / "store.db") as other:
        with mine.lock("run-1") as lock:
            writer = threading.Thread(target=write)
            with other._database.writing() as connection:
                writer.start()
                time.sleep(WAIT_S)
                connection.execute("UPDATE locks SET nonce = 'other', run = 'run-2'")
            writer.join()
        assert [type(error) for error in ended] == [LockHeld]
        assert mine.recorded(WORKSPACES).entities == {}


def test_no_address_of_a_person_is_in_an_error_or_in_its_cause(tmp_path: Path) -> None:
    """Addresses are the first parameters of every write; a database's own error would quote them."""
    with store_at(tmp_path / "store.db") as store:
        with store._database.writing() as connection:
            connection.execute("DROP TABLE entities")
        with pytest.raises(StoreError) as caught:
            store.remember([record()], WORKSPACES)

    assert caught.value.__cause__ is not None
    assert JANE.name not in f"{caught.value} {caught.value.__cause__}"
