"""What the specification leaves open is answered in docs/service.md; what it only mentions is not there."""

import re
from pathlib import Path

import pytest
from sandbox.asking import JANE, PIXEL, Sandbox, named

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text("utf-8")

GAPS = ("1", "2.2", "2.3", "2.4", "3.1", "3.2", "4.1", "4.2", "4.3", "4.5", "5", "6", "7", "8", "9")


def answers() -> dict[str, list[str]]:
    """Section of the specification -> the headings that answer what it leaves open."""
    table = PAGE.partition("| not shown in the specification |")[2].partition("\n\n")[0]
    found: dict[str, list[str]] = {}
    for question, answer in re.findall(r"^\| (.+) \| (.+) \|$", table, re.MULTILINE):
        sections = re.search(r"\(([0-9., ]+)\)$", question)
        for section in sections[1].split(", ") if sections else ():
            found.setdefault(section, []).extend(re.findall(r"\]\(#([a-z-]+)\)", answer))
    return found


def test_every_gap_is_answered_under_a_heading_with_a_table() -> None:
    """What is assumed has to be said, or nobody can tell it from what is documented."""
    headings = {
        title.lower().replace(" ", "-"): text
        for title, text in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    }

    assert set(answers()) == set(GAPS)
    for found in answers().values():
        assert found
        assert all("|---|---|---|" in headings[one] for one in found)


@pytest.mark.spec("8/rule-3-scenarios")
@pytest.mark.parametrize("path", ["/scenarios", f"/workspaces/{named}/scenarios", "/templates"])
def test_what_is_only_mentioned_is_not_played(path: str) -> None:
    """Scenarios come without a single address: nothing pretends to have them."""
    sandbox = Sandbox(workspaces=(("Night Shift", named),))

    assert sandbox.get(path).status_code == 404
    assert "scenarios" in PAGE.partition("\n## Limits")[2].partition("\n## ")[0]


@pytest.mark.spec("1/gap")
@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/workspaces", "GET, POST"),
        (f"/workspaces/{named}", "GET, PUT"),
        ("/messages", "GET, POST"),
        ("/messages/0123", "GET"),
        ("/messages/0123/messagestatus", "GET"),
        ("/messages/0123/messageresponses", "GET"),
    ],
)
def test_workspaces_and_messages_have_the_operations_that_public_sources_show(
    path: str, methods: str
) -> None:
    """And no others: a workspace is not deleted, a message neither changed nor deleted."""
    assert Sandbox().send("PATCH", path).headers["allow"] == methods


@pytest.mark.spec("4.1/gap")
def test_a_device_reads_as_the_seven_fields_with_its_id_two_dates_and_links() -> None:
    sandbox = Sandbox()
    device = sandbox.created(f"{sandbox.created('/contacts', JANE)}/devices", PIXEL)

    document = sandbox.get(device).json()

    assert document.keys() == PIXEL.keys() | {"id", "registrationDate", "lastModifiedDate", "link"}
    assert document.items() >= PIXEL.items()
