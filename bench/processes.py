"""Whole processes, measured: what they print, seconds, processor seconds, peak memory.

Compiled files are there, of our own program and of the peers (`compile_programs`), as after an installation.
`uncompiled_copy` is the other state: a program that was copied into a read-only image without them.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parent
PEERS = HERE / ".peers"
SECRETS = {"DEMO_USER": "demo", "DEMO_PASSWORD": "demo", "DEMO_KEY": "demo-key"}
_SAMPLE_S = 0.05
_NO_COMPILED_FILES = "PYTHONDONTWRITEBYTECODE"


class Measured(NamedTuple):
    """One process from its start to its end.

    `steps` is what it said on stderr. `grown_mib` is there where memory was sampled, `wave_s` where the waves
    of an apply were timed.
    """

    wall_s: float
    cpu_s: float
    peak_mib: float
    output: str = ""
    steps: str = ""
    grown_mib: float | None = None
    wave_s: float | None = None


def compile_programs() -> None:
    """Compile our program and octoDNS where they are not, and say so on stderr."""
    ours = [sys.executable, "-m", "compileall", "-q", ROOT / "reconciler", HERE, "-x", r"\.peers"]
    subprocess.run([*map(str, ours)], check=True)
    packages = _peer_packages()
    for package in packages:
        subprocess.run([PEERS / "bin" / "python", "-m", "compileall", "-q", package], check=True)
    named = ", ".join(["reconciler", *(package.name for package in packages)])
    print(f"compiled: {named}; measured with compiled files unless a row says otherwise", file=sys.stderr)


@contextmanager
def uncompiled_copy() -> Iterator[dict[str, str]]:
    """Copy our program and octoDNS without compiled files; yield the environment that runs the copies.

    Libraries keep theirs: pip compiles what it installs.
    """
    with tempfile.TemporaryDirectory() as name:
        for folder in (ROOT / "reconciler", ROOT / "schemas", ROOT / "examples", *_peer_packages()):
            target = Path(name) / folder.name
            shutil.copytree(folder, target, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(HERE / "peers" / "octodns_memory.py", name)
        yield {"PYTHONPATH": name, _NO_COMPILED_FILES: "1"}


def _peer_packages() -> list[Path]:
    return sorted(PEERS.glob("lib/python*/site-packages/octodns"))


def measure(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    environ: Mapping[str, str] | None = None,
    allowed: Sequence[int] = (0,),
    sampled: bool = False,
) -> Measured:
    """Run one process to its end. Raises SystemExit where it ends with another code than those allowed."""
    inherited = {name: value for name, value in os.environ.items() if name != _NO_COMPILED_FILES}
    reading, writing = os.pipe()
    launch = [sys.executable, "-I", "-S", HERE / "launch.py", str(writing), *command]
    # Files, not pipes: a process that nobody reads from while it is sampled must not wait for it.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, os.fdopen(reading, "rb") as told:
        with subprocess.Popen(
            [*map(str, launch)],
            cwd=cwd,
            env={**inherited, **(environ or {})},
            pass_fds=[writing],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        ) as process:
            os.close(writing)
            started = told.readline()
            samples = _resident(int(started), process) if sampled and started else []
            figures = told.readline().split()
        output, errors = _text(out), _text(err)
    wall_s, cpu_s, peak_kib, code = figures or (b"0", b"0", b"0", b"-1")
    if int(code) not in allowed:
        said = " ".join(map(str, command))
        raise SystemExit(f"{said} ended with {int(code)}:\n{output[-2000:]}{errors[-2000:]}")
    return Measured(
        wall_s=float(wall_s),
        cpu_s=float(cpu_s),
        peak_mib=int(peak_kib) / 1024,
        output=output,
        steps=errors,
        grown_mib=_grown(samples),
    )


def environ_of(folder: Path) -> dict[str, str]:
    """Return what a command of a project needs: the credentials of the sandbox, no lock in the service.

    The key of its cache lies in the project, so that nothing is written into anybody's home.
    """
    state = {"XDG_STATE_HOME": str(folder / ".state")}
    return {**SECRETS, **state, "RECONCILER_LOCK_IN_SERVICE": "never"}


def reconciler(
    folder: Path,
    *arguments: str,
    allowed: Sequence[int] = (0,),
    sampled: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Measured:
    """Run one command of ours; `environ` comes on top."""
    command = [sys.executable, "-m", "reconciler", *arguments]
    given = {**environ_of(folder), **(environ or {})}
    return measure(command, cwd=folder, environ=given, allowed=allowed, sampled=sampled)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _resident(pid: int, process: subprocess.Popen[bytes]) -> list[float]:
    """Return the resident memory of `pid` in MiB, sampled until `process`, which waits for it, has ended.

    Linux alone tells it.
    """
    found = []
    statm = Path(f"/proc/{pid}/statm")
    page_mib = os.sysconf("SC_PAGE_SIZE") / 2**20
    while process.poll() is None:
        with suppress(OSError):
            found.append(int(statm.read_text("ascii").split()[1]) * page_mib)
        time.sleep(_SAMPLE_S)
    return [one for one in found if one]


def _grown(samples: Sequence[float]) -> float | None:
    """Return by how much memory grew from the first tenth of a run, when all is loaded, to its end."""
    if not samples:
        return None
    return max(samples[-len(samples) // 10 :]) - samples[len(samples) // 10]
