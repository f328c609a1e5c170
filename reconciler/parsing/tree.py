"""The reader: the bytes of one YAML or JSON file become plain dicts, lists and text, with positions.

The limits and refusals of the language, for manifests, settings and profiles alike. Schemas and callers
decide which keys may occur and what values mean.

Every scalar is the text as written: `007`, `NO`, `+61...` and `12:30` are not numbers, booleans or times. A
caller that asks for types gets `true`, `false` and decimal numbers as such. The events of the parser are
consumed one at a time, so an alias is refused before it expands, and depth and size are checked before
anything is built.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reconciler.errors import Problem
from reconciler.model.documents import Place
from reconciler.parsing.display import (
    CHARACTER_HINT,
    UNFIT_CHARACTERS,
    Subject,
    TreePath,
    describe_character,
    no_subject,
)
from reconciler.parsing.json_reader import build_json
from reconciler.parsing.standins import find_stand_in
from reconciler.parsing.tree_builder import (
    GAP,
    AlikeBody,
    BodyForm,
    Builder,
    Marks,
    SecondValue,
    StopReading,
    is_after_secret,
    pack_position,
)
from reconciler.parsing.yaml_reader import build_yaml

TREE_BYTES_MAX = 10 * 1024 * 1024  # bytes of one file
_UNFIT_SHOWN_MAX = 20  # a binary file would give thousands


@dataclass(frozen=True, slots=True)
class Tree:
    """One file as read. `value` is the root mapping; `{}` where nothing could be read.

    Scalars are text as written; None means a written null, which is always a problem too. A tree with
    `problems` is checked further, so that all mistakes are reported at once, unless it is `broken`: then
    reading stopped. `hidden` are the places of values that no message may show, with the variables that they
    come from. `partial` and `again` are those of the builder: incomplete mappings, and second values of a
    key. `secrets` are the lines with a secret, each with the column of its key.
    `nodes` is the number of its scalars and containers. `alike` are mappings that differ in their values
    alone from others, by their identity.
    """

    file: str
    value: dict[str, Any]
    problems: tuple[Problem, ...] = ()
    broken: bool = False
    hidden: Mapping[Place, tuple[str, ...]] = field(default_factory=dict)
    partial: Mapping[int, dict[str, Any]] = field(default_factory=dict, repr=False)
    again: tuple[SecondValue, ...] = ()
    secrets: Mapping[int, int] = field(default_factory=dict, repr=False)
    nodes: int = 0
    alike: Mapping[int, AlikeBody] = field(default_factory=dict, repr=False)
    _marks: Marks = field(default_factory=lambda: Marks({}, array("Q")), repr=False)
    _indexes: dict[int, dict[str, int]] = field(default_factory=dict, repr=False)

    def place(self, path: TreePath) -> Place:
        """Return the place of the key or item at `path`, or of its nearest ancestor that exists."""
        node: Any = self.value
        above, at = None, 0
        for step in path:
            index = self._index(node, step)
            if index is None:
                break
            above, at = node, index
            node = node[step]
        return Place(self.file, 1, 1) if above is None else self._marks.place(self.file, above, at)

    def places(self, node: dict[str, Any] | list[Any]) -> Iterator[Place]:
        """Yield the place of each key or item of a container of this tree, in its order."""
        return (self._marks.place(self.file, node, index) for index in range(len(node)))

    def place_in(self, node: dict[str, Any] | list[Any], step: str | int) -> Place:
        """Return the place of one key or item of a container of this tree."""
        index = self._index(node, step)
        return self._marks.place(self.file, node, index) if index is not None else Place(self.file)

    def packed_places(self, node: dict[str, Any] | list[Any]) -> Sequence[int]:
        """Return the same places as one integer each: line << 32 | column."""
        return self._marks.packed(node)

    def may_be_secret(self, path: TreePath) -> bool:
        """Whether the key at a path may be the rest of a secret, so that no message may show it."""
        place = self.place(path)
        return is_after_secret(self.secrets, (place.line, place.column))

    def problem(self, path: TreePath, what: str, hint: str, code: str) -> Problem:
        """Return the problem of what stands at `path`."""
        place = self.place(path)
        return Problem(self.file, place.line, place.column, what, hint, code=code)

    def with_second_value(self, again: SecondValue) -> "Tree":
        """Return a tree with the second value of a key as its only entry, and the head of this file."""
        kind, name = again.path
        entries = {name: again.value}
        self._marks.record(entries, [pack_position(again.line, again.column)])
        value: dict[str, Any] = {
            key: self.value[key] for key in ("version", "workspace", "defaults", "tags") if key in self.value
        }
        places = [self.place_in(self.value, key) for key in value]
        packed = [pack_position(place.line, place.column) for place in places]
        value[kind] = entries
        self._marks.record(value, [*packed, pack_position(again.line, again.column)])
        return replace(self, value=value, again=(), _indexes={})

    def with_value(self, value: dict[str, Any], partial: Mapping[int, dict[str, Any]]) -> "Tree":
        """Return this tree with another root, whose containers have positions in the marks of this tree."""
        return replace(self, value=value, partial=partial, _indexes={})

    def record_positions(self, container: dict[str, Any] | list[Any], packed: Sequence[int]) -> None:
        """Record the positions of the keys or items of a new container of this tree."""
        self._marks.record(container, list(packed))

    def build_alike(self, form: BodyForm, values: Sequence[str], line: int) -> AlikeBody:
        """Return a mapping of a form whose first line is this one; its positions belong to this tree."""
        return form.build(values, line, self._marks)

    def _index(self, node: object, step: str | int) -> int | None:
        if isinstance(node, list) and isinstance(step, int):
            return step if 0 <= step < len(node) else None
        if not isinstance(node, dict) or not isinstance(step, str):
            return None
        known = self._indexes.get(id(node))
        if known is None:
            known = self._indexes[id(node)] = {key: index for index, key in enumerate(node)}
        return known.get(step)


def read_tree(data: bytes, file: str, *, subject: Subject = no_subject, typed: bool = False) -> Tree:
    """Return the tree of one file. Mistakes are in `problems`; nothing in the file raises an exception.

    `file` is the name for messages. A name that ends in `.json` is read as strict JSON, every other one as
    YAML. `subject` names the entity at a path. With `typed`, the words true and false and decimal numbers
    without quotes become values of their type. Problems are in file order.
    """
    stands_for = find_stand_in(data) if len(data) <= TREE_BYTES_MAX else None
    if stands_for is not None:
        return Tree(file, {}, (stands_for.problem(file),), broken=True)
    try:
        text = _decode_text(data, file)
    except StopReading as stop:
        return Tree(file, {}, (stop.problem,), broken=True)
    unfit = tuple(_find_unfit(text, file))
    if len(unfit) == _UNFIT_SHOWN_MAX:
        return Tree(file, {}, unfit, broken=True)
    builder = Builder(file, gaps=bool(unfit), subject=subject, typed=typed)
    builder.problems.extend(unfit)
    try:
        text = UNFIT_CHARACTERS.sub(GAP, text) if unfit else text
        (build_json if file.lower().endswith(".json") else build_yaml)(text, builder)
    except StopReading as stop:
        # After an unfit character, an error in its line or the next one is a consequence.
        if not any(stop.problem.line - one.line in (0, 1) for one in unfit):
            builder.problems.append(stop.problem)
        return Tree(file, {}, _sort_problems(builder.all_problems()), broken=True)
    root = builder.root
    if not isinstance(root, dict):
        return Tree(file, {}, _sort_problems(builder.all_problems()), broken=True)
    return Tree(
        file,
        root,
        _sort_problems(builder.all_problems()),
        partial=builder.partial,
        again=tuple(builder.again),
        secrets=builder.secrets,
        nodes=builder.nodes,
        _marks=builder.marks,
    )


def _decode_text(data: bytes, file: str) -> str:
    if len(data) > TREE_BYTES_MAX:
        raise StopReading(
            Problem(
                file,
                0,
                0,
                f"the file has {len(data):,} bytes; the limit is {TREE_BYTES_MAX:,} (10 MiB).",
                "split it: several files may describe one workspace; or use a roster (docs/manifest.md)",
                code="E108",
            )
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        raise StopReading(
            Problem(
                file, line, column, "the file is not UTF-8.", "save it as UTF-8 in your editor", code="E106"
            )
        ) from error


def _find_unfit(text: str, file: str) -> Iterator[Problem]:
    for count, found in enumerate(UNFIT_CHARACTERS.finditer(text)):
        if count == _UNFIT_SHOWN_MAX:
            return
        line = text.count("\n", 0, found.start()) + 1
        column = found.start() - text.rfind("\n", 0, found.start())
        yield Problem(
            file, line, column, f"{describe_character(found[0])} is refused.", CHARACTER_HINT, code="E105"
        )


def _sort_problems(problems: list[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))
