"""A manifest in its canonical form, or why it stays as it is. The meaning is compared every time.

Pure: bytes in, bytes out. Which files, and writing them, is the command's (cli/verbs/project/fmt.py).
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reconciler.errors import Problem
from reconciler.manifest.entries import Steps, name_entry
from reconciler.manifest.formatted.order import rank_at
from reconciler.manifest.formatted.source import parsed, with_newlines
from reconciler.manifest.formatted.writer import written
from reconciler.parsing.tree import Tree, read_tree

_LEFT = "the file was left as it is"


class Formatted(Struct, frozen=True):
    """The bytes of a file in canonical form; with `problems` they are those that were given."""

    data: bytes
    problems: tuple[Problem, ...] = ()


def formatted(data: bytes, file: str) -> Formatted:
    """Return a manifest in canonical form: what our reader reads of it is the same, and so are the comments.

    `file` is its name in messages. Line ends are those of the first line; a byte order mark goes. What cannot
    be read, is no manifest, or would mean something else is returned as it is, with what is wrong.
    """
    tree = read_tree(data, file, subject=name_entry)
    if tree.problems:
        return Formatted(data, tree.problems)
    if "workspace" not in tree.value:
        what = f"this is not a manifest: it has no `workspace`; {_LEFT}."
        hint = "name manifests, or the folder that holds them"
        return Formatted(data, (Problem(file, 1, 1, what, hint, code="E116"),))
    text = data.decode("utf-8-sig")
    first, found, _ = text.partition("\n")
    source = parsed(with_newlines(text))
    made = written(source)
    after = (made.replace("\n", "\r\n") if found and first.endswith("\r") else made).encode()
    if after == data:
        return Formatted(data)
    again = read_tree(after, file, subject=name_entry)
    problem = _difference(tree, again) or _lost(file, source.comments, made)
    return Formatted(data, (problem,)) if problem else Formatted(after)


def _difference(before: Tree, after: Tree) -> Problem | None:
    """Return where two readings differ; None where they are the same."""
    path: Steps | None = ()
    if not after.problems:
        path = next(_unlike(before.value, after.value, ()), None)
    if path is None:
        return None
    place = before.place(path)
    what = f"this cannot be formatted without a change of what it says; {_LEFT}."
    hint = "write what stands here in another form, or leave the file out; and report this"
    return place.problem(what, hint, code="E100")


def _unlike(before: Any, after: Any, path: Steps) -> Iterator[Steps]:
    """Yield the paths at which two values differ. The order of keys counts where it is the author's."""
    if type(before) is not type(after) or (not isinstance(before, dict | list) and before != after):
        yield path
    elif isinstance(before, list):
        if len(before) != len(after):
            yield path
        for at, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from _unlike(one, other, (*path, at))
    elif isinstance(before, dict):
        same = list(before) == list(after) if rank_at(path) is None else before.keys() == after.keys()
        if not same:
            yield path
            return
        for key, one in before.items():
            yield from _unlike(one, after[key], (*path, key))


def _lost(file: str, comments: list[str], made: str) -> Problem | None:
    """Return what says that a comment would not be kept; None where all are there, and no more."""
    if Counter(comments) == Counter(parsed(made).comments):
        return None
    what = f"this cannot be formatted with all its comments; {_LEFT}."
    hint = "put comments on lines of their own; and report this"
    return Problem(file, 1, 1, what, hint, code="E100")
