"""Parts of JSON documents that are no values of the model: what `report/` puts together itself."""

from collections.abc import Mapping
from typing import Any, get_type_hints

from msgspec import Struct, defstruct

from reconciler.messaging.reports import callback_values
from reconciler.messaging.values import Callback, CallbackAuth
from reconciler.model.address import Address
from reconciler.model.codes import CODES
from reconciler.report.codes import code_value


def _shown(name: str, about: str, parts: Mapping[str, Any]) -> Any:
    return defstruct(name, list(parts.items()), namespace={"__doc__": about})


_callback = get_type_hints(Callback) | {"auth": get_type_hints(CallbackAuth)["type"] | None}
CallbackShown = _shown(
    "CallbackShown",
    "A callback of the account, all but its key: `auth` is how the key travels, null where there is none.",
    {name: _callback[name] for name in callback_values(Callback("", ""))},
)
CodeShown = _shown(
    "CodeShown",
    "A code, what it means, and its examples; empty where there is none.",
    dict.fromkeys(code_value(CODES["E100"]), str),
)


class ExportedEntry(Struct):
    """An entity that was written into a manifest, with the service's id."""

    address: Address
    id: str


class LeftOut(Struct):
    """What was not exported: of which entity, which field or null, why, and what can be done."""

    reason: str
    subject: str
    field: str | None
    what: str
    next: str


class Variable(Struct):
    """A variable that is to be set: for which field of which entity; `allowed` by the settings already."""

    name: str
    address: Address
    field: str
    allowed: bool


class Untold(Struct):
    """A scope in which so many entities were not looked at."""

    kind: str
    workspace: str
    entities: int


class UnfinishedRun(Struct):
    """A run that did not finish, and how many of its changes ended, are in doubt, or were never sent."""

    run: str
    command: str
    started_at: str
    ended: int
    in_doubt: int
    never_sent: int | None
