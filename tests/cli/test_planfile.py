"""The plan file: one text for one plan, private, and refused when it is anything else."""

import json
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from report import cases
from sealing import resealed

from reconciler.core.planning.fingerprint import fingerprint
from reconciler.core.review.saved_plans import without_transient
from reconciler.errors import FileError, InputError, ReconcilerError, StalePlan
from reconciler.files.plan_file import read_plan, write_plan
from reconciler.model.encoding import encode_json
from reconciler.model.plans import Plan
from reconciler.version import __version__

PLAN = structs.replace(cases.MIXED, fingerprint=fingerprint(cases.MIXED))


def refusal(path: Path) -> ReconcilerError:
    with pytest.raises((InputError, StalePlan)) as caught:
        read_plan(path)
    assert caught.value.next
    return caught.value


def written(folder: Path, plan: Plan = PLAN) -> Path:
    write_plan(folder / "plan.json", plan)
    return folder / "plan.json"


def test_a_plan_comes_back_as_it_was_written(tmp_path: Path) -> None:
    """But for what nobody could check later: how it was read, and how many strangers there were."""
    assert read_plan(written(tmp_path)) == without_transient(PLAN)
    assert read_plan(written(tmp_path)).changes == PLAN.changes


def test_the_same_plan_is_the_same_bytes(tmp_path: Path) -> None:
    """A file says nothing that the plan does not: no time of writing, no chance."""
    (tmp_path / "other").mkdir()

    assert written(tmp_path).read_bytes() == written(tmp_path / "other", without_transient(PLAN)).read_bytes()


def test_strangers_and_calls_are_not_kept(tmp_path: Path) -> None:
    """They move by themselves: kept, they would either lie or make every plan stale."""
    document = json.loads(written(tmp_path).read_bytes())

    assert document["unmanaged"] == {}
    assert {(read["how"], read["calls"], read["total"]) for read in document["reads"]} == {("", 0, -1)}


def _added(document: dict[str, Any]) -> object:
    return {**document, "approved": True}


def _removed(document: dict[str, Any]) -> object:
    return {key: value for key, value in document.items() if key != "skips"}


EDITED: Mapping[str, Callable[[dict[str, Any]], object]] = {
    "a field more": _added,
    "a field less": _removed,
    "a field more inside": lambda one: {**one, "target": {**one["target"], "x": ""}},
    "a later end": lambda one: {**one, "expires_at": "2029-01-01T00:00:00Z"},
    "a line number": lambda one: json.loads(json.dumps(one).replace("ops.yaml:14", "ops.yaml:15")),
    "a count": lambda one: {**one, "unchanged": {"contacts in ops": 1}},
    "a sentence": lambda one: {**one, "skips": one["skips"][1:]},
    "the seal": lambda one: {**one, "seal": "0" * 64},
    "no seal": lambda one: {**one, "seal": ""},
    "other keys first": lambda one: dict(reversed(one.items())),
}


@pytest.mark.parametrize("name", EDITED)
def test_an_edited_file_is_refused(name: str, tmp_path: Path) -> None:
    """Also where the fingerprint covers nothing of it."""
    path = written(tmp_path)
    document = EDITED[name](json.loads(path.read_bytes()))
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    assert str(refusal(path)).endswith(
        ": this file was changed after it was written; its checksum does not match."
    )


RETYPED: Mapping[str, Callable[[bytes], bytes]] = {
    "a space at the end": lambda data: data + b" ",
    "a line less": lambda data: data[:-1],
    "one line": lambda data: json.dumps(json.loads(data)).encode(),
    "tabs": lambda data: data.replace(b"  ", b"\t"),
    "other line ends": lambda data: data.replace(b"\n", b"\r\n"),
    "an escape": lambda data: data.replace(b'"version"', b'"v\\u0065rsion"'),
    "a key twice": lambda data: data.replace(b'"version": 2', b'"version": 2,\n  "version": 2'),
    "another number": lambda data: data.replace(b'"version": 2', b'"version": 2.0'),
}


@pytest.mark.parametrize("name", RETYPED)
def test_the_same_content_in_other_bytes_is_refused(name: str, tmp_path: Path) -> None:
    """One plan has one text. Two readers can then never read two things in it."""
    path = written(tmp_path)
    path.write_bytes(RETYPED[name](path.read_bytes()))

    assert refusal(path).exit_code == 3


def test_a_mark_of_byte_order_is_refused(tmp_path: Path) -> None:
    """Some editors put one in front."""
    path = written(tmp_path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())

    assert refusal(path).exit_code == 3


@pytest.mark.parametrize("keep", [0, 1, 100, -2])
def test_a_file_that_was_cut_is_refused(keep: int, tmp_path: Path) -> None:
    """A download that broke off."""
    path = written(tmp_path)
    path.write_bytes(path.read_bytes()[:keep])

    assert refusal(path).exit_code == 3


def test_a_plan_of_another_version_of_the_program_is_stale(tmp_path: Path) -> None:
    """It may have planned otherwise: exit 5, and the way on is to plan again."""
    path = tmp_path / "plan.json"
    path.write_bytes(resealed(PLAN, program="0.0.9"))

    error = refusal(path)
    assert error.exit_code == 5
    assert f"this is {__version__}." in str(error)


def test_a_plan_that_is_sealed_again_passes_as_a_file(tmp_path: Path) -> None:
    """What a seal is not: proof of who wrote it. What stands against this comes later, when it is applied."""
    path = tmp_path / "plan.json"
    path.write_bytes(resealed(PLAN, expires_at="2029-01-01T00:00:00Z"))

    assert read_plan(path).expires_at == "2029-01-01T00:00:00Z"


def test_a_plan_without_a_seal_is_no_plan_file(tmp_path: Path) -> None:
    """As earlier programs wrote it, or as somebody would write it by hand."""
    path = tmp_path / "plan.json"
    path.write_bytes(encode_json(PLAN, indent=2))

    assert refusal(path).exit_code == 3


def test_deep_nesting_is_refused_and_nothing_more(tmp_path: Path) -> None:
    """No traceback, whatever the bytes are."""
    path = tmp_path / "plan.json"
    path.write_bytes(b'{"version": 1, "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")

    assert refusal(path).exit_code == 3


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_the_file_is_private_whatever_the_umask(umask: int, tmp_path: Path) -> None:
    """From its first byte."""
    before = os.umask(umask)
    try:
        path = written(tmp_path)
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_stands_in_the_way_is_left_alone(tmp_path: Path) -> None:
    """A folder, a pipe: nothing is replaced that is no file. A link is replaced, never followed."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "victim").write_text("untouched")
    (tmp_path / "link").symlink_to(tmp_path / "victim")

    for name in ("folder", "pipe"):
        with pytest.raises(FileError):
            write_plan(tmp_path / name, PLAN)
    write_plan(tmp_path / "link", PLAN)

    assert (tmp_path / "victim").read_text() == "untouched"
    assert not (tmp_path / "link").is_symlink()
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert read_plan(tmp_path / "link") == without_transient(PLAN)


def test_a_refusal_shows_nobody_what_is_in_the_file(tmp_path: Path) -> None:
    """It holds people's data, and errors end in logs."""
    path = written(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"Otto"', b'["Otto", "canary"]'))

    error = refusal(path)
    assert "canary" not in f"{error} {error.next}"
    assert "Otto" not in f"{error} {error.next}"


def test_octets_that_are_no_text_are_refused_wherever_they_stand(tmp_path: Path) -> None:
    """The reader of JSON tells a bad octet in some places by another error than any other damage."""
    path = written(tmp_path)
    data = path.read_bytes()
    for at in range(0, len(data), 2):
        path.write_bytes(data[:at] + b"\xc3" + data[at:])
        assert isinstance(refusal(path), InputError), at
