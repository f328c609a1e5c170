"""The options that several commands share, each with one name, one meaning and one help text.

Only their declaration belongs here. What they select or allow is decided further down.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import click

Command = TypeVar("Command", bound=Callable[..., Any])

formats = ("text", "json")


class Count(click.IntRange):
    """A number in plain digits: `int` would also take 1_0, and digits of every script."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or fail as for any other word."""
        if isinstance(value, str) and not (value.isascii() and "_" not in value):
            self.fail(f"{value!r} is not a number in plain digits.", param, ctx)
        return super().convert(value, param, ctx)


def together(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return one decorator for several options, shown in the order given."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def settings_options(command: Command) -> Command:
    """`config`: the settings file, or None; `environment`: the name of the section, or None."""
    return together(
        click.option(
            "--config",
            metavar="FILE",
            help="The settings file. Default: reconciler.yaml here, or above within the git repository.",
        ),
        click.option(
            "--environment",
            "-e",
            metavar="NAME",
            help="The section of `environments:` in the settings to use.",
        ),
    )(command)


def _format(default: str, about: str) -> Callable[[Any], Any]:
    return click.option(
        "--format",
        "as_json",
        type=click.Choice(formats),
        default=default,
        show_default=True,
        callback=lambda _ctx, _parameter, word: word == "json",
        help=about,
    )


def format_option(command: Command) -> Command:
    """`as_json`: whether JSON is wanted; text without the option."""
    return cast("Command", _format("text", "Text for people, JSON for programs.")(command))


def replies_format_option(command: Command) -> Command:
    """`as_json`, for replies: JSON without the option."""
    return cast("Command", _format("json", "One JSON line a reply, or text for people.")(command))


def dry_run_option(command: Command) -> Command:
    """`dry_run`: whether nothing is to be written."""
    return click.option("--dry-run", is_flag=True, help="Show what would change. Sends nothing but GET.")(
        command
    )


def workspace_option(command: Command) -> Command:
    """`workspace`: an alias of the settings."""
    return click.option(
        "--workspace",
        default="default",
        show_default=True,
        metavar="ALIAS",
        help="A workspace of the settings.",
    )(command)


def text_options(command: Command) -> Command:
    """`body`: the text of a message; `body_file`: the file that holds it; each may be None."""
    return together(
        click.option("--body", metavar="TEXT", help="The text."),
        click.option("--body-file", metavar="FILE", help="Read the text from FILE; - is standard input."),
    )(command)


def recipients_option(command: Command) -> Command:
    """`allow_recipients`: how many recipients somebody agreed to."""
    return click.option(
        "--allow-recipients",
        type=Count(min=0),
        default=0,
        metavar="N",
        help="Allow up to N recipients where guard.recipients_max refuses.",
    )(command)


def yes_option(command: Command) -> Command:
    """`yes`: whether to go on without asking."""
    return click.option("--yes", is_flag=True, help="Do not ask; required if nobody can answer.")(command)


def selection_options(command: Command) -> Command:
    """`only` and `excluded`: tuples of selectors."""
    return together(
        click.option(
            "--only",
            multiple=True,
            metavar="SELECTOR",
            help="Only these: an address, a glob of addresses, kind:device, workspace:ops, tag:team=sre. "
            "Repeatable.",
        ),
        click.option(
            "--except",
            "excluded",
            multiple=True,
            metavar="SELECTOR",
            help="All except these; the same selectors. Repeatable.",
        ),
    )(command)


def consent_options(command: Command) -> Command:
    """`allow_deletes`, `allow_creates`, `allow_updates`: a number, or None; `reactivate`: addresses."""
    return together(
        _consent("deletes", "deletes"),
        _consent("creates", "creates of entities that disappeared"),
        _consent("updates", "updates"),
        click.option(
            "--reactivate",
            multiple=True,
            metavar="ADDRESS",
            help="Re-enable this device, which the service disabled. Pushes to it are charged again. "
            "Repeatable.",
        ),
    )(command)


def _consent(word: str, what: str) -> Callable[[Any], Any]:
    return click.option(
        f"--allow-{word}",
        type=Count(min=0),
        metavar="N",
        help=f"Allow up to N {what} in this run where the guard refuses.",
    )


def recipients_options(command: Command) -> Command:
    """`encrypt_to`: public keys as text; `recipients_file`: paths of files that hold some."""
    return together(
        click.option(
            "--encrypt-to",
            multiple=True,
            metavar="KEY",
            help="Encrypt the file for this public key, age1... or ssh-ed25519 ..., in addition to "
            "plan.recipients of the settings. Repeatable.",
        ),
        click.option(
            "--recipients-file",
            multiple=True,
            metavar="FILE",
            help="Encrypt the file for every public key in FILE, one per line. Repeatable.",
        ),
    )(command)


def identity_option(command: Command) -> Command:
    """`identity`: the file with a private key, or None."""
    return click.option(
        "--identity",
        metavar="FILE",
        help="The file with your private key, for an encrypted plan. Default: the file that "
        "RECONCILER_IDENTITY names.",
    )(command)


def lock_option(command: Command) -> Command:
    """`lock_timeout`: seconds to wait for a lock, or None where the settings decide."""
    return click.option(
        "--lock-timeout",
        type=click.FloatRange(min=0, max=999_999),
        metavar="SECONDS",
        help="How long to wait while another run holds a lock. Default: lock.timeout_s of the settings, 0.",
    )(command)


def in_service_option(command: Command) -> Command:
    """`in_service`: the lock in the service is meant."""
    return click.option(
        "--in-service",
        is_flag=True,
        help="The lock in the service instead of the store. Reads the secrets and asks the service.",
    )(command)


def full_option(command: Command) -> Command:
    """`full`: long lists are not folded."""
    return click.option("--full", is_flag=True, help="Do not shorten long lists.")(command)


def detailed_option(command: Command) -> Command:
    """`detailed_exitcode`: exit with 2 where there is something to do."""
    return click.option("--detailed-exitcode", is_flag=True, help="Exit with 2 if changes were found.")(
        command
    )
