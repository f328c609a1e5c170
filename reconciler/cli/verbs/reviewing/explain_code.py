"""`reconciler explain CODE` at work: what a code means. Reads no file and asks nobody."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reconciler.cli.console import output
from reconciler.errors import UnknownAddress
from reconciler.model.codes import CODES, Code, find_codes_near
from reconciler.report.json import report_json
from reconciler.report.lines import BLANK
from reconciler.report.project.codes import code_lines, code_value

_CODE = re.compile(r"\[?([A-Za-z][0-9]{1,3})\]?")  # as it is printed, brackets too


def is_code(text: str) -> bool:
    """Whether this looks like a code: no address does, for they have a slash."""
    return _CODE.fullmatch(text.strip()) is not None


def explain_codes(texts: Sequence[str], *, as_json: bool, given: Mapping[str, Any]) -> int:  # noqa: ARG001 - of no other option
    """Show what codes mean, with examples. Raises UnknownAddress for one that there is not."""
    found = [_found(text) for text in texts]
    if as_json:
        output.json(report_json({"codes": [code_value(one) for one in found]}))
        return 0
    for number, one in enumerate(found):
        output.lines((*((BLANK,) if number else ()), *code_lines(one)))
    return 0


def _found(text: str) -> Code:
    read = _CODE.fullmatch(text.strip())
    code = read[1].upper() if read else text
    if code not in CODES:
        others = ", ".join(find_codes_near(code)) or "those of docs/errors.md"
        raise UnknownAddress(f"{text!r} is not a code.", next=f"the codes near it: {others}")
    return CODES[code]
