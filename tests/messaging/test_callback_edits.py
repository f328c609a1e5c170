"""What an edit makes of a callback, and what is shown and proved of its key."""

import pytest
from msgspec import structs

from reconciler.errors import InputError, UnknownAddress
from reconciler.messaging.callback_edits import (
    edit_callback,
    find_field_edits,
    find_untaken_fields,
    select_calls,
)
from reconciler.messaging.values import Callback, CallbackAuth, CallbackCall, CallbackEdit
from reconciler.model.secrets import Secret

KEY = "canary-callback-key"
URL = "https://replies.example.com/"
LIVE = Callback("on-call", URL, CallbackAuth("basicauth", Secret(KEY)), "A1", more={"removeHTML": "enabled"})
NEW = CallbackEdit(url="https://new.example.com/")


def hidden(text: str) -> Callback:
    """The same callback where the service shows this in the place of the key."""
    return structs.replace(LIVE, auth=CallbackAuth("httpheader", Secret(text)))


def test_an_edit_keeps_all_that_it_does_not_name() -> None:
    """A PUT replaces everything: the key, the way it travels and fields without a name of ours too."""
    after = edit_callback(LIVE, NEW)

    assert [(one.field, one.before, one.after) for one in find_field_edits(LIVE, after)] == [
        ("url", URL, "https://new.example.com/")
    ]
    assert structs.replace(after, url=LIVE.url) == LIVE


@pytest.mark.parametrize("live", [hidden(""), hidden("********"), structs.replace(LIVE, auth=None)])
def test_a_key_that_is_not_shown_has_to_be_given_again(live: Callback) -> None:
    """Written without it, the service calls without a key, and our receiver refuses every reply."""
    with pytest.raises(InputError) as refused:
        edit_callback(live, NEW)

    assert "--key-env" in refused.value.next
    given = edit_callback(live, structs.replace(NEW, key=Secret(KEY)))
    assert given.auth is not None
    assert (given.auth.key.reveal(), given.auth.type) == (KEY, "httpheader")
    assert edit_callback(live, structs.replace(NEW, no_key=True)).auth is None


@pytest.mark.parametrize(
    ("edit", "fields"),
    [
        (CallbackEdit(key=Secret("another")), ["key"]),
        (CallbackEdit(key=Secret(KEY)), []),
        (CallbackEdit(key_in="query"), ["auth"]),
        (CallbackEdit(no_key=True), ["auth"]),
        (
            CallbackEdit(retries=False, email="ops@example.com", on_reply=False),
            ["retries", "email", "on_reply"],
        ),
    ],
)
def test_a_key_is_compared_and_never_shown(edit: CallbackEdit, fields: list[str]) -> None:
    found = find_field_edits(LIVE, edit_callback(LIVE, edit))

    assert [one.field for one in found] == fields
    assert KEY not in repr(found)
    assert "another'" not in repr(found)


def test_what_is_not_shown_is_no_evidence_against_a_write() -> None:
    """A key that the service keeps to itself cannot read back; everything else has to."""
    wanted = edit_callback(LIVE, structs.replace(NEW, key=Secret("another"), key_in="header"))

    assert find_untaken_fields(wanted, structs.replace(hidden("****"), url=wanted.url)) == ()
    assert find_untaken_fields(wanted, LIVE) == ("url", "auth", "key")
    assert find_untaken_fields(wanted, structs.replace(wanted, auth=None)) == ("auth",)


CALLS = tuple(
    CallbackCall(one, message, "FAILED") for one, message in (("C1", "M1"), ("C2", "M2"), ("C3", "M1"))
)


def test_calls_are_chosen_by_id_or_by_their_message() -> None:
    assert [one.call_id for one in select_calls(CALLS, (), "M1")] == ["C1", "C3"]
    assert [one.call_id for one in select_calls(CALLS, ("C2", "C1", "C2"), None)] == ["C2", "C1"]


@pytest.mark.parametrize(("ids", "message"), [(("C1", "C9"), None), ((), "M9")])
def test_a_call_that_there_is_not_is_refused(ids: tuple[str, ...], message: str | None) -> None:
    """One wrong id marks nothing: the service refuses them all as well."""
    with pytest.raises(UnknownAddress, match="nothing was written"):
        select_calls(CALLS, ids, message)
