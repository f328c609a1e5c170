import asyncio
from pathlib import Path

from engine.bench import JANE, SAM, ZOE, Bench, edit, only, person, phone, results, upload
from msgspec import structs
from wire import Rule, shown_without

from reconciler.model.address import contact_address, device_address
from reconciler.model.documents import Controls
from reconciler.service.client import EntityClient

MANY = [contact_address("ops", f"person-{number}") for number in range(25)]


def test_what_was_applied_needs_nothing_more(tmp_path: Path) -> None:
    """Law 2: after a faultless apply the plan is empty, and a second apply writes nothing."""
    bench = Bench(tmp_path)
    entities = (person(), person(SAM, custom__badge="7"), phone(), upload())

    first = bench.apply(*entities)
    second = bench.apply(*entities)

    assert (first.exit_code, first.outcome, first.stopped) == (0, "done", "")
    assert set(results(first).values()) == {"applied"}
    assert all(outcome.what == "" for outcome in first.outcomes)
    assert len(bench.live()) == 2
    assert second.outcomes == ()
    assert bench.wire.writes() == []


def test_a_create_takes_two_calls_and_the_first_one_three(tmp_path: Path) -> None:
    """The number of calls is the time: a lookup and a POST, whose answer is the read-back."""
    bench = Bench(tmp_path)

    run = bench.apply(*[person(address) for address in MANY])

    assert bench.wire.count() == {"GET": 25 + 1, "POST": 25}
    assert run.calls["POST"] == 25


def test_a_device_takes_two_calls_and_the_first_one_three(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person())

    bench.apply(person(), phone())

    assert bench.wire.count() == {"GET": 1 + 1, "POST": 1}


def test_an_update_takes_three_calls(tmp_path: Path) -> None:
    """A look, a PUT, a look."""
    bench = Bench(tmp_path)
    bench.apply(*[person(address) for address in MANY])

    run = bench.apply(*[person(address, jobTitle="Engineer") for address in MANY])

    assert set(results(run).values()) == {"applied"}
    assert bench.wire.count() == {"GET": 50, "PUT": 25}


def test_a_delete_takes_four_calls_and_its_devices_along(tmp_path: Path) -> None:
    """A look, a DELETE, a look that has to find nothing, and the list that has to say the same (M8)."""
    bench = Bench(tmp_path)
    bench.apply(person(), phone(), phone(name="tablet"), person(SAM))

    run = bench.apply(person(SAM))

    assert results(run) == {str(JANE): "applied"}
    assert bench.wire.count() == {"GET": 3, "DELETE": 1}
    assert set(bench.recorded().entities) == {SAM}
    assert [body["firstName"] for body in bench.live()] == ["Sam"]


def test_one_device_and_one_resource_can_be_deleted(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person(), phone(), phone(name="tablet"), upload(), upload("other"))

    run = bench.apply(person(), phone(), upload())

    assert set(results(run).values()) == {"applied"}
    assert bench.live()[0]["devices"][0]["deviceName"] == "pixel"
    assert [body["name"] for body in bench.live("resources")] == ["staff.csv"]
    assert bench.changes(person(), phone(), upload()) == []


def test_custom_fields_are_read_back_where_the_answer_to_a_create_hides_them(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    bench.apply(person(custom__badge="7"))

    assert bench.recorded().entities[JANE].shown["custom.badge"] == "7"
    assert bench.changes(person(custom__badge="7")) == []


def test_fields_that_nobody_declared_survive_an_update(tmp_path: Path) -> None:
    """Law 9: also fields that this program has never heard of, and custom fields of others."""
    bench = Bench(tmp_path)
    bench.apply(person())
    custom = [{"fieldName": "Locker", "fieldValue": "12", "searchKey": "custom_locker"}]
    nested = {"kind": ["odd", {"deep": True}]}

    async def by_hand(client: EntityClient) -> None:
        await edit(client, "jane@example.com", division="North", futureField=nested, customFields=custom)

    run = bench.apply(person(jobTitle="Engineer", custom__badge="7"), meanwhile=by_hand)

    assert results(run) == {str(JANE): "applied"}
    body = bench.live()[0]
    assert (body["division"], body["jobTitle"], body["futureField"]) == ("North", "Engineer", nested)
    assert {field["fieldName"]: field["fieldValue"] for field in body["customFields"]} == {
        "Locker": "12",
        "badge": "7",
    }


def test_a_device_that_was_disabled_meanwhile_stays_disabled(tmp_path: Path) -> None:
    """A PUT with the status of the plan would switch it on again, and its pushes are charged."""
    bench = Bench(tmp_path)
    bench.apply(person(), phone(status="ACTIVE"))
    device_id = bench.recorded().entities[device_address("ops", "jane", "pixel")].remote_id

    async def two_failures(_: EntityClient) -> None:
        await bench.push(device_id, "fail")
        await bench.push(device_id, "fail")

    run = bench.apply(person(), phone(status="ACTIVE", pushToken="another"), meanwhile=two_failures)

    assert run.exit_code == 0
    assert bench.wire.count()["PUT"] == 1
    assert b'"Disabled"' in next(body for body in bench.wire.bodies if b"another" in body)
    assert bench.live()[0]["devices"][0]["status"] == "Disabled"


def test_no_secret_reaches_the_disk(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    bench.apply(person(password="canary-password"), phone(pushToken="canary-token"))
    again = bench.apply(person(password="canary-password"), phone(pushToken="canary-token"))

    assert again.outcomes == ()
    for file in tmp_path.iterdir():
        assert b"canary" not in file.read_bytes()


def test_parents_come_before_children_and_deletes_last(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person(ZOE))

    bench.apply(person(), phone(), upload())

    kinds = [path.rsplit("/", 2)[-1] for method, path in bench.wire.sent if method == "POST"]
    assert kinds == ["resources", "contacts", "devices"]
    assert bench.wire.writes()[-1][0] == "DELETE"


def test_what_exists_is_adopted_without_a_write(tmp_path: Path) -> None:
    """A lost store never makes a duplicate: who exists is asked of the service."""
    bench = Bench(tmp_path)
    bench.apply(person(), phone(), upload())
    for file in tmp_path.glob("store.db*"):
        file.unlink()

    run = bench.apply(person(), phone())

    assert (run.adopted, run.outcomes) == (2, ())
    assert bench.wire.writes() == []
    assert set(bench.recorded().entities) == {JANE, device_address("ops", "jane", "pixel")}


def test_protection_is_remembered_after_the_create(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    guarded = structs.replace(person(), controls=Controls(protect=True))

    bench.apply(guarded)

    assert bench.recorded().entities[JANE].protected
    assert bench.changes() == []


def test_a_rename_of_a_contact_takes_its_record_along(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person())
    new = contact_address("ops", "jane-roe")
    renamed = structs.replace(
        person(jobTitle="Engineer"), address=new, controls=Controls(renamed_from="jane")
    )

    run = bench.apply(renamed)

    assert results(run) == {str(new): "applied"}
    assert set(bench.recorded().entities) == {new}
    assert len(bench.live()) == 1


def test_what_else_moved_during_an_update_is_said(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person(department="Night"))

    run = bench.apply(
        person(department="Night", jobTitle="Director"),
        rules=[Rule("GET", shown_without("department"), nth=2)],
    )

    assert only(run).what == "somebody else changed at the same time: department."


def test_a_field_that_stays_though_it_was_cleared_is_named(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.apply(person(jobTitle="Engineer"))

    run = bench.apply(person(jobTitle=""))

    assert only(run).result == "applied"
    assert only(run).what == ""
    assert "jobTitle" not in bench.live()[0]


def test_many_changes_share_a_few_workers(tmp_path: Path) -> None:
    """A task for each of 100,000 changes would be memory for nothing."""
    bench = Bench(tmp_path, concurrency=3)
    most = 0

    def watch(outcome: object) -> None:
        nonlocal most
        most = max(most, len(asyncio.all_tasks()))
        bench.heard.append(outcome)  # type: ignore[arg-type]  # the engine gives nothing but outcomes

    bench.on_outcome = watch
    bench.apply(*[person(address) for address in MANY])

    assert most < 10
