"""The options that several commands share, each with one name, one meaning and one help text."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

import click

from reconciler.cli.dispatch import Completes

CACHES = f"{__name__}.caches"  # in click's context: whether manifests are kept from run to run
STRICT = f"{__name__}.strict"  # in click's context: whether one workspace that cannot be planned ends the run

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]


class Count(click.IntRange):
    """A number in plain digits: `int` would also take 1_0, and digits of every script."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or fail as for any other word."""
        if isinstance(value, str) and not (value.isascii() and "_" not in value):
            self.fail(f"{value!r} is not a number in plain digits.", param, ctx)
        return super().convert(value, param, ctx)


def combine_options(*options: Decorator) -> Decorator:
    """Return one decorator for several options, shown in the order given."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _make_format_option(default: str, about: str) -> Decorator:
    """`as_json`: whether JSON is wanted."""
    return click.option(
        "--format",
        "as_json",
        type=click.Choice(("text", "json")),
        default=default,
        show_default=True,
        callback=lambda _ctx, _parameter, word: word == "json",
        help=about,
    )


_SAVED = " `plan -o` saves this consent in the plan file."


def _make_consent_option(word: str, what: str, more: str = _SAVED) -> Decorator:
    return click.option(
        f"--allow-{word}",
        type=Count(min=0),
        metavar="N",
        help=f"Allow {what} in this run, also where the guard would refuse the plan.{more}",
    )


format_option = _make_format_option("text", "Text for people, JSON for programs.")
# `form`: text, json or csv.
table_format_option = click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "csv")),
    default="text",
    show_default=True,
    help="Text for people, JSON for programs, CSV for spreadsheets.",
)
replies_format_option = _make_format_option("json", "One JSON line a reply, or text for people.")


def _set_verbosity(_ctx: click.Context, _parameter: click.Parameter, count: int) -> None:
    if count:
        import_module("reconciler.cli.console.logs").log_to_stderr(count)


def _open_log_file(_ctx: click.Context, _parameter: click.Parameter, path: str | None) -> None:
    if path is not None:
        import_module("reconciler.cli.console.logs").log_to_file(path)


# Nothing that a command gets: who listens is settled before it begins.
log_options = combine_options(
    click.option(
        "--verbose",
        "-v",
        count=True,
        expose_value=False,
        callback=_set_verbosity,
        help="Show each step on stderr and, after the result, the ids of the run. -vv also shows each call "
        "to the service, with its status, time, bytes and tries.",
    ),
    click.option(
        "--log-file",
        metavar="FILE",
        expose_value=False,
        callback=_open_log_file,
        help="Append each step and call, with its time, to FILE as JSON lines. Only you can read FILE.",
    ),
)


def _set_caches(ctx: click.Context, _parameter: click.Parameter, off: bool) -> None:  # noqa: FBT001 - what click calls it with
    ctx.meta[CACHES] = not off


# No parameter of the command: `load_settings` asks whether the command has the option.
cache_option = click.option(
    "--no-cache",
    is_flag=True,
    expose_value=False,
    callback=_set_caches,
    help="Read every manifest again, without the cache in .reconciler/cache. Cached lists of the service are "
    "still used.",
)


def _set_strict(ctx: click.Context, _parameter: click.Parameter, on: bool) -> None:  # noqa: FBT001 - what click calls it with
    ctx.meta[STRICT] = on


# No parameter of the command either.
strict_option = click.option(
    "--strict-scopes",
    is_flag=True,
    expose_value=False,
    callback=_set_strict,
    help="Stop if any workspace cannot be read or has mistakes in its manifests, instead of leaving it out. "
    "Default: strict_scopes of the settings, otherwise never.",
)
# `config`: the settings file, or None; `environment`: the name of the section, or None.
settings_options = combine_options(
    click.option(
        "--config",
        metavar="FILE",
        shell_complete=Completes("files"),
        help="The settings file. Default: reconciler.yaml in this folder or, in a git repository, in the "
        "nearest folder above.",
    ),
    click.option(
        "--environment",
        "-e",
        metavar="NAME",
        shell_complete=Completes("environments"),
        help="Use the section NAME of `environments:` in the settings.",
    ),
    log_options,
)
same_service_option = click.option(
    "--same-service",
    is_flag=True,
    help="Confirm that service.base_url has changed but still leads to the same service. The records made "
    "under the old address are then used.",
)
workspace_option = click.option(
    "--workspace",
    default="default",
    show_default=True,
    metavar="ALIAS",
    shell_complete=Completes("workspaces"),
    help="A workspace of the settings.",
)
text_options = combine_options(
    click.option("--body", metavar="TEXT", help="The text."),
    click.option(
        "--body-file",
        metavar="FILE",
        shell_complete=Completes("files"),
        help="Read the text from FILE; - is standard input.",
    ),
)
recipients_option = click.option(
    "--allow-recipients",
    type=Count(min=0),
    default=0,
    metavar="N",
    help="Allow up to N recipients, also where guard.recipients_max would refuse the message.",
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show what would change. Sends nothing but GET."
)
yes_option = click.option("--yes", is_flag=True, help="Do not ask; required where there is no terminal.")

# `only` and `excluded`: tuples of selectors.
selection_options = combine_options(
    click.option(
        "--only",
        multiple=True,
        metavar="SELECTOR",
        shell_complete=Completes("addresses"),
        help="Include only what SELECTOR names: an address, a pattern such as contact/ops/*, kind:device, "
        "workspace:ops, or tag:team=sre. Repeatable.",
    ),
    click.option(
        "--except",
        "excluded",
        multiple=True,
        metavar="SELECTOR",
        shell_complete=Completes("addresses"),
        help="Exclude what SELECTOR names, in the same forms as for --only. Repeatable.",
    ),
)
# `allow_deletes`, `allow_creates`, `allow_updates`, `allow_fewer_rows`, `allow_moves`: a number, or None;
# `reactivate`, `create_again`, `confirm_same`: addresses.
consent_options = combine_options(
    _make_consent_option("deletes", "up to N deletes"),
    _make_consent_option("creates", "up to N creates of recorded entities that are gone"),
    _make_consent_option("updates", "up to N updates"),
    _make_consent_option("fewer-rows", "directories to return up to N rows fewer than at the last apply"),
    _make_consent_option(
        "moves", "up to N moves between workspaces in which undeclared fields or devices are lost"
    ),
    click.option(
        "--reactivate",
        multiple=True,
        metavar="ADDRESS",
        shell_complete=Completes("addresses"),
        help="Enable this device again, which the service has disabled. Pushes to it are charged again. "
        "Repeatable.",
    ),
    click.option(
        "--create-again",
        multiple=True,
        metavar="ADDRESS",
        shell_complete=Completes("addresses"),
        help="Create this entity again, although it is not known whether an earlier create took effect. "
        "Check first that it does not exist at the service. Repeatable.",
    ),
    click.option(
        "--confirm-same",
        multiple=True,
        metavar="ADDRESS",
        shell_complete=Completes("addresses"),
        help="Confirm that the live entity is still the recorded one, although its identity and most of its "
        "other fields have changed. Repeatable.",
    ),
)
# Of an undo, which carries none: `allow_deletes`, `allow_updates`.
undo_consent_options = combine_options(
    _make_consent_option("deletes", "up to N deletes", ""),
    _make_consent_option("updates", "up to N updates", ""),
)
# `encrypt_to`: public keys as text; `recipients_file`: paths of files that hold some.
recipients_options = combine_options(
    click.option(
        "--encrypt-to",
        multiple=True,
        metavar="KEY",
        help="Encrypt the plan, undo or file of secrets that this command writes, for this public key: "
        "age1... or ssh-ed25519 ..., in addition to plan.recipients of the settings. Repeatable. Needs the "
        "extra `encryption`.",
    ),
    click.option(
        "--recipients-file",
        multiple=True,
        metavar="FILE",
        shell_complete=Completes("files"),
        help="Encrypt it for every public key in FILE, one per line. Repeatable.",
    ),
)
identity_option = click.option(
    "--identity",
    metavar="FILE",
    shell_complete=Completes("files"),
    help="The file with your private key, to open an encrypted plan. Default: the file named in the "
    "variable RECONCILER_IDENTITY.",
)
lock_option = click.option(
    "--lock-timeout",
    type=click.FloatRange(min=0, max=999_999),
    metavar="SECONDS",
    help="How long to wait if another run holds the lock. Default: lock.timeout_s of the settings, "
    "otherwise 0.",
)
# `refresh`: how lists are read that were read before, or None.
refresh_option = click.option(
    "--refresh",
    type=click.Choice(("auto", "full")),
    help="full: read every list of the service completely. auto: read only what has changed, where the "
    "service lists entities by time of change. Default: refresh.mode of the settings, otherwise auto.",
)
in_service_option = click.option(
    "--in-service",
    is_flag=True,
    help="Use the lock in the service instead of the lock in the store. This reads the secrets and calls "
    "the service.",
)
fail_fast_option = click.option(
    "--fail-fast", is_flag=True, help="After the first failure, start no further change."
)
# `reports`: texts `FORMAT=FILE`.
report_option = click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="FORMAT=FILE",
    help="Also write a report to FILE, for example markdown=plan.md. Only you can read FILE. "
    "docs/reports.md lists the formats. Repeatable.",
)
# `reports`, and `show_values`: whether reports for many readers hold values.
report_options = combine_options(
    report_option,
    click.option(
        "--show-values",
        is_flag=True,
        help="Show values also in reports that otherwise show only the names of fields.",
    ),
)
# `events`: a path, "-" or None.
events_option = click.option(
    "--events",
    metavar="FILE",
    shell_complete=Completes("files"),
    help="While the command runs, append its events to FILE as JSON lines. Only you can read FILE. If FILE "
    "is -, the events go to standard output, and the text is not printed.",
)
full_option = click.option("--full", is_flag=True, help="Do not shorten long lists.")
detailed_option = click.option(
    "--detailed-exitcode", is_flag=True, help="Exit with 2 if there is anything to apply."
)
