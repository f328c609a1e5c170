"""Encrypted plan files: who can read them, and what everybody else is told."""

import json
import os
import stat
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import pyrage
import pytest
from cli.hands import Project, Service
from cli.keys_for_tests import SSH_PRIVATE, SSH_PUBLIC, SSH_WITH_A_PASSPHRASE
from msgspec import structs
from pyrage import passphrase, x25519
from report import cases

from reconciler.core.planning.fingerprint import fingerprint
from reconciler.core.redact import mask_private_key
from reconciler.core.review.saved_plans import without_transient
from reconciler.errors import FileError, InputError, ReconcilerError
from reconciler.files.atomic_files import write_pieces
from reconciler.files.encryption import check_recipients, encrypt_to, read_identities, read_recipients
from reconciler.files.plan_file import read_plan, write_plan

PLAN = structs.replace(cases.MIXED, fingerprint=fingerprint(cases.MIXED))
OURS, THEIRS = x25519.Identity.generate(), x25519.Identity.generate()
PUBLIC = str(OURS.to_public())


def key_file(folder: Path, text: str | None = None, *, mode: int = 0o600) -> str:
    path = folder / "key"
    path.write_text(f"# made for a test\n{OURS}\n" if text is None else text)
    path.chmod(mode)
    return str(path)


def locked(folder: Path, *recipients: str) -> Path:
    write_plan(folder / "plan.age", PLAN, recipients or (PUBLIC,))
    return folder / "plan.age"


def refused(path: Path, identity: str | None = None, environ: dict[str, str] | None = None) -> str:
    with pytest.raises((InputError, FileError)) as caught:
        read_plan(path, identity=identity, environ=environ or {})
    return told(caught.value)


def told(error: ReconcilerError) -> str:
    assert error.next
    assert str(OURS)[18:40] not in f"{error}{error.next}"
    return f"{error} {error.next}"


@pytest.mark.parametrize("error", [KeyError("a mistake of ours"), MemoryError(), KeyboardInterrupt()])
def test_what_ends_a_text_half_way_is_told_as_it_is(error: BaseException, tmp_path: Path) -> None:
    """The library would tell it in words of its own, and a signal is no failure of encryption."""

    def broken() -> Iterator[bytes]:
        yield b"a" * 100_000
        raise error

    def fill(file: BinaryIO) -> None:
        encrypt_to(file, broken(), [PUBLIC])

    with pytest.raises(type(error)) as raised:
        write_pieces(tmp_path / "plan.age", fill)

    assert raised.value is error
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_as_it_is() -> None:
    """A command says what to do about it."""
    with Path("/dev/full").open("wb", buffering=0) as full, pytest.raises(OSError, match="No space left"):
        encrypt_to(full, iter([b"a" * 100_000]), [PUBLIC])
    with pytest.raises(InputError):
        encrypt_to(BytesIO(), iter([b"a"]), ["age1"])


def test_a_recipient_reads_what_was_written(tmp_path: Path) -> None:
    """By a flag's file or the environment's; the file itself shows nothing of anybody."""
    path, key = locked(tmp_path), key_file(tmp_path)

    assert read_plan(path, identity=key) == without_transient(PLAN)
    assert read_plan(path, environ={"RECONCILER_IDENTITY": key}) == without_transient(PLAN)
    assert path.read_bytes().startswith(b"age-encryption.org/v1\n")
    assert b"Otto" not in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_each_of_several_recipients_reads_it(tmp_path: Path) -> None:
    """A team, and its CI, each with a key of their own; an SSH key is one too."""
    path = locked(tmp_path, PUBLIC, str(THEIRS.to_public()), SSH_PUBLIC, PUBLIC)

    for text in (f"{OURS}\n", f"{THEIRS}\n", SSH_PRIVATE):
        assert read_plan(path, identity=key_file(tmp_path, text)) == without_transient(PLAN)


def test_an_identity_file_may_hold_several_keys(tmp_path: Path) -> None:
    """The old one and the new one, while they are changed."""
    path = locked(tmp_path)

    assert read_plan(path, identity=key_file(tmp_path, f"{THEIRS}\n\n{OURS}\n")) == without_transient(PLAN)


def test_without_a_key_the_way_to_name_one_is_told(tmp_path: Path) -> None:
    """Never the key itself: command lines are read by everybody on a machine."""
    said = refused(locked(tmp_path))

    assert "this plan is encrypted. name the file with your private key: --identity FILE" in said
    assert "RECONCILER_IDENTITY" in said


def test_another_key_is_told_from_damage(tmp_path: Path) -> None:
    """Both end without a plan, and ask for different things."""
    path = locked(tmp_path, str(THEIRS.to_public()))
    assert "this plan is not encrypted to the key in" in refused(path, key_file(tmp_path))

    path = locked(tmp_path)
    path.write_bytes(path.read_bytes()[:-1])
    assert "this encrypted file is damaged or cut short." in refused(path, key_file(tmp_path))


def test_an_encrypted_file_with_any_byte_changed_is_refused(tmp_path: Path) -> None:
    """Every byte of it: the header is authenticated as well."""
    path, key = locked(tmp_path), key_file(tmp_path)
    whole = path.read_bytes()
    places = [*range(0, 400, 7), *range(400, len(whole), 97), len(whole) - 1]

    for place in places:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert refused(path, key)


def test_what_somebody_else_encrypted_to_us_must_still_be_a_plan(tmp_path: Path) -> None:
    """A public key is public: encryption says nothing about who wrote."""
    path, key = tmp_path / "plan.age", key_file(tmp_path)
    for data in (b"", b"{}", b"hello", locked(tmp_path).read_bytes()):
        path.write_bytes(pyrage.encrypt(data, [OURS.to_public()]))
        assert refused(path, key)


def test_the_text_form_is_refused_with_a_hint(tmp_path: Path) -> None:
    """One plan, one form."""
    path = tmp_path / "plan.age"
    path.write_bytes(pyrage.encrypt(b"x", [OURS.to_public()], armored=True))

    assert "an encrypted file in text form" in refused(path, key_file(tmp_path))


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o602])
def test_a_private_key_that_others_can_read_or_replace_is_refused(mode: int, tmp_path: Path) -> None:
    """It was no secret then."""
    said = refused(locked(tmp_path), key_file(tmp_path, mode=mode))

    assert f"others may read or write it (mode {mode:04o}). chmod 600 " in said


KEYS = {
    "empty": ("", "it holds no private key."),
    "only a comment": ("# nothing\n", "it holds no private key."),
    "a public key": (f"{PUBLIC}\n", "it holds a line that is not a private key."),
    "a key cut short": (f"{OURS}"[:-4] + "\n", "it holds a line that is not a private key."),
    "one good, one not": (f"{OURS}\nhello\n", "it holds a line that is not a private key."),
    "an SSH key with a passphrase": (SSH_WITH_A_PASSPHRASE, "is protected by a passphrase"),
    "an SSH key that is none": (SSH_PRIVATE[:80] + "\n", "this SSH private key cannot be used."),
    "a public SSH key": (SSH_PUBLIC, "it holds a line that is not a private key."),
    "an armoured encrypted key": ("-----BEGIN AGE ENCRYPTED FILE-----\n", "is protected by a passphrase"),
    "far too long": ("#" * 70_000, "it has over 65,536 bytes."),
}


@pytest.mark.parametrize("name", KEYS)
def test_a_key_that_cannot_be_used_is_named_and_never_shown(name: str, tmp_path: Path) -> None:
    """A sentence, with what to do; no piece of the file."""
    text, expected = KEYS[name]

    assert expected in refused(locked(tmp_path), key_file(tmp_path, text))


def test_a_key_under_a_passphrase_is_refused(tmp_path: Path) -> None:
    """As age itself keeps one; nobody can be asked in CI."""
    path = tmp_path / "key"
    path.write_bytes(passphrase.encrypt(f"{OURS}\n".encode(), "canary"))
    path.chmod(0o600)

    assert "is protected by a passphrase" in refused(locked(tmp_path), str(path))


MISPLACED = {
    "a key of age": str(OURS),
    "a key of age in small letters": str(OURS).lower(),
    "what age-keygen writes": f"# made for a test\n{OURS}\n",
    "a key of a plugin": f"AGE-PLUGIN-YUBIKEY-{str(OURS)[15:]}",
    "a key of SSH": SSH_PRIVATE,
    "a key of age with other dashes": str(OURS).replace("-", "\N{NON-BREAKING HYPHEN}"),
    "a line of a key of SSH with a slash": f"4gAA/{SSH_PRIVATE.splitlines()[2]}",
    "a key longer than a name may be": "b3BlbnNzaC1rZXkt" * 300,
    "the middle of a key of SSH": "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW",
}


@pytest.mark.parametrize("name", MISPLACED)
@pytest.mark.parametrize("where", ["identity", "variable"])
def test_a_key_in_the_place_of_its_file_is_not_printed(tmp_path: Path, name: str, where: str) -> None:
    """Variables of CI hold keys, so somebody puts one into this one. The log is read by many."""
    key = MISPLACED[name]
    given = {"identity": key} if where == "identity" else {"environ": {"RECONCILER_IDENTITY": key}}

    said = refused(locked(tmp_path), **given)

    assert "holds a private key itself" in said
    assert all(piece not in said for piece in (key, *(one for one in key.split() if len(one) > 24)))


@pytest.mark.parametrize("name", ["age-secret-key.txt", "my private key", "a" * 60])
def test_a_file_may_be_called_like_a_key(tmp_path: Path, name: str) -> None:
    """What is there by that name is a file, and `age-secret-key.txt` is how people call theirs."""
    path = tmp_path / name
    path.write_text(f"{OURS}\n")
    path.chmod(0o600)

    read = read_plan(locked(tmp_path), identity=str(path), environ={})

    assert read == read_plan(locked(tmp_path), identity=key_file(tmp_path), environ={})
    assert mask_private_key(name) == name


def test_a_key_that_is_no_file_is_refused(tmp_path: Path) -> None:
    """Nothing there, a folder, a pipe that nobody writes to, bytes that are no text."""
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "bytes").chmod(0o600)

    assert "no such file or directory" in refused(locked(tmp_path), str(tmp_path / "gone"))
    assert "is a directory" in refused(locked(tmp_path), str(tmp_path))
    assert "it is not a regular file" in refused(locked(tmp_path), str(tmp_path / "pipe"))
    assert "this is not a file of private keys." in refused(locked(tmp_path), str(tmp_path / "bytes"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "age1",
        "age1" + "q" * 58,
        "hello",
        pytest.param(SSH_PRIVATE.splitlines()[2], id="a line of a private key"),
        pytest.param(str(OURS)[16:], id="a secret key without its beginning"),
        pytest.param(str(OURS), id="a secret key"),  # made anew in every process
        "ssh-ed25519",
        "ssh-ed25519 AAAA",
        "ssh-dss AAAAB3NzaC1kc3M",
        "age1yubikey1qwerty",
        "\x1b[2J",
    ],
)
def test_what_is_no_public_key_is_refused(text: str) -> None:
    """A private key in its place above all, and without repeating it."""
    with pytest.raises(InputError) as caught:
        check_recipients([PUBLIC, text])

    assert "is not a public key that a plan can be encrypted for." in told(caught.value)
    assert text.startswith(("age1", "ssh-")) or len(text) < 24 or text[:20] not in told(caught.value)


def test_a_file_of_recipients_has_one_on_each_line(tmp_path: Path) -> None:
    """As age itself reads it; an empty one would encrypt to nobody."""
    path = tmp_path / "team.keys"
    path.write_text(f"# ops\n{PUBLIC}\n\n  {SSH_PUBLIC}\n")
    assert read_recipients(path) == (PUBLIC, SSH_PUBLIC)

    path.write_text("# nobody\n")
    with pytest.raises(InputError, match="it holds no public key"):
        read_recipients(path)


def test_a_folder_of_somebody_elses_keys_is_not_searched(tmp_path: Path) -> None:
    """One file is named, and that one is read."""
    with pytest.raises(FileError):
        read_identities(tmp_path / "none")


def test_plan_show_and_apply_go_through_with_a_key(project: Project, service: Service) -> None:
    """The whole way: written for a key of the settings, shown and carried out with its other half."""
    key = key_file(project.folder)
    keys = {"RECONCILER_PLAN_RECIPIENTS": PUBLIC}
    planned = project.run(service, "plan", "-o", "plan.age", env=keys)
    without = project.run(service, "show", "plan.age")
    shown = project.run(service, "show", "plan.age", "--identity", key, "--format", "json")
    refused_apply = project.run(service, "apply", "plan.age")
    before = service.writes()
    applied = project.run(service, "apply", "plan.age", env={"RECONCILER_IDENTITY": "key"})

    assert planned.returncode == 0
    assert "+ contact/default/jane-doe" in planned.stdout
    assert (project.folder / "plan.age").read_bytes().startswith(b"age-encryption.org/v1\n")
    assert without.returncode == refused_apply.returncode == 3
    assert "this plan is encrypted." in without.stderr
    assert len(json.loads(shown.stdout)["plan"]["changes"]) == 5
    assert before == []
    assert (applied.returncode, applied.stderr) == (0, "")


def test_recipients_of_flags_and_settings_add_up(project: Project, service: Service) -> None:
    """A flag never takes away who the settings say can read it."""
    (project.folder / "team.keys").write_text(f"{SSH_PUBLIC}\n")
    env = {"RECONCILER_PLAN_RECIPIENTS": PUBLIC}
    arguments = ("--encrypt-to", str(THEIRS.to_public()), "--recipients-file", "team.keys")

    done = project.run(service, "plan", "-o", "plan.age", *arguments, env=env)

    assert done.returncode == 0
    for text in (f"{OURS}\n", f"{THEIRS}\n", SSH_PRIVATE):
        assert read_plan(project.folder / "plan.age", identity=key_file(project.folder, text)).changes


def test_a_bad_recipient_ends_it_before_the_service_is_asked(project: Project, service: Service) -> None:
    """Else a plan would be made for nothing, or worse, be written for everybody."""
    done = project.run(service, "plan", "-o", "plan.age", "--encrypt-to", "age1oops")
    nowhere = project.run(service, "plan", "--encrypt-to", PUBLIC)

    assert (done.returncode, nowhere.returncode) == (3, 64)
    assert "is not a public key" in done.stderr
    assert "need a file to encrypt: pass -o FILE." in nowhere.stderr
    assert not (project.folder / "plan.age").exists()
    assert service.requests() == []
