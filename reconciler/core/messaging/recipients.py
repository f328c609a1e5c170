"""Who is meant by the recipients of a message: numbers, addresses of ours, tags. Pure.

Belongs here: telling the forms apart, what a tag stands for, whom a channel reaches, how many are too many.
Not here: who a contact is at the service (work/reaching.py).

    +61491570156, jane.doe@example.com, an MRI    sent as written
    contact/ops/jane-doe                          one contact of the manifests
    tag:rota=night                                every contact of the manifests that carries the tag
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from reconciler.core.compare.identity import email_key, identity_text
from reconciler.core.suggest import did_you_mean
from reconciler.errors import Problem, Refused
from reconciler.model import address
from reconciler.model.address import Address
from reconciler.model.documents import Fields, Place
from reconciler.model.kinds import CONTACT, KINDS
from reconciler.model.snapshots import Desired

# 15 digits are the most that a number has (E.164); the shortest, of three, are short codes.
_NUMBER = re.compile(r"\+?[0-9]{3,15}", re.ASCII)
_PUNCTUATION = re.compile(r"[\s().-]", re.ASCII)
_MAIL = re.compile(r"[^@]+@[^@\s]+")  # an MRI has this form as well
# Every kind, not only contacts: `device/...` is a mistake to be told here, and no MRI to be sent.
_SHOWN = 5  # tags of one message
_HINTS = 20  # mistakes with the nearest name; each is compared with all names
_FORMS = "write a number, an e-mail address, an MRI, contact/WORKSPACE/NAME or tag:KEY=VALUE"

# By name and not by type: that a field holds a phone number does not say that a text message reaches it.
_MOBILES = ("workMobilePhone1", "workMobilePhone2", "personalMobilePhone1", "otherMobile")
_PHONES = (*_MOBILES, "workPhone1", "workPhone2", "personalPhone1", "personalPhone2", "otherPhone1")
_MAILS = ("workEmailAddress1", "workEmailAddress2", "personalEmailAddress1", "personalEmailAddress2")
# By what a channel reaches somebody, and how that is called.
CHANNELS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "sms": (_MOBILES, "mobile number"),
    "email": (_MAILS, "e-mail address"),
    "voice": (_PHONES, "phone number"),
}


class Meant(Struct, frozen=True):
    """Whom the recipients mean: `people` by address and where each was written, and `plain` as written."""

    people: Mapping[Address, Place]
    plain: tuple[str, ...]
    problems: tuple[Problem, ...] = ()


def is_ours(text: str) -> bool:
    """Whether a recipient is an address or a tag of ours, well written or not: then manifests are needed.

    `contact/ops/jane@9A07`, which names a duplicate in a plan, is one as well, and is no e-mail address.
    """
    return text.startswith(("tag:", *(f"{kind}/" for kind in KINDS))) or ("/" in text and "@" not in text)


def meant(written: Sequence[tuple[str, Place]], desired: Desired | None, workspace: str | None) -> Meant:
    """Return whom these recipients mean, each once, in their order; and every mistake in them.

    `desired` may be None where no recipient `is_ours`. A tag stands for contacts of `workspace` alone, where
    one is named.
    """
    known = _Known(desired, workspace)
    people: dict[Address, Place] = {}
    plain: dict[str, str] = {}
    problems: list[Problem] = []
    for text, place in written:
        if not is_ours(text):
            if wrong := _wrong(text):
                problems.append(place.problem(*wrong, code="E100"))
            plain.setdefault(key_of(text), text)
            continue
        found = known.tagged(text) if text.startswith("tag:") else known.named(text)
        if isinstance(found, Refusal):
            problems.append(place.problem(found.what, found.next, code="E100"))
        else:
            # Each at the first place that names it: at most one message arrives, however often it stands
            # there.
            people |= {one: people.get(one, place) for one in found}
    return Meant(people, tuple(plain.values()), tuple(problems))


class Refusal(Struct, frozen=True):
    """Why a recipient means nobody."""

    what: str
    next: str


class _Known:
    """The contacts of the manifests, by address and by tag."""

    def __init__(self, desired: Desired | None, workspace: str | None) -> None:
        entities = desired.entities.values() if desired else ()
        # Contacts alone have the numbers and addresses that a message reaches (docs/service.md, messages).
        contacts = [one for one in entities if one.address.kind == CONTACT.name]
        self._workspace = workspace
        self._hints = _HINTS
        self._addresses = {one.address for one in contacts}
        self._tags: dict[str, list[Address]] = {}
        for one in contacts:
            if workspace in (None, one.address.workspace):
                for key, value in one.controls.tags.items():
                    self._tags.setdefault(f"tag:{key}={value}", []).append(one.address)

    def named(self, text: str) -> list[Address] | Refusal:
        found = address.parse_address(text)
        if found in self._addresses:
            return [found]
        kind = text.partition("/")[0]
        if kind in KINDS and kind != CONTACT.name:
            return Refusal(f"{text}: a {kind} cannot be written to.", "name its contact, or a number")
        near = self._near(text, map(str, self._addresses), "compare it with the manifests")
        return Refusal(f"{text}: the manifests declare no such contact.", near)

    def tagged(self, text: str) -> list[Address] | Refusal:
        if text in self._tags:
            return self._tags[text]
        where = f" in {self._workspace}" if self._workspace else ""
        forms = sorted(one for one in self._tags if one.startswith(f"{text}="))[:_SHOWN]
        otherwise = f"name one of {', '.join(forms)}" if forms else "write tag:KEY=VALUE, as in the manifests"
        near = otherwise if forms else self._near(text, self._tags, otherwise)
        return Refusal(f"{text}: no contact{where} carries this tag.", near)

    def _near(self, text: str, known: Iterable[str], otherwise: str) -> str:
        # Each wrong name is compared with all others: a file of wrong ones would take minutes
        # (tests/core/test_recipients.py).
        self._hints -= 1
        return did_you_mean("entity", text, known if self._hints >= 0 else (), otherwise)


def fits(text: str, channel: str) -> bool:
    """Whether a text has the form of what this channel of CHANNELS reaches somebody by."""
    return bool(
        _MAIL.fullmatch(text) if channel == "email" else _NUMBER.fullmatch(_PUNCTUATION.sub("", text))
    )


def _wrong(text: str) -> tuple[str, str] | None:
    if fits(text, "email") or fits(text, "sms"):
        return None
    return f"{text!r} is no recipient.", _FORMS


def key_of(text: str) -> str:
    """Return what two spellings of one number or e-mail address have in common."""
    # People write one number in many ways. It is one phone, and one recipient.
    digits = _PUNCTUATION.sub("", text)
    return digits.removeprefix("+") if _NUMBER.fullmatch(digits) else email_key(text)


def keys(fields: Fields) -> frozenset[str]:
    """Return all that somebody is reached by, as `key_of` gives it."""
    # A contact's number is read in the contact's country; what somebody writes on a command line is not.
    paths = [CONTACT.identity_path(path) for path in (*_PHONES, *_MAILS) if fields.get(path)]
    return frozenset(identity_text(path, fields).removeprefix("+") for path in paths)


def unreached(fields: Fields, channels: Iterable[str]) -> str:
    """Return what a contact lacks for every one of these channels, or "" where one of them reaches it."""
    # Without any of these channels: whom such a message reaches only the service knows.
    wanted = [CHANNELS[channel] for channel in channels]
    if not wanted or any(fields.get(path) for paths, _ in wanted for path in paths):
        return ""
    return " and no ".join(dict.fromkeys(name for _, name in wanted))


def check_count(count: int, most: int, allowed: int) -> None:
    """Raise Refused where a message would reach more people than `most`, and nobody agreed to so many."""
    # Consent is a number, as it is for changes (G3): one that is too small lifts nothing.
    if count > max(most, allowed):
        raise Refused(
            f"the message would reach {count:,} recipients (the limit is {most:,}); nothing was sent.",
            next=f"look who they are with --dry-run; if this is meant, add --allow-recipients {count}",
        )
