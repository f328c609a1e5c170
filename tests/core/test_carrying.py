"""Secrets that nobody declares: which shown value may be one, and what a PUT does with it."""

from collections.abc import Iterator
from typing import Any

import pytest
from core.build import PHONE, at, device, phone

from reconciler.core.compare.bodies import (
    MASKS,
    find_lost_secrets,
    find_shared_secrets,
    find_unusable_secrets,
    make_update_body,
    why_not_secret,
)
from reconciler.model.address import Address
from reconciler.model.documents import Controls, Place
from reconciler.model.kind import Kind
from reconciler.model.kinds import KINDS
from reconciler.model.plans import FieldChange, Update
from reconciler.model.profile import FieldRow, KindRow, build_own_kinds
from reconciler.model.snapshots import Entity

TOKEN = "fXk2:APA91bH-4q_Zr8sT0uVw7yX3z5A6cD9eF1gH2iJ4kL"
APNS = "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad"
BODY: dict[str, Any] = {**PHONE, "id": "D1", "status": "ACTIVE", "pushToken": TOKEN}


def undeclared(controls: Controls = Controls(), **more: str) -> Entity:  # noqa: B008 - a frozen value
    whole = device("ops/jane/phone", more, controls=controls)
    fields = {path: value for path, value in whole.fields.items() if path != "pushToken"}
    return Entity(whole.address, fields, whole.place, controls)


def renamed(entity: Entity, *paths: str) -> Update:
    changes = tuple(FieldChange(path, None, None, "declared") for path in paths or ("deviceName",))
    return Update(entity.address, "f:1", "D1", changes)


def why_not(body: dict[str, Any], entity: Entity | None = None) -> list[str]:
    entity = entity or undeclared(deviceName="New")
    return [one.why for one in find_unusable_secrets(body, entity, renamed(entity))]


@pytest.mark.parametrize(
    "value",
    [
        TOKEN,
        APNS,
        APNS.upper(),
        "<740f4707 bebcf74f 9b7c25d4 8e335894 5f6aa01d a5ddb387 462c7eaf 61bb78ad>",
        "ExponentPushToken-xxYz12abCD34efGH",
        "token-of-the-phone",
        "a-Xx-xX-token-000001",
        "ExponentPushToken[xxYz12abCD34efGH]",
        "https://db5.notify.windows.com/?token=AwYAAA%2bkQ-__-Zr8%3d%3d",
        "fXk2:APA91b---q__Zr8sT0uVw7yX3z5",
        "secret-device-token-1",
        "the-private-token-of-jane",
        "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.MEUCIQDw",
    ],
)
def test_what_may_be_a_token_is_carried(value: str) -> None:
    """A false alarm would leave a device alone that nothing is wrong with."""
    assert why_not_secret(value) == ""
    assert why_not({**BODY, "pushToken": value}) == []


@pytest.mark.parametrize(
    "value",
    [
        *[one.example for one in MASKS],
        *("****", "*" * 40, "************c9f1", "c9f1************", "abcd****wxyz1234"),
        *("xxxx1234", "XXXXXXXXXXXX1234", "1234xxxxxxxx", "xxxxxxxxxxxxxxxx", "XXXX-XXXX-1234"),
        *(
            "••••••••",
            "•••• •••• 1234",
            "●●●●●●●●1234",
            "…abcd1234",
            "abcd1234…",
            "abcd1234...",
            "fXk2...gH2i",
        ),
        *("########1234", "????????", "----------------", "________", "0000000000000000", "........"),
        *("<hidden>", "[REDACTED]", "(not shown)", "{masked}", "<redacted: 12 characters>", "${PUSH_TOKEN}"),
        *(
            "REDACTED",
            "redacted",
            "hidden",
            "MASKED",
            "Not available",
            "NOT_AVAILABLE",
            "not-shown",
            "pushToken",
        ),
        *("null", "None", "undefined", "placeholder", "string", "WITHHELD", "[Filtered]", "n/a", "-"),
        *("sha256:9f86d081884c7d659a2feaa0c55ad015", "secret:withheld", "$2b$12$abcdefghijklmnopqrstuv"),
        *("token-hidden", "token_not_available", "PUSH-TOKEN-REDACTED", "n/a-n/a-n/a", "hidden-by-policy"),
        *("[hidden]abc12345", "(hidden)1234", "<masked>1234", "token[redacted]", "abcd-(masked)-wxyz"),
        *("--------1234", "________1234", "1234========", "abcd~~~~~~~~", "abcdXXXXXXXXXXXX1234"),
        *("jetón-verborgen-1", "\u3000\u3000\u3000\u300012345678", "token|hidden|1234", "abcd\\u2022wxyz"),
        *("1234", "c9f1", "abc1234", " ", "\t", "ab cd ef gh ij kl"),
    ],
)
def test_what_stands_for_a_token_is_never_sent(value: str) -> None:
    """Sent back, it would be the token, and nobody would be reached by that phone again."""
    assert why_not_secret(value)
    assert len(why_not({**BODY, "pushToken": value})) == 1


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        [],
        {},
        ["token"],
        {"value": "token"},
        True,
        False,
        0,
        12345,
        123456789012,
        1e300,
        12345678.25,
    ],
)
def test_a_token_that_is_no_text_is_not_there(value: object) -> None:
    """The specification shows no GET of a device; nothing of the kind is a token."""
    assert len(why_not({**BODY, "pushToken": value})) == 1


def test_a_body_without_the_token_is_not_put_back() -> None:
    """A PUT removes what it leaves out."""
    assert why_not({key: value for key, value in BODY.items() if key != "pushToken"}) == ["is not shown"]


def test_no_reason_shows_the_value() -> None:
    """What looks like a mask may be somebody's token."""
    assert all(one.example not in one.says for one in MASKS)


def test_a_value_that_several_people_show_is_no_ones_token() -> None:
    """A service that shows the same text for all of them shows none; two may hand a phone on."""
    two = [phone(f"D{at}", f"C{at}", pushToken=TOKEN) for at in range(2)]
    same_person = [phone(f"E{at}", "C1", pushToken=TOKEN) for at in range(5)]
    third = phone("D2", "C2", pushToken=TOKEN)
    others = [phone(f"F{at}", f"E{at}", pushToken=f"{TOKEN}{at}") for at in range(4)]
    entity = undeclared(deviceName="New")

    assert find_shared_secrets([*two, *same_person]) == frozenset()
    assert find_shared_secrets([*two, third]) == {TOKEN}
    assert find_shared_secrets([*two, third, *others]) == frozenset(), "a phone that three people share"
    (unusable,) = find_unusable_secrets(BODY, entity, renamed(entity), frozenset({TOKEN}))
    assert (unusable.path, unusable.why) == ("pushToken", "is the same for several of them")


def test_a_put_carries_the_token_that_was_just_read() -> None:
    """To the character: the device stays reachable."""
    entity = undeclared(deviceName="New")

    body = make_update_body(BODY, entity, renamed(entity))

    assert (body["pushToken"], body["deviceName"]) == (TOKEN, "New")


@pytest.mark.parametrize("shown", ["****", "", None, "REDACTED"])
def test_a_declared_token_stands_in_for_a_mask(shown: object) -> None:
    """Declared it is ours: it is sent, and never the mask that a look shows."""
    entity = device("ops/jane/phone", deviceName="New", pushToken=TOKEN)

    assert why_not({**BODY, "pushToken": shown}, entity) == []
    assert make_update_body({**BODY, "pushToken": shown}, entity, renamed(entity))["pushToken"] == TOKEN


def test_a_declared_token_does_not_overwrite_what_a_look_shows() -> None:
    """What a plan did not show is not written: somebody has set another one since."""
    entity = device("ops/jane/phone", deviceName="New", pushToken="old-token-of-jane")

    assert make_update_body(BODY, entity, renamed(entity))["pushToken"] == TOKEN


def test_an_ignored_token_is_carried_and_never_stands_in() -> None:
    """meta.ignore leaves it to whoever sets it, and an undo has digests there."""
    entity = device("ops/jane/phone", controls=Controls(ignore=frozenset({"pushToken"})), deviceName="New")

    assert make_update_body(BODY, entity, renamed(entity))["pushToken"] == TOKEN
    assert why_not({**BODY, "pushToken": "****"}, entity) == ["is shorter than a secret can be"]


@pytest.mark.parametrize("after", [None, "", "****", "another-token-000001", TOKEN.lower()])
def test_a_token_that_is_not_shown_as_it_was_is_lost(after: object) -> None:
    """The read-back is the only witness: nothing keeps the token."""
    entity = undeclared(deviceName="New")

    assert find_lost_secrets(BODY, {**BODY, "pushToken": after}, entity, renamed(entity)) == ("pushToken",)
    assert find_lost_secrets(BODY, BODY, entity, renamed(entity)) == ()


def test_a_token_that_is_changed_is_judged_by_its_own_read_back() -> None:
    """It is in the change, so it is declared."""
    entity = device("ops/jane/phone", pushToken="new-token-of-jane")

    assert find_lost_secrets(BODY, {**BODY, "pushToken": "x"}, entity, renamed(entity, "pushToken")) == ()
    assert at("device/ops/jane/phone") == entity.address


@pytest.fixture
def gate() -> Iterator[Kind]:
    """A kind of a project's own: a secret in a group that is needed, and one of its own that is not."""
    row = KindRow(
        identity=("name",),
        fields={
            "name": FieldRow(required=True),
            "door": FieldRow(type="group"),
            "door.side": FieldRow(),
            "door.code": FieldRow(secret=True, required=True),
            "hook": FieldRow(secret=True),
            "password": FieldRow(secret=True, write_only=True, required=True),
        },
    )
    KINDS.bring(build_own_kinds({"gate": row}))
    yield KINDS["gate"]
    KINDS.bring(())


GATE = {
    "name": "North",
    "door": {"side": "left", "code": TOKEN, "colour": "red"},
    "hook": "invented-hook-0001",
}


def of_gate(**fields: str) -> Entity:
    return Entity(Address("gate/ops/north"), {"name": "North", **fields}, Place("ops.yaml", 4))


def test_what_holds_of_a_push_token_holds_of_every_secret_that_is_shown(gate: Kind) -> None:
    """By the row of the field and not by the kind: what is never shown cannot be carried."""
    assert gate.readable_secrets == {"door.code", "hook"}
    assert gate.needed_to_create == ("door.code",)


def test_a_secret_of_a_group_is_carried_with_all_that_stands_there(gate: Kind) -> None:
    """The rest of the group is somebody else's too."""
    entity = of_gate(**{"door.side": "right", "password": "declared"})
    change = renamed(entity, "door.side")

    body = make_update_body(GATE, entity, change)

    assert body["door"] == {"side": "right", "code": TOKEN, "colour": "red"}
    assert body["hook"] == "invented-hook-0001"
    assert list(find_unusable_secrets(GATE, entity, change)) == []
    gone = {**GATE, "door": {"side": "right"}}
    assert find_lost_secrets(GATE, gone, entity, change) == ("door.code",)
    assert gate.name == "gate"


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({**GATE, "door": {"side": "left"}}, ["door.code"]),
        ({**GATE, "door": {"code": "****"}}, ["door.code"]),
        ({**GATE, "hook": "********0001"}, ["hook"]),
        ({key: one for key, one in GATE.items() if key != "hook"}, []),
        ({"name": "North"}, ["door.code"]),
    ],
)
def test_a_secret_that_is_not_needed_may_not_be_there(
    gate: Kind, body: dict[str, Any], paths: list[str]
) -> None:
    """Nothing is lost of what is not set; a mask in its place is a loss all the same."""
    entity = of_gate(**{"door.side": "right"})

    found = [one.path for one in find_unusable_secrets(body, entity, renamed(entity, "door.side"))]

    assert found == paths
    assert gate.name == "gate"
