"""`reconciler schema` at work: the shipped JSON Schemas."""

import msgspec

from reconciler.cli import output
from reconciler.errors import InputError
from reconciler.manifest.schema import schemas


def schema(*, name: str | None, as_json: bool) -> int:
    """Print the schema of that name, or list the names. Raises InputError for an unknown one."""
    names = schemas.names()
    if name is not None:
        if name not in names:
            raise InputError(f"there is no schema {name!r}.", next=f"name one of {', '.join(names)}")
        output.document(schemas.read_text(name))
    elif as_json:
        shown = {"outcome": "done", "exit_code": 0, "schemas": names}
        output.json(msgspec.json.format(msgspec.json.encode(shown), indent=2).decode())
    else:
        output.data("\n".join(names))
    return 0
