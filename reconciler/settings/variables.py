"""RECONCILER_* variables: settings from the environment, by one rule for their names.

Belongs here: which variable is which setting, and refusing those that mean nothing. Not here: files.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from reconciler.core.suggest import find_suggestions
from reconciler.core.text import escape_undecodable
from reconciler.errors import Problem
from reconciler.model.documents import Place
from reconciler.parsing.tree import read_tree
from reconciler.schema.check import check_tree
from reconciler.settings import trust
from reconciler.settings.values import BY_REFERENCE, DEFAULTS, FILE_ONLY, Value, Values, refused

PREFIX = "RECONCILER_"

# Names that start like ours and are not settings: three that stand for flags, the folders whose
# files are believed (trust.py), and those that a container platform sets for a service that happens to be
# called reconciler, whatever they say; those of reconciler-web and others: service_links.py.
_FLAGS = ("RECONCILER_CONFIG", "RECONCILER_ENVIRONMENT", "RECONCILER_IDENTITY", trust.VARIABLE)
_PLATFORM = ("RECONCILER_PORT", "RECONCILER_SERVICE_HOST", "RECONCILER_SERVICE_PORT")


def variable(path: str) -> str:
    """Return the variable of a setting: RECONCILER_ and its path in capitals, dots as underscores."""
    return PREFIX + path.replace(".", "_").upper()


def present(name: str, environ: Mapping[str, str]) -> str | None:
    """Return a variable that stands for a flag. An empty one is refused: it is a value that got lost."""
    if environ.get(name) == "":
        hint = f"unset {name}, or give it a value"
        raise refused(Problem(f"environment {name}", 0, 0, "it is set, and empty.", hint, code="E100"))
    return environ.get(name)


def from_environment(
    environ: Mapping[str, str], *, taken: Collection[str], globs: Sequence[str], links: Collection[str] = ()
) -> Values:
    """Return the settings that RECONCILER_* variables give. A name of ours that means nothing is refused.

    `taken` are variables that the file names for secrets; `globs` those that manifests may read; `links`
    those that Kubernetes made, of which none has the name of a setting.
    """
    names = {variable(name): name for name in DEFAULTS if name not in FILE_ONLY}
    ours = sorted(name for name in environ if name.startswith(PREFIX) and not _elsewhere(name, taken, globs))
    found: Values = {}
    problems: list[Problem] = []
    for name in ours:
        if name in names:
            value = _variable_value(name, names[name], environ[name])
            problems += _variable_problems(value)
            found[value.path] = value
        elif name not in links:
            # What all names share would make any two of them look alike.
            rest = {one.removeprefix(PREFIX): one for one in names}
            near = find_suggestions("setting", name.removeprefix(PREFIX), rest)
            hint = f"unset {escape_undecodable(name)}; docs/settings.md lists the names"
            hint = f"did you mean {rest[near[0]]}?" if len(near) == 1 else hint
            what = "no setting has this name."
            problems.append(Problem(f"environment {escape_undecodable(name)}", 0, 0, what, hint, code="E100"))
    if problems:
        raise refused(*problems)
    return found


def _elsewhere(name: str, taken: Collection[str], globs: Sequence[str]) -> bool:
    """Whether a name of our prefix is a flag's, the platform's, a secret's or a manifest's."""
    known = name in _FLAGS or name.startswith(_PLATFORM) or name in taken
    return known or any(fnmatchcase(name, glob) for glob in globs)


def _variable_value(name: str, setting: str, text: str) -> Value:
    path = tuple(setting.split("."))
    raw: Any = text
    if setting in BY_REFERENCE:
        raw = {"env": name}
    elif isinstance(DEFAULTS[setting], tuple):
        raw = [part.strip() for part in text.split(",")] if text else text
    return Value(path, raw, f"environment {name}", Place(f"environment {name}"), variable=name)


def _variable_problems(value: Value) -> Iterator[Problem]:
    """Yield what is wrong with a variable's value, by the same schema as the file's."""
    if value.raw == "":
        hint = "unset it, or give it a value"
        yield Problem(value.place.file, 0, 0, "it is set, and empty.", hint, code="E100")
        return
    nested = value.raw
    for step in reversed(value.path):
        nested = {step: nested}
    tree = read_tree(json.dumps({"version": "1", **nested}).encode(), "variable.json")
    for problem in (*tree.problems, *check_tree("settings", tree)):
        yield replace(problem, file=value.place.file, line=0, column=0)
