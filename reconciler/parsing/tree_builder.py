"""The builder: a stream of scalars, openings and closings becomes dicts, lists and packed positions.

Both parsers feed it, so the rules on keys, duplicates, null, depth and size are the same for YAML and JSON.
It knows neither syntax nor the meaning of manifests.
"""

import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple, NoReturn

from reconciler.core.text import normalize_unicode
from reconciler.errors import Problem
from reconciler.model.documents import Place
from reconciler.parsing.display import (
    CHARACTER_HINT,
    UNFIT_CHARACTERS,
    Subject,
    describe_character,
    format_path,
    no_subject,
    redact_path,
    secret_keys,
    show_value,
)

DEPTH_MAX = 20  # nested containers; a manifest needs at most 7
NODES_MAX = 1_000_000  # scalars and containers in one file; about 40,000 contacts
PROBLEMS_MAX = 1000  # as many as one run shows of all files together
SHARED_MAX = 40  # characters; longer texts seldom repeat

_KEY_HINT = "write a key before the colon"
NULL_HINT = (
    'write "" to clear the field, or remove the key to leave it unmanaged; a value that begins with # '
    "needs quotes"
)

# Replaces each unfit character that `read_tree` has reported, so that reading can continue with correct
# positions. A noncharacter that every YAML parser accepts.
GAP = "\ufdd0"

# Types of scalars without quotes, where a caller asks for types. The rules of YAML 1.1 would read 020 as 16,
# 1:30 as 90 and no as false.
_WORDS: Mapping[str, bool] = {"true": True, "false": False}
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?", re.ASCII)

Position = tuple[int, int]


class SecondValue(NamedTuple):
    """The second value of a key that occurs twice. It is checked too; the first one counts."""

    path: tuple[str, ...]
    value: dict[str, Any]
    line: int
    column: int


class _Null(NamedTuple):
    """A null and the path of its key; `blank`: nothing was written after the colon."""

    position: Position
    path: tuple[str | int, ...]
    blank: bool


class StopReading(Exception):
    """Reading of a file stops here. Not raised outside of this package."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.what)
        self.problem = problem


class Marks:
    """The position of every key and item in 8 bytes, by the identity of its container."""

    __slots__ = ("_all", "_shifted", "_starts")

    def __init__(self, starts: dict[int, int], everything: "array[int]") -> None:
        self._starts = starts
        self._all = everything
        self._shifted: dict[int, tuple[array[int], int]] = {}

    def record(self, container: dict[str, Any] | list[Any], packed: list[int]) -> None:
        """Record the positions of a finished container, which must live as long as these marks."""
        self._starts[id(container)] = len(self._all)
        self._all.extend(packed)

    def record_shifted(self, container: dict[str, Any] | list[Any], packed: "array[int]", lines: int) -> None:
        """Record the same positions, each so many lines further down; containers may share them."""
        self._shifted[id(container)] = packed, lines

    def packed(self, container: dict[str, Any] | list[Any]) -> "array[int]":
        """Return line << 32 | column of each key or item."""
        if id(container) in self._shifted:
            packed, lines = self._shifted[id(container)]
            down = lines << 32
            return array("Q", [one + down for one in packed])
        start = self._starts[id(container)]
        return self._all[start : start + len(container)]

    def place(self, file: str, container: dict[str, Any] | list[Any], index: int) -> Place:
        """Return the place of one key or item."""
        if id(container) in self._shifted:
            packed, lines = self._shifted[id(container)]
            return unpack_place(file, packed[index] + (lines << 32))
        return unpack_place(file, self._all[self._starts[id(container)] + index])


def pack_position(line: int, column: int) -> int:
    """Return both as one integer."""
    return line << 32 | column


def unpack_place(file: str, packed: int) -> Place:
    """Return the place that `pack_position` made one integer of."""
    return Place(file, packed >> 32, packed & 0xFFFFFFFF)


# --- Mappings that differ in their values alone ---------------------------------------------------


class FormContainer(NamedTuple):
    """A mapping or a list of a form: its keys, its values out of a row, and the positions of both.

    `keys` is None for a list. Positions count lines from the first one of the form, which is 0.
    """

    keys: tuple[str, ...] | None
    pick: Callable[[Sequence[Any]], Sequence[Any]]
    packed: "array[int]"


class BodyForm(NamedTuple):
    """How mappings that differ in their values alone are built.

    `constants` are the values that all of them have, `marks` stand for the others. `containers` stand in the
    order in which they end, so that the whole mapping is the last one; each is built from a row: the
    constants, the values, and the containers before it.
    """

    constants: tuple[str, ...]
    marks: tuple[str, ...]
    containers: tuple[FormContainer, ...]

    def build(self, values: Sequence[str], line: int, marks: Marks) -> "AlikeBody":
        """Return the mapping with these values whose first line is this one, and record its positions."""
        row: list[Any] = [*self.constants, *values]
        for keys, pick, packed in self.containers:
            below = pick(row)
            one = [*below] if keys is None else dict(zip(keys, below, strict=True))
            marks.record_shifted(one, packed, line)
            row.append(one)
        return AlikeBody(self, row, line)


class AlikeBody(NamedTuple):
    """A mapping that was built of a row in a form, and its first line. It is the last one of the row."""

    form: BodyForm
    row: Sequence[Any]
    line: int


class Frame:
    """An open container. `marks` are the positions of its keys or items so far."""

    __slots__ = ("again", "container", "dropped", "key", "marks", "name", "order")

    def __init__(self, container: dict[str, Any] | list[Any], name: str | None) -> None:
        self.container = container
        self.name = name  # the key that this stands under; None for the root and in lists
        self.marks: list[int] = []
        self.key: str | None = None  # of a mapping: the key whose value comes next
        self.dropped = False  # that value is read and discarded, because its key was refused
        self.again: Position | None = None  # of the second occurrence of a key
        self.order: dict[str, int] = {}  # key -> its number; only made where a key occurs twice

    def first(self, key: str) -> int:
        """The number of a key that occurred before, from 0."""
        if len(self.order) < len(self.container):
            fresh = islice(self.container, len(self.order), None)
            self.order.update({one: at for at, one in enumerate(fresh, start=len(self.order))})
        return self.order[key]


class Builder:
    """Takes nodes in document order. `root` is the finished mapping, or None when there is none.

    `partial` are the mappings, by identity, with a key that could not be read, so that missing keys cannot be
    reported. `again` are the second values of keys that occur twice. With `gaps`, text may contain GAP. With
    `typed`, words and numbers without quotes become values.
    `subject` names what a path leads to, once all of it was read. No message quotes a value, nor anything
    below a field that holds a secret.

    A reader may put a usual scalar into `top`, the innermost open container, by itself where the builder
    `takes_usual` ones: as `add_scalar` does it, and for speed alone.
    """

    def __init__(
        self, file: str, *, gaps: bool = False, subject: Subject = no_subject, typed: bool = False
    ) -> None:
        self.file = file
        self._subject = subject
        self._nulls: list[_Null] = []
        self.secrets: dict[int, int] = {}  # line -> column of its first field that holds a secret
        self.partial: dict[int, dict[str, Any]] = {}
        self.again: list[SecondValue] = []
        self._gaps = gaps
        self._typed = typed
        self._thrown: list[object] = []  # kept, so that no later mapping gets the identity of one of these
        self.problems: list[Problem] = []
        self.marks = Marks({}, array("Q"))
        self.root: dict[str, Any] | None = None
        self._frames: list[Frame] = []
        self.top: Frame | None = None
        self.nodes = 0
        self.secret_keys = secret_keys()
        self.shared: dict[str, str] = {}

    def all_problems(self) -> list[Problem]:
        """Return every mistake so far. Nulls are named by their key and entity."""
        root = self._frames[0].container if self._frames else self.root
        known = root if isinstance(root, dict) else {}
        return [*self.problems, *(self._null_problem(known, one) for one in self._nulls)]

    def _null_problem(self, root: dict[str, Any], null: _Null) -> Problem:
        front, named = self._subject(root, null.path)
        said = redact_path(null.path)
        label = format_path(said[named:])
        if said != null.path:
            label = f"a value in {label}" if label else "a value"
        if null.blank and is_after_secret(self.secrets, null.position):
            front, label = "", "a value after a secret"
        what = f"{front}{label or 'the entry'} is null, which is not allowed."
        return Problem(self.file, *null.position, what, NULL_HINT, code="E103")

    def _next_path(self, top: Frame) -> tuple[str | int, ...]:
        """Return the path of the value that comes next."""
        steps: list[str | int] = []
        for above, frame in pairwise(self._frames):
            steps.append(len(above.container) - 1 if frame.name is None else frame.name)
        due = len(top.container) if isinstance(top.container, list) else top.key
        return (*steps, "" if due is None else due)

    def refuse(self, position: Position, what: str, hint: str, code: str) -> None:
        """Record a mistake and continue, unless there are too many."""
        self.problems.append(Problem(self.file, *position, what, hint, code=code))
        self._limit_problems(position)

    def _limit_problems(self, position: Position) -> None:
        if len(self.problems) + len(self._nulls) >= PROBLEMS_MAX:
            what = f"more than {PROBLEMS_MAX} mistakes; the rest of the file was not read."
            self.stop(position, what, "", code="E108")

    def add_gap(self, position: Position, what: str, hint: str, code: str) -> None:
        """Record a mistake in a character that GAP replaces in the following text."""
        self._gaps = True
        self.refuse(position, what, hint, code)

    def stop(self, position: Position, what: str, hint: str, code: str) -> NoReturn:
        """End the reading of this file here."""
        raise StopReading(Problem(self.file, *position, what, hint, code=code))

    def add_scalar(
        self,
        text: str,
        line: int,
        column: int,
        *,
        null: bool = False,
        checked: bool = True,
        quoted: bool = False,
    ) -> None:
        """Take a scalar: a key where one is due, else a value. `checked`: it holds no escapes."""
        if self._gaps and GAP in text:
            self.add_refused(line, column)
            return
        if not checked and (found := UNFIT_CHARACTERS.search(text)):
            self.refuse(
                (line, column), f"{describe_character(found[0])} is refused.", CHARACTER_HINT, code="E105"
            )
            self.add_refused(line, column)
            return
        self.nodes += 1
        if self.nodes > NODES_MAX:
            self._too_many(line, column)
        top = self.top
        if top is None:
            self._bad_root(line, column, empty=null)
        elif top.key is None and type(top.container) is dict:
            if text.isascii() and text and not null and text not in top.container:
                self._accept_key(top, text, line, column)  # nearly every key
            else:
                self._check_key(top, text, line, column, null=null)
        elif null:
            self._nulls.append(_Null((line, column), self._next_path(top), not text))
            self._limit_problems((line, column))
            self._put_value(top, None, line, column)
        else:
            value = parse_scalar(text) if self._typed and not quoted else self._share_text(text)
            if type(top.container) is dict and top.key is not None and not top.dropped:
                top.container[top.key] = value  # nearly every value
                top.key = None
            else:
                self._put_value(top, value, line, column)

    @property
    def takes_usual(self) -> bool:
        """Whether texts without escapes are keys and values as they stand: no gaps, and no types."""
        return not self._gaps and not self._typed

    def _share_text(self, text: str) -> str:
        return self.shared.setdefault(text, text) if len(text) <= SHARED_MAX else text

    def add_refused(self, line: int, column: int) -> None:
        """Take a refused node: a value becomes None, a key is discarded."""
        self._count_node(line, column)
        top = self.top
        if top is None:
            self._bad_root(line, column, empty=False)
        elif top.key is None and type(top.container) is dict:
            top.key, top.dropped = "", True
            self.partial[id(top.container)] = top.container
        else:
            self._put_value(top, None, line, column)

    def begin(self, container: dict[str, Any] | list[Any], line: int, column: int) -> None:
        """Take the opening of a mapping or a list."""
        self._count_node(line, column)
        if len(self._frames) == DEPTH_MAX:
            what = f"this is nested more than {DEPTH_MAX} levels deep, which is the limit."
            hint = "no manifest needs that; check the indentation and the brackets"
            self.stop((line, column), what, hint, code="E108")
        top = self.top
        if top is not None and top.key is None and type(top.container) is dict:
            what = "a key must be text, not a mapping or a list."
            self.stop((line, column), what, "quote the key", code="E109")
        if top is None and type(container) is list:
            self._bad_root(line, column, empty=False)
        name = top.key if top is not None else None
        if top is not None:
            self._put_value(top, container, line, column)
        self.top = Frame(container, name)
        self._frames.append(self.top)

    def end(self) -> None:
        """Take the end of the container that was opened last."""
        frame = self._frames.pop()
        self.marks.record(frame.container, frame.marks)
        self.top = self._frames[-1] if self._frames else None
        if self.top is None and type(frame.container) is dict:
            self.root = frame.container

    def add_nothing(self) -> None:
        """Take the end of a file without any node."""
        self._bad_root(1, 1, empty=True)

    def _bad_root(self, line: int, column: int, *, empty: bool) -> None:
        what = "the file is empty." if empty else "the file is not a mapping of keys to values."
        self.stop((line, column), what, "start it with `version: 1`", code="E107")

    def _count_node(self, line: int, column: int) -> None:
        self.nodes += 1
        if self.nodes > NODES_MAX:
            self._too_many(line, column)

    def _too_many(self, line: int, column: int) -> NoReturn:
        what = f"the file contains more than {NODES_MAX:,} values, which is the limit."
        self.stop((line, column), what, "split it: several files may describe one workspace", code="E108")

    def _accept_key(self, top: Frame, key: str, line: int, column: int) -> None:
        """Take a correct key."""
        top.key = self.shared.setdefault(key, key)
        top.marks.append(line << 32 | column)
        if key in self.secret_keys:
            self.secrets.setdefault(line, column)

    def _check_key(self, top: Frame, text: str, line: int, column: int, *, null: bool) -> None:
        container = top.container
        wrong = hint = code = ""
        if null or not text:
            wrong, code = "a key must not be empty.", "E205"
            hint = f"{text} without quotes is not text: quote it" if text else _KEY_HINT
        elif not text.isascii() and normalize_unicode("NFC", text) != text:
            wrong = "the key is not in the composed Unicode form (NFC), so it may look like another one."
            hint, code = "write the accented letters as single characters", "E110"
        if text in container:
            was = unpack_place(self.file, top.marks[top.first(text)])
            path = (*self._next_path(top)[:-1], text)
            said = redact_path(path) == path and not is_after_secret(self.secrets, (line, column))
            label = show_value(text) if said else "a key"
            wrong = f"{label} occurs twice; the first one is in line {was.line}, column {was.column}."
            hint, code = "keep one of them", "E104"
            top.again = (line, column)
        elif wrong and type(container) is dict:
            self.partial[id(container)] = container
        if not wrong:
            self._accept_key(top, text, line, column)
            return
        self.refuse((line, column), wrong, hint, code)
        top.key, top.dropped = self.shared.setdefault(text, text), True
        if text in self.secret_keys:
            self.secrets.setdefault(line, column)

    def _put_value(self, top: Frame, value: object, line: int, column: int) -> None:
        container = top.container
        if type(container) is list:
            container.append(value)
            top.marks.append(pack_position(line, column))
        elif type(container) is dict and top.key is not None:
            if not top.dropped:
                container[top.key] = value
            else:
                self._discard(top, value)
            top.key, top.dropped, top.again = None, False, None

    def _discard(self, top: Frame, value: object) -> None:
        self._thrown.append(value)
        if top.again and isinstance(value, dict):
            above = [frame.name for frame in self._frames[1:]]
            path = tuple(name for name in (*above, top.key) if name is not None)
            self.again.append(SecondValue(path, value, *top.again))


def parse_scalar(text: str) -> bool | int | float | str:
    """Return the value of a scalar without quotes: a boolean, a decimal number, else the text."""
    if text in _WORDS:
        return _WORDS[text]
    number = _NUMBER.fullmatch(text)
    return text if number is None else float(text) if number[1] else int(text)


def is_after_secret(secrets: Mapping[int, int], position: Position) -> bool:
    """Whether a secret precedes this place in its line.

    To YAML, a secret without quotes ends at a comma or a brace in it, and the rest of it is a key.
    """
    line, column = position
    return secrets.get(line, column) < column
