"""Projects as programs of other days left them, with the world around them: `tests/store/stores/<day>/`.

They are never made again. A test works on a copy; its README says what it holds.
"""

import itertools
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
from copies import copied
from world import World

from reconciler.core.review.saved_plans import PlanFile, open_plan_file
from reconciler.model.encoding import decode_json
from reconciler.model.plans import Plan
from reconciler.model.settings import WorkspaceRef
from reconciler.sandbox.app import SandboxConfig
from reconciler.store import postgres

STORES = Path(__file__).parent / "stores"
NOVEMBER = STORES / "2026-11-26"
OPERATIONS = "4C8FE1A2B3D4E5F6"
LABORATORY = "5D9FE1A2B3D4E5F7"
WORKSPACES = {
    "default": WorkspaceRef(),
    "ops": WorkspaceRef(id=OPERATIONS, name="Operations"),
    "lab": WorkspaceRef(name="Laboratory"),
}
_moment_s = 10_860.0  # of tests/clock.py, when the last plan was made


def dated_world(folder: Path, **changes: Any) -> World:
    """Put a copy of the project of 2026-11-26 into `folder`, and return the world in which it goes on.

    `changes` are fields of World.
    """
    root = folder / "project"
    copied(NOVEMBER, root)
    config = SandboxConfig(
        workspaces=(("Operations", OPERATIONS), ("Laboratory", LABORATORY)), data=root / "service.db"
    )
    world = World(root, **{"config": config, "workspaces": WORKSPACES, **changes})
    world.clock.pass_s(_moment_s)
    # Another day's run has another id, and another day's plan another salt.
    tokens = (f"later-{number:04d}" for number in itertools.count())
    ids = (f"00000000-0000-4000-9000-{number:012d}" for number in itertools.count(1))
    world.dependencies = replace(world.dependencies, token=tokens.__next__, run_id=ids.__next__)
    return world


def dated_plan() -> Plan:
    """Return the plan of the file that was made then, whatever the version of the program is now."""
    return open_plan_file(decode_json((NOVEMBER / "plan.json").read_bytes(), PlanFile))


def copied_to_server(url: str) -> None:
    """Give an empty database of PostgreSQL the tables and the rows of the store of 2026-11-26."""
    with closing(sqlite3.connect(f"file:{NOVEMBER / 'store.db'}?mode=ro&immutable=1", uri=True)) as source:
        tables = source.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        with psycopg.connect(url, options=f"-c search_path={postgres.SCHEMA}") as target:
            target.execute(f"CREATE SCHEMA {postgres.SCHEMA}".encode())
            for name, sql in tables:
                target.execute(sql.encode())
                rows = source.execute(f"SELECT * FROM {name}")  # noqa: S608 - names of tables
                columns = [column[0] for column in rows.description]
                flags = {columns.index("protected")} if "protected" in columns else set()
                values = ", ".join(["%s"] * len(columns))
                for row in rows:
                    typed = tuple(bool(v) if at in flags else v for at, v in enumerate(row))
                    target.execute(f"INSERT INTO {name} VALUES ({values})".encode(), typed)  # noqa: S608 - the same
