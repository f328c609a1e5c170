"""Spreadsheets for tests, written part by part, so that each may be as wrong as a test wants it."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OF = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
STYLES = (
    f'<styleSheet xmlns="{_MAIN}"><fonts count="1"><font/></fonts><fills count="1"><fill/></fills>'
    '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
    '<cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="20"/></cellXfs></styleSheet>'
)


@dataclass(frozen=True)
class Raw:
    """A cell as XML; `{at}` stands for its place."""

    xml: str


def formula(text: str, value: str = "") -> Raw:
    """A cell that is computed, with the result that some program left."""
    return Raw(f'<c r="{{at}}"><f>{escape(text)}</f><v>{value}</v></c>')


def error(text: str) -> Raw:
    """A cell that holds an error such as #N/A."""
    return Raw(f'<c r="{{at}}" t="e"><v>{text}</v></c>')


def dated(serial: float, style: int = 1) -> Raw:
    """A number that is shown as a date (style 1) or as a time (2)."""
    return Raw(f'<c r="{{at}}" s="{style}"><v>{serial}</v></c>')


Cell = str | float | bool | None | Raw
Rows = Sequence[Sequence[Cell]]


def sheet(rows: Rows, *, merged: Sequence[str] = ()) -> str:
    """Return the XML of a sheet."""
    lines = []
    for number, cells in enumerate(rows, start=1):
        texts = [_cell(value, f"{_letters(index)}{number}") for index, value in enumerate(cells)]
        lines.append(f'<row r="{number}">{"".join(texts)}</row>')
    groups = "".join(f'<mergeCell ref="{one}"/>' for one in merged)
    after = f'<mergeCells count="{len(merged)}">{groups}</mergeCells>' if merged else ""
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{"".join(lines)}</sheetData>{after}</worksheet>'


def package(sheets: Mapping[str, str], *, hidden: Sequence[str] = (), **parts: str | bytes) -> bytes:
    """Return an .xlsx file of sheets as XML; `parts` go over what would be written, by their last name."""
    named = list(enumerate(sheets.items(), start=1))
    listed = "".join(
        f'<sheet name={quoteattr(name)} sheetId="{number}" r:id="rId{number}"'
        f' state="{_state(name in hidden)}"/>'
        for number, (name, _) in named
    )
    related = "".join(
        f'<Relationship Id="rId{number}" Type="{_OF}/worksheet" Target="worksheets/sheet{number}.xml"/>'
        for number, _ in named
    )
    texts: dict[str, str | bytes] = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"/>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OF}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": _related(related),
        "xl/styles.xml": STYLES,
        "_rels/.rels": _related(
            f'<Relationship Id="rId1" Type="{_OF}/officeDocument" Target="xl/workbook.xml"/>'
        ),
        **{f"xl/worksheets/sheet{number}.xml": text for number, (_, text) in named},
    }
    for name, text in parts.items():
        place = next((one for one in texts if one.rpartition("/")[2].split(".")[0] == name), f"xl/{name}.xml")
        texts[place] = text
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in texts.items():
            file.writestr(name, text)
    return held.getvalue()


def _related(rows: str) -> str:
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{rows}</Relationships>'


def spreadsheet(rows: Rows, *, name: str = "Staff", merged: Sequence[str] = ()) -> bytes:
    """Return an .xlsx file of one sheet."""
    return package({name: sheet(rows, merged=merged)})


def _state(hidden: bool) -> str:  # noqa: FBT001 - the one thing that it says
    return "hidden" if hidden else "visible"


def _cell(value: Cell, at: str) -> str:
    match value:
        case None:
            return ""
        case Raw(xml):
            return xml.format(at=at)
        case bool():
            return f'<c r="{at}" t="b"><v>{int(value)}</v></c>'
        case str():
            return f'<c r="{at}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
        case int() | float():
            return f'<c r="{at}"><v>{value}</v></c>'


def _letters(index: int) -> str:
    text = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        text = chr(65 + rest) + text
    return text
