"""Many passwords compared at once: few calls of scrypt where nothing changed, and the same plan anyway."""

from collections.abc import Iterator, Mapping

import pytest
from core.build import STORE_SALT, at, contact, desired, live, planned, record, recorded
from core.build import person as live_person
from hypothesis import given
from hypothesis import strategies as some
from msgspec import structs

from reconciler.core import digests
from reconciler.core.compare import password_digests
from reconciler.core.compare.normalize import mask_password
from reconciler.model.documents import Controls
from reconciler.model.plans import Update
from reconciler.model.snapshots import Desired, Recorded

Words = Mapping[str, str]
PEOPLE = tuple(f"p{number:03}" for number in range(8))


@pytest.fixture(autouse=True)
def _as_a_new_process() -> Iterator[None]:
    digests.forget_stretched()
    yield
    digests.forget_stretched()


def wanted(words: Words) -> Desired:
    return desired(*(contact(f"ops/{name}", password=word) for name, word in words.items()))


def left(words: Words) -> Recorded:
    """What a run recorded that sent these words; it knows all of their digests afterwards."""
    return recorded(
        *(record(f"contact/ops/{name}", name, {"password": word}) for name, word in words.items())
    )


def after_a_run(words: Words) -> Recorded:
    """The same with its proofs, as a new process finds it."""
    found = left(words)
    found = structs.replace(
        found, proofs=password_digests.prove_digests(wanted(words).entities, found, parts=2)
    )
    digests.forget_stretched()
    return found


def learnt(want: Desired, known: Recorded, *names: str) -> int:
    """How many calls of scrypt it takes to know what a plan asks for, of these people or of all."""
    asked = [at(f"contact/ops/{name}") for name in names] or want.entities
    before = digests.compute_scrypt.cache_info().misses
    for key, part in password_digests.partition_digests(want.entities, known, asked, parts=2).items():
        if part.asked:
            password_digests.learn_digests(part, known.proofs.get(key, ""), STORE_SALT)
    return digests.compute_scrypt.cache_info().misses - before


def changed(words: Words, known: Recorded) -> set[str]:
    """Whose password the plan sends."""
    there = live(*(live_person(name) for name in words))
    plan = planned(wanted(words), there, known)
    return {change.address.name for change in plan.changes if isinstance(change, Update)}


def part_of(want: Desired, known: Recorded, name: str) -> tuple[str, int]:
    """Which part the password of one person is in."""
    found = password_digests.partition_digests(want.entities, known, [at(f"contact/ops/{name}")], parts=2)
    return next(key for key, part in found.items() if part.asked)


WORDS = {name: f"word of {name}" for name in PEOPLE}


def test_where_nothing_changed_one_call_is_made_for_each_part() -> None:
    """And none for each person: 10,000 people with passwords of their own took a plan two minutes."""
    known = after_a_run(WORDS)

    assert len(known.proofs) == 2
    assert learnt(wanted(WORDS), known) == 2
    assert changed(WORDS, known) == set()
    assert digests.compute_scrypt.cache_info().misses == 2


def test_where_one_changed_only_those_of_its_part_are_compared_by_themselves() -> None:
    """And all of them at once, from the two proofs on."""
    words = {**WORDS, "p003": "another word"}
    known = after_a_run(WORDS)
    key = part_of(wanted(words), known, "p003")
    beside = len(password_digests.partition_digests(wanted(words).entities, known, parts=2)[key].pairs)

    calls = learnt(wanted(words), known)

    assert calls == 2 + beside < len(WORDS)
    assert changed(words, known) == {"p003"}
    assert digests.compute_scrypt.cache_info().misses == calls


def test_one_person_alone_is_compared_alone() -> None:
    """Of `--only`: a proof of everybody would take no less."""
    assert learnt(wanted(WORDS), after_a_run(WORDS), "p003") == 1


def test_equal_passwords_are_computed_once() -> None:
    words = dict.fromkeys(PEOPLE, "shared by all")

    assert learnt(wanted(words), after_a_run(words)) == 1


def test_what_is_used_on_create_alone_is_neither_compared_nor_computed() -> None:
    """`meta.ignore`: people change the first password, and whoever declares it cannot know the new one."""
    known = after_a_run(WORDS)
    ignoring = Controls(ignore=frozenset({"password"}))
    people = wanted(WORDS).entities.values()
    want = desired(*(structs.replace(one, controls=ignoring) for one in people))

    assert learnt(want, known) == 0


def test_somebody_with_another_name_is_compared_under_the_former_one() -> None:
    """Else a renamed roster would be compared one by one."""
    known = after_a_run(WORDS)
    want = desired(
        *(
            contact(f"ops/new-{name}", password=word, controls=Controls(renamed_from=name))
            for name, word in WORDS.items()
        )
    )

    assert learnt(want, known) == 2


@given(
    kept=some.dictionaries(some.sampled_from(PEOPLE), some.sampled_from("abc"), min_size=1),
    now=some.dictionaries(some.sampled_from(PEOPLE), some.sampled_from(["a", "b", "c", ""]), min_size=1),
    wrong=some.dictionaries(some.integers(0, 2), some.text("0123456789abcdef", max_size=32)),
    other=some.dictionaries(some.sampled_from(PEOPLE), some.sampled_from("abc")),
)
def test_the_plan_is_the_same_with_any_proofs(
    kept: Words, now: Words, wrong: Mapping[int, str], other: Words
) -> None:
    """Those of these values, of others, damaged ones or none: only the time that it takes is another."""
    known = left(kept)
    there = live(*(live_person(name) for name in kept))
    own = password_digests.prove_digests(wanted(kept).entities, known, parts=2)
    others = password_digests.prove_digests(wanted(other).entities, left(other), parts=2)
    plain = planned(wanted(now), there, known)

    for some_proofs in ({}, own, others, {("ops", part): text for part, text in wrong.items()}):
        with_proofs = structs.replace(known, proofs=some_proofs)
        learnt(wanted(now), with_proofs)
        assert planned(wanted(now), there, with_proofs) == plain


def test_a_proof_is_made_only_where_every_digest_is_known_to_be_right() -> None:
    """Of a failed update the store holds the old digest: a proof would say that the new value was sent."""
    known = left(WORDS)
    want = wanted({**WORDS, "p003": "not taken"})

    made = password_digests.prove_digests(want.entities, known, parts=2)

    assert set(made) == {("ops", 0), ("ops", 1)} - {part_of(want, known, "p003")}


def test_nothing_is_proved_that_nobody_computed() -> None:
    """A run about one person knows nothing of the others."""
    known = after_a_run(WORDS)
    learnt(wanted(WORDS), known, "p003")

    assert password_digests.prove_digests(wanted(WORDS).entities, known, parts=2) == {}


def test_each_try_at_a_proof_takes_a_call_of_scrypt_under_the_salt_of_the_store() -> None:
    """So a proof is no faster way to try words than a digest, also for somebody who knows all other ones."""
    pairs = [(f"text {number}", "00") for number in range(3)]

    made = {
        digests.prove_pairs(pairs, "salt"),
        digests.prove_pairs(pairs[:2], "salt"),
        digests.prove_pairs([*pairs[:2], ("text 3", "00")], "salt"),
        digests.prove_pairs([*pairs[:2], ("text 2", "01")], "salt"),
        digests.prove_pairs(pairs, "another salt"),
    }

    assert len(made) == 5
    assert digests.compute_scrypt.cache_info().misses == 5
    assert digests.prove_pairs(reversed(pairs), "salt") in made
    assert all(mask_password("text 0", "salt") != one for one in made)
