"""`notify` of the settings: whom sync tells, and every mistake in it at once."""

from pathlib import Path

import pytest

from reconciler.errors import SettingsError
from reconciler.model.settings import Notify
from reconciler.settings.reader import read_settings

WHOLE = """\
version: 1
policy:
  approvers: {jane: {phone: "+61412345678"}}
notify:
  webhook: {url: {env: NOTIFY_URL}, secret: {env: NOTIFY_SECRET}}
  people: [jane]
  digest_every: 1d
"""
WRONG = """\
version: 1
policy:
  approvers: {jane: {phone: "+61412345678"}}
notify:
  webhook: {url: http://hooks.example.com/}
  people: [jnae]
"""


def read(folder: Path, text: str, **environ: str) -> Notify:
    (folder / "reconciler.yaml").write_text(text, "utf-8")
    found = read_settings(config=None, environment=None, cwd=folder, environ=environ, service=False)
    return found.settings.notify


def test_secrets_are_read_when_there_is_something_to_tell(repository: Path) -> None:
    """A plan in a job that has none of them is no worse for it."""
    found = read(repository, WHOLE, NOTIFY_URL="https://hooks.example.com/x")

    assert (found.people, found.digest_every) == (("jane",), "1d")
    assert found.webhook.url is not None
    assert found.webhook.secret is not None
    assert found.webhook.url.reveal() == "https://hooks.example.com/x"
    with pytest.raises(SettingsError) as caught:
        found.webhook.secret.reveal()
    assert "NOTIFY_SECRET" in caught.value.problems[0].what


def test_every_mistake_is_told_at_its_place(repository: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        read(repository, WRONG)

    said = [(one.line, one.what.partition(":")[0]) for one in caught.value.problems]
    assert [line for line, _ in said] == [5, 5, 6]


def test_without_notify_nobody_is_told(repository: Path) -> None:
    assert read(repository, "version: 1\n") == Notify()
