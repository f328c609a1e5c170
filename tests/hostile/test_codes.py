"""Names and values that hold the words of other messages: the code of a mistake stays what it is.

Whatever stands in the place of `WORD` is written by the author of a manifest, a spreadsheet, settings or a
directory. The codes are those of the same file with words that no message has.
"""

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest
from manifest.project import Project

from reconciler.core.desired.resolve import resolve_desired
from reconciler.core.rules import Rules
from reconciler.errors import Problem, SettingsError
from reconciler.model.directories import DirectorySetting, SqlDirectory
from reconciler.model.documents import Place
from reconciler.model.secrets import Secret
from reconciler.settings.reader import read_settings

PLAIN = "some plain words: x"
WORDS = (
    "several documents: x",
    "is not a field of a contact: x",
    "what a spreadsheet does: x",
    "this is not YAML: x",
    "it is null, which is not allowed: x",
    "occurs twice; the first one is in line 3: x",
    "which is the limit: x",
    "the roster is damaged: x",
    "is missing; every contact needs it: x",
    "must be text, not a list: x",
    "is not UTF-8: x",
    "leads through a symbolic link: x",
    "contact/ops/jane: several documents: x",
    "it's not a field of a contact: x",
)
MANIFESTS = {
    "a name with an unknown field": 'contacts:\n  "WORD": {fristName: Jane}\n',
    "an unknown field": 'contacts:\n  jane: {workEmailAddress1: j@example.com, "WORD": x}\n',
    "a key twice": 'contacts:\n  jane: {"WORD": x, "WORD": y}\n',
    "a null": 'contacts:\n  jane: {workEmailAddress1: j@example.com, custom: {"WORD": null}}\n',
    "another type": 'contacts:\n  jane: {workEmailAddress1: j@example.com, jobTitle: ["WORD"]}\n',
    "a flag": 'contacts:\n  jane: {workEmailAddress1: j@example.com, status: "WORD"}\n',
    "a phone number": 'contacts:\n  jane: {workEmailAddress1: j@example.com, workMobilePhone1: "WORD"}\n',
    "an e-mail address": 'contacts:\n  jane: {workEmailAddress1: "WORD"}\n',
    "a time zone": 'contacts:\n  jane: {workEmailAddress1: j@example.com, timezone: "WORD"}\n',
    "an option": "contacts:\n  jane: {workEmailAddress1: j@example.com, messagingOptions: "
    '{sms: {enabled: true, primary: "WORD"}}}\n',
    "a field to ignore": 'contacts:\n  jane: {workEmailAddress1: j@example.com, meta: {ignore: ["WORD"]}}\n',
    "a former name": 'contacts:\n  jane: {workEmailAddress1: j@example.com, meta: {renamedFrom: "WORD"}}\n',
    "a tag that is too long": f'tags: {{t: "WORD{"x" * 300}"}}\n',
    "a file that is not there": "resources:\n  list: {name: l.csv, scope: private, mimeType: text/csv, "
    'content: {file: "WORD"}}\n',
    "a media type": 'resources:\n  l: {name: l, scope: private, mimeType: "WORD", content: {text: a}}\n',
    "content of another type": 'resources:\n  l: {name: "WORD", scope: private, mimeType: application/json, '
    'content: {text: "WORD"}}\n',
    "a roster that is not there": "rosters:\n  - {file: \"WORD\", name: '{ID}', contacts: {firstName: x}}\n",
    "a directory that nobody knows": 'rosters:\n  - {directory: "WORD", name: x, contacts: {firstName: x}}\n',
    "a name that is removed": 'removed: {contacts: ["WORD"]}\n',
    "a kind": '"WORD": {}\n',
    "a variable": 'contacts:\n  jane: {workEmailAddress1: j@example.com, jobTitle: "${WORD"}\n',
}
ROSTER = "rosters:\n  - {file: staff.csv, name: '{ID}', contacts: {workEmailAddress1: '{Mail}'MORE}}\n"
ROSTERS = {
    "a column twice": ("", "ID,Mail,WORD,WORD\n1,j@example.com,a,b\n"),
    "a column that is not there": (', jobTitle: "{WORD}"', "ID,Mail\n1,j@example.com\n"),
    "a brace that is left alone": (', jobTitle: "WORD}"', "ID,Mail\n1,j@example.com\n"),
    "a field that is not there": (", \"WORD\": '{ID}'", "ID,Mail\n1,j@example.com\n"),
    "a row that is too long": ("", "ID,Mail\n1,j@example.com,WORD\n"),
    "a name that is taken": ("", "ID,Mail\nWORD,j@example.com\nWORD,k@example.com\n"),
    "an invisible character": ("", "ID,Mail,WORD\n1,j@example.com,WORD\u200e\n"),
    "a cell that is a flag": (
        ", messagingOptions: {sms: {enabled: '{On}'}}",
        "ID,Mail,On\n1,j@example.com,WORD\n",
    ),
    "a phone number": (", workMobilePhone1: '{Phone}'", "ID,Mail,Phone\n1,j@example.com,WORD\n"),
    "an e-mail address": ("", "ID,Mail\n1,WORD\n"),
    "a quotation mark": ("", 'ID,Mail\n1,"WORD\n'),
}
SETTINGS = {
    "an unknown setting": '"WORD": x\n',
    "an unknown setting of the service": 'service: {"WORD": x}\n',
    "an address": 'service: {base_url: "WORD"}\n',
    "a format": 'service: {format: "WORD"}\n',
    "a profile": 'service: {profile: "WORD"}\n',
    "a profile that is not there": 'service: {profile: "WORD.yaml"}\n',
    "a store": 'store: "WORD"\n',
    "an alias twice": "workspaces: {\"WORD\": {id: '1'}, b: {id: '1'}}\n",
    "a name of a workspace twice": 'workspaces: {a: {name: "WORD"}, b: {name: "WORD"}}\n',
    "an identity": 'identity: {contacts: ["WORD"]}\n',
    "a secret in a file that is not there": "service: {base_url: https://api.example.com, auth: "
    '{username: {file: "WORD"}, password: {file: "WORD"}, api_key: {file: "WORD"}}}\n',
    "a secret of a command that is not there": "service: {base_url: https://api.example.com, auth: "
    '{username: {command: ["WORD"]}, password: {command: ["WORD"]}, api_key: {command: ["WORD"]}}}\n',
    "certificates that are not there": "service: {base_url: https://api.example.com, network: "
    '{ca: "WORD"}}\n',
    "a directory": "directories: {\"WORD\": {sql: {url: 'sqlite:///a.db', statement: 'DELETE FROM a'}}}\n",
    "a statement": "directories: {staff: {sql: {url: 'sqlite:///a.db', statement: \"WORD\"}}}\n",
    "the url of a directory": 'directories: {staff: {scim: {url: "WORD"}}}\n',
    "the server of a directory": "directories: {staff: {ldap: {url: \"ldaps://a/WORD\", base: 'dc=a'}}}\n",
}


def codes(problems: Iterable[Problem]) -> list[str]:
    return sorted(one.code for one in problems)


def of_manifest(root: Path, text: str) -> list[str]:
    project = Project(root)
    project.manifest(text)
    loaded = project.load()
    return codes(
        {*loaded.problems, *resolve_desired(loaded.manifests, Rules(workspaces=frozenset({"ops"}))).problems}
    )


def of_roster(root: Path, more: str, rows: str, word: str) -> list[str]:
    project = Project(root)
    cell = word.replace('"', '""')
    quoted = [
        f'"{cell}'
        if '"WORD' in line
        else line.replace("WORD\u200e", f'"{cell}\u200e"').replace("WORD", f'"{cell}"')
        for line in rows.splitlines()
    ]
    project.write("manifests/staff.csv", "\n".join(quoted) + "\n")
    project.manifest(ROSTER.replace("MORE", more.replace("WORD", word)))
    loaded = project.load()
    return codes(
        {*loaded.problems, *resolve_desired(loaded.manifests, Rules(workspaces=frozenset({"ops"}))).problems}
    )


def of_settings(root: Path, text: str) -> list[str]:
    root.mkdir()
    (root / "reconciler.yaml").write_text(f"version: 1\n{text}", encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        read_settings(config=None, environment=None, cwd=root, environ={}, service=True)
    assert caught.value.problems
    return codes(caught.value.problems)


def of_directory(root: Path, word: str, statement: str) -> list[str]:
    """The codes of a roster that takes from a database whose cells and columns hold these words."""
    project = Project(root)
    with closing(sqlite3.connect(root / "hr.db")) as base, base:
        base.execute("CREATE TABLE staff (id TEXT, mail TEXT, words TEXT, paid REAL)")
        base.execute("INSERT INTO staff VALUES (?, 'j@example.com', ?, x'00')", (word, word))
        base.execute("INSERT INTO staff VALUES (?, ?, ?, x'00')", (word, word, word))
    title = word.replace('"', '""')
    directory = SqlDirectory(
        url=Secret(f"sqlite:///{root / 'hr.db'}"), statement=statement.format(title=title)
    )
    project.directories = {"staff": DirectorySetting(directory, Place(f"{word}.yaml", 3, 5))}
    project.manifest(
        "rosters:\n  - {directory: staff, name: '{id}', contacts: {workEmailAddress1: '{mail}', "
        "jobTitle: " + json.dumps("{" + word + "}") + "}}\n"
    )
    loaded = project.load()
    return codes(
        {*loaded.problems, *resolve_desired(loaded.manifests, Rules(workspaces=frozenset({"ops"}))).problems}
    )


@pytest.mark.parametrize("name", MANIFESTS)
def test_words_of_other_messages_decide_no_code_of_a_manifest(tmp_path: Path, name: str) -> None:
    """A contact called `several documents: x` was refused as a file of several documents."""
    wanted = of_manifest(tmp_path / "plain", MANIFESTS[name].replace("WORD", PLAIN))

    assert wanted
    for at, word in enumerate(WORDS):
        assert of_manifest(tmp_path / str(at), MANIFESTS[name].replace("WORD", word)) == wanted, word


@pytest.mark.parametrize("name", ROSTERS)
def test_words_of_other_messages_decide_no_code_of_a_roster(tmp_path: Path, name: str) -> None:
    """Cells and the names of columns are what people write into a spreadsheet."""
    wanted = of_roster(tmp_path / "plain", *ROSTERS[name], PLAIN)

    assert wanted
    for at, word in enumerate(WORDS):
        assert of_roster(tmp_path / str(at), *ROSTERS[name], word) == wanted, word


@pytest.mark.parametrize("name", SETTINGS)
def test_words_of_other_messages_decide_no_code_of_a_setting(tmp_path: Path, name: str) -> None:
    """Aliases, paths and addresses are named in messages as they are written."""
    wanted = of_settings(tmp_path / "plain", SETTINGS[name].replace("WORD", PLAIN))

    for at, word in enumerate(WORDS):
        assert of_settings(tmp_path / str(at), SETTINGS[name].replace("WORD", word)) == wanted, word


@pytest.mark.parametrize(
    "statement",
    [
        'SELECT id, mail, words AS "{title}" FROM staff',
        'SELECT id, mail, paid AS "{title}" FROM staff',
        'SELECT id, mail, words AS "{title}" FROM staff WHERE 0',
        "SELECT id, mail FROM staff",
        'SELECT id, mail, words AS "{title}" FROM nowhere',
    ],
)
def test_words_of_other_messages_decide_no_code_of_a_directory(tmp_path: Path, statement: str) -> None:
    """Its columns, its cells and the file of its settings are named in messages."""
    wanted = of_directory(tmp_path / "plain", PLAIN, statement)

    assert wanted
    for at, word in enumerate(WORDS):
        assert of_directory(tmp_path / str(at), word, statement) == wanted, word
