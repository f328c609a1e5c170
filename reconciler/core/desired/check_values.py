"""The values of every entity against what their fields can hold: mistakes, and what looks like one.

The type of a field says which check judges it (model/field_types.py). A check of a text alone stands there,
the others in value_forms.py and phone_plans.py. A value in `defaults`, or in the template of a roster, is
judged once.
"""

from collections.abc import Callable, Mapping
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from reconciler.core.compare.identity import region_of_country
from reconciler.core.desired.crosscheck import PRIVATE_TYPES, Declared, DeclaredEntities
from reconciler.core.desired.value_forms import (
    EmailCheck,
    check_content,
    check_country,
    check_file_name,
    check_zone,
)
from reconciler.core.text import describe_edges, has_edges, is_blank
from reconciler.errors import Problem
from reconciler.model.documents import Place
from reconciler.model.field_types import SPREADSHEET_CHECK, FieldCheck, Finding, TextCheck, require_rows
from reconciler.model.kinds import KINDS, cache_by_kinds
from reconciler.model.notices import Notice
from reconciler.model.settings import CheckLevel, Checks

if TYPE_CHECKING:
    from reconciler.core.desired.phone_plans import PhonePlans

_SHOWN_MAX = 60  # characters of a value in a message


@cache_by_kinds
def _checks_of(kind: str) -> Mapping[str, FieldCheck | TextCheck]:
    """Return which check judges each field, by its type. Below a structured field there are texts.

    A field that completes a telephone number is judged as the number is.
    """
    fields = KINDS[kind].fields
    own = {field.name: field.row.check for field in fields if not field.row.structured}
    return own | {field.area: field.row.check for field in fields if field.area}


def check_values(group: DeclaredEntities, checks: Checks) -> tuple[tuple[Problem, ...], tuple[Notice, ...]]:
    """Return the errors of all values, and the notices about values that only look wrong, in file order."""
    check = _ValueCheck(checks)
    for one in group.every:
        check.entity(one)
    return tuple(check.problems), (*check.notices, *check.blanks.notices)


class _ValueCheck:
    def __init__(self, checks: Checks) -> None:
        self.problems: list[Problem] = []
        self.notices: list[Notice] = []
        self.blanks = BlankEdges()
        self._checks = checks
        self._judges: dict[str, dict[str, _Judge]] = {}
        self._judge_text = self._judge_of(SPREADSHEET_CHECK)
        self.emails = EmailCheck()
        # Kept by text, for many entities have the same: of an unknown one the nearest name is searched once.
        self.zone, self.country = cache(check_zone), cache(check_country)
        self._judged: set[tuple[object, ...]] = set()  # values that stand in one place for many entities

    @cached_property
    def _plans(self) -> "PhonePlans":
        from reconciler.core.desired.phone_plans import PhonePlans  # noqa: PLC0415 - 20 ms and 5 MB, where there are numbers

        return PhonePlans()

    def entity(self, one: Declared) -> None:
        if one.edges:
            self.blanks.entity(one)
        secret = KINDS[one.document.kind].secret
        judges = self._judges_of(one.document.kind)
        for path, value in one.entity.fields.items():
            # A password may look like anything.
            if not isinstance(value, str) or not value or path in secret:
                continue
            judge, level = judges.get(path, self._judge_text)
            if level == "off":
                continue
            finding = judge(path, value.strip(), one)
            if finding is not None:
                self._report(one, path, value, finding, level)
        if one.entity.content is not None and self._checks.content != "off":
            self._content(one)

    def _judges_of(self, kind: str) -> Mapping[str, "_Judge"]:
        if kind not in self._judges:
            self._judges[kind] = {path: self._judge_of(check) for path, check in _checks_of(kind).items()}
        return self._judges[kind]

    def _judge_of(self, check: FieldCheck | TextCheck) -> "_Judge":
        if isinstance(check, str):
            return _Judge(partial(_FINDERS[check], self), getattr(self._checks, check))
        find = check.find
        level: CheckLevel = "error" if check.setting == "always" else getattr(self._checks, check.setting)
        return _Judge(lambda _path, text, _one: find(text), level)

    def phone(self, path: str, text: str, one: Declared) -> Finding | None:
        # Twenty times quicker than to parse the number, and yes only where the library says so too.
        if self._plans.assigned(text):
            return None
        region, source = self._country(path, one)
        if KINDS[one.document.kind].type_of(path).check != "phones":
            return self._plans.check_area(text)
        before = KINDS[one.document.kind].by_name[path].area
        area = str(one.entity.fields.get(before, "")).strip() if before else ""
        if region and self._plans.assigned(area + text, region):
            return None
        return self._plans.check(text, area=area, region=region, region_from=source)

    def _country(self, path: str, one: Declared) -> tuple[str, str]:
        """Return the country of a national number and the field or setting that names it."""
        for field in KINDS[one.document.kind].countries_of(path):
            text = str(one.entity.fields.get(field, ""))
            if text or one.document.unsure(field):
                return region_of_country(text), field
        return self._checks.region, "checks.region" if self._checks.region else ""

    def _content(self, one: Declared) -> None:
        fields, payload = one.entity.fields, one.entity.content
        media, level = str(fields.get("mimeType", "")), self._checks.content
        # The cross check has reported it: content that may not be there at all needs no second message.
        refused = fields.get("scope") == "private" and media not in PRIVATE_TYPES  # said already
        if payload is None or not media or refused:
            return
        finding = check_content(media, payload.data)
        if finding is not None:
            self._say(one, "content", f"content {finding.what}", finding, level)
        named = check_file_name(str(fields.get("name", "")), media)
        if named is not None and not one.hides("mimeType") and not one.hides("name"):
            self._say(one, "name", f"{fields['name']} {named.what}", named, level)

    def _report(self, one: Declared, path: str, value: str, finding: Finding, level: CheckLevel) -> None:
        column = one.column(path)
        named = f"{path} (column {column!r})" if column else path
        # A value of the environment is judged and never shown, nor what it might have meant.
        if one.hides(path):
            finding = structs.replace(finding, guess="", instead="")
        else:
            cut = value if len(value) <= _SHOWN_MAX else value[: _SHOWN_MAX - 1] + "…"
            named += f" {cut!r}"
        self._say(one, path, f"{named} {finding.what}", finding, level)

    def _say(self, one: Declared, path: str, what: str, finding: Finding, level: CheckLevel) -> None:
        place, shared = one.source(path)
        # A thousand contacts with one wrong default are one error, reported at the default.
        if shared:
            key = (place, path)
            if key in self._judged:
                return
            self._judged.add(key)
        hint = finding.instead or finding.hint
        what = f"{what}; {finding.guess}." if finding.guess else f"{what}."
        if finding.impossible and level == "error":
            self.problems.append(place.problem(f"{one.entity.address}: {what}", hint, finding.code))
        else:
            self.notices.append(Notice("value", str(one.entity.address), what, hint, str(place)))


class _Judge(NamedTuple):
    """What judges a value, by its path, its text and its entity, and how strictly."""

    judge: Callable[[str, str, Declared], Finding | None]
    level: CheckLevel


# What finds a mistake in a value, by the type of its field, where the text alone does not decide.
_FINDERS: Mapping[FieldCheck, Callable[[_ValueCheck, str, str, Declared], Finding | None]] = require_rows(
    FieldCheck,
    {
        "phones": _ValueCheck.phone,
        "emails": lambda check, _path, text, _one: check.emails.check(text),
        "zones": lambda check, _path, text, _one: check.zone(text),
        "countries": lambda check, _path, text, _one: check.country(text),
    },
)


# --- Notices of blanks at the edges of values, which are not sent (core/desired/resolve.py) -------
#
# A column of a roster is one notice, however many of its cells have them.


_EDGES_HINT = "remove the blanks where the value is written, or paste it again as plain text"
_HIDDEN_HINT = "check the secret: a blank at its start or end is rarely intended"
_CLEARS_HINT = 'write "" to clear the field, or leave it out to leave the field alone'


class BlankEdges:
    """Collects what is to be said; `notices` are one for each place, and one for each column of a roster."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], tuple[Notice, int, str]] = {}

    def entity(self, one: Declared) -> None:
        """Take the edges of one entity."""
        for path, text in one.edges.items():
            place, shared = one.source(path)
            key, named = _notice_key(one, path, place, shared=shared)
            first = self._found.get(key)
            if first is None:
                self._found[key] = _blank_notice(one, path, text, place), 1, named
            elif not shared:
                self._found[key] = first[0], first[1] + 1, named

    @property
    def notices(self) -> list[Notice]:
        """What is to be said, in the order in which it was found."""
        return [_with_cell_count(*one) for one in self._found.values()]


def _notice_key(one: Declared, path: str, place: Place, *, shared: bool) -> tuple[tuple[object, ...], str]:
    """Return what is one notice, and how it is called where it stands for several cells."""
    origin, column = one.document.origin, one.column(path)
    if origin is not None and column and not shared:
        return (origin.templates.get(path), path), f"{path} (column {column!r})"
    return (place, path), ""


def _blank_notice(one: Declared, path: str, text: str, place: Place) -> Notice:
    column = one.column(path)
    named = f"{path} (column {column!r})" if column else path
    # Which blanks of a secret they are is not said: it is little, and it is of a secret.
    if path in KINDS[one.document.kind].secret:
        kept = str(one.entity.fields[path])
        end = "and is sent with them" if has_edges(kept) else "and is sent without them"
        what, hint = f"{named} has blanks at its start or end, {end}.", _HIDDEN_HINT
    elif is_blank(text):
        what, hint = f"{named} {describe_edges(text)}, which clears the field.", _CLEARS_HINT
    else:
        what, hint = f"{named} {describe_edges(text)}; it is sent without them.", _EDGES_HINT
    return Notice("value", str(one.entity.address), what, hint, str(place))


def _with_cell_count(notice: Notice, cells: int, named: str) -> Notice:
    if cells == 1:
        return notice
    rows = f"{cells:,} rows, this one first"
    what = f"{named} has blanks at the start or end of cells in {rows}; they are sent without them."
    return Notice(notice.kind, notice.subject, what, notice.next, notice.place)
