"""The key of a callback: where it comes from, which is never the command line itself.

Belongs here: what the options for it mean. Not here: their names (cli/commands/callbacks.py), reading
a source (settings/secrets.py), comparing keys (messaging/receiver.py).
"""

import os
from typing import Any

import click

from reconciler.errors import SettingsError
from reconciler.model.settings import Secret
from reconciler.settings.reader import working_folder
from reconciler.settings.secrets import SecretRefused, SecretSource, read_secret_source


def new_key_of(given: dict[str, Any]) -> tuple[Secret | None, bool]:
    """Take the options of `new_key_options` out of `given` but `key_in`; return a new key, and `--no-key`.

    Without any of them: None and false. Raises as `key_of` does.
    """
    if not given["no_key"] and all(given[name] is None for name in ("key", "key_env", "key_file")):
        for name in ("key", "key_env", "key_file", "no_key"):
            del given[name]
        return None, False
    none = bool(given["no_key"])
    return key_of(given), none


def key_of(given: dict[str, Any]) -> Secret | None:
    """Take the options of `key_options` out of `given` but `key_in`; return the key, None with --no-key.

    Raises UsageError where not exactly one of them is given, SettingsError for a source without a key.
    """
    sources = [source for source in (_written(given), _named(given, "env"), _named(given, "file")) if source]
    said = len(sources) + given.pop("no_key")
    if said > 1:
        raise click.UsageError("give one of --key, --key-env, --key-file and --no-key, not several.")
    if said == 0:
        raise click.UsageError("name where the key is with --key-env or --key-file, or say --no-key.")
    if not sources:
        return None
    return _read(sources[0])


def _written(given: dict[str, Any]) -> SecretSource | None:
    text = given.pop("key")
    if text is None:
        return None
    way, colon, name = text.partition(":")
    if way not in ("env", "file") or not colon or not name:
        # It may be the key: it is not shown.
        raise click.UsageError("--key takes env:NAME or file:PATH, never the key itself.")
    return SecretSource("env" if way == "env" else "file", name)


def _named(given: dict[str, Any], way: str) -> SecretSource | None:
    name = given.pop(f"key_{way}")
    return None if name is None else SecretSource("env" if way == "env" else "file", name)


def _read(source: SecretSource) -> Secret:
    try:
        return read_secret_source(source, root=working_folder(), environ=os.environ)
    except SecretRefused as refusal:
        raise SettingsError(f"the callback's key: {refusal}.", next=refusal.next) from refusal
