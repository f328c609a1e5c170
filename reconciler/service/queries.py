"""What a list is asked with: filters, fields and order as query parameters.

Belongs here: the names of fields in queries. Not here: writing addresses (http/urls.py), what is asked for
(entities.py).
Source: specification 4.2; docs/service.md, lists.
"""

from collections.abc import Iterable, Mapping

from reconciler.errors import SettingsError
from reconciler.model.kinds import CONTACT, Kind
from reconciler.model.profile import Profile

Query = tuple[tuple[str, str], ...]

_RESERVED = frozenset({"limit", "offset", "sortorder", "sortfields", "fields", "customfields", "apikey"})


class Queries:
    """The parameters of the lists of one kind, with the names that this deployment has for fields."""

    def __init__(self, kind: Kind, profile: Profile) -> None:
        self._kind = kind
        self._profile = profile

    def filters(self, wanted: Mapping[str, str]) -> Query:
        """Fields and the text that they contain. SettingsError: a name is another parameter."""
        return tuple((self._filter(name), value) for name, value in wanted.items())

    def fields(self, wanted: Iterable[str]) -> Query:
        """The fields that are added to each row; nothing where none are."""
        names = ",".join(map(self._theirs, wanted))
        return (("fields", names),) if names else ()

    def sorting(self, sort: str) -> Query:
        """The order, of fields that commas separate; one `-` before all of them is descending."""
        if not sort:
            return ()
        names = [_asked(self._theirs(name)) for name in sort.removeprefix("-").split(",")]
        return (("sortFields", ",".join(names)), ("sortOrder", "desc" if sort.startswith("-") else "asc"))

    def _theirs(self, name: str) -> str:
        return self._profile.field_names.get(name, name) if self._kind is CONTACT else name

    def _filter(self, name: str) -> str:
        given = _asked(name)
        if not given.isprintable() or not given or given.casefold() in _RESERVED:
            raise SettingsError(
                f"{name[:40]!a} is no field that can be searched.",
                next="check identity in the settings: it names fields of an entity.",
            )
        return self._profile.searched(given) if self._kind is CONTACT else given


def _asked(name: str) -> str:
    """A field as a query names it: a custom one by its prefix."""
    return f"custom_{name.removeprefix('custom.')}" if name.startswith("custom.") else name
