"""Text to markup, in one place: nothing else of the report escapes, and nothing else may say what is markup.

Belongs here: escaping and joining. Not here: what a report shows. `Html` is markup; a `str` is text, and mypy
refuses it where markup is expected.
"""

from collections.abc import Iterable
from html import escape
from typing import NewType

from reconciler.report.escaping import escape_control

Html = NewType("Html", str)

NOTHING = Html("")
LINE = Html("\n")

_unbroken = 24  # characters of a path that stand on one line of the narrowest column


def text(value: str) -> Html:
    """Return a text as it is read: `<` is a character, and what hides or moves stands as an escape.

    Fit for the content of an element, and for an attribute in double quotes.
    """
    return Html(escape(escape_control(value), quote=True))


def joined(parts: Iterable[Html], between: Html = NOTHING) -> Html:
    """Return the parts that are not empty, with the same between each two of them."""
    return Html(between.join(filter(None, parts)))


def path(value: str) -> Html:
    """Return the path of a field; a long one may be broken behind its dots, and nowhere else."""
    return Html(text(value).replace(".", ".<wbr>")) if len(value) > _unbroken else text(value)


def code(value: str) -> Html:
    """Return a text as a command or a name that somebody types."""
    return Html(f"<code>{text(value)}</code>")
