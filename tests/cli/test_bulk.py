"""messages bulk: one message to everybody in a resource of the manifests, counted before and sent once."""

import pytest
from cli.hands import Project, Service
from cli.listener import done

SENT = ("POST", "/messages")
STAFF = "name,mobile,mail\nJane,+61491570156,jane@example.com\nSam,,sam@example.com\n"
RESOURCE = """\
  staff:
    name: staff.csv
    scope: private
    mimeType: text/csv
    content: {file: payloads/staff.csv}
"""
ADDRESS = "resource/default/staff"
BULK = (
    "messages",
    "bulk",
    ADDRESS,
    "--sms",
    "mobile",
    "--email",
    "mail",
    "--subject",
    "Shift",
    "--body",
    "Tonight?",
)


@pytest.fixture
def staffed(project: Project) -> Project:
    """A project with a resource of two people."""
    (project.folder / "manifests" / "payloads" / "staff.csv").write_text(STAFF)
    project.edit("\nresources:\n", f"\nresources:\n{RESOURCE}")
    return project


def applied(project: Project, service: Service) -> None:
    ended = project.run(service, "apply", "--yes", "--only", ADDRESS)
    assert ended.returncode == 0, ended.stderr


def refused(project: Project, service: Service, *arguments: str, code: int = 3) -> str:
    """What is said of a message that is not sent."""
    ended = project.run(service, *arguments)
    assert (ended.returncode, ended.stdout) == (code, ""), ended.stderr
    assert "  next: " in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "@example.com" not in ended.stderr
    assert SENT not in service.writes()
    return ended.stderr


def test_a_message_to_a_resource_of_ours_is_counted_and_sent_once(staffed: Project, service: Service) -> None:
    """The dry run sends nothing but GET, and counts the same people."""
    applied(staffed, service)

    draft = done(staffed, service, *BULK, "--dry-run")
    before = service.writes()
    told = done(staffed, service, *BULK)

    assert (draft["recipients"], draft["dry_run"], SENT in before) == (2, True, False)
    assert (told["recipients"], told["workspace"]) == (2, "default")
    assert service.writes() == [*before, SENT]
    each = done(staffed, service, "messages", "status", told["sent"]["message_id"], "--detailed")[
        "deliveries"
    ]
    assert [one["destination"] for one in each] == ["+61491570156", "sam@example.com"]


def test_a_resource_that_is_not_there_as_it_is_declared_is_not_sent_to(
    staffed: Project, service: Service
) -> None:
    """The service would send to the rows that it has: those of before, and perhaps to nobody."""
    never = refused(staffed, service, *BULK)
    applied(staffed, service)
    staff = staffed.folder / "manifests" / "payloads" / "staff.csv"
    staff.write_text(f"{STAFF}Kim,+61491570157,\n")
    changed = refused(staffed, service, *BULK)
    staff.write_text(STAFF)
    service.call("POST", "/_sandbox/resources/expire", {})
    gone = refused(staffed, service, *BULK)

    assert "has changes that are not applied yet" in never
    assert "has changes that are not applied yet" in changed
    assert "is no longer in the service" in gone
    assert gone.count(f"reconciler apply --only {ADDRESS}") == 1


def test_a_bulk_message_that_cannot_be_meant_is_refused(staffed: Project, service: Service) -> None:
    applied(staffed, service)
    (_, _, _, *options) = BULK
    text = ("--subject", "Shift", "--body", "Tonight?")

    assert "did you mean resource/default/staff?" in refused(
        staffed, service, "messages", "bulk", "resource/default/Staff", *options
    )
    assert "did you mean mobile?" in refused(
        staffed, service, "messages", "bulk", ADDRESS, "--sms", "mobil", *text
    )
    assert "--sms, --email or --voice" in refused(
        staffed, service, "messages", "bulk", ADDRESS, *text, code=64
    )
    assert "there is no callback" in refused(staffed, service, *BULK, "--callback", "nobody")


def test_a_bulk_message_whose_answer_is_lost_is_in_doubt_and_not_sent_again(
    staffed: Project, service: Service
) -> None:
    applied(staffed, service)
    service.call("POST", "/_sandbox/faults", {"fault": "drop-after", "method": "POST", "path": "/messages"})

    doubt = done(staffed, service, *BULK, code=8)

    assert doubt["error"]["kind"] == "InDoubt"
    assert doubt["error"]["next"].startswith("reconciler messages list")
    assert service.writes().count(SENT) == 1


def test_a_bulk_message_to_more_people_than_the_guard_allows_needs_consent(
    staffed: Project, service: Service
) -> None:
    """A resource may have 100,000 rows, and nobody sees them in the command line."""
    applied(staffed, service)
    few = {"RECONCILER_GUARD_RECIPIENTS_MAX": "1"}

    ended = staffed.run(service, *BULK, env=few)
    before = service.writes().count(SENT)
    agreed = staffed.run(service, *BULK, "--allow-recipients", "2", env=few)

    assert (ended.returncode, ended.stdout, before) == (7, "", 0)
    assert "--allow-recipients 2" in ended.stderr
    assert (agreed.returncode, service.writes().count(SENT)) == (0, 1)
