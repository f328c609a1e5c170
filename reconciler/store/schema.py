"""The tables of the store, and the version of their shape. Definitions only: no statements of the program.

    meta        version, salt
    entities    what we own: one row an address without its alias, in the workspace (the service's id) it
                was written to
    workspaces  under which aliases each workspace was known here, and when it was last applied as a whole
    locks       one writer for each origin and stack; the row of a free lock stays, its counter only rises
    runs        who applied what, when, and how it ended; the plan too, as long as it is not finished
    journal     intent before each call, ending after it; rows go when their run is finished
    audit       everything that was done, chained by hashes; only ever added to
    paces       how fast a credential may call, shared by all runs that use it
    seals       how many rows of entities, workspaces, journal, runs, audit, locks, undos, pauses, questions
                and answers an owner has, and a digest of them
    proofs      that many passwords together are those last sent; without it they are compared one by one
    plans_used  plans that were carried out, so that none is carried out twice
    tickets     runs of this store that asked for the lock in the service: their tickets delay no run here
    kept, kept_parts
                what lists of the service showed, and what else runs keep to be quick; of a shared store alone
    deleted     what was deleted, by id and by digests of its identities, so that a plan knows it again
    undos       what undoes each of the last runs, for some days
    pauses      until when no `sync` of a stack writes
    questions, answers
                whether a plan may be carried out, and what approvers said to it
    sync_results
                what the last `sync` found, of the stack and of each workspace
    told        what was last told over a channel, so that several machines tell it once

Text and integers only, and JSON as text, so that the same tables serve every database.
"""

import re

from msgspec import Struct

# Raised with every change of the tables; a store with a higher one was written by a newer program.
VERSION = 7

# Columns that are true or false, in whichever table.
TRUTH_COLUMNS = frozenset({"protected"})


class Table(Struct, frozen=True):
    """A table: its name, its columns in their order, the statement that makes it, and one that adds a row."""

    name: str
    columns: tuple[str, ...]
    create: str
    insert: str

    @property
    def select(self) -> str:
        """The beginning of a query for all columns, in their order."""
        return f"SELECT {', '.join(self.columns)} FROM {self.name}"


def define_table(sql: str) -> Table:
    """Return the table that a statement makes; each column in a line of its own, with NOT NULL."""
    create = re.sub(r" *--.*", "", sql).strip()
    name = create.removeprefix("CREATE TABLE ").partition(" ")[0]
    columns = tuple(re.findall(r"^\s+(\w+) [A-Z]+ NOT NULL", create, re.MULTILINE))
    return known_table(name, columns, create)


def known_table(name: str, columns: tuple[str, ...], create: str = "") -> Table:
    """Return a table with these columns, which is there already."""
    values = ", ".join(f":{column}" for column in columns)
    return Table(name, columns, create, f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({values})")


META = define_table("""
CREATE TABLE meta (
    key VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    PRIMARY KEY (key)
)""")

# The workspace's id is part of the key and its alias is not: an alias that is pointed at another workspace,
# and later back again, finds what it owned there; one that is spelt anew finds what the old one owned.
ENTITIES = define_table("""
CREATE TABLE entities (
    origin VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    workspace_id VARCHAR NOT NULL,
    address VARCHAR NOT NULL,     -- without the alias: contact/jane-doe
    remote_id VARCHAR NOT NULL,
    parent_id VARCHAR NOT NULL,
    sent TEXT NOT NULL,
    shown TEXT NOT NULL,
    modified VARCHAR NOT NULL,
    protected BOOLEAN NOT NULL,
    adopted VARCHAR NOT NULL,     -- empty: we made it; else when it was adopted, or `unknown`
    earlier TEXT NOT NULL,        -- ids of what we made before under this address, a JSON list
    flaps TEXT NOT NULL,          -- fields that others keep writing: path -> times, since, last
    updated_at VARCHAR NOT NULL,
    run VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack, workspace_id, address)
)""")

WORKSPACES = define_table("""
CREATE TABLE workspaces (
    origin VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    workspace_id VARCHAR NOT NULL,
    alias VARCHAR NOT NULL,
    number INTEGER NOT NULL,      -- rises with every change of an alias: the highest is the last
    applied VARCHAR NOT NULL,     -- when a whole apply of it ended last; empty: never
    PRIMARY KEY (origin, stack, workspace_id, alias)
)""")

LOCKS = define_table("""
CREATE TABLE locks (
    origin VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    counter INTEGER NOT NULL,     -- how often it was taken
    nonce VARCHAR NOT NULL,       -- empty: free
    run VARCHAR NOT NULL,
    holder VARCHAR NOT NULL,
    seat VARCHAR NOT NULL,
    pid INTEGER NOT NULL,
    since VARCHAR NOT NULL,
    expires VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack)
)""")

RUNS = define_table("""
CREATE TABLE runs (
    run VARCHAR NOT NULL,
    origin VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    number INTEGER NOT NULL,      -- rises with every run of an origin and stack
    command VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL,
    started_at VARCHAR NOT NULL,
    ended_at VARCHAR NOT NULL,
    outcome VARCHAR NOT NULL,
    exit_code INTEGER NOT NULL,
    counts TEXT NOT NULL,
    who VARCHAR NOT NULL,
    context TEXT NOT NULL,
    plan TEXT NOT NULL,           -- empty when nothing of it is left to do or to settle
    consent TEXT NOT NULL,
    PRIMARY KEY (run)
)""")

# One row for each address that a run writes: a second try takes the place of the first, whose end is known.
JOURNAL = define_table("""
CREATE TABLE journal (
    origin VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    run VARCHAR NOT NULL,
    address VARCHAR NOT NULL,     -- with the alias that the run knew
    workspace_id VARCHAR NOT NULL, -- `unknown` where an older version wrote the row
    action VARCHAR NOT NULL,
    remote_id VARCHAR NOT NULL,
    parent_id VARCHAR NOT NULL,
    at VARCHAR NOT NULL,
    until VARCHAR NOT NULL,
    ending VARCHAR NOT NULL,      -- empty: open
    counter INTEGER NOT NULL,     -- of the lock it was written under
    PRIMARY KEY (origin, stack, run, address)
)""")

AUDIT = define_table("""
CREATE TABLE audit (
    origin VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    body TEXT NOT NULL,           -- the entry as canonical JSON, without its own hash
    hash VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack, number)
)""")

PACES = define_table("""
CREATE TABLE paces (
    credential VARCHAR NOT NULL,  -- a keyed hash
    rate FLOAT NOT NULL,          -- turns a second, now
    changed_at FLOAT NOT NULL,    -- the store's clock, in seconds; it grows from here on
    next_at FLOAT NOT NULL,       -- the same; no turn begins before
    seen_at FLOAT NOT NULL,       -- the same; when it was last asked for turns
    PRIMARY KEY (credential)
)""")

SEALS = define_table("""
CREATE TABLE seals (
    origin VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    name VARCHAR NOT NULL,        -- of the table
    number INTEGER NOT NULL,      -- of rows; of the audit's last entry; the lock's counter
    digest VARCHAR NOT NULL,      -- of all rows together; the hash of the audit's last entry
    PRIMARY KEY (origin, stack, name)
)""")

# Written at the end of a run, replaced as a whole. It holds no fact that is nowhere else: nothing seals it.
PROOFS = define_table("""
CREATE TABLE proofs (
    origin VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    workspace_id VARCHAR NOT NULL,
    part INTEGER NOT NULL,        -- its number, from 0
    proof VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack, workspace_id, part)
)""")

PLANS_USED = define_table("""
CREATE TABLE plans_used (
    salt VARCHAR NOT NULL,
    run VARCHAR NOT NULL,
    used_at VARCHAR NOT NULL,
    PRIMARY KEY (salt)
)""")

# Of a run that ended a lost ticket may still stand at the service. A row that is missing costs a wait.
TICKETS = define_table("""
CREATE TABLE tickets (
    origin VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    run VARCHAR NOT NULL,
    drawn_at VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack, run)
)""")

# Kept for 90 days. Nothing is written to the service because of it, so nothing seals it.
DELETED = define_table("""
CREATE TABLE deleted (
    origin VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    workspace_id VARCHAR NOT NULL,
    address VARCHAR NOT NULL,
    remote_id VARCHAR NOT NULL,
    identities TEXT NOT NULL,     -- name of the identity -> its digest under the salt, as JSON
    run VARCHAR NOT NULL,
    deleted_at VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack, workspace_id, address, remote_id)
)""")

# A row that differs would be written to the service: sealed, and the plan proves itself.
UNDOS = define_table("""
CREATE TABLE undos (
    origin VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    run VARCHAR NOT NULL,         -- the one that it undoes
    kept_at VARCHAR NOT NULL,
    plan TEXT NOT NULL,
    PRIMARY KEY (origin, stack, run)
)""")

# A row that is lost would let a `sync` write that somebody has stopped: sealed.
PAUSES = define_table("""
CREATE TABLE pauses (
    origin VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    since VARCHAR NOT NULL,
    until VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    who VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack)
)""")

# A row that differs could let a plan be carried out that nobody agreed to: both are sealed.
QUESTIONS = define_table("""
CREATE TABLE questions (
    origin VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    question VARCHAR NOT NULL,    -- a short id
    fingerprint VARCHAR NOT NULL, -- of the plan
    salt VARCHAR NOT NULL,        -- the same
    commit_id VARCHAR NOT NULL,
    asked_at VARCHAR NOT NULL,
    expires_at VARCHAR NOT NULL,
    counts TEXT NOT NULL,
    danger VARCHAR NOT NULL,      -- an address
    quorum INTEGER NOT NULL,
    state VARCHAR NOT NULL,       -- model/automation.py
    codes TEXT NOT NULL,          -- approver -> digest of a code under the salt; whether it was sent, used
    wrong TEXT NOT NULL,          -- approver -> replies that did not count
    PRIMARY KEY (origin, stack, question)
)""")

ANSWERS = define_table("""
CREATE TABLE answers (
    origin VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    question VARCHAR NOT NULL,
    approver VARCHAR NOT NULL,
    verdict VARCHAR NOT NULL,
    answered_at VARCHAR NOT NULL,
    how VARCHAR NOT NULL,
    detail VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack, question, approver)
)""")

# For people who ask how it stands. Nothing is decided by it, so nothing seals it.
SYNC_RESULTS = define_table("""
CREATE TABLE sync_results (
    origin VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    workspace VARCHAR NOT NULL,   -- empty: the stack as a whole
    synced_at VARCHAR NOT NULL,
    commit_id VARCHAR NOT NULL,
    outcome VARCHAR NOT NULL,
    exit_code INTEGER NOT NULL,
    fingerprint VARCHAR NOT NULL,
    counts TEXT NOT NULL,
    next_window VARCHAR NOT NULL,
    failing_since VARCHAR NOT NULL,
    last_good VARCHAR NOT NULL,
    run VARCHAR NOT NULL,
    decision VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    expect_every_s INTEGER NOT NULL, -- 0: not set
    PRIMARY KEY (origin, stack, workspace)
)""")

# The same: a row that is lost costs a message that comes twice.
TOLD = define_table("""
CREATE TABLE told (
    origin VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    channel VARCHAR NOT NULL,
    state_key VARCHAR NOT NULL,
    digest VARCHAR NOT NULL,
    told_at VARCHAR NOT NULL,
    failed_times INTEGER NOT NULL,
    last_error VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack, channel, state_key)
)""")

# What runs keep in a store that is shared. All of it can be made again, so it is part of no version, and the
# tables are made when something is kept first (shared_files.py).
KEPT = define_table("""
CREATE TABLE kept (
    origin VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    name VARCHAR NOT NULL,        -- a digest of what it is of
    seal VARCHAR NOT NULL,        -- as of a file of the cache: hexadecimal digits
    size INTEGER NOT NULL,        -- in bytes, unpacked
    kept_at VARCHAR NOT NULL,
    PRIMARY KEY (origin, stack, name)
)""")

KEPT_PARTS = define_table("""
CREATE TABLE kept_parts (
    origin VARCHAR NOT NULL,
    stack VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    part INTEGER NOT NULL,        -- its number, from 0
    digest VARCHAR NOT NULL,      -- of its bytes, unpacked
    data BYTEA NOT NULL,          -- packed by zlib
    PRIMARY KEY (origin, stack, name, part)
)""")

TABLES = (
    *(META, ENTITIES, WORKSPACES, LOCKS, RUNS, JOURNAL, AUDIT),
    *(PACES, SEALS, PROOFS, PLANS_USED, TICKETS, DELETED),
    *(UNDOS, PAUSES, QUESTIONS, ANSWERS, SYNC_RESULTS, TOLD),
)
