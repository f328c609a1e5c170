"""What people type who know another tool: a usage error that says what it is called here, before any work."""

import re
from collections.abc import Mapping

import pytest
from cli.conftest import Run
from cli.hands import Project, Service

from reconciler.cli import foreign_words
from reconciler.cli.main import COMMANDS


@pytest.mark.parametrize(
    "words",
    [
        ("-out=plan.json",),
        ("-out", "plan.json"),
        ("-o=plan.json",),
        ("--out=plan.json",),
        ("--out", "plan.json"),
        ("-out=plan.json", "--format", "json"),
    ],
    ids=" ".join,
)
def test_a_plan_file_that_is_named_as_elsewhere_is_not_written_beside(
    words: tuple[str, ...], project: Project, service: Service
) -> None:
    """`-o` would take the rest of the word for the name: `ut=plan.json`, with people in it."""
    before = sorted(project.folder.rglob("*"))

    done = project.run(service, "plan", *words)

    assert done.returncode == 64
    assert "-o plan.json" in done.stderr or "-o FILE" in done.stderr
    assert sorted(project.folder.rglob("*")) == before
    assert service.requests() == []


@pytest.mark.parametrize(
    ("words", "ours"),
    [
        (("apply", "--auto-approve"), "--yes"),
        (("apply", "-auto-approve"), "--yes"),
        (("plan", "--target", "contact/ops/jane-doe"), "--only ADDRESS"),
        (("plan", "-target=contact/ops/jane-doe"), "--only ADDRESS"),
        (("plan", "-var-file=prod.tfvars"), "--environment NAME"),
        (
            ("apply", "-f", "people.yaml"),
            "instead: list the files in `manifests:` of the settings   (a saved",
        ),
        (("validate", "-f", "m.yaml"), "instead: list the files in `manifests:` of the settings   (for one"),
        (("plan", "--file=m.yaml"), "`manifests:` of the settings   (--only ADDRESS selects entries)"),
        (("fmt", "-f", "m.yaml"), "instead: reconciler fmt FILE"),
        (("validate", "m.yaml"), "next: list the files in `manifests:` of the settings"),
        (("validate", "--format", "json", "manifests/"), "RECONCILER_MANIFESTS=FILE reconciler validate"),
        (("drift", "m.yaml"), "--only ADDRESS selects entries"),
        (("export", "-o", "manifests"), "instead: --into FOLDER"),
        (("init", "-upgrade"), "init downloads nothing"),
        (("fmt", "-check"), "instead: --check"),
        (("fmt", "-recursive"), "folders are always read"),
        (("plan", "-refresh-only"), "reconciler drift"),
        (("plan", "-detailed-exitcode"), "instead: --detailed-exitcode"),
        (("apply", "-lock-timeout=30s"), "instead: --lock-timeout 30s"),
        (("plan", "-destroy"), "remove the entries from the manifests"),
        (("callbacks", "list", "-json"), "--format json"),
        (("validate", "-e=staging"), "write -e staging"),
        (("destroy",), "remove the entries from the manifests"),
        (("refresh",), "reconciler drift"),
        (("import", "contact/ops/jane-doe", "4F2"), "reconciler export"),
        (("state", "rm", "contact/ops/jane-doe"), "reconciler forget ADDRESS"),
        (("force-unlock", "7"), "reconciler unlock --force ID"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_a_word_of_another_tool_is_answered_with_ours(words: tuple[str, ...], ours: str, run: Run) -> None:
    """Who comes from there has the right idea, and lacks the word."""
    done = run(*words)

    assert done.returncode == 64
    assert ours in done.stderr
    assert "\n  next: " in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("validate", "-vv"),
        ("validate", "-v", "-v"),
        ("validate", "--config=reconciler.yaml"),
        ("validate", "-estaging"),
        ("validate", "--config", "-out"),
        ("plan", "-oplan.json", "--help"),
    ],
    ids=" ".join,
)
def test_what_is_said_as_usual_is_no_slip(words: tuple[str, ...], run: Run) -> None:
    """Also a value that looks like an option of somebody else."""
    assert "did you mean" not in run(*words).stderr


@pytest.mark.parametrize(
    "table", [foreign_words.COMMANDS, foreign_words.OPTIONS], ids=["commands", "options"]
)
def test_the_table_names_commands_that_exist(table: Mapping[str, str]) -> None:
    """A hint that leads nowhere is worse than none."""
    assert [text for text in table.values() if ";" in re.sub(r"\(.*?\)", "", text)] == []  # one thing each
    named = set(re.findall(r"\breconciler ([a-z]+)", " ".join(table.values())))

    assert named <= COMMANDS.keys()
    assert not foreign_words.COMMANDS.keys() & COMMANDS.keys()
