"""Puts the code of a changed source in the place of what was imported: no import is repeated.

Importing the project takes longer than most tests. Where only the inside of functions differs, the new code
is given to the functions that are there. What runs when a module is imported (a constant, a class, a
decorator, a default) cannot be changed so, and neither can what such code has made already: whoever asks
tries a change that nothing noticed by a fresh import.
"""

import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType

# What a function keeps beside its code has to fit the new one. Where it differs, more than the inside does.
_OUTSIDE = ("co_name", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags", "co_freevars")
_INSIDE = ("co_code", "co_names", "co_varnames", "co_cellvars")


Functions = Mapping[str, Sequence[FunctionType]]  # by the file that their code stands in


def functions_below(folder: Path) -> Functions:
    """Return every function whose code stands in a file below this folder."""
    gc.unfreeze()  # what is frozen is not told
    found: dict[str, list[FunctionType]] = {}
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename.startswith(f"{folder}/"):
            found.setdefault(one.__code__.co_filename, []).append(one)
    return found


def put_in_place(sources: Mapping[str, str], functions: Functions) -> bool:
    """Give those of the functions that differ the code of these sources, by the names of their modules.

    Modules that are not imported are left out. False, and nothing was changed, where that cannot be done.
    """
    replaced: dict[CodeType, CodeType] = {}
    files = []
    for name, text in sources.items():
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is None:
            continue
        before = compile(Path(file).read_text(encoding="utf-8"), file, "exec", dont_inherit=True)
        after = compile(text, file, "exec", dont_inherit=True)
        if not _is_same(before, after) or not _paired(before, after, replaced):
            return False
        files.append(file)
    # Of these files alone: in a fork, a look at every function would copy the page of each.
    for function in (one for file in files for one in functions.get(file, ())):
        new = replaced.get(function.__code__)
        if new is not None:
            function.__code__ = new
    return True


def _paired(before: CodeType, after: CodeType, replaced: dict[CodeType, CodeType]) -> bool:
    """Add each function within that differs; False where a class does, or what a function keeps."""
    pairs = [*zip(_within(before), _within(after), strict=False)]
    if len(pairs) != max(sum(1 for _ in _within(one)) for one in (before, after)):
        return False
    for old, new in pairs:
        is_function = bool(old.co_flags & 0x02)  # CO_NEWLOCALS: the body of a class has none
        if any(getattr(old, part) != getattr(new, part) for part in _OUTSIDE):
            return False
        if not is_function and not _is_same(old, new):
            return False
        if not _paired(old, new, replaced):
            return False
        if is_function and _differs(old, new):
            replaced[old] = new
    return True


def _differs(old: CodeType, new: CodeType) -> bool:
    pairs = zip(_within(old), _within(new), strict=True)
    return not _is_same(old, new) or any(_differs(*pair) for pair in pairs)


def _is_same(old: CodeType, new: CodeType) -> bool:
    """Compare the code itself, without where it stands and without what is defined within it."""
    return all(getattr(old, part) == getattr(new, part) for part in _INSIDE) and [*_values(old)] == [
        *_values(new)
    ]


def _values(code: CodeType) -> Iterator[object]:
    """Yield the constants; True and 1 are two."""
    return (None if isinstance(one, CodeType) else (type(one), repr(one)) for one in code.co_consts)


def _within(code: CodeType) -> Iterator[CodeType]:
    return (one for one in code.co_consts if isinstance(one, CodeType))
