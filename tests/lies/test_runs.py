"""Whole runs among lies: side by side, with others at work, and with a store that goes away."""

import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import effort
import pytest
import tally
from cli.hands import Project, Service
from lies.proxy import Answer, Lie, Request, Tell, Truth
from lies.stage import SETTLE_S, Stage, crowd, make_project, person, said
from lies.told import CONTACT, ERROR, Gateway, after_all, asked, carried_out_and_lost, every_third
from waiting import until

pytestmark = effort.proofs_only()
ROUNDS = effort.count(small=1, full=2)
ended_s = 60.0  # seconds in which any of these commands has ended


@pytest.mark.parametrize("gateway", ["", "heeds", "tells", "hides"])
@pytest.mark.parametrize("loses", [False, True], ids=["answers", "loses answers"])
def test_two_runs_with_stores_of_their_own_make_everybody_once(
    place: Stage, tmp_path: Path, gateway: str, *, loses: bool
) -> None:
    """Two builds at once, each with a fresh store: the lock in the service lets one at a time write."""
    store = Gateway(gateway)
    lies: list[Lie] = []
    if gateway:
        lies += [Lie(f"stored answers by a gateway that {gateway}", store.when, store.tell, counted=False)]
    if loses:
        third = every_third(asked("POST", "/"))
        lies += [Lie("every third answer to a POST is lost", third, carried_out_and_lost)]
    for at in range(ROUNDS):
        projects = [make_project(tmp_path / f"{side}-{at}") for side in "ab"]
        for project in projects:
            place.project = project
            place.declare(**{f"r{at}-{key}": person(f"R{at}{key.title()}") for key in "abcdef"})
        with place.proxy.telling(*lies):
            codes = at_once(place, projects)
        assert set(codes) <= {0, 1, 4, 8}, codes  # 1: a stored answer was recognized, and refused
        twice = {mail: times for mail, times in place.mails().items() if times > 1}
        tally.count("own stores", "behind a proxy that lies")
        tally.count("duplicates", "lies", len(twice))
        assert not twice, (codes, twice)
        assert place.apply().returncode in (0, 4), codes


def at_once(place: Stage, projects: list[Project]) -> list[int]:
    """Apply all of them side by side where nobody can be asked; return their exit codes."""
    environ = {"CI": "true", "RECONCILER_LOCK_IN_SERVICE": "auto", "RECONCILER_SERVICE_LIMITS_SETTLE_S": "1"}

    def one(project: Project) -> int:
        done = project.run(Service(place.proxy.address), "apply", "--yes", env=environ)
        assert "Traceback" not in said(done), said(done)
        return done.returncode

    with ThreadPoolExecutor(len(projects)) as pool:
        return list(pool.map(one, projects))


def test_an_edit_between_our_write_and_its_read_back_is_named(place: Stage) -> None:
    """Somebody else's change stays, and the report says which field moved beside ours."""
    place.built(3)
    place.set("person-1", jobTitle="Nurse")

    def edited(request: Request, truth: Truth) -> Answer:
        done = truth(request)
        truth(request.saying({**request.values(), "department": "Night Shift"}))
        return done

    with place.proxy.telling(Lie("an edit after our write", asked("PUT"), edited)):
        done = place.apply()

    assert "department" in said(done), said(done)
    assert place.field_of("Person1", "department") == "Night Shift"
    assert place.field_of("Person1", "jobTitle") == "Nurse"


SENDING: dict[str, tuple[Tell, set[int]]] = {
    "503": (after_all(503, ERROR, CONTACT), {8}),
    "408": (after_all(408, ERROR, CONTACT), {8}),
    "500": (after_all(500, ERROR, CONTACT), {8}),
    "no answer": (carried_out_and_lost, {8}),
    "201 without anything": (after_all(201), {0, 8}),
}


@pytest.mark.parametrize(("tell", "codes"), SENDING.values(), ids=SENDING.keys())
def test_a_message_that_went_out_is_not_called_unsent(place: Stage, tell: Tell, codes: set[int]) -> None:
    """Called unsent, somebody is alerted twice: only what is certain may be said."""
    place.built(1)

    words = ("messages", "send", "--to", "person0@example.com", "--subject", "test", "--body", "test")
    lie = Lie("a message that is sent and answered otherwise", asked("POST", "/messages"), tell)
    with place.proxy.telling(lie):
        done = place.run(*words)

    assert done.returncode in codes, said(done)
    assert len([one for one in place.proxy.writes() if one.path == "/messages"]) == 1, said(done)


def test_a_429_to_a_message_is_believed_as_the_table_says(place: Stage) -> None:
    """429 is the service's word for "not taken": whoever sends the message all the same breaks that word.

    Nothing here can see through it, so this shows what is published, and not that nothing went out.
    """
    place.built(1)
    words = ("messages", "send", "--to", "person0@example.com", "--subject", "test", "--body", "test")
    lie = Lie(
        "a message that is sent and answered with 429",
        asked("POST", "/messages"),
        after_all(429, ERROR, CONTACT),
    )
    with place.proxy.telling(lie):
        done = place.run(*words)

    assert done.returncode == 1, said(done)
    assert "too many requests (429)" in said(done)
    assert len([one for one in place.proxy.writes() if one.path == "/messages"]) == 1, said(done)


def test_a_store_that_goes_under_a_run_ends_its_writes(place: Stage) -> None:
    """Without its store a run cannot write down what it sends: a second run would send it again."""
    number = effort.count(small=60, full=150)
    place.declare(**crowd(number))
    place.proxy.latency_s = 0.3  # so that the store goes long before the last write
    with place.project.start(
        Service(place.proxy.address), "apply", "--yes", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        until(lambda: len(place.proxy.writes()) >= 10, "ten writes")
        before = len(place.proxy.writes())
        shutil.rmtree(place.project.folder / ".reconciler")
        code = process.wait(ended_s)

    assert code != 0
    assert 10 <= before < number
    under_way = 8 + 2  # the concurrency, and what came while the folder was removed
    assert len(place.proxy.writes()) <= before + under_way
    time.sleep(SETTLE_S)
    place.proxy.latency_s = 0
    place.apply()
    twice = sum(place.mails().values()) - len(place.mails())
    tally.count("duplicates", "lies", twice)
    assert not twice


def test_a_plan_with_records_alone_is_work(place: Stage) -> None:
    """Skipped as "nothing to do", a protection would be lost, and the next removal would delete her."""
    place.built(10)
    place.set("person-1", meta={"protect": True})

    planned = place.run("plan", "--detailed-exitcode")
    assert planned.returncode == 2, said(planned)
    assert "record to update" in planned.stdout
    assert place.apply().returncode == 0

    place.remove("person-1")
    place.apply()
    assert len(place.live()) == 10


def test_a_removed_devices_block_is_named(place: Stage) -> None:
    """The device stays live and alerts a phone: without a word nobody would know."""
    phone = {
        "deviceName": "phone",
        "appId": "com.example.oncall",
        "platform": "GCM",
        "deviceOS": "Android 15",
        "deviceModel": "Pixel 9",
        "pushToken": "token-that-only-a-sandbox-takes",
    }
    place.declare(**{"person-0": person("Person0", devices={"phone": phone}), "person-1": person("Person1")})
    assert place.apply().returncode == 0
    place.declare(**crowd(2))

    for words in (("plan",), ("drift",), ("plan", "--format", "json"), ("apply", "--yes")):
        done = place.run(*words)
        assert "phone" in done.stdout, said(done)
