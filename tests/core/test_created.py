"""What a create has made, by what it shows: the table of A12, from the outside."""

import pytest

from reconciler.core.comparing.created import is_older, judge_created
from reconciler.core.comparing.taken import reading
from reconciler.model.documents import Fields

MAIL = (("workEmailAddress1",),)
SENT = {
    "firstName": "Nine",
    "lastName": "Example",
    "workEmailAddress1": "p9+night@example.com",
    "workMobilePhone1": "+61491570156",
}
THEIRS = "p9@example.com"


def judged(shown: Fields, *, of_another: bool = False, old: bool = False, sent: Fields = SENT) -> str:
    said = reading("contact", sent, shown, before={}, salt="salt")
    return judge_created("contact", sent, said, shown, keys=MAIL, of_another=of_another, old=old)


def test_an_identity_alone_that_differs_is_written_in_another_way() -> None:
    """Taken for somebody else, she would be made again at each apply."""
    assert judged({**SENT, "workEmailAddress1": THEIRS}) == "rewritten"


@pytest.mark.parametrize("path", ["firstName", "lastName", "workMobilePhone1"])
@pytest.mark.parametrize("shown", ["", "something else"])
def test_one_more_field_that_differs_makes_it_another(path: str, shown: str) -> None:
    """A stranger differs in more than an address."""
    assert judged({**SENT, "workEmailAddress1": THEIRS, path: shown}) == "other"


def test_the_identity_of_another_of_ours_is_hers() -> None:
    """Two answers that changed places between two of the same name."""
    assert judged({**SENT, "workEmailAddress1": THEIRS}, of_another=True) == "other"


def test_what_was_there_before_was_not_made() -> None:
    """An answer that names a stranger of the same name."""
    assert judged({**SENT, "workEmailAddress1": THEIRS}, old=True) == "other"


def test_an_identity_alone_tells_nobody() -> None:
    """Nothing but the address was sent, and another one is shown: nothing is known of it."""
    alone = {"workEmailAddress1": SENT["workEmailAddress1"]}

    assert judged({"workEmailAddress1": THEIRS}, sent=alone) == "other"


def test_a_create_that_lost_a_field_is_the_same() -> None:
    """The field is planned again, and nobody is made again."""
    assert judged({**SENT, "workMobilePhone1": ""}) == "same"


def test_a_hidden_identity_is_taken_for_it_where_nothing_differs() -> None:
    """A service that shows no address of anybody."""
    shown = {path: value for path, value in SENT.items() if path != "workEmailAddress1"}

    assert judged(shown) == "hidden"
    assert judged({**shown, "firstName": "Sam"}) == "other"


@pytest.mark.parametrize(
    ("modified", "seen", "old"),
    [
        ("2026-05-01T10:00:00Z", "2026-05-01T10:00:05Z", False),
        ("2026-05-01T09:59:00Z", "2026-05-01T10:00:05Z", True),
        ("2026-05-01T19:59:00+10:00", "2026-05-01T10:00:05Z", True),
        ("", "2026-05-01T10:00:05Z", False),  # nothing is said of it
        ("2026-05-01T09:59:00Z", "", False),
        ("2026-05-01 09:59", "2026-05-01T10:00:05Z", False),
    ],
)
def test_what_is_older_than_the_request_was_there_before(modified: str, seen: str, *, old: bool) -> None:
    """Both times are the service's own: no clock of this machine is in it."""
    assert is_older(modified, seen, within_s=5.0) == old
