"""The table of documents: what each command prints with `--format json`.

Belongs here: one row for a command, and the types of its parts. Not here: how a schema is made of them
(schema.py). What is in a value of the model stands there; a part says only what the value is here.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from reconciler.cli.documents.rows import CallbackShown
from reconciler.cli.verbs.service.messages.following import End
from reconciler.messaging.callbacks import CallStatus
from reconciler.messaging.values import (
    CallbackCall,
    Delivery,
    FieldEdit,
    MessageDetail,
    MessageRow,
    Response,
    ResponseCount,
    Sent,
    StatusCount,
)

Shape = Mapping[str, tuple[Any, str]]  # by key: the type, and what it says


class Printed(NamedTuple):
    """What a command prints: one of these shapes, behind `version`, `outcome` and `exit_code`."""

    title: str
    shapes: tuple[Shape, ...]
    exits: tuple[int, ...] = (0,)


# Commands whose document has a name that is not their own.
SHARED: Mapping[str, str] = {"callbacks listen": "reply", "callbacks inbox": "reply"}

_DRY: Shape = {"dry_run": (Literal[True], "Nothing was sent.")}
_REACH: Shape = {
    "workspace": (str, "The alias of the workspace."),
    "recipients": (int, "How many people it reaches."),
}
_WHEN: Shape = {"scheduled": (str, "When it is sent, ISO 8601 in UTC; empty: at once.")}
_SENT: Shape = {"sent": (Sent, "What the service accepted.")}
_STATUS: Shape = {"status": (tuple[StatusCount, ...], "How many recipients are in which state.")}
_RESPONSES: Shape = {"responses": (tuple[ResponseCount, ...], "How many recipients answered in which way.")}
_ANSWERS: Shape = {"answers": (tuple[Response, ...], "What each recipient answered.")}
_FOLLOWED: Shape = {
    "end": (End, "Why nobody looked any longer."),
    "trouble": (str, "What the service answered instead, where it could not be asked; or empty."),
}
_CALLBACK: Shape = {"callback": (CallbackShown, "The callback as it is now.")}
_CALLS: Shape = {"calls": (tuple[CallbackCall, ...], "Calls that the service made.")}
_WRITTEN: Shape = {"written": (bool, "Whether anything was written.")}

DOCUMENTS: Mapping[str, Printed] = {
    "output/messages-send": Printed(
        "A message that was sent, or would be",
        (
            {**_DRY, **_REACH, **_WHEN, "to": (tuple[str, ...], "Addresses of ours, else as written.")},
            {**_SENT, **_REACH, **_WHEN},
            {**_SENT, **_REACH, **_WHEN, **_FOLLOWED, **_STATUS, **_RESPONSES, **_ANSWERS},
        ),
        (0, 1, 6, 130),
    ),
    "output/messages-bulk": Printed(
        "A message to the rows of a resource", ({**_DRY, **_REACH}, {**_SENT, **_REACH})
    ),
    "output/messages-list": Printed(
        "Messages", ({"messages": (tuple[MessageRow, ...], "The newest first.")},)
    ),
    "output/messages-show": Printed("One message", ({"message": (MessageDetail, "All of it.")},)),
    "output/messages-status": Printed(
        "What became of a message",
        (
            _STATUS,
            {"deliveries": (tuple[Delivery, ...], "One for each channel that was used, by recipient.")},
        ),
    ),
    "output/messages-responses": Printed("Who answered a message", (_RESPONSES, _ANSWERS)),
    "output/callbacks-list": Printed(
        "The callbacks of the account",
        ({"callbacks": (tuple[CallbackShown, ...], "In the order of the service.")},),
    ),
    "output/callbacks-get": Printed("One callback", (_CALLBACK,)),
    "output/callbacks-calls": Printed("Calls of a callback", (_CALLS,)),
    "output/callbacks-create": Printed("A callback that was made", (_CALLBACK,)),
    "output/callbacks-update": Printed(
        "A callback that was changed, or would be",
        ({**_CALLBACK, "changes": (tuple[FieldEdit, ...], "Field by field."), **_WRITTEN},),
    ),
    "output/callbacks-mark": Printed(
        "Calls whose status was set, or would be",
        ({**_CALLS, "status": (CallStatus, "The status they get."), **_WRITTEN},),
    ),
    "output/callbacks-delete": Printed(
        "A callback that was deleted", ({"deleted": (str, "The service's id of it.")},)
    ),
}
