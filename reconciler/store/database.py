"""The store as one thing: what we own, what is in doubt, who writes, who wrote.

Losing it never makes a duplicate: whether something exists is asked of the service, before every
create. It holds no secret (values arrive masked), and people's data, so its file is private.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from types import TracebackType
from typing import Self

from reconciler.errors import StoreError
from reconciler.model.address import Address
from reconciler.model.outcomes import Run
from reconciler.model.plans import Workspace
from reconciler.model.snapshots import Recorded, RecordedEntity
from reconciler.store import recorded, runs
from reconciler.store.connection import Database, open_database
from reconciler.store.lock import Lock
from reconciler.store.recorded import Batch, Owner

Workspaces = tuple[Workspace, ...]


class Store:
    """What one origin and stack own and remember. Everything it cannot do is a StoreError.

    May be used from several threads: each statement has a connection of its own.
    """

    def __init__(
        self,
        database: Database,
        owner: Owner,
        *,
        now: Callable[[], datetime],
        token: Callable[[], str],
    ) -> None:
        self._database = database
        self._owner = owner
        self._now = now
        self._token = token
        self._run = ""

    @classmethod
    def open(
        cls,
        url: str,
        *,
        origin: str,
        stack: str,
        now: Callable[[], datetime],
        token: Callable[[], str],
        root: str = "",
        create: bool = True,
    ) -> Self:
        """Open the store that `url` names (`sqlite:///path`, relative to `root`), and make it where needed.

        With `create=False` nothing is made and nothing can be written; a store that does not exist
        is empty. `token` gives random text. Raises SettingsError, StoreError.
        """
        database = open_database(url, root=root, create=create, token=token)
        return cls(database, Owner(origin, stack), now=now, token=token)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    @property
    def salt(self) -> str:
        """The key of the digests that stand for secrets here; empty for a store that does not exist."""
        return self._database.salt

    def recorded(self, workspaces: Workspaces) -> Recorded:
        """Return what is recorded for these workspaces, each as long as its alias has the same id.

        Raises CorruptRecord, naming the address.
        """
        if self._database.engine is None or not self.salt:
            return Recorded({})
        with self._database.reading() as connection:
            entities = recorded.load(connection, self._owner, _ids(workspaces))
            doubts = recorded.doubts(connection, self._owner)
        return Recorded(entities, salt=self.salt, doubts=doubts)

    def record(self, batches: Iterable[Batch], workspaces: Workspaces) -> None:
        """Carry out several batches in one transaction: all of them are durable afterwards, or none."""
        stamp = {"updated_at": self._moment(), "run": self._run}
        with self._database.writing() as connection:
            recorded.write(connection, batches, owner=self._owner, ids=_ids(workspaces), stamp=stamp)

    def remember(self, entities: Iterable[RecordedEntity], workspaces: Workspaces) -> None:
        """Record these entities as ours, replacing what was recorded for their addresses."""
        self.record([Batch(remember=tuple(entities))], workspaces)

    def forget(self, addresses: Iterable[Address], workspaces: Workspaces) -> None:
        """Own these no longer."""
        self.record([Batch(forget=tuple(addresses))], workspaces)

    def rename(self, names: Iterable[tuple[Address, Address]], workspaces: Workspaces) -> None:
        """Carry each record from its old address to its new one, replacing what was there."""
        self.record([Batch(renames=tuple(names))], workspaces)

    def doubt(self, address: Address, until: str) -> None:
        """Record that a create was sent and its answer lost: until then it must not be sent again."""
        self.record([Batch(doubts={address: until})], ())

    def settle(self, addresses: Iterable[Address]) -> None:
        """Record that these are in doubt no longer."""
        self.record([Batch(settled=tuple(addresses))], ())

    def begin(self, run: str, command: str, fingerprint: str) -> None:
        """Record that a run has begun; what is recorded from now on carries its name."""
        self._run = run
        with self._database.writing() as connection:
            runs.begin(
                connection,
                self._owner,
                run=run,
                command=command,
                fingerprint=fingerprint,
                started_at=self._moment(),
            )

    def end(self, run: Run) -> None:
        """Record how a run ended."""
        with self._database.writing() as connection:
            runs.end(connection, run)

    def use_plan(self, salt: str) -> bool:
        """Whether the plan with this salt is carried out for the first time; from now on it is used."""
        with self._database.writing() as connection:
            return runs.use_plan(connection, salt=salt, run=self._run, used_at=self._moment())

    @contextmanager
    def lock(self, run: str) -> Iterator[Lock]:
        """Be the one writer of this origin and stack. Raises LockHeld; let go of on every way out."""
        lock = Lock(self._database, self._owner, run=run, nonce=self._token(), now=self._now)
        lock.take()
        try:
            yield lock
        finally:
            # A lock that cannot be let go of ends with its process and its lease; that must not
            # hide how the run ended.
            with suppress(StoreError):
                lock.release()

    def _moment(self) -> str:
        return self._now().isoformat(timespec="seconds")


def _ids(workspaces: Workspaces) -> dict[str, str]:
    return {workspace.alias: workspace.id for workspace in workspaces}
