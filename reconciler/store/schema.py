"""The tables of the store, and the version of their shape. Definitions only: no engine, no statements.

    meta        version, salt
    entities    what we own: one row an address, in the workspace (the service's id) it was written to
    doubts      addresses whose create may still land, and until when
    locks       one writer for each origin and stack
    runs        who applied what, when, and how it ended
    plans_used  plans that were carried out, so that none is carried out twice

Text and integers only, and JSON as text, so that the same tables serve every database.
"""

from sqlalchemy import Boolean, Column, Integer, MetaData, String, Table, Text

# Raised with every change of the tables; a store with a higher one was written by a newer program.
VERSION = 1

METADATA = MetaData()

META = Table(
    "meta",
    METADATA,
    Column("key", String, primary_key=True),
    Column("value", String, nullable=False),
)

# The workspace's id is part of the key: an alias that is pointed at another workspace, and later
# back again, finds what it owned there.
ENTITIES = Table(
    "entities",
    METADATA,
    Column("origin", String, primary_key=True),
    Column("stack", String, primary_key=True),
    Column("workspace_id", String, primary_key=True),
    Column("address", String, primary_key=True),
    Column("remote_id", String, nullable=False),
    Column("parent_id", String, nullable=False),
    Column("sent", Text, nullable=False),
    Column("shown", Text, nullable=False),
    Column("modified", String, nullable=False),
    Column("protected", Boolean, nullable=False),
    Column("updated_at", String, nullable=False),
    Column("run", String, nullable=False),
)

DOUBTS = Table(
    "doubts",
    METADATA,
    Column("origin", String, primary_key=True),
    Column("stack", String, primary_key=True),
    Column("address", String, primary_key=True),
    Column("until", String, nullable=False),
    Column("run", String, nullable=False),
)

LOCKS = Table(
    "locks",
    METADATA,
    Column("origin", String, primary_key=True),
    Column("stack", String, primary_key=True),
    Column("nonce", String, nullable=False),
    Column("run", String, nullable=False),
    Column("holder", String, nullable=False),
    Column("seat", String, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("since", String, nullable=False),
    Column("expires", String, nullable=False),
)

RUNS = Table(
    "runs",
    METADATA,
    Column("run", String, primary_key=True),
    Column("origin", String, nullable=False),
    Column("stack", String, nullable=False),
    Column("command", String, nullable=False),
    Column("fingerprint", String, nullable=False),
    Column("started_at", String, nullable=False),
    Column("ended_at", String, nullable=False),
    Column("outcome", String, nullable=False),
    Column("exit_code", Integer, nullable=False),
    Column("counts", Text, nullable=False),
)

PLANS_USED = Table(
    "plans_used",
    METADATA,
    Column("salt", String, primary_key=True),
    Column("run", String, nullable=False),
    Column("used_at", String, nullable=False),
)
