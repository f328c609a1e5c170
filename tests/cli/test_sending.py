"""`messages send` to people of the manifests, from a message file, and later: who is reached, and who not."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cli.hands import Project, Service
from cli.listener import JANE, SAM, done

TEXT = ("--subject", "Night shift", "--body", "Can you come?")
SEND = ("messages", "send")
SENT = ("POST", "/messages")
JANE_AT = "contact/default/jane-doe"
# By the real clock, in a zone without summer time: no hour of the year is another than the others there.
LATER = (datetime.now(UTC) + timedelta(days=30)).replace(second=0, microsecond=0)
IN_UTC = {"RECONCILER_SERVICE_SCHEDULE_ZONE": "UTC"}

NIGHT = "    meta: {tags: {rota: night}}\n"


def live(service: Service, name: str, number: str, **more: str) -> str:
    """The id of a contact of the service who is one of the manifests."""
    first, last = name.split()
    body = {
        "firstName": first,
        "lastName": last,
        "timezone": "Australia/Melbourne",
        "workCountry": "Australia",
    }
    mail = f"{first}.{last}@example.com".lower()
    made = service.call(
        "POST", "/contacts", body | {"workEmailAddress1": mail, "workMobilePhone1": number} | more
    )
    return str(made["link"][0]["uri"].rsplit("/", 1)[-1])


def tagged(project: Project) -> None:
    """Jane and Sam are on the rota of the night."""
    for title in ("Engineer", "Duty Manager"):
        project.edit(f"    jobTitle: {title}\n", f"    jobTitle: {title}\n{NIGHT}")


def refused(project: Project, service: Service, *arguments: str, code: int = 3, **env: str) -> str:
    """What is said of a message that is not sent."""
    ended = project.run(service, *SEND, *arguments, env=env)
    assert (ended.returncode, ended.stdout) == (code, ""), ended.stderr
    assert "Traceback" not in ended.stderr
    assert "  next: " in ended.stderr
    assert service.writes().count(SENT) == 0
    return ended.stderr


def shown(project: Project, service: Service, told: dict[str, Any]) -> dict[str, Any]:
    """The message as the service keeps it."""
    message = told["sent"]["message_id"]
    found: dict[str, Any] = done(project, service, "messages", "show", message)["message"]["fields"]
    return found


def test_an_address_of_ours_is_the_person_at_the_service(project: Project, service: Service) -> None:
    """By the MRI, which names one contact whatever number it has now; found as a plan finds it."""
    mri = service.call("GET", f"/contacts/{live(service, 'Jane Doe', '+61491570110')}")["mri"]

    told = done(project, service, *SEND, "--to", JANE_AT, *TEXT)

    assert shown(project, service, told)["to"] == mri
    assert (told["recipients"], told["workspace"]) == (1, "default")


def test_a_tag_is_everybody_who_carries_it_and_is_counted_first(project: Project, service: Service) -> None:
    """Whoever types a tag does not see how many people it is."""
    tagged(project)
    live(service, "Jane Doe", JANE)
    live(service, "Sam Lee", SAM)
    live(service, "Ada King", "+61491570158")

    draft = done(project, service, *SEND, "--to", "tag:rota=night", *TEXT, "--dry-run")
    before = service.writes().count(SENT)
    ended = project.run(
        service, *SEND, "--to", "tag:rota=night", "--to", JANE_AT, "--to", "0491 570 156", *TEXT
    )

    assert draft["to"] == [JANE_AT, "contact/default/sam-lee"]
    assert (draft["dry_run"], draft["recipients"], before) == (True, 2, 0)
    assert ended.stderr == "sending to 3 recipients.\n"
    assert service.writes().count(SENT) == 1


def test_one_person_named_in_two_ways_gets_one_message(project: Project, service: Service) -> None:
    """At most one arrival each: the address, the tag, the number and the mail address are one person."""
    tagged(project)
    live(service, "Jane Doe", JANE)
    live(service, "Sam Lee", SAM)
    ways = (
        "--to",
        JANE_AT,
        "--to",
        "tag:rota=night",
        "--to",
        "+61 491 570 156",
        "--to",
        "Jane.Doe@example.com",
    )

    told = done(project, service, *SEND, *ways, *TEXT)

    assert told["recipients"] == 2
    states = done(project, service, "messages", "status", told["sent"]["message_id"])["status"]
    assert sum(one["recipients"] for one in states) == 2


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_workspace_that_the_settings_do_not_have_is_refused(
    more: tuple[str, ...], project: Project, service: Service
) -> None:
    """A dry run that says yes to what is refused afterwards is none."""
    said = refused(project, service, "--to", SAM, *TEXT, "--workspace", "nope", *more)

    assert "the settings have no workspace 'nope'" in said


def test_a_dry_run_shows_who_would_get_it(project: Project, service: Service) -> None:
    """Addresses by name: numbers of people belong into no log."""
    live(service, "Jane Doe", JANE)

    ended = project.run(service, *SEND, "--to", JANE_AT, "--to", SAM, *TEXT, "--dry-run")

    assert ended.stdout.splitlines() == [
        "would be sent to 2 recipients, in workspace default:",
        f"  {JANE_AT}",
        f"  {SAM}",
        "nothing was sent.",
    ]
    assert (ended.returncode, service.writes().count(SENT)) == (0, 0)


UNKNOWN: dict[str, tuple[str, str]] = {
    "a slip in the name": ("contact/default/Jane_Doe", "did you mean contact/default/jane-doe?"),
    "a slip in the kind": ("contcat/default/jane-doe", "did you mean contact/default/jane-doe?"),
    "a device": ("device/default/jane-doe/phone", "a message cannot be sent to a device"),
    "a slip in the tag": ("tag:rota=Night", "did you mean tag:rota=night?"),
    "a tag without a value": ("tag:rota", "name one of tag:rota=night"),
    "a tag that nobody has": ("tag:colour=blue", "no contact has this tag."),
    "a name alone": ("jane-doe", "is not a recipient."),
    "a number that is none": ("+61", "is not a recipient."),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_a_recipient_that_means_nobody_is_refused_with_the_nearest(
    case: str, project: Project, service: Service
) -> None:
    """The service takes any text for a recipient, and tells afterwards that nothing arrived."""
    tagged(project)
    recipient, words = UNKNOWN[case]

    said = refused(project, service, "--to", recipient, "--to", JANE, *TEXT)

    assert words in said
    assert said.startswith("--to: ")
    assert service.requests() == []


def test_nobody_is_left_out_in_silence(project: Project, service: Service) -> None:
    """Everybody who cannot be reached is named; and then nobody is written to."""
    tagged(project)
    gone = live(service, "Ada King", "+61491570158")
    service.call("DELETE", f"/contacts/{gone}")
    for _ in range(2):
        live(service, "Jane Doe", JANE)
    live(service, "Sam Lee", "")

    said = refused(project, service, "--to", "tag:rota=night", "--to", "contact/default/ada-king", *TEXT)

    assert "contact/default/ada-king does not exist at the service." in said
    assert f"{JANE_AT} is ambiguous" in said
    assert "2 of 3 contacts cannot be reached; nothing was sent." in said
    lacking = refused(project, service, "--to", "contact/default/sam-lee", *TEXT)
    assert "contact/default/sam-lee has no mobile number" in lacking


def test_an_e_mail_reaches_who_has_no_number(project: Project, service: Service) -> None:
    """What somebody lacks is judged by the channels that the message has."""
    live(service, "Sam Lee", "")
    file = project.folder / "mail.yaml"
    file.write_text("version: 1\nto: [contact/default/sam-lee]\nsubject: Report\nemail: {body: See below.}\n")

    done(project, service, *SEND, "--file", "mail.yaml")

    assert service.writes().count(SENT) == 1


def test_a_message_to_many_wants_their_number(project: Project, service: Service) -> None:
    """As the guard of a plan: whoever allows 27 has seen that they are 27."""
    many = [word for last in range(27) for word in ("--to", f"+447700900{last:03d}")]

    said = refused(project, service, *many, *TEXT, "--allow-recipients", "26", code=7)

    assert "would reach 27 recipients (the limit is 25)" in said
    assert "--allow-recipients 27" in said
    assert done(project, service, *SEND, *many, *TEXT, "--allow-recipients", "27")["recipients"] == 27


WHOLE = {
    "version": 1,
    "to": [JANE],
    "subject": "Night shift",
    "body": "Can you come?",
    "label": "incident-42",
    "type": "defaultNoReply",
    "email": {"body": "<p>Can you come?</p>", "type": "text/html", "footer": "Operations"},
    "voice": {"header": "Operations here.", "body": "Can you come tonight?"},
    "web": {"body": "The plan", "type": "text/plain"},
    "social": [{"id": "social", "body": "Trains run."}, {"id": "social_long", "body": "Trains run again."}],
    "features": {"pushOptions": {"notifications": "enabled", "escalationMins": 3}},
    "dlr": {"type": "NoDlr"},
    "schedule": {"at": LATER.isoformat(), "repeat": {"times": 2, "hours": 1}},
}
KEPT = {
    "label": "incident-42",
    "type": "defaultNoReply",
    "email": WHOLE["email"],
    "voice": {
        "type": "ConfCall:,ConfAccountNo:,ConfPinNo:,ConfModPinNo:,Pin:",
        "header": "Operations here.",
        "body": "Can you come tonight?",
    },
    "web": WHOLE["web"],
    "features": {"pushOptions": {"notifications": "enabled", "escalationMins": "3"}},
    "dlr": {"type": "NoDlr"},
    "messageType": "SCHEDULED",
    "scheduleType": "REPEAT",
    "scheduleDate": f"{LATER:%d/%m/%Y %H:%M}",
}


@pytest.mark.parametrize("form", ["json", "xml"])
@pytest.mark.parametrize("name", ["night.yaml", "night.json"])
def test_every_part_of_a_message_file_reaches_the_service(
    form: str, name: str, project: Project, service: Service
) -> None:
    """In JSON and in XML alike; a JSON file is a YAML file too."""
    (project.folder / name).write_text(json.dumps(WHOLE))
    env = IN_UTC | {"RECONCILER_SERVICE_FORMAT": form}

    ended = project.run(service, *SEND, "--file", name, "--format", "json", env=env)

    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    found = shown(project, service, told)
    assert {key: found[key] for key in KEPT} == KEPT
    assert (str(found["repetitionCount"]), str(found["repeatHrs"])) == ("2", "1")
    assert [one["body"] for one in found["social"]["social"]] == ["Trains run.", "Trains run again."]
    assert told["scheduled"] == f"{LATER:%Y-%m-%dT%H:%MZ}"


MISTAKES: dict[str, tuple[str, str]] = {
    "a misspelt part": ("subjct: x\n", "m.yaml:3:1: subjct"),
    "a misspelt field of a part": ("email: {bdy: x}\n", "did you mean body?"),
    "a part without a text": ("voice: {header: x}\n", "m.yaml:3:"),
    "a word that is none": ("features: {pushOptions: {notifications: enabeld}}\n", "did you mean enabled?"),
    "a type that is none": ("email: {body: x, type: text/htm}\n", "did you mean text/html?"),
    "a time without a zone": ("schedule: {at: 2100-03-02T22:00}\n", "m.yaml:3:12: schedule.at is not a time"),
    "a day alone": ("schedule: {at: 2100-03-02}\n", "m.yaml:3:12: schedule.at is not a time"),
    "an empty recipient list": ("to: []\n", "m.yaml:3:"),
    "a null": ("label:\n", "m.yaml:3:7: label is null"),
    "a key twice": ("label: a\nlabel: b\n", "m.yaml:4:1"),
    "a tab": ("email:\n\tbody: x\n", "m.yaml:4:"),
    "a number that is none": ("schedule: {at: 2100-03-02T22:00Z, repeat: {times: 1.5}}\n", "m.yaml:3:"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_in_a_message_file_has_its_place(case: str, project: Project, service: Service) -> None:
    text, words = MISTAKES[case]
    (project.folder / "m.yaml").write_text(f"version: 1\nbody: x\n{text}")

    said = refused(project, service, "--file", "m.yaml", "--to", JANE, "--subject", "x")

    assert words in said
    assert service.requests() == []


def test_a_recipient_of_a_file_is_named_at_its_place(project: Project, service: Service) -> None:
    text = "version: 1\nto:\n  - contact/default/jane-doe\n  - contact/default/Sam-Lee\nsubject: x\nbody: y\n"
    (project.folder / "m.yaml").write_text(text)

    said = refused(project, service, "--file", "m.yaml")

    assert "m.yaml:4:5: contact/default/Sam-Lee: the manifests declare no such contact." in said
    assert "did you mean contact/default/sam-lee?" in said


def test_a_schedule_without_the_zone_of_the_service_is_refused(project: Project, service: Service) -> None:
    """The date that is sent names no zone: hours off, somebody would be woken in the night."""
    said = refused(project, service, "--to", JANE, *TEXT, "--at", LATER.isoformat())
    slip = refused(
        project,
        service,
        "--to",
        JANE,
        *TEXT,
        "--at",
        LATER.isoformat(),
        RECONCILER_SERVICE_SCHEDULE_ZONE="Australia/Melburne",
    )

    assert "service.schedule_zone" in said
    assert "did you mean Australia/Melbourne?" in slip
    assert service.requests() == []


def test_what_is_said_twice_is_refused(project: Project, service: Service) -> None:
    (project.folder / "m.yaml").write_text(f"version: 1\nto: ['{JANE}']\nsubject: x\nbody: y\nlabel: z\n")

    for option in ("--to", "--subject", "--body", "--label"):
        said = refused(project, service, "--file", "m.yaml", option, SAM, code=64)
        assert f"given twice: {option.removeprefix('--')}" in said


def test_people_of_two_workspaces_are_two_messages(project: Project, service: Service) -> None:
    (project.folder / "manifests" / "ops.yaml").write_text(
        "version: 1\nworkspace: ops\ncontacts: {max-roe: {workEmailAddress1: max@example.com}}\n"
    )
    settings = project.folder / "reconciler.yaml"
    settings.write_text(settings.read_text() + "  ops: {name: Operations}\n")

    said = refused(project, service, "--to", JANE_AT, "--to", "contact/ops/max-roe", *TEXT)
    other = refused(project, service, "--to", "contact/ops/max-roe", "--workspace", "default", *TEXT)

    assert "the contacts are in default, ops" in said
    assert "the contacts are in ops" in other


def test_a_person_is_found_by_the_record_in_a_named_workspace(project: Project, service: Service) -> None:
    """Whatever changed since: the record says who it is, and the workspace is that of the person."""
    made = service.call("POST", "/workspaces", {"projectName": "Operations", "status": "A"})
    settings = project.folder / "reconciler.yaml"
    settings.write_text(settings.read_text() + "  ops: {name: Operations}\n")
    project.edit("workspace: default\n", "workspace: ops\n")
    applied = project.run(service, "apply", "--yes", "--only", "contact/ops/jane-doe")
    assert applied.returncode == 0, applied.stderr
    path = f"/workspaces/{made['id']}/contacts"
    [jane] = service.call("GET", path)["contacts"]
    changed = {"firstName": "Jane", "lastName": "Roe", "workMobilePhone1": "+61491570110", "timezone": "10"}
    service.call("PUT", f"{path}/{jane['id']}", changed | {"workEmailAddress1": "jane.roe@example.com"})

    told = done(project, service, *SEND, "--to", "contact/ops/jane-doe", *TEXT)
    ended = project.run(
        service, *SEND, "--to", "contact/ops/jane-doe", *TEXT, env={"RECONCILER_SERVICE_FORMAT": "xml"}
    )

    assert told["workspace"] == "ops"
    assert ended.returncode == 0, ended.stderr
    assert "--workspace ops" in ended.stdout
    assert service.writes().count(("POST", f"/workspaces/{made['id']}/messages")) == 2
    kept = done(project, service, "messages", "show", told["sent"]["message_id"], "--workspace", "ops")
    assert kept["message"]["fields"]["to"].startswith("Jane_Roe.")


def test_a_scheduled_send_to_people_that_is_in_doubt_is_not_repeated(
    project: Project, service: Service
) -> None:
    """At most one message for one intent, whatever it consists of."""
    live(service, "Jane Doe", JANE)
    service.call("POST", "/_sandbox/faults", {"fault": "drop-after", "method": "POST", "path": "/messages"})

    ended = project.run(service, *SEND, "--to", JANE_AT, *TEXT, "--at", LATER.isoformat(), env=IN_UTC)

    assert ended.returncode == 8
    assert "Nothing is sent again." in ended.stderr
    assert service.writes().count(SENT) == 1


def test_what_xml_cannot_carry_is_refused_unsent(project: Project, service: Service) -> None:
    """A part of a message that got lost on the way would be noticed by nobody."""
    said = refused(
        project,
        service,
        *("--to", JANE, "--subject", "Night shift", "--body", "Can you\vcome?"),
        RECONCILER_SERVICE_FORMAT="xml",
        code=1,
    )

    assert "json" in said
