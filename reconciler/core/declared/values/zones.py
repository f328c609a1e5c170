"""Whether a text is the name of a time zone."""

import re

from reconciler.core.comparing.zones import NAMES
from reconciler.core.declared.values.finding import Finding
from reconciler.core.text.suggest import nearest
from reconciler.model.geography.zones import names

_OFFSET = re.compile(r"(?:UTC|GMT)?\s*([+-])0?(\d{1,2})(?::?(\d\d))?", re.IGNORECASE)


def check(text: str) -> Finding | None:
    """Return why a text is no time zone, or None.

    The service takes an offset for nonsense and shows "0" for it afterwards, as it does for every name that
    it does not know (docs/service.md, contacts).
    """
    if text in names():
        return None
    found = _OFFSET.fullmatch(text)
    # Written for a zone it reads back as "0": the service makes London of it and says nothing.
    if found:
        sign, hours, minutes = found.groups()
        shown = f"{sign}{hours}" + (f":{minutes}" if minutes and minutes != "00" else "")
        name = NAMES.get(shown, "")
        guess = f"{name} has this offset all year" if name else ""
        hint = "write the name of a zone, such as Australia/Melbourne"
        return Finding(
            "is an offset, which the service does not take", hint, impossible=True, guess=guess, code="E403"
        )
    # Names alone, from the database that the plan uses too: the same on every machine.
    near = nearest(text, names())
    hint = "write a name of the time zone database, such as Australia/Melbourne"
    return Finding("is not a time zone", hint, impossible=True, meant=near, code="E403")
