"""The audit's chain: how an entry is tied to the one before it, and whether a chain still holds.

    beginning <- 1 <- 2 <- ... <- n = head        hash n = SHA-256(entry n with hash n-1 in it)

A person who can write the store can write a whole new chain; a head kept elsewhere finds that, and a cut
end. Keyed hashes stand for people. Nothing is read or written here: store/history.py does that.
"""

import hashlib
from collections.abc import Iterable

import msgspec
from msgspec import Struct, structs

from reconciler.core.digests import keyed_digest
from reconciler.model.address import Address
from reconciler.model.encoding import decode_json, encode_json
from reconciler.model.runs import AuditEntry, Head

# Part of what entry 1 is tied to, so that no digest made for another purpose passes for a beginning.
_CHAIN = "reconciler audit: chain"

_UNTIED = Head(0, "")


class DamagedEntry(Struct, frozen=True):
    """A line of the audit that is no entry: its number as stored, and what is wrong, as a clause."""

    number: int
    what: str


class Verification(Struct, frozen=True):
    """How far a chain holds: `entries` of it do, and `head` is the last of them (None: not even one).

    `broken_at` is the number of the first entry that does not hold, and `what` a sentence about it; 0 and
    empty where all of it does.
    """

    entries: int
    head: Head | None
    broken_at: int = 0
    what: str = ""


def chain_start(origin: str, stack: str) -> Head:
    """Return what entry 1 of this origin and stack is tied to, so that no other chain passes for theirs."""
    return Head(0, hashlib.sha256(encode_json((_CHAIN, origin, stack))).hexdigest())


def chain_entry(entry: AuditEntry, previous: Head | None) -> AuditEntry:
    """Return the entry with the number after `previous`, tied to it, and with its own hash."""
    tied = previous or _UNTIED
    # A Counter that counted nothing is written as an empty map, and what is read back leaves it out.
    plain = dict(entry.counts)
    numbered = structs.replace(entry, number=tied.number + 1, previous=tied.hash, counts=plain)
    return structs.replace(numbered, hash=_hash_entry(numbered))


def encode_entry(entry: AuditEntry) -> bytes:
    """Return what an entry's hash is made of: all of it but that hash, as canonical JSON."""
    return encode_json(structs.replace(entry, hash=""))


def read_entry(number: int, text: bytes, digest: bytes) -> AuditEntry | DamagedEntry:
    """Return the entry that was stored as its number, body and hash; damaged, if a byte differs."""
    try:
        entry = structs.replace(decode_json(text, AuditEntry), hash=digest.decode())
        written = encode_entry(entry)
    except (msgspec.DecodeError, ValueError):  # their texts may quote what stands there
        return DamagedEntry(number, "it cannot be read")
    if entry.number != number:
        return DamagedEntry(number, f"it was written as entry {entry.number}")
    # What reads the same need not be the same: one more space, an unknown word.
    return entry if written == text else DamagedEntry(number, "it differs from what was written")


def verify_chain(
    entries: Iterable[AuditEntry | DamagedEntry], anchor: Head | None, *, start: Head | None = None
) -> Verification:
    """Return how far the chain holds, from its first entry on; in constant memory.

    Finds what was edited, removed, moved, put in or numbered anew. A cut end, and a chain that was written
    anew as a whole, are found where `anchor` is a head that was kept elsewhere. `start` is what entry 1
    has to be tied to (`chain_start`); without it, nothing.
    """
    held = start or _UNTIED
    anchored = anchor is None
    for entry in entries:
        what = _find_fault(entry, held)
        # A chain that was written anew from some entry on holds in itself, and not even its length has to
        # differ: only a head that was kept elsewhere tells (tests/core/test_audit.py).
        if not what and anchor is not None and entry.number == anchor.number:
            anchored = isinstance(entry, AuditEntry) and entry.hash == anchor.hash
            what = "" if anchored else "it is not the entry that was noted elsewhere: history was rewritten"
        if what or isinstance(entry, DamagedEntry):
            number = held.number + 1
            return _make_verification(held, number, f"entry {number} does not hold: {what}.")
        held = Head(entry.number, entry.hash)
    # A cut end looks like an earlier evening: without a head there is nothing that could tell.
    if anchored or anchor is None:
        return _make_verification(held)
    number = held.number + 1
    what = f"entry {number} is missing: the head that was noted elsewhere is entry {anchor.number}."
    return _make_verification(held, number, what)


def find_fault_backwards(entry: AuditEntry | DamagedEntry, held: Head) -> str:
    """Return what is wrong with an entry that has to be `held`, as a clause; "" for nothing.

    For a look from the end backwards, where `verify_chain` goes from the beginning on.
    """
    if isinstance(entry, DamagedEntry):
        return entry.what
    if entry.number != held.number:
        return "the one after it is missing"
    # Both: the stored hash is the one that the later entry is tied to, and it fits what stands here.
    return "" if entry.hash == held.hash == _hash_entry(entry) else "it differs from what was written"


def hash_entity(salt: str, address: Address) -> str:
    """Return 32 hexadecimal digits that stand for an address; only who has the salt can tell which."""
    # Keyed: names can be guessed, so a plain hash would be found by trying them (docs/security.md).
    return keyed_digest(salt, "audit entity", address)


def _find_fault(entry: AuditEntry | DamagedEntry, held: Head) -> str:
    """Return what is wrong with the entry after `held`, as a clause; "" for nothing."""
    number = held.number + 1
    # The number first: the report has to say that an entry is missing, not what the one in its place looks
    # like.
    if entry.number != number:
        return f"entry {entry.number} is in its place"
    if isinstance(entry, DamagedEntry):
        return entry.what
    if entry.hash != _hash_entry(entry):
        return "it differs from what was written"
    if entry.previous != held.hash:
        return f"it does not follow entry {held.number}" if held.number else "it starts another chain"
    return ""


def _hash_entry(entry: AuditEntry) -> str:
    return hashlib.sha256(encode_entry(entry)).hexdigest()


def _make_verification(held: Head, broken_at: int = 0, what: str = "") -> Verification:
    return Verification(held.number, held if held.number else None, broken_at, what)
