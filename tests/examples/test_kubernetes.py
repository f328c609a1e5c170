"""The kustomization: rendered by kubectl, held against a cluster's schemas, its command run on the result."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli.hands import Project, Service
from cli.test_consent import NAMES, declare
from copies import copied
from waiting import patience_s, until

from reconciler.sandbox.app import SandboxConfig, running_sandbox

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "examples" / "deploy" / "kubernetes"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A repository that declares two people, with the files of the kustomization at its root."""
    made = Project(copied(ROOT / "examples" / "quickstart", tmp_path / "repository"))
    declare(made, NAMES[:2])
    for path in DEPLOY.iterdir():
        shutil.copy(path, made.folder)
    return made


def kubectl() -> str:
    """Return where it is; skip the test where there is none, and fail in CI."""
    found = shutil.which("kubectl")
    if not found and not os.environ.get("CI"):
        pytest.skip("no kubectl on PATH; apt-get install kubernetes-client brings it, and needs no cluster")
    assert found, "CI needs kubectl"
    return found


def render(project: Project) -> Mapping[str, Any]:
    """Return the objects by their kind, as both engines make them."""
    text = subprocess.check_output(
        [kubectl(), "kustomize", str(project.folder)], text=True, timeout=patience_s
    )
    (project.folder.parent / "rendered.yaml").write_text(text)
    return {one["kind"]: one for one in yaml.safe_load_all(text)}


def pod_of(rendered: Mapping[str, Any], kind: str) -> Any:
    """What a kind of job runs."""
    job = rendered[kind]["spec"]
    return (job["jobTemplate"]["spec"] if kind == "CronJob" else job)["template"]["spec"]


def test_a_cluster_takes_what_is_rendered(project: Project) -> None:
    """Strictly: a field that a cluster does not know is refused, and not left out."""
    render(project)
    checked = subprocess.run(
        [
            Path(sys.executable).with_name("kubernetes-validate"),
            "--strict",
            project.folder.parent / "rendered.yaml",
        ],
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_another_manifest_or_setting_is_another_job_and_nothing_else_is(project: Project) -> None:
    """An engine runs a Job once: by its name alone it sees that there is something to do."""
    names = [render(project)["Job"]["metadata"]["name"]]
    (project.folder / "README.md").write_text("no file of the project\n")
    assert render(project)["Job"]["metadata"]["name"] == names[0]

    declare(project, NAMES)
    names.append(render(project)["Job"]["metadata"]["name"])
    settings = project.folder / "reconciler.yaml"
    settings.write_text(settings.read_text() + "policy: {mode: apply}\n")
    rendered = render(project)
    names.append(rendered["Job"]["metadata"]["name"])

    assert len(set(names)) == 3
    assert rendered["ConfigMap"]["metadata"]["name"] == names[2]
    assert rendered["CronJob"]["metadata"]["name"] == "reconciler"
    for kind in ("Job", "CronJob"):
        assert pod_of(rendered, kind)["volumes"][0]["configMap"]["name"] == names[2]


def test_both_jobs_run_the_same_and_are_locked_in(project: Project) -> None:
    rendered = render(project)
    pod = pod_of(rendered, "Job")
    (container,) = pod["containers"]

    assert pod == pod_of(rendered, "CronJob")
    assert rendered["CronJob"]["spec"]["concurrencyPolicy"] == "Forbid"
    assert rendered["Job"]["spec"]["activeDeadlineSeconds"] > 3600
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    assert re.search(r"@sha256:[0-9a-f]{64}$", container["image"])
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def mount(rendered: Mapping[str, Any], folder: Path) -> None:
    """Lay out the files of the ConfigMap as a kubelet does: links to a folder that is replaced whole."""
    data = rendered["ConfigMap"]["data"]
    (container,) = pod_of(rendered, "Job")["containers"]
    for one in container["volumeMounts"]:
        place = folder / one["mountPath"].removeprefix("/project").lstrip("/")
        if one["name"] != "files":
            continue
        if key := one.get("subPath"):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(data[key])
            continue
        (place / "..2026_03_02").mkdir(parents=True)
        (place / "..data").symlink_to("..2026_03_02")
        for name, text in data.items():
            (place / "..2026_03_02" / name).write_text(text)
            (place / name).symlink_to(f"..data/{name}")


def start(
    rendered: Mapping[str, Any], folder: Path, program: str, environ: Mapping[str, str]
) -> "subprocess.Popen[str]":
    """Start the command of the Job as it stands, with this program as `reconciler`."""
    launcher = folder.parent / "bin" / "reconciler"
    launcher.parent.mkdir(exist_ok=True)
    launcher.write_text(f"#!/bin/sh\n{program}")
    launcher.chmod(0o755)
    (container,) = pod_of(rendered, "Job")["containers"]
    fixed = {"PATH": f"{launcher.parent}:/usr/bin:/bin", "RECONCILER_SAFE_DIRECTORY": str(folder)}
    return subprocess.Popen(
        [*container["command"], *container["args"]], cwd=folder, env={**environ, **fixed}, text=True
    )


def test_the_job_does_what_the_policy_says_on_the_rendered_files(project: Project, tmp_path: Path) -> None:
    """Reported changes are no failure of a Job; a policy that applies them is part of the files."""
    program = f'exec {sys.executable} -I -m reconciler "$@"\n'
    with running_sandbox(SandboxConfig()) as address:
        service = Service(address)
        environ = {**project.environ(service), "RECONCILER_STORE": f"sqlite:///{tmp_path / 'store.db'}"}
        for policy, people in (("", 0), ("policy: {mode: apply}\n", 2)):
            settings = project.folder / "reconciler.yaml"
            settings.write_text(settings.read_text() + policy)
            rendered, folder = render(project), tmp_path / f"project{people}"
            mount(rendered, folder)

            assert start(rendered, folder, program, environ).wait(timeout=patience_s) == 0
            assert len(service.contacts()) == people


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (2, 0), (4, 0), (9, 0), (10, 0), (7, 7), (8, 8), (1, 1)])
def test_what_is_no_failure_of_sync_is_none_of_the_job(
    code: int, ends: int, project: Project, tmp_path: Path
) -> None:
    rendered, folder = render(project), tmp_path / "project"
    folder.mkdir()

    assert start(rendered, folder, f"exit {code}\n", {}).wait(timeout=patience_s) == ends


def test_the_signal_of_a_pod_that_is_ended_reaches_the_program(project: Project, tmp_path: Path) -> None:
    """A shell keeps it to itself, and the program would be killed in the middle of a write."""
    rendered, folder = render(project), tmp_path / "project"
    folder.mkdir()
    program = "trap 'echo > told; exit 130' TERM\necho > runs\nfor n in $(seq 100); do sleep 0.1; done\n"

    with start(rendered, folder, program, {}) as process:
        until((folder / "runs").exists, "the program runs")
        process.send_signal(signal.SIGTERM)
        code = process.wait(timeout=patience_s)

    assert code == 130
    assert (folder / "told").exists()
