"""Passwords: compared by a slow digest in the store, and by none in a plan."""

import hashlib
import hmac
from pathlib import Path

import pytest
from core.build import contact, desired, live, planned, record, recorded
from core.build import person as live_person
from engine.bench import Bench, person

from reconciler.core import digests
from reconciler.core.compare.normalize import (
    WITHHELD,
    digest_value_for_store,
    mask_password,
    redact_value_for_plan,
)
from reconciler.core.review.saved_plans import seal_plan
from reconciler.model.encoding import encode_json
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Plan, Update
from reconciler.model.snapshots import Desired, Recorded

MAIL = "jane@example.com"
HERE = live(live_person("A1", workEmailAddress1=MAIL))


def _jane(password: str, answer: str) -> Desired:
    return desired(contact("ops/jane", workEmailAddress1=MAIL, password=password, secretAnswer=answer))


def _known(password: str, answer: str) -> Recorded:
    sent = {"workEmailAddress1": MAIL, "password": password, "secretAnswer": answer}
    return recorded(record("contact/ops/jane", "A1", sent))


def _plans(password: str, answer: str) -> list[Plan]:
    """A create, an update where others were sent, and one where nothing is known of them."""
    wanted = _jane(password, answer)
    return [
        planned(wanted, live(), recorded()),
        planned(wanted, HERE, _known("the old one", "another old one")),
        planned(wanted, HERE, recorded()),
    ]


def test_a_plan_is_the_same_whatever_the_password_is() -> None:
    """Then no part of its file, digests and fingerprint included, is a way to try words."""
    one, other = _plans("correct horse", "Rex"), _plans("battery staple", "Fido")

    assert [seal_plan(plan, "1") for plan in one] == [seal_plan(plan, "1") for plan in other]
    assert all(encode_json(plan).count(WITHHELD.encode()) == 2 for plan in one)


@pytest.mark.parametrize(
    ("password", "answer", "changed"),
    [
        ("correct horse", "Rex", []),
        ("battery staple", "Rex", ["password"]),
        ("correct horse", "Fido", ["secretAnswer"]),
    ],
)
def test_another_password_is_a_change_and_the_same_one_is_none(
    password: str, answer: str, changed: list[str]
) -> None:
    """D3: the store remembers what was sent, though the plan does not say it."""
    plan = planned(_jane(password, answer), HERE, _known("correct horse", "Rex"))

    updates = [change for change in plan.changes if isinstance(change, Update)]
    assert [field.path for change in updates for field in change.fields] == changed


def test_the_digest_in_the_store_is_scrypt_over_eight_mebibytes() -> None:
    """Computed here by itself: 128 * N * r bytes and N * r * 2 blocks for each word that somebody tries."""
    inner = "secret:" + hmac.new(b"salt", b"correct horse", "sha256").hexdigest()[:16]
    slow = hashlib.scrypt(
        inner.encode(), salt=b"reconciler secret salt", n=2**13, r=8, p=1, maxmem=2**25, dklen=16
    )

    assert mask_password("correct horse", "salt") == f"secret:scrypt:{slow.hex()}"
    assert 128 * digests.cost * digests.block >= 8 * 1024 * 1024


def test_stores_have_digests_of_their_own() -> None:
    """Words that were tried against one store say nothing about another."""
    assert mask_password("correct horse", "one") != mask_password("correct horse", "two")
    assert mask_password("", "one") == ""


def test_no_quick_digest_of_a_password_reaches_the_disk(tmp_path: Path) -> None:
    """Not in the entities, the journal, the plan of a run, nor in a seal that words could be tried on."""
    bench = Bench(tmp_path)

    bench.apply(person(password="correct horse", secretAnswer="Rex"))

    salt = bench.recorded().salt
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    for word in ("correct horse", "Rex"):
        assert str(mask_password(word, salt)).encode() in kept
        for key in (salt, *(f"token-{number}" for number in range(9))):  # salts of plans
            for quick in (
                hmac.new(key.encode(), word.encode(), "sha256").hexdigest(),
                hashlib.sha256(key.encode() + word.encode()).hexdigest(),
                hashlib.sha256(word.encode()).hexdigest(),
            ):
                assert quick[:16].encode() not in kept


def test_every_write_only_secret_of_every_kind_is_kept_slowly_and_left_out_of_plans() -> None:
    """A new kind or field gets it by its row: nothing else names which fields these are."""
    guessable = {(kind.name, path) for kind in KINDS.values() for path in kind.secret & kind.write_only}

    assert {("contact", "password"), ("contact", "secretAnswer")} <= guessable
    for kind, path in guessable:
        assert digest_value_for_store(kind, path, "Rex", "salt") == mask_password("Rex", "salt")
        assert redact_value_for_plan(kind, path, "Rex", "salt") == WITHHELD
