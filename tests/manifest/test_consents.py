"""`consent:` in manifests: what is read of it, what is refused and where, with the cache and without."""

from pathlib import Path

import pytest
from manifest.cached_project import KeptProject
from manifest.project import Project

from reconciler.core.desired.consents import parse_consent_end
from reconciler.manifest.fmt import format_manifest
from reconciler.model.address import Address
from reconciler.model.documents import ConsentAction, NamedConsent

WANTED = """\
contacts: {}
consent:
  - delete: [contact/ops/sam, contact/ops/jane@9A07]
    until: 2026-12-15
    reason: left the company
  - reactivate:
      - device/ops/ada/phone
    until: 2026-12-15T18:00:00+10:00
    reason: new phone
"""


def named(text: str, action: ConsentAction, until: str, reason: str, line: int) -> NamedConsent:
    return NamedConsent(Address(text), action, until, reason, f"manifests/ops.yaml:{line}")


def test_each_address_is_one_consent_with_its_place(tmp_path: Path) -> None:
    """In the order of addresses, whatever the order of lines."""
    project = Project(tmp_path)
    project.manifest(WANTED)

    assert project.resolve().desired.consents == (
        named("contact/ops/jane@9A07", "delete", "2026-12-15", "left the company", 5),
        named("contact/ops/sam", "delete", "2026-12-15", "left the company", 5),
        named("device/ops/ada/phone", "reactivate", "2026-12-15T18:00:00+10:00", "new phone", 9),
    )


def item(line: str, until: str = "2026-12-15", reason: str = "left") -> str:
    return f"contacts: {{}}\nconsent:\n  - {line}\n    until: {until}\n    reason: {reason}\n"


MISTAKES = {
    item("delete: [contact/ops/*]"): ("5:14", "is a pattern", "E317"),
    item("delete: ['contact/*/jane']"): ("5:14", "is a pattern", "E317"),
    item("delete: [contact/default/jane]"): ("5:14", "in another workspace", "E317"),
    item("delete: [contcat/ops/jane]"): ("5:14", "is not an address", "E317"),
    item("delete: [jane]"): ("5:14", "is not an address", "E317"),
    item("delete: [device/ops/jane]"): ("5:14", "is not an address", "E317"),
    item("delete: [contact/ops/jane]", until="tomorrow"): ("6:5", "neither a day nor a moment", "E317"),
    item("delete: [contact/ops/jane]", until="2026-02-30"): ("6:5", "neither a day nor a moment", "E317"),
    item("delete: [contact/ops/jane]", until="2026-12-15T10:00:00"): ("6:5", "neither a day", "E317"),
    item("delete: [contact/ops/jane, contact/ops/jane]"): ("5:32", "stands at manifests/ops.yaml:5", "E318"),
    item("delete: [contact/ops/jane]", reason="'  '"): ("7:5", "is not a reason in one line", "E208"),
    item("delete: [contact/ops/jane]", reason='"a\\n- contact/ops/sam"'): ("7:5", "in one line", "E208"),
    item("delete: ['contact/ops/${env:NAME}']"): ("5:14", "a variable stands here", "E317"),
    item("delete: [contact/ops/jane]", until="${env:NAME}"): ("6:5", "a variable stands here", "E317"),
    item("delete: [contact/ops/jane]", reason="${env:NAME}"): ("7:5", "a variable stands here", "E317"),
    item("delete: []"): ("5:5", "at least one", "E207"),
    item("delet: [contact/ops/jane]"): ("5:5", "delet is not a field", "E201"),
    "contacts: {}\nconsent:\n  - until: 2026-12-15\n    reason: left\n": ("5:5", "delete, update", "E202"),
    "contacts: {}\nconsent:\n  - delete: [contact/ops/jane]\n    reason: left\n": ("5:5", "until", "E202"),
    "contacts: {}\nconsent:\n  - delete: [contact/ops/jane]\n    until: 2026-12-15\n": (
        "5:5",
        "reason",
        "E202",
    ),
    "contacts: {}\nconsent: contact/ops/jane\n": ("4:1", "must be a list", "E203"),
}


@pytest.mark.parametrize("body", MISTAKES)
def test_what_could_mean_anything_is_a_mistake_at_its_place(body: str, tmp_path: Path) -> None:
    """A line that nobody can judge later is refused when it is written; a variable's value is not shown."""
    where, what, code = MISTAKES[body]
    project = Project(tmp_path)
    project.environ, project.variables = {"NAME": "2026-12-15-of-the-environment"}, ["NAME"]
    project.manifest(body)

    (problem,) = project.problems()

    assert f"{problem.line}:{problem.column}" == where, problem
    assert what in problem.what
    assert problem.code == code
    assert "environment" not in problem.what


def test_one_address_in_two_files_is_a_mistake_with_both_places(tmp_path: Path) -> None:
    """Two ends and two reasons: which one was reviewed?"""
    project = Project(tmp_path)
    project.manifest(item("delete: [contact/ops/jane]"), "a.yaml")
    project.manifest(item("delete: [contact/ops/jane]", until="2027-01-01"), "b.yaml")

    (problem,) = project.problems()

    assert (problem.file, problem.line, problem.code) == ("manifests/b.yaml", 5, "E318")
    assert "manifests/a.yaml:5" in problem.what


def test_a_consent_is_kept_with_its_manifest_and_dropped_with_it(tmp_path: Path) -> None:
    """An old line from a cache would delete somebody whom nobody consents to lose."""
    project = KeptProject(tmp_path)
    project.write("ops.yaml", "version: 1\nworkspace: ops\n" + WANTED)
    project.write("more.yaml", "version: 1\nworkspace: ops\n" + item("update: [contact/ops/sam]"))

    first, again, fresh = project.through(), project.taken(), project.fresh()
    project.write("ops.yaml", "version: 1\nworkspace: ops\ncontacts: {}\n")
    less = project.through()

    assert first == fresh
    assert again is not None
    assert again.consents == first[-1]
    assert len(first[-1]) == 4
    assert [one.action for one in less[-1]] == ["update"]
    assert less == project.fresh()


def test_the_cache_finds_what_two_files_say_of_one_address(tmp_path: Path) -> None:
    """It knows each file alone; together they are a mistake."""
    project = KeptProject(tmp_path)
    project.write("a.yaml", "version: 1\nworkspace: ops\n" + item("delete: [contact/ops/jane]"))
    project.write("b.yaml", "version: 1\nworkspace: ops\ncontacts: {}\n")
    project.through()
    project.write("b.yaml", "version: 1\nworkspace: ops\n" + item("delete: [contact/ops/jane]"))

    assert [one.code for one in project.through()] == ["E318"]


def test_a_formatted_consent_keeps_its_comments_and_gets_its_order() -> None:
    """The address first, which is what a reviewer looks for."""
    text = """\
consent:
  # the night shift
  - reason: left
    until: 2026-12-15
    delete: [contact/ops/sam]
version: 1
workspace: ops
"""
    assert format_manifest(text.encode(), "ops.yaml").data.decode() == (
        """\
version: 1
workspace: ops
consent:
  # the night shift
  - delete: [contact/ops/sam]
    until: "2026-12-15"
    reason: left
"""
    )


@pytest.mark.parametrize(
    ("until", "end"),
    [
        ("2026-12-15", "2026-12-16T00:00:00+00:00"),
        ("2026-12-31", "2027-01-01T00:00:00+00:00"),
        ("2026-12-15T18:00:00+10:00", "2026-12-15T18:00:00+10:00"),
        ("2026-12-15T18:00Z", "2026-12-15T18:00:00+00:00"),
    ],
)
def test_a_day_ends_in_utc_and_a_moment_in_its_zone(until: str, end: str) -> None:
    """Two machines in two zones judge alike."""
    found = parse_consent_end(until)

    assert found is not None
    assert found.isoformat() == end


@pytest.mark.parametrize("until", ["", "9999-12-31", "2026-1-5", "20261215", "2026-12-15 18:00Z", "2026-W51"])
def test_any_other_end_is_none(until: str) -> None:
    assert parse_consent_end(until) is None
