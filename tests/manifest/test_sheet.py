"""Rosters that are spreadsheets: the same people as the same roster in CSV, or a mistake with its place."""

import csv
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import effort
import pytest
import tally
from hypothesis import given
from hypothesis import strategies as st
from manifest.project import Project
from manifest.spreadsheets import Cell, Raw, dated, error, formula, package, sheet, spreadsheet

from reconciler.errors import Problem
from reconciler.files.project_files import Unreadable
from reconciler.manifest.rosters.roster_sources import read_roster
from reconciler.manifest.rosters.table import RosterTable, read_csv
from reconciler.manifest.rosters.xlsx_package import UNPACKED_MAX
from reconciler.model.documents import COLUMNS_MAX

EXPORT = Path(__file__).with_name("hr-export.csv")
ROSTER = """rosters:
  - file: staff.xlsx
    name: "{ID}"
    contacts:
      firstName: "{First}"
      workMobilePhone1: "{Phone}"
      meta: {tags: {team: "{Team}"}}
"""
HEADER = ("ID", "First", "Phone", "Team", "Hired")
JANE = ("1", "Jane", "+61491570156", "Ops", "x")


def _written(project: Project, data: bytes, manifest: str = ROSTER) -> None:
    project.write("manifests/staff.xlsx", data)
    project.manifest(manifest)


def _told(project: Project) -> list[tuple[str, str]]:
    return [(problem.where, problem.what) for problem in project.load().problems]


def _read(data: bytes, wanted: str = "") -> RosterTable:
    return read_roster(data, "staff.xlsx", wanted)


def test_the_hr_export_is_the_same_people_as_a_spreadsheet() -> None:
    """Who saves the export in another form has changed nobody."""
    table = read_csv(EXPORT.read_bytes(), "staff.xlsx!Staff")
    rows = [table.header, *(cells for _, cells in table.rows)]

    assert _read(spreadsheet(rows)) == table


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=8)


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=6))
def test_texts_come_as_they_are(rows: list[tuple[str, str, str]]) -> None:
    """Spaces, ampersands, signs of formulas: what CSV says of a cell is what a spreadsheet says of it."""
    held = io.StringIO()
    csv.writer(held).writerows([("ID", "First", "Mail"), *rows])
    data = spreadsheet([("ID", "First", "Mail"), *rows])

    assert _read(data).rows == read_csv(held.getvalue().encode(), "").rows


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (7.0, "7"),
        (-7, "-7"),
        (2.5, "2.5"),
        (61491570156, "61491570156"),
        (999_999_999_999_999, "999999999999999"),
        (True, "true"),
        (False, "false"),
        (None, ""),
        ("007", "007"),
    ],
)
def test_a_cell_is_the_text_that_it_shows(value: Cell, text: str) -> None:
    """A number that is whole has no point: it is an employee's number, or a telephone's."""
    ((number, cells),) = _read(spreadsheet([("ID", "Value"), ("a", value)])).rows

    assert (number, cells) == (2, ["a", text])


@pytest.mark.parametrize(
    ("cell", "held"),
    [
        (formula("A1"), "a formula"),
        (formula("A1", "+61491570156"), "a formula"),
        (Raw('<c r="{at}" t="str"><f t="shared" si="0"/><v>x</v></c>'), "a formula"),
        (Raw('<c r="{at}">\n<f>1</f></c>'), "a formula"),
        (error("#N/A"), "an error"),
        (error("#REF!"), "an error"),
        (Raw("<c r=\"{at}\" t = 'e' ><v>#NUM!</v></c>"), "an error"),
        (dated(46082), "a date"),
        (dated(46082.5), "a date"),
        (dated(0.5, style=2), "a time"),
        (1e15, "a number of more than 15 digits"),
        (-12345678901234567890, "a number of more than 15 digits"),
    ],
)
def test_what_may_not_be_used_is_told_where_it_is_taken(project: Project, cell: Cell, held: str) -> None:
    """The library tells an error as an empty cell: a telephone number would silently be nobody's any more."""
    _written(project, spreadsheet([HEADER, JANE, ("2", "Sam", cell, "Ops", "x")]))
    what = f"the cell contains {held}; expected one text."

    assert _told(project) == [("manifests/staff.xlsx!Staff:3:3", what)]
    assert list(project.load().manifests[0].documents[1].unread) == ["workMobilePhone1"]


@pytest.mark.parametrize("cell", [formula("TODAY()"), error("#N/A"), dated(46082), 1e20])
def test_what_nobody_takes_is_no_mistake(project: Project, cell: Cell) -> None:
    """A sheet of an HR system has the day on which somebody was hired."""
    _written(project, spreadsheet([HEADER, (*JANE[:4], cell)]))

    assert _told(project) == []
    assert list(project.documents()) == ["1"]


@pytest.mark.parametrize("column", [0, 3])
def test_a_name_or_a_tag_is_not_made_of_what_may_not_be_used(project: Project, column: int) -> None:
    """Each cell is told once, whatever takes from it."""
    row: list[Cell] = list(JANE)
    row[column] = formula("A1", "x")
    _written(project, spreadsheet([HEADER, row]))

    what = "the cell contains a formula; expected one text."
    assert _told(project) == [(f"manifests/staff.xlsx!Staff:2:{column + 1}", what)]


def test_a_row_of_nothing_but_formulas_is_somebody(project: Project) -> None:
    """Without results it looks empty. Taken for no row, whoever it is would be deleted."""
    _written(project, spreadsheet([HEADER, [formula("A1") for _ in HEADER], JANE]))

    assert [where for where, _ in _told(project)] == [
        f"manifests/staff.xlsx!Staff:2:{n}" for n in (1, 2, 3, 4)
    ]


@pytest.mark.parametrize("cell", [formula("A1"), error("#N/A")])
def test_what_looks_empty_at_the_end_of_a_sheet_is_told(project: Project, cell: Cell) -> None:
    """For the library a sheet ends where nothing follows that has a result: these two would be gone."""
    rows = [HEADER, JANE, ("2", "Sam", cell, "", ""), [cell for _ in HEADER], (cell,)]
    _written(project, spreadsheet(rows))

    assert [where.split(":")[1] for where, _ in _told(project)] == ["3", "4", "4", "4", "4", "5"]


def test_a_formula_beyond_the_header_has_no_column(project: Project) -> None:
    _written(project, spreadsheet([HEADER, (*JANE, None, formula("A1"))]))

    assert _told(project) == [("manifests/staff.xlsx!Staff:1:7", "a column has no name.")]


def test_empty_cells_behind_the_table_are_no_columns(project: Project) -> None:
    """A column that was cleared, and not deleted, belongs to the used area for ever."""
    _written(project, spreadsheet([(*HEADER, " "), (*JANE, None, "\u00a0")]))

    assert _told(project) == []


@pytest.mark.parametrize(
    ("xml", "held"),
    [
        ('<c r="{at}"><!-- --><f>1</f><v>1</v></c>', "a formula"),
        ('<c r="{at}" x=">"><f>1</f><v>1</v></c>', "a formula"),
        ('<c x="1"\tr="{at}"\n><v>1</v><f/></c>', "a formula"),
        ('<c r="{at}" x=">" t="e"><v>#N/A</v></c>', "an error"),
        ("<c t='&#101;' r='{at}'><v>#N/A</v></c>", "an error"),
        ('<c r="{at}" t="e"><is><t>x</t></is></c>', "text and something else"),
        ('<c r="{at}" t="d"><is><t>x</t></is></c>', "text and something else"),
        ('<c r="{at}"><is><t>x</t></is></c>', "text and something else"),
        ('<c r="{at}" t="inlineStr"><v>y</v><is><t>x</t></is></c>', "text and something else"),
        ('<c r="{at}"><v>nan</v></c>', "an invalid number"),
        ('<c r="{at}"><v>1_0</v></c>', "an invalid number"),
        (f'<c r="{{at}}"><v>{"1" * 5000}</v></c>', "an invalid number"),
        ('<c r="{at}" t="str"><v>' + "x" * 40_000 + "</v></c>", "a text of more than 32,767 characters"),
        (
            '<c r="{at}" t="inlineStr"><is><r><t>' + "x" * 40_000 + "</t></r></is></c>",
            "a text of more than 32,767 characters",
        ),
    ],
)
def test_no_spelling_of_xml_hides_what_a_cell_holds(project: Project, xml: str, held: str) -> None:
    """A comment, an attribute of a program's own or a reference to a letter changes no cell."""
    _written(project, spreadsheet([HEADER, JANE, ("2", "Sam", Raw(xml), "Ops", "x")]))

    what = f"the cell contains {held}; expected one text."
    assert _told(project) == [("manifests/staff.xlsx!Staff:3:3", what)]


@pytest.mark.parametrize(
    ("xml", "text"),
    [
        ("<c r='{at}'><v>1</v></c>", "1"),
        ('<c t="n" r="{at}"><v> 1 </v></c>', "1"),
        ('<c\tr="{at}"><v>1</v></c>', "1"),
        ('<c r="{at}"><v>&#49;</v></c>', "1"),
        ('<c r="{at}" t="str"><v>a<![CDATA[<b>]]>c</v></c>', "a<b>c"),
        ('<c r="{at}" t="str"><v>a_x0042__x005F_x0043_</v></c>', "aB_x0043_"),
        ('<c r="{at}" t="str"><v>_xD83D_</v></c>', "_xD83D_"),
        ('<c r="{at}" t="inlineStr"><is><r><t>a </t></r><r><rPr><b/></rPr><t>b</t></r></is></c>', "ab"),
        ('<c r="{at}" t="inlineStr"><is><t>a</t><rPh sb="0" eb="1"><t>b</t></rPh></is></c>', "a"),
        ('<c r="{at}" t="inlineStr"><is><t xml:space="preserve"> a </t></is></c>', " a "),
        ('<c r="{at}" t="str"><v>a</v><extLst><ext><c r="B2"><v>9</v></c></ext></extLst></c>', "a"),
    ],
)
def test_any_spelling_of_xml_is_read(xml: str, text: str) -> None:
    """Other programs write other quotes, order and runs of the same cell."""
    rows = _read(spreadsheet([("a", "b"), ("x", Raw(xml))])).rows

    assert rows == ((2, ["x", text]),)


def test_a_sheet_with_a_prefix_is_read() -> None:
    """Some programs give every element a prefix."""
    text = sheet([HEADER, JANE]).replace("xmlns=", "xmlns:x=")
    text = text.replace("</", "</x:").replace("<", "<x:").replace("<x:/x:", "</x:")

    assert _read(package({"S": text})).rows == ((2, list(JANE)),)


@pytest.mark.parametrize(
    "rows",
    [
        '<row r="2"><c r="A2"><v>1</v></c></row><row r="2"><c r="B2"><v>2</v></c></row>',
        '<row r="3"><c r="A3"><v>1</v></c></row><row r="2"><c r="A2"><v>2</v></c></row>',
        '<row r="2"><c r="A2"><v>1</v></c><c r="A2"><v>2</v></c></row>',
        '<row r="2"><c r="B2"><v>1</v></c><c r="A2"><v>2</v></c></row>',
        '<row><c r="A2"><v>1</v></c></row><row><c r="A2"><v>2</v></c></row>',
    ],
)
def test_a_cell_that_is_there_twice_is_nobodys(rows: str) -> None:
    """One program shows the first of them, another one the last: people would be read whom nobody sees."""
    head = '<row r="1"><c r="A1" t="str"><v>ID</v></c></row>'

    with pytest.raises(Unreadable, match="out of order"):
        _read(package({"S": f"<worksheet><sheetData>{head}{rows}</sheetData></worksheet>"}))


_HEAD = '<row r="1"><c r="A1" t="str"><v>ID</v></c><c r="B1" t="str"><v>Name</v></c></row>'


def _of_rows(rows: str, **parts: str) -> bytes:
    return package({"S": f"<worksheet><sheetData>{_HEAD}{rows}</sheetData></worksheet>"}, **parts)


@pytest.mark.parametrize(
    "first",
    [
        '<c r="A2" t="s"><v>0</v><is><t>Jane</t></is></c>',
        '<c r="A2" t="str"><v>0</v><is><t>Jane</t></is></c>',
        '<c r="A2" t="e"><v>0</v><is><r><t>Jane</t></r></is></c>',
        '<c r="A2"><f>1</f><is><t>Jane</t></is></c>',
    ],
)
def test_no_text_of_a_cell_gets_into_the_next_one(first: str) -> None:
    """A cell that is empty would be somebody else's name or number."""
    data = _of_rows(f'<row r="2">{first}<c r="B2"/></row>', sharedStrings="<sst><si><t>1</t></si></sst>")

    assert [cells[1] for _, cells in _read(data).rows] == [""]


@pytest.mark.parametrize("number", ["-1", "1_0", "\u0661", "+1", "1.0", "1e0", "\u00b2", "99"])
def test_the_number_of_a_shared_text_is_in_plain_digits(number: str) -> None:
    """Counted back from the end, or read with other digits, it would be the text of somebody else."""
    texts = f"<sst>{'<si><t>x</t></si>' * 12}</sst>"

    with pytest.raises(Unreadable, match="is damaged"):
        _read(_of_rows(f'<row r="2"><c r="A2" t="s"><v>{number}</v></c></row>', sharedStrings=texts))


@pytest.mark.parametrize(
    "texts",
    ["<x/><si><t>a</t></si>", "<t>b</t><si><t>a</t></si>", "<y:si><t>b</t></y:si><si><t>a</t></si>"],
)
def test_what_is_no_shared_text_moves_none_of_them(texts: str) -> None:
    """Cells name them by their number, so one more before them gives everybody the text of another."""
    with pytest.raises(Unreadable, match="is damaged"):
        _read(_of_rows('<row r="2"><c r="A2" t="s"><v>0</v></c></row>', sharedStrings=f"<sst>{texts}</sst>"))


def test_what_follows_the_shared_texts_is_none() -> None:
    """Programs write extensions behind them, with texts of their own."""
    texts = "<sst><si><t>a</t></si><extLst><ext><t>b</t></ext></extLst></sst>"

    rows = _read(_of_rows('<row r="2"><c r="A2" t="s"><v>0</v></c></row>', sharedStrings=texts)).rows

    assert rows == ((2, ["a", ""]),)


@pytest.mark.parametrize(
    "rows",
    [
        '<m:Alternate><row r="2"><c r="A2"><v>1</v></c></row></m:Alternate>',
        '<x:row r="2"><x:c r="A2"><x:v>1</x:v></x:c></x:row>',
        '<row r="2"><x:c r="A2"><v>1</v></x:c></row>',
        '<row r="2"><c r="A2"><x:v>1</x:v></c></row>',
        '<row r="2"><c r="A2" t="inlineStr"><x:is><t>1</t></x:is></c></row>',
        '<row r="2"><c r="A2" t="inlineStr"><is><x:t>1</x:t></is></c></row>',
        '<row r="2"><c r="A2" t="inlineStr"><is><t>1</t></is><is><t>2</t></is></c></row>',
        '<row r="2"><c r="A2" t="str"><v>1<v>2</v></v></c></row>',
        '<row r="2"><c r="A2" t="str"><v>1<b/>2</v></c></row>',
    ],
)
def test_nobody_is_passed_over_for_a_name_that_is_not_known(rows: str) -> None:
    """Left out in silence, whoever stands in that row would be deleted."""
    with pytest.raises(Unreadable, match="is damaged"):
        _read(_of_rows(f'{rows}<row r="3"><c r="A3"><v>3</v></c></row>'))


def test_a_part_that_is_no_sheet_is_not_read_as_one() -> None:
    """Its relation says that it is one."""
    with pytest.raises(Unreadable, match="is damaged"):
        _read(package({"S": f"<table><sheetData>{_HEAD}</sheetData></table>"}))


@pytest.mark.parametrize(
    ("formula_of", "computed"),
    [
        ('t="array" ref="A2:B3"', {2: {0, 1}, 3: {0, 1}}),
        ('t="array" ref="A2:A3"', {2: {0}, 3: {0}}),
        ('t="dataTable" ref="A2:A4"', {2: {0}, 3: {0}, 4: {0}}),
        ('t="array" ref="A2:XFD2"', {2: {0, 1}}),
        ('t="array" ref="A2"', {2: {0}}),
        ('t="array" ref="A2:A2"', {2: {0}}),
        ('t="shared" ref="A2:B4"', {2: {0}}),
    ],
)
def test_the_results_of_a_formula_of_several_cells_are_computed_too(
    formula_of: str, computed: dict[int, set[int]]
) -> None:
    """Only the first of its cells says so; the others look like values that somebody has typed."""
    rest = "".join(
        f'<row r="{at}"><c r="A{at}"><v>3</v></c><c r="B{at}" t="s"><v>0</v></c></row>' for at in (3, 4)
    )
    first = f'<row r="2"><c r="A2"><f {formula_of}>X1</f><v>1</v></c><c r="B2" t="s"><v>0</v></c></row>'

    table = _read(_of_rows(first + rest, sharedStrings="<sst><si><t>Jane</t></si></sst>"))

    assert {row: set(cells) for row, cells in table.unusable.items()} == computed
    assert {one for cells in table.unusable.values() for one in cells.values()} == {"a formula"}


@pytest.mark.parametrize("ref", ["", "B", "A2:", "A2:B", "$A$2:$B$3", "A2:B3:C4", "A0:B2"])
def test_a_formula_of_cells_that_nobody_can_tell_is_refused(ref: str) -> None:
    """Which of the cells behind it are computed is not known."""
    with pytest.raises(Unreadable, match="is damaged"):
        _read(_of_rows(f'<row r="2"><c r="A2"><f t="array" ref="{ref}">X1</f><v>1</v></c></row>'))


def test_formulas_of_several_cells_are_limited_beside_each_other_and_not_below() -> None:
    """Each cell is compared with those that reach its row."""

    def array(at: int, last: int, columns: int = 1) -> str:
        cells = "".join(
            f'<c r="{name}{at}"><f t="array" ref="{name}{at}:{name}{last}">1</f><v>1</v></c>'
            for name in [chr(65 + one) + letter for one in range(3) for letter in "ABCDEFGHIJKLMNOPQRST"][
                :columns
            ]
        )
        return f'<row r="{at}">{cells}</row>'

    assert len(_read(_of_rows("".join(array(at, at + 1) for at in range(2, 3000)))).unusable) == 2998
    with pytest.raises(Unreadable, match="array formulas"):
        _read(_of_rows(array(2, 9, 60)))


@pytest.mark.parametrize("place", ["xl/Worksheets/Sheet1.XML", "XL/worksheets/sheet1.xml"])
def test_names_of_parts_are_the_same_in_any_case(place: str) -> None:
    """Programs that run on Windows write the list and the parts by different hands."""
    assert _read(_moved("xl/worksheets/sheet1.xml", place)).rows == ((2, list(JANE)),)


def test_two_parts_that_differ_in_case_are_one_that_is_there_twice() -> None:
    """Other programs take the first of them, or the last."""
    held = io.BytesIO(package({"S": sheet([HEADER, JANE])}))
    with zipfile.ZipFile(held, "a") as file:
        file.writestr("xl/Worksheets/sheet1.xml", sheet([HEADER]))

    with pytest.raises(Unreadable, match="twice"):
        _read(held.getvalue())


@pytest.mark.parametrize("place", ["xl/sheet2.xml", "xl/data/sheet2.xml", "elsewhere/sheet2.xml", ""])
def test_a_sheet_counts_in_whatever_folder_it_is(place: str) -> None:
    """Left out, the one beside it would be the only one, and taken without a word."""
    data = _moved("xl/worksheets/sheet2.xml", place, {"S": sheet([HEADER]), "T": sheet([HEADER, JANE])})
    data = _related_to(data, "worksheets/sheet2.xml", f"/{place or 'xl/worksheets/sheet2.xml'}")

    with pytest.raises(Unreadable, match="has 2 visible sheets"):
        _read(data)
    if place:
        assert len(_read(data, "T").rows) == 1
    else:
        with pytest.raises(Unreadable, match="is damaged"):
            _read(data, "T")


def test_a_chart_beside_the_sheet_is_none() -> None:
    """It has a tab, and no cells."""
    data = package({"S": sheet([HEADER, JANE]), "Chart": "<chartsheet/>"})
    data = _edited(
        data, "xl/_rels/workbook.xml.rels", 'worksheet" Target="worksheets/sheet2', 'chartsheet" Target="c/s2'
    )

    assert len(_read(data).rows) == 1


def test_two_parts_of_one_id_are_nobodys() -> None:
    """One program takes the first, another one the last."""
    data = package({"S": sheet([HEADER, JANE]), "T": sheet([HEADER])})
    data = _edited(data, "xl/_rels/workbook.xml.rels", '"rId2"', '"rId1"')

    with pytest.raises(Unreadable, match="two parts with the same id"):
        _read(data, "S")


def _edited(data: bytes, part: str, old: str, new: str) -> bytes:
    """The same file with another text in one of its parts."""
    held = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(held, "w") as file:
        for name in before.namelist():
            text = before.read(name).decode()
            assert name != part or old in text
            file.writestr(name, text.replace(old, new) if name == part else text)
    return held.getvalue()


def _related_to(data: bytes, old: str, new: str) -> bytes:
    return _edited(data, "xl/_rels/workbook.xml.rels", old, new)


def _moved(part: str, place: str, sheets: dict[str, str] | None = None) -> bytes:
    """A file of which a part has another name, or is not there."""
    held = io.BytesIO()
    data = package(sheets or {"S": sheet([HEADER, JANE])})
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(held, "w") as file:
        for name in before.namelist():
            if name != part or place:
                file.writestr(place if name == part else name, before.read(name))
    return held.getvalue()


def test_a_cell_beyond_the_last_row_is_refused() -> None:
    """No spreadsheet has it, and whoever counts up to it counts for long."""
    text = '<row><c r="A1048577"><f>1</f></c></row>'
    with pytest.raises(Unreadable, match="beyond 1,048,576"):
        _read(package({"S": f"<worksheet><sheetData>{text}</sheetData></worksheet>"}))


def test_rows_count_as_the_spreadsheet_counts_them(project: Project) -> None:
    """Empty rows above the header and among the people declare nothing, and are counted."""
    _written(project, spreadsheet([(), (), HEADER, (), JANE, (None, "  "), ("2", "Sam", "1", "Ops", "")]))

    assert [one.place.line for one in project.documents().values()] == [5, 7]


def test_merged_cells_are_told_one_by_one(project: Project) -> None:
    """All but the first are empty, whatever they show: their people would lose what stands there."""
    _written(project, spreadsheet([HEADER, JANE], merged=["B2:C2", "D2:D9"]))

    assert [where for where, _ in _told(project)] == [f"manifests/staff.xlsx!Staff:2:{n}" for n in (2, 4)]


UNSAID = "visible sheets; the manifest must name one. | add `sheet:` with one of"
SHEETS = {"Staff": sheet([HEADER, JANE]), "Old": sheet([("x",)]), "Night & day": sheet([("y",)])}


@pytest.mark.parametrize(
    ("hidden", "wanted", "found"),
    [
        (("Old", "Night & day"), "", "Staff"),
        ((), "Staff", "Staff"),
        ((), "Night & day", "Night & day"),
        (
            (),
            "",
            f"has 3 {UNSAID}: Staff, Old, Night & day",
        ),
        (("Old",), "Old", "the sheet 'Old' of staff.xlsx is hidden. | unhide it, so that reviews see it"),
        (
            ("Old",),
            "",
            f"has 2 {UNSAID}: Staff, Night & day",
        ),
        ((), "staff", "has no sheet 'staff'. | its sheets are: Staff, Old, Night & day"),
        (tuple(SHEETS), "", f"has 0 {UNSAID}: "),
    ],
)
def test_the_sheet_is_the_one_that_is_meant(hidden: tuple[str, ...], wanted: str, found: str) -> None:
    """The first one may be an old one; who reads it deletes whoever came since."""
    data = package(SHEETS, hidden=hidden)
    try:
        told = _read(data, wanted).file.removeprefix("staff.xlsx!")
    except Unreadable as refused:
        told = f"{refused} | {refused.hint}".removeprefix("staff.xlsx ")

    assert told == found


def test_each_entry_may_take_its_own_sheet(project: Project) -> None:
    data = package({"Day": sheet([HEADER, JANE]), "Night": sheet([HEADER, ("2", "Sam", "", "", "")])})
    entry = ROSTER.removeprefix("rosters:\n")
    both = "".join(entry.replace("    name:", f"    sheet: {name}\n    name:") for name in ("Day", "Night"))
    _written(project, data, "rosters:\n" + both)

    assert _told(project) == []
    assert [(name, one.place.file) for name, one in project.documents().items()] == [
        ("1", "manifests/staff.xlsx!Day"),
        ("2", "manifests/staff.xlsx!Night"),
    ]


class Writing(dict[str, str]):
    """Variables, of which reading one has an effect."""

    def __init__(self, effect: Callable[[], object]) -> None:
        super().__init__(TITLE="Porter")
        self._effect = effect

    def __getitem__(self, name: str) -> str:
        self._effect()
        return super().__getitem__(name)


def test_two_sheets_are_of_one_file(project: Project) -> None:
    """Who is on one sheet before a change and on the other after it would be there twice, or not at all."""
    before = package({"Day": sheet([HEADER, JANE]), "Night": sheet([HEADER, ("2", "Sam", "", "", "")])})
    after = package({"Day": sheet([HEADER]), "Night": sheet([HEADER, JANE])})
    _written(project, before, ROSTER.replace("    name:", "    sheet: Day\n    name:"))
    later = ROSTER.replace("    name:", "    sheet: Night\n    name:")
    project.manifest(f"contacts: {{7: {{firstName: Ann, jobTitle: '${{env:TITLE}}'}}}}\n{later}", "p.yaml")
    project.environ = Writing(lambda: project.write("manifests/staff.xlsx", after))
    project.variables = ["TITLE"]

    assert _told(project) == [
        ("manifests/p.yaml:5:5", "the roster manifests/staff.xlsx was changed while it was read."),
    ]


def test_a_sheet_of_a_csv_is_a_mistake(project: Project) -> None:
    project.write("manifests/staff.csv", "ID\n1\n")
    project.manifest('rosters: [{file: staff.csv, sheet: Day, name: "{ID}", contacts: {}}]')

    assert _told(project) == [
        ("manifests/ops.yaml:3:29", "`sheet` is for .xlsx files; this roster has none.")
    ]


@pytest.mark.parametrize("name", ["staff.xls", "staff.ods", "STAFF.XLSM"])
def test_other_spreadsheets_are_named_as_such(name: str) -> None:
    with pytest.raises(Unreadable, match="unsupported spreadsheet format"):
        read_roster(b"\xd0\xcf\x11\xe0", name, "")


FAR = sheet([[f"c{at}" for at in range(COLUMNS_MAX)]]).replace(
    "</sheetData>",
    "".join(f'<row r="{at}"><c r="XFD{at}"><v>1</v></c></row>' for at in range(2, 1000)) + "</sheetData>",
)
HOSTILE = {
    "nothing": b"",
    "no zip": b"PK\x03\x04 and nothing else",
    "a zip of something else": package({}),
    "far apart": package({"S": FAR}),
    "unplaced": package({"S": "<worksheet><sheetData><row><c><v>1</v></c></row></sheetData></worksheet>"}),
    "in small letters": package({"S": sheet([[Raw('<c r="a1" t="e"><v>#N/A</v></c>')]])}),
    "beyond all rows": package({"S": sheet([[Raw('<c r="A10485779"><v>1</v></c>')]])}),
    "behind a long number": package({"S": sheet([[Raw(f'<c r="A{"9" * 5000}"><v>1</v></c>')]])}),
    "in no column": package({"S": sheet([[Raw('<c r="XFE1"><v>1</v></c>')]])}),
    "in another row": package({"S": sheet([[Raw('<c r="A2"><v>1</v></c>')]])}),
    "of no type": package({"S": sheet([[Raw('<c r="{at}" t="zz"><v>1</v></c>')]])}),
    "with two values": package({"S": sheet([[Raw('<c r="{at}"><v>1</v><v>2</v></c>')]])}),
    "of a text that is not there": package({"S": sheet([[Raw('<c r="{at}" t="s"><v>7</v></c>')]])}),
    "a cell in a cell": package({"S": sheet([[Raw('<c r="{at}"><c r="B1"><v>1</v></c></c>')]])}),
    "cells that never close": package({"S": "<worksheet><sheetData>" + '<c r="A1" ' * 20_000}),
    "an entity": package({"S": sheet([[Raw('<c r="{at}" t="str"><v>&a;</v></c>')]])}),
    "a document type in the sheet": package(
        {"S": ""}, sheet1="<!DOCTYPE a [<!ENTITY a 'b'>]>" + sheet([HEADER])
    ),
    "utf-16": package({"S": sheet([HEADER])}, sheet1=sheet([HEADER]).encode("utf-16")),
    "latin": package(
        {"S": ""}, sheet1=b"<?xml version='1.0' encoding='latin-1'?>" + sheet([HEADER]).encode()
    ),
    "no xml": package({"S": "<worksheet><sheetData><row"}),
    "a document type": package({"S": sheet([HEADER])}, workbook="<!DOCTYPE x [<!ENTITY a 'b'>]><workbook/>"),
    "a list of no sheets": package({"S": sheet([HEADER])}, workbook="<workbook/>"),
    "an unseen name": package({"a\u202eb": sheet([HEADER])}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_a_sentence(project: Project, name: str) -> None:
    """Nothing of it is believed, nothing is set aside for it, and no other file is hidden by it."""
    _written(project, HOSTILE[name])

    told = _told(project)

    assert len(told) == 1, told
    assert told[0][1].startswith("the roster ")
    loaded = project.load()
    assert [one.code for one in loaded.problems] == ["E511"]
    assert loaded.documents == 0
    tally.count("bad inputs", "spreadsheets")


def test_a_file_that_unpacks_beyond_the_limit_is_not_unpacked() -> None:
    """2 GiB come of 2 MiB. What a header says is believed, and no byte more is unpacked than it says."""
    data = bytearray(package({"S": sheet([HEADER])}))
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as file:
        size = file.getinfo("xl/worksheets/sheet1.xml").file_size
    large = data.replace(size.to_bytes(4, "little"), (UNPACKED_MAX + 1).to_bytes(4, "little"))
    with pytest.raises(Unreadable, match=f"more than {UNPACKED_MAX:,} bytes when it is unpacked"):
        _read(bytes(large))

    short = data.replace(size.to_bytes(4, "little"), (10).to_bytes(4, "little"))
    with pytest.raises(Unreadable, match="is damaged"):
        _read(bytes(short))


def test_empty_cells_between_are_limited_by_those_that_hold_something() -> None:
    """A column far off makes every row as wide as it: of 1,000 cells would come 16 million."""
    with pytest.raises(Unreadable, match="a used area that is almost empty"):
        _read(HOSTILE["far apart"])


LARGE = 34 * 1024 * 1024  # bytes, more than are unpacked whatever their number is
SHARED = "<sst><si><t>" + "y" * 30_000 + "</t></si></sst>"


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (package({"S": sheet([HEADER]) + " " * LARGE}), "unpacks to more than 100 times its size"),
        (
            package({"S": sheet([HEADER]).replace("</w", "<x/>" * 3_000_000 + "</w")}),
            "contains more cells and markup than its size",
        ),
        (
            package({"S": f"<worksheet><!--{'x' * 2_000_000}--></worksheet>"}),
            "a tag or a comment of more than",
        ),
        (package({"S": f"<worksheet>{'<x>' * 200}"}), "has more than 100 elements inside each other"),
        (
            package({"S": sheet([HEADER])}) + b"PK\x01\x02" * 10_001,
            "has more than 10,000 parts",
        ),
        (
            package(
                {"S": sheet([HEADER, *[(Raw('<c r="{at}" t="s"><v>0</v></c>'),)] * 500])},
                sharedStrings=SHARED,
            ),
            "shows more than",
        ),
    ],
)
def test_what_a_small_file_may_ask_for_is_limited(data: bytes, what: str) -> None:
    """Each of them is smaller than a photograph, and would take gigabytes or minutes."""
    assert len(data) < 200_000
    with pytest.raises(Unreadable, match=what):
        _read(data)


def test_a_part_that_is_there_twice_is_not_read() -> None:
    """One program reads the first, another one the last: a review would see other people than we do."""
    held = io.BytesIO(package({"S": sheet([HEADER, JANE])}))
    with zipfile.ZipFile(held, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr("xl/worksheets/sheet1.xml", sheet([HEADER]))

    with pytest.raises(Unreadable, match=r"has the part xl/worksheets/sheet1\.xml twice"):
        _read(held.getvalue())


def test_what_some_program_touched_and_left_empty_takes_nothing() -> None:
    """Who once formatted the last cell of a sheet has as many people as before."""
    far = '<row r="1048576"><c r="XFD1048576" s="1"/></row></sheetData>'
    data = package({"S": sheet([HEADER, JANE]).replace("</sheetData>", far)})

    assert _read(data).rows == ((2, list(JANE)),)


def test_no_damage_ends_otherwise_than_in_a_table_or_a_sentence() -> None:
    """Bytes that are others, or are missing, wherever they are: packed and unpacked."""
    tried, chance = effort.count(small=60, full=1_500), Random(20261124)
    whole = package({"S": sheet([HEADER, JANE, ("2", "Sam", formula("A1"), dated(46082), error("#N/A"))])})
    with zipfile.ZipFile(io.BytesIO(whole)) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    for _ in range(tried):
        if chance.random() < 0.3:
            data = _damaged(whole, chance)
        else:
            held, hit = io.BytesIO(), chance.choice(list(parts))
            with zipfile.ZipFile(held, "w") as file:
                for name, part in parts.items():
                    file.writestr(name, _damaged(part, chance) if name == hit else part)
            data = held.getvalue()
        try:
            found: RosterTable | Unreadable = _read(data)
        except Unreadable as refused:
            found = refused
        assert isinstance(found, RosterTable) or found.hint
        assert isinstance(found, Unreadable) or all(isinstance(one, Problem) for one in found.problems)
    tally.count("bad inputs", "damaged spreadsheets", tried)


def _damaged(data: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(data))
    match chance.randrange(4):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
        case 2:
            return data[:at] + data[at + chance.randrange(1, 40) :]
        case _:
            return data[:at] + data[at : at + 30] + data[at:]
