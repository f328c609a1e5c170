"""The image, and the job of a cluster: each passes the checker of its kind, and its commands run."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from waiting import patience_s

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "examples" / "deploy"
DOCKERFILE, CRONJOB = DEPLOY / "Dockerfile", DEPLOY / "cronjob.yaml"
ACTION = ROOT / "examples" / "ci" / "github" / "actions" / "reconciler" / "action.yml"
INSTALLED = "/opt/reconciler"


def lines_of(word: str) -> list[str]:
    """The instructions of the Dockerfile that begin with a word, each as one line."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    joined = re.sub(r"\\\n\s*", "", text)
    return [line.partition(" ")[2] for line in joined.splitlines() if line.startswith(f"{word} ")]


def told(*words: str | Path) -> str:
    """What a command says; nothing, and exit code 0, where all is well."""
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=patience_s, check=False
    )
    return done.stdout + done.stderr if done.returncode else ""


def checker(name: str) -> Path:
    """A program that the tests' own requirements install."""
    return Path(sys.executable).with_name(name)


def test_a_linter_finds_nothing_in_the_dockerfile() -> None:
    assert told(checker("hadolint"), DOCKERFILE) == ""


def test_the_image_is_pinned_and_runs_as_nobody_in_particular() -> None:
    """A tag can be moved; and what a run could write beside its store, another could have written."""
    assert all(re.search(r"@sha256:[0-9a-f]{64}( AS \w+)?$", base) for base in lines_of("FROM"))
    assert [int(one) > 0 for user in lines_of("USER") for one in user.split(":")] == [True, True]
    assert lines_of("ADD") == []
    for source in (one.split()[0] for one in lines_of("COPY") if not one.startswith("--from=")):
        assert (ROOT / source).exists(), source


def test_only_locked_libraries_are_installed_and_nothing_is_built() -> None:
    (install,) = (one for one in lines_of("RUN") if " pip " in one)

    assert "--no-deps --require-hashes" in install
    assert "--only-binary :all:" in install
    assert "-m pip --isolated install" in install


def prepare_place(place: Path) -> None:
    """What the image and the action have before their last step; libraries are those of the tests."""
    for name in ("reconciler", "schemas", "examples"):
        shutil.copytree(
            ROOT / name, place / "source" / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
        )
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / "venv"], check=True)
    (libraries,) = (place / "venv").glob("lib/python*/site-packages")
    found = [path for path in sys.path if Path(path).name == "site-packages"]
    (libraries / "found.pth").write_text("\n".join(found), encoding="utf-8")


def check_started_and_compiled(command: Path, place: Path) -> None:
    """The program runs, and nothing of it is compiled at each start."""
    assert [*(place / "source" / "reconciler" / "__pycache__").glob("pipeline.*.pyc")]
    started = subprocess.run(
        [command, "schema"],
        cwd=place,
        env={},
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )
    assert started.returncode == 0, started.stderr


def test_what_the_image_starts_is_the_program(tmp_path: Path) -> None:
    """Its own steps, in another folder."""
    place = tmp_path / "reconciler"
    prepare_place(place)
    (step,) = (one for one in lines_of("RUN") if "reconciler.pth" in one)
    assert told("sh", "-euc", step.replace(INSTALLED, str(place))) == ""

    check_started_and_compiled(place / "reconciler", place)


def test_what_the_action_installs_is_the_program(tmp_path: Path) -> None:
    """Its own steps, from where the libraries are installed."""
    place = tmp_path / "reconciler"
    prepare_place(place)
    (place / "bin").mkdir()
    action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    script = action["runs"]["steps"][0]["run"]
    step = script[script.index("libraries=") : script.index("echo ")]
    assert told("bash", "-euc", f"place={place}\n{step}") == ""

    check_started_and_compiled(place / "bin" / "reconciler", place)


def test_the_job_of_a_cluster_is_what_a_cluster_takes() -> None:
    """Strictly: a field that a cluster does not know is refused, and not left out."""
    assert told(checker("kubernetes-validate"), "--strict", CRONJOB) == ""


def test_the_job_of_a_cluster_is_locked_in_and_never_run_twice_at_once() -> None:
    job = yaml.safe_load(CRONJOB.read_text(encoding="utf-8"))["spec"]
    pod = job["jobTemplate"]["spec"]["template"]["spec"]

    assert (job["concurrencyPolicy"], job["jobTemplate"]["spec"]["backoffLimit"]) == ("Forbid", 0)
    assert job["jobTemplate"]["spec"]["activeDeadlineSeconds"] > 3600
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    for container in (*pod["initContainers"], *pod["containers"]):
        assert re.search(r"@sha256:[0-9a-f]{64}$", container["image"])
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


@pytest.mark.parametrize("first", ["apply", "drift", "plan"])
def test_the_job_of_a_cluster_says_what_the_program_knows(first: str) -> None:
    """Its own arguments, and those that its comments name."""
    text = CRONJOB.read_text(encoding="utf-8")
    (given,) = re.findall(rf"args: \[({first}[^\]]*)\]", text)

    done = subprocess.run(
        [sys.executable, "-m", "reconciler", *given.split(", "), "--help"],
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )

    assert done.returncode == 0, done.stderr
