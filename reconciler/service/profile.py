"""Profile: what differs between deployments of the service, as data (profiles/*.yaml, or a project's file).

Belongs here: the fields of a profile, loading one by name or path, the names of fields in both directions.
Not here: acting on them.
"""

import os
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import msgspec
import yaml
from msgspec import Meta, Struct

from reconciler.core.unquoted import unquoted
from reconciler.errors import SettingsError

file_bytes_max = 64 * 1024  # the shipped ones have less than two thousand
depth_max = 10  # lists and mappings inside each other; the parser's time grows with their square

_Word = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z")]
_Field = Annotated[str, Meta(pattern=r"\A[A-Za-z][A-Za-z0-9_]{0,99}\Z")]


class Capabilities(Struct, frozen=True, forbid_unknown_fields=True):
    """Writes that the specification does not describe: a deployment may not have them.

    `devices_write` is about creating and deleting; replacing a device is in the specification.
    """

    contacts_write: bool
    devices_write: bool
    resources_write: bool = True


class ProfileLimits(Struct, frozen=True, forbid_unknown_fields=True):
    """What the deployment takes at most; 0 where nobody says. Settings may ask for less, never for more."""

    requests_per_second: Annotated[float, Meta(ge=0)] = 0.0
    request_bytes: Annotated[int, Meta(ge=0)] = 0


class Retention(Struct, frozen=True, forbid_unknown_fields=True):
    """How long the service keeps things, in days; 0 where nobody says. Nothing is decided by it."""

    resources: Annotated[int, Meta(ge=0)] = 0
    failed_callbacks: Annotated[int, Meta(ge=0)] = 0


class Profile(Struct, frozen=True, forbid_unknown_fields=True):
    """One deployment. `page_max` in rows; `search_names` maps a body's field to its query parameter.

    `field_names` maps a field of a contact as this program spells it to the deployment's own spelling.
    """

    vendor: _Word
    page_max: Annotated[int, Meta(ge=1, le=1000)]
    next_relations: frozenset[_Word]
    previous_relations: frozenset[_Word]
    search_names: Mapping[_Field, _Field]
    unpaged: frozenset[_Word]
    capabilities: Capabilities
    field_names: Mapping[_Field, _Field] = {}
    limits: ProfileLimits = ProfileLimits()
    retention: Retention = Retention()

    @property
    def missing(self) -> frozenset[tuple[str, str]]:
        """The kinds and actions that this deployment does not offer: `("device", "create")`."""
        contacts = () if self.capabilities.contacts_write else ("create", "update", "delete")
        devices = () if self.capabilities.devices_write else ("create", "delete")
        resources = () if self.capabilities.resources_write else ("create", "update", "delete")
        kinds = {"contact": contacts, "device": devices, "resource": resources}
        return frozenset((kind, one) for kind, actions in kinds.items() for one in actions)

    def read(self, body: dict[str, Any]) -> dict[str, Any]:
        """A contact's body with this program's names. Where both spellings stand, both are left alone."""
        return _renamed(body, {theirs: ours for ours, theirs in self.field_names.items()})

    def written(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """A contact's body with the deployment's names; the reverse of `read`."""
        return _renamed(body, self.field_names)

    def searched(self, name: str) -> str:
        """The query parameter of a field."""
        return self.search_names.get(name) or self.field_names.get(name, name)


def _renamed(body: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {
        names[key] if key in names and names[key] not in body else key: value for key, value in body.items()
    }


def load_profile(name: str, *, shown: str = "") -> Profile:
    """The shipped profile of this name, or the one of the project's file whose path ends in .yaml.

    `shown` is how messages call the file. Raises SettingsError for anything that is no profile.
    """
    shown = shown or Path(name).name
    if name.endswith(".yaml"):
        return _checked(_file_text(Path(name), shown), shown)
    known = _known()
    if name not in known:
        raise SettingsError(
            f"service.profile {name[:40]!a} is not known.",
            next=f"use one of: {', '.join(known)}; or the path of a file that ends in .yaml.",
        )
    return _shipped(name)


@cache
def _shipped(name: str) -> Profile:
    # Every run asks for it more than once, and reading YAML takes longer than most calls.
    folder = files("reconciler.service") / "profiles"
    return parse_profile((folder / f"{name}.yaml").read_text(encoding="utf-8"))


def parse_profile(text: str) -> Profile:
    """The profile that a YAML text writes; `base: NAME` stands for everything it does not say itself.

    Raises ValueError or yaml.YAMLError for an unknown, missing or repeated key, or a value out of range.
    """
    written = yaml.load(text, _Once)  # noqa: S506 - a safe loader, and stricter
    if isinstance(written, dict) and isinstance(base := written.pop("base", None), str):
        if base not in _known():
            raise ValueError(f"its base {base[:40]!a} is none of {', '.join(_known())}")
        below = msgspec.to_builtins(load_profile(base))
        written = {
            key: {**below.get(key, {}), **value} if key in _JOINED and isinstance(value, dict) else value
            for key, value in {**below, **written}.items()
        }
    return msgspec.convert(written, Profile)


_JOINED = ("capabilities", "limits", "retention")  # key by key; lists and maps of names are replaced whole


def _known() -> list[str]:
    folder = files("reconciler.service") / "profiles"
    return sorted(
        entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml")
    )


def _file_text(path: Path, shown: str) -> str:
    try:
        # No link, and no pipe that would be waited for: the path was checked when the settings were read.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(path, flags), "rb") as file:
            content = file.read(file_bytes_max + 1)
    except OSError as error:
        raise SettingsError(
            f"the profile {shown!a} cannot be read: {error.strerror}.",
            next="check service.profile; its path begins at the folder of the settings file.",
        ) from None
    if len(content) > file_bytes_max:
        raise SettingsError(
            f"the profile {shown!a} is larger than {file_bytes_max // 1024} KiB.",
            next="check service.profile: a profile has some twenty lines.",
        )
    return content.decode("utf-8", "replace")


def _checked(text: str, shown: str) -> Profile:
    try:
        return parse_profile(text)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{shown}:{mark.line + 1}" if mark else shown
        problem = getattr(error, "problem", None)
        said = unquoted(problem) if problem else str(error)
        raise SettingsError(
            f"the profile {where} cannot be used: {' '.join(str(said).split())[:200]}.",
            next="write `base: service` and below it only what differs; docs/service.md lists the keys.",
        ) from None


class _Once(yaml.SafeLoader):
    """Reads plain words as text, but for true, false, null and decimal numbers; takes no key twice, no alias.

    YAML's own rules make 16 of 020, 90 of 1:30 and false of no; and which of two keys counts?
    """

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # its stubs say nothing
            raise yaml.composer.ComposerError(None, None, "an alias is refused; write the value out", mark)
        self.depth += 1
        if self.depth > depth_max:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # the same
            raise yaml.composer.ComposerError(None, None, f"it is nested over {depth_max} levels", mark)
        found: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return found

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - the library's signature
        seen: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in seen:
                problem = "a key stands twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


_Once.yaml_implicit_resolvers = {}  # what this class knew of its parent's is forgotten; the parent keeps it
for _tag, _words, _first in (
    ("bool", r"(?:true|false)\Z", "tf"),
    ("null", r"(?:null|~|)\Z", ["n", "~", ""]),
    ("int", r"-?(?:0|[1-9][0-9]{0,14})\Z", "-0123456789"),
    ("float", r"-?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15}\Z", "-0123456789"),
):
    _Once.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_words, re.ASCII), list(_first))
