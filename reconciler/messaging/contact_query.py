"""Contact search: the fields a query may name, what a list is asked for, and whether a contact matches.

The service searches by "contains" without letter case (docs/service.md, lists). One that ignores a filter
answers everybody, so every contact is compared here again.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reconciler.core.compare import normalize
from reconciler.core.suggest import find_nearest
from reconciler.core.text import fold_case, normalize_unicode
from reconciler.errors import InputError, Problem
from reconciler.messaging.values import ContactQuery
from reconciler.model.documents import Scalar
from reconciler.model.kinds import CONTACT

# Shown of every contact: its name, and no number or address.
ALWAYS = ("username", "firstName", "lastName")
# Fields that the service writes, and that are one text each.
READ_ONLY = frozenset({"type", "mri", "lastModifiedTime"})
# A field of every whole contact that brief rows lack: a row that shows it has honoured `fields=`.
WITNESS = "mri"
# What every list row of a contact holds, however brief.
BRIEF = frozenset({"firstName", "lastName", "status", "lastModifiedTime"})

_CUSTOM, _CUSTOM_ASKED = "custom.", "custom_"  # our path, and the service's query parameter
_OPTIONS = "messagingOptions."
_FILTER = "FIELD=TEXT"  # how the command line writes a filter


def searchable_fields(declarable: Iterable[str]) -> frozenset[str]:
    """Return the fields that may be named: those that a manifest may declare and those that are read only.

    Without what is never shown, and without `custom` and `messagingOptions`, which are no single field.
    """
    whole = {"custom", *(path for path in declarable if path.startswith("messagingOptions"))}
    return (frozenset(declarable) | READ_ONLY) - CONTACT.write_only - whole


def display_only_fields(declarable: Iterable[str]) -> frozenset[str]:
    """Return the fields that may be shown, and that the service does not search one by one."""
    return frozenset(path for path in declarable if path.startswith(_OPTIONS) and path.count(".") > 1)


def check_contact_query(
    query: ContactQuery,
    known: frozenset[str],
    aliases: Mapping[str, str],
    shown: frozenset[str] = frozenset(),
) -> ContactQuery:
    """Return the query with fields as this program names them.

    `known` are the fields that may be searched, `shown` more that may be shown. `aliases` map other names
    of fields to ours: the service's query parameters. Raises InputError that
    names every field that there is not, and never a value: what is searched for may be a secret.
    """
    problems: list[Problem] = []

    def name(given: str, where: str) -> str:
        field = _CUSTOM + given.removeprefix(_CUSTOM_ASKED) if given.startswith(_CUSTOM_ASKED) else given
        field = aliases.get(field, field)
        # Shown only: with an option as its filter, the service would compare the texts of all of them.
        allowed = known | shown if where == "--field" else known
        if field not in allowed and not (field.startswith(_CUSTOM) and len(field) > len(_CUSTOM)):
            problems.append(_make_field_problem(given, where, allowed, shown))
        return field

    filters: dict[str, str] = {}
    for given, text in query.filters.items():
        field = name(given, _FILTER)
        if field in filters:
            what = f"{given} is given twice."
            problems.append(Problem(_FILTER, 0, 0, what, "give each field once", code="E100"))
        filters[field] = str(normalize.normalize_value(CONTACT.name, field, text))
    columns = tuple(dict.fromkeys((*ALWAYS, *(name(one, "--field") for one in query.shown))))
    sort = tuple(dict.fromkeys(name(one, "--sort") for one in query.sort))
    # All at once: a service ignores a filter that it does not know, and answers everybody.
    if problems:
        raise InputError("nothing was searched.", problems=tuple(problems))
    return ContactQuery(filters, columns, sort, query.descending, query.limit)


def _make_field_problem(given: str, where: str, known: frozenset[str], shown: frozenset[str]) -> Problem:
    if given in CONTACT.write_only:
        what = f"{given} is never shown by the service, and cannot be searched."
        return Problem(where, 0, 0, what, "name another field", code="E100")
    if given in shown:
        what = f"{given} cannot be searched or sorted by."
        return Problem(where, 0, 0, what, f"show it: --field {given}", code="E100")
    # The name is shown and never the text: a text that is searched for may be a secret.
    close = find_nearest("field", given, known)
    hint = f"did you mean {close}?" if close else _OTHERWISE
    return Problem(where, 0, 0, f"{given[:64]} is not a field of a contact.", hint, code="E201")


_OTHERWISE = (
    "a custom field is written custom.NAME; name a field that only your deployment has in `fields.contacts` "
    "of the settings"
)


def queried_fields(query: ContactQuery) -> frozenset[str]:
    """Return every field that has to be read."""
    return frozenset(query.shown) | query.filters.keys()


def list_fields(query: ContactQuery) -> tuple[str, ...]:
    """Return what a list is asked for with `fields=`: what is read, and the witness; custom fields apart."""
    plain = {path for path in queried_fields(query) if not path.startswith((_CUSTOM, _OPTIONS))}
    options = {CONTACT.wire["messagingOptions"]} if _names_prefix(query, _OPTIONS) else set[str]()
    return tuple(sorted(plain | options | {WITNESS}))


def asks_custom_fields(query: ContactQuery) -> bool:
    """Whether custom fields have to be read."""
    return _names_prefix(query, _CUSTOM)


def _names_prefix(query: ContactQuery, prefix: str) -> bool:
    return any(path.startswith(prefix) for path in queried_fields(query))


def searchable_values(body: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return what a contact's body says, flat and normalized; nothing that is write-only."""
    read_only = {key: value for key in READ_ONLY if isinstance(value := body.get(key), str) and value}
    return {**normalize.flatten_body(CONTACT.name, body), **read_only}


def provides_fields(bodies: Sequence[Mapping[str, Any]], query: ContactQuery) -> bool:
    """Whether the rows of a page have every field that is wanted. Without, each contact is read alone.

    Custom fields are there, even empty, where the wish for them was heeded. Every brief row has empty
    `messagingoptions`, which say nothing (docs/service.md, lists).
    """
    if queried_fields(query) <= BRIEF:
        return True
    # A service that heeds one wish need not heed another; who is shown too briefly is read alone.
    heeded = any(WITNESS in body for body in bodies)
    custom = not asks_custom_fields(query) or any(CONTACT.wire["custom"] in body for body in bodies)
    options = not _names_prefix(query, _OPTIONS) or any(body.get("messagingoptions") for body in bodies)
    return heeded and custom and options


def matches_query(
    query: ContactQuery, found: Mapping[str, Scalar], known: frozenset[str] | None = None
) -> bool:
    """Whether every filter matches. `known`: only these fields are known; None: all of them."""
    return all(
        _contains(field, found.get(field, ""), text)
        for field, text in query.filters.items()
        if known is None or field in known
    )


def _contains(field: str, value: Scalar, text: str) -> bool:
    if field in CONTACT.folds:  # one letter, so "contains" would find `A` in `Disabled`
        return value == text
    return _fold_text(text) in _fold_text(str(value))


def _fold_text(text: str) -> str:
    return normalize_unicode("NFC", fold_case(normalize_unicode("NFC", text)))
