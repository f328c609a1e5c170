"""Plan files that were changed, on the way or by somebody, and plans whose ground has moved: all refused.

Three kinds. A file whose bytes were changed is refused when it is read. A file that was changed by
somebody who knows how to seal it again passes that, and is refused by the fresh plan, before any
write. A file that is whole is refused when anything has moved that it speaks of. Each is one way of
changing, tried many times; each try ends with exactly nothing written.
"""

import json
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import effort
import pytest
import tally
from hostile.plan_worlds import Stage, staged, undo_staged
from msgspec import structs
from pyrage import encrypt, x25519
from report import cases
from sealing import reseal, resealed

from reconciler.core.planning.fingerprint import fingerprint
from reconciler.core.review.saved_plans import seal_plan
from reconciler.errors import ReconcilerError
from reconciler.files.plan_file import read_plan
from reconciler.model.plans import Plan
from reconciler.version import __version__

REFUSED, ACCEPTED = "mutated plans refused", "mutated plans accepted"
STEP = effort.count(small=6, full=1)  # one in so many edits of a value is tried
SAYS_NO = {3, 5, 7}  # the exit codes that a plan may be refused with

Change = tuple[str, bytes]


def judged(stage: Stage, name: str, data: bytes) -> None:
    """Try to carry this file out, count how it ended, and claim that nothing was written."""
    stage.path.write_bytes(data)
    error = refusal(stage)
    tally.count(ACCEPTED, name, 0 if error else 1)
    assert error is not None, f"{name}: accepted"
    assert error.exit_code in SAYS_NO, f"{name}: {error}"
    assert error.next, name
    assert stage.writes() == 0, name
    tally.count(REFUSED, name)


def refusal(stage: Stage) -> ReconcilerError | None:
    """Return why the file is not carried out; None: it was."""
    try:
        stage.carry_out(read_plan(stage.path))
    except ReconcilerError as error:
        return error
    return None


def not_read(path: Path, name: str, data: bytes) -> None:
    """Claim that this file is refused while it is read, before anybody is asked anything."""
    path.write_bytes(data)
    with pytest.raises(ReconcilerError) as caught:
        read_plan(path)
    assert caught.value.exit_code in SAYS_NO, name
    assert caught.value.next, name
    tally.count(REFUSED, name)
    tally.count(ACCEPTED, name, 0)


def spread(length: int, count: int) -> list[int]:
    """Return this many places all over a file, its first and last byte among them."""
    return sorted({at * (length - 1) // (count - 1) for at in range(count)})


def bytes_changed(data: bytes, chance: random.Random) -> Iterator[Change]:
    """Yield what goes wrong on a way, and what a careless editor does."""
    for at in spread(len(data), effort.count(small=20, full=130)):
        yield "one bit flipped", data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
    for at in spread(len(data), effort.count(small=12, full=80)):
        yield "some bytes lost", data[:at] + data[at + chance.randint(1, 40) :]
        other = bytes(chance.choices(b' \n{}[]",:0aZ\x00\xc3\xff', k=chance.randint(1, 3)))
        yield "some bytes more", data[:at] + other + data[at:]
    for at in spread(len(data), effort.count(small=12, full=60))[:-1]:
        yield "cut short", data[:at]
    lines = data.splitlines(keepends=True)
    for at in spread(len(lines) - 1, effort.count(small=15, full=40)):
        if lines[at] != lines[at + 1]:
            yield "two lines swapped", b"".join([*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]])
        yield "a line twice", b"".join([*lines[: at + 1], *lines[at:]])
        yield "space at a line's end", b"".join([*lines[:at], lines[at][:-1] + b" \n", *lines[at + 1 :]])


def fields_changed(data: bytes) -> Iterator[Change]:
    """Yield the file with one field more, one less, and others in their place."""
    document = json.loads(data)
    names = list(document)

    def text(value: object) -> bytes:
        return json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"

    for at, name in enumerate(names):
        yield "a field less", text({key: value for key, value in document.items() if key != name})
        yield (
            "a field under another name",
            text({f"{k}x" if k == name else k: v for k, v in document.items()}),
        )
        yield "a field more", text({**document, f"{name}_2": document[name]})
        yield (
            "a field twice",
            data.replace(f'"{name}":'.encode(), f'"{name}": null,\n  "{name}":'.encode(), 1),
        )
        if at:
            order = [*names[: at - 1], name, names[at - 1], *names[at + 1 :]]
            yield "two fields swapped", text({key: document[key] for key in order})
    for _, edited in edited_values(document):
        yield "a value edited", text(edited)


class Spot(NamedTuple):
    """One place of a document: what holds it, its key there, and the part of the document it is in."""

    document: Any
    node: Any
    key: Any
    part: str


def places_of(document: dict[str, Any]) -> list[Spot]:
    """Return every place of a document, of whatever depth."""
    found: list[Spot] = []
    pending: list[tuple[Any, str]] = [(document, "")]
    while pending:
        node, part = pending.pop()
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            spot = Spot(document, node, key, part or str(key))
            found.append(spot)
            if isinstance(node[key], dict | list):
                pending.append((node[key], spot.part))
    return found


def edited_values(document: dict[str, Any]) -> Iterator[tuple[Spot, Any]]:
    """Yield every place with each of its other documents; a quick run takes one in three."""
    every = ((spot, edited) for spot in places_of(document) for edited in other_values(spot))
    return islice(every, None, None, STEP)


def other_values(spot: Spot) -> Iterator[Any]:
    """Yield the document with something else at the place: edited, left out, doubled, put elsewhere."""
    document, node, key, _ = spot
    before = node[key]
    for value in _others(before):
        node[key] = value
        yield json.loads(json.dumps(document))
    node[key] = before
    if isinstance(node, list):
        for other in (node[:key] + node[key + 1 :], [*node, before], node[::-1]):
            if other != node:
                whole, node[:] = list(node), other
                yield json.loads(json.dumps(document))
                node[:] = whole


def _others(value: Any) -> Iterator[Any]:
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, value + 1_000)
        case str():
            yield from (f"{value}x", value[:-1] if value else "y", value.swapcase() if value else " ")
        case None:
            yield "x"


# Part one: bytes.


@pytest.mark.parametrize("number", range(3))
def test_no_changed_byte_passes(number: int, tmp_path: Path) -> None:
    """Every kind of damage, at places all over plans of three kinds: the file alone says no."""
    plan = (staged(tmp_path).plan, undo_staged(tmp_path).plan, cases.MIXED)[number]
    data = resealed(plan)
    for name, changed in (*bytes_changed(data, random.Random(number)), *fields_changed(data)):
        if changed != data:
            not_read(tmp_path / "changed.json", name, changed)


def test_no_changed_byte_of_an_encrypted_file_passes(tmp_path: Path) -> None:
    """Header, keys and content are authenticated; what is inside is sealed besides."""
    identity = x25519.Identity.generate()
    (tmp_path / "key").touch(0o600)
    (tmp_path / "key").write_text(f"{identity}\n")
    whole = encrypt(resealed(cases.MIXED), [identity.to_public()])

    for at in spread(len(whole), effort.count(small=30, full=200)):
        (tmp_path / "plan.age").write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises(ReconcilerError) as caught:
            read_plan(tmp_path / "plan.age", identity=str(tmp_path / "key"))
        assert caught.value.exit_code == 3
        tally.count(REFUSED, "one bit of an encrypted file flipped")
        tally.count(ACCEPTED, "one bit of an encrypted file flipped", 0)


@pytest.mark.parametrize("version", ["0.0.9", "9.0.0", f"{__version__}x", f"{__version__} "])
def test_another_version_of_the_program_is_refused(version: str, tmp_path: Path) -> None:
    """Whole, sealed, and made by a program that may plan otherwise."""
    for plan in (cases.MIXED, cases.LONG, cases.EMPTY):
        not_read(tmp_path / "plan.json", "another version of the program", resealed(plan, program=version))


def test_a_fingerprint_of_something_else_is_refused(tmp_path: Path) -> None:
    """Sealed around a fingerprint that was left as it was, or taken from another plan."""
    others = (cases.LONG, cases.EMPTY, cases.WIDE, cases.LATER)
    for other in others:
        stolen = structs.replace(cases.MIXED, fingerprint=fingerprint(other))
        not_read(tmp_path / "plan.json", "another plan's fingerprint", seal_plan(stolen, __version__))
    for field in ("salt", "manifest_digest"):
        edited = structs.replace(cases.MIXED, fingerprint=fingerprint(cases.MIXED), **{field: "f" * 64})
        not_read(tmp_path / "plan.json", "another plan's fingerprint", seal_plan(edited, __version__))


# Part two: sealed again by somebody who knows how.

NOT_A_CLAIM = {"seal", "fingerprint", "program", "created_at", "expires_at", "unmanaged"}


def edits(plan: Plan) -> Iterator[Change]:
    """Yield the plan with every value in it edited, once or more, and sealed again."""
    document = json.loads(resealed(plan))
    for spot, edited in edited_values(document):
        if spot.node is document and spot.key in NOT_A_CLAIM:
            continue
        data = reseal(edited)
        if data is None:
            yield "sealed again, and no plan any more", json.dumps(edited).encode()
        elif data != resealed(plan):
            yield f"sealed again: {spot.part}", data


def test_no_plan_that_was_edited_and_sealed_again_is_carried_out(tmp_path: Path) -> None:
    """Whatever it would do otherwise, and whatever it only shows otherwise: a place, a count, a reason."""
    stage = staged(tmp_path)
    for name, data in edits(stage.plan):
        judged(stage, name, data)

    assert stage.accepts(stage.plan), (
        "the plan as it was is carried out: the refusals above were of the edits"
    )


def test_no_undo_that_was_edited_and_sealed_again_is_carried_out(tmp_path: Path) -> None:
    """Nothing is planned afresh for it: the store's key says no, also to its times."""
    stage = undo_staged(tmp_path)
    for name, data in edits(stage.plan):
        judged(stage, f"undo {name}", data)
    for field in ("created_at", "expires_at"):
        for hours in range(1, 20):
            data = resealed(stage.plan, **{field: f"2026-03-02T{hours:02d}:00:00+00:00"})
            judged(stage, "undo sealed again: times", data)

    assert stage.accepts(stage.plan)


def test_no_plan_is_made_of_two(tmp_path: Path) -> None:
    """Parts of one plan in another, each of them real."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    stage, other = staged(tmp_path / "one"), staged(tmp_path / "two", later=True)
    for field in ("changes", "skips", "adoptions", "gone", "owned", "unchanged", "manifest_digest", "target"):
        value = getattr(other.plan, field)
        if value != getattr(stage.plan, field):
            judged(stage, "a part of another plan", resealed(stage.plan, **{field: value}))
    for change in other.plan.changes:
        grafted = tuple(one for one in stage.plan.changes if one.address != change.address)
        for changes in ((*grafted, change), (change, *grafted)):
            if changes != stage.plan.changes:
                judged(stage, "a change of another plan", resealed(stage.plan, changes=changes))
    judged(stage, "another plan as a whole", resealed(other.plan))

    assert stage.accepts(stage.plan)


# Part three: a whole file, and what it speaks of has moved.


def test_no_plan_outlives_its_time(tmp_path: Path) -> None:
    """Its own end, or its age: an end that was written in afterwards prolongs nothing."""
    stage = staged(tmp_path)
    whole, made = resealed(stage.plan), stage.plan.created_at
    for days in range(1, 20):
        judged(
            stage,
            "from the future",
            resealed(stage.plan, created_at=f"2026-03-{days + 5:02d}T12:00:00+00:00"),
        )
    judged(stage, "without its times", resealed(stage.plan, expires_at=""))
    judged(stage, "without its times", resealed(stage.plan, created_at="", expires_at=""))
    assert made.startswith("2026-03-01")
    stage.world.clock.pass_s(600)
    allowed = stage.world.settings
    stage.world.settings = structs.replace(allowed, plan_expires_h=0.1)
    judged(stage, "older than the settings allow here", whole)
    stage.world.settings = allowed
    stage.world.clock.pass_s(25 * 3600)
    judged(stage, "expired", whole)
    for month in range(4, 13):
        prolonged = resealed(stage.plan, expires_at=f"2026-{month:02d}-01T00:00:00+00:00")
        judged(stage, "prolonged by hand", prolonged)


def test_no_plan_survives_what_it_was_made_from(tmp_path: Path) -> None:
    """Live, manifests, settings: each moved a little, and moved back before the next."""
    stage = staged(tmp_path)
    whole = resealed(stage.plan)
    for name, moved in stage.circumstances():
        with moved:
            judged(stage, name, whole)

    assert stage.accepts(stage.plan)


def test_no_plan_is_carried_out_twice(tmp_path: Path) -> None:
    """As it was, and with everything in it that a fresh plan does not look at."""
    stage = staged(tmp_path)
    assert stage.accepts(stage.plan)

    for hour in range(10, 20):
        again = resealed(stage.plan, expires_at=f"2026-03-02T{hour}:00:00+00:00")
        judged(stage, "used before", again)
    judged(stage, "used before", resealed(stage.plan))
