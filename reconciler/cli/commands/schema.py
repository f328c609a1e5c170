"""`reconciler schema`: the shipped JSON Schemas, for editors and for reading. Reads nothing else."""

import click

from reconciler.cli import options, output
from reconciler.errors import InputError


@click.command(short_help="List or print the shipped JSON Schemas.")
@click.argument("name", required=False)
@options.format_option
def command(name: str | None, format: str) -> int:  # noqa: A002 - the option's name
    """List the JSON Schemas that are shipped, or print the one called NAME.

    Editors show descriptions and mistakes while you write, when a file begins with
    `# yaml-language-server: $schema=PATH`.

    Writes nothing.

    Exit codes: 0 shown, 3 no such schema.

    \b
    Example:
        reconciler schema manifest > manifest.schema.json
    """  # noqa: D301 - \\b is click's mark, not an escape of ours
    from reconciler.manifest import schemas  # noqa: PLC0415 - loads the validator, which --help does not need

    names = schemas.names()
    if name is None:
        _list(names, as_json=format == "json")
        return 0
    if name not in names:
        raise InputError(f"there is no schema {name!r}.", next=f"name one of {', '.join(names)}")
    output.document(schemas.read_text(name))
    return 0


def _list(names: tuple[str, ...], *, as_json: bool) -> None:
    if not as_json:
        output.data("\n".join(names))
        return
    import msgspec  # noqa: PLC0415 - only the JSON form needs it

    shown = {"outcome": "done", "exit_code": 0, "schemas": names}
    output.json(msgspec.json.format(msgspec.json.encode(shown), indent=2).decode())
