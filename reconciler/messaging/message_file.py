"""The message file of `reconciler messages send --file`: a YAML or JSON file becomes a draft message."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from reconciler.errors import InputError, Problem
from reconciler.messaging.values import Repeat
from reconciler.model.documents import Place
from reconciler.parsing.tree import Tree, read_tree
from reconciler.schema.check import check_tree

# Parts that reach the service as they stand, under the names that it has for them.
PARTS = ("label", "type", "eventId", "messageTemplateId", "messageTemplateName")
STRUCTURED = ("email", "voice", "web", "social", "features", "dlr", "whatsapp", "rcs")

# The service refuses a call without it, also without a conference (docs/service.md, messages).
no_conference = "ConfCall:,ConfAccountNo:,ConfPinNo:,ConfModPinNo:,Pin:"


class WrittenMessage(Struct, frozen=True):
    """What was written of one message: None and empty where nothing was.

    `places` has the place of each of `to`, and `at_place` that of the time. `more` are parts in the service's
    form. `at` knows its zone.
    """

    to: tuple[str, ...] = ()
    subject: str | None = None
    body: str | None = None
    callback: str | None = None
    parameters: Mapping[str, str] = {}
    workspace: str | None = None
    at: datetime | None = None
    repeat: Repeat | None = None
    more: Mapping[str, Any] = {}
    places: tuple[Place, ...] = ()
    at_place: Place = Place("--at")


def parse_message_file(data: bytes, file: str) -> WrittenMessage:
    """Return what the file says. Raises InputError with every mistake in it, in the order of the file."""
    tree = read_tree(data, file)
    checked = () if tree.broken else check_tree("message", tree)
    problems = sorted({*tree.problems, *checked}, key=lambda one: (one.line, one.column))
    if problems:
        raise make_message_error(*problems)
    value = tree.value
    schedule = value.get("schedule", {})
    return WrittenMessage(
        to=tuple(value.get("to", ())),
        subject=value.get("subject"),
        body=value.get("body"),
        callback=value.get("callback"),
        parameters=value.get("parameters", {}),
        workspace=value.get("workspace"),
        at=_parse_schedule_time(tree, schedule["at"]) if schedule else None,
        repeat=Repeat(**{name: int(text) for name, text in schedule["repeat"].items()})
        if "repeat" in schedule
        else None,
        more=_service_parts(value),
        places=tuple(tree.places(value["to"])) if "to" in value else (),
        at_place=tree.place(("schedule", "at")),
    )


def _parse_schedule_time(tree: Tree, text: str) -> datetime:
    found = parse_zoned_time(text)
    if found is None:
        what = f"schedule.at is not a time with a zone: {text!r}."
        raise make_message_error(tree.problem(("schedule", "at"), what, TIME_HINT, code="E208"))
    return found


TIME_HINT = "write it as 2026-03-02T22:00+11:00, or with Z for UTC"


def parse_zoned_time(text: str) -> datetime | None:
    """Return a time in ISO 8601 that names its zone, or None."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo and "T" in text.upper() else None


def _service_parts(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts as the service writes them."""
    more = {name: value[name] for name in (*PARTS, *STRUCTURED) if name in value}
    if "voice" in more:
        more["voice"] = {"type": no_conference, **more["voice"]}
    if "social" in more:
        more["social"] = {"social": more["social"]}
    return more


def make_message_error(*problems: Problem) -> InputError:
    """Return the error that carries these problems."""
    count = "1 mistake" if len(problems) == 1 else f"{len(problems)} mistakes"
    return InputError(f"the message cannot be used: {count}; nothing was sent.", problems=problems)
