"""What a person has agreed to with a plan: which words it holds, and what may be said beside it."""

import pytest
from msgspec import UNSET, structs
from report import cases

from reconciler.core.planning.fingerprint import fingerprint
from reconciler.core.review.guard import add_consent, choose_consent, list_agreements
from reconciler.errors import ConsentDiffers
from reconciler.model.plans import Consent, Options

FOUR = Consent(deletes=4)
WORDS = {
    "--reactivate": Options(reactivate=("device/ops/jane-doe/phone",)),
    "--create-again": Options(again=("contact/ops/jane-doe",)),
    "--confirm-same": Options(same=("contact/ops/jane-doe",)),
    "--same-service": Options(same_service=True),
}


@pytest.mark.parametrize("name", Consent.__struct_fields__)
def test_every_number_is_listed_with_the_option_that_gives_it(name: str) -> None:
    """A number that a review does not show could be anything."""
    (one,) = list_agreements(add_consent(cases.MIXED, Consent(**{name: 4})))

    assert (one.flag, one.at_most) == (f"--allow-{name.replace('_', '-')}", 4)


@pytest.mark.parametrize("flag", WORDS)
def test_every_word_that_somebody_vouches_with_is_listed(flag: str) -> None:
    """They let a write through that the program would hold back by itself."""
    (one,) = list_agreements(structs.replace(cases.MIXED, options=WORDS[flag]))

    assert (one.flag, one.at_most) == (flag, 0)
    assert one.subjects


def test_what_is_allowed_is_named() -> None:
    """Four deletes are no decision; four names are."""
    plan = add_consent(cases.MIXED, FOUR)
    deleted = tuple(str(one.address) for one in plan.changes if type(one).__name__ == "Delete")

    assert deleted
    assert list_agreements(plan)[0].subjects == deleted


def test_the_fingerprint_covers_the_consent_and_is_as_before_without_any() -> None:
    """People compare fingerprints; and plan files from before there was consent in them stay valid."""
    bare = structs.replace(cases.MIXED, fingerprint=fingerprint(cases.MIXED))

    assert add_consent(bare, Consent()) == bare
    assert bare.consent is UNSET
    agreed = {add_consent(bare, Consent(deletes=number)).fingerprint for number in (3, 4, 5)}
    assert len({*agreed, bare.fingerprint}) == 4


def test_a_saved_plan_is_carried_out_with_its_own_consent() -> None:
    """It may be repeated beside it, as was needed before."""
    plan = add_consent(cases.MIXED, FOUR)

    assert choose_consent(plan, Consent()) == FOUR
    assert choose_consent(plan, FOUR) == FOUR


@pytest.mark.parametrize("beside", [Consent(deletes=5), Consent(deletes=3), Consent(updates=9)])
def test_another_consent_beside_a_saved_plan_is_refused(beside: Consent) -> None:
    """More was not reviewed; less is a doubt, and whoever has one looks again."""
    with pytest.raises(ConsentDiffers, match="--allow-deletes 4") as caught:
        choose_consent(add_consent(cases.MIXED, FOUR), beside)

    assert (caught.value.exit_code, caught.value.error_code) == (7, "E047")
    assert caught.value.next


def test_a_plan_without_any_consent_takes_what_is_said_beside_it() -> None:
    """An undo has none, nor has a plan file from before there was consent in them."""
    assert choose_consent(cases.MIXED, FOUR) == FOUR
