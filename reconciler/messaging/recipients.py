"""The recipients of a message: numbers, addresses of the manifests, tags, rows of a resource. Pure.

+61491570156, jane.doe@example.com, an MRI    sent as written
contact/ops/jane-doe                          one contact of the manifests
tag:rota=night                                every contact of the manifests that carries the tag
"""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from reconciler.core.compare.identity import email_key, identity_text
from reconciler.core.suggest import did_you_mean
from reconciler.errors import InputError, Problem, Refused
from reconciler.model import address
from reconciler.model.address import Address
from reconciler.model.documents import Fields, Place
from reconciler.model.kinds import CONTACT, KINDS
from reconciler.model.snapshots import Desired

# 15 digits are the most that a number has (E.164); the shortest, of three, are short codes.
_NUMBER = re.compile(r"\+?[0-9]{3,15}", re.ASCII)
_PUNCTUATION = re.compile(r"[\s().-]", re.ASCII)
_MAIL = re.compile(r"[^@]+@[^@\s]+")  # an MRI has this form as well
_SHOWN = 5  # tags of one message
_HINTS = 20  # mistakes with the nearest name; each is compared with all names
_FORMS = "write a number, an e-mail address, an MRI, contact/WORKSPACE/NAME or tag:KEY=VALUE"

# By name and not by type: that a field holds a phone number does not say that a text message reaches it.
_MOBILES = ("workMobilePhone1", "workMobilePhone2", "personalMobilePhone1", "otherMobile")
_PHONES = (*_MOBILES, "workPhone1", "workPhone2", "personalPhone1", "personalPhone2", "otherPhone1")
_MAILS = ("workEmailAddress1", "workEmailAddress2", "personalEmailAddress1", "personalEmailAddress2")
# The fields by which a channel reaches a contact, and their name in errors.
CHANNELS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "sms": (_MOBILES, "mobile number"),
    "email": (_MAILS, "e-mail address"),
    "voice": (_PHONES, "phone number"),
}


class ResolvedRecipients(Struct, frozen=True):
    """The recipients: `people` by address with the place where each was written, and `plain` as written."""

    people: Mapping[Address, Place]
    plain: tuple[str, ...]
    problems: tuple[Problem, ...] = ()


def names_manifest_entity(text: str) -> bool:
    """Whether a recipient is an address or a tag of ours, well written or not: then manifests are needed.

    `contact/ops/jane@9A07`, which names a duplicate in a plan, is one as well, and is no e-mail address.
    """
    return text.startswith(("tag:", *(f"{kind}/" for kind in KINDS))) or ("/" in text and "@" not in text)


def resolve_recipients(
    written: Sequence[tuple[str, Place]], desired: Desired | None, workspace: str | None
) -> ResolvedRecipients:
    """Return these recipients, each once, in their order; and every error in them.

    `desired` may be None where no recipient `names_manifest_entity`. A tag means contacts of `workspace`
    alone, where one is named.
    """
    known = _KnownContacts(desired, workspace)
    people: dict[Address, Place] = {}
    plain: dict[str, str] = {}
    problems: list[Problem] = []
    for text, place in written:
        if not names_manifest_entity(text):
            if wrong := _find_form_fault(text):
                problems.append(place.problem(*wrong, code="E100"))
            plain.setdefault(recipient_key(text), text)
            continue
        found = known.find_tagged(text) if text.startswith("tag:") else known.find_named(text)
        if isinstance(found, RecipientRefusal):
            problems.append(place.problem(found.what, found.next, code="E100"))
        else:
            # Each at the first place that names it: one message arrives, however often it is named.
            people |= {one: people.get(one, place) for one in found}
    return ResolvedRecipients(people, tuple(plain.values()), tuple(problems))


class RecipientRefusal(Struct, frozen=True):
    """Why a recipient cannot be resolved."""

    what: str
    next: str


class _KnownContacts:
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

    def find_named(self, text: str) -> list[Address] | RecipientRefusal:
        found = address.parse_address(text)
        if found in self._addresses:
            return [found]
        kind = text.partition("/")[0]
        if kind in KINDS and kind != CONTACT.name:
            return RecipientRefusal(
                f"{text}: a message cannot be sent to a {kind}.", "name its contact, or a number"
            )
        near = self.suggest_name(text, map(str, self._addresses), "check the manifests")
        return RecipientRefusal(f"{text}: the manifests declare no such contact.", near)

    def find_tagged(self, text: str) -> list[Address] | RecipientRefusal:
        if text in self._tags:
            return self._tags[text]
        where = f" in {self._workspace}" if self._workspace else ""
        forms = sorted(one for one in self._tags if one.startswith(f"{text}="))[:_SHOWN]
        otherwise = f"name one of {', '.join(forms)}" if forms else "write tag:KEY=VALUE, as in the manifests"
        near = otherwise if forms else self.suggest_name(text, self._tags, otherwise)
        return RecipientRefusal(f"{text}: no contact{where} has this tag.", near)

    def suggest_name(self, text: str, known: Iterable[str], otherwise: str) -> str:
        # Each wrong name is compared with all others: a file of wrong ones would take minutes
        # (tests/messaging/test_recipients.py).
        self._hints -= 1
        return did_you_mean("entity", text, known if self._hints >= 0 else (), otherwise)


def is_recipient(text: str, channel: str) -> bool:
    """Whether a text has the form of a recipient on this channel of CHANNELS."""
    return bool(
        _MAIL.fullmatch(text) if channel == "email" else _NUMBER.fullmatch(_PUNCTUATION.sub("", text))
    )


def _find_form_fault(text: str) -> tuple[str, str] | None:
    if is_recipient(text, "email") or is_recipient(text, "sms"):
        return None
    return f"{text!r} is not a recipient.", _FORMS


def recipient_key(text: str) -> str:
    """Return what two spellings of one number or e-mail address have in common."""
    # People write one number in many ways. It is one phone, and one recipient.
    digits = _PUNCTUATION.sub("", text)
    return digits.removeprefix("+") if _NUMBER.fullmatch(digits) else email_key(text)


def contact_address_keys(fields: Fields) -> frozenset[str]:
    """Return the numbers and e-mail addresses of a contact, in the form of `recipient_key`."""
    # A contact's number is read in the contact's country; one on a command line is not.
    paths = [CONTACT.identity_path(path) for path in (*_PHONES, *_MAILS) if fields.get(path)]
    return frozenset(identity_text(path, fields).removeprefix("+") for path in paths)


def missing_channels(fields: Fields, channels: Iterable[str]) -> str:
    """Return what a contact lacks for every one of these channels, or "" where one of them reaches it."""
    # Without any channel only the service knows whom the message reaches.
    wanted = [CHANNELS[channel] for channel in channels]
    if not wanted or any(fields.get(path) for paths, _ in wanted for path in paths):
        return ""
    return " and no ".join(dict.fromkeys(name for _, name in wanted))


def check_recipient_count(count: int, most: int, allowed: int) -> None:
    """Raise Refused where a message would reach more people than `most`, and more than were `allowed`."""
    # Consent is a number, as it is for changes (G3): one that is too small lifts nothing.
    if count > max(most, allowed):
        raise Refused(
            f"the message would reach {count:,} recipients (the limit is {most:,}); nothing was sent.",
            next=f"list them with --dry-run; to reach all of them, add --allow-recipients {count}",
        )


# --- The recipients in the rows of a resource -----------------------------------------------------
#
# The service reads the rows itself. They are read here to count the recipients and to check the columns: a
# message to a wrong column reaches no one. Of each row, the first filled column is used (docs/service.md,
# messages).


rows_max = 1_000_000  # as many as rosters have

Row = Mapping[str, str]


def resource_recipients(data: bytes, mime_type: str, columns: Mapping[str, str]) -> tuple[str, ...]:
    """Return the recipients in the rows, in their order, each once. `columns`: channel -> column.

    Raises InputError for data that holds no rows, for a column that there is not or that holds other
    things, and where no row has a recipient. No cell is part of an error.
    """
    rows = _read_rows(data, mime_type)
    _require_columns(rows, columns)
    # Which column wins where several are filled is an assumption (docs/service.md, messages). Counting makes
    # the same one, or the number that is agreed to is not the number that is reached.
    firsts = (
        next((cell for name in columns.values() if (cell := row.get(name, "").strip())), "") for row in rows
    )
    # The same address twice is one recipient.
    found = tuple(dict.fromkeys(one for one in firsts if one))
    if not found:
        raise InputError(
            "these columns are empty in every row; nothing was sent.",
            next="name a column with numbers or addresses",
        )
    return found


def _require_columns(rows: Sequence[Row], columns: Mapping[str, str]) -> None:
    there = {name for row in rows for name in row}
    for column in columns.values():
        if column not in there:
            raise InputError(
                f"the resource has no column {column[:64]!r}; nothing was sent.",
                next=did_you_mean("column", column, there, "name a column of its first row"),
            )
    for channel, column in columns.items():
        _require_form(rows, channel, column)


def _require_form(rows: Sequence[Row], channel: str, column: str) -> None:
    """Raise InputError where no cell of the column is what the channel needs: it is the wrong column."""
    cells = [cell for row in rows if (cell := row.get(column, "").strip())]
    # One cell that fits is enough. The service judges the others: one wrong number must not keep the
    # message from all. Without any, a wrong column would be accepted and reach no one.
    if cells and not any(is_recipient(cell, channel) for cell in cells):
        _, what = CHANNELS[channel]
        raise InputError(
            f"column {column[:64]!r} has no {what} in it; nothing was sent.",
            next=f"name another column: --{channel} COLUMN",
        )


def _read_rows(data: bytes, mime_type: str) -> list[Row]:
    # Spreadsheets write a byte order mark in front, which would become a part of the first title. `from
    # None`: readers quote cells, and those are people's data.
    try:
        rows = (
            _parse_csv_rows(data.decode("utf-8-sig"))
            if mime_type == "text/csv"
            else _parse_json_rows(data, mime_type)
        )
    except (UnicodeDecodeError, csv.Error, msgspec.MsgspecError, RecursionError):
        raise InputError(
            "the resource cannot be read as rows; nothing was sent.",
            next="use CSV with a header, or a JSON list of flat objects",
        ) from None
    if not 0 < len(rows) <= rows_max:
        raise InputError(
            f"the resource has {len(rows):,} rows; nothing was sent.",
            next=f"use a resource with 1 to {rows_max:,} rows",
        )
    return rows


def _parse_csv_rows(text: str) -> list[Row]:
    records = csv.reader(text.splitlines(keepends=True), strict=True)
    header = [name.strip() for name in next(records, [])]
    rows: list[Row] = []
    for cells in records:
        # Cells beyond the heading belong to no column: `zip` would drop them without a word.
        if len(cells) > len(header):
            raise csv.Error("a row is longer than the heading")
        if any(cells):
            rows.append(dict(zip(header, cells, strict=False)))
    return rows


def _parse_json_rows(data: bytes, mime_type: str) -> list[Row]:
    if mime_type != "application/json":
        raise InputError(
            f"a message cannot be sent to a resource of type {mime_type[:64]}.",
            next="use text/csv or application/json",
        )
    rows = msgspec.json.decode(data, type=list[dict[str, str | int | float | None]])
    return [{name: "" if cell is None else str(cell) for name, cell in row.items()} for row in rows]
