"""Addresses: which path is which endpoint, and which media types it speaks.

Belongs here: the table of paths and methods, reading a path, choosing the type of an answer.
Not here: HTTP itself.
Source: specification 4 and 9; docs/service.md, addresses.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from reconciler.sandbox import endpoints
from reconciler.sandbox.calls import Answer, Call
from reconciler.sandbox.refusals import method_not_supported, not_acceptable, not_found, wrong_media_type
from reconciler.sandbox.wire import media_type

Endpoint = Callable[[Call], Answer | Awaitable[Answer]]

plain_json = "application/json"


@dataclass(frozen=True, slots=True)
class Route:
    """One address: the kind of its documents, what each method does, and is it also in workspaces?"""

    kind: str
    methods: Mapping[str, Endpoint]
    in_workspaces: bool = True

    def endpoint(self, method: str) -> Endpoint:
        """What this method does here; refuses (405) one that does nothing."""
        found = self.methods.get(method)
        if found is None:
            raise method_not_supported(tuple(self.methods))
        return found


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads: its route, the workspace it names ("" when none), the other ids in it."""

    route: Route
    workspace: str
    ids: tuple[str, ...]


# Names of the path (every other segment, from the first) and the number of its segments -> what is there.
ROUTES: dict[tuple[tuple[str, ...], int], Route] = {
    (("contacts",), 1): Route("contact", {"GET": endpoints.list_contacts, "POST": endpoints.create_contact}),
    (("contacts",), 2): Route(
        "contact",
        {"GET": endpoints.get_contact, "PUT": endpoints.put_contact, "DELETE": endpoints.delete_contact},
    ),
    (("contacts", "devices"), 3): Route(
        "contactdevice", {"GET": endpoints.list_devices, "POST": endpoints.create_device}
    ),
    (("contacts", "devices"), 4): Route(
        "contactdevice",
        {"GET": endpoints.get_device, "PUT": endpoints.put_device, "DELETE": endpoints.delete_device},
    ),
    (("resources",), 1): Route(
        "resource", {"GET": endpoints.list_resources, "POST": endpoints.create_resource}
    ),
    (("resources",), 2): Route(
        "resource",
        {"GET": endpoints.get_resource, "PUT": endpoints.put_resource, "DELETE": endpoints.delete_resource},
    ),
}
COMPANY = Route("company", {"GET": endpoints.get_company})
WORKSPACES = Route("workspace", {"GET": endpoints.list_workspaces})
WORKSPACE = Route("workspace", {"GET": endpoints.get_workspace})


def find_place(path: str) -> Place:
    """Where this path leads; refuses (404) a path that leads nowhere, also one with an empty segment."""
    segments = path.split("/")[1:]
    if segments == [""]:
        return Place(COMPANY, "", ())
    if "" in segments:
        raise not_found()
    workspace = ""
    if segments[0] == "workspaces":
        if len(segments) == 1:
            return Place(WORKSPACES, "", ())
        workspace = segments[1]
        segments = segments[2:]
        if not segments:
            return Place(WORKSPACE, workspace, ())
    route = ROUTES.get((tuple(segments[::2]), len(segments)))
    if route is None or (workspace and not route.in_workspaces):
        raise not_found()
    return Place(route, workspace, tuple(segments[1::2]))


def answer_type(accept: str, vendor: str, kind: str) -> str | None:
    """The media type of the answer: the vendor's if it may be, plain JSON if only that may be, else None."""
    ours = media_type(vendor, kind)
    if not accept or accept == ours:
        return ours
    wanted = {_range(part) for part in accept.lower().split(",")}
    if wanted & {ours, "*/*", "application/*"}:
        return ours
    return plain_json if plain_json in wanted else None


def refusal_type(accept: str, vendor: str, kind: str | None) -> str:
    """The media type of an error body: that of the answer, or the vendor's JSON type that was asked for."""
    shown = answer_type(accept, vendor, kind) if kind else None
    asked = accept.partition(",")[0].partition(";")[0].strip().lower()
    if shown is None and re.fullmatch(rf"application/vnd\.{vendor}\.[a-z-]+-v1\+json", asked):
        return asked
    return shown or plain_json


def require_types(method: str, headers: Mapping[str, str], vendor: str, kind: str) -> str:
    """The type of the answer; refuses an Accept that cannot be met (406) and a body of another type (415)."""
    accept = headers.get("accept", "")
    shown = answer_type(accept, vendor, kind)
    if shown is None:
        raise not_acceptable(accept)
    if method in ("POST", "PUT"):
        ours = media_type(vendor, kind)
        if headers.get("content-type", "").partition(";")[0].strip().lower() != ours:
            raise wrong_media_type(ours)
    return shown


def _range(part: str) -> str:
    """The media range without its parameters; nothing for one that is refused with q=0."""
    name, *parameters = (piece.strip() for piece in part.split(";"))
    refused = any(piece.replace(" ", "") in ("q=0", "q=0.0", "q=0.00", "q=0.000") for piece in parameters)
    return "" if refused else name
