"""Laws of the feed: a plan by what changed is the plan by the whole list, or it says that it was scanned."""

import asyncio
from collections.abc import Sequence
from random import Random

import effort
import tally
from core.build import RULES, contact, desired, planned, record, recorded
from laws.feeds import LIES, PAGE, Crowd, InMemory, text

from reconciler.core.planning.fingerprint import fingerprint
from reconciler.engine.lists import is_list_unchanged
from reconciler.engine.live import read_live
from reconciler.errors import ServiceError
from reconciler.model.address import Address
from reconciler.model.snapshots import DeletedEntity, Desired, Read, Recorded
from reconciler.service.paging import Found

HISTORIES = effort.count(small=120, full=2_000, landing=600)
LYING = effort.count(small=60, full=500, landing=200)
CONTACTS = "contact/ops/"


def ours(crowd: Crowd) -> tuple[Desired, Recorded]:
    """Return what is declared of a crowd and what is recorded: some of both, and some who left."""
    chance = crowd.chance
    entities, records = [], []
    for number, (remote_id, body) in enumerate(crowd.bodies.items(), start=1):
        fields = {key: body[key] for key in ("firstName", "lastName", "workEmailAddress1", "jobTitle")}
        if chance.random() < 0.7:
            entities.append(contact(f"ops/p{number}", fields))
        if chance.random() < 0.6:
            records.append(
                record(f"{CONTACTS}p{number}", remote_id, fields, modified=body["lastModifiedTime"])
            )
    return desired(*entities), recorded(*records)


async def _plan(
    crowd: Crowd,
    declared: Desired,
    known: Recorded,
    lists: InMemory | None,
    deleted: Sequence[DeletedEntity] = (),
) -> tuple[str, Read]:
    live = await read_live(
        crowd.reader,
        declared,
        known,
        workspaces={"ops": "AB12"},
        rules=RULES,
        lists=lists,
        deleted=deleted,
    )
    plan = planned(declared, live, known)
    # Also what a plan tells beside its changes: who is nobody's, who is ambiguous, who was left alone.
    return repr((fingerprint(plan), plan.unmanaged, plan.skips, plan.notices, plan.adoptions)), live.reads[0]


def both(
    crowd: Crowd,
    declared: Desired,
    known: Recorded,
    lists: InMemory,
    deleted: Sequence[DeletedEntity] = (),
) -> tuple[str, str, Read]:
    """Return the plan by a scan, the one by what is remembered, and how that was read.

    Claim besides that a list of which one page says that it stands still has the plan that it had.
    """
    lie, crowd.lie = crowd.lie, ""
    scanned, _ = asyncio.run(_plan(crowd, declared, known, None, deleted))
    crowd.lie = lie
    if lists.newest and asyncio.run(is_list_unchanged(crowd.reader, *lists.newest)):
        assert scanned == lists.plan
        tally.count("feeds", "lists that stood still")
    lists.newest = None
    followed, read = asyncio.run(_plan(crowd, declared, known, lists, deleted))
    lists.plan = followed
    return scanned, followed, read


def test_a_plan_by_feed_is_the_plan_by_scan() -> None:
    """Edits, creates, deletes, renames, re-creations; equal times; machines with clocks of their own."""
    ways: dict[str, int] = {}
    for seed in range(HISTORIES):
        chance = Random(seed)
        crowd = Crowd(chance, chance.randint(13, 40))
        declared, known = ours(crowd)
        lists = InMemory(crowd)
        for _ in range(4):
            scanned, followed, read = both(crowd, declared, known, lists)
            assert followed == scanned, (seed, read)
            ways[read.how] = ways.get(read.how, 0) + 1
            crowd.at += chance.choice((0, 0, 1, 5, 60))
            for _ in range(chance.choice((0, 0, 1, 2, 6))):
                crowd.happens(skew=chance.choice((0, 0, 5)))
                crowd.at += chance.choice((0, 0, 1, 3))
    tally.count("feeds", "histories", HISTORIES)
    assert ways["feed"] > HISTORIES / 2, ways


def test_a_service_that_lies_about_the_order_is_scanned() -> None:
    """It ignores the order, repeats pages, moves rows, shows wrong times: the same plan, or a scan."""
    told = 0
    for seed in range(LYING):
        chance = Random(1_000_000 + seed)
        crowd = Crowd(chance, chance.randint(13, 40))
        declared, known = ours(crowd)
        lists = InMemory(crowd)
        both(crowd, declared, known, lists)
        crowd.lie = LIES[seed % len(LIES)]
        for _ in range(3):
            crowd.at += chance.choice((1, 60, 900))
            for _ in range(chance.choice((1, 2, 6, 12))):
                crowd.happens()
            scanned, followed, read = both(crowd, declared, known, lists)
            assert followed == scanned or read.how != "feed", (seed, crowd.lie, read)
            assert followed == scanned, (seed, crowd.lie, read)
            told += bool(read.why)
    tally.count("feeds", "services that lie", LYING)
    assert told > LYING / 2


def _delete(crowd: Crowd, remote_id: str) -> DeletedEntity:
    """Delete somebody, as a run of ours does that writes it down."""
    del crowd.bodies[remote_id]
    address = Address(f"{CONTACTS}{remote_id.lower()}")
    return DeletedEntity(address, remote_id, "run", text(crowd.at))


def test_a_list_that_is_shorter_by_what_we_deleted_is_followed() -> None:
    """Also where others delete, add and edit meanwhile, or bring back what we deleted with its old time."""
    ways: dict[str, int] = {}
    for seed in range(HISTORIES):
        chance = Random(2_000_000 + seed)
        crowd = Crowd(chance, chance.randint(16, 40))
        declared, known = ours(crowd)
        lists = InMemory(crowd)
        both(crowd, declared, known, lists)
        deleted: list[DeletedEntity] = []
        for _ in range(4):
            crowd.at += chance.choice((1, 60, 900))
            for _ in range(chance.choice((1, 1, 2))):
                remote_id = chance.choice([*crowd.bodies])
                body = crowd.bodies[remote_id]
                deleted.append(_delete(crowd, remote_id))
                if chance.random() < 0.2:
                    crowd.bodies = dict(sorted({**crowd.bodies, remote_id: body}.items()))
            for _ in range(chance.choice((0, 0, 1, 2))):
                crowd.happens()
            crowd.at += chance.choice((0, 3, 30, 60, 900))
            scanned, followed, read = both(crowd, declared, known, lists, deleted)
            assert followed == scanned, (seed, read)
            ways[read.how] = ways.get(read.how, 0) + 1
    tally.count("feeds", "histories in which we deleted", HISTORIES)
    assert ways["feed"] > HISTORIES, ways


def test_somebody_who_was_brought_back_while_another_was_deleted_is_found_by_a_look() -> None:
    """The total is as expected, and no row tells of either: only a look shows who is there."""
    crowd = Crowd(Random(3), 30)
    lists, declared = remember_all(crowd)

    crowd.at += 60
    deleted = [_delete(crowd, "A0007")]
    crowd.bodies = dict(sorted({**crowd.bodies, "A0007": {**crowd.bodies["A0006"], "id": "A0007"}}.items()))
    del crowd.bodies["A0012"]
    crowd.at += 60
    scanned, followed, read = both(crowd, declared, recorded(), lists, deleted)

    assert followed == scanned
    assert (read.how, read.why) == ("scan", "somebody was deleted")


class Redirecting(Crowd):
    """A service that leads on from an entity that was merged into another."""

    async def get(self, remote_id: str, *, workspace: str = "") -> Found:
        if remote_id in self.bodies:
            return await super().get(remote_id, workspace=workspace)
        moved = ServiceError("another entity", status=301)
        moved.elsewhere = True
        raise moved


def test_somebody_who_is_another_entity_to_a_look_is_not_gone() -> None:
    """What the service says of the id is no proof that the list is without it."""
    crowd = Redirecting(Random(3), 30)
    lists, declared = remember_all(crowd)

    crowd.at += 60
    deleted = [_delete(crowd, "A0007")]
    crowd.at += 60
    scanned, followed, read = both(crowd, declared, recorded(), lists, deleted)

    assert followed == scanned
    assert (read.how, read.why) == ("scan", "somebody was deleted")


def test_a_delete_that_the_list_may_still_show_explains_nothing() -> None:
    """Within the settle window a list may show whom a look does not, and somebody else may be gone."""
    crowd = Crowd(Random(3), 30)
    lists, declared = remember_all(crowd)

    crowd.at += 60
    deleted = [_delete(crowd, "A0007")]
    crowd.at += 5
    _, _, soon = both(crowd, declared, recorded(), lists, deleted)
    crowd.at += 60
    deleted.append(_delete(crowd, "A0009"))
    crowd.at += 60
    scanned, followed, late = both(crowd, declared, recorded(), lists, deleted)

    assert (soon.how, soon.why) == ("scan", "somebody was deleted")
    assert (late.how, followed) == ("feed", scanned)


def test_a_change_without_its_time_is_late_by_one_complete_read_and_not_more() -> None:
    """Nothing that a few pages show tells of it; the next complete read does, and from then on all are."""
    for seed in range(20):
        chance = Random(seed)
        crowd = Crowd(chance, 30)
        declared, known = ours(crowd)
        lists = InMemory(crowd)
        both(crowd, declared, known, lists)
        crowd.at += 3_600
        crowd.bodies[chance.choice(list(crowd.bodies))]["jobTitle"] = "Pilot"
        crowd.at += 86_400
        scanned, followed, read = both(crowd, declared, known, lists)
        assert (followed, read.how, read.why) == (scanned, "scan", "its last complete read is too old")
        crowd.at += 60
        _, _, read = both(crowd, declared, known, lists)
        assert (read.how, read.why) == ("scan", "a row had changed, but its time had not")


def test_a_list_that_did_not_change_takes_at_most_three_calls() -> None:
    """The budget of docs/performance.md: three for any list, and one for each page of changes besides."""
    for changed in (0, 1, PAGE, 3 * PAGE, 10 * PAGE + 1):
        crowd = Crowd(Random(changed), 400)
        crowd.at += 600
        declared = desired(
            *(contact(f"ops/p{n}", {"workEmailAddress1": f"p{n}@example.com"}) for n in range(1, 400))
        )
        lists = InMemory(crowd)
        both(crowd, declared, recorded(), lists)
        crowd.at += 600
        for remote_id in crowd.chance.sample(list(crowd.bodies), changed):
            crowd.at += 1
            crowd.bodies[remote_id] |= {"jobTitle": "Pilot", "lastModifiedTime": text(crowd.at)}
        scanned, followed, read = both(crowd, declared, recorded(), lists)
        assert (read.how, followed == scanned) == ("feed", True)
        assert read.calls <= -(-changed // PAGE) + 3, changed


def everybody(crowd: Crowd) -> Desired:
    """Return what is declared where everybody is, as they were first."""
    each = (contact(f"ops/p{n}", {"workEmailAddress1": f"p{n}@example.com"}) for n in range(1, 31))
    assert len(crowd.bodies) == 30
    return desired(*each)


def remember_all(crowd: Crowd) -> tuple[InMemory, Desired]:
    """Read the whole list long after everybody was made; return what is remembered, and what is declared."""
    crowd.at += 600
    lists, declared = InMemory(crowd), everybody(crowd)
    both(crowd, declared, recorded(), lists)
    return lists, declared


def test_a_change_that_the_read_did_not_show_yet_is_told_by_the_next() -> None:
    """A list may lag behind a write, by the settle window: such a change tells an earlier time."""
    crowd = Crowd(Random(1), 30)
    lists, _ = remember_all(crowd)
    late = crowd.at - 8

    crowd.at += 60
    crowd.bodies["A0007"] |= {"workEmailAddress1": "other@example.com", "lastModifiedTime": text(late)}
    scanned, followed, read = both(crowd, everybody(crowd), recorded(), lists)

    assert (read.how, followed) == ("feed", scanned)


def test_an_order_that_is_also_the_own_one_of_the_list_proves_nothing() -> None:
    """A service that ignores the order shows just that; so it is read whole, and says why."""
    crowd = Crowd(Random(1), 30)
    for place, body in enumerate(crowd.bodies.values()):
        body["lastModifiedTime"] = text(5_000 - place)
    lists, _ = remember_all(crowd)

    crowd.at += 60
    crowd.lie = "order"
    crowd.bodies["A0027"] |= {"workEmailAddress1": "other@example.com", "lastModifiedTime": text(crowd.at)}
    scanned, followed, read = both(crowd, everybody(crowd), recorded(), lists)

    assert followed == scanned
    assert (read.how, read.why) == ("scan", "its order of change is the order of the list")


def test_equal_times_in_another_order_prove_nothing() -> None:
    """All were imported in one second, and one of a list by name was renamed since; the order is ignored."""
    crowd = Crowd(Random(1), 30)
    for body in crowd.bodies.values():
        body["lastModifiedTime"] = text(5_000)
    lists, _ = remember_all(crowd)

    crowd.at += 60
    crowd.lie = "order"
    crowd.bodies["A0027"] |= {"workEmailAddress1": "other@example.com", "lastModifiedTime": text(crowd.at)}
    crowd.bodies = {"A0002": crowd.bodies.pop("A0002"), **crowd.bodies}
    scanned, followed, read = both(crowd, everybody(crowd), recorded(), lists)

    assert followed == scanned
    assert (read.how, read.why) == ("scan", "its order of change is the order of the list")
