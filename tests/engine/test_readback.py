"""Success is what reads back: no write, no delete and no create is believed for its status alone."""

import asyncio
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from engine.bench import JANE, SAM, ZOE, Bench, edit, only, person, phone, results, upload
from engine.liars import (
    accepted,
    answering_ok,
    answering_with,
    bodiless,
    ignoring,
    one_id,
    swapped,
    with_location,
    writing,
    yes,
)
from wire import Rule, Send, answered, edited, lost_after

from reconciler.core.compare.bodies import make_create_body
from reconciler.model.address import contact_address, device_address
from reconciler.model.runs import FieldResult, Outcome
from reconciler.service.client import EntityClient

OLD, NEW = "+61491570156", "+61491570157"
PIXEL = device_address("ops", "jane", "pixel")


def test_an_update_that_is_ignored_is_not_taken_and_is_planned_again(tmp_path: Path) -> None:
    """204, and the old number is live: said with both values, recorded nowhere, and shown by every plan."""
    bench = Bench(tmp_path)
    bench.apply(person(workMobilePhone1=OLD))
    before = bench.recorded().entities[JANE]

    run = bench.apply(person(workMobilePhone1=NEW), rules=[Rule("PUT", yes())])

    assert (only(run).result, run.exit_code) == ("failed", 1)
    assert "not stored by the service: workMobilePhone1." in only(run).what
    assert only(run).fields == (FieldResult("workMobilePhone1", NEW, OLD),)
    kept = bench.recorded().entities[JANE]
    assert (kept.sent, kept.shown) == (before.sent, before.shown)
    assert bench.changes(person(workMobilePhone1=NEW)) == [("update", JANE)]
    assert only(bench.apply(person(workMobilePhone1=NEW))).result == "applied"


def test_a_drifted_field_that_is_not_set_back_stays_drifted(tmp_path: Path) -> None:
    """The service's time of change must not make an old record pass for what is live."""
    bench = Bench(tmp_path)
    bench.apply(person(jobTitle="Engineer"))

    async def by_hand() -> None:
        async with bench.client() as client:
            await edit(client, "jane@example.com", jobTitle="Director")

    asyncio.run(by_hand())
    bench.pass_(60)
    run = bench.apply(person(jobTitle="Engineer"), rules=[Rule("PUT", yes())])

    assert only(run).fields == (FieldResult("jobTitle", "Engineer", "Director"),)
    assert bench.changes(person(jobTitle="Engineer")) == [("update", JANE)]


def test_of_an_update_that_is_taken_in_part_the_rest_is_planned_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person(workMobilePhone1=OLD, jobTitle="Clerk"))
    want = person(workMobilePhone1=NEW, jobTitle="Engineer")

    run = bench.apply(want, rules=[Rule("PUT", ignoring(bench.wire.inner, "workMobilePhone1"))])

    assert only(run).result == "failed"
    assert [field.path for field in only(run).fields] == ["workMobilePhone1"]
    record = bench.recorded().entities[JANE]
    assert (record.sent["jobTitle"], record.sent["workMobilePhone1"]) == ("Engineer", OLD)
    assert bench.changes(want) == [("update", JANE)]


def test_a_field_that_stays_though_it_was_cleared_is_not_taken(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person(jobTitle="Engineer"))
    keeping = Rule("PUT", ignoring(bench.wire.inner, "jobTitle"))

    declared = bench.apply(person(jobTitle=""), rules=[keeping])
    withdrawn = bench.apply(person(), rules=[keeping])

    for run in (declared, withdrawn):
        assert only(run).result == "failed"
        assert only(run).fields == (FieldResult("jobTitle", None, "Engineer"),)
    assert bench.changes(person()) == [("update", JANE)]


def test_a_service_that_shows_a_change_a_moment_later_has_taken_it(tmp_path: Path) -> None:
    """A read-back may lag behind: only the look after the settle window decides."""
    bench = Bench(tmp_path)
    bench.apply(person(jobTitle="Clerk"))
    stale = edited(lambda body: body.update(jobTitle="Clerk"))

    run = bench.apply(person(jobTitle="Engineer"), rules=[Rule("GET", stale, nth=2)])

    assert (only(run).result, run.exit_code) == ("applied", 0)
    assert bench.changes(person(jobTitle="Engineer")) == []


def test_what_was_only_accepted_and_does_not_show_is_in_doubt(tmp_path: Path) -> None:
    """202 is "accepted, not done": it may be done later, so it is not called refused either."""
    bench = Bench(tmp_path)
    bench.apply(person(jobTitle="Clerk"), person(SAM))

    run = bench.apply(person(jobTitle="Engineer"), rules=[Rule("PUT", yes(202)), Rule("DELETE", yes(202))])

    assert results(run) == {str(JANE): "in doubt", str(SAM): "in doubt"}
    assert set(bench.recorded().entities) == {JANE, SAM}
    assert run.exit_code == 8


def test_what_was_accepted_and_shows_is_done(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person(jobTitle="Clerk"), person(SAM))

    rules = [Rule(method, accepted) for method in ("PUT", "DELETE")]
    run = bench.apply(person(jobTitle="Engineer"), rules=rules)

    assert set(results(run).values()) == {"applied"}
    assert set(bench.recorded().entities) == {JANE}


def test_a_value_that_the_service_writes_in_its_own_way_is_learnt_and_said_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person(jobTitle="Clerk"))
    shouting = Rule("PUT", writing(bench.wire.inner, "jobTitle", str.upper))

    run = bench.apply(person(jobTitle="Engineer"), rules=[shouting])

    assert only(run).result == "applied"
    assert only(run).what == "The service writes jobTitle in its own way."
    assert only(run).fields == (FieldResult("jobTitle", "Engineer", "ENGINEER", taken=True),)
    assert bench.apply(person(jobTitle="Engineer")).outcomes == ()


def test_a_value_that_shows_only_later_and_otherwise_is_not_learnt(tmp_path: Path) -> None:
    """After a settle window it may be anybody's: the next plan has to see it."""
    bench = Bench(tmp_path)
    bench.apply(person(jobTitle="Clerk"))
    stale = Rule("GET", edited(lambda body: body.update(jobTitle="Clerk")), nth=2)
    other = Rule("PUT", writing(bench.wire.inner, "jobTitle", lambda _: "Director"))

    run = bench.apply(person(jobTitle="Engineer"), rules=[stale, other])

    assert only(run).fields == (FieldResult("jobTitle", "Engineer", "Director"),)
    assert bench.changes(person(jobTitle="Engineer")) == [("update", JANE)]


@pytest.mark.parametrize(
    ("field", "old", "new", "shown"),
    [
        ("timezone", "Europe/London", "Australia/Melbourne", "+10"),
        ("workMobilePhone1", OLD, "+61 491 570 157", "+61491570157"),
        ("workEmailAddress1", "jane@example.com", "Jane@Example.com", "jane@example.com"),
    ],
)
def test_another_spelling_of_the_same_is_taken_and_not_worth_a_word(
    tmp_path: Path, field: str, old: str, new: str, shown: str
) -> None:
    bench = Bench(tmp_path)
    bench.apply(person(JANE, **{field: old}))
    how = writing(bench.wire.inner, field, lambda value: value if field == "timezone" else shown)

    run = bench.apply(person(JANE, **{field: new}), rules=[Rule("PUT", how)])

    assert [(one.result, one.what, one.fields) for one in run.outcomes] == [("applied", "", ())]
    assert bench.apply(person(JANE, **{field: new})).outcomes == ()


def test_a_new_contact_that_lacks_a_field_is_ours_and_its_devices_are_made(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    run = bench.apply(
        person(), phone(), rules=[Rule("POST", ignoring(bench.wire.inner, "workMobilePhone1"), nth=1)]
    )

    assert results(run) == {str(JANE): "failed", str(PIXEL): "applied"}
    made = run.outcomes[0]
    assert made.fields == (FieldResult("workMobilePhone1", OLD, None),)
    assert run.exit_code == 6
    assert "workMobilePhone1" not in bench.recorded().entities[JANE].sent
    assert bench.changes(person(), phone()) == [("update", JANE)]
    assert len(bench.live()) == 1


def test_a_secret_that_was_not_taken_is_masked(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person(), phone())

    run = bench.apply(person(), phone(pushToken="canary"), rules=[Rule("PUT", yes())])

    (field,) = only(run).fields
    assert (field.path, field.taken) == ("pushToken", False)
    assert "canary" not in repr(run)
    assert "token-of-pixel" not in repr(run)
    assert str(field.sent).startswith("secret:")
    assert field.sent != field.shown


def test_a_password_is_not_taken_by_a_write_that_took_nothing_else(tmp_path: Path) -> None:
    """What cannot be read back counts as done only together with a field that can."""
    bench = Bench(tmp_path)
    bench.apply(person(password="old", jobTitle="Clerk"))
    want = person(password="new", jobTitle="Engineer")

    run = bench.apply(want, rules=[Rule("PUT", yes())])

    assert [field.path for field in only(run).fields] == ["jobTitle", "password"]
    assert "new" not in repr(only(run).fields)
    bench.apply(person(password="new", jobTitle="Clerk"))
    assert bench.wire.count()["PUT"] == 1


def test_a_password_alone_is_not_taken_where_the_time_of_change_stands_still(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person(password="old"))

    run = bench.apply(person(password="new"), rules=[Rule("PUT", yes())])

    assert only(run).result == "failed"
    assert only(bench.apply(person(password="new"))).result == "applied"


def test_a_delete_that_is_ignored_leaves_the_person_ours(tmp_path: Path) -> None:
    """If she were forgotten, she would be "not ours" and never be deleted."""
    bench = Bench(tmp_path)
    bench.apply(person(), phone(), person(SAM), upload())

    run = bench.apply(person(SAM), rules=[Rule("DELETE", yes())])

    assert set(results(run).values()) == {"failed"}
    assert all("still there" in outcome.what for outcome in run.outcomes)
    assert PIXEL in bench.recorded().entities
    assert ("delete", str(JANE)) in bench.changes(person(SAM))
    assert set(results(bench.apply(person(SAM))).values()) == {"applied"}


def test_a_delete_that_says_gone_of_somebody_who_is_there_leaves_her_ours(tmp_path: Path) -> None:
    """A 404 to a DELETE is one more answer to a write: the look before it showed her."""
    bench = Bench(tmp_path)
    bench.apply(person(), phone(), person(SAM), upload())

    run = bench.apply(person(SAM), rules=[Rule("DELETE", answered(404))])

    assert set(results(run).values()) == {"failed"}
    assert all("still there" in outcome.what for outcome in run.outcomes)
    assert PIXEL in bench.recorded().entities
    assert set(results(bench.apply(person(SAM))).values()) == {"applied"}


def test_who_goes_between_our_look_and_our_delete_was_gone_already(tmp_path: Path) -> None:
    """Deleted by somebody else in that moment: it is not called ours, and nothing is left to do."""
    bench = Bench(tmp_path)
    bench.apply(person(), person(SAM))

    run = bench.apply(person(SAM), rules=[Rule("DELETE", answered(404, done=True))])

    assert only(run).result == "skipped"
    assert "gone already" in only(run).what
    assert set(bench.recorded().entities) == {SAM}


def test_a_delete_that_shows_a_moment_later_is_done(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person(), person(SAM))
    jane = bench.live()[0]
    body = {key: value for key, value in jane.items() if key != "id"}

    run = bench.apply(person(SAM), rules=[Rule("GET", answering_ok(body), nth=2)])

    assert only(run).result == "applied"
    assert set(bench.recorded().entities) == {SAM}


def test_a_delete_whose_read_back_fails_is_in_doubt_and_looked_for(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person(), person(SAM))
    unreadable = Rule("GET", answered(500), when=lambda: bench.wire.count()["DELETE"] > 0)

    run = bench.apply(person(SAM), rules=[unreadable])

    assert only(run).result == "in doubt"
    assert JANE in bench.recorded().entities
    assert bench.apply(person(SAM)).outcomes == ()
    assert set(bench.recorded().entities) == {SAM}


def test_two_swapped_answers_record_nobody_as_another(tmp_path: Path) -> None:
    """If it were recorded as ours, the contact of somebody else would be changed, and deleted later."""
    bench = Bench(tmp_path)

    begun = lambda: len(bench.wire.writes()) > 1  # noqa: E731 - one expression; the first create is alone

    run = bench.apply(
        person(contact_address("ops", "ada")),
        person(),
        person(SAM),
        rules=[Rule("POST", swapped(), when=begun)],
    )

    assert set(results(run).values()) == {"applied"}
    by_id = {body["link"][0]["uri"].rsplit("/", 1)[-1]: body["firstName"] for body in bench.live()}
    ids = {address: record.remote_id for address, record in bench.recorded().entities.items()}
    assert {by_id[ids[JANE]], by_id[ids[SAM]]} == {"Jane", "Sam"}
    assert (by_id[ids[JANE]], by_id[ids[SAM]]) == ("Jane", "Sam")
    assert bench.changes(person(contact_address("ops", "ada")), person(), person(SAM)) == []


@pytest.mark.parametrize("of", ["first", "second"])
def test_one_id_that_is_answered_to_two_creates_is_recorded_for_nobody_else(
    tmp_path: Path, of: Literal["first", "second"]
) -> None:
    """Recorded for both, one person would be changed under two names, and deleted with either."""
    bench, recorded = Bench(tmp_path), asyncio.Event()
    people = [person(contact_address("ops", "ada")), person(), person(SAM)]

    def ended(outcome: Outcome) -> None:
        bench.heard.append(outcome)
        if outcome.address != people[0].address:
            recorded.set()

    bench.on_outcome = ended
    begun = lambda: len(bench.wire.writes()) > 1  # noqa: E731 - one expression; the first create is alone

    run = bench.apply(*people, rules=[Rule("POST", one_id(of, recorded), when=begun)])

    assert sorted(results(run).values()) == ["applied", "applied", "applied" if of == "first" else "in doubt"]
    assert recorded_under(bench).items() <= {"ada": "Ada", "jane": "Jane", "sam": "Sam"}.items()
    bench.apply(*people)
    assert recorded_under(bench) == {"ada": "Ada", "jane": "Jane", "sam": "Sam"}
    assert (len(bench.live()), bench.changes(*people)) == (3, [])


def recorded_under(bench: Bench) -> dict[str, str]:
    """Who is live under the id that is recorded for each address."""
    by_id = {body["link"][0]["uri"].rsplit("/", 1)[-1]: body["firstName"] for body in bench.live()}
    return {one.name: by_id[record.remote_id] for one, record in bench.recorded().entities.items()}


def test_an_answer_with_another_identity_is_not_even_asked_for(tmp_path: Path) -> None:
    """It names somebody else by itself: a GET of that id could only show the same."""
    bench = Bench(tmp_path)

    def other(body: dict[str, Any]) -> None:
        body |= {"workEmailAddress1": "somebody@example.com", "firstName": "Somebody"}

    run = bench.apply(person(), rules=[Rule("POST", with_location(other))])

    assert only(run).result == "applied"
    assert "its answer was lost" in only(run).what
    assert bench.wire.count() == {"GET": 3, "POST": 1}


@pytest.mark.parametrize("shows", ["herself", "what was sent"])
def test_an_answer_that_names_somebody_who_was_there_records_nobody(tmp_path: Path, shows: str) -> None:
    """201 with an existing contact: its id is not ours, whatever the rest of the answer says."""
    bench = Bench(tmp_path)
    bench.apply(person(ZOE))
    zoe = bench.live()[0]
    zoe_id = bench.recorded().entities[ZOE].remote_id
    sent = {"firstName": "Jane", "workEmailAddress1": "jane@example.com"}
    body = {**zoe, **sent} if shows == "what was sent" else zoe
    location = f"http://sandbox.example.com/workspaces/AB12/contacts/{zoe_id}"

    run = bench.apply(person(), person(ZOE), rules=[Rule("POST", answering_with(body, location))])

    assert results(run) == {str(JANE): "in doubt"}
    assert set(bench.recorded().entities) == {ZOE}
    assert only(run).remote_id == ""


def test_an_answer_that_shows_nothing_is_read_before_it_is_recorded(tmp_path: Path) -> None:
    """It names somebody whom another program made after the plan: no list has shown her."""
    bench, made = Bench(tmp_path), list[str]()

    async def another_program(client: EntityClient) -> None:
        made.append((await client.contacts.create(make_create_body(person(ZOE)), workspace="AB12")).remote_id)

    async def names_her(request: httpx2.Request, send: Send) -> httpx2.Response:
        return await answering_with({}, f"/contacts/{made[0]}")(request, send)

    run = bench.apply(person(), meanwhile=another_program, rules=[Rule("POST", names_her)])

    assert only(run).result == "in doubt"
    assert "names another entity" in only(run).what
    assert bench.recorded().entities == {}


def test_an_answer_whose_body_is_hidden_costs_one_call_more(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    run = bench.apply(person(), rules=[Rule("POST", bodiless)])

    assert only(run).result == "applied"
    assert bench.wire.count() == {"GET": 2 + 1, "POST": 1}
    assert bench.changes(person()) == []


def test_an_update_whose_answer_was_lost_counts_as_done_by_the_same_rule(tmp_path: Path) -> None:
    """The offset that the service shows for a time zone is what was sent."""
    bench = Bench(tmp_path)
    bench.apply(person(timezone="Europe/London"))

    run = bench.apply(person(timezone="Australia/Melbourne"), rules=[Rule("PUT", lost_after)])

    assert only(run).result == "applied"
    assert bench.changes(person(timezone="Australia/Melbourne")) == []


def test_no_value_of_a_field_reaches_the_store(tmp_path: Path) -> None:
    """The report shows both values; the history names nobody."""
    bench = Bench(tmp_path)
    bench.apply(person(jobTitle="Clerk"))

    bench.apply(person(jobTitle="canary-title"), rules=[Rule("PUT", yes())])

    with bench.store() as store:
        assert "canary-title" not in repr(tuple(store.history()))
    assert bench.recorded().entities[JANE].sent["jobTitle"] == "Clerk"
