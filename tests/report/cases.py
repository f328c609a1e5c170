"""Real-looking plans and runs, as the golden files show them. People are invented."""

from reconciler.model.address import contact_address, device_address, resource_address
from reconciler.model.notices import Notice
from reconciler.model.plans import (
    Adoption,
    Create,
    Delete,
    FieldChange,
    GuardReason,
    Options,
    Plan,
    RecordChange,
    Skip,
    Target,
    Update,
    Verdict,
    Workspace,
)
from reconciler.model.runs import FieldResult, Gap, Outcome, Run
from reconciler.model.snapshots import Read, Scope

FINGERPRINT = "7f3a91c2e5d84b06a1f3c97b2d4e8f60718293a4b5c6d7e8f90123456789abcd"
OTHER_FINGERPRINT = "09ab44d1" + FINGERPRINT[8:]
DIGEST = "sha256:" + "0123456789abcdef" * 4
TARGET = Target(
    "https://api.example.com", "ops-contacts", (Workspace("ops", "4C8FE1A2B3D4E5F6", "Operations"),)
)

SCAN = Read(Scope("contact", "ops"), "scan", 21, 540, 473, complete=True)
GETS = Read(Scope("device", "ops"), "get", 4, 0, -1, complete=True)
LIST = Read(Scope("resource", "ops"), "scan", 2, 0, 12, complete=True)

EMPTY = Plan(
    target=TARGET,
    options=Options(),
    manifest_digest="0" * 64,
    salt="b0c1f7f1b8a54d1f",
    changes=(),
    unchanged={"contacts in ops": 412},
    unmanaged={"contacts in ops": 57},
    reads=(SCAN,),
    created_at="2026-03-02T09:30:00Z",
    expires_at="2026-03-03T09:30:00Z",
    fingerprint=FINGERPRINT,
)

OLD_HAND = Delete(
    contact_address("ops", "old-hand"),
    "8F21B0C4",
    {"firstName": "Otto", "lastName": "Hand", "workMobilePhone1": "+61491570156"},
    cascades=("device/ops/old-hand/pixel",),
    adopted="2026-02-01T08:00:00+00:00",
)
JANE = Update(
    contact_address("ops", "jane-doe"),
    "manifests/ops.yaml:14",
    "9A01",
    (
        FieldChange("department", "Night", "Operations", "drifted"),
        FieldChange("jobTitle", "Engineer", "Duty Manager", "declared"),
        FieldChange("otherMobile", "+12025550143", None, "no longer declared"),
    ),
)
PIXEL = Update(
    device_address("ops", "jane-doe", "pixel"),
    "manifests/ops.yaml:22",
    "D1",
    (FieldChange("pushToken", "secret:5f2d0c", "secret:77aa01", "declared"),),
    parent_id="9A01",
)
ROTA = Update(
    resource_address("ops", "rota"),
    "manifests/ops.yaml:36",
    "R7",
    (
        FieldChange("content", None, DIGEST, "unknown"),
        FieldChange("mimeType", "text/plain", "text/csv", "both"),
    ),
)
NEW_CONTACT = Create(
    contact_address("ops", "sam-lee"),
    "manifests/ops.yaml:30",
    {
        "custom.employeeId": "1043",
        "custom.managedBy": "ops-contacts/sam-lee",
        "firstName": "Sam",
        "lastName": "Lee",
        "messagingOptions.sms.enabled": True,
        "messagingOptions.sms.primary": "WorkMobilePhone1",
        "password": "secret:1f00",
        "timezone": "Australia/Melbourne",
        "workEmailAddress1": "sam.lee@example.com",
        "workMobilePhone1": "+447700900123",
    },
)
IMPORT = Create(
    resource_address("ops", "staff-import"),
    "manifests/ops.yaml:40",
    {"content": DIGEST, "mimeType": "text/csv", "name": "staff-import.csv", "scope": "private"},
)
BACK = Create(
    resource_address("ops", "closing-times"),
    "manifests/ops.yaml:52",
    {"content": DIGEST, "mimeType": "text/csv", "name": "closing-times.csv", "scope": "public"},
    "gone",
)
DISABLED = Skip(
    device_address("ops", "sam-lee", "tablet"),
    "disabled",
    "was disabled by the service after failed pushes; it stays disabled.",
    "reconciler apply --reactivate device/ops/sam-lee/tablet   (pushes are charged again)",
)
PROTECTED = Skip(
    contact_address("ops", "chief"),
    "protected",
    "is no longer declared, but it is protected; left alone.",
    "to keep it, declare it again; to delete it, declare it without `protect`, apply, then remove the entry",
)
TAKEN_OVER = Skip(
    contact_address("ops", "kim-roe"),
    "taken over",
    "department is no longer declared, and somebody else has changed it since; it is left as it is.",
    "declare the field to manage it again, or leave it as it is",
)

TYPO = Notice(
    "value",
    "contact/ops/sam-lee",
    "workMobilePhone1 looks improbable: no operator has this prefix.",
    "correct it, or set checks.phones to off",
    "manifests/ops.yaml:31",
)

MIXED = Plan(
    target=TARGET,
    options=Options(),
    manifest_digest="0" * 64,
    salt="b0c1f7f1b8a54d1f",
    changes=(BACK, IMPORT, ROTA, JANE, NEW_CONTACT, PIXEL, OLD_HAND),
    adoptions=(Adoption(contact_address("ops", "ann-poe"), "77B0", "workEmailAddress1"),),
    skips=(PROTECTED, TAKEN_OVER, DISABLED),
    gone=(resource_address("ops", "last-year"),),
    renames={contact_address("ops", "j-smith"): contact_address("ops", "jo-smith")},
    records=(
        RecordChange(contact_address("ops", "kim-roe"), "fields", ("jobTitle",)),
        RecordChange(contact_address("ops", "kim-roe"), "protected"),
    ),
    contents={ROTA.address: "manifests/payloads/rota.csv", IMPORT.address: "manifests/payloads/staff.csv"},
    notices=(TYPO,),
    unchanged={"contacts in ops": 410, "resources in ops": 2},
    unmanaged={"contacts in ops": 57},
    reads=(SCAN, GETS, LIST),
    created_at="2026-03-02T09:30:00Z",
    expires_at="2026-03-03T09:30:00Z",
    fingerprint=FINGERPRINT,
)

LONG = Plan(
    target=TARGET,
    options=Options(only=("contact/ops/*", "tag:team=sre"), excluded=("kind:device",)),
    manifest_digest="0" * 64,
    salt="b0c1f7f1b8a54d1f",
    changes=(
        *(
            Create(
                contact_address("ops", f"new-{number:02}"),
                f"people/staff.csv:{number + 2}",
                {
                    "firstName": "Pat",
                    "lastName": f"Number {number:02}",
                    "workEmailAddress1": f"pat{number}@example.com",
                },
            )
            for number in range(21)
        ),
        *(
            Delete(
                contact_address("ops", f"old-{number:02}"),
                f"8F{number:02}",
                {"firstName": "Old"},
                cascades=("pixel", "tablet"),
            )
            for number in range(41)
        ),
    ),
    unchanged={"contacts in ops": 12_345},
    reads=(Read(Scope("contact", "ops"), "scan", 1_031, 12_345, 12_407, complete=False),),
    fingerprint=FINGERPRINT,
)
REFUSED = Verdict(
    (
        GuardReason(
            "G1",
            "",
            41,
            25,
            "the plan deletes 41 entities (the limit is 25).",
            "check that nothing is missing; if this is meant, apply with --allow-deletes 41",
        ),
        GuardReason(
            "G4",
            "contacts in ops",
            41,
            0,
            "the plan deletes 41 contacts in ops, but the list of them was not read completely.",
            "plan again; if this happens again, the list changes while it is read, or the service cuts "
            "it short",
        ),
    )
)

_SAME = "The person on duty answers every call within ten minutes, hands over in writing, and "
WIDE = Plan(
    target=TARGET,
    options=Options(),
    manifest_digest="0" * 64,
    salt="b0c1f7f1b8a54d1f",
    changes=(
        Update(
            contact_address("ops", "kondo"),
            "manifests/night.yaml:7",
            "9B",
            (
                FieldChange("department", "夜間", "運用", "drifted"),
                FieldChange("firstName", "近藤", "近藤 ", "declared"),
                FieldChange("jobTitle", "Zoë", "Chloé 🚒", "declared"),
                FieldChange("messagingOptions.sms.enabled", False, True, "declared"),
                FieldChange("notes", f"{_SAME}sleeps.", f"{_SAME}never sleeps.", "both"),
                FieldChange(
                    "otherNotes",
                    None,
                    "A note of more than sixty characters, which is cut where it gets long.",
                    "declared",
                ),
            ),
        ),
        Update(
            contact_address("ops", "mallory"),
            "manifests/night.yaml:31",
            "9C",
            (
                FieldChange("firstName", "\x1b[2J\x1b[1;1H0 deletes", "Mallory", "drifted"),
                FieldChange("jobTitle", "ok\r- contact/ops/jane-doe", "Engineer", "drifted"),
                FieldChange("lastName", "\u202etxt.live", "Gray\u200b\u2028", "declared"),
                FieldChange("nickname", "[bold]x[/bold]", "[/x]", "declared"),
            ),
            adopts="workEmailAddress1",
        ),
    ),
    skips=(
        Skip(
            contact_address("ops", "mallory"),
            "foreign mark",
            "carries the mark of another owner (x\n- y); never written.",
        ),
    ),
    fingerprint=FINGERPRINT,
)

LATER = Plan(
    target=TARGET,
    options=Options(),
    manifest_digest="1" * 64,
    salt="b0c1f7f1b8a54d1f",
    changes=(
        BACK,
        Update(
            JANE.address,
            "manifests/ops.yaml:15",
            "9A01",
            (
                FieldChange("department", "Day", "Operations", "drifted"),
                FieldChange("jobTitle", "Engineer", "Duty Manager", "declared"),
                FieldChange("lastName", "Doe", "Poe", "declared"),
            ),
        ),
        Create(NEW_CONTACT.address, NEW_CONTACT.place, {**NEW_CONTACT.fields, "firstName": "Samuel"}),
        Update(
            PIXEL.address,
            PIXEL.place,
            "D1",
            (FieldChange("pushToken", "secret:5f2d0c", "secret:aa", "declared"),),
            "9A01",
        ),
        Delete(ROTA.address, "R7", {"name": "rota.csv"}),
        Delete(contact_address("ops", "kim-roe"), "9A02", {"firstName": "Kim"}),
        Delete(
            OLD_HAND.address, "8F21B0C4", OLD_HAND.before, cascades=("device/ops/old-hand/pixel", "tablet")
        ),
    ),
    fingerprint=OTHER_FINGERPRINT,
)

DONE = Run(
    run="00000000-0000-4000-8000-000000000001",
    fingerprint=FINGERPRINT,
    started_at="2026-03-02T09:30:00Z",
    ended_at="2026-03-02T09:30:04.250000Z",
    outcome="done",
    exit_code=0,
    outcomes=(
        Outcome(IMPORT.address, "create", "applied", remote_id="R8"),
        Outcome(JANE.address, "update", "applied", remote_id="9A01"),
        Outcome(OLD_HAND.address, "delete", "applied", remote_id="8F21B0C4"),
    ),
    adopted=3,
    calls={"DELETE": 1, "GET": 34, "POST": 1, "PUT": 1},
    gap=Gap(3, 0.4, 2.1, 1),
)
PARTIAL = Run(
    run="00000000-0000-4000-8000-000000000002",
    fingerprint=FINGERPRINT,
    started_at="2026-03-02T09:45:00Z",
    ended_at="2026-03-02T09:46:12Z",
    outcome="in doubt",
    exit_code=8,
    outcomes=(
        Outcome(IMPORT.address, "create", "applied", remote_id="R8"),
        Outcome(
            JANE.address,
            "update",
            "conflict",
            "department is not as planned any more; nothing was written.",
            "reconciler plan   (shows what it is now)",
        ),
        Outcome(
            NEW_CONTACT.address,
            "create",
            "in doubt",
            "the connection closed after the request was sent.",
            "plan again after 2026-03-02T09:46:20Z; it looks for it before anything is sent",
        ),
        Outcome(
            PIXEL.address,
            "update",
            "failed",
            "PUT /workspaces/4C8FE1A2B3D4E5F6/contacts/9A01/devices/D1: the service said no (400).",
            "correct deviceModel at manifests/ops.yaml:26",
        ),
        Outcome(
            contact_address("ops", "zoe-lee"),
            "update",
            "failed",
            "not stored by the service: workMobilePhone1. The service writes timezone in its own way.",
            "find out why the service does not store it; reconciler plan shows the difference again",
            "9A07",
            (
                FieldResult("timezone", "Australia/Sydney", "AEST", taken=True),
                FieldResult("workMobilePhone1", "+61491570157", "+61491570156"),
            ),
        ),
        Outcome(DISABLED.address, "create", "skipped", "its contact is in doubt."),
        Outcome(OLD_HAND.address, "delete", "not attempted"),
    ),
    calls={"GET": 41, "POST": 2, "PUT": 1},
    stopped="the run's deadline of 60 s has passed.",
)
