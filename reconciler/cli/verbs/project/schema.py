"""`reconciler schema` at work: the shipped JSON Schemas."""

import json
import os

from reconciler.cli.console import output
from reconciler.errors import InputError
from reconciler.report.json import report_json
from reconciler.schema import shipped
from reconciler.settings.reading import read_settings, working_folder


def schema(*, name: str | None, config: str | None, as_json: bool) -> int:
    """Print the schema of that name, or list the names. Raises InputError for an unknown one.

    With `config` the kinds are in it that the profile of these settings brings.
    """
    names = shipped.list_schema_names()
    if name is not None:
        if name not in names:
            raise InputError(f"there is no schema {name!r}.", next=f"name one of {', '.join(names)}")
        output.document(shipped.read_schema_text(name) if config is None else _of_project(name, config))
    elif as_json:
        output.json(report_json({"schemas": names}))
    else:
        output.data("\n".join(names))
    return 0


def _of_project(name: str, config: str) -> str:
    read_settings(config=config, environment=None, cwd=working_folder(), environ=os.environ, service=False)
    return json.dumps(shipped.compose_published_schema(name), indent=2, ensure_ascii=False) + "\n"
