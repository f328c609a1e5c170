"""Claims about recipients: what an address or a tag stands for, each person once, and nobody by accident."""

import pytest
from core.build import contact, desired
from hypothesis import given
from hypothesis import strategies as st

from reconciler.errors import Refused
from reconciler.messaging.recipients import (
    check_recipient_count,
    contact_address_keys,
    missing_channels,
    names_manifest_entity,
    recipient_key,
    resolve_recipients,
)
from reconciler.model.documents import Controls, Place

HERE = Place("--to")

NIGHT = Controls(tags={"rota": "night"})
TEAM = desired(
    contact("ops/jane", controls=NIGHT),
    contact("ops/sam", controls=NIGHT),
    contact("lab/max", controls=NIGHT),
    contact("ops/ada", controls=Controls(tags={"rota": "day"})),
)


def asked(*texts: str, workspace: str | None = None) -> tuple[list[str], tuple[str, ...], list[str]]:
    """Addresses, plain recipients and problems."""
    found = resolve_recipients([(text, HERE) for text in texts], TEAM, workspace)
    return list(found.people), found.plain, [one.what for one in found.problems]


def test_a_tag_stands_for_the_contacts_that_carry_it() -> None:
    """All of them, or those of the workspace that is named."""
    assert asked("tag:rota=night")[0] == ["contact/ops/jane", "contact/ops/sam", "contact/lab/max"]
    assert asked("tag:rota=night", workspace="lab")[0] == ["contact/lab/max"]
    assert asked("tag:rota=day", workspace="lab")[2] == ["tag:rota=day: no contact in lab has this tag."]


def test_each_recipient_is_meant_once() -> None:
    """At most one arrival each, however often and however written."""
    people, plain, problems = asked(
        "contact/ops/sam",
        "tag:rota=night",
        "+61 491 570 156",
        "61491570156",
        "A@example.com",
        "a@example.com",
    )

    assert people == ["contact/ops/sam", "contact/ops/jane", "contact/lab/max"]
    assert plain == ("+61 491 570 156", "A@example.com")
    assert problems == []


def test_all_mistakes_are_told_at_once() -> None:
    wrong = (
        "contact/ops/jan",
        "contact/ops/jane@9A07",
        "device/ops/jane/phone",
        "tag:rota",
        "tag:",
        "jane",
        "@",
        "+1",
    )

    assert len(asked(*wrong, "+61491570156")[2]) == len(wrong)


def test_the_nearest_name_is_looked_for_twenty_times() -> None:
    """Each name is compared with all of them: a file of wrong names would take minutes."""
    found = resolve_recipients(
        [(f"contact/ops/j-a{'-' * number}ne", HERE) for number in range(30)], TEAM, None
    )

    assert len(found.problems) == 30
    assert sum("did you mean contact/ops/jane?" in one.next for one in found.problems) == 20


@given(st.from_regex(r"\+?[0-9]{3,15}", fullmatch=True), st.sampled_from([" ", "-", "(", ")", "."]))
def test_a_number_is_the_same_with_signs_between_its_digits(number: str, sign: str) -> None:
    """People write one number in many ways; it is one phone."""
    assert recipient_key(sign.join(number)) == recipient_key(number) == number.removeprefix("+")
    assert not names_manifest_entity(number)


def test_an_address_of_the_service_is_not_ours() -> None:
    """An MRI and an e-mail address go out as they are, a slash in them or not."""
    assert not any(
        map(names_manifest_entity, ("Jane_Doe.1@Contact.example.com", "a/b@example.com", "+61491570156"))
    )
    assert all(
        map(
            names_manifest_entity,
            ("contact/ops/jane", "contcat/ops/jane", "contact/ops/jane@9A07", "tag:rota=night", "tag:"),
        )
    )


def test_somebody_is_reached_by_one_of_the_channels() -> None:
    """Where a message has several, one of them is enough; what only the service knows is not judged."""
    mail = {"workEmailAddress1": "Jane.Doe@example.com"}

    assert missing_channels(mail, ("sms",)) == "mobile number"
    assert missing_channels(mail, ("sms", "email")) == ""
    assert missing_channels({}, ("sms", "email")) == "mobile number and no e-mail address"
    assert missing_channels({"workPhone1": "+61391570156"}, ("voice",)) == ""
    assert missing_channels({"workPhone1": "+61391570156"}, ("sms",)) == "mobile number"
    assert missing_channels({}, ()) == ""
    assert contact_address_keys(mail) == {"jane.doe@example.com"}


def test_many_recipients_want_their_number() -> None:
    check_recipient_count(25, 25, 0)
    check_recipient_count(30, 25, 30)
    for allowed in (0, 29):
        with pytest.raises(Refused) as raised:
            check_recipient_count(30, 25, allowed)
        assert "--allow-recipients 30" in raised.value.next


def test_a_number_of_a_contact_is_the_one_that_is_written_with_a_plus() -> None:
    """Both name one telephone: she would get the message twice."""
    fields = {"workMobilePhone1": "0491 570 156", "workCountry": "Australia"}

    assert (
        contact_address_keys(fields) == {recipient_key("+61 491 570 156")} == {recipient_key("61491570156")}
    )


def test_two_mailboxes_are_two_recipients() -> None:
    assert recipient_key("strau\u00df@example.com") != recipient_key("strauss@example.com")
    assert recipient_key("Jane@Example.com") == recipient_key("jane@example.com")
