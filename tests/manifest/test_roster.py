"""Rosters: templates over columns, one contact a row, every mistake at its row and cell."""

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from manifest.project import Project

from reconciler.core.rules import Rules
from reconciler.core.text import slugify
from reconciler.directories.answers import ReadOnce
from reconciler.files.project_files import REFERENCE_BYTES_MAX, ROSTER_BYTES_MAX
from reconciler.manifest.load import _Loader
from reconciler.manifest.rosters.roster import RowTemplate, compile_template
from reconciler.manifest.rosters.roster_sources import RosterTables
from reconciler.manifest.rosters.table import read_csv
from reconciler.manifest.sources import ManifestFile
from reconciler.manifest.variables import ManifestVariables
from reconciler.model.address import ENTITY_NAME
from reconciler.model.documents import Place
from reconciler.model.settings import Identity

EXPORT = Path(__file__).with_name("hr-export.csv")
ROSTER = """rosters:
  - file: staff.csv
    name: "{ID}"
    contacts:
      firstName: "{First}"
      workEmailAddress1: "{Mail}"
"""
HEADER = "ID,First,Mail\n"


def _roster(project: Project, csv: str | bytes, manifest: str = ROSTER) -> None:
    project.write("manifests/staff.csv", csv)
    project.manifest(manifest)


def _told(project: Project) -> list[tuple[str, str, str]]:
    return [(problem.where, problem.what, problem.next) for problem in project.load().problems]


def test_the_hr_export_gives_500_contacts(project: Project) -> None:
    """An export as it comes: byte order mark, semicolons, quotes, leading zeros, names of the world."""
    manifest = """rosters:
  - file: staff.csv
    name: "{Employee ID}"
    contacts:
      firstName: "{First name}"
      lastName: "{Surname}"
      workEmailAddress1: "{E-mail}"
      workMobilePhone1: "{Mobile}"
      department: "{Department}"
      timezone: "{Time zone}"
      custom: {employeeId: "{Employee ID}"}
      messagingOptions:
        sms: {primary: WorkMobilePhone1, enabled: "{On call}"}
      meta: {tags: {office: "{Office}"}}
"""
    _roster(project, EXPORT.read_bytes(), manifest)
    rules = Rules(
        workspaces=frozenset({"ops"}),
        identity=Identity({"contacts": ("custom.employeeId", "workEmailAddress1")}),
    )

    resolved = project.resolve(rules)

    assert len(resolved.desired.entities) == 500
    assert resolved.problems == ()
    first = project.documents()["0010000"]
    assert first.place == Place("manifests/staff.csv", 2, 1)
    assert first.places["workMobilePhone1"] == Place("manifests/staff.csv", 2, 5)
    assert first.places["messagingOptions.sms.primary"] == Place("manifests/staff.csv", 2, 0)
    assert first.fields["custom.employeeId"] == "0010000"
    assert first.fields["messagingOptions.sms.enabled"] is True
    assert first.controls.tags == {"office": "New Davidmouth"}
    assert project.documents()["0010007"].fields["department"] == 'IT "Run"'


def test_an_empty_cell_is_absent_and_never_clears(project: Project) -> None:
    """A half-filled spreadsheet must not wipe what people typed elsewhere."""
    _roster(project, HEADER + "1,,jane@example.com\n2,  ,sam@example.com\n")

    documents = project.documents()

    assert documents["1"].fields == {"workEmailAddress1": "jane@example.com"}
    assert documents["2"].fields == {"workEmailAddress1": "sam@example.com"}
    assert set(documents["1"].places) == {"workEmailAddress1"}


def test_text_without_columns_stands_for_every_row(project: Project) -> None:
    """Also "", which then clears the field in every row, because somebody wrote it."""
    _roster(project, HEADER + "1,A,a@example.com\n", ROSTER + '      jobTitle: ""\n      title: Dr\n')

    assert project.documents()["1"].fields["jobTitle"] == ""
    assert project.documents()["1"].fields["title"] == "Dr"


def test_columns_put_together_are_trimmed(project: Project) -> None:
    """An empty cell beside a full one leaves no stray space."""
    _roster(project, HEADER + "1,,a@example.com\n", ROSTER + '      title: "{First} {ID}"\n')

    assert project.documents()["1"].fields["title"] == "1"


def test_a_cell_is_never_changed(project: Project) -> None:
    """Formulas, leading zeros, plus signs and spaces arrive as they stand in the file."""
    cells = ["=1+1", "+61491570156", "007", " x ", "@home", "-1", "1,5", "NO", "${env:HOME}", "{Mail}"]
    rows = "".join(f'{number},"{cell}",\n' for number, cell in enumerate(cells))
    _roster(project, HEADER + rows)

    assert [document.fields["firstName"] for document in project.documents().values()] == cells


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiter_mark_and_line_ends_are_recognized(
    project: Project, delimiter: str, mark: str, end: str
) -> None:
    """Spreadsheets of different countries and systems write different files."""
    lines = ['"ID"', '"First"', "Mail"], ["1", '"a,b;c"', "a@example.com"]
    _roster(project, (mark + end.join(delimiter.join(line) for line in lines) + end).encode())

    assert project.documents()["1"].fields["firstName"] == "a,b;c"


def test_empty_rows_are_no_rows_but_count(project: Project) -> None:
    """Spreadsheets leave rows of delimiters behind; the row numbers stay those of the spreadsheet."""
    _roster(project, HEADER + "\n,,\n1,A,a@example.com\n,,\n")

    assert project.documents()["1"].place.line == 4


def test_several_rosters_and_entries_share_a_workspace(project: Project) -> None:
    """A roster's contact and a written one with the same name are named with both places."""
    _roster(
        project,
        HEADER + "1,A,a@example.com\n",
        ROSTER + "contacts:\n  '1': {workEmailAddress1: b@example.com}\n",
    )

    (problem,) = project.problems()

    assert problem.where == "manifests/staff.csv:2:1"
    assert (
        "contact/ops/1: this name is declared twice; the first time at manifests/ops.yaml:10" in problem.what
    )


def test_a_roster_alone_puts_contacts_in_scope(project: Project) -> None:
    """An emptied roster means that none of its people is wanted any more."""
    _roster(project, HEADER)

    (manifest,) = project.load().manifests
    assert manifest.documents == ()
    assert manifest.kinds == {"contact"}


@pytest.mark.parametrize(
    ("csv", "where", "what", "hint"),
    [
        (
            "",
            "1",
            "the roster is empty; it has no header.",
            "write the names of the columns into the first row",
        ),
        ("\n\n", "1", "the roster is empty; it has no header.", "write the names of the columns"),
        (
            "ID,First,Mail,First\n",
            "1:4",
            "this column has the same name as the one in cell 2.",
            "rename one",
        ),
        (
            "ID,First,Mail, First \n",
            "1:4",
            "this column has the same name as the one in cell 2.",
            "rename one",
        ),
        ("ID,First,,Mail\n", "1:3", "a column has no name.", "name it, or remove the column"),
        ("ID,First,Mail,\n1,A,b,c\n", "1:4", "a column has no name.", "name it, or remove the column"),
        ("ID,First,Mail\n1,A,b,,c\n", "2:4", "the row has 5 cells; the header has 3.", "quote cells"),
        (
            "sep=:\nID:First:Mail\n",
            "1:1",
            "the first line, sep=, names an unsupported separator",
            "commas, semicolons",
        ),
        ("ID,First,Mail,{x}\n", "1:4", "contains a brace or an invisible character", "rename it"),
        ("ID,First,Mail\n1,A\n", "2:3", "the row has 2 cells; the header has 3.", "quote cells"),
        ("ID,First,Mail\n1,A,b,c\n", "2:4", "the row has 4 cells; the header has 3.", "quote cells"),
        ("ID,First,Mail\n1,a\x0b,c\n", "2:2", "the cell contains the control character U+000B.", "remove it"),
        (
            "ID,First,Mail\n1,a\u202e,c\n",
            "2:2",
            "the cell contains the bidirectional control character",
            "remove it",
        ),
        ("ID,First,Mail\n1,a\x00,c\n", "2:2", "the cell contains the character NUL", "remove it"),
        ('ID,First,Mail\n1,"a,c\n', "2", "this is not CSV", "close the quotation marks"),
        ('ID,First,Mail\n1,"a"b,c\n', "2", "this is not CSV", "close the quotation marks"),
        (
            "ID,First,Mail\n1,A,x\n1,B,y\n",
            "3:1",
            "the name 1 is already that of row 2.",
            "correct one of the rows",
        ),
        ("ID,First,Mail\na b,A,x\nA-B,B,y\n", "3:1", "the name a-b is already that of row 2.", "correct one"),
        (
            "ID,First,Mail\n,A,x\n",
            "2:1",
            "the name of this row would be empty",
            "another column: First, Mail",
        ),
        (
            "ID,First,Mail\n李,A,x\n",
            "2:1",
            "the name of this row would be empty",
            "another column: First, Mail",
        ),
        (
            f"ID,First,Mail\n{'x' * 101},A,x\n",
            "2:1",
            "would have 101 characters; the limit is 100.",
            "another column",
        ),
        ("Id,First,Mail\n1,A,x\n", "", "the roster has no column 'ID'.", "did you mean Id?"),
        ("a\tb\n1\t2\n", "", "the roster has no column 'ID'.", "check that the first row"),
        (
            "ID,First,Mail\n1,Jos\xe9,x\n".encode("latin-1"),
            "2",
            "the roster is not UTF-8.",
            "export it as UTF-8",
        ),
        ("ID,First\n".encode("utf-16"), "1", "the roster is not UTF-8.", "export it as UTF-8"),
    ],
)
def test_a_mistake_in_a_roster_is_told_at_its_row_and_cell(
    project: Project, csv: str | bytes, where: str, what: str, hint: str
) -> None:
    """File, row and column, as the spreadsheet numbers them; templates at their line of the manifest."""
    _roster(project, csv)

    told = _told(project)

    assert any(
        place == (f"manifests/staff.csv:{where}" if where else "manifests/ops.yaml:5:5")
        and what in said
        and hint in way
        for place, said, way in told
    ), told


@pytest.mark.parametrize(
    ("change", "what", "hint"),
    [
        (('"{First}"', '"{Frist}"'), "the roster has no column 'Frist'.", "did you mean First?"),
        (('"{First}"', '"{}"'), "the roster has no column ''.", "the columns are: ID, First, Mail"),
        (('"{First}"', '"{First"'), "unmatched brace", "write {Column}, or {{ for a brace"),
        (('"{First}"', '"First}"'), "unmatched brace", "write {Column}, or {{ for a brace"),
        (('name: "{ID}"', 'name: "staff"'), "the name is the same for every row.", "differs in every row"),
    ],
)
def test_a_mistake_in_a_template_is_told_at_its_line(
    project: Project, change: tuple[str, str], what: str, hint: str
) -> None:
    """The column that is meant is suggested."""
    _roster(project, HEADER + "1,A,a@example.com\n", ROSTER.replace(*change))

    (told,) = _told(project)

    assert (
        told[0] == f"manifests/ops.yaml:{5 if 'name' in change[0] else 7}:{5 if 'name' in change[0] else 7}"
    )
    assert what in told[1]
    assert hint in told[2]


def test_a_flag_in_a_cell_must_be_yes_or_no(project: Project) -> None:
    """Spreadsheet people write yes; anything else is no guess of ours."""
    manifest = ROSTER + '      messagingOptions: {sms: {enabled: "{First}"}}\n'
    _roster(project, HEADER + "1,yes,a\n2,NO,b\n3,True,c\n4,,d\n5,perhaps,e\n", manifest)

    (told,) = _told(project)

    assert told == (
        "manifests/staff.csv:6:2",
        "messagingOptions.sms.enabled must be true or false, yes or no. It is 'perhaps'.",
        "write yes or no into the cell",
    )


def test_a_status_in_a_cell_is_checked(project: Project) -> None:
    """The schema sees only the template; the value is looked at afterwards."""
    _roster(project, HEADER + "1,gone,a@example.com\n", ROSTER + '      status: "{First}"\n')

    (problem,) = project.problems()

    assert problem.where == "manifests/staff.csv:2:2"
    assert "contact/ops/1: status must be one of A, D." in problem.what


def test_a_long_tag_is_told_at_its_cell(project: Project) -> None:
    """Tag values have a limit wherever they come from."""
    _roster(project, HEADER + f"1,{'x' * 257},a\n", ROSTER + '      meta: {tags: {team: "{First}"}}\n')

    assert [told[:2] for told in _told(project)] == [
        ("manifests/staff.csv:2:2", "the tag team has 257 characters; the limit is 256.")
    ]


def test_mistakes_of_one_roster_have_a_limit(project: Project) -> None:
    """A wrong delimiter would be one in every row."""
    _roster(project, HEADER + "1,A\n" * 5000)

    told = _told(project)

    assert len(told) == 1001
    assert any(what == "the rest of the roster was not read." for _, what, _ in told)


def test_many_collisions_are_folded(project: Project) -> None:
    """A wrong column would be a message for every row."""
    _roster(project, HEADER + "".join(f"same,A{n},x\n" for n in range(500)))

    told = _told(project)

    assert len(told) == 21
    assert "479 more rows have the name of another row." in told[0][1]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Jane Doe", "jane-doe"),
        ("  Ÿvonne  O'Neil ", "yvonne-o-neil"),
        ("ŁUKASZ Straße", "lukasz-strasse"),
        ("thành phố Huế", "thanh-pho-hue"),
        ("a__b..c", "a-b-c"),
        ("--x--", "x"),
        ("ﬁ ①", "fi-1"),
        ("李", ""),
        ("", ""),
        ("0010000", "0010000"),
    ],
)
def test_a_slug_is_plain(text: str, name: str) -> None:
    """NFKD, ASCII, lower case, hyphens: what can be typed into a terminal."""
    assert slugify(text) == name


@given(st.text(max_size=60))
def test_a_slug_is_empty_or_a_name_and_stays_as_it_is(text: str) -> None:
    """Made once more it is the same, so that an address copied into a cell keeps its meaning."""
    made = slugify(text)

    assert made == "" or len(made) > 100 or ENTITY_NAME.fullmatch(made)
    assert slugify(made) == made


@given(st.text(max_size=30))
def test_no_template_raises_anything(text: str) -> None:
    """A template is compiled or explained."""
    result = compile_template(text, ("a", "b"))

    assert isinstance(result, RowTemplate) or (result.what and result.hint)


def test_braces_are_written_twice() -> None:
    """There is a way to write every text."""
    template = compile_template("{{{a}}} {{b}}", ("a",))

    assert isinstance(template, RowTemplate)
    assert template.render(["x"]) == "{x} {b}"


def test_a_roster_is_read_once_however_often_it_is_named(project: Project) -> None:
    """A file of 10 MiB that is named a thousand times once was read a thousand times."""
    project.write("manifests/hr.csv", "ID,Name\n1,Jane\n")
    entry = '- {file: hr.csv, name: "%s-{ID}", contacts: {firstName: "{Name}", lastName: Doe}}'
    for file in ("a.yaml", "b.yaml"):
        entries = "\n".join(f"  {entry % f'{file[0]}{number}'}" for number in range(3))
        project.manifest(f"rosters:\n{entries}\n", file)

    cells = {id(one.fields["firstName"]) for one in project.documents().values()}

    assert len(project.documents()) == 6
    assert len(cells) == 1


def test_the_rows_of_all_rosters_together_have_a_limit(project: Project) -> None:
    """A roster counts each time it is named: two short files would make any number of contacts."""
    project.write("manifests/hr.csv", "ID,Name\n1,Jane\n2,Sam\n")
    project.manifest(
        """rosters:
  - {file: hr.csv, name: "a-{ID}", contacts: {firstName: "{Name}", lastName: Doe}}
  - {file: hr.csv, name: "b-{ID}", contacts: {firstName: "{Name}", lastName: Doe}}
"""
    )
    loader = _Loader(
        project.root,
        ManifestVariables({}, []),
        (),
        frozenset(),
        RosterTables(project.root, frozenset(), ReadOnce({})),
    )
    loader.rows_left = 3

    manifest = loader.load_file(
        ManifestFile(
            project.root / "manifests/ops.yaml", "ops.yaml", project.root / "manifests", project.root
        )
    )

    assert manifest is not None
    assert [one.name for one in manifest.documents] == ["a-1", "a-2"]
    (problem,) = loader.problems
    assert (problem.line, problem.what) == (
        5,
        "the rosters of all manifests have more than 1,000,000 rows, which is the limit.",
    )


def test_a_payload_is_read_once_however_often_it_is_named(project: Project) -> None:
    project.write("manifests/list.csv", "a,b\n")
    body = "{file: list.csv}, name: list.csv, mimeType: text/csv, scope: private"
    project.manifest("resources:\n" + "".join(f"  r{n}: {{content: {body}}}\n" for n in range(3)))

    contents = {id(one.content) for one in project.documents().values()}

    assert len(contents) == 1


def test_rows_with_a_column_each_are_refused_before_they_are_written(project: Project) -> None:
    """10 MiB of rows with a key of their own would become 10 billion cells."""
    rows = ", ".join(f"{{k{number}: x}}" for number in range(2900))
    body = f"{{rows: [{rows}]}}, name: list.csv, mimeType: text/csv, scope: private"
    project.manifest(f"resources:\n  r: {{content: {body}}}\n")

    (problem,) = project.problems()

    assert "2,900 rows of 2,900 columns are more than 7,856,640 bytes" in problem.what


def test_a_roster_with_more_rows_than_the_limit_says_so() -> None:
    """Reading stops there: what is in the rest is not known."""
    table = read_csv(b"ID\n1\n2\n3\n4\n", "staff.csv", rows_max=3)

    (problem,) = table.problems
    assert problem.line == 5
    assert problem.what == "the roster has more than 3 rows, which is the limit."


def test_a_roster_may_be_larger_than_a_manifest(project: Project) -> None:
    """Rows need no tree and no positions, so they may be fifty times as many bytes."""
    rows = "".join(f"{number},{'x' * 1000},p{number}@example.com\n" for number in range(11_000))
    _roster(project, HEADER + rows)
    assert len(rows) > REFERENCE_BYTES_MAX

    assert len(project.documents()) == 11_000


def test_a_file_beyond_the_limit_is_not_read(project: Project) -> None:
    """It may be on a disk that has more than this machine has memory; a sparse one takes no room at all."""
    _roster(project, "")
    with (project.root / "manifests/staff.csv").open("r+b") as file:
        file.truncate(ROSTER_BYTES_MAX + 1)
    with (project.root / "manifests/large.yaml").open("wb") as file:
        file.truncate(REFERENCE_BYTES_MAX + 1)
    tracemalloc.start()

    large, roster = project.load().problems

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < REFERENCE_BYTES_MAX
    assert "the manifest has 10,485,761 bytes" in large.what
    assert "a roster" in large.next
    assert "has 536,870,913 bytes; the limit is 536,870,912." in roster.what


@pytest.mark.parametrize("size", [1024 * 1024 - 1, 1024 * 1024, 2 * 1024 * 1024 + 1])
def test_bytes_that_are_no_text_are_found_wherever_a_part_ends(size: int) -> None:
    """A roster is decoded in parts: a letter of two bytes may stand across two; half of it may not."""
    head = b"ID\n" + b"\n" * (size - 3)

    assert read_csv(head + "é\n".encode(), "staff.csv").problems == ()
    (problem,) = read_csv(head + b"\xc3\n", "staff.csv").problems
    assert (problem.line, problem.what) == (size - 1, "the roster is not UTF-8.")
    assert read_csv(head + b"\xc3", "staff.csv").problems[0].what == "the roster is not UTF-8."


@pytest.mark.parametrize(
    "csv",
    [
        "ID,First,Mail,,\n1,Jane,jane@example.com,,\n",
        "ID,First,Mail, ,\u00a0\n1,Jane,jane@example.com,, \n",
        "ID,First,Mail\n1,Jane,jane@example.com,,\n".replace("Mail\n", "Mail,,\n"),
        "ID,First,Mail\n1,Jane,jane@example.com,\n",
        ",,,,\nID,First,Mail,,\n1,Jane,jane@example.com,,\n,,,,\n",
        "sep=;\r\nID;First;Mail\r\n1;Jane;jane@example.com\r\n",
        "\ufeffsep=,\nID,First,Mail\n1,Jane,jane@example.com\n",
        '"sep=;"\nID;First;Mail;\n1;Jane;jane@example.com;\n',
        "SEP=\t\nID\tFirst\tMail\n1\tJane\tjane@example.com\n",
        "sep=|\nID|First|Mail\n1|Jane|jane@example.com\n",
        "ID\tFirst\tMail\r\n1\tJane\tjane@example.com\r\n",
        'ID\tFirst\tMail\t\n1\t"Jane"\tjane@example.com\t\n',
        "\ufeffID\tFirst\tMail\tSkills, languages\n1\tJane\tjane@example.com\tfr, de\n",
    ],
)
def test_csv_as_a_spreadsheet_writes_it_is_read(project: Project, csv: str) -> None:
    """Empty columns behind the table, and the line that names the separator: nobody has written either."""
    _roster(project, csv)

    loaded = project.load()

    assert loaded.problems == ()
    (jane,) = loaded.manifests[0].documents
    assert jane.fields["workEmailAddress1"] == "jane@example.com"
    assert jane.fields["firstName"] == "Jane"


@pytest.mark.parametrize("header", ["Prénom", "Pre\u0301nom", " Pre\u0301nom\u00a0"])
@pytest.mark.parametrize("column", ["Prénom", "Pre\u0301nom"])
def test_a_column_is_found_however_its_accents_are_composed(
    project: Project, header: str, column: str
) -> None:
    """An editor on macOS may write the accent apart, and a spreadsheet one letter: the column is the same."""
    _roster(
        project,
        f"ID,{header},Mail\n1,Jane,jane@example.com\n",
        ROSTER.replace("{First}", f"{{{column}}}"),
    )

    loaded = project.load()

    assert loaded.problems == ()
    assert loaded.manifests[0].documents[0].fields["firstName"] == "Jane"


def test_two_columns_that_differ_in_composition_alone_are_one_name_twice(project: Project) -> None:
    """Nobody sees which of the two a template would take from."""
    _roster(
        project,
        "ID,Mail,Prénom,Pre\u0301nom\n1,jane@example.com,Jane,Sam\n",
        ROSTER.replace("{First}", "{Prénom}"),
    )

    assert "the same name" in _told(project)[0][1], _told(project)
