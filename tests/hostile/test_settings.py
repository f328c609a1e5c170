"""Settings, variables, secrets and profiles as people mistype and attackers write them."""

from pathlib import Path

from hostile import corpora
from hostile.corpora import Case

from reconciler.errors import SettingsError
from reconciler.service.profile import load_profile
from reconciler.settings.reader import read_settings
from reconciler.settings.secrets import SecretRefused, SecretSource, read_secret_source

HEAD = b"version: 1\n"
AUTH = "  auth: {username: {env: SVC_USER}, password: {env: SVC_PASSWORD}, api_key: {env: SVC_KEY}}\n"
GOOD = f"version: 1\nservice:\n  base_url: http://127.0.0.1:8480\n{AUTH}".encode()
SECRETS = {"SVC_USER": "canary-user", "SVC_PASSWORD": "canary-pass", "SVC_KEY": "canary-key"}
CANARY = "canary"


def said_settings(case: Case, folder: Path) -> str:
    """What `reconciler.yaml` with this content is refused for, or how many settings it changes."""
    (folder / "reconciler.yaml").write_bytes(case.data)
    return _read(folder, SECRETS)


def said_variable(case: Case, folder: Path) -> str:
    """The same of good settings in an environment with these variables."""
    (folder / "reconciler.yaml").write_bytes(GOOD)
    return _read(folder, SECRETS | {name: _text(value) for name, value in case.raw.items()})


def _text(value: str | bytes) -> str:
    """A variable's value as the interpreter shows it: bytes that are no text become halves of pairs."""
    return value if isinstance(value, str) else value.decode("utf-8", "surrogateescape")


def _read(folder: Path, environ: dict[str, str]) -> str:
    with corpora.untouched(folder):
        try:
            found = read_settings(config=None, environment=None, cwd=folder, environ=environ, service=True)
        except SettingsError as error:
            line = corpora.placed(corpora.told(error), folder)
        else:
            changed = [value for value in found.layers.values.values() if value.origin != "default"]
            line = f"value: {len(changed)} settings"
    require_silent(line)
    return line


def require_silent(line: str) -> None:
    """No secret stands in what is told."""
    assert CANARY not in line.lower()


def said_secret(case: Case, folder: Path) -> str:
    """What the secret of a variable or a file with this content is refused for, or how long it is."""
    ((way, content),) = case.raw.items()
    data = content if isinstance(content, bytes) else content.encode()
    (folder / "key").write_bytes(data)
    with corpora.untouched(folder):
        try:
            name = "key" if way == "file" else "KEY"
            environ = {"KEY": data.decode("utf-8", "surrogateescape")}
            secret = read_secret_source(SecretSource(way, name), root=folder, environ=environ)
        except SecretRefused as refusal:
            line, hint = f"SecretRefused: {refusal}", refusal.next
        else:
            line, hint = f"value: {len(secret.reveal())} characters", "used"
            assert CANARY not in f"{secret} {secret!r}"
    assert hint
    require_silent(line)
    return line


def said_profile(case: Case, folder: Path) -> str:
    """What a profile with this content is refused for, or what it calls itself."""
    (folder / "ours.yaml").write_bytes(case.data)
    with corpora.untouched(folder):
        try:
            return f"value: {load_profile(str(folder / 'ours.yaml')).vendor}"
        except SettingsError as error:
            return corpora.told(error)


@corpora.each("settings")
def test_every_settings_file_meets_its_line(case: Case, tmp_path: Path) -> None:
    """A slip is told at its line; nothing that a file says makes a credential travel or show."""
    corpora.claim(case, "settings files", lambda: said_settings(case, tmp_path))


@corpora.each("variables")
def test_every_environment_meets_its_line(case: Case, tmp_path: Path) -> None:
    """A variable of ours is a setting by the same rules as the file, or a mistake; never ignored."""
    corpora.claim(case, "environment variables", lambda: said_variable(case, tmp_path))


@corpora.each("secrets")
def test_every_secret_meets_its_line(case: Case, tmp_path: Path) -> None:
    """What cannot travel is refused where it is read, and shown by no message."""
    corpora.claim(case, "credentials", lambda: said_secret(case, tmp_path))


@corpora.each("profiles")
def test_every_profile_meets_its_line(case: Case, tmp_path: Path) -> None:
    """A profile allows writes and names fields: a word that means nothing is a mistake."""
    corpora.claim(case, "profiles", lambda: said_profile(case, tmp_path))


def test_a_secret_file_that_others_may_read_still_works_and_a_device_does_not(tmp_path: Path) -> None:
    """Who may read it is the owner's business: containers mount secrets as they like. A pipe would wait."""
    (tmp_path / "key").write_text("canary")
    for mode in (0o400, 0o600, 0o640, 0o644, 0o755):
        (tmp_path / "key").chmod(mode)
        assert read_secret_source(SecretSource("file", "key"), root=tmp_path, environ={}).reveal() == "canary"
    for name in ("/dev/zero", "/dev/random", "/dev/tty0", str(tmp_path), "/proc/self/mem"):
        try:
            read_secret_source(SecretSource("file", name), root=tmp_path, environ={})
        except SecretRefused as refusal:
            assert refusal.next  # noqa: PT017 - each of them is refused for a reason of its own
        else:
            raise AssertionError(name)
