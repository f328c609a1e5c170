"""Whom the rows of a resource address."""

import pytest

from reconciler.core.bulk import addressed
from reconciler.errors import InputError

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
    assert addressed(data, mime_type, ["mobile", "mail"]) == people


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
        addressed(data, mime_type, [column])

    assert "canary" not in f"{refused.value} {refused.value.next}"
    assert "nothing was sent" in str(refused.value) or "of type" in str(refused.value)
