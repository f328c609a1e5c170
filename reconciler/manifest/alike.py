r"""Entries that are written alike: the parser reads one of them, and so says how the others are to be read.

Most entries of a large manifest differ in their values alone. What is left of a text without its values is
its form. The parser reads a sample of a form, with a mark in the place of each value. Where each mark comes
back as one whole value, and nothing is wrong, every text of the form means what the sample means, with values
of its own: a value is only taken from between quotes, or behind a colon up to the end of its line, and holds
no character that means anything to YAML there. So nothing here reads YAML by itself.

The parser also reads what is left of the file, with stand-ins for the entries that are taken from it
(cutting.py): that proves where they stand. Whatever is unsure is left to it: a mistake anywhere, a name that
occurs twice, too many values. The tree is that of the whole file in every case.
"""

import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

from reconciler.manifest.cutting import (
    EntrySection,
    PlacedEntry,
    blank_entries,
    replace_stand_ins,
)
from reconciler.manifest.entries import name_entry
from reconciler.parsing.display import secret_keys
from reconciler.parsing.standins import find_stand_in
from reconciler.parsing.tree import Tree, read_tree
from reconciler.parsing.tree_builder import (
    NODES_MAX,
    SHARED_MAX,
    AlikeBody,
    BodyForm,
    FormContainer,
    pack_position,
)

_ENTRIES_MIN = 64  # of a section; fewer are parsed as quickly
_LEARNED_AFTER = 4  # texts of a form: one that is rare is not worth its sample
_FORMS_MAX = 40  # samples that are read, each for as long as about 50 entries are parsed

# --- The form of a text ---------------------------------------------------------------------------
#
# A value is short enough for what YAML allows in one line, and has letters, digits and these signs alone.

_DOUBLE_QUOTED = r"[\w !#$%&'()*+,./:;<=>?@\[\]^`{|}~-]{0,200}"
_SINGLE_QUOTED = r"[\w !#$%&\"()*+,./:;<=>?@\[\]^`{|}~-]{0,200}"
_PLAIN = r"(?!(?:null|Null|NULL)\r?\n)[^\W_+](?:[\w .@+/()&=-]{0,200}[\w)])?|\+\d{1,20}"
_VALUE = re.compile(
    rf"(?<=: \")(?:{_DOUBLE_QUOTED})(?=\")"
    rf"|(?<=: ')(?:{_SINGLE_QUOTED})(?=')"
    rf"|(?<=: )(?:{_PLAIN})(?=\r?\n)"
)
_VALUES: Mapping[str, str] = {'"': _DOUBLE_QUOTED, "'": _SINGLE_QUOTED, " ": _PLAIN}
_NAME = r"(?!(?:null|Null|NULL):)[A-Za-z0-9][A-Za-z0-9_.-]{0,100}"
_FIRST_LINE = re.compile(rf"( *)({_NAME})(?=:)")


class EntryForm(NamedTuple):
    """How texts of one form are read: `match` gives the name and the values of the body.

    `nodes` is the number of keys, values and containers.
    """

    match: "Callable[[str], re.Match[str] | None]"
    body: BodyForm
    nodes: int


def learn_form(plural: str, column: int, text: str) -> EntryForm | None:
    """Return how entries of the form of `text` are read; None where the sample of it leaves a doubt.

    The entries are of the section `plural`, and their keys stand in this column, from 0.
    """
    head = _FIRST_LINE.match(text)
    if head is None or len(head[1]) != column:
        return None
    at, literals, pattern = head.end(), [], [f"{head[1]}({_NAME})"]
    for found in _VALUE.finditer(text, at):
        literals.append(text[at : found.start()])
        pattern += [re.escape(literals[-1]), f"({_VALUES[text[found.start() - 1]]})"]
        at = found.end()
    literals.append(text[at:])
    pattern.append(re.escape(literals[-1]))
    # How much a block text takes may depend on the text behind the entry.
    if any("|" in one or ">" in one for one in literals):
        return None
    stem = "x"
    while stem in text:
        stem += "x"
    marks = [f"{stem}{number}y" for number in range(len(literals))]
    sample = head[1] + "".join(piece for pair in zip(marks, literals, strict=True) for piece in pair)
    tree = read_tree(f"{plural}:\n{sample}".encode(), "form.yaml")
    if tree.problems or tree.broken or tree.secrets or [*tree.value] != [plural]:
        return None
    section = tree.value[plural]
    body = section.get(marks[0]) if isinstance(section, dict) and len(section) == 1 else None
    if not isinstance(body, dict):
        return None
    form = _FormBuilder(tree, marks, stem).build(body, sample)
    if form is None:
        return None
    return EntryForm(re.compile("".join(pattern)).fullmatch, form, tree.nodes - _HEAD_NODES)


_HEAD_NODES = 3  # of a sample: the root, the key of the section, and the section
_HEAD_LINES = 1


class _FormBuilder:
    """Finds the marks of a sample in its tree."""

    def __init__(self, tree: Tree, marks: Sequence[str], stem: str) -> None:
        self._tree = tree
        self._marks = marks
        self._stem = stem
        self._front = 0  # values of a row before its containers
        self._containers: list[FormContainer] = []

    def build(self, body: dict[str, Any], sample: str) -> BodyForm | None:
        """Return the form of the body of the sample; None where not all marks are values, once each.

        None too where a key or an item stands behind a value in its line: where it stands depends on that.
        """
        leaves = [*_iterate_leaves(body)]
        constants = tuple(one for one in leaves if one not in self._marks)
        values = [one for one in leaves if one in self._marks]
        if sorted(values) != sorted(self._marks[1:]) or any(self._stem in one for one in constants):
            return None
        rows = {mark: number for number, mark in enumerate(self._marks[1:], start=len(constants))}
        self._front = len(leaves)
        self._add(body, rows, iter(range(len(constants))))
        moving = self._locate_marks(sample)
        for one in self._containers:
            if any(self._stem in key for key in one.keys or ()):
                return None
            if any(moving.get(place >> 32, _NOWHERE) < place & 0xFFFFFFFF for place in one.packed):
                return None
        return BodyForm(constants, tuple(self._marks[1:]), tuple(self._containers))

    def _add(self, node: Any, rows: Mapping[str, int], spare: Iterator[int]) -> int:
        """Add the containers of a node, and return which value of a row it is."""
        if isinstance(node, str):
            return rows[node] if node in rows else next(spare)
        is_mapping = isinstance(node, dict)
        below = [self._add(one, rows, spare) for one in (node.values() if is_mapping else node)]
        packed = array("Q", (place - (_HEAD_LINES + 1 << 32) for place in self._tree.packed_places(node)))
        self._containers.append(
            FormContainer(tuple(node) if is_mapping else None, pick_values(below), packed)
        )
        return self._front + len(self._containers) - 1

    def _locate_marks(self, sample: str) -> dict[int, int]:
        """Return the column of the first mark of each line, from 1; lines count from 0."""
        lines = enumerate(sample.split("\n"))
        return {number: line.index(self._stem) + 1 for number, line in lines if self._stem in line}


_NOWHERE = 1 << 32


def _iterate_leaves(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    else:
        for one in node.values() if isinstance(node, dict) else node:
            yield from _iterate_leaves(one)


def pick_values(numbers: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return what takes the values of these numbers out of a row."""
    if [*numbers] == [*range(numbers[0], numbers[-1] + 1)] if numbers else False:
        return itemgetter(slice(numbers[0], numbers[-1] + 1))
    return itemgetter(*numbers) if len(numbers) > 1 else lambda row: [row[one] for one in numbers]


# --- The entries of a file ------------------------------------------------------------------------


class AlikeReader:
    """Reads manifests. What it has learned of one serves the next one too.

    It looks at forms where a section has `least` entries.
    """

    def __init__(self, *, least: int = _ENTRIES_MIN) -> None:
        self._least = least
        self._forms: dict[tuple[str, int, str], EntryForm | None] = {}
        self._seen: dict[int, int] = {}  # how many texts of a form there were, by the hash of the form

    def read(self, data: bytes, file: str, sections: Sequence[EntrySection]) -> Tree:
        """Return the tree of a manifest: what `read_tree` returns. `sections` are those of `cut_sections`."""
        tree = self.read_alike(data, file, sections)
        return tree if tree is not None else read_tree(data, file, subject=name_entry)

    def read_alike(self, data: bytes, file: str, sections: Sequence[EntrySection]) -> Tree | None:
        """Return the same; None where no entries are read by their form, or anything is unsure."""
        count = max((len(one.starts) - 1 for one in sections), default=0)
        if count < self._least or find_stand_in(data) is not None:
            return None
        try:
            matched = [dict(self._match_texts(data, section)) for section in sections]
        except UnicodeDecodeError:
            return None
        if not any(matched):
            return None
        text, stand_ins = blank_entries(data, sections, matched)
        tree = read_tree(text, file, subject=name_entry)
        builder = _EntryBuilder(tree)
        entries = (
            (
                builder.build(run.section, number, *matched[run.section_number][number])
                for number in run.numbers
            )
            for run in stand_ins
        )
        whole = replace_stand_ins(tree, stand_ins, entries)
        if whole is None:
            return None
        nodes = tree.nodes + builder.nodes - 2 * len(stand_ins)
        return replace(whole, nodes=nodes, alike=builder.alike) if nodes <= NODES_MAX else None

    def _match_texts(
        self, data: bytes, section: EntrySection
    ) -> Iterator[tuple[int, tuple[EntryForm, Sequence[str]]]]:
        """Yield the number of each entry whose form is known, with its form, and its name and values.

        Raises UnicodeDecodeError.
        """
        form, secret = None, secret_keys()
        for number, (start, end) in enumerate(pairwise(section.starts)):
            text = str(data[start:end], "utf-8")
            found = form.match(text) if form is not None else None
            if found is None:
                form = self._find_form(section, text)
                found = form.match(text) if form is not None else None
            if form is not None and found is not None and found[1] not in secret:
                yield number, (form, found.groups())

    def _find_form(self, section: EntrySection, text: str) -> EntryForm | None:
        head = _FIRST_LINE.match(text)
        if head is None:
            return None
        key = (section.plural, section.column, _VALUE.sub("\0", text[head.end() :]))
        if key not in self._forms:
            seen = self._seen[hash(key)] = self._seen.get(hash(key), 0) + 1
            if seen < _LEARNED_AFTER or len(self._forms) == _FORMS_MAX:
                return None
            self._forms[key] = learn_form(section.plural, section.column, text)
        return self._forms[key]


class _EntryBuilder:
    """Builds the entries of one file in its tree. `nodes` counts what they have, `alike` are their bodies."""

    def __init__(self, tree: Tree) -> None:
        self.nodes = 0
        self.alike: dict[int, AlikeBody] = {}
        self._tree = tree
        self._shared: dict[str, str] = {}

    def build(self, section: EntrySection, number: int, form: EntryForm, texts: Sequence[str]) -> PlacedEntry:
        """Return the entry with this number in its section; `texts` are its name and its values."""
        share = self._shared.setdefault
        name, *values = [share(one, one) if len(one) <= SHARED_MAX else one for one in texts]
        line = section.lines[number]
        one = self._tree.build_alike(form.body, values, line)
        body = one.row[-1]
        self.alike[id(body)] = one
        self.nodes += form.nodes
        return PlacedEntry(name, body, pack_position(line, section.column + 1))
