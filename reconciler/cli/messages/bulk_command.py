"""`reconciler messages bulk`: options in, lines out. The steps are in bulk.py."""

from typing import TYPE_CHECKING, Any

import click

from reconciler.cli import options, output

if TYPE_CHECKING:
    from reconciler.cli.messages.bulk import Draft
    from reconciler.model.messages import Message


@click.command(short_help="Send one message to everybody in a resource.")
@click.argument("address", metavar="RESOURCE")
@click.option("--sms", metavar="COLUMN", help="The column with mobile numbers.")
@click.option("--email", metavar="COLUMN", help="The column with e-mail addresses.")
@click.option("--voice", metavar="COLUMN", help="The column with numbers to call.")
@click.option("--subject", required=True, metavar="TEXT", help="The subject.")
@options.text_options
@click.option("--callback", default="", metavar="NAME", help="The callback that replies are sent to.")
@click.option("--dry-run", is_flag=True, help="Count whom it would reach, and send nothing.")
@options.recipients_option
@options.settings_options
@options.format_option
def bulk(
    *,
    address: str,
    dry_run: bool,
    allow_recipients: int,
    format: str,  # noqa: A002 - the option's name
    **given: Any,
) -> int:
    """Send one message to everybody whom the rows of RESOURCE address, at most once.

    RESOURCE is resource/WORKSPACE/NAME of the manifests, CSV with a heading or a JSON list of objects. Of
    a row counts the first of the columns that is filled: SMS, e-mail, voice. The service reads the rows
    itself, and does not show them; so the resource has to be applied as it is declared now, and is counted
    from the manifests. Nothing is sent where a column is not there, where none of its cells is a number or
    an e-mail address as its option says, or where the resource is gone.

    Reads settings, manifests, the store and the service; writes the service, nothing with --dry-run.

    Exit codes: 0 accepted, 1 not sent, 3 input invalid, 7 too many recipients,
    8 in doubt whether it was sent, 64 usage, 130 interrupted.

    \b
    Example:
        reconciler messages bulk resource/default/staff --sms mobile \\
            --subject Shift --body 'Tonight?' --dry-run
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    as_json = format == "json"
    message = _message(given)
    from reconciler.cli.messages import bulk as steps  # noqa: PLC0415 - loads the client, which --help does not need
    from reconciler.cli.messages.sending import look_at  # noqa: PLC0415 - the same
    from reconciler.report.lines import count  # noqa: PLC0415 - the same
    from reconciler.report.messages import report_json, sent_lines  # noqa: PLC0415 - the same

    if dry_run:
        draft = steps.show(given, address, message, allowed=allow_recipients)
        if as_json:
            output.json(report_json({"dry_run": True, **_about(draft)}))
        else:
            output.data(
                f"would reach {count(draft.recipients, 'recipient')} in workspace {draft.workspace}; "
                "nothing was sent"
            )
        return 0
    draft, sent = steps.send(given, address, message, allowed=allow_recipients)
    if as_json:
        output.json(report_json({"sent": sent, **_about(draft)}))
    else:
        output.lines(sent_lines(sent, look_at(sent, draft.workspace)))
    return 0


def _about(draft: "Draft") -> dict[str, object]:
    return {"workspace": draft.workspace, "recipients": draft.recipients}


def _message(given: dict[str, Any]) -> "Message":
    """Take the message out of the options. Raises UsageError, FileError, InputError."""
    from reconciler.cli.messages.sending import text_of  # noqa: PLC0415 - not for --help
    from reconciler.model.messages import BulkResource, Message  # noqa: PLC0415 - the same

    columns = {name: given.pop(name) or "" for name in ("sms", "email", "voice")}
    if not any(columns.values()):
        raise click.UsageError("name a column that addresses somebody: --sms, --email or --voice.")
    text = text_of(given, needed=True)
    return Message(
        to=(),
        subject=given.pop("subject"),
        body=text or "",
        callback_id=given.pop("callback"),
        resource=BulkResource("", **columns),
    )
