"""Reads the project in each folder that it is told, each in a forked process of its own, and measures.

    python reading_sheets.py < FOLDERS > RESULTS

A line in, a line out: JSON with what was found, the seconds of CPU, the MiB at the peak, and how the process
ended. The fork spares each the time of the imports; its memory counts with what it has from its parent.
"""

import json
import os
import resource
import sys
from pathlib import Path

from reconciler.manifest.load import load_manifests
from reconciler.manifest.rosters import xlsx_sheet

CPU_S, MEMORY = 15, 2 << 30  # where a process is ended, far beyond what is allowed to it


def find(folder: Path) -> dict[str, object]:
    """What there is to say of the manifests of one project."""
    loaded = load_manifests([folder / "a.yaml"], root=folder, environ={}, variables=[])
    found = [(one.code, one.what, one.next) for one in loaded.problems]
    return {"documents": loaded.documents, "problems": len(found), "first": found[:3]}


def measure(folder: Path) -> dict[str, object]:
    """Read a project in another process, and return what it says and what it took."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.close(out)
        os.write(into, json.dumps(find(folder)).encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as answer:
        said = answer.read()
    _, status, used = os.wait4(child, 0)
    return {
        "found": json.loads(said) if said else None,
        "status": status,
        "cpu_s": round(used.ru_utime + used.ru_stime, 2),
        "mib": used.ru_maxrss // 1024,
    }


assert xlsx_sheet.__name__, "imported here, and not by every process that is forked"
for line in sys.stdin:
    sys.stdout.write(json.dumps(measure(Path(line.strip()))) + "\n")
    sys.stdout.flush()
