"""What to do about a cell of a directory that is no text, in the words of that sort of directory."""

from pathlib import Path

import pytest
from manifest.project import Project

from reconciler.directories.answers import AnswerRows, ReadOnce
from reconciler.model.directories import (
    Directory,
    DirectorySetting,
    LdapDirectory,
    ScimDirectory,
    SqlDirectory,
)
from reconciler.model.documents import Place
from reconciler.model.secrets import Secret

ROSTER = b"""\
rosters:
  - directory: staff
    name: "{id}"
    contacts: {firstName: "{id}", workEmailAddress1: "{mail}"}
"""
DIRECTORIES: dict[str, tuple[Directory, str]] = {
    "sql": (SqlDirectory(Secret("sqlite:///none"), "SELECT 1"), "CAST(... AS text)"),
    "ldap": (LdapDirectory("ldaps://ldap.example.com", "dc=example"), "an attribute with one text value"),
    "scim": (ScimDirectory("https://scim.example.com"), "emails.work.value"),
}


class Answering(ReadOnce):
    """A directory whose answer is known."""

    def __init__(self, directory: Directory, answer: AnswerRows) -> None:
        super().__init__({"staff": DirectorySetting(directory, Place("reconciler.yaml", 1, 1))})
        self._answers = {"staff": answer}


@pytest.mark.parametrize("kind", DIRECTORIES)
def test_a_cell_that_is_no_text_says_what_to_do_in_the_words_of_its_directory(
    tmp_path: Path, kind: str
) -> None:
    """Whoever asks an LDAP server writes no SQL."""
    directory, words = DIRECTORIES[kind]
    answer = AnswerRows(("id", "mail"), (["1", "?"],), ("uid=1",), {0: {1: "several values"}})
    project = Project(tmp_path)
    project.manifest(ROSTER)

    (problem,) = project.load(asked=Answering(directory, answer)).problems

    assert words in problem.next
    assert [other for _, other in DIRECTORIES.values() if other in problem.next] == [words]
