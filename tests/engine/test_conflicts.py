from pathlib import Path
from typing import Any

from engine.bench import JANE, SAM, Bench, edit, entity, jane_is_made, only, person, phone, results, upload
from wire import Rule, answered, edited, shown_without

from reconciler.core.compare.bodies import make_create_body
from reconciler.model.address import device_address
from reconciler.service.client import EntityClient


async def jane_is_edited(client: EntityClient) -> None:
    await edit(client, "jane@example.com", jobTitle="Director")


async def all_are_gone(client: EntityClient) -> None:
    for row in await client.contacts.list(workspace="AB12"):
        await client.contacts.delete(row.remote_id, workspace="AB12")


async def jane_gets_a_tablet(client: EntityClient) -> None:
    rows = await client.contacts.list(workspace="AB12")
    body = make_create_body(phone(name="tablet"))
    await client.devices.create(body, workspace="AB12", parent=rows[0].remote_id)


def test_an_edit_between_plan_and_write_survives(tmp_path: Path) -> None:
    """What nobody was shown is never overwritten."""
    bench = Bench(tmp_path)
    bench.apply(person())

    run = bench.apply(person(jobTitle="Engineer"), meanwhile=jane_is_edited)

    assert only(run).result == "conflict"
    assert "jobTitle changed" in only(run).what
    assert only(run).next
    assert (run.exit_code, run.outcome) == (5, "stale")
    assert bench.wire.writes() == []
    assert bench.live()[0]["jobTitle"] == "Director"


def test_an_edit_of_another_field_does_not_stand_in_the_way(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person())

    run = bench.apply(person(department="Night"), meanwhile=jane_is_edited)

    assert only(run).result == "applied"
    body = bench.live()[0]
    assert (body["jobTitle"], body["department"]) == ("Director", "Night")


def test_what_was_made_meanwhile_is_not_made_twice(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    run = bench.apply(person(), person(SAM), meanwhile=jane_is_made)

    assert results(run) == {str(JANE): "conflict", str(SAM): "applied"}
    assert "workEmailAddress1" in run.outcomes[0].what
    assert run.exit_code == 6
    assert len(bench.live()) == 2


def test_a_search_that_answers_more_than_asked_for_finds_nobody_else(tmp_path: Path) -> None:
    """The service's search means "contains": mary-jane@ is not jane@."""
    bench = Bench(tmp_path)

    async def a_longer_name(client: EntityClient) -> None:
        body = {**make_create_body(person()), "workEmailAddress1": "mary-jane@example.com.au"}
        await client.contacts.create(body, workspace="AB12")

    run = bench.apply(person(), meanwhile=a_longer_name)

    assert only(run).result == "applied"


def test_case_makes_no_second_person(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    async def in_capitals(client: EntityClient) -> None:
        body = {**make_create_body(person()), "workEmailAddress1": "JANE@example.com"}
        await client.contacts.create(body, workspace="AB12")

    assert only(bench.apply(person(), meanwhile=in_capitals)).result == "conflict"


def test_several_that_could_be_meant_are_all_named(tmp_path: Path) -> None:
    """Never the first of two."""
    bench = Bench(tmp_path)

    async def twice(client: EntityClient) -> None:
        await jane_is_made(client)
        await jane_is_made(client)

    run = bench.apply(person(), meanwhile=twice)

    assert only(run).result == "conflict"
    assert "2 matching entities exist" in only(run).what
    assert bench.wire.writes() == []


def test_what_is_gone_is_not_updated(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person())

    run = bench.apply(person(jobTitle="Engineer"), meanwhile=all_are_gone)

    assert only(run).result == "conflict"
    assert "no longer exists" in only(run).what
    assert bench.wire.writes() == []


def test_what_was_edited_is_not_deleted(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person(), person(SAM))

    run = bench.apply(person(SAM), meanwhile=jane_is_edited)

    assert only(run).result == "conflict"
    assert "jobTitle changed" in only(run).what
    assert bench.wire.writes() == []
    assert set(bench.recorded().entities) == {JANE, SAM}


def test_what_is_gone_already_is_forgotten_and_no_failure(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person(), phone())

    run = bench.apply(meanwhile=all_are_gone)

    assert only(run).result == "skipped"
    assert "gone already" in only(run).what
    assert run.exit_code == 0
    assert bench.recorded().entities == {}


def test_a_contact_with_a_device_that_nobody_was_shown_is_not_deleted(tmp_path: Path) -> None:
    """Deleting a contact takes its devices with it: the plan has to say which."""
    bench = Bench(tmp_path)
    bench.apply(person(), phone())

    run = bench.apply(meanwhile=jane_gets_a_tablet)

    assert only(run).result == "conflict"
    assert "a device that the plan does not show" in only(run).what
    assert len(bench.live()[0]["devices"]) == 2


def test_a_device_made_meanwhile_is_not_made_twice(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person())

    run = bench.apply(person(), phone(name="tablet"), meanwhile=jane_gets_a_tablet)

    assert only(run).result == "conflict"
    assert "appId+deviceName" in only(run).what
    assert len(bench.live()[0]["devices"]) == 1


def test_a_device_whose_contact_is_gone_is_a_conflict(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person())

    run = bench.apply(person(), phone(), meanwhile=all_are_gone)

    assert only(run).result == "conflict"
    assert "its contact no longer exists" in only(run).what
    assert bench.wire.writes() == []


def test_what_carries_the_mark_of_another_owner_by_now_is_not_written(tmp_path: Path) -> None:
    bench = Bench(tmp_path, mark="managedBy")
    bench.apply(person(custom__managedBy="default/jane"))

    async def taken(client: EntityClient) -> None:
        fields = [{"fieldName": "m", "fieldValue": "other/jane", "searchKey": "custom_managedBy"}]
        await edit(client, "jane@example.com", customFields=fields)

    run = bench.apply(person(custom__managedBy="default/jane", jobTitle="Engineer"), meanwhile=taken)

    assert only(run).result == "conflict"
    assert "mark of another owner" in only(run).what
    assert bench.wire.writes() == []


def test_our_mark_finds_a_contact_whose_address_was_changed(tmp_path: Path) -> None:
    bench = Bench(tmp_path, mark="managedBy")

    async def marked(client: EntityClient) -> None:
        body = make_create_body(
            person(custom__managedBy="default/jane", workEmailAddress1="j.doe@example.com")
        )
        await client.contacts.create(body, workspace="AB12")

    run = bench.apply(person(custom__managedBy="default/jane"), meanwhile=marked)

    assert only(run).result == "conflict"
    assert "custom.managedBy" in only(run).what
    assert bench.wire.writes() == []


def test_what_cannot_be_recognized_is_not_made(tmp_path: Path) -> None:
    """It would be made again by every run that has lost its store."""
    bench = Bench(tmp_path)
    nameless = entity(JANE, {"firstName": "Jane", "lastName": "Doe"})

    run = bench.apply(nameless)

    assert only(run).result == "failed"
    assert (run.exit_code, run.outcome) == (1, "failed")
    assert only(run).next
    assert bench.wire.sent == []


def test_a_refusal_keeps_nothing_else_from_being_done(tmp_path: Path) -> None:
    """A failure skips its dependants only (rule A6)."""
    bench = Bench(tmp_path)
    refused = entity(JANE, {"workEmailAddress1": "jane@example.com"})  # without any name

    run = bench.apply(refused, phone(), person(SAM), phone(SAM), upload())

    assert results(run) == {
        "resource/ops/staff": "applied",
        str(JANE): "failed",
        str(SAM): "applied",
        str(device_address("ops", "jane", "pixel")): "skipped",
        str(device_address("ops", "sam", "pixel")): "applied",
    }
    skipped = next(one for one in run.outcomes if one.result == "skipped")
    assert f"{JANE} was not created: failed" in skipped.what
    assert run.exit_code == 6


def test_what_vanishes_between_the_look_and_the_write_is_told_apart(tmp_path: Path) -> None:
    """404 is drift for an update, and nothing left to do for a delete."""
    bench = Bench(tmp_path)
    bench.apply(person(), person(SAM))

    run = bench.apply(
        person(jobTitle="Engineer"),
        rules=[Rule("PUT", answered(404)), Rule("DELETE", answered(404, done=True))],
    )

    assert results(run) == {str(JANE): "conflict", str(SAM): "skipped"}
    assert set(bench.recorded().entities) == {JANE}


def test_a_row_that_does_not_say_who_it_is_is_looked_at(tmp_path: Path) -> None:
    """Lists may be brief; a match is never decided on what a row does not show."""
    bench = Bench(tmp_path)
    brief = Rule("GET", shown_without("workEmailAddress1"), nth=1)

    run = bench.apply(person(), meanwhile=jane_is_made, rules=[brief])

    assert only(run).result == "conflict"
    assert bench.wire.count() == {"GET": 2}


def test_a_row_that_is_gone_when_looked_at_decides_nothing(tmp_path: Path) -> None:
    """The list shows who may be her, and a look does not: made now, she may be there twice (M8)."""
    bench = Bench(tmp_path)
    rules = [Rule("GET", shown_without("workEmailAddress1"), nth=1), Rule("GET", answered(404), nth=1)]

    run = bench.apply(person(), meanwhile=jane_is_made, rules=rules)

    assert only(run).result == "conflict"
    assert bench.wire.writes() == []


def test_a_search_that_may_have_missed_rows_decides_nothing(tmp_path: Path) -> None:
    """Fail closed: a list that changed while it was read is not "nobody like it exists"."""
    bench = Bench(tmp_path)

    async def a_crowd(client: EntityClient) -> None:
        for number in range(25):
            body = {**make_create_body(person()), "workEmailAddress1": f"{number}.jane@example.com"}
            await client.contacts.create(body, workspace="AB12")

    def one_more(body: dict[str, Any]) -> None:
        body["status"] = body["status"].replace("21 to 25 of 25", "21 to 25 of 26")

    run = bench.apply(person(), meanwhile=a_crowd, rules=[Rule("GET", edited(one_more))])

    assert only(run).result == "failed"
    assert "it is not known whether it exists" in only(run).what
    assert bench.wire.writes() == []
    assert results(bench.apply(person())) == {str(JANE): "applied"}


def test_no_value_of_a_person_is_in_an_outcome(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person())

    async def canary(client: EntityClient) -> None:
        await edit(client, "jane@example.com", firstName="canary")

    run = bench.apply(person(firstName="Janet"), meanwhile=canary)

    assert only(run).result == "conflict"
    assert "canary" not in repr(run)
