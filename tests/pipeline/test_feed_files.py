"""What is kept of lists is believed only just as it was written, by this program, for exactly this."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
import tally
from msgspec import structs
from pipeline.test_feed import CONTACTS, by_scan, crowd, edit, kept, read_of
from world import World

from reconciler.core.feed import RememberedList, _PackedList, pack_list
from reconciler.core.feed_rows import FeedRows
from reconciler.engine.lists import ListCacheRequest, RowCache
from reconciler.engine.resources import open_run_store
from reconciler.model.secrets import Secret
from reconciler.private_cache import ListCache

_SEAL = 32  # octets before what was kept


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A project whose list is remembered, and was edited since."""
    made = crowd(tmp_path_factory.mktemp("project"))
    edit(made, 3, 150)
    return made


def salt_of(world: World) -> str:
    return world.run(_salt(world))


async def _salt(world: World) -> str:
    async with open_run_store(world.settings, world.dependencies, create=False) as store:
        return store.salt


def recalled(world: World, asked: ListCacheRequest, **changes: Any) -> RememberedList | None:
    """Return what these settings would believe of the file."""
    settings = structs.replace(world.settings, **changes)
    lists = RowCache(settings, world.dependencies, salt_of(world), world.clock())
    return asyncio.run(lists.recall(asked)).known


def unpacked(data: bytes) -> tuple[tuple[str, ...], RememberedList]:
    """Return what a whole file says that it is of, and its list."""
    content = memoryview(data)[_SEAL:]
    end = 8 + int.from_bytes(content[:8])
    head = msgspec.msgpack.decode(content[8:end], type=_PackedList)
    rows = FeedRows(head.columns, content[end:])
    return head.key[:-1], RememberedList(rows, head.settled, head.step, head.completed, head.caught)


def asked_of(data: bytes) -> ListCacheRequest:
    """Return what the list was asked for that a whole file holds."""
    told, _ = unpacked(data)
    return ListCacheRequest(CONTACTS, "", told[-_fields(told) :])


def _fields(told: tuple[str, ...]) -> int:
    return len(told) - 7


def damaged(data: bytes) -> Iterator[bytes]:
    """Yield the file flipped, cut, longer, and in other ways not what was written."""
    chance = Random(7)
    for _ in range(80):
        at = chance.randrange(len(data))
        yield data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
    for _ in range(30):
        yield data[: chance.randrange(len(data))]
    yield from (data + b"\0", data[1:], data[_SEAL:], bytes(_SEAL) + data[_SEAL:], b"", b"null", data + data)
    yield from (data[:_SEAL], data[:_SEAL] + b"\x92\x90\x90", data[:_SEAL][::-1] + data[_SEAL:])


def resealed(data: bytes) -> Iterator[bytes]:
    """Yield what an older or another program with this store's salt may have left under this very name."""
    told, known = unpacked(data)
    others = [(*told[:at], "other", *told[at + 1 :]) for at in range(len(told))]
    others += [told[:-1], told[1:], (*told, "jobTitle"), told[::-1], (), (*told[:-1], told[-1].upper())]
    for other in others:
        yield b"".join(pack_list(known, other))
    content = data[_SEAL:]
    end = 8 + int.from_bytes(content[:8])
    key, columns, *rest = msgspec.msgpack.decode(content[8:end])
    foreign = "big" if key[-1] == "little" else "little"
    shapes: list[Any] = [None, [], {}, "", 0, [key], [key, []], [[1], columns, *rest], [key, columns, "soon"]]
    shapes.append([[*key[:-1], foreign], columns, *rest])  # written on a machine with another byte order
    for at, column in enumerate(columns):
        shorter = column[:-1]
        shapes.append([key, [*columns[:at], shorter, *columns[at + 1 :]], *rest])
        shapes.append([key, columns[:at] + columns[at + 1 :], *rest])
    for shape in shapes:
        head = msgspec.msgpack.encode(shape)
        yield len(head).to_bytes(8) + head + content[end:]
    yield from (content[:8], content[: end - 1], (2**63).to_bytes(8) + content[8:], content[8:])


def test_no_damage_to_the_file_is_believed(world: World) -> None:
    """Bits flipped, cut, added: it was not remembered, and the list is scanned."""
    file, whole = kept(world), kept(world).read_bytes()
    asked = asked_of(whole)
    assert recalled(world, asked) is not None
    try:
        for number, data in enumerate(damaged(whole)):
            file.write_bytes(data)
            assert recalled(world, asked) is None, number
            tally.count("feeds", "hostile states of a file")
    finally:
        file.write_bytes(whole)


def test_what_was_kept_for_anything_else_is_not_believed(world: World) -> None:
    """Another version, stack, workspace, scope, profile, set of fields; a form that nobody knows."""
    file, whole = kept(world), kept(world).read_bytes()
    asked, files = asked_of(whole), ListCache(Path(world.settings.root), salt_of(world))
    name = unpacked(whole)[0][2]
    try:
        for number, data in enumerate(resealed(whole)):
            files.write(name, (data,))
            assert recalled(world, asked) is None, number
            tally.count("feeds", "hostile states of a file")
        file.write_bytes(whole)
        service = world.settings.service
        auth = structs.replace(service.auth, username=Secret("somebody"))
        for changes in (
            {"stack": "other"},
            {"service": structs.replace(service, base_url="http://127.0.0.1:8481")},
            {"service": structs.replace(service, base_url=f"{service.base_url}/v2")},
            {"service": structs.replace(service, format="xml")},
            {"service": structs.replace(service, profile="whispir")},
            {"service": structs.replace(service, auth=auth)},
        ):
            assert recalled(world, asked, **changes) is None, changes
            tally.count("feeds", "hostile states of a file")
        for other in (
            structs.replace(asked, workspace="AB12"),
            structs.replace(asked, fields=asked.fields[1:]),
            structs.replace(asked, scope=structs.replace(asked.scope, workspace="lab")),
        ):
            assert recalled(world, other) is None, other
            tally.count("feeds", "hostile states of a file")
    finally:
        file.write_bytes(whole)


def swapped(file: Path, _whole: bytes) -> None:
    file.unlink()
    file.symlink_to("/dev/zero")


def a_folder(file: Path, _whole: bytes) -> None:
    file.unlink()
    file.mkdir()


def a_pipe(file: Path, _whole: bytes) -> None:
    file.unlink()
    os.mkfifo(file)


def a_link_to_itself_elsewhere(file: Path, whole: bytes) -> None:
    other = file.parent / "other"
    other.write_bytes(whole)
    file.unlink()
    file.symlink_to(other)


def the_folder_a_link(file: Path, _whole: bytes) -> None:
    moved = file.parent.parent / "elsewhere"
    file.parent.rename(moved)
    file.parent.symlink_to(moved)


def flipped(file: Path, whole: bytes) -> None:
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))


def cut(file: Path, whole: bytes) -> None:
    file.write_bytes(whole[: len(whole) // 2])


@pytest.mark.parametrize(
    "hurt",
    [swapped, a_folder, a_pipe, a_link_to_itself_elsewhere, the_folder_a_link, flipped, cut],
)
def test_a_plan_is_the_same_whatever_stands_in_the_place_of_the_file(tmp_path: Path, hurt: Any) -> None:
    """Never an error, never another plan; no link is followed, and nothing is waited for."""
    world = crowd(tmp_path)
    edit(world, 3, 150)
    scanned = by_scan(world)
    file = kept(world)
    hurt(file, file.read_bytes())

    found, read = read_of(world)

    assert (read.how, found) == ("scan", scanned)
    assert read_of(world)[0] == scanned
    tally.count("feeds", "hostile states of a file")


def test_what_a_killed_process_left_half_written_goes_with_the_next_list(tmp_path: Path) -> None:
    """It has people's data in it, and nobody would ever read it again."""
    world = crowd(tmp_path)
    file = kept(world)
    left = file.with_suffix(".1.part")
    left.write_bytes(file.read_bytes()[:100])
    edit(world, 3)

    assert read_of(world)[1].how == "feed"
    assert [*file.parent.iterdir()] == [file]
