"""Documents: entries of manifests and rows of rosters as people wrote them, with the place of each key.

Before defaults and before any comparison. Fields are flat: `firstName`, `custom.employeeId`,
`messagingOptions.sms.primary`; a scalar is text, or a bool where the schema says so. `""` means "clear it";
an absent field is not ours (planning rule S2).
"""

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from reconciler.errors import Problem
from reconciler.model.address import Address

# --- Rosters: the limits of one table, and what a directory answered ------------------------------


ROWS_MAX = 1_000_000  # rows of one roster
COLUMNS_MAX = 16_384  # columns of one roster, as many as a spreadsheet has
CELLS_MAX = 32 * 1024 * 1024  # where a file need not hold each of them; a million rows of sixteen have half
CHARACTERS_MAX = 512 * 1024 * 1024  # of all cells that a directory answers; a file has as many bytes
UNSAID = "?"  # stands in for a cell that may not be used, so that its row is not empty; no field takes it


class DirectoryAnswer(Struct, frozen=True, order=True):
    """What a directory answered, in numbers: nothing in it belongs to a person.

    `digest` is the SHA-256 of its header and its rows as texts, in hexadecimal digits; the order of the rows
    makes no other one. `before` counts the rows at the last applied plan, 0 where none is known.
    """

    name: str
    rows: int
    digest: str
    before: int = 0


# --- Entries of a manifest, and their places ------------------------------------------------------


_SHEET = re.compile(r"(?<=\.xlsx)![^/]*\Z", re.IGNORECASE)

_ROW = re.compile(r"^(sql:[^:]*):\d+(?::\d+)?\Z")
_DIRECTORY = re.compile(r"(?:sql|ldap|scim):")

Scalar = str | bool
Fields = Mapping[str, Scalar]


class Place(Struct, frozen=True, gc=False):
    """Where something was written. `line` and `column` count from 1; in a roster they are row and cell."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """`file:line`, the form used in plans."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def problem(self, what: str, hint: str, code: str) -> Problem:
        """Return the mistake that stands here."""
        return Problem(self.file, self.line, self.column, what, hint, code=code)


def sheet_file_name(file: str, sheet: str) -> str:
    """Return what a sheet of a spreadsheet is called where places name a file."""
    return f"{file}!{sheet}"


def is_directory_row(place: str) -> bool:
    """Whether a place is a row of a directory, which no reader can open: `sql:staff:14`."""
    return _DIRECTORY.match(place) is not None


def without_row_number(place: str) -> str:
    """Return a place as a text without the number of its row, where that is one of a database."""
    return _ROW.sub(r"\1", place)


def openable_file(place: str) -> str:
    """Return the file that a reader can open: of a sheet of a spreadsheet, the spreadsheet."""
    return _SHEET.sub("", place)


class Content(Struct, frozen=True):
    """The payload of a resource. `digest` is `sha256:` and hexadecimal digits.

    `path` is the file it comes from, relative to the project; "" where it stands in the manifest.
    """

    data: bytes
    digest: str
    path: str = ""


class Controls(Struct, frozen=True):
    """What an author says about an entity besides its fields (`meta:` and `tags:`).

    `ignore` holds paths that are used on create and not compared afterwards; `renamed_from` is a
    name in the same workspace (and under the same contact). `carry_over`: who moves here from another
    workspace keeps the live fields that are not declared.
    """

    protect: bool = False
    ignore: frozenset[str] = frozenset()
    tags: Mapping[str, str] = {}
    renamed_from: str = ""
    reactivate: bool = False
    carry_over: bool | UnsetType = UNSET  # unset, the digest of a manifest is that of older programs


class Origin(Struct, frozen=True):
    """What the rows of one roster share: the titles of the columns that each field takes from.

    `templates` hold the place of each field's template in the manifest. A field without columns is the same
    for every row: its text is the template.
    """

    columns: Mapping[str, tuple[str, ...]] = {}
    templates: Mapping[str, Place] = {}


class Document(Struct, frozen=True):
    """One declared entity as written.

    `places` holds the place of each field's key, by path; `devices_in_scope` is true for a contact
    whose entry has a `devices:` key, even an empty one (planning rule S1). `unread` are the paths of fields
    that could not be read, `*` for all: what is wrong there was said, and nothing may be called missing.
    `again` is true for an entry whose name stood in the same mapping before, which was said as well.
    `control_places` holds the place of each key under `meta:`.
    """

    kind: str
    name: str
    place: Place
    fields: Fields
    places: Mapping[str, Place]
    parent: str = ""
    controls: Controls = Controls()
    content: Content | None = None
    devices_in_scope: bool = False
    unread: frozenset[str] = frozenset()
    again: bool = False
    origin: Origin | None = None
    control_places: Mapping[str, Place] = {}

    def unsure(self, path: str) -> bool:
        """Whether a field may be declared although it is not in `fields`: it, or part of it, is unread."""
        return any(
            one in ("*", path)
            or path.startswith(f"{one}.")
            or one.startswith(f"{path}.")
            or (one.endswith(".*") and path.startswith(one[:-1]))
            for one in self.unread
        )


class Removed(Struct, frozen=True, gc=False):
    """A name under `removed:`: its entry leaves the manifests, and what is live stays (planning rule X7)."""

    kind: str
    name: str
    place: Place
    parent: str = ""


ConsentAction = Literal["delete", "update", "reactivate"]


class ConsentLine(Struct, frozen=True, gc=False):
    """One address under `consent:` as written, with the end and the reason of its item, and their places."""

    action: ConsentAction
    text: str
    until: str
    reason: str
    place: Place
    until_place: Place
    reason_place: Place


class NamedConsent(Struct, frozen=True, order=True, gc=False):
    """What a manifest agrees to: this action on this address, to the end of `until`.

    `until` is a day (in UTC) or a moment with its zone, as written. `place` is `file:line`.
    """

    address: Address
    action: ConsentAction
    until: str
    reason: str
    place: str


class Manifest(Struct, frozen=True):
    """One manifest file, its rosters included.

    `kinds` are the kinds whose key is present (`contact`, `resource`): their entities in
    `workspace` are in scope even when none is declared. `defaults` are fields by kind, `default_places`
    where they stand. `hidden` are the places of values that came from the environment, with the names of the
    variables: no message shows the values. `answers` are those of the directories that rosters took from.
    """

    file: str
    workspace: str
    workspace_place: Place
    kinds: frozenset[str]
    documents: tuple[Document, ...]
    defaults: Mapping[str, Fields] = {}
    tags: Mapping[str, str] = {}
    default_places: Mapping[str, Mapping[str, Place]] = {}
    hidden: Mapping[Place, tuple[str, ...]] = {}
    removed: tuple[Removed, ...] = ()
    consents: tuple[ConsentLine, ...] = ()
    answers: tuple[DirectoryAnswer, ...] = ()


# --- Input files: what is compared with a commit --------------------------------------------------


class BlobIds(Struct, frozen=True):
    """The ids that git would give to a content, in its two formats of objects."""

    sha1: bytes
    sha256: bytes

    def fits(self, oid: bytes) -> bool:
        """Whether an object of this id has just this content."""
        return oid in (self.sha1, self.sha256)


class InputFile(Struct, frozen=True):
    """One file, or one link on the way to one, whose content is then the path that it leads to.

    `path` is absolute; `digest` the SHA-256 of the bytes alone. `unix` are the ids with the line ends of
    Unix, None where there are no others. `text`: git takes it for a text where nothing says what it is.
    """

    path: str
    size: int
    digest: bytes
    blob: BlobIds
    unix: BlobIds | None = None
    text: bool = True
    link: bool = False


class Inputs(Struct, frozen=True):
    """What a run was made of: the files that it read, and where it looked for manifests (absolute paths).

    `settings` is the file of the settings, "" where there is none; `generated` are patterns of paths below
    its folder `root` that it says are made by an earlier step.
    """

    files: tuple[InputFile, ...] = ()
    sources: tuple[str, ...] = ()
    root: str = ""
    settings: str = ""
    generated: tuple[str, ...] = ()


class InputDifference(Struct, frozen=True, order=True):
    """A file that was read, or should have been, and is not as in the commit; `why` ends a sentence of it."""

    path: str
    why: str
