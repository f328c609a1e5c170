"""What happens to a workspace: what a body says, and the three requests that there are.

Belongs here: the rules and the endpoints of workspaces. Not here: storage, the wire. Nothing deletes one.
Source: specification 8, rule 3; docs/service.md, workspaces.
"""

import msgspec

from reconciler.sandbox.calls import Answer, Call, no_content
from reconciler.sandbox.casing import small
from reconciler.sandbox.paging import whole_document
from reconciler.sandbox.reading import choice, present, require, text
from reconciler.sandbox.records import Body, Workspace

STATUSES = ("A", "D")


def list_workspaces(call: Call) -> Answer:
    """All named workspaces by name, in one answer without pages. The default one is not there (assumed)."""
    _ = call.page  # limit and offset choose nothing here, and are refused where they are wrong
    everything = sorted(call.state.workspaces.values(), key=lambda one: (small(one.name), one.id))
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
    given = present(body)
    require(given, ("projectName", "status"))
    status = choice(given, "status", STATUSES)
    return Workspace(
        id=wid,
        name=text(given, "projectName"),
        status=status,
        number=text(given, "projectNumber") if "projectNumber" in given else None,
        cost_centre=text(given, "billingcostcentre") if "billingcostcentre" in given else None,
    )
