"""What a checkout holds in the place of a file is named, and neither read nor sent."""

import json
from collections.abc import Mapping
from pathlib import Path

import growth
import pytest
from manifest.project import Project

from reconciler.errors import InputError, SettingsError
from reconciler.messaging.message_file import parse_message_file
from reconciler.parsing.standins import find_stand_in
from reconciler.settings.reader import read_settings

CONTENT = "resources:\n  r: {{name: r.csv, scope: private, mimeType: text/csv, content: {{file: {}}}}}\n"
ROSTER = "rosters:\n  - {{file: {}, name: '{{a}}', contacts: {{workEmailAddress1: '{{b}}'}}}}\n"

OID = f"oid sha256:{'4d7a2146' * 8}\nsize 12345\n"
SOPS_YAML = """\
contacts:
    jane:
        firstName: ENC[AES256_GCM,data:Kj8=,iv:AAAA,tag:AAAA,type:str]
sops:
    mac: ENC[AES256_GCM,data:AAAA,iv:AAAA,tag:AAAA,type:str]
    version: 3.9.0
"""
CONFLICT = "a,b\n1,x@example.com\n<<<<<<< HEAD\n2,y@example.com\n=======\n3,z@example.com\n>>>>>>> other\n"

STAND_INS: dict[str, str | bytes] = {
    "git-lfs": f"version https://git-lfs.github.com/spec/v1\n{OID}",
    "an extension of git-lfs": f"version https://git-lfs.github.com/spec/v1\next-0-x sha256:00\n{OID}",
    "an old git-lfs": f"version https://hawser.github.com/spec/v1\n{OID}",
    "git-annex": "/annex/objects/SHA256E-s12345--4d7a2146.csv\n",
    "Ansible Vault": "$ANSIBLE_VAULT;1.1;AES256\n6162\n6364\n",
    "a labelled Ansible Vault": "$ANSIBLE_VAULT;1.2;AES256;team\n6162\n",
    "git-crypt": b"\0GITCRYPT\0\x8f\x91\xd6\0",
    "SOPS in YAML": SOPS_YAML,
    "SOPS in JSON": '{"data": "ENC[AES256_GCM,data:AA,iv:AA,tag:AA]",\n  "sops": {"version": "3.9.0"}\n}\n',
    "SOPS in ENV": "A=ENC[AES256_GCM,data:AA,iv:AA,tag:AA,type:str]\nsops_version=3.9.0\n",
    "OpenSSL in base64": "U2FsdGVkX19Y0mWPO8bV5bSbZ6cWbQ==\n",
    "OpenSSL": b"Salted__\x01\x02\x03",
    "Strongbox": "# STRONGBOX ENCRYPTED RESOURCE ; See https://example.com\nAAAA\n",
}
ARMOURED: dict[str, str | bytes] = {
    "PGP": "-----BEGIN PGP MESSAGE-----\n\nhQEMA\n-----END PGP MESSAGE-----\n",
    "a signed message": "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\na,b\n",
    "CMS": "-----BEGIN CMS-----\nMIIB\n-----END CMS-----\n",
}
CONFLICTS = {
    "a merge": CONFLICT,
    "three sides": CONFLICT.replace("=======", "||||||| 1a2b3c4\n0,w@example.com\n======="),
    "Windows lines": CONFLICT.replace("\n", "\r\n"),
    "longer markers": CONFLICT.replace("=======", "=" * 9)
    .replace("<<<<<<<", "<" * 9)
    .replace(">>>>>>>", ">" * 9),
    "Subversion": CONFLICT.replace(" HEAD", " .mine").replace(" other", " .r12"),
    "no labels": CONFLICT.replace(" HEAD", "").replace(" other", ""),
}
NO_STAND_INS: dict[str, str | bytes] = {
    "a heading": "Team\n=======\n\nSee <<<<<<< in the manual of git.\n",
    "a mail that quotes": ">>>>>>> what you wrote\n=======\n<<<<<<< and below\n",
    "markers that are indented": "  <<<<<<< HEAD\n  =======\n  >>>>>>> other\n",
    "two markers of three": "<<<<<<< HEAD\n=======\nno end\n",
    "longer than the others": "<<<<<<<< HEAD\n=======\n>>>>>>> other\n",
    "a page about git-lfs": "# version https://git-lfs.github.com/spec/v1\n",
    "a page about Ansible": "A vault begins with $ANSIBLE_VAULT;1.1\n",
    "a word of SOPS": "sops: a tool\n",
    "a column called sops": "sops,mail\n1,a@example.com\n",
    "a table": "a,b\n1,x@example.com\n",
}


def parameters(cases: Mapping[str, str | bytes]) -> pytest.MarkDecorator:
    data = [one.encode() if isinstance(one, str) else one for one in cases.values()]
    return pytest.mark.parametrize("data", data, ids=list(cases))


@parameters(STAND_INS)
def test_no_stand_in_is_sent_as_the_content_of_a_resource(project: Project, data: bytes) -> None:
    """It would replace the file that people at the service download."""
    project.write("manifests/list.csv", data)
    project.manifest(CONTENT.format("list.csv"))

    loaded = project.load()

    (problem,) = loaded.problems
    assert (problem.file, problem.line, problem.code) == ("manifests/ops.yaml", 4, "E117")
    assert "manifests/list.csv is" in problem.what
    assert problem.next
    assert not any(one.content for manifest in loaded.manifests for one in manifest.documents)


@pytest.mark.parametrize("name", ["people.csv", "people.json", "people.xlsx"])
@parameters(STAND_INS | ARMOURED)
def test_no_stand_in_is_read_as_a_roster(project: Project, data: bytes, name: str) -> None:
    """A pointer of two lines is a table with a header and a row; and "damaged" says nothing of what to do."""
    project.write(f"people/{name}", data)
    project.manifest(ROSTER.format(f"../people/{name}"))

    (problem,) = project.load().problems

    assert (problem.file, problem.code) == (f"people/{name}", "E117")


@pytest.mark.parametrize("name", ["ops.yaml", "ops.json"])
@parameters(STAND_INS | ARMOURED)
def test_no_stand_in_is_read_as_a_manifest(project: Project, data: bytes, name: str) -> None:
    project.write(f"manifests/{name}", data)

    (problem,) = project.load().problems

    assert (problem.file, problem.code) == (f"manifests/{name}", "E117")


@parameters(STAND_INS | ARMOURED)
def test_settings_and_messages_are_looked_at_too(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "reconciler.yaml").write_bytes(data)

    with pytest.raises(SettingsError) as settings:
        read_settings(config=None, environment=None, cwd=tmp_path, environ={}, service=False)
    with pytest.raises(InputError) as message:
        parse_message_file(data, "message.yaml")

    assert [one.code for one in (*settings.value.problems, *message.value.problems)] == ["E117", "E117"]


@parameters(CONFLICTS)
def test_a_conflict_stands_at_its_first_marker(project: Project, data: bytes) -> None:
    """In a roster it is two people more, in a content what everybody downloads."""
    project.write("manifests/list.csv", data)
    project.write("manifests/people.csv", data)
    project.write("manifests/broken.yaml", data)
    project.manifest(CONTENT.format("list.csv") + ROSTER.format("people.csv"))

    problems = project.load().problems

    places = [("manifests/broken.yaml", 3), ("manifests/list.csv", 3), ("manifests/people.csv", 3)]
    assert [(one.file, one.line) for one in problems] == places
    assert {one.code for one in problems} == {"E118"}


@parameters(NO_STAND_INS)
def test_what_only_looks_like_one_is_a_content(project: Project, data: bytes) -> None:
    project.write("manifests/list.csv", data)
    project.manifest(CONTENT.format("list.csv"))

    assert project.load().problems == ()


@parameters(ARMOURED)
def test_a_message_of_pgp_may_be_published(project: Project, data: bytes) -> None:
    """People publish such files on purpose; nobody publishes a pointer."""
    project.write("manifests/list.csv", data)
    project.manifest(CONTENT.format("list.csv"))

    assert project.load().problems == ()


def test_what_stands_in_the_manifest_itself_is_meant(project: Project) -> None:
    """The way to publish an example of a pointer or of a conflict: `text` instead of `file`."""
    project.manifest(CONTENT.replace("{{file: {}}}}}", "{{text: {}}}}}").format(json.dumps(CONFLICT)))

    assert project.load().problems == ()


@pytest.mark.parametrize("target", ["other.csv", "../shared/list.csv", "./other.csv"])
def test_a_link_that_git_wrote_as_text_is_named(project: Project, target: str) -> None:
    """Without core.symlinks, as on Windows, a link is a file with a path in it."""
    for name in ("manifests/other.csv", "shared/list.csv"):
        project.write(name, "a,b\n1,x@example.com\n")
    for name in ("list.csv", "people.csv", "more.yaml"):
        project.write(f"manifests/{name}", target)
    project.manifest(CONTENT.format("list.csv") + ROSTER.format("people.csv"))

    problems = project.load().problems

    assert {one.code for one in problems} == {"E119"}
    assert len(problems) == 3
    assert all(target in one.what for one in problems)


@pytest.mark.parametrize(
    "data", ["missing.csv", "other.csv\n", "see other.csv", ".", "list.csv", "/etc/hosts"]
)
def test_a_word_is_a_content(project: Project, data: str) -> None:
    """Only the path of a file that is there, with nothing behind it, is a link."""
    project.write("manifests/other.csv", "a\n")
    project.write("manifests/list.csv", data)
    project.manifest(CONTENT.format("list.csv"))

    assert project.load().problems == ()


def test_looking_for_a_conflict_takes_time_by_the_size() -> None:
    """A file may have a million lines that begin as one does."""
    assert growth.ratio(find_stand_in, lambda size: b"<<<<<<< a\n=======\n" * size, 5000) < growth.RATIO_MAX
