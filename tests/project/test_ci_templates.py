"""The CI templates, and every workflow file of this repository, keep to the policy; and the policy bites.

For each rule a hostile variant of a template is made, by one small edit as a pull request might hold it,
and that rule has to find it. A rule that no variant touches proves nothing, and is told too.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
import tally
import yaml
from project.ci_policy import GITHUB, File, Found
from project.ci_policy_gitlab import GITLAB
from project.test_tidy import committed
from waiting import patience_s

from reconciler.cli.main import COMMANDS
from reconciler.model.settings import SETTINGS
from reconciler.settings.layers import variable_of_setting

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "examples" / "ci"
HUB, LAB = "github", "gitlab/.gitlab-ci.yml"
VALIDATE, PLAN, APPLY, RESUME, DRIFT = FLOWS = tuple(
    f"{HUB}/{name}.yml" for name in ("validate", "plan", "apply", "resume", "drift")
)
ACTION = f"{HUB}/actions/reconciler/action.yml"
BLOCK = re.compile(r"^```ya?ml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Variant(NamedTuple):
    """One small edit of a template, and the rule that has to find it."""

    rule: str
    file: str
    before: str
    after: str


def variants() -> list[Variant]:
    """The corpus of edits."""
    told = yaml.safe_load((ROOT / "tests" / "hostile" / "ci" / "variants.yaml").read_text(encoding="utf-8"))
    return [Variant(**one) for one in told]


def rules_for(name: str) -> Mapping[str, Callable[[File], Found]]:
    """The rules that a file of this name is held to."""
    return GITLAB if name.endswith("gitlab-ci.yml") else GITHUB


def violations(name: str, text: str) -> dict[str, list[str]]:
    """What the policy says of a file, by rule."""
    file = File.of(text)
    found = {rule: list(check(file)) for rule, check in rules_for(name).items()}
    return {rule: told for rule, told in found.items() if told}


def workflows() -> dict[str, str]:
    """Every workflow of the repository, those in its pages too, by name."""
    found = {}
    for path in committed():
        name = path.relative_to(ROOT).as_posix()
        ours = name.startswith((".github/", "examples/ci/github/")) and path.suffix in {".yml", ".yaml"}
        if ours or name.endswith("gitlab-ci.yml"):
            found[name] = path.read_text(encoding="utf-8")
        elif path.suffix == ".md":
            blocks = BLOCK.findall(path.read_text(encoding="utf-8"))
            found |= {
                f"{name}:{n}": block
                for n, block in enumerate(blocks)
                if re.search("^jobs:", block, re.MULTILINE)
            }
    return found


@pytest.mark.parametrize("name", [*FLOWS, ACTION, LAB])
def test_every_template_is_among_the_workflows_that_are_checked(name: str) -> None:
    """A file that the search does not find is held to nothing."""
    assert f"examples/ci/{name}" in workflows()


@pytest.mark.parametrize("name", workflows())
def test_no_workflow_of_the_repository_breaks_the_policy(name: str) -> None:
    """Templates are copied by people who trust them; our own run with our own rights."""
    assert violations(name, workflows()[name]) == {}


def test_the_policy_finds_every_hostile_variant() -> None:
    """One small edit each, as a pull request or a tired colleague might make it."""
    missed = []
    for one in variants():
        text = (TEMPLATES / one.file).read_text(encoding="utf-8")
        assert one.before in text, one
        if one.rule not in violations(one.file, text.replace(one.before, one.after)):
            missed.append(one)
        tally.count("bad inputs", "ci workflows")

    assert missed == []


@pytest.mark.parametrize("name", [HUB, "gitlab"])
def test_every_rule_of_the_policy_has_caught_something(name: str) -> None:
    """A rule without a case is a hope."""
    caught = {one.rule for one in variants() if one.file.startswith(name)}

    assert caught == set(GITHUB if name == HUB else GITLAB)


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.github-workflows", FLOWS),
        ("vendor.github-actions", (ACTION,)),
        ("vendor.gitlab-ci", (LAB,)),
    ],
    ids=["workflows", "action", "gitlab"],
)
def test_every_template_is_what_its_service_takes(schema: str, files: tuple[str, ...]) -> None:
    """Held by the schema that others keep of that service's files."""
    transform = ["--data-transform", "gitlab-ci"] if files == (LAB,) else []
    checked = subprocess.run(
        [
            str(Path(sys.executable).with_name("check-jsonschema")),
            *("--builtin-schema", schema, *transform, *(str(TEMPLATES / one) for one in files)),
        ],
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_an_audit_that_others_wrote_finds_nothing_in_a_workflow() -> None:
    """It knows attacks that our own policy may have forgotten. What it is told to ignore says why."""
    audited = subprocess.run(
        [Path(sys.executable).with_name("zizmor"), "--offline", "--no-config", "--quiet", TEMPLATES / HUB],
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )

    assert audited.returncode == 0, audited.stdout + audited.stderr


def scripts() -> dict[str, str]:
    """Every script of the GitHub templates, by file and number."""
    return {
        f"{name}:{number}": step["run"]
        for name in (*FLOWS, ACTION)
        for number, step in enumerate(File.of((TEMPLATES / name).read_text(encoding="utf-8")).steps)
        if "run" in step
    }


@pytest.mark.parametrize("name", scripts())
def test_the_scripts_of_the_templates_are_shell(name: str) -> None:
    done = subprocess.run(
        ["bash", "-n"], input=scripts()[name], capture_output=True, text=True, timeout=patience_s, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_our_own_scripts_start_python_isolated() -> None:
    """They run at the root of a checkout too, before its environment is made. Tests may import from it."""
    started = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in committed()
        if path.is_relative_to(ROOT / "script") or path.is_relative_to(ROOT / ".ci")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r'python[\d.]*"? +(?!-I )-|"\$(candidate|python)" +(?!-I )-', line)
    ]

    assert [line for line in started if not re.search(" -m (pytest|simulation)", line)] == []


def test_the_templates_speak_of_commands_options_and_settings_that_exist() -> None:
    """A template that fails at its first run is repaired in a hurry, and loses what made it safe."""
    text = "".join(path.read_text(encoding="utf-8") for path in TEMPLATES.rglob("*.yml"))
    used = re.findall(
        r"^[^#\n]*\breconciler (plan|apply|resume|validate|drift)\b((?:[^\n]*\\\n)*[^\n]*)",
        text,
        re.MULTILINE,
    )
    known = {variable_of_setting(name) for name in SETTINGS}
    options: dict[str, set[str]] = {}
    for command, rest in used:
        options.setdefault(command, set()).update(re.findall(r"(?<!\w)--[a-z-]+", rest))
    options["plan"] |= {"--encrypt-to"}

    assert set(options) == {"plan", "apply", "resume", "validate", "drift"} <= COMMANDS.keys()
    for command, given in options.items():
        told = subprocess.run(
            [sys.executable, "-m", "reconciler", command, "--help"],
            capture_output=True,
            text=True,
            timeout=patience_s,
            check=True,
        )
        assert {one for one in given if one not in told.stdout} == set()
    # The last two are how a comment says "and so on".
    assert set(re.findall(r"RECONCILER_[A-Z_]+", text)) <= known


def test_what_is_summed_up_is_told_without_a_name(tmp_path: Path) -> None:
    """The scripts that write a job's summary, run on a report that names people."""
    report = (
        '{"outcome": "done", "counts": {"creates": 2}, "outcomes": [{"result": "applied", '
        '"address": "contact/ops/canary"}], "run": "0b7c", "audit_head": "7:9f", '
        '"drifts": [{"address": "contact/ops/canary", "cause": "drifted"}]}'
    )
    (tmp_path / "report.json").write_text(report)
    (tmp_path / "run.json").write_text(report)
    told = [script for script in scripts().values() if "GITHUB_STEP_SUMMARY" in script]

    for script in told:
        environ = {"RUNNER_TEMP": str(tmp_path), "PATH": "/usr/bin:/bin"}
        environ |= {name: str(tmp_path / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
        subprocess.run(["bash", "-e"], input=script, text=True, env=environ, timeout=patience_s, check=True)
    summary = (tmp_path / "GITHUB_STEP_SUMMARY").read_text()

    assert len(told) == 6
    assert "canary" not in summary
    assert summary.count("- 2 creates") == 2
    assert summary.count("- 1 applied") == 2
    assert "head of the history `7:9f`" in summary
    assert "## drift: 1 contact drifted" in summary
    outputs = (tmp_path / "GITHUB_OUTPUT").read_text()
    assert "canary" not in outputs
    assert {line for line in outputs.splitlines() if not line.startswith("comment=")} == {
        "changes=true",
        "counts=1 contact drifted",
        "said=done: 2 creates",
    }
