"""Every row of the corpora in tests/hostile/manifests meets its expectation, and no exception escapes."""

import json
import os
import stat
from pathlib import Path

import pytest
import tally
from hostile.manifests import path_inputs, variable_inputs, yaml_inputs
from manifest.project import Project

from reconciler.errors import Problem


def _said(problems: tuple[Problem, ...], expected: str, file: str) -> bool:
    """Whether one of the problems stands at the expected place and says the expected words."""
    place, _, words = expected.partition(" ")
    where = f"{file}:{place}" if place[0].isdigit() else file
    words = words if place[0].isdigit() else expected
    return any(problem.where.startswith(where) and words in problem.what for problem in problems)


def _meets(project: Project, file: str, data: bytes, expected: str) -> None:
    tally.count("bad inputs", "manifests in JSON" if file.endswith(".json") else "manifests in YAML")
    project.write(file, data)
    problems = project.load().problems if expected == "fine" else project.problems()
    if expected == "fine":
        assert problems == ()
    else:
        assert _said(problems, expected, file), [str(problem) for problem in problems]
        assert all(problem.next or "not read" in problem.what for problem in problems)


@pytest.mark.parametrize(
    ("data", "expected"), [pytest.param(*row[1:], id=row[0]) for row in yaml_inputs.CASES]
)
def test_every_yaml_row_meets_its_expectation(project: Project, data: bytes, expected: str) -> None:
    """A mistake is shown at its line and column with what to do; what only looks odd arrives as text."""
    _meets(project, "manifests/a.yaml", yaml_inputs.HEAD + data, expected)


@pytest.mark.parametrize(
    ("data", "expected"), [pytest.param(*row[1:], id=row[0]) for row in yaml_inputs.FILES]
)
def test_every_whole_file_meets_its_expectation(project: Project, data: bytes, expected: str) -> None:
    """Files that are no manifest at all are refused as such."""
    _meets(project, "manifests/a.yaml", data, expected)


@pytest.mark.parametrize(
    ("data", "expected"), [pytest.param(*row[1:], id=row[0]) for row in yaml_inputs.JSON_FILES]
)
def test_every_json_row_meets_its_expectation(project: Project, data: bytes, expected: str) -> None:
    """JSON is the same language, read strictly."""
    _meets(project, "manifests/a.json", data, expected)


def _world(project: Project) -> None:
    """What the rows of path_inputs speak of."""
    for name in (
        "list.csv",
        "deep/list.csv",
        "with space.csv",
        "käse.csv",
        "...",
        "-rf",
        "$HOME",
        "%2e%2e",
        "*",
    ):
        project.write(f"manifests/{name}", "a,b\n")
    project.write("outside-manifests.csv", "a,b\n")
    project.write("../secret.csv", "secret\n")
    project.write("manifests/empty.csv", b"")
    folder = project.root / "manifests"
    with (folder / "huge.csv").open("wb") as file:
        file.truncate(512 * 1024 * 1024 + 1)
    os.mkfifo(folder / "fifo")
    os.mknod(folder / "socket", stat.S_IFSOCK | 0o600)
    links = {
        "link-inside.csv": "list.csv",
        "link-outside.csv": "../../secret.csv",
        "link-folder": "deep",
        "link-root": "../..",
        "link-chain.csv": "link-inside.csv",
        "link-loop": "link-loop",
        "link-dangling": "nowhere",
        "link-proc": "/proc/self/environ",
    }
    for name, target in links.items():
        (folder / name).symlink_to(target)


_PATHS = [(json.dumps(written), expected) for written, expected in path_inputs.CASES] + path_inputs.ESCAPED


@pytest.mark.parametrize(("written", "expected"), _PATHS, ids=lambda text: text[:40])
def test_every_file_reference_meets_its_expectation(project: Project, written: str, expected: str) -> None:
    """A reference reads a regular file below the root or nothing; a secret beside it is never reached."""
    _world(project)
    project.manifest(f"resources:\n  r:\n    content: {{file: {written}}}\n")

    tally.count("bad inputs", "file references")

    loaded = project.load(["manifests/ops.yaml"])

    if expected == "fine":
        (document,) = loaded.manifests[0].documents
        assert document.content is not None
        assert document.content.data == b"a,b\n"
    else:
        (problem,) = loaded.problems
        assert problem.where == "manifests/ops.yaml:5:5"
        assert expected in problem.what
        assert problem.next


@pytest.mark.parametrize(("written", "expected"), _PATHS, ids=lambda text: text[:40])
def test_every_roster_reference_obeys_the_same_rules(project: Project, written: str, expected: str) -> None:
    """Rosters are opened by the same walk; only an empty one has a message of its own."""
    _world(project)
    project.manifest(f'rosters:\n  - {{file: {written}, name: "{{a}}", contacts: {{}}}}\n')

    problems = project.load(["manifests/ops.yaml"]).problems

    if expected == "fine":
        assert problems == ()
    else:
        assert len(problems) == 1
        assert (
            "it has no header" if "empty" in expected and "payload" in expected else expected
        ) in problems[0].what


@pytest.mark.parametrize(("written", "expected"), variable_inputs.CASES, ids=lambda text: text[:40])
def test_every_variable_meets_its_expectation(project: Project, written: str, expected: str) -> None:
    """Substituted once, after parsing, from the allow list; what a variable holds is never shown."""
    project.environ, project.variables = variable_inputs.ENVIRON, variable_inputs.ALLOWED
    project.manifest(f"contacts:\n  jane:\n    jobTitle: {json.dumps(written)}\n")

    tally.count("bad inputs", "variables in manifests")

    loaded = project.load()

    if expected.startswith("="):
        (document,) = loaded.manifests[0].documents
        assert document.fields == {"jobTitle": expected[1:]}
    else:
        (problem,) = loaded.problems
        assert problem.where == "manifests/ops.yaml:5:5"
        assert expected in problem.what
        assert problem.next
        assert "s3cr3t" not in str(problem)
        assert "hunter2" not in str(problem)


def test_the_corpora_are_as_large_as_promised() -> None:
    """Zero failures say little about few inputs."""
    assert len(yaml_inputs.CASES) + len(yaml_inputs.FILES) >= 120
    assert len(path_inputs.CASES) + len(path_inputs.ESCAPED) >= 60
    assert len(variable_inputs.CASES) >= 40


def test_a_file_that_is_swapped_for_a_link_is_not_followed(project: Project, tmp_path: Path) -> None:
    """What was a folder at review may be a link at apply: the walk notices at every component."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "list.csv").write_text("stolen\n")
    project.write("manifests/deep/list.csv", "a,b\n")
    project.manifest("resources:\n  r:\n    content: {file: deep/list.csv}\n")
    assert project.load().problems == ()
    (project.root / "manifests/deep/list.csv").unlink()
    (project.root / "manifests/deep").rmdir()

    (project.root / "manifests/deep").symlink_to(tmp_path / "elsewhere")

    (problem,) = project.load(["manifests/ops.yaml"]).problems
    assert "leads through the symbolic link manifests/deep" in problem.what
