"""Whom the rows of a resource address."""

import pytest

from reconciler.errors import InputError
from reconciler.messaging.recipients import resource_recipients

CSV = (
    b'\xef\xbb\xbfname,mobile,mail\r\n"Doe,\nJane",+61491570156,jane@example.com\r\n'
    b"Sam,,sam@example.com\r\n\r\nTwin,+61491570156\r\n"
)
JSON = b'[{"mobile": "+61491570156", "mail": null}, {"mobile": 61491570157}, {"mail": "sam@example.com"}]'


@pytest.mark.parametrize(
    ("data", "mime_type", "people"),
    [
        (CSV, "text/csv", ("+61491570156", "sam@example.com")),
        (JSON, "application/json", ("+61491570156", "61491570157", "sam@example.com")),
    ],
)
def test_of_each_row_counts_the_first_column_that_is_filled(
    data: bytes, mime_type: str, people: tuple[str, ...]
) -> None:
    """The same address twice is one recipient; an empty row is nobody."""
    assert resource_recipients(data, mime_type, {"sms": "mobile", "email": "mail"}) == people


@pytest.mark.parametrize(
    ("data", "mime_type", "column", "words"),
    [
        (CSV, "text/csv", "mobil", "no column 'mobil'"),
        (CSV, "text/plain", "mobile", "of type text/plain"),
        (b"name,mobile\n", "text/csv", "mobile", "has 0 rows"),
        (b"name,mobile\ncanary,\n", "text/csv", "mobile", "empty in every row"),
        (b"a\ncanary,b\n", "text/csv", "a", "cannot be read as rows"),
        (b'a\n"canary\n', "text/csv", "a", "cannot be read as rows"),
        (b"\xff", "text/csv", "a", "cannot be read as rows"),
        (b'{"a": "canary"}', "application/json", "a", "cannot be read as rows"),
        (b'[{"a": ["canary"]}]', "application/json", "a", "cannot be read as rows"),
    ],
)
def test_what_addresses_nobody_is_refused_without_a_cell(
    data: bytes, mime_type: str, column: str, words: str
) -> None:
    """A misspelt column would reach nobody, and be accepted; rows are people's data."""
    with pytest.raises(InputError, match=words) as refused:
        resource_recipients(data, mime_type, {"sms": column})

    assert "canary" not in f"{refused.value} {refused.value.next}"
    assert "nothing was sent" in str(refused.value) or "of type" in str(refused.value)


@pytest.mark.parametrize(
    ("channel", "column", "words"),
    [
        ("email", "week", "column 'week' has no e-mail address in it"),
        ("sms", "mail", "column 'mail' has no mobile number in it"),
        ("voice", "name", "column 'name' has no phone number in it"),
    ],
)
def test_a_column_of_other_things_is_refused(channel: str, column: str, words: str) -> None:
    """It would count as many people as it has rows, be accepted, and reach nobody."""
    data = b"week,name,mail\n1,canary,canary@example.com\n2,Sam,\n"

    with pytest.raises(InputError, match=words) as refused:
        resource_recipients(data, "text/csv", {channel: column})

    assert "canary" not in f"{refused.value} {refused.value.next}"


def test_one_cell_of_the_right_form_makes_the_column_the_right_one() -> None:
    """What stands in the others is the service's to judge: nobody else goes without the message for it."""
    data = b"mobile\nunknown\n+61 491 570 156\n"

    assert resource_recipients(data, "text/csv", {"sms": "mobile"}) == ("unknown", "+61 491 570 156")
