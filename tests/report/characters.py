"""Characters that act or hide, which no report may hold, and those that a format is made of."""

from collections.abc import Mapping

# What ends a cell or a line of a format, beside the line break: `"tsv": "\t"`.
SEPARATORS: Mapping[str, str] = {}


def list_acting_characters(name: str, text: str) -> list[str]:
    """Return the characters of a report that a terminal or an editor acts on, or hides."""
    own = f"\n{SEPARATORS.get(name, '')}"
    return [char for char in text if char not in own and not char.isprintable()]
