"""One sheet of an .xlsx file, unpacked within bounds, and what the reader of sheets does not tell of it.

The file is a zip of XML. What is read of it is unpacked here first, so that no header can lie about a size,
and packed again without compression for the library that reads cells. The library tells an empty text for
a cell that holds an error, for a formula the result that some program computed last, for a number nothing of
its format, and sets aside room for every cell between the first and the last one; so all four are looked for
in the text of the sheet.

Source: ECMA-376, parts 1 and 2 (the parts of a package, `c`, `f` and `mergeCells` of a sheet).
"""

import io
import posixpath
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.etree import ElementTree as ET

from reconciler.manifest.files import Unreadable
from reconciler.manifest.rosters.numberformats import GENERAL, is_plain, read_formats
from reconciler.model.tables import CELLS_MAX
from reconciler.parsing.build import shown
from reconciler.parsing.characters import UNFIT

UNPACKED_MAX = 512 * 1024 * 1024  # bytes of the parts that are read
_LIST_MAX = 8 * 1024 * 1024  # bytes of the list of sheets
_BOOK, _RELATIONS, _STYLES = "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/styles.xml"
_COMMON = (_BOOK, _RELATIONS, "xl/sharedStrings.xml", _STYLES, "[Content_Types].xml")
# Says where the list of sheets is; written anew, so that the library and we read the same list.
_OF_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_START = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{_OF_OFFICE}/officeDocument" Target="{_BOOK}"/></Relationships>'
).encode()
_SAVE = "open it in a spreadsheet program and save it as .xlsx, or export it as `CSV UTF-8`"
_TO_ID = f"{{{_OF_OFFICE}}}id"
_TO_ID_STRICT = "{http://purl.oclc.org/ooxml/officeDocument/relationships}id"
_SHEETS_SHOWN_MAX = 10

# What the libraries for zip and XML raise over other bytes: found by damaging a file thousands of times.
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    ET.ParseError,
    EOFError,
    LookupError,
    OSError,
    ValueError,
)
_KINDS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})  # the only ones of which an .xlsx file may be

# A cell as every program writes it, its place first: looked for by its first letters, which is ten times
# as quick as by an expression that fits every way to write it. Any other way is refused.
_PLACED = (b'<c r="', b':c r="')
_CELLS = (b"<c ", b":c ")
_OTHERWISE = tuple(front + end for front in (b"<c", b":c") for end in (b">", b"/", b"\t", b"\n", b"\r"))
_MISPLACED = re.compile(rb'[<:]c r="(?![A-Z]{1,3}[0-9]{1,7}")')
_WIDE = re.compile(rb'c r="([A-Z]{2,3})[0-9]')
_LONG = re.compile(rb'c r="[A-Z]{1,3}[0-9]{6}')
_ROW = re.compile(rb'c r="[A-Z]{1,3}([0-9]+)"')
_AT = rb'[<:]c r="([A-Z]{1,3})([0-9]{1,7})"[^>]*?'
# What a cell may hold that the library does not tell: letters without which it is nowhere in a sheet, which
# most sheets are spared by; the sign of it, and the sign with its cell.
_UNTOLD = {
    "a formula": (
        (b"<f", b":f"),
        re.compile(rb"<(?:\w+:)?f[\s/>]"),
        re.compile(_AT + rb">\s*<(?:\w+:)?f[\s/>]"),
    ),
    "an error": (
        (b'"e"', b"'e'"),
        re.compile(rb"\st\s*=\s*[\"']e[\"']"),
        re.compile(_AT + rb"\st\s*=\s*[\"']e[\"']"),
    ),
}
# A cell that holds something, with its attributes; one without a style has the first one.
_ANY_STYLE = re.compile(
    rb'[<:]c r="([A-Z]{1,3})([0-9]{1,7})"(?:[^>]*?\ss\s*=\s*["\']([0-9]+)["\'])?[^>]*(?<!/)>'
)
_ITS_STYLE = re.compile(rb'[<:]c r="([A-Z]{1,3})([0-9]{1,7})"[^>]*?\ss\s*=\s*["\']([0-9]+)["\'][^>]*(?<!/)>')
_ENCODED = re.compile(rb"^<\?xml[^>]*?encoding\s*=\s*[\"'](?!utf-8[\"'])", re.IGNORECASE)
_SHORT = 99_999  # the last row whose number has five digits
_LAST = 1_048_576  # the last row that a spreadsheet has
_LETTERS = 26  # columns before AA


class Sheet(NamedTuple):
    """A sheet by its name, the file that holds it alone, and why some of its cells may not be used."""

    name: str
    file: io.BytesIO
    unusable: Mapping[int, Mapping[int, str]]  # row, index of the cell from 0 -> what the cell holds
    formats: Mapping[int, Mapping[int, str]]  # the same -> the format of a cell that may show something else


def sheet_of(data: bytes, name: str, wanted: str) -> Sheet:
    """Return the sheet called `wanted`, or the only one that is shown where that is "". Raises Unreadable."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            chosen, part = _chosen(package, name, wanted)
            parts = dict(_parts(package, name, (*_COMMON, part)))
            formats = read_formats(parts[_STYLES], name) if _STYLES in parts else (GENERAL,)
    except _DAMAGED as error:
        raise Unreadable(f"{name} is damaged, or no .xlsx file.", _SAVE, code="E511") from error
    except RuntimeError as error:  # zipfile's word for a password, and for a later version of zip
        what = f"{name} is encrypted, or packed in a way that is not read."
        raise Unreadable(what, "save it as .xlsx, without a password", code="E511") from error
    text = parts[part]
    _require_readable(text, name)
    return Sheet(chosen, _packed(parts), _unusable(text, name), _formatted(text, formats))


def _chosen(package: zipfile.ZipFile, name: str, wanted: str) -> tuple[str, str]:
    """Return the name of the sheet and the part that holds it."""
    sheets = list(_sheets(package, name))
    seen = [one for one, _, hidden in sheets if not hidden]
    listed = shown(", ".join(seen[:_SHEETS_SHOWN_MAX]))
    if wanted and all(wanted != one for one, _, _ in sheets):
        raise Unreadable(f"{name} has no sheet {shown(wanted)!r}.", f"its sheets are: {listed}", code="E511")
    fitting = [one for one in sheets if one[0] == wanted or (not wanted and not one[2])]
    if len(fitting) != 1:
        what = f"{name} shows {len(fitting)} sheets, and nobody says which is meant."
        raise Unreadable(what, f"add `sheet:` with one of: {listed}", code="E511")
    chosen, part, hidden = fitting[0]
    if hidden:
        raise Unreadable(
            f"the sheet {shown(chosen)!r} of {name} is hidden.",
            "unhide it, so that reviews see it",
            code="E511",
        )
    if UNFIT.search(chosen):
        raise Unreadable(
            f"{name} has a sheet whose name holds an invisible character.", "rename the sheet", code="E511"
        )
    return chosen, part


def _sheets(package: zipfile.ZipFile, name: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the name of each sheet, its part, and whether it is hidden."""
    parts = dict(_parts(package, name, (_BOOK, _RELATIONS), bytes_max=_LIST_MAX))
    if set(parts) != {_BOOK, _RELATIONS}:
        raise Unreadable(f"{name} is no .xlsx file: it has no list of sheets.", _SAVE, code="E511")
    if any(b"<!DOCTYPE" in part for part in parts.values()):
        raise Unreadable(f"{name} declares a document type, which no .xlsx file does.", _SAVE, code="E511")
    targets = {one.get("Id"): one.get("Target", "") for one in ET.fromstring(parts[_RELATIONS])}  # noqa: S314 - no document type, see above
    for one in ET.fromstring(parts[_BOOK]).iter():  # noqa: S314 - the same
        target = targets.get(one.get(_TO_ID) or one.get(_TO_ID_STRICT), "")
        if one.tag.rpartition("}")[2] == "sheet" and target:
            part = posixpath.normpath(posixpath.join("/xl", target)).removeprefix("/")
            if part in package.namelist() and "worksheets/" in part:  # a chart has a sheet of its own
                yield one.get("name", ""), part, one.get("state", "visible") != "visible"


def _parts(
    package: zipfile.ZipFile, name: str, wanted: tuple[str, ...], *, bytes_max: int = UNPACKED_MAX
) -> Iterator[tuple[str, bytes]]:
    """Yield the parts that are wanted and there. No more is unpacked of one than its header says."""
    left = bytes_max
    for one in package.infolist():
        if one.filename in wanted:
            if one.compress_type not in _KINDS:
                raise zipfile.BadZipFile
            left -= one.file_size
            if left < 0:
                what = f"{name} has more than {bytes_max:,} bytes when it is unpacked, which is the limit."
                raise Unreadable(
                    what, "remove what no contact needs, or export it as `CSV UTF-8`", code="E511"
                )
            yield one.filename, package.read(one)


def _require_readable(text: bytes, name: str) -> None:
    """Refuse a sheet that says nothing of where its cells are, or has them so far apart that nobody can."""
    if text[:2] in (b"\xff\xfe", b"\xfe\xff") or _ENCODED.match(text.removeprefix(b"\xef\xbb\xbf")):
        raise Unreadable(f"{name} has a sheet that is not UTF-8.", _SAVE, code="E511")
    cells, placed = (sum(map(text.count, forms)) for forms in (_CELLS, _PLACED))
    if cells != placed or _MISPLACED.search(text) or any(form in text for form in _OTHERWISE):
        raise Unreadable(f"{name} has cells that do not say where they are.", _SAVE, code="E511")
    # With columns of one letter no sheet has too many, so only the others are looked at.
    columns = max((_index(found[1]) for found in _WIDE.finditer(text)), default=_LETTERS)
    last = _SHORT
    if _LONG.search(text) or columns * last > CELLS_MAX:
        last = max((int(found[1]) for found in _ROW.finditer(text)), default=0)
    area = columns * last
    if area > CELLS_MAX or last > _LAST:
        what = f"{name} has a used area of {area:,} cells; the limit is {CELLS_MAX:,}."
        raise Unreadable(
            what, "delete the rows and columns beyond the last person, then save it", code="E511"
        )


def _unusable(text: bytes, name: str) -> dict[int, dict[int, str]]:
    found: dict[int, dict[int, str]] = {}
    for what, (letters, sign, cell) in _UNTOLD.items():
        if not any(one in text for one in letters):
            continue
        signs, cells = sum(1 for _ in sign.finditer(text)), list(cell.finditer(text))
        if signs != len(cells):
            raise Unreadable(
                f"{name} has cells that hold {what} and do not say where they are.", _SAVE, code="E511"
            )
        for match in cells:
            found.setdefault(int(match[2]), {})[_index(match[1]) - 1] = what
    return found


def _formatted(text: bytes, formats: Sequence[str]) -> dict[int, dict[int, str]]:
    """Return the format of each cell that has another one than General and Text; most sheets have none."""
    found: dict[int, dict[int, str]] = {}
    plain = {number for number, code in enumerate(formats) if is_plain(code)}
    if len(plain) == len(formats):
        return found
    for match in (_ITS_STYLE if 0 in plain else _ANY_STYLE).finditer(text):
        number = int(match[3] or 0)
        if number not in plain:
            code = formats[number] if number < len(formats) else ""
            found.setdefault(int(match[2]), {})[_index(match[1]) - 1] = code
    return found


def _index(letters: bytes) -> int:
    """Return the number of a column from 1: A is 1, Z 26, AA 27."""
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number


def _packed(parts: Mapping[str, bytes]) -> io.BytesIO:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED) as package:
        for name, data in {"_rels/.rels": _START, **parts}.items():
            package.writestr(name, data)
    held.seek(0)
    return held
