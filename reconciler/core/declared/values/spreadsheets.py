"""What spreadsheets make of numbers and codes, wherever it turns up."""

import re

from reconciler.core.declared.values.finding import Finding

_REWRITTEN = re.compile(r"[+-]?[0-9](?:[.,][0-9]+)?[eE]\+?[0-9]{1,3}")
_BROKEN = re.compile(r"#(?:REF|N/A|VALUE|NAME\?|DIV/0|NUM|NULL)!?|#{3,}")


def damage(text: str) -> Finding | None:
    """Return what a spreadsheet did to a text, or None. `447700900123` becomes `4.47701E+11` there."""
    # Cheap before sure: this is asked of every text of every entity. An employee number is often the
    # identity, and a rewritten one is the same for many people (tests/core/test_values.py).
    if "E+" in text or "e+" in text or "E1" in text:
        if _REWRITTEN.fullmatch(text):
            what = "looks like a number that a spreadsheet rewrote; its digits are lost"
            return Finding(
                what, "format the column as text, and enter the value again", impossible=True, code="E405"
            )
    elif text.startswith("#") and _BROKEN.fullmatch(text):
        return Finding(
            "is what a spreadsheet shows for a broken cell", "correct the cell", impossible=True, code="E405"
        )
    return None
