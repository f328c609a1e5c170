"""What people use today, set up for the same people: a folder with what each program reads, and its command.

In an environment of their own, `bench/.peers`, made by script/bench from `requirements/peers.txt`.
"""

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from people import PLAIN, people
from processes import PEERS, Measured, measure

HERE = Path(__file__).parent
BIN = PEERS / "bin"
PROGRAMS = HERE / "peers"


def there() -> bool:
    """Whether the environment of the peers was made."""
    return (BIN / "octodns-sync").exists()


def octodns(
    folder: Path, count: int, *, differing: Collection[int], environ: Mapping[str, str] | None = None
) -> Measured:
    """Plan a zone with a record for each person, of whom those `differing` differ. Nothing is called."""
    _write_zone(folder, count, differing=differing)
    command = [BIN / "octodns-sync", "--config-file", folder / "octodns.yaml"]
    return measure(command, cwd=folder, environ=environ or {"PYTHONPATH": str(PROGRAMS)})


def _write_zone(folder: Path, count: int, *, differing: Collection[int]) -> None:
    """Write what octoDNS reads: a record of as many texts as a person has fields. JSON is YAML too."""
    (folder / "octodns.yaml").write_text(
        "providers:\n"
        "  source: {class: octodns.provider.yaml.YamlProvider, enforce_order: false, "
        f"directory: {folder}}}\n"
        f"  memory: {{class: octodns_memory.MemoryProvider, path: {folder}/live.json}}\n"
        "zones:\n  example.com.: {sources: [source], targets: [memory]}\n",
        encoding="utf-8",
    )
    live = {}
    with (folder / "example.com.yaml").open("w", encoding="utf-8") as file:
        for number, row in enumerate(people(count)):
            values = [f"{key}={row[key]}" for key in (*PLAIN, "employeeId")]
            live[f"e{row['employeeId']}"] = [*values[:-1], "changed"] if number in differing else values
            file.write(f"e{row['employeeId']}:\n  type: TXT\n  ttl: 3600\n  values:\n")
            file.writelines(f'  - "{value}"\n' for value in values)
    (folder / "live.json").write_text(json.dumps(live), encoding="utf-8")


def stock(manifests: Path, base_url: str) -> Measured:
    """Read, validate, fetch and compare, as a script of an afternoon does."""
    return measure([BIN / "python", PROGRAMS / "stock.py", base_url, manifests], cwd=manifests)


def ansible(folder: Path, base_url: str, count: int) -> Measured:
    """Create so many people by a loop over `uri`."""
    bodies = [{key: row[key] for key in PLAIN} for row in people(count)]
    given = {"base_url": base_url, "people": bodies}
    (folder / "vars.json").write_text(json.dumps(given), encoding="utf-8")
    command = [BIN / "ansible-playbook", PROGRAMS / "people.playbook.yaml", "-e", f"@{folder}/vars.json"]
    environ = {"ANSIBLE_LOCALHOST_WARNING": "false", "ANSIBLE_HOME": str(folder), "LC_ALL": "C.UTF-8"}
    return measure(
        command, cwd=folder, environ={**environ, "ANSIBLE_PYTHON_INTERPRETER": str(BIN / "python")}
    )
