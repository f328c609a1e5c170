"""The table of documents: what each command prints with `--format json`.

Belongs here: one row for a command, and the types of its parts. Not here: how a schema is made of them
(schema.py). What is in a value of the model stands there; a part says only what the value is here.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from reconciler.cli.documents.rows import (
    CallbackShown,
    ExportedEntry,
    LeftOut,
    Untold,
    Variable,
)
from reconciler.cli.verbs.service.messages.following import End
from reconciler.core.export import IdentityAdvice
from reconciler.core.review.drift import Drift
from reconciler.errors import Problem
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
from reconciler.model.notices import Notice
from reconciler.model.plans import Target
from reconciler.model.snapshots import ReadLimit

Shape = Mapping[str, tuple[Any, str]]  # by key: the type, and what it says


class Printed(NamedTuple):
    """What a command prints: one of these shapes, behind `version`, `outcome` and `exit_code`."""

    title: str
    shapes: tuple[Shape, ...]
    exits: tuple[int, ...] = (0,)


# Commands whose document has a name that is not their own.
SHARED: Mapping[str, str] = {
    "apply": "run",
    "adopt": "run",
    "forget": "run",
    "show": "output/plan",
    "callbacks listen": "reply",
    "callbacks inbox": "reply",
}


def schema_of(command: str) -> str:
    """Return the name of the schema of what a command (`messages status`) prints; an error has its own."""
    return SHARED.get(command, f"output/{command.replace(' ', '-')}")


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
_NOTICES: Shape = {"notices": (tuple[Notice, ...], "What a person should know beside that.")}

READ_LIMIT = "Lists of which only what changed last was read; null: all was read."

DOCUMENTS: Mapping[str, Printed] = {
    "output/validate": Printed(
        "What is wrong with the input",
        ({"problems": (tuple[Problem, ...], "Every mistake, in file order."), **_NOTICES},),
        (0, 3),
    ),
    "output/drift": Printed(
        "What others changed",
        (
            {
                "target": (Target, "Where it was looked."),
                "created_at": (str, "When, ISO 8601 in UTC."),
                "drifts": (tuple[Drift, ...], "What others changed, by address."),
                "outside": (Mapping[str, int], "By scope, recorded entities of which no manifest speaks."),
                "unapplied": (
                    tuple[str, ...],
                    "Workspaces in which nothing was compared: no record, no finished apply.",
                ),
                "not_applied_yet": (int, "Declared entities that have no record."),
                "as_far_as_read": (ReadLimit | None, READ_LIMIT),
                **_NOTICES,
            },
        ),
        (0, 1, 2),
    ),
    "output/export": Printed(
        "What was exported",
        (
            {
                "folder": (str, "Where the manifests were written."),
                "added": (tuple[str, ...], "New files, below the folder."),
                "grown": (tuple[str, ...], "Files that were added to."),
                "entries": (tuple[ExportedEntry, ...], "What was written."),
                "declared": (int, "How many entities were in manifests already."),
                "unmarked": (int, "To how many the first plan writes the mark of this stack."),
                "left": (tuple[LeftOut, ...], "What was left out."),
                "variables": (tuple[Variable, ...], "What is to be set before a plan."),
                "values_in": (tuple[str, ...], "Files that hold the values of variables."),
                "untold": (tuple[Untold, ...], "What was not looked at."),
                "calls": (int, "How many calls it took."),
                "advice": (tuple[IdentityAdvice, ...], "Identities that would recognize more entities."),
            },
        ),
    ),
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
