"""One way to talk to every database: SQL as text, values by name, rows as tuples, pooled connections.

    connection.execute("SELECT run FROM runs WHERE stack = :stack", {"stack": "default"}).all()
    connection.execute("DELETE FROM runs WHERE run IN (:runs)", {"runs": ["a", "b"]})
    connection.execute_many("INSERT INTO meta (key, value) VALUES (:key, :value)", rows)

What one engine does in its own way is sqlite.py and postgres.py; their errors are raised as the driver
raises them, and become StoreErrors in connection.py. No table is known here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import BoundedSemaphore, Lock
from typing import Any, Literal

from reconciler.errors import StoreError

Values = Mapping[str, object]
Row = tuple[Any, ...]

# What a transaction is: a look at one moment, the one writer, or a change of rows that waits only for
# changes of the same rows.
Mode = Literal["reading", "writing", "rows"]

_wait_max_s = 30.0  # seconds to wait for a connection while all of them are in use


class UnexpectedRows(Exception):
    """There are more or fewer rows than a key allows."""


class NoFreeConnection(Exception):
    """All connections are in use, and none came back in time."""


class Observer:
    """Hears what happens on connections, before it happens; what it raises takes the place of that.

    For who measures, and for tests that let a disk or a process fail. Every method does nothing by itself.
    """

    def opened(self, connection: "Connection") -> None:
        """A connection was made."""

    def began(self, connection: "Connection", mode: Mode) -> None:
        """A transaction has begun, and nothing was asked in it yet."""

    def executes(self, connection: "Connection", sql: str) -> None:
        """A statement is about to be carried out, for one row or for many."""

    def commits(self, connection: "Connection", mode: Mode) -> None:
        """A transaction is about to be committed."""


OF_EVERY_POOL: list[Observer] = []  # observers of all connections of the process


class Result:
    """The answer to a statement. Rows come as tuples, in the order of the columns that were asked for."""

    def __init__(self, cursor: Any, rows: Iterable[Row] | None = None) -> None:
        self._cursor = cursor
        self._rows: Iterable[Row] = cursor if rows is None else rows

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(str(column[0]) for column in self._cursor.description or ())

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""
        return int(self._cursor.rowcount)

    def all(self) -> list[Row]:
        """Return every row."""
        return list(self._rows)

    def first(self) -> Row | None:
        """Return the first row, and leave the others; None where there is none."""
        row = next(iter(self._rows), None)
        self._cursor.close()  # or the statement goes on, and holds what it looks at
        return row

    def one_or_none(self) -> Row | None:
        """Return the one row there is, or None. Raises UnexpectedRows where there are several."""
        found = self.all()
        if len(found) > 1:
            raise UnexpectedRows
        return found[0] if found else None

    def one(self) -> Row:
        """Return the one row there is. Raises UnexpectedRows."""
        found = self.one_or_none()
        if found is None:
            raise UnexpectedRows
        return found

    def scalar(self) -> Any:
        """Return the first value of the first row; None where there is no row."""
        row = self.first()
        return None if row is None else row[0]


class Connection(ABC):
    """One connection to a database, for one thread at a time."""

    raw: Any  # the driver's own connection

    def __init__(self, observers: Sequence[Observer] = ()) -> None:
        self._observers = observers
        self._mode: Mode = "reading"

    def execute(self, sql: str, values: Values | None = None) -> Result:
        """Carry out a statement. A value that is a list fills the brackets around its name: `IN (:names)`."""
        self.notify("executes", sql)
        if values is None:
            return self._execute(sql, None)
        text = self._in_own_style(sql)
        for name, value in values.items():
            if isinstance(value, list):
                values = {key: one for key, one in values.items() if key != name}
                named = {f"{name}_{number}": one for number, one in enumerate(value)}
                marks = ", ".join(map(self._mark, named)) or "NULL"  # no value is equal to NULL
                text = text.replace(f"({self._mark(name)})", f"({marks})")
                values |= named
        return self._execute(text, values)

    def execute_many(self, sql: str, rows: Sequence[Values]) -> None:
        """Carry out a statement for each row of values."""
        self.notify("executes", sql)
        self._execute_many(self._in_own_style(sql), rows)

    def stream(self, sql: str, values: Values) -> Iterator[Row]:
        """Yield the rows of a query, of which only some are in memory at a time."""
        self.notify("executes", sql)
        return self._stream(self._in_own_style(sql), values)

    @contextmanager
    def transaction(self, mode: Mode) -> Iterator[None]:
        """Commit what is done within, at the end; where anything is raised, the pool undoes it."""
        self._mode = mode
        self._begin(mode)
        self.notify("began", mode)
        yield
        self.notify("commits", mode)
        self.raw.commit()

    def notify(self, what: str, *about: object) -> None:
        """Let every observer hear of something."""
        for one in (*OF_EVERY_POOL, *self._observers):
            getattr(one, what)(self, *about)

    def close(self) -> None:
        """Let go of the database. Raises nothing that it says."""
        with suppress(Exception):  # nothing more is wanted of it
            self.raw.close()

    @abstractmethod
    def text_as_bytes(self, column: str) -> str:
        """Return the SQL for a column of text as its bytes, also where these are no text any more."""

    @abstractmethod
    def is_alive(self) -> bool:
        """Whether the database still answers on a connection that was idle."""

    @abstractmethod
    def reset(self) -> bool:
        """Undo what was begun and not committed; False where nothing can be asked here any more."""

    @staticmethod
    @abstractmethod
    def _in_own_style(sql: str) -> str:
        """Return a statement with its parameters as the driver names them."""

    @staticmethod
    @abstractmethod
    def _mark(name: str) -> str:
        """Return what stands for a value in a statement."""

    @abstractmethod
    def _execute(self, sql: str, values: Values | None) -> Result: ...

    @abstractmethod
    def _execute_many(self, sql: str, rows: Sequence[Values]) -> None: ...

    @abstractmethod
    def _stream(self, sql: str, values: Values) -> Iterator[Row]: ...

    @abstractmethod
    def _begin(self, mode: Mode) -> None: ...


class Pool:
    """Connections to one database, each for one thread at a time. Idle ones wait for the next who asks.

    `idle_max` of them stay open, `open_max` are open at most.
    """

    def __init__(
        self, opener: Callable[[list[Observer]], Connection], *, idle_max: int, open_max: int
    ) -> None:
        self.observers: list[Observer] = []
        self._open = opener
        self._idle_max = idle_max
        self._idle: list[Connection] = []
        self._in_use: dict[Connection, int] = {}  # with the generation in which each was taken
        self._generation = 0  # how often all of them were let go of
        self._lock = Lock()
        self._free = BoundedSemaphore(open_max)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Give a connection that is in no transaction; what was not committed is undone at the end."""
        if not self._free.acquire(timeout=_wait_max_s):
            raise NoFreeConnection
        try:
            connection = self._take()
            try:
                yield connection
            finally:
                self._give_back(connection)
        finally:
            self._free.release()

    @contextmanager
    def transaction(self, mode: Mode) -> Iterator[Connection]:
        """Give a connection in a transaction: committed at the end, undone where anything is raised."""
        with self.connection() as connection, connection.transaction(mode):
            yield connection

    def dispose(self) -> None:
        """Close every connection: idle ones now, others when they are not used any more."""
        with self._lock:
            self._generation += 1
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> Connection:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
                generation = self._generation
            if connection is None:
                connection = self._open(self.observers)
                try:
                    connection.notify("opened")
                except BaseException:
                    connection.close()
                    raise
            elif not self._lives(connection):
                continue
            with self._lock:
                self._in_use[connection] = generation
            return connection

    @staticmethod
    def _lives(connection: Connection) -> bool:
        alive = False
        try:
            alive = connection.is_alive()
        finally:
            if not alive:
                connection.close()
        return alive

    def _give_back(self, connection: Connection) -> None:
        usable = False
        try:
            usable = connection.reset()
        except Exception:  # noqa: BLE001, S110 - the first error is the one that is raised
            pass
        finally:
            with self._lock:
                current = self._in_use.pop(connection) == self._generation
                if keep := usable and current and len(self._idle) < self._idle_max:
                    self._idle.append(connection)
            if not keep:
                connection.close()


# --- A store that is damaged, or not the one that was opened: one wording for every engine ---------


# Starting anew is harmless where nothing is under way: every create searches the service by identity first.
RESTORE = (
    "restore the store from a copy, or move it away (with every file beside it that begins with its name): "
    "live entities are then recognized by their identity fields"
)


def replaced_store_error(name: str) -> StoreError:
    """Return the error for a store that was removed or replaced while this process was using it."""
    return StoreError(
        f"the store {name} was removed or replaced while this run was using it; nothing more is sent.",
        next="make sure that no other program changes the folder of the store; then: reconciler "
        "resume, or plan again",
    )
