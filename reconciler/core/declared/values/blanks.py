"""What is said of blanks at the edges of declared values, which are not sent (core/declared/resolve.py).

A column of a roster is one notice, however many of its cells have them.
"""

from reconciler.core.declared.crosscheck import Declared
from reconciler.core.text import describe_edges, has_edges, is_blank
from reconciler.model.documents import Place
from reconciler.model.kinds import KINDS
from reconciler.model.notices import Notice

_HINT = "take them out where the value is written; paste it anew as plain text"
_HIDDEN_HINT = "check the secret: a blank at its edge is seldom meant"
_CLEARS_HINT = 'write "" to clear the field, or leave it out: then it is not ours'


class Blanks:
    """Collects what is to be said; `notices` are one for each place, and one for each column of a roster."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], tuple[Notice, int, str]] = {}

    def entity(self, one: Declared) -> None:
        """Take the edges of one entity."""
        for path, text in one.edges.items():
            place, shared = one.source(path)
            key, named = _key(one, path, place, shared=shared)
            first = self._found.get(key)
            if first is None:
                self._found[key] = _notice(one, path, text, place), 1, named
            elif not shared:
                self._found[key] = first[0], first[1] + 1, named

    @property
    def notices(self) -> list[Notice]:
        """What is to be said, in the order in which it was found."""
        return [_counted(*one) for one in self._found.values()]


def _key(one: Declared, path: str, place: Place, *, shared: bool) -> tuple[tuple[object, ...], str]:
    """Return what is one notice, and how it is called where it stands for several cells."""
    origin, column = one.document.origin, one.column(path)
    if origin is not None and column and not shared:
        return (origin.templates.get(path), path), f"{path} (column {column!r})"
    return (place, path), ""


def _notice(one: Declared, path: str, text: str, place: Place) -> Notice:
    column = one.column(path)
    named = f"{path} (column {column!r})" if column else path
    # Which blanks of a secret they are is not said: it is little, and it is of a secret.
    if path in KINDS[one.document.kind].secret:
        kept = str(one.entity.fields[path])
        end = "and is sent so" if has_edges(kept) else "and is sent without them"
        what, hint = f"{named} has blanks at its edges, {end}.", _HIDDEN_HINT
    elif is_blank(text):
        what, hint = f"{named} {describe_edges(text)}, which clears the field.", _CLEARS_HINT
    else:
        what, hint = f"{named} {describe_edges(text)}; it is sent without.", _HINT
    return Notice("value", str(one.entity.address), what, hint, str(place))


def _counted(notice: Notice, cells: int, named: str) -> Notice:
    if cells == 1:
        return notice
    rows = f"{cells:,} rows, of which this is the first"
    what = f"{named} has blanks at the edges in {rows}; they are sent without."
    return Notice(notice.kind, notice.subject, what, notice.next, notice.place)
