"""All mistakes at once: one run names every mistake with its place, and invents none.

A valid project is a table of lines. Each mistake of the catalogue replaces one of them, so that no line
moves, and says where it must be reported and in which words.
"""

from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from manifest.project import RULES, Project

from reconciler.core.desired.resolve import resolve_desired
from reconciler.errors import Problem

PEOPLE = 6  # entries that mistakes are put into
ROWS = 8  # rows of the roster that mistakes are put into


class Mistake(NamedTuple):
    """One line of one file in another form; `what` occurs in the one problem that it makes there."""

    file: str
    line: int
    text: str
    what: str
    where: int = 0  # the line that is blamed, where it is another one


def _person(index: int) -> list[str]:
    return [
        f"  p{index}:",
        f"    firstName: Person {index}",
        f"    workEmailAddress1: p{index}@example.com",
        f"    workMobilePhone1: +6149157015{index}",
        "    timezone: Australia/Melbourne",
        "    messagingOptions:",
        "      sms: {enabled: true, primary: WorkMobilePhone1}",
        "    devices:",
        "      phone:",
        f"        deviceName: Phone of {index}",
        "        appId: com.example.oncall",
        "        platform: GCM",
        "        deviceOS: Android 15",
        "        deviceModel: Pixel 9",
        f"        pushToken: token-{index}",
        "    meta:",
        "      ignore: [jobTitle]",
    ]


def _base() -> dict[str, list[str]]:
    head = ["version: 1", "workspace: ops"]
    people = [*head, "contacts:", *(line for index in range(PEOPLE) for line in _person(index))]
    donor = [*head, "contacts:", "  donor:", "    workEmailAddress1: donor@example.com"]
    for index in range(PEOPLE):
        donor += [f"  donor{index}:", f"    workEmailAddress1: donor{index}@example.com"]
    rows = [f"{index},P{index},r{index}@example.com,+6149157011{index},yes" for index in range(ROWS)]
    roster = [
        *head,
        "rosters:",
        "  - file: ../people/staff.csv",
        '    name: "{ID}"',
        "    contacts:",
        '      firstName: "{Name}"',
        '      lastName: "{Name}"',
        '      workEmailAddress1: "{Mail}"',
        '      workMobilePhone1: "{Mobile}"',
        '      messagingOptions: {sms: {enabled: "{On call}"}}',
    ]
    resources = [*head, "resources:"]
    for index in range(3):
        resources += [
            f"  list{index}:",
            f"    name: list{index}.csv",
            "    scope: private",
            "    mimeType: text/csv",
            "    content:",
            "      file: ../people/list.csv",
        ]
    return {
        "manifests/a-people.yaml": people,
        "manifests/0-donor.yaml": donor,
        "manifests/c-roster.yaml": roster,
        "manifests/d-resources.yaml": resources,
        "manifests/e-elsewhere.yaml": [
            "version: 1",
            "workspace: default",
            "contacts: {}",
            "tags: {team: sre}",
        ],
        "people/staff.csv": [
            "ID,Name,Mail,Mobile,On call",
            "donor-row,D,dr@example.com,+61491570110,no",
            *rows,
        ],
        "people/list.csv": ["a,b", "1,2"],
    }


BASE = _base()
_P = "manifests/a-people.yaml"
_R = "manifests/c-roster.yaml"
_S = "people/staff.csv"
_D = "manifests/d-resources.yaml"
_E = "manifests/e-elsewhere.yaml"


def _in_person(index: int) -> list[Mistake]:
    top = 4 + index * len(_person(0))  # the line of the name, counted from 1

    def at(offset: int, text: str, what: str, where: int = 0) -> Mistake:
        return Mistake(_P, top + offset, text, what, where)

    return [
        at(0, f"  donor{index}:", "declared twice"),
        at(0, "  Bad Name:", "Bad Name"),
        at(1, "    fristName: Jane", "fristName is not a field"),
        at(1, "    firstName: Ja\u202ene", "bidirectional control"),
        at(1, '    firstName: "Ja\\u202ene"', "bidirectional control"),
        at(1, "    firstName:", "null"),
        at(1, "    firstName: ${env:NOPE}", "the variable NOPE"),
        at(1, "    firstName: [a]", "firstName must be text"),
        at(1, "    firstName: *alias", "this is a YAML alias"),
        at(2, "    workEmailAddress1: donor@example.com", "the same as in contact/ops/donor"),
        at(2, "    lastName: Nobody", "needed to identify the contact", top),
        at(2, "    workEmailAdress1: x@example.com", "workEmailAdress1 is not a field"),
        at(2, "    work\u202eEmailAddress1: x@example.com", "bidirectional control"),
        at(2, "    workEmailAddress1: ${env:NOPE}", "the variable NOPE"),
        at(3, "    workMobilePhnoe1: +61491570156", "workMobilePhnoe1 is not a field"),
        at(3, "    workMobilePhone1: ~", "null"),
        at(3, "    workMobilePhone1: call me maybe", "is not a phone number"),
        at(3, "    workMobilePhone1: 4.47701E+11", "a spreadsheet rewrote"),
        at(1, "    workEmailAddress2: sam.lee at example", "is not an e-mail address"),
        at(4, "    timezone: {a: b}", "timezone must be text"),
        at(4, "    timezone: Australia/Melburne", "is not a time zone"),
        at(5, "    messagingOption:", "messagingOption is not a field"),
        at(6, "      sms: {enabled: true, primary: WorkMobilePhone2}", "names WorkMobilePhone2"),
        at(6, "      sms: {enabled: maybe}", "enabled must be true or false"),
        at(7, "    devicse:", "devicse is not a field"),
        at(9, "        deviceNam: Phone", "deviceNam is not a field"),
        at(11, "        platform: PIGEON", "platform must be"),
        at(12, "        status: ACTIVE", "deviceOS is missing", top + 8),
        at(14, '        pushToken: ""', "pushToken is empty"),
        at(16, "      ignore: [jobTitel]", "jobTitel is not a field"),
        at(16, "      protetc: true", "protetc is not a field"),
    ]


def _in_row(index: int) -> list[Mistake]:
    line = 3 + index

    def row(what: str, *cells: str) -> Mistake:
        return Mistake(_S, line, ",".join(cells), what)

    name, mail, phone = f"{index}", f"r{index}@example.com", f"+6149157011{index}"
    return [
        row("the row has 3 cells", name, "P", mail),
        row("the row has 6 cells", name, "P", mail, phone, "yes", "more"),
        row("bidirectional control", name, "P\u202e", mail, phone, "yes"),
        row("bidirectional control", f"{name}\u202e", "P", mail, phone, "yes"),
        row("bidirectional control", name, "P", f"\u202e{mail}", phone, "yes"),
        row("would be empty", "", "P", mail, phone, "yes"),
        row("is already that of row 2", "donor row", "P", mail, phone, "yes"),
        row("the same as in contact/ops/donor-row", name, "P", "dr@example.com", phone, "yes"),
        row("needed to identify", name, "P", "", phone, "yes"),
        row("is not a phone number", name, "P", mail, "maybe", "yes"),
        row("is not an e-mail address", name, "P", "nobody", phone, "yes"),
        row("must be true or false, yes or no", name, "P", mail, phone, "perhaps"),
    ]


CATALOGUE: tuple[Mistake, ...] = (
    *(one for index in range(PEOPLE) for one in _in_person(index)),
    *(one for index in range(ROWS) for one in _in_row(index)),
    Mistake(_R, 7, '      firstName: "{Nmae}"', "no column 'Nmae'"),
    Mistake(_R, 8, '      lastName: "{Name"', "unmatched brace"),
    Mistake(_R, 8, '      lastNam: "{Name}"', "lastNam is not a field"),
    Mistake(_D, 4, "  list2:", "occurs twice", 16),
    Mistake(_D, 5, "    name: list1.csv", "the same as in", 11),
    Mistake(_D, 6, "    scope: secret", "scope must be"),
    Mistake(_D, 9, "      file: ../people/lsit.csv", "does not exist", 8),
    Mistake(_D, 9, "      fiel: ../people/list.csv", "fiel is not a field"),
    Mistake(_D, 13, "    mimeType: image/png", "is not possible with scope private"),
    Mistake(_D, 15, "      file: ../../list.csv", "leads out of the project root", 14),
    Mistake(_D, 18, "    scoep: private", "scoep is not a field"),
    Mistake(_D, 19, "    mimeType:", "null"),
    Mistake(_E, 1, "version: 2", "version must be 1"),
    Mistake(_E, 2, "workspace: defualt", "the workspace defualt"),
    Mistake(_E, 2, "workspcae: default", "workspcae is not a field"),
    Mistake(_E, 3, "contacts: [", "this is not YAML", 5),
    Mistake(_E, 4, "tgas: {team: sre}", "tgas is not a field"),
)


def _problems(root: Path, mistakes: list[Mistake]) -> list[Problem]:
    """What validate would show of the base with these mistakes in it."""
    project = Project(root)
    project.variables = ["NOPE"]
    files = {name: list(lines) for name, lines in BASE.items()}
    for one in mistakes:
        files[one.file][one.line - 1] = one.text
    for name, lines in files.items():
        project.write(name, "\n".join(lines) + "\n")
    loaded = project.load()
    return [*loaded.problems, *resolve_desired(loaded.manifests, RULES).problems]


def _unexplained(found: list[Problem], mistakes: list[Mistake]) -> tuple[list[Mistake], list[Problem]]:
    """The planted mistakes that were not reported, and the problems that were not planted."""
    left = list(dict.fromkeys(found))
    untold = []
    for one in mistakes:
        line = one.where or one.line
        told = [p for p in left if p.file == one.file and p.line == line and one.what in p.what + p.next]
        if told:
            left.remove(told[0])
        else:
            untold.append(one)
    return untold, left


def test_the_base_is_without_mistakes(tmp_path: Path) -> None:
    """Else the other tests would claim nothing."""
    assert _problems(tmp_path / "p", []) == []


@pytest.mark.parametrize(
    "mistake", CATALOGUE[: len(_in_person(0))] + CATALOGUE[len(_in_person(0)) * PEOPLE :]
)
def test_every_mistake_alone_is_told_once(tmp_path: Path, mistake: Mistake) -> None:
    """None of them makes a second problem that is only its consequence."""
    assert _unexplained(_problems(tmp_path / "p", [mistake]), [mistake]) == ([], [])


def _told(root: Path, *lines: str, roster: str = "") -> list[str]:
    """The mistakes of a manifest with these lines below its head, and of the roster beside it."""
    project = Project(root / "p")
    project.write("manifests/staff.csv", roster)
    project.manifest("\n".join(lines) + "\n")
    loaded = project.load()
    found = {*loaded.problems, *resolve_desired(loaded.manifests, RULES).problems}
    return sorted(f"{one.where.removeprefix('manifests/')} {one.what}" for one in found)


def _says(told: list[str], *expected: str) -> None:
    assert [whole for whole, part in zip(told, expected, strict=True) if part not in whole] == []


def test_two_mistakes_of_one_entry_are_told(tmp_path: Path) -> None:
    """A misspelt field once hid that the entry has no identity, and every other file's duplicates."""
    told = _told(tmp_path, "contacts:", "  jane:", "    fristName: Jane", "    timezone: Melburne")

    _says(told, "ops.yaml:4:3 contact/ops/jane: workEmailAddress1 is needed", "fristName", "not a time zone")


def test_an_unfit_character_hides_nothing_else(tmp_path: Path) -> None:
    """It is a mistake of one value, or of a comment."""
    told = _told(tmp_path, "# \u202e", "contacts:", "  jane: {firstName: Jane}")

    _says(
        told, "ops.yaml:3:3 the bidirectional control", "ops.yaml:5:3 contact/ops/jane: workEmailAddress1 is"
    )


@pytest.mark.parametrize(
    "line", ["workEmailAdress1: x@example.com", "workEmailAddress1:", "workE\u202eX: x", "<<: *x"]
)
def test_an_unread_identity_is_not_missing_as_well(tmp_path: Path, line: str) -> None:
    """One mistake is told once: it may well be the identity that could not be read."""
    told = _told(tmp_path, "contacts:", "  jane:", f"    {line}", "    firstName: Jane")

    assert not any("needed to identify" in one for one in told)
    assert told


def test_a_row_with_a_bad_cell_is_checked_in_the_others(tmp_path: Path) -> None:
    """Rows with another number of cells are not: nobody knows which cell is which."""
    head = ("rosters:", "  - file: staff.csv", "    name: '{ID}'", "    contacts:")
    fields = ("      firstName: '{N}'", "      workEmailAddress1: '{M}'", "      workMobilePhone1: '{P}'")

    told = _told(
        tmp_path, *head, *fields, roster="ID,N,M,P\n1,J\u202e,a@example.com,maybe\n2,J,b@example.com\n"
    )

    _says(
        told,
        "staff.csv:2:2 the cell contains",
        "staff.csv:2:4 contact/ops/1: workMobilePhone1 (col",
        "staff.csv:3:4 the",
    )


def test_an_unknown_column_hides_no_row(tmp_path: Path) -> None:
    """A field whose column is not there is unread in every row; the other fields are checked."""
    head = ("rosters:", "  - file: staff.csv", "    name: '{ID}'", "    contacts:")
    fields = ("      firstName: '{Nmae}'", "      workEmailAddress1: '{M}'")

    told = _told(tmp_path, *head, *fields, roster="ID,N,M\n1,J,nobody\n")

    _says(
        told, "ops.yaml:7:7 the roster has no column 'Nmae'", "staff.csv:2:3 contact/ops/1: workEmailAddress1"
    )


def test_an_entry_whose_name_is_taken_is_checked_all_the_same(tmp_path: Path) -> None:
    """In one mapping, where YAML would drop it, and in two files."""
    project = Project(tmp_path / "p")
    project.manifest("contacts:\n  jane: {workEmailAddress1: a@example.com}\n", "a.yaml")
    project.manifest(
        "contacts:\n  jane: {firstName: Jane}\n  sam: {firstName: Sam}\n  sam: {fristName: Sam}\n", "b.yaml"
    )
    loaded = project.load()
    told = [
        str(one).split("\n")[0]
        for one in (*loaded.problems, *resolve_desired(loaded.manifests, RULES).problems)
    ]

    _says(
        sorted(told),
        "b.yaml:4:3: contact/ops/jane: this name is declared twice",
        "b.yaml:4:3: contact/ops/jane: workEmailAddress1 is needed",
        "b.yaml:5:3: contact/ops/sam: workEmailAddress1 is needed",
        "b.yaml:6:3: contact/ops/sam: workEmailAddress1 is needed",
        "b.yaml:6:3: sam occurs twice",
        "b.yaml:6:9: contact/ops/sam: fristName is not a field",
    )


def test_a_placeholder_in_many_rows_is_no_duplicate_as_well(tmp_path: Path) -> None:
    """A wrong value is no identity: the second of two was reported as a copy of the first."""
    head = ("rosters:", "  - file: staff.csv", "    name: '{ID}'", "    contacts:")
    fields = ("      firstName: '{N}'", "      workEmailAddress1: '{M}'")

    told = _told(
        tmp_path,
        *head,
        *fields,
        roster="ID,N,M\n1,J,n/a\n2,S,n/a\n3,K,kim@example.com\n4,L,kim@example.com\n",
    )

    _says(
        told,
        "staff.csv:2:3 contact/ops/1: workEmailAddress1",
        "staff.csv:3:3 contact/ops/2: workEmailAddress1",
        "staff.csv:5:3 contact/ops/4: workEmailAddress1 is the same as in contact/ops/3",
    )


def test_a_section_under_a_misspelt_key_is_checked(tmp_path: Path) -> None:
    """Else everything in it would come up one run later."""
    told = _told(tmp_path, "contatcs:", "  jane: {fristName: Jane}")

    _says(
        told,
        "ops.yaml:3:1 contatcs is not a field",
        "ops.yaml:4:10 contact/ops/jane: fristName is not",
        "ops.yaml:4:3 contact/ops/jane: workEmailAddress1 is needed",
    )


def _chosen(seed: int, count: int) -> list[Mistake]:
    """Up to `count` mistakes, at most one in each line, and one in the file of which little is left."""
    chance = Random(seed)
    mistakes: dict[tuple[str, int], Mistake] = {}
    for one in chance.sample(CATALOGUE, len(CATALOGUE)):
        place = (one.file, one.line)
        alone = one.file == _E and any(other.file == _E for other in mistakes.values())
        if len(mistakes) < count and place not in mistakes and not alone:
            mistakes[place] = one
    return [one for one in mistakes.values() if not _swallowed(one, mistakes)]


def _swallowed(one: Mistake, others: dict[tuple[str, int], Mistake]) -> bool:
    """Whether another mistake takes the sense out of this one.

    A field that a messaging option names may be the one whose key could not be read.
    """
    return one.what.startswith("names ") and any(
        "work\u202e" in other.text and 0 < one.line - other.line < len(_person(0))
        for other in others.values()
    )


@example(seed=110340, count=10)  # two rows without an address, in the same words
@given(seed=st.integers(0, 2**32), count=st.integers(2, 40))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_mistake_of_many_is_told_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, seed: int, count: int
) -> None:
    """Every stage runs on what can be read; nothing is called missing that only could not be read."""
    mistakes = _chosen(seed, count)

    found = _problems(tmp_path_factory.mktemp("many") / "p", mistakes)

    assert _unexplained(found, mistakes) == ([], [])
