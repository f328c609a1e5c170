"""The users of a SCIM 2.0 service as a table: every page of one list, whole or not at all.

Belongs here: the walk over the pages. Not here: calls (http.py), whether pages are the whole
(pages.py), what a user is as a row (columns.py).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

from reconciler.directories.answers import AnswerRows
from reconciler.directories.scim.columns import ResourceColumns
from reconciler.directories.scim.http import ScimCalls
from reconciler.directories.scim.pages import PageWalk, Query, list_page
from reconciler.directories.whole import ChangedError, whole
from reconciler.model.settings import ScimDirectory


def read_scim(
    _name: str,
    directory: ScimDirectory,
    *,
    rows_max: int,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> AnswerRows:
    """Return every user of a SCIM service that its filter finds, in the order of the answer.

    Columns are attributes, those within others joined by dots, and values by their types
    (`emails.work.value`). A list is unusable, and so is a value that has another one of its type beside it. A
    service that changes while it is read is read once more. Raises DirectoryFailed, and whatever revealing a
    secret raises.
    """
    ends_at = time.monotonic() + directory.timeout_s  # of both readings, where it is read twice

    def read() -> AnswerRows:
        # In a thread: whoever reads manifests may be in an event loop, where no second one can run.
        with ThreadPoolExecutor(1, "scim") as beside:
            return beside.submit(asyncio.run, _read(directory, rows_max, sleep, ends_at)).result()

    return whole(read)


async def _read(
    directory: ScimDirectory, rows_max: int, sleep: Callable[[float], Awaitable[object]], ends_at: float
) -> AnswerRows:
    columns = ResourceColumns(directory.attributes)
    walk = PageWalk(directory.paging, directory.page, rows_max=rows_max)
    async with ScimCalls(directory, sleep, ends_at) as calls:
        query: Query | None = walk.first()
        while query is not None:
            page = list_page(await calls.page(query), directory.page)
            for resource in page.resources:
                if not columns.take(resource):
                    raise ChangedError("it sends a user twice.")
            query = walk.after(page)
    return columns.answer()
