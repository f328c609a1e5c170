"""A list of contacts in memory, with the interface of `ReadCollection`: others edit it, and it may lie.

For the laws of the feed, which need thousands of histories. It is honest about its whole list; what it tells
of the order of change is what `lie` says.
"""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, cast

from reconciler.core.feed import NewestRows, RememberedList, pack_list, unpack_list, why_full_read_due
from reconciler.engine.lists import CachedRows, ListCacheRequest
from reconciler.errors import NotFound
from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS
from reconciler.service import paging
from reconciler.service.client import Reader
from reconciler.service.entities import ReadCollection
from reconciler.service.paging import EVERYTHING, Found, Page, Query

BEGIN = datetime(2026, 3, 1, 9, tzinfo=UTC)
PAGE = 4  # rows of one page
WORKSPACE = "AB12"
JOBS = ("Engineer", "Nurse", "Planner", "Analyst")
LIES = ("order", "repeats", "moves", "times")


def text(at: int) -> str:
    """Return a second of these worlds as the service writes it."""
    return (BEGIN + timedelta(seconds=at)).isoformat().replace("+00:00", "Z")


class Crowd:
    """Contacts in the order of their creation. `at` is the service's clock, in seconds."""

    def __init__(self, chance: Random, count: int) -> None:
        self.kind = KINDS["contact"]
        self.chance = chance
        self.at = 10_000
        self.lie = ""
        self.calls = 0
        self.numbers = 0
        self.bodies: dict[str, dict[str, Any]] = {}
        for number in range(count):
            # A third was imported in one second.
            self.create(0 if number % 3 == 0 else chance.randrange(9_000))

    def create(self, at: int | None = None, like: int | None = None) -> None:
        """Somebody adds a person, new or with the name of number `like`."""
        self.numbers += 1
        number = self.numbers if like is None else like
        self.bodies[f"A{self.numbers:04d}"] = {
            "id": f"A{self.numbers:04d}",
            "firstName": "Ada",
            "lastName": f"Number{number}",
            "status": "A",
            "mri": f"Ada.{number}@Contact.service.example",
            "workEmailAddress1": f"p{number}@example.com",
            "jobTitle": self.chance.choice(JOBS),
            "lastModifiedTime": text(self.at if at is None else at),
            "messagingoptions": [],
            "devices": [],
            "link": [],
        }

    def happens(self, *, skew: int = 0) -> None:
        """Somebody else does something now, on a machine whose clock is wrong by `skew` seconds."""
        chance, ids = self.chance, list(self.bodies)
        told = self.at + chance.randint(-skew, skew)
        what = chance.choice(("edit", "edit", "edit", "create", "delete", "rename", "again", "nothing"))
        one = chance.choice(ids)
        number = int(self.bodies[one]["workEmailAddress1"][1:].partition("@")[0])
        if what == "create":
            self.create(told)
        elif what in ("delete", "again") and len(ids) > 1:
            del self.bodies[one]
            if what == "again":
                self.create(told, like=number)
        elif what in ("edit", "rename"):
            change = {"jobTitle": chance.choice(JOBS)}
            if what == "rename":
                change = {"workEmailAddress1": f"p{chance.randint(1, self.numbers + 3)}@example.com"}
            self.bodies[one] = {**self.bodies[one], **change, "lastModifiedTime": text(told)}

    # The interface of ReadCollection, as far as reading uses it; there is one workspace.

    async def page(
        self, query: Query = EVERYTHING, *, workspace: str = "", offset: int = 0, limit: int = 0
    ) -> Page:
        assert workspace == WORKSPACE
        self.calls += 1
        rows = [body for body in self.bodies.values() if self._answers(body, query)]
        if query.sort:
            assert query.sort == "-lastModifiedTime"
            rows, offset = self._in_order(rows, offset)
        cut = rows[offset : offset + min(limit or PAGE, PAGE)]
        found = tuple(Found(body["id"], dict(body), text(self.at)) for body in cut)
        end = offset + len(cut) >= len(rows)
        return Page(found, len(rows) if found else None, last=end, more=not end)

    def _in_order(self, rows: list[dict[str, Any]], offset: int) -> tuple[list[dict[str, Any]], int]:
        """Return the rows by their time of change, newest first, or as the lie says."""
        chance = self.chance
        if self.lie == "order":
            return rows, offset
        if not rows:
            return rows, offset
        mixed = chance.sample(rows, len(rows))  # of equal times any may come first, on each page anew
        ordered = sorted(mixed, key=lambda body: str(body["lastModifiedTime"]), reverse=True)
        if self.lie == "repeats" and offset:
            return ordered, chance.choice((0, offset - 1, offset))
        if self.lie == "moves":
            ordered.insert(0, ordered.pop(chance.randrange(len(ordered))))
        if self.lie == "times":
            told = [{**body, "lastModifiedTime": text(chance.randrange(20_000))} for body in ordered]
            return told, offset
        return ordered, offset

    async def pages(
        self, query: Query = EVERYTHING, first: Page | None = None, *, workspace: str = ""
    ) -> AsyncGenerator[Page, None]:
        async def fetch(offset: int, limit: int) -> Page:
            return await self.page(query, workspace=workspace, offset=offset, limit=limit)

        begun = await self.page(query, workspace=workspace) if first is None else first
        async for page in paging.walk_pages(begun, fetch, limit=PAGE, window=2):
            yield page

    async def get(self, remote_id: str, *, workspace: str = "") -> Found:
        assert workspace == WORKSPACE
        self.calls += 1
        if remote_id not in self.bodies:
            raise NotFound("nobody is there")
        return Found(remote_id, dict(self.bodies[remote_id]), text(self.at))

    @staticmethod
    def _answers(body: dict[str, Any], query: Query) -> bool:
        return all(value in str(body.get(name, "")) for name, value in query.filters.items())

    @property
    def reader(self) -> Reader:
        """The service, of which only these contacts are read."""
        return cast("Reader", {"contact": cast("ReadCollection", self)})


class InMemory:
    """What reads remember, encoded as in a file."""

    margin_s = 12.0

    def __init__(self, crowd: Crowd, every_s: float = 86_400) -> None:
        self.crowd = crowd
        self.every_s = every_s
        self.kept: dict[str, bytes] = {}
        self.newest: tuple[ListCacheRequest, NewestRows] | None = (
            None  # of the last read, where it was by a feed
        )
        self.plan = ""  # the one that was made of it

    @property
    def now(self) -> str:
        return text(self.crowd.at)

    def feeds(self, kind: Kind) -> bool:
        return bool(kind.listing.changed)

    async def recall(self, asked: ListCacheRequest) -> CachedRows:
        data = self.kept.get(repr(asked))
        if data is None:
            return CachedRows()
        known = unpack_list(data, (repr(asked),))
        assert known is not None
        return CachedRows(known, why_full_read_due(known, now=self.now, every_s=self.every_s))

    def note_followed(self, asked: ListCacheRequest, newest: NewestRows, calls: int) -> None:  # noqa: ARG002 - what is not asked here
        self.newest = asked, newest

    async def keep(self, asked: ListCacheRequest, found: RememberedList | None) -> None:
        self.kept.pop(repr(asked), None)
        if found:
            self.kept[repr(asked)] = b"".join(pack_list(found, (repr(asked),)))
