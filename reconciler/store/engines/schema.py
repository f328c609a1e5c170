"""The tables of the store, and the version of their shape. Definitions only: no engine, no statements.

    meta        version, salt
    entities    what we own: one row an address without its alias, in the workspace (the service's id) it
                was written to
    workspaces  under which aliases each workspace was known here, and when it was last applied as a whole
    locks       one writer for each origin and stack; the row of a free lock stays, its counter only rises
    runs        who applied what, when, and how it ended; the plan too, as long as it is not finished
    journal     intent before each call, ending after it; rows go when their run is finished
    audit       everything that was done, chained by hashes; only ever added to
    paces       how fast a credential may call, shared by everybody who uses it
    seals       how many rows of entities, workspaces, journal, runs, audit and locks an owner has, and a
                digest of them
    proofs      that many passwords together are those last sent; without it they are compared one by one
    plans_used  plans that were carried out, so that none is carried out twice
    tickets     runs of this store that asked for the lock in the service: their tickets hold nobody here up
    deleted     what was deleted, by id and by digests of its identities, so that a plan knows it again

Text and integers only, and JSON as text, so that the same tables serve every database.
"""

from sqlalchemy import Boolean, Column, Float, Integer, MetaData, String, Table, Text

# Raised with every change of the tables; a store with a higher one was written by a newer program.
VERSION = 6

METADATA = MetaData()

META = Table(
    "meta",
    METADATA,
    Column("key", String, primary_key=True),
    Column("value", String, nullable=False),
)

# The workspace's id is part of the key and its alias is not: an alias that is pointed at another workspace,
# and later back again, finds what it owned there; one that is spelt anew finds what the old one owned.
ENTITIES = Table(
    "entities",
    METADATA,
    Column("origin", String, primary_key=True),
    Column("stack", String, primary_key=True),
    Column("workspace_id", String, primary_key=True),
    Column("address", String, primary_key=True),  # without the alias: contact/jane-doe
    Column("remote_id", String, nullable=False),
    Column("parent_id", String, nullable=False),
    Column("sent", Text, nullable=False),
    Column("shown", Text, nullable=False),
    Column("modified", String, nullable=False),
    Column("protected", Boolean, nullable=False),
    Column("adopted", String, nullable=False),  # empty: we made it; else when it was adopted, or `unknown`
    Column("earlier", Text, nullable=False),  # ids of what we made before under this address, a JSON list
    Column("flaps", Text, nullable=False),  # fields that others keep writing: path -> times, since, last
    Column("updated_at", String, nullable=False),
    Column("run", String, nullable=False),
)

WORKSPACES = Table(
    "workspaces",
    METADATA,
    Column("origin", String, primary_key=True),
    Column("stack", String, primary_key=True),
    Column("workspace_id", String, primary_key=True),
    Column("alias", String, primary_key=True),
    Column("number", Integer, nullable=False),  # rises with every change of an alias: the highest is the last
    Column("applied", String, nullable=False),  # when a whole apply of it ended last; empty: never
)

LOCKS = Table(
    "locks",
    METADATA,
    Column("origin", String, primary_key=True),
    Column("stack", String, primary_key=True),
    Column("counter", Integer, nullable=False),  # how often it was taken
    Column("nonce", String, nullable=False),  # empty: free
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
    Column("number", Integer, nullable=False),  # rises with every run of an origin and stack
    Column("command", String, nullable=False),
    Column("fingerprint", String, nullable=False),
    Column("started_at", String, nullable=False),
    Column("ended_at", String, nullable=False),
    Column("outcome", String, nullable=False),
    Column("exit_code", Integer, nullable=False),
    Column("counts", Text, nullable=False),
    Column("who", String, nullable=False),
    Column("context", Text, nullable=False),
    Column("plan", Text, nullable=False),  # empty when nothing of it is left to do or to settle
    Column("consent", Text, nullable=False),
)

# One row for each address that a run writes: a second try takes the place of the first, whose end is known.
JOURNAL = Table(
    "journal",
    METADATA,
    Column("origin", String, primary_key=True),
    Column("stack", String, primary_key=True),
    Column("run", String, primary_key=True),
    Column("address", String, primary_key=True),  # with the alias that the run knew
    Column("workspace_id", String, nullable=False),  # `unknown` where an older version wrote the row
    Column("action", String, nullable=False),
    Column("remote_id", String, nullable=False),
    Column("parent_id", String, nullable=False),
    Column("at", String, nullable=False),
    Column("until", String, nullable=False),
    Column("ending", String, nullable=False),  # empty: open
    Column("counter", Integer, nullable=False),  # of the lock it was written under
)

AUDIT = Table(
    "audit",
    METADATA,
    Column("origin", String, primary_key=True),
    Column("stack", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("body", Text, nullable=False),  # the entry as canonical JSON, without its own hash
    Column("hash", String, nullable=False),
)

PACES = Table(
    "paces",
    METADATA,
    Column("credential", String, primary_key=True),  # a keyed hash
    Column("rate", Float, nullable=False),  # turns a second, now
    Column("changed_at", Float, nullable=False),  # the store's clock, in seconds; it grows from here on
    Column("next_at", Float, nullable=False),  # the same; no turn begins before
    Column("seen_at", Float, nullable=False),  # the same; when it was last asked for turns
)

SEALS = Table(
    "seals",
    METADATA,
    Column("origin", String, primary_key=True),
    Column("stack", String, primary_key=True),
    Column("name", String, primary_key=True),  # of the table
    Column("number", Integer, nullable=False),  # of rows; of the audit's last entry; the lock's counter
    Column("digest", String, nullable=False),  # of all rows together; the hash of the audit's last entry
)

# Written at the end of a run, replaced as a whole. It holds no fact that is nowhere else: nothing seals it.
PROOFS = Table(
    "proofs",
    METADATA,
    Column("origin", String, primary_key=True),
    Column("stack", String, primary_key=True),
    Column("workspace_id", String, primary_key=True),
    Column("part", Integer, primary_key=True),  # its number, from 0
    Column("proof", String, nullable=False),
)

PLANS_USED = Table(
    "plans_used",
    METADATA,
    Column("salt", String, primary_key=True),
    Column("run", String, nullable=False),
    Column("used_at", String, nullable=False),
)

# Of a run that ended a lost ticket may still stand at the service. A row that is missing costs a wait.
TICKETS = Table(
    "tickets",
    METADATA,
    Column("origin", String, primary_key=True),
    Column("stack", String, primary_key=True),
    Column("run", String, primary_key=True),
    Column("drawn_at", String, nullable=False),
)

# Kept for 90 days. Nothing is written to the service because of it, so nothing seals it.
DELETED = Table(
    "deleted",
    METADATA,
    Column("origin", String, primary_key=True),
    Column("stack", String, primary_key=True),
    Column("workspace_id", String, primary_key=True),
    Column("address", String, primary_key=True),
    Column("remote_id", String, primary_key=True),
    Column("identities", Text, nullable=False),  # name of the identity -> its digest under the salt, as JSON
    Column("run", String, nullable=False),
    Column("deleted_at", String, nullable=False),
)
