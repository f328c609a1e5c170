"""Cells of spreadsheets whose text on the screen is not what they hold: taken as shown, or told."""

import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from manifest.project import Project
from manifest.spreadsheets import STYLES, Cell, Raw, Rows, package, sheet
from waiting import patience_s

from reconciler.manifest.rosters.xlsx_sheet import read_sheet
from reconciler.manifest.rosters.xlsx_workbook import format_number, shows_texts

MANIFEST = """\
rosters:
  - file: staff.xlsx
    name: "{ID}"
    contacts: {firstName: "{First}", workEmailAddress1: "{Mail}", custom: {badge: "{Badge}"}}
"""
HEADER = ("ID", "First", "Mail", "Badge")


def styled(*codes: str | int) -> str:
    """The styles of a file: number 0 is General, the others have these formats (built-in ones by number)."""
    written = [one for one in codes if isinstance(one, str)]
    numbers = {code: 164 + index for index, code in enumerate(written)}
    named = numbers.items()
    formats = "".join(f"<numFmt numFmtId='{at}' formatCode={quoteattr(code)}/>" for code, at in named)
    xfs = "".join(
        f'<xf numFmtId="{numbers.get(one, one) if isinstance(one, str) else one}"/>' for one in codes
    )
    fonts = STYLES.index("<fonts")
    start, end = STYLES.index("<cellXfs"), STYLES.index("</cellXfs>")
    cells = f'<cellXfs count="{len(codes) + 1}"><xf numFmtId="0"/>{xfs}'
    return f"{STYLES[:fonts]}<numFmts>{formats}</numFmts>{STYLES[fonts:start]}{cells}{STYLES[end:]}"


def number(value: float, style: int = 1) -> Raw:
    return Raw(f'<c r="{{at}}" s="{style}"><v>{value}</v></c>')


def staff(cell: Cell, *codes: str | int) -> bytes:
    rows: Rows = [HEADER, ("1", "Kim", "kim@example.com", cell)]
    return package({"Staff": sheet(rows)}, styles=styled(*codes))


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (7, "00000", "00007"),
        (42, "000", "042"),
        (491570156, "0000000000", "0491570156"),
        (0, "000", "000"),
        (123456, "00000", "123456"),
        (7, "[Red]00000", "00007"),
        (7, "00000;-00000", "00007"),
        (7, 49, "7"),
        (7, 1, "7"),
        (7, 0, "7"),
        (0.5, 0, "0.5"),
        (491570156, "#", "491570156"),
        (999, 3, "999"),
        (12.34, 2, "12.34"),
        (12, "0.##;-0.##;0;@", None),
        (-7, "0;-0", "-7"),
        (7, 41, "7"),
        (7, 9, None),
        (0.5, 9, None),
        (0.125, 10, None),
        (1234, 3, None),
        (1234.5, 4, None),
        (12, 2, None),
        (12.345, 2, None),
        (0.5, 1, None),
        (1234567, 11, None),
        (0.5, 12, None),
        (7, 59, None),
        (7, 44, None),
        (7, '"Level "0', None),
        (7, '0" kg"', None),
        (7, "\\+0", None),
        (491570156, "00000 000000", None),
        (491570156, "0000-000-000", None),
        (1234567, "[<=9999999]###-####;(###) ###-####", None),
        (-7, "00000", None),
        (-7, "0;(0)", None),
        (-7, "0;0", None),
        (12000, "0,", None),
        (7, ";;;", None),
        (7, '"hidden"', None),
        (0, "#", None),
        (7, "[DBNum1]0", None),
        (7, "[$€-407]0", None),
        (7, "??0", None),
    ],
)
def test_a_number_counts_as_its_format_shows_it_or_cannot_be_taken(
    project: Project, value: float, code: str | int, text: str | None
) -> None:
    """00007 became 7, 50 % became 0.5, and no CSV file of the same sheet says so."""
    project.write("manifests/staff.xlsx", staff(number(value), code))
    project.manifest(MANIFEST)

    loaded = project.load()

    if text is None:
        (problem,) = loaded.problems
        assert (problem.file, problem.line, problem.column) == ("manifests/staff.xlsx!Staff", 2, 4)
        assert "the cell contains a number that its format shows differently" in problem.what
        assert str(value) not in problem.what.replace(str(code), "")
    else:
        assert loaded.problems == ()
        assert loaded.manifests[0].documents[0].fields["custom.badge"] == text


@pytest.mark.parametrize(
    ("code", "as_it_is"),
    [
        ("@", True),
        ("General", True),
        ("00000", True),
        ("0;-0;0;@", True),
        ('"Mr "@', False),
        (";;;", False),
        ('0;0;0;"x"', False),
        ("@@", False),
    ],
)
def test_a_text_that_its_format_changes_cannot_be_taken(code: str, *, as_it_is: bool) -> None:
    """A format may hide a text, or write words around it."""
    cell = Raw('<c r="{at}" s="1" t="inlineStr"><is><t>Kim</t></is></c>')
    table = read_sheet(staff(cell, code), "staff.xlsx", "")

    assert shows_texts(code) is as_it_is
    assert (table.unusable == {}) is as_it_is
    assert table.rows[0][1][3] == "Kim" or not as_it_is


def test_the_style_of_a_cell_without_one_is_the_first(project: Project) -> None:
    styles = STYLES.replace('<cellXfs count="3"><xf numFmtId="0"/>', '<cellXfs count="3"><xf numFmtId="9"/>')
    rows: Rows = [HEADER, ("1", "Kim", "kim@example.com", 0.5)]
    project.write("manifests/staff.xlsx", package({"Staff": sheet(rows)}, styles=styles))
    project.manifest(MANIFEST)

    (problem,) = project.load().problems

    assert "(0%)" in problem.what


def test_what_nobody_takes_may_have_any_format(project: Project) -> None:
    """A sheet of an HR system has salaries."""
    project.write("manifests/staff.xlsx", staff(number(1234), 4))
    project.manifest(MANIFEST.replace(', custom: {badge: "{Badge}"}', ""))

    assert project.load().problems == ()


def test_a_cell_that_is_empty_may_have_any_format(project: Project) -> None:
    project.write("manifests/staff.xlsx", staff(Raw('<c r="{at}" s="1"/>'), 9))
    project.manifest(MANIFEST)

    assert project.load().problems == ()


def test_a_format_that_is_no_format_shows_nothing() -> None:
    """Styles may be damaged, or be of another program."""
    for code in ('"', "[", "\\", "0;;;;;;0", "_", "*", "", "0" * 400, "#" * 400, "0." + "0" * 400):
        for value in (7, -7, 0, 1e14, 0.1):
            assert (
                format_number(value, "no number", code) in (None, "0" * 399 + "7", "0" * 400)
                or code[0] == "0"
            )


def test_a_header_that_is_shown_in_another_way_is_told(tmp_path: Path) -> None:
    """The header counts as a row: what names a column has to be what people see."""
    rows: Rows = [(Raw('<c r="{at}" s="1"><v>0.5</v></c>'), "First"), ("1", "Kim")]
    table = read_sheet(package({"S": sheet(rows)}, styles=styled(9)), str(tmp_path / "s.xlsx"), "")

    assert list(table.unusable) == [1]


def test_no_format_takes_long() -> None:
    """Whoever wrote the file wrote it. Read by going back over itself, this one takes years."""
    code = "_" * 40 + '"'
    script = (
        "from reconciler.manifest.rosters.xlsx_workbook import format_number; "
        f"print(format_number(1.0, '1', {code!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=patience_s, check=True
    )

    assert done.stdout.strip() == "None"


@pytest.mark.parametrize("code", ['"', '0"', '@"', "@[", "0[Red", '@_;"', '0;0;0;@"', "\\"])
def test_a_format_that_is_not_closed_shows_nobody_knows_what(code: str) -> None:
    """No program writes it, and each that reads it shows something else."""
    assert format_number(1.0, "1", code) is None
    assert not shows_texts(code)


def test_a_format_of_what_is_shown_under_a_condition_is_none_of_a_cell() -> None:
    """It has numbers of its own: 7 with the format 00000 would be 7, and another person's number."""
    styles = (
        '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="00000"/></numFmts>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="164"/></cellXfs>'
        '<dxfs><dxf><numFmt numFmtId="164" formatCode="General"/></dxf></dxfs></styleSheet>'
    )
    rows = sheet([("ID", "Name"), (Raw('<c r="{at}" s="1"><v>7</v></c>'), "Jane")])

    assert read_sheet(package({"S": rows}, styles=styles), "staff.xlsx", "").rows == ((2, ["00007", "Jane"]),)
