"""Reviews for the tests of reports: one with everything in it, and one with very many changes."""

from msgspec import structs
from report.cases import EMPTY, JANE, LONG, MIXED, OLD_HAND, PARTIAL, REFUSED, WIDE

from reconciler.model.address import contact_address, device_address
from reconciler.model.plans import Cause, Change, Create, Delete, FieldChange, Plan, Update, Verdict
from reconciler.report.review_document import Review

_CAUSES: tuple[Cause, ...] = ("declared", "drifted", "both")
_NOTE = "Hands over in writing at six, answers every call within ten minutes, and "

REVIVED = Update(
    device_address("night", "sam-lee", "pixel"),
    "manifests/night.yaml:50",
    "D2",
    (FieldChange("status", "DISABLED", "ACTIVE", "reactivated"),),
)
OURS = Delete(contact_address("night", "no-more"), "8F22", {"firstName": "Nora", "lastName": "More"})
FULL = structs.replace(MIXED, changes=(*MIXED.changes, *WIDE.changes, REVIVED, OURS))

PLAN = Review("plan", FULL, Verdict(), 2, next_step="reconciler apply plan.json", show_values=True)
NAMES = structs.replace(PLAN, show_values=False)
RUN = Review("apply", MIXED, Verdict(), 8, run=PARTIAL, show_values=True)
DRIFT = Review("drift", FULL, Verdict(), 2, show_values=True)
REFUSAL = Review("plan", LONG, REFUSED, 7, show_values=True)
NOTHING = Review("plan", EMPTY, Verdict(), 0)

EACH = {
    "plan": PLAN,
    "names": NAMES,
    "run": RUN,
    "drift": DRIFT,
    "refusal": REFUSAL,
    "nothing": NOTHING,
}


def many(number: int) -> Review:
    """Return a plan of so many changes: of twenty, one delete, seven creates, and twelve updates."""
    return Review("plan", plan_of(number), Verdict(), 2, show_values=True)


def plan_of(number: int) -> Plan:
    """Return a plan of so many changes in four workspaces."""
    return structs.replace(EMPTY, changes=tuple(map(_change, range(number))))


def _change(number: int) -> Change:
    address = contact_address(f"site-{number % 4}", f"person-{number:05}")
    place = f"people/staff.csv:{number + 2}"
    if number % 20 == 0:
        return structs.replace(OLD_HAND, address=address, before=_person(number), adopted="")
    if number % 20 < 8:
        return Create(address, place, _person(number))
    before, after = f"{_NOTE}sleeps until {number}.", f"{_NOTE}never sleeps before {number}."
    fields = (
        FieldChange("department", "Night", "Operations", _CAUSES[number % 3]),
        FieldChange("jobTitle", "Engineer", "Duty Manager", "declared"),
        FieldChange("custom.notes", before, after, "declared"),
    )
    return structs.replace(JANE, address=address, place=place, fields=fields[: 1 + number % 3])


def _person(number: int) -> dict[str, str | bool]:
    return {
        "custom.employeeId": f"{number:07}",
        "firstName": "Pat",
        "lastName": f"Newling {number}",
        "jobTitle": "Engineer",
        "department": "Operations",
        "messagingOptions.sms.enabled": True,
        "messagingOptions.sms.primary": "WorkMobilePhone1",
        "timezone": "Australia/Melbourne",
        "workEmailAddress1": f"pat.newling.{number}@example.com",
        "workMobilePhone1": "+447700900123",
    }
