"""Damage to the files of a SQLite store, by a seed: what disks, backups, editors and database tools do."""

import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from random import Random

NAME = "store.db"
PAGE = 4096
_beside = ("-wal", "-shm")

TABLES = (
    *("meta", "entities", "workspaces", "locks", "runs", "journal", "audit", "seals"),
    *("pauses", "questions", "answers"),
)
_json_columns = (
    *(("entities", name) for name in ("sent", "shown", "earlier")),
    *(("runs", name) for name in ("plan", "consent", "context", "counts")),
    *(("questions", name) for name in ("counts", "codes", "wrong")),
    ("audit", "body"),
)
_values: tuple[object, ...] = (
    *("", "0", "x", "\0", "a\0b", "null", "[]", "{}", '"', "\U0010ffff", "\u202e", "9" * 5_000),
    *(0, 1, -1, 7, 2**31, 2**63 - 1, -(2**63), 1e308, float("inf"), 0.5),
    *(b"", b"\0", b"\xff\xfe", b"\xed\xa0\x80"),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-02-30T00:00:00+00:00", "9" * 40),
)
# What a text column keeps as text that is none: bytes of no character, halves of a surrogate pair.
_no_texts = ("ff", "c328", "eda080", "66ff66", "00ff")
_versions = ("", "0", "00", "1", "2", "-3", "3.0", "three", " 3", "3\n", "٣", "4", "5", "999", "9" * 5_000)
_broken_json = (
    "{",
    "[",
    '{"a":',
    '{"a":{}}',
    '{"a":1e999}',
    "[" * 5_000,
    '"\\ud800"',
    "NaN",
    '{"a":"\0"}',
    "[null]",
)

Damage = Callable[[Path, Random, Path], str]


def flip(folder: Path, rng: Random, older: Path) -> str:
    """Flip one to eight bits, anywhere in the files."""
    path = _file(folder, rng)
    data = bytearray(path.read_bytes())
    places = [rng.randrange(len(data)) for _ in range(rng.randint(1, 8))]
    for place in places:
        data[place] ^= 1 << rng.randrange(8)
    path.write_bytes(data)
    return f"{path.name} at {places}"


def flip_a_letter(folder: Path, rng: Random, older: Path) -> str:
    """Flip a bit within something that is a word, so that it is most likely another word."""
    path = _file(folder, rng)
    data = bytearray(path.read_bytes())
    words = [at for at in range(len(data)) if chr(data[at]).isalnum() and data[at] < 128] or [0]
    place = rng.choice(words)
    data[place] ^= 1 << rng.randrange(4)
    path.write_bytes(data)
    return f"{path.name} at {place}"


def truncate(folder: Path, rng: Random, older: Path) -> str:
    """Cut a file anywhere, also to nothing."""
    path = _file(folder, rng)
    size = rng.choice(
        [0, rng.randrange(path.stat().st_size), PAGE * rng.randrange(1 + path.stat().st_size // PAGE)]
    )
    with path.open("rb+") as file:
        file.truncate(size)
    return f"{path.name} to {size}"


def zero_a_page(folder: Path, rng: Random, older: Path) -> str:
    """Leave zeros where a page was, as a file system does that lost it."""
    return _overwrite(folder, rng, lambda: bytes(PAGE))


def scribble(folder: Path, rng: Random, older: Path) -> str:
    """Write random octets over a part of a page."""
    return _overwrite(folder, rng, lambda: rng.randbytes(rng.choice([1, 8, 64, 512, PAGE])))


def spoil_the_header(folder: Path, rng: Random, older: Path) -> str:
    """Change octets of the first hundred."""
    path = folder / NAME
    data = bytearray(path.read_bytes())
    places = [rng.randrange(min(100, len(data))) for _ in range(rng.randint(1, 4))]
    for place in places:
        data[place] = rng.randrange(256)
    path.write_bytes(data)
    return f"at {places}"


def put_back_a_page(folder: Path, rng: Random, older: Path) -> str:
    """Let a page be what it was some commits ago: a write that a disk acknowledged and lost."""
    path, old = folder / NAME, (older / NAME).read_bytes()
    data = bytearray(path.read_bytes())
    page = rng.randrange(min(len(data), len(old)) // PAGE)
    data[page * PAGE : (page + 1) * PAGE] = old[page * PAGE : (page + 1) * PAGE]
    path.write_bytes(data)
    return f"page {page}"


def mix_the_files(folder: Path, rng: Random, older: Path) -> str:
    """Lose, exchange or put back a file beside the database."""
    which = rng.choice(_beside)
    path, old = Path(f"{folder / NAME}{which}"), Path(f"{older / NAME}{which}")
    how = rng.choice(["lost", "older", "random", "exchanged", "both older"])
    if how == "lost":
        path.unlink(missing_ok=True)
    elif how == "random":
        path.write_bytes(rng.randbytes(rng.choice([1, 32, 5_000])))
    elif how == "exchanged":
        wal, shm = (Path(f"{folder / NAME}{end}") for end in _beside)
        contents = [one.read_bytes() if one.exists() else b"" for one in (shm, wal)]
        for one, content in zip((wal, shm), contents, strict=True):
            one.write_bytes(content)
    else:
        for end in _beside if how == "both older" else (which,):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{older / NAME}{end}", f"{folder / NAME}{end}")
    return f"{which} {how} ({old.exists()})"


def put_a_value(folder: Path, rng: Random, older: Path) -> str:
    """Put something into a column that does not belong there."""
    table = rng.choice(TABLES)
    with _tool(folder) as database:
        column = rng.choice(_columns(database, table))
        return _put(database, table, column, rng.choice(_values), rng)


def put_no_text(folder: Path, rng: Random, older: Path) -> str:
    """Put octets into a text column that are no text."""
    table = rng.choice(TABLES)
    with _tool(folder) as database:
        column, digits = rng.choice(_columns(database, table)), rng.choice(_no_texts)
        return _put(database, table, column, Octets(digits), rng)


def break_json(folder: Path, rng: Random, older: Path) -> str:
    """Break what has to be JSON."""
    table, column = rng.choice(_json_columns)
    with _tool(folder) as database:
        return _put(database, table, column, rng.choice(_broken_json), rng)


def change_a_value(folder: Path, rng: Random, older: Path) -> str:
    """Give a row the value of another one, or of no other: what parses, and is not what was written."""
    with _tool(folder) as database:
        filled = [one for one in TABLES if one != "meta" and _rows(database, one)]
        table = rng.choice(filled)
        column = rng.choice(_columns(database, table))
        row = rng.choice(database.execute(f"SELECT {column} FROM {table}").fetchall())[0]  # noqa: S608 - our names
        value = row + 1 if isinstance(row, int) else f"{row}1" if rng.random() < 0.5 else row[:-1]
        return _put(database, table, column, value, rng)


def lose_rows(folder: Path, rng: Random, older: Path) -> str:
    """Delete a row, or every row, of a table."""
    table = rng.choice(TABLES)
    with _tool(folder) as database:
        rows = _rows(database, table)
        some = rng.choice([rows, rows[:1], rows[-1:]])
        database.executemany(f"DELETE FROM {table} WHERE rowid = ?", [(row,) for row in some])  # noqa: S608 - our names
    return f"{len(some)} of {table}"


def alter_tables(folder: Path, rng: Random, older: Path) -> str:
    """Drop, rename, empty or change a table."""
    table = rng.choice(TABLES)
    with _tool(folder) as database:
        column = rng.choice(_columns(database, table))
        statement = rng.choice(
            [
                f"DROP TABLE {table}",
                f"ALTER TABLE {table} RENAME TO elsewhere",
                f"ALTER TABLE {table} RENAME COLUMN {column} TO elsewhere",
                f"ALTER TABLE {table} ADD COLUMN more TEXT",
                _emptied(table),
                f"DROP TABLE {table}; CREATE TABLE {table} (x)",
                f"DROP TABLE {table}; CREATE VIEW {table} AS SELECT 1 AS x",
            ]
        )
        database.executescript(statement)
    return statement


def spoil_the_version(folder: Path, rng: Random, older: Path) -> str:
    """Give the schema another version."""
    with _tool(folder) as database:
        version = rng.choice(_versions)
        database.execute("UPDATE meta SET value = ? WHERE key = 'version'", (version,))
    return repr(version[:20])


KINDS: Mapping[str, Damage] = {
    "bits flipped": flip,
    "a letter flipped": flip_a_letter,
    "a file cut": truncate,
    "a page of zeros": zero_a_page,
    "random octets": scribble,
    "the header": spoil_the_header,
    "an older page": put_back_a_page,
    "files beside it mixed": mix_the_files,
    "a wrong value": put_a_value,
    "a text that is none": put_no_text,
    "broken JSON": break_json,
    "another value": change_a_value,
    "rows lost": lose_rows,
    "tables altered": alter_tables,
    "another version": spoil_the_version,
}


class _tool:  # noqa: N801 - used like a function
    """Open the database as somebody with a database tool does."""

    def __init__(self, folder: Path) -> None:
        self._database = sqlite3.connect(folder / NAME)
        self._database.create_function("unhex_", 1, bytes.fromhex)

    def __enter__(self) -> sqlite3.Connection:
        return self._database

    def __exit__(self, *_: object) -> None:
        self._database.commit()
        self._database.close()


def _emptied(table: str) -> str:
    """The same columns, no key and no row."""
    return (
        f"CREATE TABLE copy AS SELECT * FROM {table} WHERE 0; DROP TABLE {table}; "  # noqa: S608 - our names
        f"ALTER TABLE copy RENAME TO {table}"
    )


def _file(folder: Path, rng: Random) -> Path:
    there = [one for one in sorted(folder.glob(f"{NAME}*")) if one.suffix != ".id" and one.stat().st_size]
    # The database itself as often as all that is beside it.
    return rng.choice([folder / NAME] * len(there) + there) if (folder / NAME).stat().st_size else there[0]


def _overwrite(folder: Path, rng: Random, octets: Callable[[], bytes]) -> str:
    path = _file(folder, rng)
    new = octets()
    size = path.stat().st_size
    at = PAGE * rng.randrange(max(1, size // PAGE)) + (rng.randrange(PAGE) if len(new) < PAGE else 0)
    data = bytearray(path.read_bytes())
    data[at : at + len(new)] = new
    path.write_bytes(data[:size])
    return f"{path.name} at {at}, {len(new)}"


def _rows(database: sqlite3.Connection, table: str) -> list[int]:
    return [row[0] for row in database.execute(f"SELECT rowid FROM {table}")]  # noqa: S608 - our names


def _columns(database: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in database.execute(f"PRAGMA table_info({table})")]


class Octets(str):
    """Hexadecimal digits of octets that go into the database as a text."""

    __slots__ = ()


def _put(database: sqlite3.Connection, table: str, column: str, value: object, rng: Random) -> str:
    word = "CAST(unhex_(?) AS TEXT)" if isinstance(value, Octets) else "?"
    rows = _rows(database, table)
    some = rng.choice([rows, rng.sample(rows, min(1, len(rows)))])
    for row in some:
        with suppress(sqlite3.IntegrityError):  # a key that is there already: the other rows have it then
            database.execute(f"UPDATE {table} SET {column} = {word} WHERE rowid = ?", (value, row))  # noqa: S608 - our names
    return f"{table}.{column} = {value!r:.40} in {len(some)} rows"


def copied(source: Path, folder: Path) -> None:
    """Put a copy of a store with its marker and what is beside it into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in source.glob(f"{NAME}*"):
        shutil.copyfile(one, folder / one.name)


def settled(folder: Path) -> None:
    """Bring everything into the one file, so that nothing is beside it."""
    with closing(sqlite3.connect(folder / NAME)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
