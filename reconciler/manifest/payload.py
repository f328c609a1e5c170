"""The payload of a resource: from a file, from text, or rendered from rows. Bytes and their digest.

No cell is prefixed, quoted beyond RFC 4180 or changed in any other way: a leading `+` is a phone
number here, and what reads this file is a program.
"""

import csv
import hashlib
import io
from pathlib import Path
from typing import Any

from reconciler.manifest.files import FileId, Unreadable, place_below, read_below
from reconciler.manifest.readlog import ReadLog
from reconciler.model.documents import Content
from reconciler.parsing.build import shown
from reconciler.parsing.standins import find_stand_in

# Content travels in base64, four bytes for three, in a request of at most 10,485,760 bytes, of which
# 10 KiB are kept for the other fields. Beyond it the service answers 413 in the middle of an apply.
BYTES_MAX = (10 * 1024 * 1024 - 10 * 1024) // 4 * 3


def payload(
    section: dict[str, Any],
    *,
    root: Path,
    folder: Path,
    private: frozenset[FileId] = frozenset(),
    log: ReadLog | None = None,
) -> Content:
    """Return what a `content` mapping stands for; it may name no `private` file. Raises Unreadable."""
    path = ""
    if "file" in section:
        parts = place_below(root, folder, section["file"])
        data = read_below(root, parts, bytes_max=BYTES_MAX, private=private, log=log)
        path = shown("/".join(parts), most=400)
        _require_content(data, path)
    elif "text" in section:
        data = section["text"].encode()
    else:
        data = rendered(section["rows"]).encode()
    if not data:
        hint = "put something into it; the service stores no empty file"
        raise Unreadable("the payload is empty.", hint, code="E100")
    if len(data) > BYTES_MAX:
        what = f"the payload has {len(data):,} bytes; the limit is {BYTES_MAX:,}."
        raise Unreadable(what, "make it smaller, or split it", code="E108")
    return Content(data, f"sha256:{hashlib.sha256(data).hexdigest()}", path)


def _require_content(data: bytes, path: str) -> None:
    """Refuse what a checkout holds in the place of a file: nobody means to publish it. Raises Unreadable.

    A message of PGP may be meant. What `text` holds is meant whatever it is.
    """
    found = find_stand_in(data, armour=False)
    if found is not None:
        raise Unreadable(f"{path} {found.what}.", found.hint, file=path, line=found.line, code=found.code)


def rendered(rows: list[Any]) -> str:
    r"""Return rows as CSV in the form of RFC 4180, but for its line ends: "\n" here, as in git.

    All rows are lists, or all are mappings: then the header holds every key in the order of its
    first use, and a key that a row lacks is an empty cell. Raises Unreadable for a mixture and for
    lists that are not equally long.
    """
    table = _from_mappings(rows) if all(isinstance(row, dict) for row in rows) else rows
    if not all(isinstance(row, list) for row in table):
        what = "some rows are lists and some are mappings."
        raise Unreadable(what, "write all of them in one form", code="E100")
    _require_one_width(table)
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(table)
    return text.getvalue()


def _require_one_width(table: list[list[str]]) -> None:
    width = len(table[0])
    for number, row in enumerate(table, start=1):
        if len(row) != width:
            what = f"row {number} has {len(row)} cells; the first one has {width}."
            raise Unreadable(what, 'write "" for an empty cell', code="E100")


def _from_mappings(rows: list[dict[str, str]]) -> list[list[str]]:
    header = list(dict.fromkeys(key for row in rows for key in row))
    if len(header) * len(rows) > BYTES_MAX:  # each cell takes a byte at least, also an empty one
        what = f"{len(rows):,} rows of {len(header):,} columns are more than {BYTES_MAX:,} bytes."
        raise Unreadable(what, "check the keys of the rows: each of them is a column", code="E100")
    return [header, *([row.get(key, "") for key in header] for row in rows)]
