"""Document: one entry of a manifest or one row of a roster, with the place of every key.

What people wrote, before defaults and before any comparison. Flat fields: `firstName`,
`custom.employeeId`, `messagingOptions.sms.primary`; a scalar is text, or a bool where the schema
says so. `""` means "clear it"; an absent field is not ours (planning rule S2).
"""

from collections.abc import Mapping

from msgspec import Struct

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


class Content(Struct, frozen=True):
    """The payload of a resource. `digest` is `sha256:` and hexadecimal digits."""

    data: bytes
    digest: str


class Controls(Struct, frozen=True):
    """What an author says about an entity besides its fields (`meta:` and `tags:`).

    `ignore` holds paths that are used on create and not compared afterwards; `renamed_from` is a
    name in the same workspace (and under the same contact).
    """

    protect: bool = False
    ignore: frozenset[str] = frozenset()
    tags: Mapping[str, str] = {}
    renamed_from: str = ""
    reactivate: bool = False


class Document(Struct, frozen=True):
    """One declared entity as written.

    `places` holds the place of each field's key, by path; `devices_in_scope` is true for a contact
    whose entry has a `devices:` key, even an empty one (planning rule S1).
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


class Manifest(Struct, frozen=True):
    """One manifest file, its rosters included.

    `kinds` are the kinds whose key is present (`contact`, `resource`): their entities in
    `workspace` are in scope even when none is declared. `defaults` are fields by kind.
    """

    file: str
    workspace: str
    workspace_place: Place
    kinds: frozenset[str]
    documents: tuple[Document, ...]
    defaults: Mapping[str, Fields] = {}
    tags: Mapping[str, str] = {}
