"""Many entries of one kind as a roster: a CSV file, and the manifest that says what its columns mean.

An empty cell is a field that is absent, which is what an export means by it. Whatever a roster cannot say
truthfully stays in YAML. Not here: which entries are exported (core/exporting/export.py).
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence

from reconciler.core.exporting.export import Exported
from reconciler.core.text import slugify
from reconciler.manifest.written import yamltext
from reconciler.model.documents import Scalar
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import Scope

LEAST = 201  # entries: below, a file that people read is better than a table
_NAME = "name"  # the column of our names
# What a spreadsheet takes for a formula. A telephone number is none, and a roster is full of them.
_FORMULA = re.compile(r"[=@\t]|[+-](?![0-9 ()-]+$)")


def rostered(scope: Scope, entries: Sequence[Exported]) -> list[Exported]:
    """Return the entries that become rows; none where they are too few, or their kind has no rosters."""
    if not KINDS[scope.kind].rosters or len(entries) < LEAST:
        return []
    owners = {one.address.above for one in entries}
    found = [one for one in entries if one.address not in owners and _fits(scope, one)]
    return found if len(found) >= LEAST else []


def _fits(scope: Scope, one: Exported) -> bool:
    """Whether a row says the same: nothing below it, no control, no variable, and cells that stay text."""
    plain = one.address.kind == scope.kind and not one.variables and not one.ignored and not one.content
    named = slugify(one.address.name) == one.address.name and _NAME not in one.fields
    return plain and named and all(map(_cell_fits, map(_cell, one.fields.values())))


def _cell_fits(text: str) -> bool:
    return not _FORMULA.match(text) and "\n" not in text and "\r" not in text


def _cell(value: Scalar) -> str:
    return value if isinstance(value, str) else str(value).lower()


def table(rows: Sequence[Exported]) -> str:
    """Return the CSV file: a column for each field that any of them has, a row for each, by name."""
    columns = _columns(rows)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_NAME, *columns])
    writer.writerows([one.address.name, *(_cell(one.fields.get(at, "")) for at in columns)] for one in rows)
    return text.getvalue()


def template(scope: Scope, rows: Sequence[Exported], file: str) -> str:
    """Return the section of a manifest that says what the columns of the file mean."""
    kind = KINDS[scope.kind]
    fields = yamltext.nested(kind, {path: f'"{{{path}}}"' for path in _columns(rows)})
    start = f'rosters:\n  - file: {yamltext.quoted(file)}\n    name: "{{{_NAME}}}"\n    {kind.plural}:\n'
    return start + yamltext.block(fields, 3)


def _columns(rows: Iterable[Exported]) -> list[str]:
    """Return the paths that any row has, in the order of the kind's row, so that people find them."""
    found = {path for one in rows for path in one.fields}
    kind = KINDS[next(iter(rows)).address.kind]
    order = {field.name: index for index, field in enumerate(kind.fields)}
    return sorted(found, key=lambda path: (order.get(path.partition(".")[0], len(order)), path))


def parts(rows: Sequence[Exported], most: int) -> Iterator[list[Exported]]:
    """Yield the rows, in parts whose files have at most about so many characters each."""
    part: list[Exported] = []
    size = 0
    for one in rows:
        length = sum(len(_cell(value)) + 3 for value in one.fields.values()) + len(one.address.name)
        if part and size + length > most:
            yield part
            part, size = [], 0
        part.append(one)
        size += length
    if part:
        yield part
