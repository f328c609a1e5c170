"""Profiles: how deployments of the service differ, as data (profiles/*.yaml, or a file of the project).

Belongs here: loading one by name or path. Not here: the fields of a profile (model/profile.py). A run reads
its profile once, with its settings; from then on `Service.profile` is the profile itself.
"""

import os
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import yaml

from reconciler.core.unquoted import unquoted
from reconciler.errors import SettingsError
from reconciler.model.profile import Profile

file_bytes_max = 64 * 1024  # the shipped ones have less than two thousand
depth_max = 10  # lists and mappings inside each other; the parser's time grows with their square


def load_profile(profile: Profile | str) -> Profile:
    """The profile itself where it was read before; else that of a name, or of the path of a file.

    Raises SettingsError for anything that is no profile.
    """
    if isinstance(profile, Profile):
        return profile
    if profile.endswith(".yaml"):
        shown = Path(profile).name
        return profile_of(_file_bytes(Path(profile), shown), shown)
    known = _known()
    if profile not in known:
        raise SettingsError(
            f"service.profile {profile[:40]!a} is not known.",
            next=f"use one of: {', '.join(known)}; or the path of a file that ends in .yaml.",
        )
    return _shipped(profile)


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


def _file_bytes(path: Path, shown: str) -> bytes:
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
    return content


def profile_of(content: bytes, shown: str) -> Profile:
    """The profile in a file that messages call `shown`. Raises SettingsError for anything that is none."""
    try:
        return parse_profile(content.decode("utf-8", "replace"))
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
