"""Whether a text is the name of a time zone."""

import re

from reconciler.core.compare.normalize import FIXED_OFFSET_ZONES
from reconciler.core.declared.values.finding import Finding
from reconciler.core.suggest import did_you_mean
from reconciler.core.text import fold_case
from reconciler.model.geography import zone_names, zones_with_abbreviation

NAME_HINT = "write a name of the time zone database, such as Australia/Melbourne"
_NAMED_MAX = 8  # zones in one hint
# Names of places: more than an abbreviation, and no number in it.
_PLACE = re.compile(r"(?!Etc/)(?=.*[a-z])(?:[^0-9]{6,}|[^0-9]+/[^0-9]+)")
_OFFSET = re.compile(r"(?:UTC|GMT)?\s*([+-])0?(\d{1,2})(?::?(\d\d))?", re.IGNORECASE)


def check(text: str) -> Finding | None:
    """Return why a text is no time zone, or None.

    The service takes an offset for nonsense and shows "0" for it afterwards, as it does for every name that
    it does not know (docs/service.md, contacts).
    """
    if text in zone_names():
        return None
    found = _OFFSET.fullmatch(text)
    # Written for a zone it reads back as "0": the service makes London of it and says nothing.
    if found:
        sign, hours, minutes = found.groups()
        shown = f"{sign}{hours}" + (f":{minutes}" if minutes and minutes != "00" else "")
        name = FIXED_OFFSET_ZONES.get(shown, "")
        guess = f"{name} has this offset all year" if name else ""
        hint = "write the name of a zone, such as Australia/Melbourne"
        return Finding(
            "is an offset, which the service does not take", hint, impossible=True, guess=guess, code="E403"
        )
    # Names alone, from the database that the plan uses too: the same on every machine.
    return Finding("is not a time zone", NAME_HINT, impossible=True, instead=suggestion(text), code="E403")


def suggestion(text: str) -> str:
    """Return which zone a text may mean, or "": never the nearest of abbreviations, which is hours off.

    EST is near to AEST, and fifteen hours away. `Etc/GMT+9` is near to `Etc/GMT-9`.
    """
    using_it = zones_with_abbreviation(text) if text.isalpha() else ()
    if using_it:
        more = len(using_it) - _NAMED_MAX
        listed = ", ".join(using_it[:_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
        return f"write the name of a zone that uses this abbreviation: {listed}"
    # A place without its continent: `Melbourne`.
    place = fold_case(text).replace(" ", "_")
    named = sorted(
        name for name in zone_names() if place in (fold_case(name), fold_case(name).rpartition("/")[2])
    )
    if len(named) == 1:
        return f"did you mean {named[0]}?"
    named = named or sorted(name for name in zone_names() if fold_case(name).startswith(f"{place}/"))
    if named and "/" in text:
        return f"write one of {', '.join(named[:_NAMED_MAX])}"
    if named or not _PLACE.fullmatch(text) or text.isupper():
        return ""
    return did_you_mean("zone", text, filter(_PLACE.fullmatch, zone_names()))
