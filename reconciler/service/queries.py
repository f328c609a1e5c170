"""What a list is asked for, and the query parameters that say so.

Belongs here: the names of fields in queries. Not here: writing addresses (http/urls.py), walking the pages of
the answer (paging.py).
Source: specification 4.2; docs/service.md, lists.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.core.text import fold_case
from reconciler.errors import SettingsError
from reconciler.model.kind import Kind
from reconciler.model.profile import Profile

Parameters = tuple[tuple[str, str], ...]

# Parameters of every list (specification 4.2), and the key. A field of such a name would be taken for one.
_RESERVED = frozenset({"limit", "offset", "sortorder", "sortfields", "fields", "customfields", "apikey"})


@dataclass(frozen=True, slots=True)
class Query:
    """Which rows of a list are asked for, what each shows, and in which order.

    `filters` are field names and the text they must contain (`custom.<name>` for a custom field);
    the service may answer more than asked for. `fields` are added to brief rows; `custom` asks for
    custom fields. `sort` are fields, separated by commas, with one `-` before all of them for descending.
    """

    filters: Mapping[str, str] = field(default_factory=dict)
    fields: tuple[str, ...] = ()
    custom: bool = True
    sort: str = ""


EVERYTHING = Query()


def with_custom(kind: Kind) -> Parameters:
    """The parameter without which a body has no custom fields, where the kind has any (facts 2)."""
    return (("customFields", "true"),) if kind.custom else ()


def parameters(query: Query, kind: Kind, profile: Profile) -> Parameters:
    """The query as parameters, with the names that this deployment has for fields.

    Raises SettingsError for a filter whose name is another parameter.
    """
    renamed = profile.names(kind)
    asked = [(_filter(name, kind, profile), text) for name, text in query.filters.items()]
    if query.fields:
        asked.append(("fields", ",".join(renamed.get(name, name) for name in query.fields)))
    if query.custom:
        asked += with_custom(kind)
    if query.sort:
        # Specification 4.2: one order for all fields of a list.
        names = query.sort.removeprefix("-").split(",")
        asked.append(("sortFields", ",".join(_asked(renamed.get(name, name)) for name in names)))
        asked.append(("sortOrder", "desc" if query.sort.startswith("-") else "asc"))
    return tuple(asked)


def _filter(name: str, kind: Kind, profile: Profile) -> str:
    given = _asked(name)
    if not given.isprintable() or not given or fold_case(given) in _RESERVED:
        raise SettingsError(
            f"{name[:40]!a} is no field that can be searched.",
            next="check identity in the settings: it names fields of an entity.",
        )
    return profile.searched(kind, given)


def _asked(name: str) -> str:
    """A field as a query names it: a custom one by its prefix."""
    return f"custom_{name.removeprefix('custom.')}" if name.startswith("custom.") else name
