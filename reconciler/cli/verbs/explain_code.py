"""`reconciler explain CODE` at work: what a code means. Reads no file and asks nobody."""

import re

from reconciler.cli import output
from reconciler.errors import UnknownAddress
from reconciler.model.codes.table import CODES, near
from reconciler.model.encoding import encode
from reconciler.report.codes import code_lines, code_value

_CODE = re.compile(r"\[?([A-Za-z][0-9]{1,3})\]?")  # as it is printed, brackets too


def is_code(text: str) -> bool:
    """Whether this looks like a code: no address does, for they have a slash."""
    return _CODE.fullmatch(text.strip()) is not None


def explain_code(text: str, *, as_json: bool) -> int:
    """Show what a code means, with an example. Raises UnknownAddress for one that there is not."""
    found = _CODE.fullmatch(text.strip())
    code = found[1].upper() if found else text
    if code not in CODES:
        others = ", ".join(near(code)) or "those of docs/errors.md"
        raise UnknownAddress(f"{text!r} is not a code.", next=f"the codes near it: {others}")
    if as_json:
        output.json(encode({"version": 1, **code_value(CODES[code])}, indent=2).decode())
    else:
        output.lines(code_lines(CODES[code]))
    return 0
