"""Profiles: how deployments of the service differ, as data (profiles/*.yaml, or a file of the project).

Loaded by name or path. Its fields: model/profile.py. A run reads its profile once, with its settings; from
then on `Service.profile` is the profile itself.
"""

import os
import re
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from reconciler.errors import Problem, SettingsError
from reconciler.model.kinds import KINDS
from reconciler.model.profile import (
    Capabilities,
    FieldRow,
    KindRow,
    Profile,
    ProfileLimits,
    Retention,
    build_own_kinds,
    find_kind_contradictions,
)
from reconciler.parsing.display import TreePath as Steps
from reconciler.parsing.tree import Tree, read_tree

file_bytes_max = 64 * 1024  # the shipped ones have less than two thousand


def load_profile(profile: Profile | str) -> Profile:
    """The profile itself where it was read before; else that of a name, or of the path of a file.

    Raises SettingsError for anything that is no profile.
    """
    if isinstance(profile, Profile):
        return profile
    if profile.endswith(".yaml"):
        shown = Path(profile).name
        return parse_profile(_file_bytes(Path(profile), shown), shown)
    unknown = unknown_profile(profile)
    if unknown is not None:
        what, hint = unknown
        raise SettingsError(f"service.profile {what}", next=hint)
    return _shipped_profile(profile)


def unknown_profile(name: str) -> tuple[str, str] | None:
    """Return the end of a sentence about a name that no shipped profile has, and what to do."""
    known = _profile_names()
    if name in known:
        return None
    return (
        f"{name[:40]!a} is not known.",
        f"use one of: {', '.join(known)}; or the path of a file that ends in .yaml.",
    )


def bring_kinds(profile: Profile | str) -> Profile:
    """Like `load_profile`, and let the kinds of the profile be known to this process from now on."""
    found = load_profile(profile)
    KINDS.bring(build_own_kinds(found.kinds))
    return found


@cache
def _shipped_profile(name: str) -> Profile:
    # Every run asks for it more than once, and reading YAML takes longer than most calls.
    file = files("reconciler.service") / "profiles" / f"{name}.yaml"
    return parse_profile(file.read_bytes(), file.name)


def parse_profile(content: bytes, shown: str) -> Profile:
    """The profile in a file that messages call `shown`; `base: NAME` stands for all it does not say itself.

    Raises SettingsError, with line and column, for an unknown, missing or repeated key, or an unfit value.
    """
    tree = read_tree(content, shown, typed=True)
    if tree.problems:
        raise _unusable_profile(without_quotes(tree.problems[0]))
    written = _with_base(tree)
    try:
        profile = msgspec.convert(written, Profile)
    except msgspec.ValidationError as error:
        raise _unusable_profile(tree.problem(_read_steps(str(error)), str(error), "", code="E208")) from None
    for path, what, _ in find_kind_contradictions(profile.kinds):
        raise _unusable_profile(
            tree.problem(("kinds", *path), f"kinds.{'.'.join(path)}: {what}", "", code="E100")
        )
    return profile


def _with_base(tree: Tree) -> dict[str, Any]:
    """Return what a file says, above what the profile says that it names as its base."""
    written: dict[str, Any] = dict(tree.value)
    base = written.pop("base", None)
    if not isinstance(base, str):
        return written
    if base not in _profile_names():
        what = f"its base {base[:40]!a} is none of {', '.join(_profile_names())}"
        raise _unusable_profile(tree.problem(("base",), what, "", code="E204"))
    below = msgspec.to_builtins(load_profile(base))
    return {
        key: {**below.get(key, {}), **value} if key in _JOINED and isinstance(value, dict) else value
        for key, value in {**below, **written}.items()
    }


_JOINED = ("capabilities", "limits", "retention")  # key by key; lists and maps of names are replaced whole


def _read_steps(said: str) -> Steps:
    """Return the path that a message of msgspec is about: ... unknown field `a` - at `$.limits`."""
    written = re.search(r"`\$([^`]*)`", said)
    steps = re.findall(r"\.([^.\[]+)|\[(\d+)\]", written[1]) if written else []
    unknown = re.search(r"unknown field `([^`]*)`", said)
    return [*(name or int(index) for name, index in steps), *([unknown[1]] if unknown else [])]


def without_quotes(problem: Problem) -> Problem:
    """The problem without what somebody wrote: settings may name the wrong file, and its text is anybody's.

    Its first word is the path of a key, which is shown where all of it are keys of profiles.
    """
    path, space, rest = problem.what.partition(" It is '")[0].partition(" ")
    steps = re.split(r"[.\[\]]+", path.rstrip("]"))
    known = all(step in _KEYS or step.isdecimal() for step in steps)
    stated = problem.code in ("E103", "E104")  # null, or a key twice: said of any key, known or not
    return replace(problem, what=f"{'a key here' if stated and not known else path}{space}{rest}")


_KEYS = frozenset(
    name
    for struct in (Profile, Capabilities, ProfileLimits, Retention, KindRow, FieldRow)
    for name in struct.__struct_fields__
) | {"base"}


def _unusable_profile(problem: Problem) -> SettingsError:
    what = " ".join(problem.what.split())[:200].rstrip(".")
    return SettingsError(
        f"the profile {problem.where} cannot be used: {what}.",
        next="write `base: service` and below it only what differs; docs/profiles.md lists the keys.",
    )


@cache
def _profile_names() -> tuple[str, ...]:
    folder = files("reconciler.service") / "profiles"
    names = (entry.name for entry in folder.iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml")))


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
