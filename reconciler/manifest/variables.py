"""`${env:NAME}` in scalar values: after parsing, from an allow list, once.

No other templates: no defaults, no nesting, no expressions. The value of a variable is not expanded again and
never shown.
"""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from reconciler.core.suggest import did_you_mean
from reconciler.core.text import is_blank
from reconciler.errors import Problem
from reconciler.model.documents import Place
from reconciler.model.secrets import NO_FILES, VariableFiles
from reconciler.parsing.display import UNFIT_IN_LINE, describe_character, show_value
from reconciler.parsing.tree import Tree

# `$${` is a literal `${`; `${` that opens anything but a whole reference is a mistake.
_REFERENCE = re.compile(r"\$\$\{|\$\{(?:env:([A-Za-z_][A-Za-z0-9_]{0,254})\})?")
_LITERAL_HINT = "write ${env:NAME} for a variable of the environment, $${ for the characters ${"


class BadReference(NamedTuple):
    """What is wrong with a reference. `unset` is the name of the variable where it is only not set."""

    what: str
    hint: str
    code: str
    unset: str = ""


class UnsetVariable(NamedTuple):
    """A variable that is not set, and the problem that this is."""

    name: str
    problem: Problem

    @property
    def at(self) -> Place:
        """Where its reference stands."""
        return Place(self.problem.file, self.problem.line, self.problem.column)


class Substitution(NamedTuple):
    """The result: the variables of each filled place, all problems, and those of unset variables."""

    hidden: Mapping[Place, tuple[str, ...]]
    problems: tuple[Problem, ...]
    unset: tuple[UnsetVariable, ...]


class ManifestVariables:
    """The variables that manifests may read: names that match a glob in `allowed`, case counts.

    A variable that the environment lacks is looked up in `files`.
    """

    def __init__(
        self, environ: Mapping[str, str], allowed: Sequence[str], files: VariableFiles = NO_FILES
    ) -> None:
        self._environ = environ
        self._allowed = tuple(allowed)
        self._files = files

    def fill(self, text: str) -> "tuple[str, BadReference | None]":
        """Return `text` with its references replaced, and the first mistake in them.

        A variable that is not set is returned only where there is no other mistake.
        """
        wrong: list[BadReference] = []

        def replaced(found: re.Match[str]) -> str:
            if found[0] == "$${":
                return "${"
            if found[1] is None:
                what = "${ is not followed by a variable."
                wrong.append(BadReference(what, _LITERAL_HINT, code="E208"))
                return ""
            value = self._value_of(found[1])
            if isinstance(value, BadReference):
                wrong.append(value)
                return ""
            return value

        filled = _REFERENCE.sub(replaced, text)
        return filled, min(wrong, key=lambda one: bool(one.unset), default=None)

    def _value_of(self, name: str) -> "str | BadReference":
        if not any(fnmatchcase(name, glob) for glob in self._allowed):
            allowed = ", ".join(self._allowed) or "nothing yet"
            hint = f"add it to `variables` of the settings; they allow {allowed}"
            what = f"manifests may not read the variable {show_value(name)}."
            return BadReference(what, hint, code="E114")
        value = self._environ[name] if name in self._environ else self._files.find(name)
        if value is None:
            files = " or ".join(self._files.paths)
            there = f", or write it into {files}" if files else ""
            # No similar name is suggested: it may be that of another token.
            hint = did_you_mean("variable", name, (), f"set it in the environment of this command{there}")
            return BadReference(f"the variable {show_value(name)} is not set.", hint, code="E113", unset=name)
        if is_blank(value):
            held = "contains only whitespace" if value else "is empty"
            what = f"the variable {show_value(name)} {held}, which would clear the field."
            return BadReference(what, "give it a value", code="E115")
        found = UNFIT_IN_LINE.search(value)
        if found:
            hint = "a value is one line of text; check how the variable is set"
            return BadReference(
                f"the variable {show_value(name)} contains {describe_character(found[0])}.", hint, code="E115"
            )
        return value


def substitute_variables(tree: Tree, variables: ManifestVariables) -> Substitution:
    """Replace the references in all scalar values of `tree`, in place."""
    hidden: dict[Place, tuple[str, ...]] = {}
    problems: list[Problem] = []
    unset: list[UnsetVariable] = []
    waiting: list[dict[str, Any] | list[Any]] = [tree.value, *(one.value for one in tree.again)]
    while waiting:
        node = waiting.pop()
        for step, value in enumerate(node) if isinstance(node, list) else node.items():
            if isinstance(value, dict | list):
                waiting.append(value)
            elif isinstance(value, str) and "${" in value:
                place = tree.place_in(node, step)
                text, mistake = variables.fill(value)
                # None marks a value that could not be read, as the reader does.
                node[step] = None if mistake else text  # type: ignore[index]  # a step of this very node
                names = (found[1] for found in _REFERENCE.finditer(value) if found[1])
                hidden[place] = tuple(dict.fromkeys(names))
                if mistake:
                    problem = place.problem(mistake.what, mistake.hint, mistake.code)
                    problems.append(problem)
                    if mistake.unset:
                        unset.append(UnsetVariable(mistake.unset, problem))
    return Substitution(hidden, tuple(problems), tuple(unset))
