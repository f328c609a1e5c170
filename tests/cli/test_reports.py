"""--report as a process: which files there are afterwards, what is refused before, and what is never lost."""

import json
import os
import stat

import pytest
from cli.hands import Project, Service
from cli.test_documents import mistakes
from msgspec import structs

from reconciler.files.plan_file import read_plan, write_plan
from reconciler.report.report_formats import FORMATS

JANE = "contact/default/jane-doe"
# Passes every look beforehand: only the longer name that the file has until it is whole is too long.
UNWRITABLE = "x" * 250


def report(project: Project, name: str) -> str:
    return (project.folder / name).read_text()


def test_every_command_writes_what_it_is_asked_for(project: Project, service: Service) -> None:
    """Several at once, beside the plan file, and private as that is."""
    planned = project.run(
        service, "plan", "-o", "p.json", "--report", "markdown=p.md", "--report", "text=p.txt"
    )
    shown = project.run(service, "show", "p.json", "--report", "markdown=s.md", "--report", "json=s.json")
    applied = project.run(service, "apply", "p.json", "--report", "markdown=a.md", "--report", "json=a.json")
    drift = project.run(service, "drift", "--report", "markdown=d.md", "--report", "json=d.json")
    resumed = project.run(service, "resume", "--report", "markdown=r.md")

    assert [one.returncode for one in (planned, shown, applied, drift, resumed)] == [0] * 5
    assert "will be created" in report(project, "p.md")
    assert "Next: `reconciler apply p.json`" in report(project, "s.md")
    assert "3 contacts, 1 device and 1 resource were created." in report(project, "a.md")
    assert {one["result"] for one in json.loads(report(project, "a.json"))["outcomes"]} == {"applied"}
    assert "No drift" in report(project, "d.md")
    assert "**Nothing to resume: every run of this stack has finished.**" in report(project, "r.md")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in project.folder.glob("?.md")}
    assert modes == {0o600}


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_numbers_may_be_read_by_the_service_that_tells_them(
    project: Project, service: Service, umask: int, mode: int
) -> None:
    """The collector of metrics is another user; reports that name people stay private."""
    before = os.umask(umask)
    try:
        ended = project.run(service, "plan", "--report", "prometheus=r.prom", "--report", "markdown=r.md")
    finally:
        os.umask(before)

    assert ended.returncode == 0
    assert stat.S_IMODE((project.folder / "r.prom").stat().st_mode) == mode
    assert stat.S_IMODE((project.folder / "r.md").stat().st_mode) == 0o600
    assert 'reconciler_exit_code{stack="' in report(project, "r.prom")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--report", "xlsx=x"), "with one of the formats markdown, "),
        (("--report", "markdown"), "give FORMAT=FILE"),
        (("--report", "markdown="), "give FORMAT=FILE"),
        (("--report", "markdown=x.md", "--report", "text=./x.md"), "names the same file"),
        (("--report", "markdown=sub/../plan.json", "-o", "plan.json"), "names the same file"),
        (("--show-values",), "--show-values needs a report"),
    ],
)
def test_a_mistake_in_the_option_is_refused_before_anything(
    project: Project, service: Service, options: tuple[str, ...], said: str
) -> None:
    (project.folder / "sub").mkdir()
    ended = project.run(service, "plan", *options)

    assert ended.returncode == 64
    assert said in ended.stderr
    assert service.requests() == []


def test_no_report_takes_the_place_of_the_plan_or_the_undo(project: Project, service: Service) -> None:
    """The plan is what was reviewed, and the undo the only way back."""
    project.run(service, "plan", "-o", "p.json")
    before = (project.folder / "p.json").read_bytes()

    shown = project.run(service, "show", "p.json", "--report", "json=p.json")
    applied = project.run(service, "apply", "p.json", "--report", "json=p.json")
    undo = project.run(service, "apply", "--yes", "--undo", "u.json", "--report", "json=u.json")

    assert [one.returncode for one in (shown, applied, undo)] == [64] * 3
    assert (project.folder / "p.json").read_bytes() == before
    assert service.writes() == []


@pytest.mark.parametrize("file", ["missing/a.md", "manifests"])
def test_a_file_that_cannot_be_is_refused_before_anything_is_sent(
    project: Project, service: Service, file: str
) -> None:
    """Known beforehand, it must not cost a run its report."""
    ended = project.run(service, "apply", "--yes", "--report", f"markdown={file}")

    assert ended.returncode == 1
    assert f"{file}: cannot be written" in ended.stderr
    assert service.requests() == []


def test_a_report_that_cannot_be_written_takes_nothing_else_with_it(
    project: Project, service: Service
) -> None:
    """The run is done, recorded and printed; the other reports are there; and the exit code says it."""
    ended = project.run(
        service,
        "apply",
        "--yes",
        "--report",
        f"text={UNWRITABLE}",
        "--report",
        "markdown=a.md",
        "--undo",
        "u.json",
    )
    history = project.run(service, "history", "--format", "json")

    assert ended.returncode == 1
    assert "5 changes applied" in ended.stdout
    assert f"{UNWRITABLE}: cannot be written" in ended.stderr
    assert "next:" in ended.stderr
    assert "5 changes applied" in report(project, "a.md")
    assert (project.folder / "u.json").exists()
    assert "apply" in history.stdout
    assert project.run(service, "plan", "--detailed-exitcode").returncode == 0


def test_a_stale_plan_has_reports_that_say_what_moved(project: Project, service: Service) -> None:
    """Whoever approved it asks why nothing was done: by address and field, and without a value."""
    reports = [word for name in FORMATS for word in ("--report", f"{name}=report.{name}")]
    project.run(service, "apply", "--yes")
    project.edit("jobTitle: Analyst", "jobTitle: Chief Analyst")
    project.run(service, "plan", "-o", "plan.json")
    service.rename(service.contacts()["Jane"], "Night Watch")
    writes = service.writes()

    done = project.run(service, "apply", "plan.json", *reports)

    assert (done.returncode, service.writes()) == (5, writes)
    texts = {name: (project.folder / f"report.{name}").read_text() for name in FORMATS}
    found = json.loads(texts["json"])
    why, moved = found["verdict"]["reasons"]
    assert mistakes("output/plan", found) == []
    assert (found["outcome"], found["exit_code"], found["verdict"]["safe"]) == ("stale", 5, False)
    assert (why["rule"], why["count"], why["next"]) == ("A1", 1, "plan again, and review it")
    assert (moved["scope"], moved["what"]) == (JANE, f"{JANE}: update now, but not in the saved plan.")
    for name in set(FORMATS) - {"comment", "gitlab", "prometheus"}:
        advice = f"{name}: show each of `review.verdict.reasons`, with `scope` and `what`"
        assert "the plan is stale" in texts[name], advice
        assert "jane-doe" in texts[name], advice
    assert "Night Watch" not in "".join(texts[name] for name in ("markdown", "junit", "sarif", "github"))


def test_a_plan_that_expired_has_reports_that_say_so(project: Project, service: Service) -> None:
    """Nothing was planned afresh, so nothing is known to have moved."""
    project.run(service, "plan", "-o", "plan.json")
    path = project.folder / "plan.json"
    write_plan(path, structs.replace(read_plan(path), expires_at="2020-01-01T00:00:00+00:00"))

    done = project.run(service, "apply", "plan.json", "--report", "json=report.json")

    (why,) = json.loads((project.folder / "report.json").read_text())["verdict"]["reasons"]
    assert (done.returncode, service.writes()) == (5, [])
    assert why["what"] == "the plan expired at 2020-01-01T00:00:00+00:00."


def test_a_refused_plan_has_its_reports(project: Project, service: Service) -> None:
    """A refusal is what has to be reviewed most."""
    project.run(service, "apply", "--yes")
    project.manifest.write_text("version: 1\nworkspace: default\ncontacts: {}\nresources: {}\n")
    before = service.writes()

    ended = project.run(service, "apply", "--yes", "--report", "markdown=a.md", "--report", "json=a.json")
    text = report(project, "a.md")

    assert ended.returncode == 7
    assert "**Refused; nothing is written: 3 contacts and 1 resource would be deleted" in text
    assert "- refused: " in text
    assert json.loads(report(project, "a.json"))["exit_code"] == 7
    assert service.writes() == before


def test_mistakes_of_manifests_are_reported_beside_their_lines(project: Project, service: Service) -> None:
    """Code scanning and annotations show a mistake where it was made."""
    names = ("sarif", "junit", "github", "gitlab", "markdown", "text", "json")
    wanted = [word for name in names for word in ("--report", f"{name}=out.{name}")]
    good = project.run(service, "validate", *wanted)
    assert good.returncode == 0, good.stderr
    assert json.loads(report(project, "out.sarif"))["runs"][0]["results"] == []
    assert report(project, "out.gitlab") == "[]\n"
    project.edit("jobTitle: Analyst", "jobTitel: Analyst")

    bad = project.run(service, "validate", *wanted)
    (result,) = json.loads(report(project, "out.sarif"))["runs"][0]["results"]
    (issue,) = json.loads(report(project, "out.gitlab"))

    line = 1 + project.manifest.read_text().splitlines().index("    jobTitel: Analyst")
    where = result["locations"][0]["physicalLocation"]
    assert bad.returncode == 3
    assert (where["artifactLocation"]["uri"], where["region"]["startLine"]) == ("manifests/team.yaml", line)
    assert issue["location"] == {"path": "manifests/team.yaml", "lines": {"begin": line}}
    assert report(project, "out.github").startswith(f"::error file=manifests/team.yaml,line={line},col=")
    assert 'failures="1"' in report(project, "out.junit")
    assert "**1 mistake.**" in report(project, "out.markdown")
    assert f"manifests/team.yaml:{line}:" in report(project, "out.text")
    assert len(json.loads(report(project, "out.json"))["problems"]) == 1


def test_a_mistake_in_the_settings_has_its_report(project: Project, service: Service) -> None:
    (project.folder / "reconciler.yaml").write_text("version: 1\nstak: x\n")
    ended = project.run(service, "validate", "--report", "github=out")

    assert ended.returncode == 3
    assert report(project, "out").startswith("::error ")


def test_values_are_in_a_report_only_where_they_are_asked_for(project: Project, service: Service) -> None:
    project.run(service, "plan", "--report", "markdown=names.md")
    project.run(service, "plan", "--report", "markdown=values.md", "--show-values")

    assert "Analyst" not in report(project, "names.md")
    assert "`jobTitle`: `Analyst`" in report(project, "values.md")


def test_whom_a_change_is_about_stands_beside_the_address(project: Project, service: Service) -> None:
    """On the terminal, in the page that shows values, of a saved plan as well; nowhere else."""
    assert project.run(service, "apply", "--yes").returncode == 0
    service.rename(service.contacts()["Ada"], "Somebody else")
    reports = ("--report", "html=v.html", "--show-values")
    drift = project.run(service, "drift", *reports)
    planned = project.run(
        service, "plan", "-o", "p.json", "--report", "html=n.html", "--report", "markdown=n.md"
    )
    shown = project.run(service, "show", "p.json", "--report", "text=s.txt")
    project.manifest.rename(project.folder / "away")
    alone = project.run(service, "show", "p.json")

    assert "Ada King" in drift.stdout
    assert "<p class=who>Ada King" in report(project, "v.html")
    assert "Ada King" in planned.stdout
    assert "Ada King" in shown.stdout
    assert "Ada King" in report(project, "s.txt")
    assert "King" not in report(project, "n.html") + report(project, "n.md") + report(project, "p.json")
    assert alone.returncode == 0
    assert "King" not in alone.stdout
