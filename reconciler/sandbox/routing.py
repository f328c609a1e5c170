"""Addresses: which path is which endpoint, and of which kind its documents are.

Source: specification 4 and 9; docs/service.md, addresses.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reconciler.sandbox import callback_calls, imports, message_endpoints, workspaces
from reconciler.sandbox.authentication import create_token, verify_token
from reconciler.sandbox.callback_calls import CALLBACKS
from reconciler.sandbox.collections import (
    AnyCollection,
    Collection,
    Endpoint,
    collection_methods,
    record_methods,
)
from reconciler.sandbox.contacts import CONTACTS
from reconciler.sandbox.devices import DEVICES
from reconciler.sandbox.records import SALTS
from reconciler.sandbox.refusals import method_not_supported, not_found
from reconciler.sandbox.resources import RESOURCES


@dataclass(frozen=True, slots=True)
class Route:
    """One address: the kind of its documents, what each method does, and how it is reached."""

    kind: str
    methods: Mapping[str, Endpoint]
    in_workspaces: bool = True
    takes_body: bool = True  # do POST and PUT have one?

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


Routes = dict[tuple[tuple[str, ...], int], Route]


def row_routes(*table: AnyCollection) -> Routes:
    """The two addresses of each of these rows."""
    found: Routes = {}
    for row in table:
        names, length = (*row.above, row.plural), 2 * len(row.above) + 1
        found[names, length] = Route(row.kind, collection_methods(row), row.in_workspaces)
        found[names, length + 1] = Route(row.kind, record_methods(row), row.in_workspaces)
    return found


# Names of the path (every other segment, from the first) and the number of its segments -> what is there.
ROUTES: Routes = {
    **row_routes(CONTACTS, DEVICES, RESOURCES),
    (("messages",), 1): Route(
        "message", {"GET": message_endpoints.list_messages, "POST": message_endpoints.send_message}
    ),
    (("imports",), 1): Route("importcontact", {"POST": imports.create_import}),
    (("messages",), 2): Route("message", {"GET": message_endpoints.get_message}),
    (("messages", "messagestatus"), 3): Route("messagestatus", {"GET": message_endpoints.get_status}),
    (("messages", "messageresponses"), 3): Route("messageresponse", {"GET": message_endpoints.get_responses}),
    **row_routes(CALLBACKS),
    (("callbacks", "calls"), 3): Route(
        "api-call",
        {"GET": callback_calls.list_calls, "PUT": callback_calls.put_calls},
        in_workspaces=False,
    ),
    (("auth",), 1): Route("auth", {"POST": create_token}, in_workspaces=False, takes_body=False),
    (("auth",), 2): Route("auth", {"GET": verify_token}, in_workspaces=False),
}
COMPANY = Route("company", {"GET": workspaces.get_company})
WORKSPACES = Route("workspace", {"GET": workspaces.list_workspaces, "POST": workspaces.create_workspace})
WORKSPACE = Route("workspace", {"GET": workspaces.get_workspace, "PUT": workspaces.put_workspace})


def own_routes(collections: Iterable[Collection]) -> Routes:
    """The addresses of these rows. Raises ValueError for an address or a kind that is there already."""
    found: Routes = {}
    kinds = {route.kind for route in (*ROUTES.values(), COMPANY, WORKSPACE)} | {"error", "deliveryResponse"}
    for row in collections:
        if ((row.plural,), 1) in {**ROUTES, **found} or row.plural == "workspaces":
            raise ValueError(f"{row.name}: there is something at /{row.plural} already")
        if row.kind in kinds or row.name in SALTS:
            raise ValueError(f"{row.name}: there is a kind of this name, or with its media type, already")
        kinds.add(row.kind)
        found |= row_routes(row)
    return found


def find_place(path: str, routes: Routes = ROUTES) -> Place:
    """Where this path leads, with or without a slash at its end; refuses (404) what leads nowhere.

    So does a path with an empty segment.
    """
    segments = path.split("/")[1:]
    if segments == [""]:
        return Place(COMPANY, "", ())
    if segments[-1] == "":
        segments.pop()
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
    route = routes.get((tuple(segments[::2]), len(segments)))
    if route is None or (workspace and not route.in_workspaces):
        raise not_found()
    return Place(route, workspace, tuple(segments[1::2]))
