"""The data of every measurement: invented people, the same ones in every run and for every program.

The nth person is always the same. What somebody edits is said by number, so that every program is given the
same edit.
"""

import csv
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path

from reconciler.sandbox.contacts import invent_contacts

PLAIN = (
    "firstName",
    "lastName",
    "workEmailAddress1",
    "workMobilePhone1",
    "workCountry",
    "jobTitle",
    "department",
)
SPLIT_FROM = 10_000  # people; from here on there are ten files, for one of 100,000 would be refused (10 MiB)
FILES = 10
PEOPLE_EACH = 500  # in a workspace, where there are many workspaces


def people(count: int, *, edited: Collection[int] = ()) -> Iterator[dict[str, str]]:
    """Yield flat rows of texts: the fields of PLAIN, and employeeId. Those `edited` have another job."""
    for number, contact in enumerate(invent_contacts(count, after=0)):
        row = {**{key: str(contact.fields[key]) for key in PLAIN}, "employeeId": str(1000 + number)}
        yield {**row, "jobTitle": "Coordinator"} if number in edited else row


def one_in_a_hundred(count: int) -> range:
    """Return the numbers of the people that an edit is about, spread over all files."""
    return range(0, count, 100)


def three_of(count: int, turn: int) -> range:
    """Return the numbers of three people far from each other; others in each turn."""
    return range(turn, count, count // 3)[:3]


def one_in_each_file(count: int, turn: int) -> list[int]:
    """Return the number of one person of each file that `write_yaml` writes; others in each turn."""
    files = FILES if count >= SPLIT_FROM else 1
    return [count * part // files + turn for part in range(files)]


def workspaces_of(count: int) -> tuple[int, int]:
    """Return how many workspaces so many people are in where they are in many, and how many each has."""
    each = min(PEOPLE_EACH, max(1, count // 4))
    return count // each, each


def write_yaml(folder: Path, count: int, *, edited: Collection[int] = ()) -> None:
    """Write manifests with an entry for each: one file, or ten where there are many."""
    files = FILES if count >= SPLIT_FROM else 1
    rows = people(count, edited=edited)
    for part in range(files):
        with (folder / f"people-{part}.yaml").open("w", encoding="utf-8") as file:
            file.write("version: 1\nworkspace: default\ncontacts:\n")
            for row in islice(rows, count * (part + 1) // files - count * part // files):
                file.writelines(_entry(row))


def write_fleet(folder: Path, count: int, *, edited: Collection[int] = ()) -> None:
    """Write a manifest for each of many workspaces: w0 holds the first people, and so on."""
    workspaces, each = workspaces_of(count)
    rows = people(count, edited=edited)
    for number in range(workspaces):
        with (folder / f"w{number}.yaml").open("w", encoding="utf-8") as file:
            file.write(f"version: 1\nworkspace: w{number}\ncontacts:\n")
            for row in islice(rows, each):
                file.writelines(_entry(row))


def _entry(row: Mapping[str, str]) -> Iterator[str]:
    yield f"  e{row['employeeId']}:\n"
    yield from (f'    {key}: "{row[key]}"\n' for key in PLAIN)
    yield f'    custom: {{employeeId: "{row["employeeId"]}"}}\n'


def write_roster(folder: Path, count: int, *, edited: Collection[int] = ()) -> None:
    """Write one roster with a row for each, and the manifest that reads it."""
    with (folder / "people.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*PLAIN, "employeeId"])
        writer.writeheader()
        writer.writerows(people(count, edited=edited))
    fields = "".join(f'      {key}: "{{{key}}}"\n' for key in PLAIN)
    (folder / "people.yaml").write_text(
        "version: 1\nworkspace: default\nrosters:\n- file: people.csv\n"
        f'  name: "e{{employeeId}}"\n  contacts:\n{fields}      custom: {{employeeId: "{{employeeId}}"}}\n',
        encoding="utf-8",
    )


FORMS = {"yaml": write_yaml, "roster": write_roster, "fleet": write_fleet}
