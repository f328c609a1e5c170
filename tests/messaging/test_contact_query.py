"""Which contacts a search means: fields, filters, and what is read of a list."""

import pytest

from reconciler.errors import InputError
from reconciler.messaging import contact_query
from reconciler.messaging.values import ContactQuery

KNOWN = contact_query.searchable_fields(
    {"firstName", "lastName", "status", "workEmailAddress1", "password", "secretAnswer", "username"}
    | {"custom", "messagingOptions", "messagingOptions.sms.primary", "badgeNumber"}
)
ALIASES = {"workEmailAddressPrimary": "workEmailAddress1"}


def query(*shown: str, sort: tuple[str, ...] = (), **filters: str) -> ContactQuery:
    """The query as it is checked."""
    return contact_query.check_contact_query(ContactQuery(filters, shown, sort), KNOWN, ALIASES)


def test_a_field_may_be_named_as_the_service_names_it_in_a_query() -> None:
    """The specification names workEmailAddressPrimary and custom_NAME (4.2)."""
    found = query("custom_shift", workEmailAddressPrimary="doe", custom_employeeId="7", badgeNumber="9")

    assert found.filters == {"workEmailAddress1": "doe", "custom.employeeId": "7", "badgeNumber": "9"}
    assert found.shown == ("username", "firstName", "lastName", "custom.shift")
    assert contact_query.asks_custom_fields(found)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("firstname", "did you mean firstName?"),
        ("jobb", contact_query._OTHERWISE),
        ("custom.", contact_query._OTHERWISE),
        ("custom", contact_query._OTHERWISE),
        ("messagingOptions", contact_query._OTHERWISE),
        ("password", "name another field"),
        ("secretAnswer", "name another field"),
        ("passwort", contact_query._OTHERWISE),
    ],
)
def test_an_unknown_field_is_named_with_the_nearest_one_and_without_its_text(wrong: str, hint: str) -> None:
    """A service ignores a filter that it does not know, and answers everybody. The text may be a secret."""
    for given in (
        ContactQuery({wrong: "canary"}),
        ContactQuery({}, (wrong,)),
        ContactQuery({}, (), (wrong,)),
    ):
        with pytest.raises(InputError) as refused:
            contact_query.check_contact_query(given, KNOWN, ALIASES)

        (problem,) = refused.value.problems
        assert (wrong in problem.what, problem.next) == (True, hint)
        assert "canary" not in f"{problem} {refused.value}"


def test_options_of_a_channel_are_shown_and_not_searched() -> None:
    """The service compares every text of all options with such a filter."""
    path = "messagingOptions.sms.primary"
    asked = contact_query.check_contact_query(ContactQuery({}, (path,)), KNOWN, ALIASES, frozenset({path}))

    assert "messagingoptions" in contact_query.list_fields(asked)
    with pytest.raises(InputError) as refused:
        contact_query.check_contact_query(ContactQuery({path: "x"}), KNOWN, ALIASES, frozenset({path}))
    assert refused.value.problems[0].next == f"show it: --field {path}"


@pytest.mark.parametrize(
    ("shown", "body", "told"),
    [
        ((), {}, False),
        ((), {"mri": "x"}, True),
        (("custom.badge",), {"mri": "x"}, False),
        (("custom.badge",), {"mri": "x", "customFields": []}, True),
        (("messagingOptions.sms.primary",), {"mri": "x", "messagingoptions": []}, False),
        (("messagingOptions.sms.primary",), {"mri": "x", "messagingoptions": [{"channel": "sms"}]}, True),
    ],
)
def test_rows_tell_what_they_show_the_wish_for(
    shown: tuple[str, ...],
    body: dict[str, object],
    told: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """A service that heeds one wish need not heed another; who is shown too briefly is read alone."""
    assert contact_query.provides_fields([body], ContactQuery({}, (*contact_query.ALWAYS, *shown))) is told
    assert contact_query.provides_fields([{}], ContactQuery({"status": "A"}, ("lastName",)))


def test_every_unknown_field_is_named_at_once() -> None:
    """And a field that is given under two names counts as given twice."""
    with pytest.raises(InputError) as refused:
        query("lastname", firstname="x", workEmailAddress1="a", workEmailAddressPrimary="b")

    assert [one.what.split()[0] for one in refused.value.problems] == [
        "firstname",
        "workEmailAddressPrimary",
        "lastname",
    ]


@pytest.mark.parametrize(
    ("filters", "fields", "fit"),
    [
        ({"lastName": "doe"}, {"lastName": "McDoelan"}, True),
        ({"lastName": "doe"}, {"lastName": "Roe"}, False),
        ({"lastName": "doe"}, {}, False),
        ({"lastName": "e\u0301"}, {"lastName": "René"}, True),
        ({"lastName": "doe", "firstName": "j"}, {"lastName": "Doe", "firstName": "Kim"}, False),
        ({"status": "active"}, {"status": "A"}, True),
        ({"status": "A"}, {"status": "D"}, False),
        ({"status": "A"}, {"status": "On leave"}, False),
    ],
)
def test_a_contact_fits_that_contains_every_text(
    filters: dict[str, str],
    fields: dict[str, str],
    fit: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """Without letter case and in any normal form; a status is compared whole."""
    asked = contact_query.check_contact_query(ContactQuery(filters), KNOWN, ALIASES)

    assert contact_query.matches_query(asked, contact_query.searchable_values(fields)) is fit
    assert contact_query.matches_query(asked, {}, frozenset()), (
        "what a brief row does not tell rules nobody out"
    )


def test_secrets_of_a_contact_are_in_no_value() -> None:
    """A service that shows them against its rules shows them to nobody here."""
    shown = contact_query.searchable_values(
        {"firstName": "Jane", "password": "canary", "secretAnswer": "x", "mri": "j.1"}
    )

    assert shown == {"firstName": "Jane", "mri": "j.1"}
