"""Which addresses a run is about: every form of a selector, and every typing mistake."""

import pytest
from core.build import at, contact, desired, device, record, recorded, resource

from reconciler.core.planning.select import Selection, check_selection, list_addresses, narrow_snapshots
from reconciler.errors import UnknownAddress
from reconciler.model.address import Address
from reconciler.model.documents import Controls
from reconciler.model.snapshots import Scope

TAGGED = Controls(tags={"team": "sre", "empty": ""})
ALL = {
    at("contact/ops/jane"): TAGGED.tags,
    at("contact/lab/jane"): {},
    at("device/ops/jane/phone"): {},
    at("resource/ops/staff"): {},
}


def chosen(selection: Selection) -> set[Address]:
    return {address for address, tags in ALL.items() if selection.selects(address, tags)}


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("contact/ops/jane", {"contact/ops/jane"}),
        ("contact/ops/*", {"contact/ops/jane"}),
        ("contact/*/jane", {"contact/ops/jane", "contact/lab/jane"}),
        ("device/ops/*", {"device/ops/jane/phone"}),
        ("*/ops/jane*", {"contact/ops/jane", "device/ops/jane/phone"}),
        ("contact/ops/jan?", {"contact/ops/jane"}),
        ("contact/[ol]*/jane", {"contact/ops/jane", "contact/lab/jane"}),
        ("*", set(ALL)),
        ("kind:device", {"device/ops/jane/phone"}),
        ("workspace:lab", {"contact/lab/jane"}),
        ("tag:team=sre", {"contact/ops/jane"}),
        ("tag:empty=", {"contact/ops/jane"}),
        ("tag:team=", set()),
        ("tag:team=sre2", set()),
        ("kind:dev", set()),
        ("contact/ops", set()),
        ("CONTACT/ops/jane", set()),
    ],
)
def test_each_form_of_a_selector_selects_what_it_names(text: str, addresses: set[str]) -> None:
    """And nothing that merely looks like it."""
    assert chosen(Selection(only=(text,))) == addresses
    assert chosen(Selection(excluded=(text,))) == set(ALL) - addresses


def test_without_selectors_everything_is_selected() -> None:
    assert chosen(Selection()) == set(ALL)


def test_selectors_of_one_kind_add_up_and_exceptions_win() -> None:
    """`--only` twice is either; `--except` takes away from both."""
    both = Selection(only=("workspace:ops", "workspace:lab"), excluded=("kind:device", "contact/lab/*"))

    assert chosen(both) == {"contact/ops/jane", "resource/ops/staff"}


@pytest.mark.parametrize(
    "text", ["jane", "contacts/ops/jane", "kind:", "tag:team", "tag:=sre", "tag:", "host:ops", ""]
)
def test_what_is_no_selector_is_refused(text: str) -> None:
    """A typing mistake would select nothing, or exclude nothing, without a word."""
    with pytest.raises(UnknownAddress) as caught:
        check_selection(Selection(only=(text,)), ALL)

    assert repr(text) in str(caught.value) or text == ""
    assert caught.value.next
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    "text", ["contact/ops/jim", "kind:devices", "workspace:opps", "tag:team=sre2", "contact/ops"]
)
def test_what_selects_nothing_is_refused(text: str) -> None:
    """Also as an exception: somebody believes that it holds something back."""
    for selection in (Selection(only=(text,)), Selection(excluded=(text,))):
        with pytest.raises(UnknownAddress, match="selects nothing"):
            check_selection(selection, ALL)


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("contact/ops/Jane", "contact/ops/jane"),
        ("contacts/ops/jane", "contact/ops/jane"),
        ("device/ops/jane/Phone", "device/ops/jane/phone"),
        ("kind:devices", "kind:device"),
        ("workspace:OPS", "workspace:ops"),
        ("tag:team=SRE", "tag:team=sre"),
    ],
)
def test_a_misspelt_selector_is_answered_with_the_nearest_one(wrong: str, meant: str) -> None:
    """Who types an address at night wants the right one, not advice to look for it."""
    for selection in (Selection(only=(wrong,)), Selection(excluded=(wrong,))):
        with pytest.raises(UnknownAddress) as caught:
            check_selection(selection, ALL)
        assert caught.value.next == f"did you mean {meant}?"


def test_known_addresses_are_the_declared_and_the_recorded() -> None:
    """What left the manifest can be selected by its address, and has no tags any more."""
    want = desired(contact("ops/jane", controls=TAGGED))
    past = recorded(record("contact/ops/jane", "A1"), record("contact/ops/old", "B2"))

    assert list_addresses(want, past) == {"contact/ops/jane": TAGGED.tags, "contact/ops/old": {}}
    check_selection(Selection(only=("contact/ops/old", "tag:team=sre")), list_addresses(want, past))


def test_a_focus_keeps_what_has_to_be_read() -> None:
    """What is selected, the contacts above it, and their scopes; nothing else costs a call."""
    want = desired(
        contact("ops/jane", devices=True),
        device("ops/jane/phone"),
        contact("lab/jane"),
        resource("ops/staff"),
    )
    past = recorded(
        record("contact/ops/old", "B2"), record("device/ops/jane/tab", "D2"), record("contact/lab/old", "C3")
    )

    wanted, remembered = narrow_snapshots(Selection(only=("device/ops/*",)), want, past)

    assert set(wanted.entities) == {"contact/ops/jane", "device/ops/jane/phone"}
    assert wanted.scopes == {Scope("contact", "ops")}
    assert set(remembered.entities) == {"device/ops/jane/tab"}
    assert narrow_snapshots(Selection(), want, past) == (want, past)


def test_a_focus_keeps_the_record_under_the_former_name() -> None:
    """M6: a renamed person whose record was not read would be taken for gone, and made a second time."""
    want = desired(contact("ops/jane-roe", controls=Controls(renamed_from="jane"), devices=True))
    past = recorded(record("contact/ops/jane", "A1"), record("contact/ops/sam", "B2"))

    _, remembered = narrow_snapshots(Selection(only=("contact/ops/jane-roe",)), want, past)

    assert set(remembered.entities) == {"contact/ops/jane"}
