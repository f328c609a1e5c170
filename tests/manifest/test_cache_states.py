"""Whatever state a cache is in: manifests mean what they mean, nothing fails, and it is whole afterwards."""

import errno
import os
import shutil
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest
from manifest.cached_project import KeptProject
from msgspec import structs

from reconciler.core.entity_table import PlainRows
from reconciler.manifest.cache import CACHE_MAGIC, CachedPart, ManifestCache, decode_part, encode_part
from reconciler.ownership import Folder

State = Callable[[KeptProject, Random], None]
SEEDS = 40
OTHERS = (0o604, 0o640, 0o602, 0o620, 0o660, 0o666, 0o606, 0o777, 0o670, 0o400, 0o000)


def _one(project: KeptProject, chance: Random) -> Path:
    return chance.choice(project.entries)


def _bits(project: KeptProject, chance: Random) -> None:
    entry = _one(project, chance)
    data = bytearray(entry.read_bytes())
    for _ in range(chance.choice((1, 1, 1, 8))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    entry.write_bytes(data)


def _cut(project: KeptProject, chance: Random) -> None:
    entry = _one(project, chance)
    entry.write_bytes(entry.read_bytes()[: chance.choice((0, 1, 18, 19, 50, 51, 52, 100, 200))])


def _longer(project: KeptProject, chance: Random) -> None:
    with _one(project, chance).open("ab") as file:
        file.write(chance.randbytes(chance.randrange(1, 50)))


def _noise(project: KeptProject, chance: Random) -> None:
    _one(project, chance).write_bytes(CACHE_MAGIC + chance.randbytes(chance.randrange(2000)))


def _swapped(project: KeptProject, chance: Random) -> None:
    one, other = chance.sample(project.entries, 2)
    data = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(data)


def _mode(mode: int) -> State:
    def state(project: KeptProject, chance: Random) -> None:
        _forged(project, chance)
        _one(project, chance).chmod(mode)

    return state


def _forged(project: KeptProject, _chance: Random) -> None:
    """Every entry says something else, and is sealed with another key: that of somebody else's home."""
    for name in ("a.yaml", "b.yaml", "c.yaml"):
        purpose = _purpose_of(project, name)
        entry = project.cache / project.kept()._entry_name(f"manifests/{name}")
        kept = decode_part(entry.read_bytes(), key=project.key.read_bytes(), purpose=purpose)
        assert kept is not None
        entry.write_bytes(b"".join(encode_part(_another(kept), key=b"k" * 32, purpose=purpose)))


def _purpose_of(project: KeptProject, name: str) -> bytes:
    return project.kept()._entry_purpose(f"manifests/{name}")


def _another(kept: CachedPart) -> CachedPart:
    entities = {
        one.address: structs.replace(one, fields={**one.fields, "jobTitle": "forged"})
        for one in kept.part.entities.entities()
    }
    return CachedPart(structs.replace(kept.part, entities=PlainRows(entities)), kept.rosters, kept.digest)


def _link(project: KeptProject, chance: Random) -> None:
    entry = _one(project, chance)
    aside = project.root / "aside"
    entry.rename(aside)
    entry.symlink_to(aside)


def _link_nowhere(project: KeptProject, chance: Random) -> None:
    entry = _one(project, chance)
    entry.unlink()
    entry.symlink_to(project.root / "nothing")


def _folder(project: KeptProject, chance: Random) -> None:
    entry = _one(project, chance)
    entry.unlink()
    entry.mkdir()


def _pipe(project: KeptProject, chance: Random) -> None:
    entry = _one(project, chance)
    entry.unlink()
    os.mkfifo(entry)


def _gone(project: KeptProject, chance: Random) -> None:
    _one(project, chance).unlink()


def _all_gone(project: KeptProject, _chance: Random) -> None:
    shutil.rmtree(project.cache)


def _cache_is_a_file(project: KeptProject, _chance: Random) -> None:
    shutil.rmtree(project.cache)
    project.cache.write_text("")


def _cache_is_a_link(project: KeptProject, _chance: Random) -> None:
    aside = project.root / "aside"
    project.cache.rename(aside)
    project.cache.symlink_to(aside)


def _all_is_a_link(project: KeptProject, _chance: Random) -> None:
    aside = project.root / "aside"
    project.cache.parent.rename(aside)
    project.cache.parent.symlink_to(aside)


def _writable_folder(mode: int) -> State:
    return lambda project, _chance: project.cache.chmod(mode)


def _foreign(project: KeptProject, chance: Random) -> None:
    if os.geteuid() == 0:
        os.chown(_one(project, chance), 12345, 12345)


def _foreign_folder(project: KeptProject, _chance: Random) -> None:
    if os.geteuid() == 0:
        os.chown(project.cache, 12345, 12345)


def _no_key(project: KeptProject, _chance: Random) -> None:
    project.key.unlink()


def _key(data: bytes, mode: int = 0o600) -> State:
    def state(project: KeptProject, _chance: Random) -> None:
        project.key.unlink()
        project.key.write_bytes(data)
        project.key.chmod(mode)

    return state


def _key_for_others(project: KeptProject, _chance: Random) -> None:
    project.key.chmod(0o640)


def _key_is_a_link(project: KeptProject, _chance: Random) -> None:
    aside = project.home / "aside"
    project.key.rename(aside)
    project.key.symlink_to(aside)


def _no_home(project: KeptProject, _chance: Random) -> None:
    project.environ["HOME"] = "/nonexistent/home"


def _other_home(name: str, home: str) -> State:
    def state(project: KeptProject, _chance: Random) -> None:
        project.environ[name] = home

    return state


def _old_files(project: KeptProject, _chance: Random) -> None:
    for name in ("f" * 64 + ".part", "." + "e" * 64 + ".part.0123456789abcdef", "notes.txt"):
        path = project.cache / name
        path.write_bytes(b"")
        os.utime(path, (0, 0))


STATES: dict[str, State] = {
    **{f"bits flipped {seed}": _bits for seed in range(SEEDS)},
    **{f"cut {seed}": _cut for seed in range(20)},
    **{f"bytes behind it {seed}": _longer for seed in range(10)},
    **{f"noise {seed}": _noise for seed in range(15)},
    **{f"under another name {seed}": _swapped for seed in range(10)},
    **{f"forged {seed}": _forged for seed in range(3)},
    **{f"with the mode {mode:o}": _mode(mode) for mode in OTHERS},
    **{f"a link {seed}": _link for seed in range(3)},
    **{f"a link to nothing {seed}": _link_nowhere for seed in range(3)},
    **{f"a folder in its place {seed}": _folder for seed in range(3)},
    **{f"a pipe {seed}": _pipe for seed in range(3)},
    **{f"gone {seed}": _gone for seed in range(3)},
    **{f"of somebody else {seed}": _foreign for seed in range(3)},
    **{
        f"in a folder {mode:o}": _writable_folder(mode) for mode in (0o770, 0o707, 0o777, 0o720, 0o755, 0o500)
    },
    **{f"a key of {size} bytes": _key(b"k" * size) for size in (0, 1, 31, 32, 33, 4096)},
    "in a folder of somebody else": _foreign_folder,
    "no folder": _all_gone,
    "a file for a folder": _cache_is_a_file,
    "a folder that is a link": _cache_is_a_link,
    "a project folder that is a link": _all_is_a_link,
    "no key": _no_key,
    "a key that others may read": _key_for_others,
    "a key that is a link": _key_is_a_link,
    "no home": _no_home,
    "an empty home": _other_home("HOME", ""),
    "a home beside us": _other_home("HOME", "home"),
    "a home that is a file": _other_home("HOME", "/dev/null"),
    "a home with a NUL": _other_home("HOME", "/a\0b"),
    "another state folder": _other_home("XDG_STATE_HOME", "/nonexistent/state"),
    "old files": _old_files,
}

PERSON = """version: 1
workspace: ops
contacts:
  NAME-doe:
    workEmailAddress1: NAME.doe@example.com
    jobTitle: 4,91512E+11
"""


@pytest.fixture
def project(tmp_path: Path) -> KeptProject:
    """Three files and a roster, all of them kept."""
    project = KeptProject(tmp_path)
    project.write("a.yaml", PERSON.replace("NAME", "jane"))
    project.write("b.yaml", PERSON.replace("NAME", "juan"))
    project.write("people.csv", "Id,Mail\nx1,x1@example.com\nx2,x2@example.com\n")
    roster = '  - {file: people.csv, name: "{Id}", contacts: {workEmailAddress1: "{Mail}"}}\n'
    project.write("c.yaml", f"version: 1\nworkspace: ops\nrosters:\n{roster}")
    project.through()
    assert len(project.entries) == 3
    return project


def test_there_are_enough_states() -> None:
    """The number that the cache was promised with."""
    assert len(STATES) >= 150


@pytest.mark.parametrize("name", STATES)
def test_no_state_of_a_cache_changes_what_manifests_mean(name: str, project: KeptProject) -> None:
    """It is read beside reviewed files by every plan: it may spare their parser, and nothing else."""
    fresh = project.fresh()
    STATES[name](project, Random(name))

    assert project.through() == fresh
    assert project.through() == fresh


@pytest.mark.parametrize("name", STATES)
def test_no_state_of_a_cache_changes_what_edited_manifests_mean(name: str, project: KeptProject) -> None:
    """Then what is kept of a file is looked at though the file is another: the rest of its entries stays."""
    STATES[name](project, Random(name))
    project.write(
        "a.yaml", PERSON.replace("NAME", "joan") + PERSON.replace("NAME", "jane").split("contacts:\n")[1]
    )
    project.write("people.csv", "Id,Mail\nx1,x1@example.com\nx3,x3@example.com\n")
    fresh = project.fresh()

    assert project.through() == fresh
    assert project.through() == fresh


@pytest.mark.parametrize(
    "name", ["bits flipped 1", "cut 1", "noise 1", "forged 1", "a link 1", "no key", "gone 1"]
)
def test_what_is_damaged_is_made_anew(name: str, project: KeptProject) -> None:
    """One flipped bit must not make every later plan slow."""
    STATES[name](project, Random(name))
    project.through()

    found = project.kept().load()

    assert found is not None
    assert found.reread == 0
    assert not any(entry.is_symlink() for entry in project.entries)


def test_nothing_is_written_through_a_link(project: KeptProject) -> None:
    """What a link points to belongs to somebody else."""
    entry = project.entries[0]
    target = project.root / "target"
    target.write_text("kept as it is")
    entry.unlink()
    entry.symlink_to(target)

    project.through()

    assert target.read_text() == "kept as it is"


def test_an_entry_of_another_version_is_not_read(project: KeptProject) -> None:
    """Another version may read the same bytes as something else."""
    other = ManifestCache(project.settings, project.environ, least=0, version="another")

    assert other.load() is None
    assert project.kept().load() is not None
    assert project.through(other) == project.fresh()
    assert project.kept().load() is None


@pytest.mark.parametrize("mode", [0o602, 0o620, 0o660, 0o666, 0o622, 0o604, 0o640])
def test_an_entry_that_others_may_read_or_write_is_made_anew(mode: int, project: KeptProject) -> None:
    """Its seal would do; but such a file came from elsewhere, and shows people's data to others."""
    project.entries[0].chmod(mode)

    found = project.kept().load()

    assert found is not None
    assert found.reread == 1
    assert {path.stat().st_mode & 0o777 for path in project.entries} == {0o600}


def _failing(code: int, after: int) -> Callable[[int, memoryview], int]:
    left = [after]

    def write(handle: int, data: memoryview) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(code, os.strerror(code))
        return os.write(handle, data[:10])

    return write


@pytest.mark.parametrize("after", [0, 1, 5])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EFBIG])
def test_a_disk_that_takes_nothing_is_no_error(code: int, after: int, project: KeptProject) -> None:
    """A cache is a convenience: a full disk must not keep anybody from a plan, nor leave half a file."""
    fresh = project.fresh()
    shutil.rmtree(project.cache)
    cache = project.kept()
    cache._folder = Folder(project.root, (".reconciler", "cache"), write=_failing(code, after))

    assert project.through(cache) == fresh
    assert list(project.cache.iterdir()) == []


def test_several_processes_may_write_at_once(project: KeptProject) -> None:
    """Every entry has a name only when it is whole, and the last one counts."""
    fresh = project.fresh()
    shutil.rmtree(project.cache)
    project.key.unlink()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: project.through(), range(24)))

    assert found == [fresh] * 24
    last = project.kept().load()
    assert last is not None
    assert last.reread == 0
    assert not [path for path in project.cache.iterdir() if path.name.startswith(".")]


def test_what_nobody_uses_is_removed_after_a_month(project: KeptProject) -> None:
    """Settings and names of files change; what was kept for the old ones goes, and nothing else does."""
    _old_files(project, Random(0))
    project.write("a.yaml", PERSON.replace("NAME", "joan"))

    project.through()

    assert [path.name for path in project.cache.iterdir() if path.stat().st_size == 0] == ["notes.txt"]


def test_the_key_is_made_once_and_for_us_alone(project: KeptProject) -> None:
    """It is the only thing that tells our entries from those in a folder that came from elsewhere."""
    key = project.key.read_bytes()
    project.write("a.yaml", PERSON.replace("NAME", "joan"))
    project.through()

    assert project.key.read_bytes() == key
    assert len(key) == 32
    assert stat.S_IMODE(project.key.stat().st_mode) == 0o600
