"""Where settings come from: the file, its environment section, RECONCILER_* variables, defaults.

Belongs here: finding and reading the layers and putting one over the other, every value with its
origin. Not here: what the values mean (settings.py), what a secret is (credentials.py).
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from reconciler.errors import Problem, SettingsError
from reconciler.manifest.schemas import check
from reconciler.manifest.tree import Tree, read_tree
from reconciler.model.documents import Place
from reconciler.model.settings import GuardLimits, Identity, Limits

FILE = "reconciler.yaml"
PREFIX = "RECONCILER_"

# Each setting that is one value or one list, in the order in which `config` shows them, with its default.
# None: there is no default. Secrets have none either, and are the only ones whose file form is a mapping.
DEFAULTS: Mapping[str, str | bool | float | tuple[str, ...] | None] = {
    "stack": "default",
    "manifests": ("manifests",),
    "service.base_url": None,
    "service.profile": "service",
    "service.format": "json",
    "service.auth.username": None,
    "service.auth.password": None,
    "service.auth.api_key": None,
    "service.auth.send_key": "header",
    **{f"service.limits.{name}": getattr(Limits(), name) for name in Limits.__struct_fields__},
    **{f"identity.{name}": getattr(Identity(), name) for name in Identity.__struct_fields__},
    "ownership.mark": None,
    "adopt": "always",
    "store": "sqlite:///.reconciler/store.db",
    **{f"guard.{name}": getattr(GuardLimits(), name) for name in GuardLimits.__struct_fields__},
    "variables": (),
    "fields.contacts": (),
    "device_limit": 3,
    "plan_expires_h": 24.0,
}
SECRETS = ("service.auth.username", "service.auth.password", "service.auth.api_key")

# Names that start like ours and are not settings: two that stand for flags, and those that a container
# platform sets for a service that happens to be called reconciler.
_FLAGS = ("RECONCILER_CONFIG", "RECONCILER_ENVIRONMENT")
_PLATFORM = ("RECONCILER_PORT", "RECONCILER_SERVICE_HOST", "RECONCILER_SERVICE_PORT")

_PLAIN = "a plain value is refused: this file is kept in git, and what was once committed stays readable."


@dataclass(frozen=True, slots=True)
class Value:
    """One setting as written: text, a list of texts, or the mapping of a secret or a workspace.

    `origin` is what `config` shows; `place` is where a problem with it is reported.
    """

    path: tuple[str, ...]
    raw: Any
    origin: str
    place: Place

    @property
    def name(self) -> str:
        """The path as people write it: `service.base_url`."""
        return ".".join(self.path)

    @property
    def typed(self) -> Any:
        """The value as what its default is: a number where that is one."""
        default = DEFAULTS.get(self.name)
        return type(default)(self.raw) if isinstance(default, int | float) else self.raw

    def problem(self, what: str, hint: str) -> Problem:
        """Return a problem with this value, at the place where it was given."""
        return Problem(self.place.file, self.place.line, self.place.column, f"{self.name}: {what}", hint)


@dataclass(frozen=True, slots=True)
class Layers:
    """Every setting once, the strongest source's value.

    `root` is the absolute folder of the file, `shown` the file's name in messages.
    """

    file: Path
    shown: str
    root: Path
    environment: str
    environment_origin: str
    values: Mapping[tuple[str, ...], Value]


Values = dict[tuple[str, ...], Value]


def read_layers(
    *, config: str | None, environment: str | None, cwd: Path, environ: Mapping[str, str]
) -> Layers:
    """Return all settings: flag over environment over section over file over default."""
    file = _locate(config or _present("RECONCILER_CONFIG", environ), cwd)
    tree = _read(file, os.path.relpath(file, cwd.resolve()))
    section, origin = _section(tree, environment, environ)
    values = _over(dict(_defaults()), _leaves(tree, tree.value, ()))
    if section:
        values = _over(values, _leaves(tree, tree.value["environments"][section], ("environments", section)))
    values |= _from_environment(environ, values)
    return Layers(file, tree.file, file.parent, section, origin, values)


def variable(path: str) -> str:
    """Return the variable of a setting: RECONCILER_ and its path in capitals, dots as underscores."""
    return PREFIX + path.replace(".", "_").upper()


def _present(name: str, environ: Mapping[str, str]) -> str | None:
    """Return a variable that stands for a flag. An empty one is refused: it is a value that got lost."""
    if environ.get(name) == "":
        raise _refused(
            Problem(f"environment {name}", 0, 0, "it is set, and empty.", f"unset {name}, or give it a value")
        )
    return environ.get(name)


def _locate(config: str | None, cwd: Path) -> Path:
    if config is not None:
        return (cwd / config).resolve()
    folder = cwd.resolve()
    for candidate in (folder, *folder.parents):
        if (candidate / FILE).is_file():
            return candidate / FILE
        if (candidate / ".git").exists():
            break
    other = next((name for name in ("reconciler.yml", "reconciler.json") if (folder / name).is_file()), "")
    raise SettingsError(
        f"no {FILE} in {folder}, nor in a folder above it up to {candidate}.",
        next=f"rename {other} to {FILE}"
        if other
        else "write one (docs/settings.md), or name it with --config FILE",
    )


def _read(file: Path, shown: str) -> Tree:
    try:
        data = file.read_bytes()
    except OSError as error:
        reason = (error.strerror or "it cannot be opened").lower()
        raise SettingsError(
            f"{shown}: the settings cannot be read: {reason}.", next="check the name and its rights"
        ) from error
    tree = read_tree(data, shown)
    plain = tuple(_plain_secrets(tree))
    # What the schema says of a plain secret is dropped: it might show the value.
    at = {(problem.line, problem.column) for problem in plain}
    checked = () if tree.broken else check("settings", tree)
    others = [found for found in (*tree.problems, *checked) if (found.line, found.column) not in at]
    problems = sorted((*plain, *others), key=lambda problem: (problem.line, problem.column))
    if problems:
        raise _refused(*problems)
    return tree


def _plain_secrets(tree: Tree) -> Iterator[Problem]:
    """Yield a problem for each secret that stands in the file itself, without the secret."""
    sections = tree.value.get("environments")
    names = sections if isinstance(sections, dict) else {}
    for start in ((), *(("environments", name) for name in names)):
        for secret in SECRETS:
            path = (*start, *secret.split("."))
            if isinstance(_at(tree.value, path), str):
                name = path[-1].upper()
                yield tree.problem(
                    path,
                    f"{secret}: {_PLAIN}",
                    f"write {{env: {name}}}, {{file: PATH}} or {{command: WORDS}}; "
                    "change the secret if it was committed",
                )


def _at(node: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        node = node.get(step) if isinstance(node, dict) else None
    return node


def _section(tree: Tree, flag: str | None, environ: Mapping[str, str]) -> tuple[str, str]:
    name = flag if flag is not None else _present("RECONCILER_ENVIRONMENT", environ)
    origin = "--environment" if flag is not None else "environment RECONCILER_ENVIRONMENT"
    if name is None:
        return "", "default"
    known = tuple(tree.value.get("environments", {}))
    if name in known:
        return name, origin
    close = get_close_matches(name, known, n=1)
    there = f"there are {', '.join(known)}" if known else "it has none"
    raise SettingsError(
        f"{tree.file}: no environment {name!r} ({origin}); {there}.",
        next=f"did you mean {close[0]}?" if close else "name one of `environments:` in the settings",
    )


def _defaults() -> Iterator[tuple[tuple[str, ...], Value]]:
    nowhere = Place("default")
    for name, default in DEFAULTS.items():
        path = tuple(name.split("."))
        yield path, Value(path, default, "default", nowhere)
    path = ("workspaces", "default")
    yield path, Value(path, {}, "default", nowhere)


def _over(values: Values, stronger: Values) -> Values:
    """Return both layers as one. The default workspace is there by default only where none is named."""
    if any(path[0] == "workspaces" for path in stronger):
        values = {
            path: value
            for path, value in values.items()
            if path[0] != "workspaces" or value.origin != "default"
        }
    return values | stronger


def _leaves(tree: Tree, node: Mapping[str, Any], above: tuple[str, ...]) -> Values:
    """Return what one mapping of the file says, leaf by leaf. `above` leads to the mapping."""
    found: Values = {}
    pending: list[tuple[tuple[str, ...], Any]] = [((), node)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict) and not _whole(path):
            pending += [((*path, key), below) for key, below in reversed(value.items())]
        elif path != ("version",):
            place = tree.place((*above, *path))
            found[path] = Value(path, value, str(place), place)
    return {path: value for path, value in found.items() if path[0] != "environments"}


def _whole(path: tuple[str, ...]) -> bool:
    """Whether what stands here is one value, though it may be written as a mapping."""
    if path[:1] == ("environments",):
        return True
    return ".".join(path) in SECRETS or (len(path) == 2 and path[0] == "workspaces")  # noqa: PLR2004 - workspaces.ALIAS


def _from_environment(environ: Mapping[str, str], values: Values) -> Values:
    """Return the settings that RECONCILER_* variables give. A name of ours that means nothing is refused."""
    names = {variable(name): name for name in DEFAULTS}
    ours = sorted(name for name in environ if name.startswith(PREFIX) and not _elsewhere(name, values))
    found: Values = {}
    problems: list[Problem] = []
    for name in ours:
        if name in names:
            value = _variable_value(name, names[name], environ[name])
            problems += _variable_problems(value)
            found[value.path] = value
        else:
            close = get_close_matches(name, names, n=1)
            hint = (
                f"did you mean {close[0]}?" if close else f"unset {name}; the names stand in docs/settings.md"
            )
            problems.append(Problem(f"environment {name}", 0, 0, "no setting has this name.", hint))
    if problems:
        raise _refused(*problems)
    return found


def _elsewhere(name: str, values: Values) -> bool:
    """Whether a name of our prefix is a flag's, the platform's, a secret's or a manifest's."""
    if name in _FLAGS or name.startswith(_PLATFORM):
        return True
    secrets = (values.get(tuple(secret.split("."))) for secret in SECRETS)
    if any(value is not None and value.raw == {"env": name} for value in secrets):
        return True
    return any(fnmatchcase(name, glob) for glob in values["variables",].raw)


def _variable_value(name: str, setting: str, text: str) -> Value:
    path = tuple(setting.split("."))
    raw: Any = text
    if setting in SECRETS:
        raw = {"env": name}
    elif isinstance(DEFAULTS[setting], tuple):
        raw = [part.strip() for part in text.split(",")] if text else text
    return Value(path, raw, f"environment {name}", Place(f"environment {name}"))


def _variable_problems(value: Value) -> Iterator[Problem]:
    """Yield what is wrong with a variable's value, by the same schema as the file's."""
    if value.raw == "":
        yield Problem(value.place.file, 0, 0, "it is set, and empty.", "unset it, or give it a value")
        return
    nested = value.raw
    for step in reversed(value.path):
        nested = {step: nested}
    tree = read_tree(json.dumps({"version": "1", **nested}).encode(), "variable.json")
    for problem in (*tree.problems, *check("settings", tree)):
        yield Problem(value.place.file, 0, 0, problem.what, problem.next)


def _refused(*problems: Problem) -> SettingsError:
    count = "1 mistake" if len(problems) == 1 else f"{len(problems)} mistakes"
    return SettingsError(f"the settings cannot be used: {count}.", problems=problems)
