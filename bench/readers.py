"""What it costs to read the answers of LDAP and SCIM, beside the same people as CSV.

    .venv/bin/python bench/readers.py [N ...]        default: 10000 100000

Each form is read in a process of its own, from bytes that lie in memory: messages of LDAP, pages of SCIM with
100 users each, one file of CSV. What a server and the way to it take is left out. Memory is what Python's
objects took at most, traced in another process, for that takes time. The table stands in docs/performance.md.
"""

import csv
import io
import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable

from reconciler.directories.ldap_search import EntryColumns
from reconciler.directories.ldap_wire import parse_message
from reconciler.directories.scim_http import parse_body
from reconciler.directories.scim_users import ResourceColumns, parse_list_page
from reconciler.manifest.rosters.table import read_csv

PAGE = 100
COLUMNS = ("uid", "givenName", "sn", "mail", "mobile", "departmentNumber")
_LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse"


def person(number: int) -> tuple[str, ...]:
    """The cells of one person."""
    mail, mobile = f"p{number:07}@example.com", f"+614915{number % 100_000:05}"
    return f"p{number:07}", f"Zoë {number}", "Doe", mail, mobile, f"D{number % 40}"


def tlv(tag: int, *parts: bytes) -> bytes:
    """One element of BER."""
    content = b"".join(parts)
    if len(content) < 0x80:
        return bytes([tag, len(content)]) + content
    return bytes([tag, 0x82]) + len(content).to_bytes(2) + content


def entry(number: int) -> bytes:
    """What a message with one entry of LDAP holds."""
    cells = person(number)
    dn = tlv(0x04, f"uid={cells[0]},ou=people,dc=example,dc=com".encode())
    attributes = (
        tlv(0x30, tlv(0x04, name.encode()), tlv(0x31, tlv(0x04, cell.encode())))
        for name, cell in zip(COLUMNS, cells, strict=True)
    )
    return tlv(0x02, b"\x01") + tlv(0x64, dn, tlv(0x30, *attributes))


def user(number: int) -> dict[str, object]:
    """One user of SCIM."""
    uid, given, family, mail, mobile, department = person(number)
    return {
        "id": uid,
        "userName": uid,
        "name": {"givenName": given, "familyName": family},
        "emails": [{"type": "work", "value": mail, "primary": True}],
        "phoneNumbers": [{"type": "mobile", "value": mobile}],
        "department": department,
    }


def csv_of(count: int) -> Callable[[], int]:
    """The same as a file of CSV."""
    held = io.StringIO()
    csv.writer(held).writerows([COLUMNS, *map(person, range(count))])
    data = held.getvalue().encode()
    return lambda: len(read_csv(data, "staff.csv").rows)


def ldap_of(count: int) -> Callable[[], int]:
    """The same as messages of LDAP."""
    frames = list(map(entry, range(count)))

    def read() -> int:
        columns = EntryColumns(COLUMNS)
        for frame in frames:
            columns.take(parse_message(frame)[1].body)
        return len(columns.answer().rows)

    return read


def scim_of(count: int) -> Callable[[], int]:
    """The same as pages of SCIM."""
    bodies = [
        json.dumps(
            {
                "schemas": [_LIST],
                "totalResults": count,
                "itemsPerPage": len(rows),
                "Resources": rows,
            }
        ).encode()
        for start in range(0, count, PAGE)
        if (rows := list(map(user, range(start, min(start + PAGE, count)))))
    ]

    def read() -> int:
        columns = ResourceColumns(())
        for body in bodies:
            for resource in parse_list_page(parse_body(body), PAGE).resources:
                columns.take(resource)
        return len(columns.answer().rows)

    return read


FORMS = {"CSV": csv_of, "LDAP": ldap_of, "SCIM": scim_of}


def cpu_s(form: str, count: int) -> str:
    """Return the processor time that reading takes."""
    read = FORMS[form](count)
    began = time.process_time()
    read()
    return f"{time.process_time() - began:.2f}"


def mib(form: str, count: int) -> str:
    """Return the memory that reading takes."""
    read = FORMS[form](count)
    tracemalloc.start()
    read()
    return f"{tracemalloc.get_traced_memory()[1] / 1024 / 1024:.0f}"


MEASURES = {"cpu": cpu_s, "memory": mib}


def main(arguments: list[str]) -> None:
    """Print the table; or one number of it, in a process of its own."""
    if arguments and arguments[0] in MEASURES:
        print(MEASURES[arguments[0]](arguments[1], int(arguments[2])))
        return
    print("| people | form | CPU s | MiB |\n|---|---|---|---|")
    for count in arguments or ["10000", "100000"]:
        for form in FORMS:
            numbers = [
                subprocess.run(
                    [sys.executable, __file__, measure, form, count],
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout.strip()
                for measure in MEASURES
            ]
            print(f"| {int(count):,} | {form} | {' | '.join(numbers)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
