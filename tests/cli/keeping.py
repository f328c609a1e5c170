"""What the tests of the commands around the store work with: the project's own store, beside the command."""

import json
import secrets
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cli.hands import Project, Service
from store import support

from reconciler.service.http.urls import origin_of
from reconciler.store.database import Store

RUN = "0b7c1d2e-0000-4000-8000-000000000001"


def store_file(project: Project) -> Path:
    """Where the project keeps its store."""
    return project.folder / ".reconciler" / "store.db"


@contextmanager
def store_of(project: Project, service: Service, *, url: str = "") -> Iterator[Store]:
    """The project's store, or the one at a URL, as a run of its own would open it."""
    if not url:
        store_file(project).parent.mkdir(mode=0o700, exist_ok=True)
    with Store.open(
        url or f"sqlite:///{store_file(project)}",
        origin=origin_of(service.address),
        stack="quickstart",
        now=lambda: datetime.now(UTC),
        token=lambda: secrets.token_hex(16),
    ) as store:
        yield store


def told(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    """The JSON that a command printed."""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def seal_again(project: Project) -> None:
    """Let the store hold what `rewrite` made of it as if the program had written it."""
    support.seal_file_again(store_file(project))


def rewrite(project: Project, statement: str, *values: object) -> int:
    """Change the store as somebody with a database tool would; the number of rows that were."""
    connection = sqlite3.connect(store_file(project))
    try:
        with connection:
            return connection.execute(statement, values).rowcount
    finally:
        connection.close()
