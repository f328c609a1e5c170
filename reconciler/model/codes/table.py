"""All codes, and which one a problem or an error has.

A problem has the code of its message. So no place that finds a mistake has to know its code, and the
examples of the table hold messages and codes together.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache

from reconciler.model.codes.code import Code
from reconciler.model.codes.entries import ENTRIES
from reconciler.model.codes.errors import CLASSES, RULES
from reconciler.model.codes.files import FILES


def _order(code: str) -> tuple[str, int]:
    return code[0], int(code[1:])


OTHER = Code("E100", "Another mistake in a file or a value", "The message says what is wrong and what to do.")
PROBLEMS = (*FILES, *ENTRIES)  # of messages of problems, the special ones first

CODES: Mapping[str, Code] = {
    one.code: one
    for one in sorted(
        (*CLASSES.values(), OTHER, *PROBLEMS, *RULES.values()), key=lambda one: _order(one.code)
    )
}

_SUBJECT = re.compile(r"^[a-z]\S*/\S+: ")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'")  # what somebody wrote decides nothing


def code_of_problem(what: str) -> str:
    """Return the code of a mistake in a file, by its message."""
    said = _QUOTED.sub("''", _SUBJECT.sub("", what))
    return next((code for sign, code in _signs() if sign.search(said)), OTHER.code)


def code_of_error(kind: type) -> str:
    """Return the code of a class of error: its own, or that of the nearest class above it."""
    return next(CLASSES[one.__name__].code for one in kind.__mro__ if one.__name__ in CLASSES)


def near(code: str) -> Iterable[str]:
    """Return the codes that begin as this one does."""
    return [known for known in CODES if known[:2] == code[:2]]


@cache
def _signs() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(one.sign), one.code) for one in PROBLEMS if one.sign)
