"""Devices whose push token nobody declares, through the real client: carried, verified, or left alone."""

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from engine.bench import SAM, ZOE, Bench, Shows, edit, only, person, phone, results
from msgspec import structs
from wire import Rule, edited, lost_after

from reconciler.core.compare.bodies import make_create_body
from reconciler.model.encoding import encode_json
from reconciler.model.snapshots import Entity
from reconciler.service.client import EntityClient

CANARY = "live-token-canary-0001"
SHOWN = ("shown", "masked", "omitted")


def bare(entity: Entity | None = None, **more: str) -> Entity:
    """A declared device without a push token."""
    whole = entity or phone()
    fields = {path: value for path, value in whole.fields.items() if path != "pushToken"}
    return structs.replace(whole, fields={**fields, **more})


def with_phones(folder: Path, *names: str, shows: Shows = "shown") -> Bench:
    """A bench with Jane, who is ours, and devices that somebody else has made."""
    bench = Bench(folder, shows=shows)
    bench.apply(person())

    async def make() -> None:
        async with bench.client() as client:
            (jane,) = await client.contacts.list(workspace="AB12")
            for name in names or ("pixel",):
                body = make_create_body(phone(name=name, pushToken=f"{CANARY}-{name}"))
                await client["device"].create(body, workspace="AB12", parent=jane.remote_id)

    asyncio.run(make())
    return bench


def tokens(bench: Bench) -> list[str]:
    """The tokens that the service really has, whatever it shows."""

    async def work() -> list[str]:
        async with bench.client() as client:
            rows = await client.contacts.list(workspace="AB12")
            whole = [await client.contacts.get(row.remote_id, workspace="AB12") for row in rows]
        return [str(one.get("pushToken")) for body in whole for one in body.body["devices"]]

    return asyncio.run(work())


def put_bodies(bench: Bench) -> list[dict[str, Any]]:
    pairs = zip(bench.wire.sent, bench.wire.bodies, strict=True)
    return [json.loads(body) for (method, _), body in pairs if method == "PUT"]


def test_an_update_carries_the_token_that_nobody_declares(tmp_path: Path) -> None:
    """A PUT replaces everything: what the look right before it shows goes along, and is there afterwards."""
    bench = with_phones(tmp_path)

    run = bench.apply(person(), bare(deviceModel="Pixel 9"))

    assert only(run).result == "applied"
    assert [one["pushToken"] for one in put_bodies(bench)] == [f"{CANARY}-pixel"]
    assert tokens(bench) == [f"{CANARY}-pixel"]
    assert bench.changes(person(), bare(deviceModel="Pixel 9")) == []


def test_the_token_of_the_look_counts_and_not_that_of_the_plan(tmp_path: Path) -> None:
    """The app has renewed it between plan and write: a token that is over reaches nobody."""
    bench = with_phones(tmp_path)

    async def renewed(client: EntityClient) -> None:
        (jane,) = await client.contacts.list(workspace="AB12")
        (row,) = await client["device"].list(workspace="AB12", parent=jane.remote_id)
        body = {**row.body, "pushToken": "renewed-token-0002"}
        await client["device"].replace(row.remote_id, body, workspace="AB12", parent=jane.remote_id)

    run = bench.apply(person(), bare(deviceModel="Pixel 9"), meanwhile=renewed)

    assert only(run).result == "applied"
    assert tokens(bench) == ["renewed-token-0002"]


@pytest.mark.parametrize("shows", ["masked", "omitted"])
def test_a_device_whose_token_is_not_shown_is_a_conflict_by_itself(tmp_path: Path, shows: Shows) -> None:
    """Nothing is sent for it, all others are done, and the outcome has its code."""
    bench = with_phones(tmp_path, shows=shows)

    run = bench.apply(person(jobTitle="Lead"), bare(deviceModel="Pixel 9"))

    assert results(run) == {"contact/ops/jane": "applied", "device/ops/jane/pixel": "conflict"}
    conflict = run.outcomes[1]
    assert "[E163]" in conflict.what
    assert "declare pushToken" in conflict.next
    assert run.exit_code == 6
    assert [path for method, path in bench.wire.writes() if "devices" in path] == []


@pytest.mark.parametrize("shows", SHOWN)
def test_a_device_is_adopted_and_left_as_it_is_whatever_a_look_shows(tmp_path: Path, shows: Shows) -> None:
    """Without a change there is no write, and a plan after it is empty."""
    bench = with_phones(tmp_path, shows=shows)

    run = bench.apply(person(), bare())

    assert (run.outcomes, bench.wire.writes()) == ((), [])
    assert "device/ops/jane/pixel" in map(str, bench.recorded().entities)
    assert bench.changes(person(), bare()) == []


@pytest.mark.parametrize("shows", ["shown", "masked"])
def test_a_declared_token_is_written_whatever_a_look_shows(tmp_path: Path, shows: Shows) -> None:
    """Where a mask comes back, it is how the service writes it; it is never sent in the token's place."""
    bench = with_phones(tmp_path, shows=shows)
    declared = phone(pushToken="declared-token-0001")
    bench.apply(person(), declared)

    run = bench.apply(
        person(), structs.replace(declared, fields={**declared.fields, "deviceOS": "Android 16"})
    )

    assert only(run).result == "applied"
    assert put_bodies(bench)[0]["pushToken"] == "declared-token-0001"


Answer = Callable[[dict[str, Any]], None]


def _gone(body: dict[str, Any]) -> None:
    body.pop("pushToken", None)


def _mask(body: dict[str, Any]) -> None:
    body["pushToken"] = "************0001"


def _other(body: dict[str, Any]) -> None:
    body["pushToken"] = "another-token-of-somebody"


def after_the_put(bench: Bench, answer: Answer) -> Rule:
    """From the PUT on, every look at a device shows something else."""
    rule = Rule("GET", edited(answer))
    rule.when = lambda: any(method == "PUT" for method, _ in bench.wire.sent)
    return rule


@pytest.mark.parametrize("answer", [_gone, _mask, _other])
def test_a_token_that_does_not_come_back_is_an_error_of_its_device(
    tmp_path: Path, answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    """The write lost it, or somebody set another one: a person has to look, and no value is shown."""
    caplog.set_level(logging.DEBUG)
    bench = with_phones(tmp_path)

    run = bench.apply(person(), bare(deviceModel="Pixel 9"), rules=[after_the_put(bench, answer)])

    ended = only(run)
    assert (ended.result, run.exit_code) == ("failed", 1)
    assert "[E164]" in ended.what
    assert "at once" in ended.next
    assert [(one.path, one.taken) for one in ended.fields] == [("pushToken", False)]
    assert CANARY not in encode_json(run).decode() + caplog.text
    assert "another-token" not in encode_json(run).decode() + caplog.text


def test_a_lost_token_is_an_error_after_a_lost_answer_too(tmp_path: Path) -> None:
    """The PUT is settled by a look, and that look has to show the token as well."""
    bench = with_phones(tmp_path)
    rules = [Rule("PUT", lost_after), after_the_put(bench, _gone)]

    run = bench.apply(person(), bare(deviceModel="Pixel 9"), rules=rules)

    assert only(run).result == "failed"
    assert "[E164]" in only(run).what
    assert len([one for one in bench.wire.writes() if one[0] == "PUT"]) == 1


def test_a_lost_answer_is_settled_without_the_token(tmp_path: Path) -> None:
    """It was carried, and is there: applied."""
    bench = with_phones(tmp_path)

    run = bench.apply(person(), bare(deviceModel="Pixel 9"), rules=[Rule("PUT", lost_after)])

    assert only(run).result == "applied"
    assert tokens(bench) == [f"{CANARY}-pixel"]


def test_a_kill_between_put_and_read_back_is_settled_without_the_token(tmp_path: Path) -> None:
    """The journal holds no token: the next run looks, sends nothing twice and loses nothing."""
    bench = with_phones(tmp_path)

    async def killed(request: httpx2.Request, send: Any) -> httpx2.Response:
        await send()
        raise KeyboardInterrupt

    with pytest.raises(BaseException):  # noqa: B017, PT011 - the process ends here
        bench.apply(person(), bare(deviceModel="Pixel 9"), rules=[Rule("PUT", killed)])
    bench.pass_(600)
    stored = b"".join(one.read_bytes() for one in tmp_path.iterdir() if one.is_file())

    bench.wire.rules = []
    bench.apply(person(), bare(deviceModel="Pixel 9"))

    assert bench.wire.writes() == []
    assert tokens(bench) == [f"{CANARY}-pixel"]
    assert CANARY.encode() not in stored


def test_one_value_for_everybody_is_nobodys_token(tmp_path: Path) -> None:
    """A service that shows the same text of all devices shows the token of none."""
    bench = Bench(tmp_path)
    people = [person(), person(SAM), person(ZOE)]
    bench.apply(*people)

    async def make() -> None:
        async with bench.client() as client:
            for row in await client.contacts.list(workspace="AB12"):
                body = make_create_body(phone(pushToken="the-token-of-them-all"))
                await client["device"].create(body, workspace="AB12", parent=row.remote_id)

    asyncio.run(make())

    run = bench.apply(*people, bare(deviceModel="Pixel 9"))

    assert only(run).result == "conflict"
    assert "the same for several" in only(run).what


def test_nothing_of_the_token_is_kept_or_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Not in the store, not in a log, not in a report: it is in two requests and nowhere else."""
    caplog.set_level(logging.DEBUG)
    bench = with_phones(tmp_path)

    run = bench.apply(person(), bare(deviceModel="Pixel 9"))
    bench.apply(person())  # the device leaves: `devices:` is still a key of her entry

    assert CANARY not in encode_json(run).decode() + caplog.text
    stored = b"".join(one.read_bytes() for one in tmp_path.iterdir() if one.is_file())
    assert CANARY.encode() not in stored
    assert tokens(bench) == []


def test_an_edit_of_the_contact_leaves_her_devices_alone(tmp_path: Path) -> None:
    """Only the PUT of a device carries a token."""
    bench = with_phones(tmp_path, shows="omitted")

    async def edited_by_hand(client: EntityClient) -> None:
        await edit(client, "jane@example.com", department="Night")

    run = bench.apply(person(jobTitle="Lead"), bare(), meanwhile=edited_by_hand)

    assert only(run).result == "applied"
