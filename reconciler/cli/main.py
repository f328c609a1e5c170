"""The command `reconciler`: finds the module of a command, runs it, and turns its end into an exit code.

Start-up is a promise (docs/performance.md): the module of a command is imported when the command is used or
its help is shown, and what it works with when it runs (dispatch.py). The process begins in entry.py.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from reconciler.cli.console import crash_report, output
from reconciler.errors import InputError, Interrupted, Problem, ReconcilerError
from reconciler.signals import interrupted, wants_json
from reconciler.version import __version__

TYPE_CHECKING = False  # importing it from `typing` would take 4 ms
if TYPE_CHECKING:
    from reconciler.cli.telemetry.recording import Telemetry

# Name, and the line in `reconciler --help`: shown without importing the module, so it is written here.
COMMANDS = {
    "init": "Start a project: settings, a manifest, CI.",
    "export": "Export live entities as manifests.",
    "validate": "Check settings and manifests without a call, and show all mistakes at once.",
    "fmt": "Format manifests; keep comments.",
    "rosters": "Save the rows of a directory as CSV.",
    "plan": "Show what apply would do, and why.",
    "apply": "Carry out a plan.",
    "sync": "Do what the policy allows: apply, ask, wait or report.",
    "pause": "Let no sync write until a given time.",
    "unpause": "End a pause.",
    "adopt": "Start to manage live entities, without changing them.",
    "forget": "Stop managing entities, and leave them at the service.",
    "resume": "Continue a run that did not finish.",
    "undo": "Undo a run of the history.",
    "drift": "Show what others changed since the last apply.",
    "list": "List every entity: its owner and where it is declared.",
    "explain": "Explain an address: every field, its source, and why it changes.",
    "show": "Show a saved plan.",
    "approvals": "Ask who may approve a plan, and count the answers.",
    "status": "Show how stacks stand, from the store alone.",
    "history": "Show who applied what, when, from which commit.",
    "lock": "Show who holds the lock of this stack.",
    "unlock": "Release the lock of a dead run.",
    "doctor": "Check settings, secrets, store and service.",
    "contacts": "Search the contacts of the service.",
    "messages": "Send messages and follow their delivery.",
    "callbacks": "Receive replies and manage callbacks.",
    "workspaces": "List the workspaces of the account.",
    "config": "Show every setting and where it comes from.",
    "schema": "List or print the shipped JSON Schemas.",
    "completion": "Print the completion script for a shell.",
    "sandbox": "Run a simulated service on this machine.",
    "demo": "See the program at work in half a minute, offline.",
}

# The module below commands/ that holds a command, where it is not called as the command.
_MODULES = {
    "unlock": "lock",
    "forget": "adopt",
    "unpause": "pause",
    "drift": "plan",
}

EXIT_CODES = """\
\b
Exit codes:
    0  done, or nothing to do        7  refused by the guard
    1  failed                        8  in doubt
    2  changes or drift found        9  waits for approval
    3  input invalid                10  paused, or outside of a window
    4  lock held                    64  usage error
    5  stale plan, or a conflict   130  interrupted
    6  applied in part
"""

usage_error = 64  # EX_USAGE of sysexits.h: no other result of ours shares it


class Commands(click.Group):
    """The group whose commands are modules of `reconciler.cli.commands`, imported when needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature of click
        """Return the names in the order of the table, which is the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name; its module holds it as `NAME_command`."""
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        module = import_module(f"reconciler.cli.commands.{_MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, f"{cmd_name}_command", None) or module.command
        command.short_help = COMMANDS[cmd_name]
        if sys.flags.optimize > 1:
            _restore_help(command)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; what libraries log from now on passes our output."""
        crash_report.capture_logs()
        return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that `args` names, or say which one may have been meant."""
        name = args[0]
        command = self.get_command(ctx, name)
        if command is not None and len(args) > 1:
            from reconciler.cli.foreign_words import check_options  # noqa: PLC0415 - not for a command alone

            check_options(command, ctx, args)
        if command is None and not name.startswith("-"):
            from reconciler.cli.foreign_words import check_command  # noqa: PLC0415 - for a mistake alone
            from reconciler.core.suggest import find_nearest  # noqa: PLC0415 - 10 ms, for a mistake alone

            check_command(name, ctx)
            close = find_nearest("command", name, COMMANDS)
            meant = f" Did you mean {close}?" if close else ""
            raise click.UsageError(f"{name!r} is not a command.{meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - the same
        """Write the table of commands without importing one of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - the signature that click calls
    if wanted and not ctx.resilient_parsing:
        output.data(f"reconciler {__version__}")
        ctx.exit()


@click.group(
    cls=Commands,
    no_args_is_help=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_CODES,
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Print the version and exit.",
)
@click.pass_context
def cli(ctx: click.Context) -> int:
    """Keep the people, push devices and resources of a messaging service as YAML in git.

    Write manifests; `reconciler plan` shows what would change and why; `reconciler apply` changes it.
    `reconciler demo` shows all of this offline.
    """
    if ctx.invoked_subcommand is None:
        raise click.UsageError("no command given.", ctx)
    return 0


def _restore_help(command: click.Command) -> None:
    from reconciler.cli.dispatch import restore_help  # noqa: PLC0415 - only where docstrings are gone

    restore_help(command)


if sys.flags.optimize > 1:
    _restore_help(cli)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code. Everything a user can meet is printed, never raised."""
    begun: list[Telemetry] = []  # by the command, when its work begins
    code = _run_command(arguments, begun)
    for telemetry in begun:
        telemetry.end(code)
    return code


def _run_command(arguments: Sequence[str], begun: "list[Telemetry]") -> int:
    as_json = wants_json(arguments)
    output.reset_command()
    try:
        _check_arguments(arguments)
        code = cli.main(list(arguments), prog_name="reconciler", standalone_mode=False, obj=begun)
        return code if isinstance(code, int) else 0
    except click.UsageError as error:
        output.usage(_usage_sentence(error), _find_usage_hint(error), as_json=as_json)
        return usage_error
    except ReconcilerError as error:
        output.failure(error, as_json=as_json)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        stopped = Interrupted("stopped before anything was written.", next="run it again")
        output.failure(stopped, as_json=as_json)
        return interrupted
    except BrokenPipeError:
        output.silence_stream(sys.stdout)
        return 0
    except Exception as error:  # noqa: BLE001 - a bug is reported like any error, without its text
        mistake = crash_report.describe_crash(error)
        output.failure(mistake, as_json=as_json)
        return mistake.exit_code
    finally:
        if logs := sys.modules.get("reconciler.cli.console.logs"):
            logs.stop_logging()


def _check_arguments(arguments: Sequence[str]) -> None:
    """Raise InputError where one of them is no text. It is not shown: it may be a secret, or a name."""
    if all(map(str.isascii, arguments)):  # nearly always; the rest need not be loaded then
        return
    from reconciler.core.text import why_not_text  # noqa: PLC0415 - see above

    problems = tuple(
        Problem(f"argument {number}", 0, 0, f"it {why}.", _advise_on_encoding(argument), code="E123")
        for number, argument in enumerate(arguments, 1)
        if (why := why_not_text(argument))
    )
    if problems:
        raise InputError("the command line cannot be read; nothing was done.", problems=problems)


def _advise_on_encoding(argument: str) -> str:
    try:
        os.fsencode(argument).decode()
    except UnicodeError:
        return "write it in UTF-8; rename the file or folder, if it names one"
    return "set LC_ALL=C.UTF-8: the argument is UTF-8, and the locale of this process knows only ASCII"


def _usage_sentence(error: click.UsageError) -> str:
    sentence = error.format_message().replace("\n\t", " ")  # click lists choices on lines of their own
    return sentence[:1].lower() + sentence[1:]


def _find_usage_hint(error: click.UsageError) -> str:
    if hint := getattr(error, "next", ""):
        return str(hint)
    return f"{error.ctx.command_path if error.ctx else 'reconciler'} --help"
