"""What a manifest may not refer to: what a reference names can become public content of the service."""

import json
import os
from pathlib import Path

import pytest
from cli.hands import PLAIN
from manifest.project import Project
from msgspec import structs
from report import cases

from reconciler.core.review.saved_plans import seal_plan
from reconciler.files.plan_file import write_plan
from reconciler.files.project_files import detect_private_content
from reconciler.manifest.load import LoadedManifests, load_manifests
from reconciler.messaging.reports import reply_json
from reconciler.messaging.values import Reply, Respondent
from reconciler.model.address import contact_address
from reconciler.model.plans import Create, Plan
from reconciler.pipeline import validate
from reconciler.report.json import drift_json, plan_json, problems_json, report_json, run_json
from reconciler.settings.reader import read_settings
from reconciler.version import __version__

CONTENT = "resources:\n  r: {{name: r.csv, scope: public, mimeType: text/csv, content: {{file: {}}}}}\n"
ROSTER = "rosters:\n  - {{file: {}, name: '{{a}}', contacts: {{}}}}\n"
BOTH = pytest.mark.parametrize("body", [CONTENT, ROSTER], ids=["content", "roster"])

HIDDEN = [
    "../.git/config",
    "../.env",
    "../.reconciler/store.db",
    ".hidden.csv",
    ".folder/list.csv",
    "folder/.hidden.csv",
    "folder/../../.env",
    "./.env",
    "...",
    "../.GIT/config",
]


def _refused(loaded: LoadedManifests, *words: str) -> None:
    (problem,) = loaded.problems
    assert all(word in problem.what for word in words), problem
    assert problem.next
    assert "canary" not in str(problem)
    assert not any(document.content for manifest in loaded.manifests for document in manifest.documents)


@BOTH
@pytest.mark.parametrize("written", HIDDEN)
def test_no_name_that_begins_with_a_dot_is_read(project: Project, written: str, body: str) -> None:
    """`.git/config` holds addresses with tokens, `.env` passwords, `.reconciler` the store."""
    project.write(f"manifests/{written}", "a,canary\n")
    project.manifest(body.format(written))

    _refused(project.load(["manifests/ops.yaml"]), "begins with a dot")


PRIVATE = {
    "a plan": json.dumps({"manifest_digest": "canary", "fingerprint": "canary", "changes": []}),
    "a report of a plan": json.dumps({"plan": {"fingerprint": "canary", "manifest_digest": "canary"}}),
    "a store": "SQLite format 3\0canary",
    "an encrypted plan": "age-encryption.org/v1\n-> X25519 canary\n",
    "an encrypted plan as text": "-----BEGIN AGE ENCRYPTED FILE-----\ncanary\n",
    "a key of age": "# created: 2026\n# public key: age1canary\nAGE-SECRET-KEY-1CANARYcanary\n",
    "a key of SSH": "-----BEGIN OPENSSH PRIVATE KEY-----\ncanary\n",
    "a key of TLS": "subject=canary\n-----BEGIN RSA PRIVATE KEY-----\ncanary\n",
    "a PKCS8 key": "-----BEGIN PRIVATE KEY-----\ncanary\n",
    "a key behind certificates": "canary\n" * 20_000 + "-----BEGIN PRIVATE KEY-----\n",
}


@BOTH
@pytest.mark.parametrize("kind", PRIVATE)
def test_plans_stores_and_private_keys_are_known_by_what_they_hold(
    project: Project, kind: str, body: str
) -> None:
    """A plan or a key may have any file name."""
    project.write("manifests/list.csv", PRIVATE[kind])
    project.manifest(body.format("list.csv"))

    _refused(project.load(["manifests/ops.yaml"]), "manifests/list.csv")


def _plan(count: int) -> Plan:
    """A plan that creates this many contacts."""
    fields = {
        "firstName": "Sam",
        "lastName": "Lee",
        "workEmailAddress1": "sam.lee@example.com",
        "workMobilePhone1": "+447700900123",
        "jobTitle": "canary",
    }
    changes = tuple(
        Create(contact_address("ops", f"c{number}"), "manifests/ops.yaml:4", fields)
        for number in range(count)
    )
    return structs.replace(cases.EMPTY, changes=changes)


@BOTH
@pytest.mark.parametrize("count", [0, 1, 150, 200, 5000])
def test_a_plan_is_known_however_many_changes_it_has(project: Project, count: int, body: str) -> None:
    """Its keys are sorted: the one that identifies a plan comes after all changes."""
    data = seal_plan(_plan(count), __version__)
    project.manifest(body.format("list.csv"))

    for begin in (b"", b"\xef\xbb\xbf", b" \r\n\t" * 100):
        project.write("manifests/list.csv", begin + data)
        _refused(project.load(["manifests/ops.yaml"]), "manifests/list.csv", "is a plan")


AGE = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"


@pytest.mark.parametrize("count", [1, 200])
def test_an_encrypted_plan_is_known_as_it_is_written(tmp_path: Path, count: int) -> None:
    """Who has the key, or gets it one day, reads all of it."""
    path = tmp_path / "plan.json"

    write_plan(path, _plan(count), [AGE])

    assert detect_private_content(path.read_bytes()) == "encrypted, as a plan is"
    assert detect_private_content(b"\xef\xbb\xbf \n" + path.read_bytes()) == "encrypted, as a plan is"


REPLY = Reply("4C8F", "/messages/4C8F", Respondent("Jane", "canary"), content="yes")
PRINTED = {
    "a plan": plan_json(_plan(200), cases.REFUSED, 7),
    "a drift": drift_json(cases.MIXED),
    "a run": run_json(cases.DONE),
    "mistakes": problems_json(()),
    "people": report_json({"contacts": [{"firstName": "canary"}] * 2000}),
    "replies": reply_json(REPLY, "2026-03-02T09:30:00+00:00", "0" * 32) + "\n",
}


@pytest.mark.parametrize("kind", PRINTED)
def test_what_the_program_prints_in_json_is_known(kind: str) -> None:
    """A report holds the values that a plan holds, and what the service holds; redirected, it is a file.

    The PowerShell writes UTF-16 into it.
    """
    text = PRINTED[kind]

    assert detect_private_content(text.encode())
    first, _ = json.JSONDecoder().raw_decode(text)
    assert detect_private_content(json.dumps([first]).encode())
    assert detect_private_content(text.encode("utf-16"))
    assert detect_private_content(b"\xfe\xff" + text.encode("utf-16-be"))


PUBLIC: dict[str, str | bytes] = {
    "the words of a plan in a text": b'note,"manifest_digest and fingerprint"\n',
    "a plan that a JSON text quotes": json.dumps(
        {"text": json.dumps({"manifest_digest": "", "fingerprint": ""})}
    ),
    "a report of another program": json.dumps({"outcome": "success", "exit_code": 0, "version": 1}),
    "the result of another program": json.dumps({"outcome": "done", "exit_code": 0}),
    "the schema of our plans": (Path(__file__).parents[2] / "schemas" / "plan.schema.json").read_bytes(),
    "a public key": "-----BEGIN PUBLIC KEY-----\nAAAA\n",
    "an address of age": AGE,
    "a picture": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "nothing": b"",
}


@pytest.mark.parametrize("kind", PUBLIC)
def test_what_only_looks_like_one_of_ours_may_be_named(kind: str) -> None:
    """A refusal without a way around it would be worse than a name in a table."""
    content = PUBLIC[kind]

    assert detect_private_content(content.encode() if isinstance(content, str) else content) == ""


@BOTH
def test_a_file_with_a_second_name_is_not_read(project: Project, body: str) -> None:
    """A hard link to `.git/config` or to a key looks like any other file."""
    secret = project.write(".git/config", "a,canary\n")
    os.link(secret, project.root / "manifests" / "list.csv")
    project.manifest(body.format("list.csv"))

    _refused(project.load(["manifests/ops.yaml"]), "second name")


def _with_private(project: Project, *private: Path) -> LoadedManifests:
    return load_manifests(
        [Path("manifests/ops.yaml")], root=project.root, environ={}, variables=(), private=private
    )


@BOTH
def test_a_file_that_the_settings_keep_private_is_not_read_under_any_name(
    project: Project, body: str
) -> None:
    """Compared on the disk and not by name: letter case, folders that are links and `..` change nothing."""
    path = project.write("keys/api.csv", "a,canary\n")
    elsewhere = project.root.parent / "elsewhere"
    elsewhere.symlink_to(path)

    for written in ("../keys/api.csv", "../keys/../keys/./api.csv", "../manifests/../keys/api.csv"):
        project.manifest(body.format(written))
        _refused(_with_private(project, path), "keys/api.csv", "settings")
        _refused(_with_private(project, elsewhere), "keys/api.csv", "settings")
    assert _with_private(project, project.root / "missing").problems == ()


SETTINGS = """\
version: 1
workspaces: {ops: {id: AB12}}
store: sqlite:///state/store.csv
service:
  auth:
    username: {file: secrets/user.csv}
    password: {env: SVC_PASSWORD}
environments:
  prod:
    service: {auth: {api_key: {file: secrets/prod.csv}}}
    store: sqlite:///state/prod.csv
"""


@pytest.mark.parametrize(
    "written",
    [
        "reconciler.yaml",
        "secrets/user.csv",
        "secrets/prod.csv",
        "state/store.csv",
        "state/store.csv-wal",
        "state/store.csv.id",
        "state/prod.csv",
        "keys/identity.csv",
        "keys/pgpass.csv",
        "manifests/ops.yaml",
    ],
)
def test_what_the_settings_name_for_secrets_and_the_store_is_private(project: Project, written: str) -> None:
    """In every environment's section, not only in the one of this run: CI works with another one."""
    project.write("reconciler.yaml", SETTINGS)
    if written not in ("reconciler.yaml", "manifests/ops.yaml"):
        project.write(written, "a,canary\n")
    project.manifest(CONTENT.format(f"../{written}"))
    environ = {
        **PLAIN,
        "RECONCILER_IDENTITY": str(project.root / "keys/identity.csv"),
        "PGPASSFILE": "keys/pgpass.csv",
    }
    settings = read_settings(
        config=None, environment=None, cwd=project.root, environ=environ, service=False
    ).settings
    with pytest.raises(Exception, match="cannot be used: 1 mistake") as refused:
        validate(settings, {})

    assert "the settings" in str(refused.value.problems)  # type: ignore[attr-defined]  # of ManifestError


def test_the_path_of_the_content_is_known(project: Project) -> None:
    """A reviewer of a plan sees from which file it comes; text of the manifest has none."""
    project.write("payloads/list.csv", "a,b\n")
    project.manifest(
        "resources:\n"
        "  r: {name: r.csv, scope: public, mimeType: text/csv, content: {file: ../payloads/list.csv}}\n"
        "  s: {name: s.csv, scope: public, mimeType: text/csv, content: {text: 'a,b'}}\n"
    )

    found = {name: one.content.path for name, one in project.documents().items() if one.content}

    assert found == {"r": "payloads/list.csv", "s": ""}
