import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
from waiting import patience_s

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_config_shows_each_value_with_its_origin(run: Run) -> None:
    """The question is always: why does it do that here?"""
    done = run(
        "config",
        "-e",
        "staging",
        env={"RECONCILER_SERVICE_LIMITS_CONCURRENCY": "3", "RECONCILER_MANIFESTS": "a,b"},
    )

    lines = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()[2:]}
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("settings of reconciler.yaml\n\n")
    assert lines["environment"] == ["staging", "--environment"]
    assert lines["stack"] == ["ops", "reconciler.yaml:2"]
    assert lines["manifests"] == ["a,", "b", "environment", "RECONCILER_MANIFESTS"]
    assert lines["service.base_url"] == ["https://staging.example.com", "reconciler.yaml:11"]
    assert lines["service.limits.concurrency"] == [
        "3",
        "environment",
        "RECONCILER_SERVICE_LIMITS_CONCURRENCY",
    ]
    assert lines["service.limits.timeout_s"] == ["30", "default"]
    assert lines["service.auth.password"] == ["(secret)", "environment", "SVC_PASSWORD,", "reconciler.yaml:6"]
    assert lines["ownership.mark"] == ["-", "default"]
    assert lines["workspaces.ops.id"] == ["4C8FE1A2B3D4E5F6", "reconciler.yaml:9"]
    assert lines["workspaces.default"] == ["the", "default", "workspace", "reconciler.yaml:8"]


def test_config_in_json_is_typed(run: Run) -> None:
    """Numbers are numbers, lists are lists, what is not set is null."""
    done = run("config", "--format", "json", env={"RECONCILER_SERVICE_AUTH_API_KEY": "canary"})

    found = msgspec.json.decode(done.stdout)
    settings = {one["name"]: (one["value"], one["origin"]) for one in found["settings"]}
    assert (found["outcome"], found["exit_code"]) == ("done", 0)
    assert settings["service.limits.concurrency"] == (8, "default")
    assert settings["identity.devices"] == (["appId", "deviceName"], "default")
    assert settings["ownership.mark"] == (None, "default")
    assert settings["service.auth.api_key"] == ("(secret)", "environment RECONCILER_SERVICE_AUTH_API_KEY")
    assert settings["environment"] == (None, "default")


def test_config_reads_and_shows_no_secret(run: Run, repository: Path) -> None:
    """It is the command whose output people paste into tickets."""
    text = (repository / "reconciler.yaml").read_text()
    (repository / "reconciler.yaml").write_text(
        text.replace("{env: SVC_KEY}", "{command: [touch, canary-argument]}").replace(
            "{env: SVC_USER}", "{file: gone}"
        )
    )

    for form in ("text", "json"):
        done = run("config", "--format", form)
        assert done.returncode == 0
        assert "canary" not in done.stdout + done.stderr
        assert "command touch" in done.stdout
        assert "file gone" in done.stdout

    assert not (repository / "canary-argument").exists()


def test_config_shows_a_store_without_its_password(run: Run) -> None:
    """It is what people paste into a chat when something does not work."""
    done = run("config", env={"RECONCILER_STORE": "postgresql://ops:canary@db.example.com/store"})

    assert done.returncode == 0
    assert "postgresql://ops:(secret)@db.example.com/store" in done.stdout
    assert "canary" not in done.stdout + done.stderr


def test_config_without_settings_says_where_it_looked(run: Run, tmp_path: Path) -> None:
    """The first thing a new user meets."""
    done = run("config", cwd=tmp_path)

    assert done.returncode == 3
    assert done.stderr.startswith(
        f"no reconciler.yaml in {tmp_path}, and folders above it are searched only within a git repository."
        " [E003]"
        "\n  next: reconciler init "
    )


def test_a_working_folder_that_is_gone_is_an_error(run: Run, tmp_path: Path) -> None:
    """It happens when another window removes a checkout."""
    gone = tmp_path / "gone"
    gone.mkdir()
    code = (
        "import os, sys; os.rmdir(os.getcwd()); "
        "from reconciler.cli.main import run; sys.exit(run(sys.argv[1:]))"
    )

    done = subprocess.run(
        [sys.executable, "-P", "-c", code, "config"],
        cwd=gone,
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )

    assert done.returncode == 3
    assert done.stderr == "the working directory no longer exists. [E003]\n  next: cd into the project\n"
