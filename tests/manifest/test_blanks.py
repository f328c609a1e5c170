"""Blanks at the edges of declared values: not sent, and said with their place."""

import pytest
from manifest.project import Project

from reconciler.core.desired.partition import ManifestPart
from reconciler.core.entity_table import PlainRows
from reconciler.core.text import EDGES, trim_edges
from reconciler.manifest.cache import CachedPart, decode_part, encode_part
from reconciler.model.address import Address
from reconciler.model.notices import Notice

JANE = Address("contact/ops/jane")
BLANKS = [" ", "\u00a0", "\u3000", "\u2007", "\u202f", "\u200b", "\u2060", " \u00a0 "]


def _told(project: Project) -> tuple[Notice, ...]:
    return project.resolve().desired.notices


@pytest.mark.parametrize("blank", BLANKS)
def test_a_value_is_sent_without_the_blanks_at_its_edges(project: Project, blank: str) -> None:
    """The service would keep them, a plan would not show them, and correcting them would change nothing."""
    project.manifest(
        "contacts:\n  jane:\n"
        f'    firstName: "{blank}Jane"\n    workEmailAddress1: "jane@example.com{blank}"\n'
        f'    custom: {{badge: "{blank}7 7{blank}"}}\n'
    )

    found = project.resolve().desired

    assert found.entities[JANE].fields == {
        "firstName": "Jane",
        "workEmailAddress1": "jane@example.com",
        "custom.badge": "7 7",
    }
    assert [one.place for one in found.notices] == [
        "manifests/ops.yaml:5",
        "manifests/ops.yaml:6",
        "manifests/ops.yaml:7",
    ]


@pytest.mark.parametrize("block", ["|\n      Jane\n", "|+\n      Jane\n\n", "'Jane\t'\n", '"\\n Jane"\n'])
def test_line_breaks_and_tabs_at_the_edges_are_blanks(project: Project, block: str) -> None:
    """A block of YAML ends with a line break that nobody has meant."""
    project.manifest(f"contacts:\n  jane:\n    firstName: {block}\n    workEmailAddress1: jane@example.com\n")

    found = project.resolve().desired

    assert found.entities[JANE].fields["firstName"] == "Jane"
    (notice,) = found.notices
    assert notice.what.startswith(("firstName begins with", "firstName ends with"))
    assert notice.place == "manifests/ops.yaml:5"


def test_a_default_is_said_once(project: Project) -> None:
    """It stands in one place for everybody."""
    project.manifest(
        'defaults:\n  contacts:\n    companyName: "Example "\n'
        "contacts:\n  jane: {workEmailAddress1: jane@example.com}\n"
        "  sam: {workEmailAddress1: sam@example.com}\n"
    )

    found = project.resolve().desired

    assert {one.fields["companyName"] for one in found.entities.values()} == {"Example"}
    assert [one.place for one in found.notices] == ["manifests/ops.yaml:5"]


ROSTER = """
rosters:
  - file: ../{}
    name: "{{ID}}"
    contacts: {{firstName: "{{Name}}", workEmailAddress1: "{{Mail}}"}}
"""


def test_a_column_of_a_roster_is_said_once_with_the_number_of_its_rows(project: Project) -> None:
    """Ten thousand lines would hide every other warning."""
    project.manifest(ROSTER.format("a.csv"))
    rows = "".join(f"{n}, P{n},p{n}@example.com\u00a0\n" for n in range(1, 51))
    project.write("a.csv", "ID,Name,Mail\n" + rows.replace(" P1,", "P1,"))

    found = project.resolve().desired

    assert {
        trim_edges(str(text)) == text for one in found.entities.values() for text in one.fields.values()
    } == {True}
    many = "rows, this one first; they are sent without them."
    assert [(one.what, one.place) for one in found.notices] == [
        (
            f"workEmailAddress1 (column 'Mail') has blanks at the start or end of cells in 50 {many}",
            "a.csv:2",
        ),
        (f"firstName (column 'Name') has blanks at the start or end of cells in 49 {many}", "a.csv:3"),
    ]


def test_every_form_of_a_roster_is_trimmed(project: Project) -> None:
    """JSON keeps what the HR system has, blanks included."""
    project.manifest(ROSTER.format("a.json"))
    project.write("a.json", '[{"ID": "jane", "Name": "Jane\\u200b", "Mail": " jane@example.com"}]')

    found = project.resolve().desired

    assert found.entities[JANE].fields == {"firstName": "Jane", "workEmailAddress1": "jane@example.com"}
    assert len(found.notices) == 2


@pytest.mark.parametrize("cell", ["\u200b", " \u00a0", "\u3000"])
def test_a_cell_of_blanks_is_an_empty_cell(project: Project, cell: str) -> None:
    """Nothing in it can be seen, so it must not clear what is live."""
    project.manifest(ROSTER.format("a.csv"))
    project.write("a.csv", f"ID,Name,Mail\njane,{cell},jane@example.com\n")

    found = project.resolve().desired

    assert found.entities[JANE].fields == {"workEmailAddress1": "jane@example.com"}
    assert found.notices == ()


def test_a_value_of_the_environment_is_trimmed_and_not_shown(project: Project) -> None:
    """What a variable holds is never in a message, nor is a blank that could be a part of it."""
    project.environ, project.variables = {"MAIL": "jane@example.com "}, ["*"]
    project.manifest("contacts:\n  jane: {workEmailAddress1: '${env:MAIL}'}\n")

    found = project.resolve().desired

    assert found.entities[JANE].fields == {"workEmailAddress1": "jane@example.com"}
    (notice,) = found.notices
    assert "jane@example.com" not in notice.what + notice.next


@pytest.mark.parametrize("value", [" ", "\u00a0\u200b"])
def test_a_variable_of_blanks_is_a_mistake(project: Project, value: str) -> None:
    """Trimmed, it would clear the field, as an empty one would."""
    project.environ, project.variables = {"MAIL": value}, ["*"]
    project.manifest("contacts:\n  jane: {workEmailAddress1: '${env:MAIL}'}\n")

    (problem,) = project.problems()

    assert problem.what == "the variable MAIL contains only whitespace, which would clear the field."


DEVICE = (
    "contacts:\n  jane:\n    workEmailAddress1: jane@example.com\n    devices:\n      pixel: "
    '{{deviceName: P, appId: a, platform: GCM, deviceOS: A, deviceModel: M, pushToken: "{}"}}\n'
)


@pytest.mark.parametrize("token", ["t-123\\n", " t-123", "t-123\u00a0"])
def test_a_push_token_loses_its_edges(project: Project, token: str) -> None:
    """A machine made it, and a blank is never a part of it: pushes with one reach nobody."""
    project.manifest(DEVICE.format(token))

    found = project.resolve().desired

    assert found.entities[Address("device/ops/jane/pixel")].fields["pushToken"] == "t-123"
    assert [one.what for one in found.notices] == [
        "pushToken has blanks at its start or end, and is sent without them."
    ]


@pytest.mark.parametrize(
    ("written", "sent", "end"),
    [
        ("a secret ", "a secret ", "and is sent with them"),
        ("\u00a0secret", "\u00a0secret", "and is sent with them"),
        ("secret\\n", "secret", "and is sent without them"),
    ],
)
def test_a_password_keeps_its_blanks_and_is_warned_about(
    project: Project, written: str, sent: str, end: str
) -> None:
    """Somebody may have chosen it so. A line break is no key of a keyboard that a password has."""
    project.manifest(f'contacts:\n  jane: {{workEmailAddress1: jane@example.com, password: "{written}"}}\n')

    found = project.resolve().desired

    assert found.entities[JANE].fields["password"] == sent
    (notice,) = found.notices
    assert notice.what == f"password has blanks at its start or end, {end}."


def test_a_value_of_blanks_clears_and_says_so(project: Project) -> None:
    """It did before, while it sent the blank."""
    project.manifest("contacts:\n  jane: {workEmailAddress1: jane@example.com, jobTitle: ' '}\n")

    found = project.resolve().desired

    assert found.entities[JANE].fields["jobTitle"] == ""
    (notice,) = found.notices
    assert notice.what == "jobTitle contains only whitespace, which clears the field."


def test_the_content_of_a_resource_is_sent_as_it_is(project: Project) -> None:
    """A file ends with a line break, and is compared by its bytes."""
    project.manifest(
        'resources:\n  a: {name: a.txt, scope: public, mimeType: text/plain, content: {text: " a \\n"}}\n'
    )

    found = project.resolve().desired

    (entity,) = found.entities.values()
    assert entity.content is not None
    assert entity.content.data == b" a \n"
    assert found.notices == ()


def test_two_people_are_one_whatever_blanks_are_around_their_addresses(project: Project) -> None:
    """Trimmed after the check they would be made twice."""
    project.manifest(
        "contacts:\n  jane: {workEmailAddress1: jane@example.com}\n"
        '  jane-doe: {workEmailAddress1: "\u200bjane@example.com"}\n'
    )

    assert [one.what for one in project.problems()] != []


def test_what_is_trimmed_is_every_blank_of_unicode() -> None:
    """`str.isspace` knows those with a width; those without one are copied along with a text."""
    white = {chr(code) for code in range(0x110000) if chr(code).isspace()}

    assert white <= set(EDGES)
    assert set(EDGES) - white == set("\u180e\u200b\u200c\u200d\u2060\ufeff")


def test_words_of_rosters_are_read_without_their_edges(project: Project) -> None:
    """`yes` with a no-break space is yes."""
    project.manifest(
        'rosters:\n  - file: ../a.csv\n    name: "{ID}"\n    contacts:\n'
        '      workEmailAddress1: "{Mail}"\n      status: "{State}"\n'
    )
    project.write("a.csv", "ID,Mail,State\njane,jane@example.com, A\u00a0\n")

    assert project.resolve().desired.entities[JANE].fields["status"] == "A"


def test_a_cache_of_the_version_before_is_not_used() -> None:
    """What it keeps has the blanks in it, and no warning."""
    part = CachedPart(ManifestPart(PlainRows({}), frozenset()), {})
    data = b"".join(encode_part(part, key=b"key", purpose=b"this"))

    assert decode_part(data, key=b"key", purpose=b"this") is not None
    before = b"reconciler cache 1\n" + data.partition(b"\n")[2]
    assert decode_part(before, key=b"key", purpose=b"this") is None
