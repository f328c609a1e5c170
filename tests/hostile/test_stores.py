"""Stores that are damaged, foreign, or newer than we are: a StoreError that says what to do, or the truth."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import tally
from hostile import corpora
from hostile.corpora import Case
from store.support import JANE, SAM, WORKSPACES, record, store_at

from reconciler.errors import ReconcilerError, SettingsError, StoreError


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two people in it, closed, all of it in its one file."""
    path = tmp_path_factory.mktemp("good") / "store.db"
    make(path)
    return path


def make(path: Path) -> None:
    """Write that store."""
    with store_at(path) as store:
        store.remember([record(JANE), record(SAM, note="canary")], WORKSPACES)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def read(place: Path | str, *, create: bool) -> str:
    """What opening and reading the store ends with."""
    try:
        with store_at(place, create=create) as store:
            found = store.recorded(WORKSPACES)
            store.history()
            store.unfinished()
            store.holder()
            return f"value: {len(found.entities)} recorded"
    except (StoreError, SettingsError) as error:
        line = corpora.told(error)
        require_silent(line, error)
        return line


def require_silent(line: str, error: ReconcilerError) -> None:
    """An error tells no value of a row and no password."""
    assert "canary" not in f"{line} {error.next}"


def said(case: Case, folder: Path) -> str:
    """What reading ends with after this was done to a good store: SQL, a whole content, or another URL."""
    path = folder / "store.db"
    match case.raw:
        case {"url": url}:
            return corpora.placed(read(url.replace("/HERE", str(folder)), create=False), folder)
        case {"content": content}:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        case {"sql": statements}:
            make(path)
            with closing(sqlite3.connect(path)) as connection:
                connection.executescript(statements)
                connection.commit()
        case {"beside": name, "holds": content}:
            make(path)
            Path(f"{path}{name}").write_bytes(content if isinstance(content, bytes) else content.encode())
    before = path.read_bytes()
    line = corpora.placed(read(path, create=False), folder)
    if line.startswith(("StoreError", "CorruptRecord")):
        assert path.read_bytes() == before
    return line


@corpora.each("stores")
def test_every_store_meets_its_line(case: Case, tmp_path: Path) -> None:
    """What cannot be trusted stops everything, and is left as it is for whoever looks at it."""
    corpora.claim(case, "stores", lambda: said(case, tmp_path))


def _ended(folder: Path, data: bytes) -> str:
    path = folder / "store.db"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path.write_bytes(data)
    line = read(path, create=False)
    read(path, create=True)
    return line


def test_a_store_cut_anywhere_is_an_error_or_whole(good: Path, tmp_path: Path) -> None:
    """A disk that was full, a copy that was stopped: never fewer people than there were."""
    whole = good.read_bytes()
    cuts = sorted({*range(0, 512, 64), *range(512, len(whole), 1024)})
    for cut in cuts:
        line = _ended(tmp_path / "cut", whole[:cut])
        assert line.startswith(("StoreError: ", "CorruptRecord: ", "value: 2 ")) or cut == 0, (cut, line)
    tally.count("bad inputs", "stores", len(cuts))


def test_a_flipped_bit_is_an_error_or_a_value_and_never_a_traceback(good: Path, tmp_path: Path) -> None:
    """Nothing says that a value is wrong which a disk has changed; but nothing of ours breaks over it."""
    whole = bytearray(good.read_bytes())
    marks = [at for word in (b"Jane", b"contact/", b"shown", b"version", b"salt", b"CREATE", b"00AB")
             for at in _all(bytes(whole), word)][:60]  # fmt: skip
    places = [*range(0, 100, 3), *marks]
    for at in places:
        flipped = bytearray(whole)
        flipped[at] ^= 0x10
        line = _ended(tmp_path / "bit", bytes(flipped))
        assert line.startswith(("StoreError: ", "CorruptRecord: ", "value: ")), (at, line)
    tally.count("bad inputs", "stores", len(places))


def _all(data: bytes, word: bytes) -> list[int]:
    found = []
    at = data.find(word)
    while at >= 0:
        found.append(at)
        at = data.find(word, at + 1)
    return found
