"""A program of its own that calls a service as fast as the shared pace lets it; see test_pace.py.

python pacing_agent.py STORE BASE_URL ID SECONDS PER_SECOND CONCURRENCY     prints {"calls": 7, "asked": 2}
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from service.support import service

from reconciler.service.client import open_client, paced
from reconciler.service.timing import Timing
from reconciler.store.connection import open_database
from reconciler.store.pace import SharedPace


def now() -> datetime:
    return datetime.now(UTC)


async def work(store: str, base_url: str, remote_id: str, seconds: float, limits: dict[str, Any]) -> None:
    database = open_database(store, root="", create=True, token=lambda: "salt", now=now)
    settings = service(base_url, **limits)
    asked = calls = 0

    async def counted(change: Callable[[], Any]) -> Any:
        nonlocal asked
        asked += 1
        return await asyncio.to_thread(change)

    pace = SharedPace(database, *paced(settings, database.salt), offload=counted)
    async with open_client(settings, timing=Timing.real(), pace=pace) as client:
        await client.contacts.get(remote_id)  # every command begins with one call, and learns the way by it
        until = time.monotonic() + seconds

        async def call() -> None:
            nonlocal calls
            while time.monotonic() < until:
                await client.contacts.get(remote_id)
                calls += 1

        await asyncio.gather(*(call() for _ in range(limits["concurrency"])))
    database.close()
    sys.stdout.write(json.dumps({"calls": calls, "asked": asked}))


if __name__ == "__main__":
    _, store, base_url, remote_id, seconds, per_second, concurrency = sys.argv
    limits = {"requests_per_second": float(per_second), "concurrency": int(concurrency)}
    asyncio.run(work(store, base_url, remote_id, float(seconds), limits))
