"""What `reconciler status` costs for a store of many stacks, each with ten runs and a sync of two workspaces.

    .venv/bin/python bench/status.py 1000

The forms take turns; each row is the median of five, the memory the highest. Nothing is called: there is no
service. Prints a table.
"""

import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from statistics import median

from processes import Measured, compile_programs, reconciler

from reconciler.model.automation import SyncResult
from reconciler.model.plans import Consent, Options, Plan, Target, Workspace
from reconciler.model.runs import Context, Run
from reconciler.store.database import Store

_RUNS = 5
_ORIGIN = "https://api.example.com"
_NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
_WORKSPACES = (Workspace("default", ""), Workspace("ops", "AB12"))
_SETTINGS = f"""\
version: 1
stack: stack-0
manifests: [manifests/]
service: {{base_url: {_ORIGIN}}}
workspaces: {{default: {{}}}}
"""
_FORMS = {
    "status": (),
    "status --all": ("--all",),
    "status --all --format json": ("--all", "--format", "json"),
    "status --all --report prometheus=FILE": ("--all", "--report", "prometheus=status.prom"),
    "status --all --report html=FOLDER": ("--all", "--report", "html=site"),
}


def _fill(store: Store, stack: int) -> None:
    """Record ten runs of everything and a sync, as a machine without trouble would."""
    plan = Plan(Target(_ORIGIN, f"stack-{stack}", _WORKSPACES), Options(), "", "", ())
    for number in range(10):
        run = f"{stack}-{number}"
        moment = (_NOON + timedelta(hours=number)).isoformat()
        store.begin(run, "apply", plan, Consent(), Context(commit="4f" * 20))
        store.end(Run(run, "", moment, moment, "done", 0, ()), _WORKSPACES)
    moment = (_NOON + timedelta(hours=10)).isoformat()
    store.record_sync(SyncResult(name, moment, "done") for name in ("", "default", "ops"))


def _make_store(folder: Path, stacks: int) -> None:
    tokens = (f"token-{number}" for number in count())
    for stack in range(stacks):
        with Store.open(
            f"sqlite:///{folder}/.reconciler/store.db",
            origin=_ORIGIN,
            stack=f"stack-{stack}",
            now=lambda: _NOON,
            token=lambda: next(tokens),
        ) as store:
            _fill(store, stack)


def _rows(stacks: int, turns: list[dict[str, Measured]]) -> Iterator[str]:
    yield "| stacks | command | seconds | CPU s | peak MiB |"
    yield "|---|---|---|---|---|"
    for form in _FORMS:
        found = [turn[form] for turn in turns]
        wall_s, cpu_s = (median(getattr(one, name) for one in found) for name in ("wall_s", "cpu_s"))
        peak = max(one.peak_mib for one in found)
        yield f"| {stacks:,} | `{form}` | {wall_s:.2f} | {cpu_s:.2f} | {peak:.0f} |"


def main() -> None:
    """Print what each form costs."""
    stacks = int(sys.argv[1])
    compile_programs()
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        for name in (".reconciler", "site", "manifests"):
            (folder / name).mkdir(mode=0o700)
        (folder / "reconciler.yaml").write_text(_SETTINGS, encoding="utf-8")
        _make_store(folder, stacks)
        turns = [
            {form: reconciler(folder, "status", *words) for form, words in _FORMS.items()}
            for _ in range(_RUNS)
        ]
    sys.stdout.writelines(f"{row}\n" for row in _rows(stacks, turns))


if __name__ == "__main__":
    main()
