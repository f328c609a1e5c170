"""Bodies of the service -> LiveEntity: the one place where what was read becomes what is compared."""

from collections.abc import Mapping
from typing import Any

from reconciler.core.comparing.normalize import live
from reconciler.model.kinds import child_kinds
from reconciler.model.snapshots import LiveEntity


def observed(
    kind: str, workspace: str, remote_id: str, body: Mapping[str, Any], *, seen: str = "", parent_id: str = ""
) -> LiveEntity:
    """Return one whole body as a live entity.

    `workspace` is the alias; `seen` the service's clock at the answer (ISO 8601), "" where unknown;
    `parent_id` the remote id of a device's contact.
    """
    # Live data of any shape is data, never a crash: a time that is no text is no time.
    modified = body.get("lastModifiedTime")
    return LiveEntity(
        kind=kind,
        workspace=workspace,
        remote_id=remote_id,
        fields=live(kind, body),
        parent_id=parent_id,
        modified=modified if isinstance(modified, str) else "",
        seen=seen,
        # A body without the list says nothing of devices. Read as "none", each would seem gone and be made
        # again.
        devices_known=any(isinstance(body.get(child.rows_key), list) for child in child_kinds(kind)),
    )
