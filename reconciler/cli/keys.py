"""The key of a callback: where it comes from, which is never the command line itself.

Belongs here: the options for it, for the receiver and for a callback alike. Not here: reading a
source (credentials.py), comparing keys (receiver/app.py).
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reconciler.errors import SettingsError

if TYPE_CHECKING:
    from reconciler.cli.credentials import Source
    from reconciler.model.settings import Secret

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--key",
        metavar="env:NAME|file:PATH",
        help="Where the callback's key is; never the key itself, which others could see.",
    ),
    click.option("--key-env", metavar="NAME", help="The same as --key env:NAME."),
    click.option("--key-file", metavar="FILE", help="The same as --key file:FILE."),
    click.option("--no-key", is_flag=True, help="There is none: whoever reaches the address is believed."),
    click.option(
        "--key-in",
        type=click.Choice(("header", "query")),
        default="header",
        show_default=True,
        help="How the service sends the key.",
    ),
)


def key_options(command: Command) -> Command:
    """`key`, `key_env`, `key_file`: texts, or None; `no_key`: true or false; `key_in`: header or query."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def key_of(given: dict[str, Any]) -> "Secret | None":
    """Take the options of `key_options` out of `given` but `key_in`; return the key, None with --no-key.

    Raises UsageError where not exactly one of them is given, SettingsError for a source without a key.
    """
    sources = [source for source in (_written(given), _named(given, "env"), _named(given, "file")) if source]
    if len(sources) + given.pop("no_key") != 1:
        raise click.UsageError("name where the key is with --key-env or --key-file, or say --no-key.")
    if not sources:
        return None
    return _read(sources[0])


def _written(given: dict[str, Any]) -> "Source | None":
    from reconciler.cli.credentials import Source  # noqa: PLC0415 - --help reads no secret

    text = given.pop("key")
    if text is None:
        return None
    way, colon, name = text.partition(":")
    if way not in ("env", "file") or not colon or not name:
        # It may be the key: it is not shown.
        raise click.UsageError("--key takes env:NAME or file:PATH, never the key itself.")
    return Source("env" if way == "env" else "file", name)


def _named(given: dict[str, Any], way: str) -> "Source | None":
    from reconciler.cli.credentials import Source  # noqa: PLC0415 - --help reads no secret

    name = given.pop(f"key_{way}")
    return None if name is None else Source("env" if way == "env" else "file", name)


def _read(source: "Source") -> "Secret":
    from reconciler.cli.credentials import SecretRefused, read  # noqa: PLC0415 - --help reads no secret
    from reconciler.cli.settings import working_folder  # noqa: PLC0415 - the same

    try:
        return read(source, root=working_folder(), environ=os.environ)
    except SecretRefused as refusal:
        raise SettingsError(f"the callback's key: {refusal}.", next=refusal.next) from refusal
