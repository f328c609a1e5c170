"""A host that is gone in the middle of a sync: another one goes on after the lease, with nothing twice."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import postgres
from cli.hands import Project, Service
from copies import copied
from waiting import until

lease_s = 30  # the shortest
margin_s = 15  # what a handover may take besides


# The command on a machine of another name: in a namespace of its own where that is allowed, else it is told.
NAMED = "import os, socket, sys; socket.sethostname('first'); os.execv(sys.executable, sys.argv[1:])"
TOLD = """
import runpy, socket, sys
socket.gethostname = lambda: "first"
sys.argv = ["reconciler", "sync"]
runpy.run_module("reconciler", run_name="__main__")
"""


def sync_elsewhere() -> tuple[str, ...]:
    """Return the words that run sync as another machine."""
    for words in (("unshare", "-u"), ("unshare", "-Ur", "-u")):
        try:
            if subprocess.run((*words, "true"), check=False, capture_output=True).returncode == 0:
                return (*words, sys.executable, "-c", NAMED, sys.executable, "-m", "reconciler", "sync")
        except OSError:
            break
    return (sys.executable, "-c", TOLD)


def test_another_host_goes_on_after_the_lease_of_one_that_was_killed(
    project: Project, slow_service: Service, tmp_path: Path
) -> None:
    """It cannot know that the process is gone: only the lease says so. No contact is made twice."""
    other = Project(tmp_path / "other")
    copied(project.folder, other.folder)
    with postgres.database() as url:
        env = {
            "RECONCILER_STORE": url,
            "RECONCILER_POLICY_MODE": "apply",
            "RECONCILER_LOCK_LEASE_S": str(lease_s),
            "RECONCILER_SERVICE_LIMITS_TIMEOUT_S": "10",
        }
        first = subprocess.Popen(
            sync_elsewhere(),
            cwd=project.folder,
            env=project.environ(slow_service) | env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(lambda: bool(slow_service.writes()), "the first write")
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        at_once = other.run(slow_service, "sync", env=env)
        waited = other.run(slow_service, "sync", "--lock-timeout", str(lease_s + margin_s), env=env)

        after = other.run(slow_service, "sync", env=env)

    # It got the lock in time. What it had planned before that the killed run may have done meanwhile.
    assert at_once.returncode == 4
    assert waited.returncode in {0, 5}
    assert after.returncode == 0
    created = [path for method, path in slow_service.writes() if method == "POST" and path == "/contacts"]
    assert len(slow_service.contacts()) == 3
    assert len(created) in (3, 4)  # one more where the answer to the first was lost before it was made
