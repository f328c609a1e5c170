"""A plan file carries the consent that it was reviewed with: shown first, sealed, and for this plan alone."""

import json
import subprocess

import pytest
from cli.hands import Project, Service
from sealing import edit

import reconciler
from reconciler.core.planning.fingerprint import fingerprint
from reconciler.errors import ConsentDiffers
from reconciler.files.plan_file import read_plan
from reconciler.model.plans import Consent

NAMES = ("jane", "sam", "ada", "kim", "lee", "may")
ALLOWED = "up to 4 deletes (--allow-deletes 4): "


def declare(project: Project, names: tuple[str, ...]) -> None:
    """Let the manifest hold these people and nothing else."""
    entries = "".join(
        f"  {name}: {{firstName: {name.title()}, lastName: Doe, workEmailAddress1: {name}@example.com}}\n"
        for name in names
    )
    project.manifest.write_text(f"version: 1\nworkspace: default\ncontacts:\n{entries}")


@pytest.fixture
def crew(project: Project, service: Service) -> Project:
    """Six people who are live, of whom the manifest keeps two: more than the guard lets go."""
    declare(project, NAMES)
    assert project.run(service, "apply", "--yes").returncode == 0
    declare(project, NAMES[:2])
    return project


def planned(project: Project, service: Service, *words: str) -> "subprocess.CompletedProcess[str]":
    """The plan that lets four people go."""
    return project.run(service, "plan", "--allow-deletes", "4", "-o", "plan.json", *words)


def test_a_plan_file_is_applied_with_the_consent_it_was_made_with(crew: Project, service: Service) -> None:
    """Whoever reviewed the plan saw it; the job that applies it says nothing of its own."""
    made = planned(crew, service)

    done = crew.run(service, "apply", "plan.json")

    assert made.returncode == 0
    assert "next: reconciler apply plan.json   " in made.stdout
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(service.contacts()) == 2


@pytest.mark.parametrize("number", ["3", "5", "100"])
def test_another_number_beside_the_file_is_refused(number: str, crew: Project, service: Service) -> None:
    """What was reviewed is what is applied."""
    planned(crew, service)
    before = len(service.writes())

    done = crew.run(service, "apply", "plan.json", "--allow-deletes", number)

    assert done.returncode == 7
    assert "[E047]" in done.stderr
    assert "--allow-deletes 4" in done.stderr
    assert len(service.writes()) == before


def test_the_same_number_beside_the_file_is_no_contradiction(crew: Project, service: Service) -> None:
    """A job that was written before plans carried consent goes on."""
    planned(crew, service)

    assert crew.run(service, "apply", "plan.json", "--allow-deletes", "4").returncode == 0


def test_consent_holds_for_one_plan_alone(crew: Project, service: Service) -> None:
    """The next plan asks again."""
    planned(crew, service)
    assert crew.run(service, "apply", "plan.json").returncode == 0
    declare(crew, ())
    crew.manifest.write_text("version: 1\nworkspace: default\ncontacts: {}\n")

    assert crew.run(service, "plan", "-o", "next.json").returncode == 7
    assert not (crew.folder / "next.json").exists()
    assert crew.run(service, "apply", "plan.json").returncode == 5


@pytest.mark.parametrize("number", [0, 3, 5])
def test_an_edited_consent_is_an_edited_plan(number: int, crew: Project, service: Service) -> None:
    """By hand, in the file: the seal and the fingerprint cover it."""
    planned(crew, service)
    path = crew.folder / "plan.json"
    document = json.loads(path.read_bytes())
    document["consent"]["deletes"] = number
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    done = crew.run(service, "apply", "plan.json")

    assert done.returncode == 3
    assert "fingerprint does not match" in done.stderr
    assert len(service.contacts()) == 6


def test_a_lowered_consent_that_is_sealed_again_does_not_pass_the_guard(
    crew: Project, service: Service
) -> None:
    """The number in the file is what the guard gets, and no other."""
    planned(crew, service)
    edit(crew.folder / "plan.json", consent=Consent(deletes=3))

    assert crew.run(service, "apply", "plan.json").returncode == 7
    assert len(service.contacts()) == 6


def test_every_review_shows_the_consent_first(crew: Project, service: Service) -> None:
    """It decides more than any line below it."""
    reports = ("markdown=plan.md", "html=plan.html", "json=report.json", "text=plan.txt")
    made = planned(crew, service, *(word for one in reports for word in ("--report", one)))
    as_json = crew.run(service, "show", "plan.json", "--format", "json").stdout
    named = [f"contact/default/{name}" for name in sorted(NAMES[2:])]
    shown = ALLOWED + ", ".join(named)

    for text in (made.stdout, crew.run(service, "show", "plan.json").stdout, read(crew, "plan.txt")):
        assert text.splitlines()[:2] == ["Consent given:", f"  {shown}"]
    markdown = read(crew, "plan.md")
    assert markdown.splitlines()[2] == "**Consent given:**"
    assert markdown.index("up to 4 deletes") < markdown.index("### Deletes")
    page = read(crew, "plan.html")
    assert page.index(shown) < page.index("<h1>")
    for document in (as_json, read(crew, "report.json")):
        report = json.loads(document)
        assert next(iter(report)) == "agreements"
        assert report["agreements"] == [
            {"flag": "--allow-deletes", "allows": "deletes", "at_most": 4, "subjects": named}
        ]


@pytest.mark.parametrize("form", ["github", "junit", "sarif"])
def test_a_list_of_remarks_names_the_consent_before_what_it_allows(
    form: str, crew: Project, service: Service
) -> None:
    """Annotations are what many people read of a plan, and of a run, and nothing else."""
    planned(crew, service, "--report", f"{form}=plan.out")
    assert crew.run(service, "apply", "plan.json", "--report", f"{form}=run.out").returncode == 0

    for name in ("plan.out", "run.out"):
        told = read(crew, name)
        assert told.index("Consent given: up to 4 deletes (--allow-deletes 4)") >= 0
        assert "contact/default/ada" in told[told.index(ALLOWED) :].splitlines()[0]
    plan = read(crew, "plan.out")
    assert plan.index(ALLOWED) < plan.index("no longer declared")
    assert "failures=" not in plan or 'failures="0"' in plan


def read(project: Project, name: str) -> str:
    """The text of a file of the project."""
    return (project.folder / name).read_text(encoding="utf-8")


def test_a_file_without_consent_goes_on_as_before(crew: Project, service: Service) -> None:
    """It was made before plan files carried any: its bytes and its fingerprint are those of then."""
    declare(crew, NAMES[:5])
    assert crew.run(service, "plan", "-o", "plan.json").returncode == 0
    path = crew.folder / "plan.json"
    plan = read_plan(path)

    assert b'"consent"' not in path.read_bytes()
    assert fingerprint(plan) == plan.fingerprint
    assert crew.run(service, "apply", "plan.json", "--allow-deletes", "9").returncode == 0


def test_show_judges_by_the_consent_of_the_file(crew: Project, service: Service) -> None:
    """Refused in the review and carried out by the apply would be two answers."""
    planned(crew, service)

    report = json.loads(crew.run(service, "show", "plan.json", "--format", "json").stdout)

    assert report["verdict"] == {"safe": True, "reasons": []}


def test_a_program_gets_the_same(crew: Project, service: Service) -> None:
    """`reconciler.plan` and `apply` carry the consent in the plan itself, in memory and in a file."""
    project = reconciler.Project(crew.folder, environ=crew.environ(service))
    proposal = reconciler.plan(project, consent=Consent(deletes=4))
    reconciler.write_plan(crew.folder / "plan.json", proposal.plan)
    saved = reconciler.read_plan(crew.folder / "plan.json")

    with pytest.raises(ConsentDiffers):
        reconciler.apply(project, saved, consent=Consent(deletes=5))
    run = reconciler.apply(project, saved)

    assert saved.consent == Consent(deletes=4)
    assert run.exit_code == 0
    assert len(service.contacts()) == 2
