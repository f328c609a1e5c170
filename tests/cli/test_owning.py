"""adopt and forget as processes: what is ours from now on or no longer, and what is refused."""

import json
import shutil

import pytest
from cli.hands import Project, Service
from cli.keeping import store_file

SAM = "contact/default/sam-lee"


def applied_without_sam(project: Project, service: Service) -> None:
    """Three people are ours, and the entry of one of them is gone."""
    assert project.run(service, "apply", "--yes").returncode == 0
    text = project.manifest.read_text()
    begin, end = text.index("  sam-lee:"), text.index("  ada-king:")
    project.manifest.write_text(text[:begin] + text[end:])


def test_forget_leaves_what_is_live_and_prunes_nobody(project: Project, service: Service) -> None:
    """The next plan would have deleted him; afterwards he is counted as not ours."""
    applied_without_sam(project, service)
    before = service.writes()

    done = project.run(service, "forget", "--yes", SAM)

    assert (done.returncode, done.stderr) == (0, "")
    assert "removed from the manifests; no longer owned, and the live entity stays" in done.stdout
    assert "Nothing had to be written; 1 record updated." in done.stdout
    assert service.writes() == before
    counts = json.loads(project.run(service, "plan", "--format", "json").stdout)["counts"]
    assert (counts["deletes"], counts["unmanaged"]) == (0, 1)
    assert "= contact in default" in (told := project.run(service, "history").stdout)
    assert told.count("   forgotten\n") == 1
    assert "  forget  done" in told
    assert told.count("  apply  done") == 1


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("contact/default/jane-doe", "contact/default/jane-doe is still declared, manifests/team.yaml:"),
        ("contact/default/sam-leo", "is not owned: nothing is recorded under this address."),
        ("contact/nowhere/sam-lee", "the workspace nowhere is not in the settings."),
        ("sam-lee", "'sam-lee' is not an address."),
        (f"{SAM}@9A07", "is not an address."),
        ("contact/default/*", "is not an address."),
    ],
)
def test_forget_refuses_what_it_cannot_mean(
    project: Project, service: Service, address: str, what: str
) -> None:
    """One wrong address among several: none is forgotten."""
    applied_without_sam(project, service)

    done = project.run(service, "forget", "--yes", SAM, address)

    assert (done.returncode, done.stdout) == (3, "")
    assert what in done.stderr
    assert "\n  next: " in done.stderr
    plan = json.loads(project.run(service, "plan", "--format", "json").stdout)
    assert plan["counts"]["deletes"] == 1


def test_forget_says_that_another_entry_is_the_one_it_names(project: Project, service: Service) -> None:
    """It said that nothing was recorded, and proposed the very address that it was given."""
    project.run(service, "apply", "--yes")
    project.edit("  jane-doe:", "  joan-doe:")

    ended = project.run(service, "forget", "contact/default/jane-doe", "--yes")

    assert ended.returncode == 3
    assert ended.stderr == (
        "contact/default/jane-doe is declared by another entry now, so it is not forgotten. [E004]\n"
        "  next: see which: reconciler plan; remove that entry from the manifest first\n"
    )


def test_forget_asks(project: Project, service: Service) -> None:
    """Where nobody can answer it says which option stands for the answer."""
    done = project.run(service, "forget", SAM)

    assert (done.returncode, done.stdout) == (64, "")
    assert "not a terminal: pass --yes." in done.stderr
    assert service.requests() == []


def test_adopt_changes_nothing_and_says_what_is_left(project: Project, service: Service) -> None:
    """A lost store: everything that is declared is live, and nobody's."""
    assert project.run(service, "apply", "--yes").returncode == 0
    shutil.rmtree(store_file(project).parent)
    project.edit("firstName: Sam", "firstName: Samuel")
    before = service.writes()

    done = project.run(service, "adopt", "--yes", "--all")

    assert done.returncode == 0, done.stderr
    assert SAM in done.stdout
    assert "as it is; adopted by workEmailAddress1" in done.stdout
    assert "updates left for an apply" in done.stdout
    assert "  adopt  done" in project.run(service, "history").stdout
    assert service.writes() == before
    plan = json.loads(project.run(service, "plan", "--format", "json").stdout)
    assert plan["plan"]["adoptions"] == []
    assert all(one["action"] == "update" and not one["adopts"] for one in plan["plan"]["changes"])
    assert SAM in [one["address"] for one in plan["plan"]["changes"]]


@pytest.mark.parametrize(
    ("words", "code", "what"),
    [
        ((), 64, "pass addresses, or --all"),
        (("--all", SAM), 64, "pass addresses, or --all"),
        ((SAM,), 64, "not a terminal: pass --yes."),
        (
            ("--yes", "contact/default/sam-leo"),
            3,
            "is not declared; only declared entities can be adopted.",
        ),
        (("--yes", "sam-lee"), 3, "is not declared"),
    ],
)
def test_adopt_refuses_what_it_cannot_mean(
    project: Project, service: Service, words: tuple[str, ...], code: int, what: str
) -> None:
    """Before anything is asked of the service."""
    done = project.run(service, "adopt", *words)

    assert (done.returncode, done.stdout) == (code, "")
    assert what in done.stderr
    assert service.requests() == []
