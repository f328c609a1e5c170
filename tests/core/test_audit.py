import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import pytest
import tally
from core.build import at
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from reconciler.core.runs.audit import (
    DamagedEntry,
    Verification,
    chain_entry,
    chain_start,
    encode_entry,
    hash_entity,
    read_entry,
    verify_chain,
)
from reconciler.model.runs import AuditEntry, AuditEvent, Head

START = chain_start("https://api.example.com", "ops-contacts")
TAMPERING = "audit tampering found"

_EVENTS: tuple[AuditEvent, ...] = ("began", "changed", "settled", "ended", "unlocked")
_texts = st.text(max_size=12)
entries = st.builds(
    AuditEntry,
    number=st.just(0),
    at=_texts,
    event=st.sampled_from(_EVENTS),
    run=_texts,
    who=_texts,
    command=_texts,
    commit=_texts,
    trace_id=_texts,
    fingerprint=_texts,
    entity=_texts,
    outcome=_texts,
    counts=st.dictionaries(_texts, st.integers(0, 10**6), max_size=3),
)


def entry(number: int) -> AuditEntry:
    """Return something that happened, not yet tied to anything."""
    return AuditEntry(
        number=0,
        at=f"2026-03-01T12:00:{number % 60:02}+00:00",
        event="changed",
        run="0b1c7a52-60a8-4b7e-9d57-1a4b3f0c2d11",
        who="jane on build-7",
        command="apply",
        commit="4f" * 20,
        trace_id="a1" * 16,
        program="0.4.0",
        fingerprint="7f3a" * 16,
        entity=hash_entity("salt", at(f"contact/ops/person-{number}")),
        kind="contact",
        workspace="ops",
        action="create",
        outcome="applied",
        counts={"create applied": number},
    )


def chain(made: Iterable[AuditEntry], start: Head | None = START) -> list[AuditEntry]:
    """Return the entries, each tied to the one before it."""
    held, tied = start, []
    for one in made:
        tied.append(chain_entry(one, held))
        held = Head(tied[-1].number, tied[-1].hash)
    return tied


def head(made: Sequence[AuditEntry]) -> Head:
    return Head(made[-1].number, made[-1].hash)


CHAIN = chain(entry(number) for number in range(40))
HEAD = head(CHAIN)


def finds(made: Iterable[AuditEntry | DamagedEntry], anchor: Head | None = None) -> Verification:
    """Return what is found; something has to be."""
    found = verify_chain(made, anchor, start=START)
    assert found.broken_at == found.entries + 1
    assert found.what.startswith(f"entry {found.broken_at} ")
    assert found.what.endswith(".")
    return found


@given(st.lists(entries, max_size=10))
def test_whatever_was_chained_holds_and_says_where_it_ends(made: list[AuditEntry]) -> None:
    tied = chain(made)
    assert [one.number for one in tied] == list(range(1, len(made) + 1))
    end = head(tied) if tied else None
    assert verify_chain(tied, end, start=START) == Verification(len(tied), end)


@given(entries)
def test_an_entry_is_read_as_it_was_stored(made: AuditEntry) -> None:
    tied = chain_entry(made, START)
    assert read_entry(1, encode_entry(tied), tied.hash.encode()) == tied


def test_an_older_head_holds_as_well() -> None:
    """It was noted at the end of some run; others came after it."""
    for one in CHAIN:
        assert verify_chain(CHAIN, Head(one.number, one.hash), start=START) == Verification(40, HEAD)


def test_every_entry_that_is_taken_out_is_missed() -> None:
    """Out of the middle without anything else; the last one against the head."""
    for gone in range(40):
        cut = CHAIN[:gone] + CHAIN[gone + 1 :]
        assert finds(cut, HEAD).broken_at == gone + 1
        if gone < 39:
            assert finds(cut).what == f"entry {gone + 1} does not hold: entry {gone + 2} is in its place."
    tally.count(TAMPERING, "removed", 40)


def test_every_entry_that_is_taken_out_is_missed_though_the_others_are_numbered_anew() -> None:
    for gone in range(39):
        cut = CHAIN[:gone] + CHAIN[gone + 1 :]
        anew = [structs.replace(one, number=number) for number, one in enumerate(cut, 1)]
        assert finds(anew).broken_at == gone + 1
        rehashed = [*anew[:gone], *(retied(one) for one in anew[gone:])]
        assert finds(rehashed).broken_at == gone + 1
    tally.count(TAMPERING, "removed and renumbered", 78)


def retied(one: AuditEntry) -> AuditEntry:
    """Return the entry with a hash that fits it, and nothing else changed."""
    return chain_entry(one, Head(one.number - 1, one.previous))


def test_every_two_entries_that_change_places_are_noticed() -> None:
    pairs = list(itertools.combinations(range(40), 2))
    for first, second in pairs:
        moved = list(CHAIN)
        moved[first], moved[second] = moved[second], moved[first]
        assert finds(moved).broken_at == first + 1
        numbers = [structs.replace(one, number=number) for number, one in enumerate(moved, 1)]
        assert finds(numbers).broken_at == first + 1
    tally.count(TAMPERING, "swapped", 2 * len(pairs))


def test_every_entry_that_is_put_in_a_second_time_is_noticed() -> None:
    places = list(itertools.product(range(40), range(41)))
    for which, where in places:
        twice = [*CHAIN[:where], CHAIN[which], *CHAIN[where:]]
        # Put beside itself, the second of the two is the one too many.
        assert finds(twice, HEAD).broken_at == (where + 2 if which == where else where + 1)
    tally.count(TAMPERING, "duplicated", len(places))


def test_every_entry_that_is_made_up_is_noticed() -> None:
    """Tied to the one before it as it should be; the one after it is not tied to it."""
    for where in range(40):
        before = Head(where, CHAIN[where - 1].hash) if where else START
        made_up = chain_entry(entry(99), before)
        after = [structs.replace(one, number=one.number + 1) for one in CHAIN[where:]]
        assert finds([*CHAIN[:where], made_up, *after]).broken_at == where + 2
        assert finds([*CHAIN[:where], made_up, *map(retied, after)]).broken_at == where + 2
    tally.count(TAMPERING, "inserted", 80)


def test_every_cut_end_is_found_against_a_head_that_was_kept() -> None:
    for left in range(40):
        found = finds(CHAIN[:left], HEAD)
        assert found.broken_at == left + 1
        assert "noted elsewhere is entry 40" in found.what
    tally.count(TAMPERING, "cut end", 40)


def test_a_cut_end_without_a_head_looks_like_an_earlier_evening() -> None:
    """The limit of any chain, and the reason for keeping its head elsewhere."""
    assert verify_chain(CHAIN[:20], None, start=START) == Verification(20, head(CHAIN[:20]))


def changed(one: AuditEntry) -> Iterator[AuditEntry]:
    """Yield the entry with each of its fields changed, one at a time."""
    for name in one.__struct_fields__:
        value = getattr(one, name)
        match value:
            case str():
                yield structs.replace(one, **{name: value + "x"})
                if value and name != "event":
                    yield structs.replace(one, **{name: ""})
            case int():
                yield structs.replace(one, **{name: value + 1})
                yield structs.replace(one, **{name: value - 1})
            case _:
                yield structs.replace(one, **{name: {"create applied": 10**6}})


def test_every_field_that_is_changed_is_noticed() -> None:
    count = 0
    for index, one in enumerate(CHAIN):
        for edited in changed(one):
            assert finds([*CHAIN[:index], edited, *CHAIN[index + 1 :]]).broken_at == index + 1
            count += 1
    tally.count(TAMPERING, "field edited", count)


def test_an_edit_with_a_hash_that_fits_is_noticed_by_the_next_entry_or_by_the_head() -> None:
    for index, one in enumerate(CHAIN):
        edited = retied(structs.replace(one, outcome="failed"))
        found = finds([*CHAIN[:index], edited, *CHAIN[index + 1 :]], HEAD)
        assert found.broken_at == (index + 2 if index < 39 else 40)
    tally.count(TAMPERING, "field edited and hashed anew", 40)


def test_a_chain_that_was_written_anew_from_some_entry_on_is_found_against_the_head() -> None:
    """Whoever can write the store can do that; not even the length has to differ."""
    for index in range(40):
        edited = structs.replace(CHAIN[index], outcome="failed")
        anew = chain([*CHAIN[:index], edited, *CHAIN[index + 1 :]])
        assert verify_chain(anew, None, start=START).broken_at == 0
        assert "history was rewritten" in finds(anew, HEAD).what
        assert finds(anew, HEAD).broken_at == 40
    tally.count(TAMPERING, "rewritten to its end", 40)


def test_every_bit_of_a_stored_entry_counts() -> None:
    """Nothing of a line may be read with a blind eye: not its spaces, not the spelling of its hash."""
    count = 0
    for one in (CHAIN[0], CHAIN[17], CHAIN[39]):
        held = Head(one.number - 1, one.previous)
        text, digest = encode_entry(one), one.hash.encode()
        for place, bit in itertools.product(range(len(text)), range(8)):
            assert verify_chain(
                [read_entry(one.number, flipped(text, place, bit), digest)], None, start=held
            ).broken_at
        for place, bit in itertools.product(range(len(digest)), range(8)):
            assert verify_chain(
                [read_entry(one.number, text, flipped(digest, place, bit))], None, start=held
            ).broken_at
        count += 8 * (len(text) + len(digest))
    tally.count(TAMPERING, "bit of a stored entry", count)


def flipped(data: bytes, place: int, bit: int) -> bytes:
    return data[:place] + bytes([data[place] ^ (1 << bit)]) + data[place + 1 :]


def test_every_cut_and_every_byte_too_many_of_a_stored_entry_counts() -> None:
    """JSON may say the same in many ways; only the one that was written is the entry."""
    text, digest = encode_entry(CHAIN[17]), CHAIN[17].hash.encode()
    for place in range(len(text) + 1):
        for more in (b" ", b"\n", b"0", b'"', b"\x00", b"\xff"):
            longer = read_entry(18, text[:place] + more + text[place:], digest)
            assert finds([*CHAIN[:17], longer, *CHAIN[18:]]).broken_at == 18
    for place in range(len(text)):
        assert isinstance(read_entry(18, text[:place], digest), DamagedEntry)
    tally.count(TAMPERING, "byte too many or too few", 7 * len(text) + 6)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b'{"number":"1"}',
        b"[" * 100_000,
        encode_entry(CHAIN[0]).replace(b'"run":', b'"run":"x","run":'),
        encode_entry(CHAIN[0]).replace(b"{", b'{"unknown":1,', 1),
        encode_entry(CHAIN[0]).replace(b'"began"', b'"burnt"').replace(b'"changed"', b'"burnt"'),
        encode_entry(CHAIN[0]).replace(b"jane", b"j\\u0061ne"),
    ],
)
def test_a_line_that_is_no_entry_is_damage_and_no_error(text: bytes) -> None:
    found = finds([read_entry(1, text, CHAIN[0].hash.encode()), *CHAIN[1:]])
    assert found.broken_at == 1
    assert found.entries == 0
    assert found.head is None


def test_an_entry_under_another_number_is_noticed() -> None:
    found = finds([*CHAIN[:3], read_entry(4, encode_entry(CHAIN[7]), CHAIN[7].hash.encode())])
    assert found.what == "entry 4 does not hold: it was written as entry 8."


def test_the_chain_of_another_stack_or_service_does_not_pass_for_ours() -> None:
    """It holds in itself; it is only not this one."""
    others = [
        chain_start("https://api.example.com", "ops-contactsx"),
        chain_start("https://api.example.co", "mops-contacts"),
        chain_start("", ""),
    ]
    for other in others:
        foreign = chain([entry(number) for number in range(5)], other)
        assert verify_chain(foreign, None, start=other).broken_at == 0
        assert finds(foreign).what == "entry 1 does not hold: it starts another chain."
        assert finds(foreign, HEAD).broken_at == 1
    tally.count(TAMPERING, "foreign chain", 2 * len(others))


@pytest.mark.parametrize("anchor", [Head(0, START.hash), Head(-1, ""), Head(41, HEAD.hash), Head(40, "")])
def test_a_head_that_is_nowhere_in_the_chain_is_never_taken_for_one_that_holds(anchor: Head) -> None:
    assert finds(CHAIN, anchor)
    assert finds([], anchor)


def test_an_address_stands_as_a_hash_that_only_its_store_can_make() -> None:
    jane, sam = at("contact/ops/jane-doe"), at("contact/ops/sam-lee")
    assert hash_entity("salt", jane) == hash_entity("salt", jane)
    assert len({hash_entity(salt, one) for salt in ("salt", "other", "") for one in (jane, sam)}) == 6
    assert len(hash_entity("salt", jane)) == 32
    assert int(hash_entity("salt", jane), 16)


def test_a_count_of_nothing_reads_back_as_it_was_written() -> None:
    """A run without a change is an entry like any other; its empty Counter once broke the chain."""
    tied = chain_entry(structs.replace(entry(1), counts=Counter()), START)

    back = read_entry(tied.number, encode_entry(tied), tied.hash.encode())

    assert back == tied
    assert verify_chain([tied], None, start=START).broken_at == 0
