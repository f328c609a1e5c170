import os
import sys
import time
from pathlib import Path

import pytest
from waiting import patience_s

from reconciler.errors import SettingsError
from reconciler.settings.reader import read_settings
from reconciler.settings.secrets import SecretRefused, SecretSource, parse_secret_source, read_secret_source


def python(code: str) -> SecretSource:
    return SecretSource("command", arguments=(sys.executable, "-c", code))


def refusal(source: SecretSource, root: Path, **options: float) -> str:
    with pytest.raises(SecretRefused) as caught:
        read_secret_source(
            source,
            root=root,
            environ={"EMPTY": "", "TWO": "canary\ncanary", "HALF": "canary\udcff"},
            **options,
        )
    assert "canary" not in f"{caught.value} {caught.value.next} {caught.value.__cause__}"
    assert caught.value.next
    return str(caught.value)


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_one_newline_at_the_end_is_taken_off(ending: str, tmp_path: Path) -> None:
    """Every editor and `echo` adds one; sent as it is, it would break the request and show the secret."""
    (tmp_path / "key").write_text(f"canary{ending}")

    assert read_secret_source(SecretSource("file", "key"), root=tmp_path, environ={}).reveal() == "canary"
    assert (
        read_secret_source(
            SecretSource("env", "KEY"), root=tmp_path, environ={"KEY": f"canary{ending}"}
        ).reveal()
        == "canary"
    )
    printed = python(f"print('canary', end={ending!r})")
    assert read_secret_source(printed, root=tmp_path, environ={}).reveal() == "canary"


def test_a_secret_keeps_its_spaces_and_letters(tmp_path: Path) -> None:
    """A password is what it is."""
    assert (
        read_secret_source(SecretSource("env", "P"), root=tmp_path, environ={"P": " pässword "}).reveal()
        == " pässword "
    )


def test_a_secret_never_shows_itself(tmp_path: Path) -> None:
    """Settings end up in logs and assertion messages; the secret must not."""
    secret = read_secret_source(SecretSource("env", "P"), root=tmp_path, environ={"P": "canary"})

    assert f"{secret} {secret!r} {[secret]}" == "(secret) (secret) [(secret)]"


def test_a_command_is_no_shell(tmp_path: Path) -> None:
    """`$(...)`, `;` and `|` in settings are words, not orders."""
    source = parse_secret_source({"command": "printf '%s' 'a;b $(touch hit) | c'"})

    assert read_secret_source(source, root=tmp_path, environ=os.environ).reveal() == "a;b $(touch hit) | c"
    assert not (tmp_path / "hit").exists()


def test_a_command_starts_in_the_folder_of_the_settings(tmp_path: Path) -> None:
    """Its relative paths mean the same for everyone."""
    (tmp_path / "key").write_text("canary")
    source = parse_secret_source({"command": ["cat", "key"]})

    assert read_secret_source(source, root=tmp_path, environ=os.environ).reveal() == "canary"


def test_a_link_to_a_secret_is_followed(tmp_path: Path) -> None:
    """Container platforms mount every secret as a link."""
    (tmp_path / "real").write_text("canary")
    (tmp_path / "key").symlink_to("real")

    assert read_secret_source(SecretSource("file", "key"), root=tmp_path, environ={}).reveal() == "canary"


def test_what_a_source_cannot_give_is_said_without_the_value(tmp_path: Path) -> None:
    """What, where and a way on; never the secret, nor what a command printed."""
    (tmp_path / "bytes").write_bytes(b"canary\xff")
    (tmp_path / "large").write_text("canary" * 10_000)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    program = Path(sys.executable)

    said = [
        refusal(SecretSource("env", "GONE"), tmp_path),
        refusal(SecretSource("env", "EMPTY"), tmp_path),
        refusal(SecretSource("env", "TWO"), tmp_path),
        refusal(SecretSource("env", "HALF"), tmp_path),
        refusal(SecretSource("file", "gone"), tmp_path),
        refusal(SecretSource("file", "folder"), tmp_path),
        refusal(SecretSource("file", "pipe"), tmp_path),
        refusal(SecretSource("file", "bytes"), tmp_path),
        refusal(SecretSource("file", "large"), tmp_path),
        refusal(SecretSource("file", "a\0b"), tmp_path),
        refusal(SecretSource("command", arguments=("./gone",)), tmp_path),
        refusal(python("import sys; sys.exit('canary')"), tmp_path),
        refusal(python("pass"), tmp_path),
        refusal(python("print('canary\\x1b[2Jcanary')"), tmp_path),
    ]

    assert said == [
        "the environment variable GONE is not set",
        "environment EMPTY is empty",
        "environment TWO holds a line break inside the value",
        "environment HALF is not UTF-8 text",
        "gone cannot be read: no such file or directory",
        "folder cannot be read: is a directory",
        "pipe is not a regular file",
        "file bytes is not UTF-8 text",
        "file large has over 16,384 bytes",
        "a\0b cannot be read: the path is unusable",
        "the command ./gone cannot be started: no such file or directory",
        f"the command {program} ended with exit code 1",
        f"command {program} is empty",
        f"command {program} holds the control character U+001B inside the value",
    ]


def test_a_command_that_hangs_is_ended(tmp_path: Path) -> None:
    """Its children hold the pipe open: we must not wait for them either."""
    child = (
        "import subprocess, sys, time; "
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); time.sleep(600)"
    )
    before = time.monotonic()

    said = refusal(python(child), tmp_path, timeout_s=0.3)

    assert said.endswith("did not end within 0.3 s")
    assert time.monotonic() - before < patience_s, "it waited for the child of the command"


def test_a_quote_that_is_not_closed_is_told() -> None:
    """The words of a command are split as a shell would split them."""
    with pytest.raises(SecretRefused, match="a quote that is not closed"):
        parse_secret_source({"command": "pass 'x"})
    with pytest.raises(SecretRefused, match="the command is empty"):
        parse_secret_source({"command": "  "})


def test_a_plain_secret_is_refused_without_showing_it(repository: Path) -> None:
    """What was once committed stays readable, so it is not enough to delete it: it has to be changed."""
    (repository / "reconciler.yaml").write_text(
        """\
version: 1
service: {auth: {password: canary, api_key: "canary"}}
environments: {staging: {service: {auth: {username: canary}}}}
"""
    )

    with pytest.raises(SettingsError) as caught:
        read_settings(config=None, environment=None, cwd=repository, environ={}, service=False)

    said = "\n".join(str(problem) for problem in caught.value.problems)
    assert [problem.where for problem in caught.value.problems] == [
        "reconciler.yaml:2:18",
        "reconciler.yaml:2:36",
        "reconciler.yaml:3:43",
    ]
    assert "service.auth.password: a plain value is refused: this file is kept in git" in said
    assert "write {env: PASSWORD}, {file: PATH} or {command: WORDS}; change the secret if it was" in said
    assert "canary" not in said


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("SVC_USER", "canary:x", "service.auth.username: a user name with a colon cannot be sent"),
        ("SVC_KEY", "canary x", "service.auth.api_key: the key holds a space"),
        ("SVC_KEY", "canaryé", "service.auth.api_key: the key holds a space or a letter outside ASCII"),
        ("SVC_PASSWORD", "", "service.auth.password: environment SVC_PASSWORD is empty."),
        ("SVC_PASSWORD", "canary\x00", "holds the control character U+0000 inside the value."),
    ],
)
def test_a_secret_that_cannot_travel_is_refused_before_any_call(
    variable: str, value: str, expected: str, repository: Path
) -> None:
    """A client that meets it later raises an error that holds the whole header."""
    environ = {"SVC_USER": "u", "SVC_PASSWORD": "p", "SVC_KEY": "k"} | {variable: value}

    with pytest.raises(SettingsError) as caught:
        read_settings(config=None, environment=None, cwd=repository, environ=environ, service=True)

    said = "\n".join(str(problem) for problem in caught.value.problems)
    assert expected in said
    assert said.startswith("reconciler.yaml:6:")
    assert "canary" not in said


def test_no_secret_is_read_where_none_is_needed(repository: Path) -> None:
    """Validating asks no password manager and needs no rights."""
    text = (repository / "reconciler.yaml").read_text()
    (repository / "reconciler.yaml").write_text(text.replace("{env: SVC_KEY}", "{command: touch read}"))

    read = read_settings(config=None, environment=None, cwd=repository, environ=os.environ, service=False)

    assert read.settings.service.auth.api_key.reveal() == ""
    assert not (repository / "read").exists()


def test_a_command_gets_no_variables_but_those_it_needs_and_those_that_are_named(tmp_path: Path) -> None:
    """The rest are secrets of the service, the store, the CI job: no business of a password manager."""
    environ = {
        **{name: name for name in ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "VAULT_TOKEN")},
        **dict.fromkeys(("SVC_PASSWORD", "PGPASSWORD", "RECONCILER_STORE", "BASH_ENV", "lang"), "canary"),
        "PATH": os.defpath,
    }
    tell = "import os; print(','.join(sorted(os.environ)))"
    words = [sys.executable, "-I", "-c", tell]
    plain = parse_secret_source({"command": words})
    named = parse_secret_source({"command": {"run": words, "variables": ["VAULT_TOKEN", "NOT_SET"]}})

    assert (
        read_secret_source(plain, root=tmp_path, environ=environ).reveal() == "HOME,LANG,LC_ALL,LC_CTYPE,PATH"
    )
    assert (
        read_secret_source(named, root=tmp_path, environ=environ).reveal()
        == "HOME,LANG,LC_ALL,LC_CTYPE,PATH,VAULT_TOKEN"
    )
    assert "`variables` that the settings name" in refusal_next(python("import sys; sys.exit(1)"), tmp_path)


def refusal_next(source: SecretSource, root: Path) -> str:
    """What somebody is told to do whose command failed."""
    with pytest.raises(SecretRefused) as caught:
        read_secret_source(source, root=root, environ={})
    return caught.value.next


def test_variables_of_a_command_are_written_in_the_settings(repository: Path) -> None:
    """Those of our own prefix too: naming one makes it known."""
    command = "{run: [printenv, RECONCILER_VAULT], variables: [RECONCILER_VAULT]}"
    (repository / "reconciler.yaml").write_text(
        "version: 1\nservice:\n  base_url: https://api.example.com\n  auth:\n"
        f"    username: {{command: {command}}}\n    password: {{env: P}}\n    api_key: {{env: P}}\n"
    )
    environ = {"PATH": os.defpath, "P": "p", "RECONCILER_VAULT": "jane"}

    read_ = read_settings(config=None, environment=None, cwd=repository, environ=environ, service=True)

    assert read_.settings.service.auth.username.reveal() == "jane"
