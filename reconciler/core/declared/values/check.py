"""The values of every entity against what their fields can hold: mistakes, and what looks like one.

Which field holds what stands in the tables here; what is wrong with one value is found by the modules
beside this one. A value that stands in `defaults`, or in a roster's template, is judged once.
"""

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, structs

from reconciler.core.declared.crosscheck import PRIVATE_TYPES, Declared, DeclaredEntities
from reconciler.core.declared.values import content, countries, spreadsheets, zones
from reconciler.core.declared.values.blanks import Blanks
from reconciler.core.declared.values.emails import Emails
from reconciler.core.declared.values.finding import Finding
from reconciler.errors import Problem
from reconciler.model.field_types import FieldCheck, require_rows
from reconciler.model.kinds import KINDS, cache_by_kinds
from reconciler.model.notices import Notice
from reconciler.model.settings import CheckLevel, Checks

if TYPE_CHECKING:
    from reconciler.core.declared.values.phones import Plans

_SHOWN_MAX = 60  # characters of a value in a message


@cache_by_kinds
def _checks_of(kind: str) -> Mapping[str, FieldCheck]:
    """Return which check judges each field, by its type. Below a structured field there are texts.

    A field that completes a telephone number is judged as the number is.
    """
    fields = KINDS[kind].fields
    own = {field.name: field.row.check for field in fields if not field.row.structured}
    return own | {field.area: field.row.check for field in fields if field.area}


class Checked(Struct, frozen=True):
    """What is wrong with declared values, and what only looks so."""

    problems: tuple[Problem, ...]
    notices: tuple[Notice, ...]


def check_values(group: DeclaredEntities, checks: Checks) -> Checked:
    """Return the mistakes and the warnings about every value, in file order."""
    check = _Check(checks)
    for one in group.every:
        check.entity(one)
    return Checked(tuple(check.problems), (*check.notices, *check.blanks.notices))


class _Check:
    def __init__(self, checks: Checks) -> None:
        self.problems: list[Problem] = []
        self.notices: list[Notice] = []
        self.blanks = Blanks()
        self._checks = checks
        self.emails = Emails()
        # Kept by text, for many entities have the same: of an unknown one the nearest name is searched once.
        self.zone, self.country = cache(zones.check), cache(countries.check)
        self._judges = {name: (one.judge, one.level(checks)) for name, one in _JUDGES.items()}
        self._judged: set[tuple[object, ...]] = set()  # values that stand in one place for many entities

    @cached_property
    def _plans(self) -> "Plans":
        from reconciler.core.declared.values.phones import Plans  # noqa: PLC0415 - 20 ms and 5 MB, where there are numbers

        return Plans()

    def entity(self, one: Declared) -> None:
        if one.edges:
            self.blanks.entity(one)
        secret = KINDS[one.document.kind].secret
        fields = _checks_of(one.document.kind)
        for path, value in one.entity.fields.items():
            # A password may look like anything.
            if not isinstance(value, str) or not value or path in secret:
                continue
            judge, level = self._judges[fields.get(path, "spreadsheets")]
            if level == "off":
                continue
            finding = judge(self, path, value.strip(), one)
            if finding is not None:
                self._report(one, path, value, finding, level)
        if one.entity.content is not None and self._checks.content != "off":
            self._content(one)

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
                return countries.region(text), field
        return self._checks.region, "checks.region" if self._checks.region else ""

    def _content(self, one: Declared) -> None:
        fields, payload = one.entity.fields, one.entity.content
        media, level = str(fields.get("mimeType", "")), self._checks.content
        # The cross check has told it: bytes that may not be there at all need no second sentence.
        refused = fields.get("scope") == "private" and media not in PRIVATE_TYPES  # said already
        if payload is None or not media or refused:
            return
        finding = content.check_content(media, payload.data)
        if finding is not None:
            self._say(one, "content", f"content {finding.what}", finding, level)
        named = content.check_name(str(fields.get("name", "")), media)
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
        # A thousand contacts with one wrong default are one mistake, told where it stands.
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
    """What judges a value, and the setting that says how strictly."""

    judge: Callable[[_Check, str, str, Declared], Finding | None]
    level: Callable[[Checks], CheckLevel]


# By the check of the type of a field.
_JUDGES: Mapping[FieldCheck, _Judge] = require_rows(
    FieldCheck,
    {
        "phones": _Judge(_Check.phone, lambda checks: checks.phones),
        "emails": _Judge(
            lambda check, _path, text, _one: check.emails.check(text), lambda checks: checks.emails
        ),
        "zones": _Judge(lambda check, _path, text, _one: check.zone(text), lambda checks: checks.zones),
        "countries": _Judge(
            lambda check, _path, text, _one: check.country(text), lambda checks: checks.countries
        ),
        "spreadsheets": _Judge(
            lambda _check, _path, text, _one: spreadsheets.damage(text), lambda checks: checks.spreadsheets
        ),
    },
)
