"""`reconciler callbacks get`, `update` and `mark`: options in, lines out. The steps are in editing.py."""

from typing import TYPE_CHECKING, Any, Literal

import click

from reconciler.cli import options, output
from reconciler.cli.callbacks import keys
from reconciler.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.cli.callbacks.editing import Edited
    from reconciler.model.callback_edits import CallbackEdit
    from reconciler.model.messages import CallbackCall
    from reconciler.report.lines import Line
    from reconciler.service.messaging.callbacks import CallStatus


@click.command(short_help="Show one callback, whole.")
@click.argument("callback_id", metavar="ID")
@options.settings_options
@options.format_option
def get(*, callback_id: str, format: str, **given: Any) -> int:  # noqa: A002 - the option's name
    """Show how the callback with this ID is configured. Its key is not shown, only how it travels.

    What became of each call is shown by `reconciler callbacks calls ID`.

    Reads settings and the service; writes nothing.

    Exit codes: 0 shown, 1 not there or failed, 3 settings invalid.

    \b
    Example:
        reconciler callbacks get 4C8FE1A2B3D4E5F6
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    from reconciler.cli.calling import reading  # noqa: PLC0415 - loads the client, which --help does not need
    from reconciler.report.callbacks import callback_detail  # noqa: PLC0415 - the same
    from reconciler.report.messages import callback_values, report_json  # noqa: PLC0415 - the same

    found = reading(given, lambda reader, _settings: reader.callbacks.get(callback_id))
    if format == "json":
        output.json(report_json({"callback": callback_values(found)}))
    else:
        output.lines(callback_detail(found))
    return 0


def _writing_options(command: Any) -> Any:
    """`dry_run`, `yes`: true or false."""
    dry_run = click.option("--dry-run", is_flag=True, help="Show what would change. Sends nothing but GET.")
    return dry_run(options.yes_option(command))


def _may_ask(*, dry_run: bool, yes: bool, as_json: bool) -> bool:
    """Return whether to ask before the write. Raises UsageError where nobody could answer."""
    if dry_run or yes:
        return False
    if as_json or not output.can_ask():
        raise click.UsageError(
            "nobody can be asked here: give --yes, or see with --dry-run what would change."
        )
    return True


@click.command(short_help="Change how a callback is configured.")
@click.argument("callback_id", metavar="ID")
@click.option("--name", metavar="NAME", help="What messages call it. Those that name it otherwise lose it.")
@click.option("--url", metavar="URL", help="Where replies go.")
@keys.new_key_options
@click.option(
    "--content-type", type=click.Choice(("json", "xml")), help="The form in which replies are sent."
)
@click.option("--retries/--no-retries", default=None, help="Try again for a day, or once.")
@click.option(
    "--email", metavar="ADDRESS", help="Who is told when the address cannot be reached; '' for nobody."
)
@click.option("--replies/--no-replies", "on_reply", default=None, help="Called when somebody replies.")
@click.option(
    "--undeliverable/--no-undeliverable",
    "on_undeliverable",
    default=None,
    help="Called when a delivery fails.",
)
@_writing_options
@options.settings_options
@options.format_option
def update(
    *,
    callback_id: str,
    dry_run: bool,
    yes: bool,
    format: str,  # noqa: A002 - the option's name
    **given: Any,
) -> int:
    """Change what is named, and leave the rest of the callback with this ID as it is.

    What changes is shown, and asked about. An update writes the whole callback, its key too: where the
    service does not show the key, give it again, or it would be gone. The service does not look at a
    new URL, so see that the receiver runs there. Done is what reads back so.

    Reads settings and the service; writes the service.

    Exit codes: 0 done, or nothing to change; 1 not there, refused by the service or not taken,
    3 input invalid, 5 changed meanwhile, 7 refused by you, 8 in doubt, 64 usage, 130 interrupted.

    \b
    Examples:
        reconciler callbacks update 4C8FE1A2B3D4E5F6 \\
            --url https://replies.example.com/new --dry-run
        reconciler callbacks update 4C8FE1A2B3D4E5F6 \\
            --key-env CALLBACK_KEY --yes
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    as_json = format == "json"
    ask = _may_ask(dry_run=dry_run, yes=yes, as_json=as_json)
    edit = _edit(given)
    from reconciler.cli.callbacks import editing  # noqa: PLC0415 - loads the client, which --help does not need
    from reconciler.report.callbacks import edit_lines  # noqa: PLC0415 - the same
    from reconciler.report.messages import callback_values, report_json  # noqa: PLC0415 - the same

    def agree(found: "Edited") -> None:
        _shown_and_agreed(edit_lines(*found), ask=ask, show=not as_json, what=f"update {callback_id}")

    callback, edits = (
        editing.preview(given, callback_id, edit)
        if dry_run
        else editing.update(given, callback_id, edit, agree)
    )
    written = bool(edits) and not dry_run
    if as_json:
        about = {"callback": callback_values(callback), "changes": edits, "written": written}
        output.json(report_json(about))
    elif written:
        output.data(f"updated: callback {callback_id}")
    else:
        output.lines(edit_lines(callback, edits))
    return 0


def _edit(given: dict[str, Any]) -> "CallbackEdit":
    """Take the new values out of the options. Raises UsageError where there is none."""
    from reconciler.model.callback_edits import CallbackEdit  # noqa: PLC0415 - not for --help

    key, no_key = keys.new_key_of(given)
    names = ("name", "url", "content_type", "retries", "email", "on_reply", "on_undeliverable", "key_in")
    edit = CallbackEdit(**{name: given.pop(name) for name in names}, key=key, no_key=no_key)
    if edit == CallbackEdit():
        raise click.UsageError("name what is to change, for example --url URL.")
    return edit


def _shown_and_agreed(lines: "tuple[Line, ...]", *, ask: bool, show: bool, what: str) -> None:
    """Show what is to be written, and ask where that is wanted. Raises Refused for a no."""
    if show:
        output.lines(lines)
    if ask and not output.confirm("Write this?"):
        raise Refused("you did not agree; nothing was written.", next=f"reconciler callbacks {what} ...")


@click.command(short_help="Mark calls as dealt with, or as failed.")
@click.argument("callback_id", metavar="ID")
@click.argument("call_ids", metavar="[CALL]...", nargs=-1)
@click.option("--message", "message_id", metavar="ID", help="All calls about this message, instead of CALL.")
@click.option(
    "--status",
    type=click.Choice(("success", "failed"), case_sensitive=False),
    required=True,
    help="success: dealt with, and not tried again.",
)
@_writing_options
@options.settings_options
@options.format_option
def mark(
    *,
    callback_id: str,
    call_ids: tuple[str, ...],
    message_id: str | None,
    status: Literal["success", "failed"],
    dry_run: bool,
    yes: bool,
    format: str,  # noqa: A002 - the option's name
    **given: Any,
) -> int:
    """Set the status of calls that the service made to the callback with this ID.

    A call that is marked as success is not tried again: mark those whose reply you have from elsewhere.
    `reconciler callbacks calls ID` lists them. At most 100 at a time.

    Reads settings and the service; writes the service.

    Exit codes: 0 done, or nothing to change; 1 not there or not taken, 3 input invalid,
    7 refused by you, 8 in doubt, 64 usage, 130 interrupted.

    \b
    Examples:
        reconciler callbacks mark 4C8FE1A2B3D4E5F6 0A1B2C3D4E5F6071 \\
            --status success --dry-run
        reconciler callbacks mark 4C8FE1A2B3D4E5F6 \\
            --message 5D3A0B1C2D4E5F60 --status success --yes
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    if bool(call_ids) == (message_id is not None):
        raise click.UsageError("name the calls, or the message that they are about with --message.")
    as_json = format == "json"
    ask = _may_ask(dry_run=dry_run, yes=yes, as_json=as_json)
    from reconciler.cli.callbacks import editing  # noqa: PLC0415 - loads the client, which --help does not need
    from reconciler.core.callback_edit import chosen  # noqa: PLC0415 - the same
    from reconciler.report.callbacks import mark_lines  # noqa: PLC0415 - the same
    from reconciler.report.messages import report_json  # noqa: PLC0415 - the same

    wanted: CallStatus = "SUCCESS" if status == "success" else "FAILED"

    def choose(calls: "Sequence[CallbackCall]") -> "tuple[CallbackCall, ...]":
        return chosen(calls, call_ids, message_id)

    def agree(calls: "tuple[CallbackCall, ...]") -> None:
        _shown_and_agreed(mark_lines(calls, wanted), ask=ask, show=not as_json, what=f"mark {callback_id}")

    found = (
        editing.preview_mark(given, callback_id, choose, wanted)
        if dry_run
        else editing.mark(given, callback_id, choose, wanted, agree)
    )
    written = bool(found) and not dry_run
    if as_json:
        output.json(report_json({"calls": found, "status": wanted, "written": written}))
    elif written:
        output.data(f"marked as {wanted}: {len(found)} of the calls of callback {callback_id}")
    else:
        output.lines(mark_lines(found, wanted))
    return 0
