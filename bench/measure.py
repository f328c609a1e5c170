"""What the commands cost: calls, seconds and memory of whole processes, for growing numbers of contacts.

    script/bench [N ...]        default: 1000 10000

A sandbox with brief rows holds N invented contacts; the manifests declare exactly those, as one YAML
file or as one roster. Each row is a run of its own:

    adopt      plan; nothing is recorded: every contact is found by its identity
    nothing    plan; everything is recorded, and nothing has changed
    create     plan; none of them is there yet
    apply      1,000 creates on a sandbox that takes 20 ms for every answer, 16 at once
    version    `reconciler --version`, the median of 15 starts

Results go to bench/results.json and, as a table, to stdout.
"""

import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reconciler.sandbox.collections.people import invented

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
def sandbox(contacts: int, *more: str) -> Iterator[str]:
    """Run a sandbox with that many contacts and yield its address."""
    command = [
        sys.executable,
        "-m",
        "reconciler",
        "sandbox",
        "--port",
        "0",
        "--contacts",
        str(contacts),
        *more,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None  # noqa: S101 - asked for a line above
            line = next(line for line in process.stdout if "http://" in line)
            yield next(word for word in line.split() if word.startswith("http://")).rstrip(".,")
        finally:
            process.terminate()


def run(folder: Path, *arguments: str) -> dict[str, Any]:
    """Run one command and return its JSON output beside seconds and peak memory of the whole process."""
    command = [sys.executable, "-m", "reconciler", *arguments, "--format", "json"]
    environ = {**os.environ, **SECRETS, "RECONCILER_LOCK_IN_SERVICE": "never"}
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.PIPE) as process:
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


@contextmanager
def project(count: int, form: str, base_url: str) -> Iterator[Path]:
    """Make a project that declares so many contacts, and yield its folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "manifests").mkdir()
        (folder / "reconciler.yaml").write_text(SETTINGS.format(base_url=base_url), encoding="utf-8")
        {"yaml": write_yaml, "roster": write_roster}[form](folder / "manifests", count)
        yield folder


def plans(count: int, form: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each case of a plan."""
    for case, live in (("adopt", count), ("nothing", count), ("create", 0)):
        with sandbox(live) as base_url, project(count, form, base_url) as folder:
            if case == "nothing":
                run(folder, "apply", "--yes")
            result = run(folder, "plan")
            calls = sum(read["calls"] for read in result.pop("output")["plan"]["reads"])
            yield {"contacts": count, "form": form, "case": case, "calls": calls, **result}


def applies() -> Iterator[dict[str, Any]]:
    """Yield the row of 1,000 creates: two calls each, 16 at once, 20 ms each: 2.5 s is the ideal."""
    with sandbox(0, "--latency-ms", "20") as base_url, project(1000, "yaml", base_url) as folder:
        result = run(folder, "apply", "--yes")
        calls = sum(result.pop("output")["calls"].values())
        yield {"contacts": 1000, "form": "yaml", "case": "apply", "calls": calls, **result}


def starts() -> Iterator[dict[str, Any]]:
    """Yield the row of the shortest command, beside an interpreter that does nothing."""
    for case, arguments in (("version", ["-m", "reconciler", "--version"]), ("bare python", ["-c", "pass"])):
        seconds = []
        for _ in range(15):
            began = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - began)
        blank = dict.fromkeys(("contacts", "form", "calls", "cpu_s", "peak_mib"), "")
        yield {**blank, "case": case, "wall_s": round(statistics.median(seconds), 3)}


def main() -> None:
    """Measure everything, write the results and print them as a table."""
    sizes = [int(text) for text in sys.argv[1:]] or [1000, 10_000]
    rows = [row for count in sizes for form in ("yaml", "roster") for row in plans(count, form)]
    rows += [*applies(), *starts()]
    (HERE / "results.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    print("| contacts | as | case | calls | seconds | CPU s | peak MiB |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print("| {contacts} | {form} | {case} | {calls} | {wall_s} | {cpu_s} | {peak_mib} |".format(**row))


if __name__ == "__main__":
    main()
