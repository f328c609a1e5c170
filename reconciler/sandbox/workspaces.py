"""Workspaces: their four requests, what a body of one says; and the document at the root.

Source: specification 8, rule 3; docs/service.md, workspaces.
"""

import msgspec

from reconciler.sandbox.calls import Answer, Call, no_content
from reconciler.sandbox.config import workspace_id
from reconciler.sandbox.queries import whole_document
from reconciler.sandbox.records import Body, Workspace, lower_letters
from reconciler.sandbox.refusals import (
    body_choice,
    body_text,
    given_values,
    require_filled,
)

WORKSPACE_STATUSES = ("A", "D")


def list_workspaces(call: Call) -> Answer:
    """All named workspaces by name, in one answer without pages. The default one is not there (assumed)."""
    _ = call.page  # limit and offset choose nothing here, and are refused where they are wrong
    everything = sorted(call.state.workspaces.values(), key=lambda one: (lower_letters(one.name), one.id))
    rows = [call.writer.workspace_row(one) for one in everything]
    return Answer(200, whole_document("workspaces", rows))


def create_workspace(call: Call) -> Answer:
    """A new workspace, empty; the answer is the whole of it, with a link for each collection in it."""
    workspace = read_workspace(call.body(), wid="")
    workspace = msgspec.structs.replace(workspace, id=call.state.new_id("workspace")[0])
    call.state.put_workspace(workspace)
    return Answer(201, call.writer.workspace(workspace), f"{call.writer.base}/workspaces/{workspace.id}")


def get_workspace(call: Call) -> Answer:
    """One named workspace."""
    return Answer(200, call.writer.workspace(call.state.workspaces[call.shelf.id]))


def put_workspace(call: Call) -> Answer:
    """The workspace is replaced: what is absent is gone. Its contents stay, and so do their names in it."""
    call.state.put_workspace(read_workspace(call.body(), wid=call.shelf.id))
    return no_content


def read_workspace(body: Body, *, wid: str) -> Workspace:
    """The workspace that this body describes; refuses (422) a missing or wrong field by name."""
    given = given_values(body)
    require_filled(given, ("projectName", "status"))
    status = body_choice(given, "status", WORKSPACE_STATUSES)
    return Workspace(
        id=wid,
        name=body_text(given, "projectName"),
        status=status,
        number=body_text(given, "projectNumber") if "projectNumber" in given else None,
        cost_centre=body_text(given, "billingcostcentre") if "billingcostcentre" in given else None,
    )


# --- The root -------------------------------------------------------------------------------------


def get_company(call: Call) -> Answer:
    """The document at the root."""
    return Answer(200, call.writer.company(workspace_id("")))
