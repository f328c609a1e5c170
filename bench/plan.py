"""What a plan costs: calls, seconds and memory of the whole command, for growing numbers of contacts.

    script/bench [N ...]        default: 1000 10000

A sandbox with brief rows holds N invented contacts; the manifests declare exactly those, as one YAML
file or as one roster. Measured as whole processes, each row in a run of its own:

    adopt      nothing is recorded: every contact is found by its identity
    nothing    everything is recorded, and nothing has changed
    create     none of them is there yet

Results go to bench/results/plan.json and, as a table, to stdout.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reconciler.sandbox.people import invented

HERE = Path(__file__).parent
SETTINGS = """\
version: 1
manifests: [manifests/]
service:
  base_url: {base_url}
  auth: {{username: {{env: DEMO_USER}}, password: {{env: DEMO_PASSWORD}}, api_key: {{env: DEMO_KEY}}}}
  limits: {{requests_per_second: 0, concurrency: 16}}
workspaces: {{default: {{}}}}
"""
SECRETS = {"DEMO_USER": "demo", "DEMO_PASSWORD": "demo", "DEMO_KEY": "demo-key"}
PLAIN = (
    "firstName",
    "lastName",
    "workEmailAddress1",
    "workMobilePhone1",
    "workCountry",
    "jobTitle",
    "department",
)


def people(count: int) -> Iterator[dict[str, str]]:
    """Yield the sandbox's invented people as flat rows."""
    for number, contact in enumerate(invented(count, after=0)):
        yield {**{key: str(contact.fields[key]) for key in PLAIN}, "employeeId": str(1000 + number)}


def write_yaml(folder: Path, count: int) -> None:
    """Write one manifest with an entry for each."""
    with (folder / "people.yaml").open("w", encoding="utf-8") as file:
        file.write("version: 1\nworkspace: default\ncontacts:\n")
        for row in people(count):
            file.write(f"  e{row['employeeId']}:\n")
            file.writelines(f'    {key}: "{row[key]}"\n' for key in PLAIN)
            file.write(f'    custom: {{employeeId: "{row["employeeId"]}"}}\n')


def write_roster(folder: Path, count: int) -> None:
    """Write one roster with a row for each, and the manifest that reads it."""
    with (folder / "people.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*PLAIN, "employeeId"])
        writer.writeheader()
        writer.writerows(people(count))
    fields = "".join(f'      {key}: "{{{key}}}"\n' for key in PLAIN)
    (folder / "people.yaml").write_text(
        "version: 1\nworkspace: default\nrosters:\n- file: people.csv\n"
        f'  name: "e{{employeeId}}"\n  contacts:\n{fields}      custom: {{employeeId: "{{employeeId}}"}}\n',
        encoding="utf-8",
    )


@contextmanager
def sandbox(contacts: int) -> Iterator[str]:
    """Run a sandbox with that many contacts and yield its address."""
    command = [sys.executable, "-m", "reconciler", "sandbox", "--port", "0", "--contacts", str(contacts)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None  # noqa: S101 - asked for a line above
            line = next(line for line in process.stdout if "http://" in line)
            yield next(word for word in line.split() if word.startswith("http://")).rstrip(".,")
        finally:
            process.terminate()


def run(project: Path, *arguments: str) -> dict[str, Any]:
    """Run one command and return its JSON output beside seconds and peak memory of the whole process."""
    command = [sys.executable, "-m", "reconciler", *arguments, "--format", "json"]
    environ = {**os.environ, **SECRETS}
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=project, env=environ, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None  # noqa: S101 - asked for a line above
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - began
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}: {output[:2000]!r}")
    measured = {
        "wall_s": seconds,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mib": usage.ru_maxrss / 1024,
    }
    return {"output": json.loads(output), **{key: round(value, 2) for key, value in measured.items()}}


def measure(count: int, form: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each case of one size and form."""
    write = {"yaml": write_yaml, "roster": write_roster}[form]
    for case, live in (("adopt", count), ("nothing", count), ("create", 0)):
        with tempfile.TemporaryDirectory() as name, sandbox(live) as base_url:
            project = Path(name)
            (project / "manifests").mkdir()
            (project / "reconciler.yaml").write_text(SETTINGS.format(base_url=base_url), encoding="utf-8")
            write(project / "manifests", count)
            if case == "nothing":
                run(project, "apply", "--yes")
            result = run(project, "plan")
            output = result.pop("output")
            calls = sum(read["calls"] for read in output["plan"]["reads"])
            yield {"contacts": count, "form": form, "case": case, "calls": calls, **result}


def main() -> None:
    """Measure every size and form, and write the results."""
    sizes = [int(text) for text in sys.argv[1:]] or [1000, 10_000]
    rows = [row for count in sizes for form in ("yaml", "roster") for row in measure(count, form)]
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    (results / "plan.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    print("| contacts | as | case | calls | seconds | CPU s | peak MiB |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print("| {contacts} | {form} | {case} | {calls} | {wall_s} | {cpu_s} | {peak_mib} |".format(**row))


if __name__ == "__main__":
    main()
