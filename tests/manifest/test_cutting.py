"""An entry whose text was read before is not parsed again, and means what it means in the whole file."""

from collections.abc import Callable
from pathlib import Path

import pytest
from manifest.cached_project import KeptProject, plain

from reconciler.model.address import Address

HEAD = "version: 1\nworkspace: ops\n"
COUNT = 20


def _entry(name: str, more: str = "") -> str:
    return f"  {name}:\n    workEmailAddress1: {name}@example.com\n    jobTitle: Nurse\n{more}"


def _manifest(*entries: str, head: str = HEAD) -> str:
    return f"{head}contacts:\n{''.join(entries)}"


PEOPLE = [_entry(f"n{number:02}") for number in range(COUNT)]
WHOLE = _manifest(*PEOPLE)
ROSTER = '{file: people.csv, name: "{Id}", contacts: {workEmailAddress1: "{Mail}", jobTitle: "{Title}"}}'
ROWS = ["Id,Mail,Title", *(f"r{number},r{number}@example.com,Nurse" for number in range(COUNT))]


@pytest.fixture
def project(tmp_path: Path) -> KeptProject:
    return KeptProject(tmp_path)


def _with_roster(project: KeptProject, *rows: str, manifest: str = "") -> None:
    project.write("people.csv", "\n".join(rows) + "\n")
    project.write("a.yaml", manifest or f"{HEAD}rosters:\n- {ROSTER}\n")


def _parsed(project: KeptProject) -> int:
    """How many entries were parsed; what was declared is what reading everything declares."""
    fresh, found = project.fresh(), project.kept().load()
    if found is None:
        assert project.through() == fresh
        return -1
    assert plain(found.desired) == fresh
    again = project.kept().load()
    assert again is not None
    assert again.reread == 0
    assert plain(again.desired) == fresh
    return found.reread_entries


EDITS: dict[str, tuple[Callable[[str], str], int]] = {
    "a value": (lambda text: text.replace("n03@", "N03@"), 1),
    "a line more in front": (lambda text: text.replace("workspace", "# of the ward\nworkspace"), 0),
    "a line more in an entry": (lambda text: text.replace("  n05:\n", "  n05:\n    department: Wards\n"), 1),
    "an entry more": (lambda text: text + _entry("zoe"), 1),
    "an entry less": (lambda text: text.replace(PEOPLE[4], ""), 0),
    "another order": (lambda _: _manifest(*reversed(PEOPLE)), 0),
    "two entries in another order, and a value": (
        lambda _: _manifest(PEOPLE[2], PEOPLE[1], _entry("new"), *PEOPLE[5:]),
        1,
    ),
    "a comment between entries": (lambda text: text.replace("  n07:\n", "# here\n  n07:\n"), 1),
    "a section more": (lambda text: text + "removed: {contacts: [gone]}\n", 0),
}


@pytest.mark.parametrize("name", EDITS)
def test_only_what_was_edited_is_parsed(name: str, project: KeptProject) -> None:
    """One line of ten thousand entries is one entry; the places of the others are right all the same."""
    edit, parsed = EDITS[name]
    project.write("a.yaml", WHOLE)
    project.through()
    project.write("a.yaml", edit(WHOLE))

    assert _parsed(project) == parsed


def test_a_file_with_the_line_ends_of_windows_is_cut_too(project: KeptProject) -> None:
    """Editors there write them, and git may."""
    project.write("a.yaml", WHOLE.replace("\n", "\r\n"))
    project.through()
    project.write("a.yaml", WHOLE.replace("n03@", "N03@").replace("\n", "\r\n"))

    assert _parsed(project) == 1


def test_edits_one_after_the_other_stay_cheap_and_right(project: KeptProject) -> None:
    """What was spared once has to be as good as what was read when it is spared again."""
    texts = list(PEOPLE)
    project.write("a.yaml", _manifest(*texts))
    project.through()
    for number in range(100):
        texts[number % COUNT] = _entry(f"n{number % COUNT:02}", f"    department: D{number}\n")
        project.write("a.yaml", _manifest(*texts))

        assert _parsed(project) == 1


def test_an_entry_with_a_notice_is_parsed_each_time(project: KeptProject) -> None:
    """The notice names its line, which moves."""
    said = _entry("odd").replace("Nurse", "4,91512E+11")
    project.write("a.yaml", _manifest(said, *PEOPLE))
    project.through()
    project.write("a.yaml", _manifest(said, *PEOPLE, head=f"# more\n{HEAD}"))

    assert _parsed(project) == 1
    found = project.taken()
    assert found is not None
    assert [one.place for one in found.notices] == ["manifests/a.yaml:7"]


def test_one_row_of_a_roster_is_one_row(project: KeptProject) -> None:
    """Also where rows were added or removed in front of it: a row is its own place."""
    _with_roster(project, *ROWS)
    project.through()
    _with_roster(project, *ROWS[:5], "new,new@example.com,Nurse", *ROWS[6:])
    assert _parsed(project) == 1
    _with_roster(project, ROWS[0], "first,first@example.com,", *ROWS[2:4], "", *ROWS[6:])
    assert _parsed(project) == 1

    found = project.taken()
    assert found is not None
    assert found.entities[Address("contact/ops/r6")].place.line == 7


ALL: dict[str, tuple[str, str]] = {
    "defaults": (WHOLE, WHOLE + "defaults: {contacts: {department: Wards}}\n"),
    "tags": (WHOLE, WHOLE + "tags: {team: sre}\n"),
    "the workspace": (WHOLE, WHOLE.replace("ops", "lab")),
    "the indentation": (WHOLE, WHOLE.replace("\n  ", "\n    ").replace("\n      ", "\n        ")),
}


@pytest.mark.parametrize("name", ALL)
def test_what_decides_about_all_entries_has_all_of_them_read(name: str, project: KeptProject) -> None:
    """An entry says what it says only with its defaults, its tags and its workspace."""
    before, after = ALL[name]
    project.write("a.yaml", before)
    project.write("b.yaml", _manifest(_entry("other")))
    project.through()
    project.write("a.yaml", after)

    assert _parsed(project) == COUNT


BRACKETS = f"{HEAD}contacts:\n  {{c: {{workEmailAddress1: c@example.com}}"
TRAPS: dict[str, tuple[str, str]] = {
    "in brackets": (
        _manifest(
            "  a: {workEmailAddress1: a@example.com}\n",
            "  b: {jobTitle: x, workEmailAddress1: b@example.com}\n",
        ),
        f"{BRACKETS},\n  b: {{jobTitle: x, workEmailAddress1: b@example.com}}\n  }}\n",
    ),
    "in brackets at first": (
        f"{BRACKETS},\n  b: {{workEmailAddress1: b@example.com}}}}\n",
        _manifest(_entry("c"), "  b: {workEmailAddress1: b@example.com}}\n"),
    ),
    "in a text": (
        WHOLE,
        f'{{version: 1, workspace: ops, tags: {{note: "x\ncontacts:\n{PEOPLE[0]}"}}, contacts: {{}}}}\n',
    ),
    "behind a quotation mark": (WHOLE, WHOLE.replace("n03@example.com", '"n03@example.com', 1)),
    "between quotation marks": (
        WHOLE,
        WHOLE.replace("n03@example.com", '"n03@example.com', 1).replace(
            "n09@example.com", 'n09@example.com"', 1
        ),
    ),
    "twice": (WHOLE, WHOLE + PEOPLE[3]),
    "in two sections": (WHOLE, WHOLE + "contacts:\n" + PEOPLE[3]),
    "under a key that it is not for": (WHOLE, WHOLE.replace("contacts:", "resources:")),
    "of a file that ends early": (WHOLE, WHOLE.replace("  n05:", "...\n  n05:")),
    "of a second document": (WHOLE, WHOLE.replace("  n05:", "---\n  n05:")),
    "with the identity of another": (WHOLE, WHOLE.replace("n03@example.com", "N05@example.com")),
    "that only looks like another": (WHOLE, WHOLE.replace("n03@example.com", "\u043e05@example.com")),
    "removed as well": (WHOLE, WHOLE + "removed: {contacts: [n07]}\n"),
    "the former name of another": (WHOLE, WHOLE + _entry("new", "    meta: {renamedFrom: n07}\n")),
    "less deep than blank lines above it": (
        _manifest("  a:\n    workEmailAddress1: a@example.com\n    jobTitle: |\n        \n")
        + "tags: {a: b}\n",
        _manifest("  a:\n    workEmailAddress1: a@example.com\n    jobTitle: |\n        \n", _entry("b"))
        + "tags: {a: b}\n",
    ),
    "with a stand-in of its own": (WHOLE, WHOLE.replace("  n05:", "  cut-0-0000: |\n  n05:")),
    "not in the text of the cut": (WHOLE, WHOLE.replace("  n05:", "  - n05:")),
    "in an unfinished merge": (
        WHOLE,
        WHOLE.replace("  n05:", "<<<<<<< ours\n  n05:") + "=======\n>>>>>>> theirs\n",
    ),
}


@pytest.mark.parametrize("name", TRAPS)
def test_a_known_text_in_another_place_is_no_entry(name: str, project: KeptProject) -> None:
    """The parser says where entries are; what looks like one need not be one."""
    before, after = TRAPS[name]
    project.write("a.yaml", before)
    project.through()
    project.write("a.yaml", after)

    fresh = project.fresh()
    assert project.through() == fresh
    assert project.through() == fresh


ROSTER_TRAPS: dict[str, tuple[list[str], str]] = {
    "behind a quotation mark": ([ROWS[0], 'x,"x@example.com,Nurse', *ROWS[2:]], ""),
    "between quotation marks": ([*ROWS[:3], 'x,x@example.com,"Nurse', *ROWS[4:9], 'of all"', *ROWS[10:]], ""),
    "another header": (["Id,Title,Mail", *ROWS[1:]], ""),
    "another separator": (["Id;Mail;Title,", *ROWS[1:]], ""),
    "twice": ([*ROWS, ROWS[4]], ""),
    "another template": (ROWS, f"{HEAD}rosters:\n- {ROSTER.replace('{Title}', '{Title} {Id}')}\n"),
    "another name": (ROWS, f"{HEAD}rosters:\n- {ROSTER.replace('{Id}', 'x {Id}')}\n"),
    "named again": (ROWS, f"{HEAD}rosters:\n- {ROSTER}\n- {ROSTER.replace('{Id}', 'x {Id}')}\n"),
    "blanks at the edges of cells": (
        [*ROWS[:5], "x, x@example.com,Nurse ", *ROWS[6:], "y,y@example.com, N"],
        "",
    ),
}


@pytest.mark.parametrize("name", ROSTER_TRAPS)
def test_a_known_row_in_another_roster_is_no_row(name: str, project: KeptProject) -> None:
    """Its header, its template and the quotation marks in front of it decide what it says."""
    rows, manifest = ROSTER_TRAPS[name]
    _with_roster(project, *ROWS)
    project.through()
    _with_roster(project, *rows, manifest=manifest)

    fresh = project.fresh()
    assert project.through() == fresh
    assert project.through() == fresh


def test_a_roster_that_a_second_manifest_names_is_read_whole(project: KeptProject) -> None:
    """What is left of a cut roster would be all of it to the other manifest."""
    _with_roster(project, *ROWS)
    project.through()
    _with_roster(project, *ROWS, "new,new@example.com,")
    project.write("b.yaml", f"version: 1\nworkspace: lab\nrosters:\n- {ROSTER}\n")

    fresh = project.fresh()
    assert project.through() == fresh


def test_a_roster_that_another_manifest_comes_to_name_is_read_whole(project: KeptProject) -> None:
    """Nothing was known of that manifest, and so nothing is left out of it."""
    _with_roster(project, *ROWS)
    project.write("b.yaml", "version: 1\nworkspace: lab\ncontacts: {}\n")
    project.through()
    _with_roster(project, *ROWS, "new,new@example.com,")
    project.write("b.yaml", f"version: 1\nworkspace: lab\nrosters:\n- {ROSTER}\n")

    fresh = project.fresh()
    assert project.through() == fresh
    assert project.through() == fresh


SECRETS = {
    "a password": "    password: correct horse\n",
    "a variable": "    department: ${env:TOKEN}\n",
}


@pytest.mark.parametrize("name", SECRETS)
def test_an_entry_that_gets_a_secret_is_not_kept(name: str, project: KeptProject) -> None:
    """Nor anything of its file from then on; what was kept before has none."""
    project.write("a.yaml", WHOLE)
    project.write("b.yaml", _manifest(_entry("other")))
    project.through()
    project.write("a.yaml", WHOLE + _entry("new", SECRETS[name]))

    fresh = project.fresh()
    assert project.through() == fresh
    assert project.through() == fresh
    kept = b"".join(path.read_bytes() for path in project.entries)
    assert b"n01@example.com" in kept
    assert b"correct horse" not in kept
    assert project.environ["TOKEN"].encode() not in kept
