"""Whole processes, measured: what they print, seconds, processor seconds, peak memory."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

SECRETS = {"DEMO_USER": "demo", "DEMO_PASSWORD": "demo", "DEMO_KEY": "demo-key"}
_SAMPLE_S = 0.05


class Measured(NamedTuple):
    """One process from its start to its end. `grown_mib` is told where memory was sampled."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    output: str = ""
    grown_mib: float | None = None


def measure(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    environ: Mapping[str, str] | None = None,
    allowed: Sequence[int] = (0,),
    sampled: bool = False,
) -> Measured:
    """Run one process to its end. Raises SystemExit where it ends with another code than those allowed."""
    began = time.perf_counter()
    environ = {**os.environ, **(environ or {})}
    # Files, not pipes: a process that nobody reads from while it is sampled must not wait for it.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with subprocess.Popen(
            [*map(str, command)], cwd=cwd, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=err
        ) as process:
            samples = _resident(process) if sampled else []
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - began
        output, errors = _text(out), _text(err)
    if process.returncode not in allowed:
        told = " ".join(map(str, command))
        raise SystemExit(f"{told} ended with {process.returncode}:\n{output[-2000:]}{errors[-2000:]}")
    return Measured(
        wall_s=seconds,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_mib=usage.ru_maxrss / 1024,
        output=output,
        grown_mib=_grown(samples),
    )


def environ_of(folder: Path) -> dict[str, str]:
    """Return what a command of a project needs: the credentials of the sandbox, no lock in the service.

    The key of its cache lies in the project, so that nothing is written into anybody's home.
    """
    state = {"XDG_STATE_HOME": str(folder / ".state")}
    return {**SECRETS, **state, "RECONCILER_LOCK_IN_SERVICE": "never"}


def reconciler(
    folder: Path, *arguments: str, allowed: Sequence[int] = (0,), sampled: bool = False
) -> Measured:
    """Run one command of ours."""
    command = [sys.executable, "-m", "reconciler", *arguments]
    return measure(command, cwd=folder, environ=environ_of(folder), allowed=allowed, sampled=sampled)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _resident(process: subprocess.Popen[bytes]) -> list[float]:
    """Return the resident memory of a process in MiB, sampled until it has ended. Linux alone tells it."""
    found = []
    statm = Path(f"/proc/{process.pid}/statm")
    page_mib = os.sysconf("SC_PAGE_SIZE") / 2**20
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        with suppress(OSError):
            found.append(int(statm.read_text("ascii").split()[1]) * page_mib)
        time.sleep(_SAMPLE_S)
    return [one for one in found if one]


def _grown(samples: Sequence[float]) -> float | None:
    """Return by how much memory grew from the first tenth of a run, when all is loaded, to its end."""
    if not samples:
        return None
    return max(samples[-len(samples) // 10 :]) - samples[len(samples) // 10]
