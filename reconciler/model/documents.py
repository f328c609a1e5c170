"""Document: one entry of a manifest or one row of a roster, with the place of every key.

What people wrote, before defaults and before any comparison. Flat fields: `firstName`,
`custom.employeeId`, `messagingOptions.sms.primary`; a scalar is text, or a bool where the schema
says so. `""` means "clear it"; an absent field is not ours (planning rule S2).
"""

import re
from collections.abc import Mapping

from msgspec import UNSET, Struct, UnsetType

from reconciler.errors import Problem
from reconciler.model.tables import DirectoryAnswer

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


def in_sheet(file: str, sheet: str) -> str:
    """Return what a sheet of a spreadsheet is called where places name a file."""
    return f"{file}!{sheet}"


def in_directory(place: str) -> bool:
    """Whether a place is a row of a directory, which no reader can open: `sql:staff:14`."""
    return _DIRECTORY.match(place) is not None


def unnumbered(place: str) -> str:
    """Return a place as a text without the number of its row, where that is one of a database."""
    return _ROW.sub(r"\1", place)


def file_of(place: str) -> str:
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
    workspace keeps the live fields that nobody declares.
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
    answers: tuple[DirectoryAnswer, ...] = ()
