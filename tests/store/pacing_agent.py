"""A program of its own that calls a service as fast as the shared pace lets it; see test_pace.py.

python pacing_agent.py STORE BASE_URL ID CALLS PER_SECOND CONCURRENCY
prints {"calls": 7, "turns": [[begins_at, spacing_s, turns], ...]}, on the store's clock
"""

import asyncio
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from service.support import service

from reconciler.concurrency import run_in_thread
from reconciler.service.client import open_client, pace_key_and_rate
from reconciler.service.http.limiter import Timing
from reconciler.store.connection import Database, open_database
from reconciler.store.shared_pace import SharedPace


class NotingPace(SharedPace):
    """A shared pace that notes which turns it got: when the first begins, their distance, their number."""

    def __init__(self, database: Database, credential: str, per_second: float, **how: Any) -> None:
        self.got: list[tuple[float, float, int]] = []
        self._inner = how.pop("offload", run_in_thread)
        super().__init__(database, credential, per_second, offload=self._note, **how)

    async def reserve(self, turns: int) -> tuple[float, float]:
        taken = await super().reserve(turns)
        self.got.append((*self._found, turns))
        return taken

    async def _note(self, change: Callable[[], Any]) -> Any:
        done = await self._inner(change)
        self._found: tuple[float, float] = done.found
        return done


def now() -> datetime:
    return datetime.now(UTC)


async def work(store: str, base_url: str, remote_id: str, calls: int, limits: dict[str, Any]) -> None:
    database = open_database(store, root="", create=True, token=lambda: "salt", now=now)
    settings = service(base_url, **limits)
    pace = NotingPace(database, *pace_key_and_rate(settings, database.salt))
    async with open_client(settings, timing=Timing.real(), pace=pace) as client:
        await asyncio.gather(*(client.contacts.get(remote_id) for _ in range(calls)))
        made = sum(client.calls.values())
    database.close()
    sys.stdout.write(json.dumps({"calls": made, "turns": pace.got}))


if __name__ == "__main__":
    _, store, base_url, remote_id, calls, per_second, concurrency = sys.argv
    limits = {"requests_per_second": float(per_second), "concurrency": int(concurrency)}
    asyncio.run(work(store, base_url, remote_id, int(calls), limits))
