"""Notices: what a plan tells beside its changes (planning rule N1)."""

from core.build import contact, desired, live, planned
from msgspec import structs

from reconciler.model.notices import Notice

TYPO = Notice("value", "contact/ops/jane", "workMobilePhone1 looks improbable.", "correct it", "ops.yaml:4")
OTHER = Notice("value", "contact/ops/adam", "workMobilePhone1 looks improbable.", "correct it", "ops.yaml:9")
WANT = structs.replace(desired(contact("ops/jane"), contact("ops/adam")), notices=(TYPO, OTHER))


def test_warnings_about_declared_values_are_in_the_plan_in_order() -> None:
    """N1: the same notices in the same order, whatever order they were found in."""
    assert planned(WANT, live()).notices == (OTHER, TYPO)


def test_a_notice_about_what_is_not_selected_is_not_shown() -> None:
    """N1: a run about Jane says nothing about Adam."""
    assert planned(WANT, live(), only=("contact/ops/jane",)).notices == (TYPO,)
    assert planned(WANT, live(), excluded=("contact/ops/jane",)).notices == (OTHER,)


def test_a_notice_decides_nothing() -> None:
    """N1: two plans that do the same have the same fingerprint, with notices and without."""
    quiet = structs.replace(WANT, notices=())

    assert planned(WANT, live()).fingerprint == planned(quiet, live()).fingerprint
