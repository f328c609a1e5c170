"""Imports: contacts out of a resource, added or updated by the service itself.

Belongs here: the one call that there is. Not here: uploading the resource (client.py), what reconciler owns:
a plan never imports. Source: docs/service.md, imports.
"""

from collections.abc import Mapping
from typing import Literal

from reconciler.errors import InDoubt
from reconciler.service import shapes
from reconciler.service.answers import Answer, Call
from reconciler.service.http import urls
from reconciler.service.http.transport import Transport

ImportMode = Literal["replace", "ignore", "duplicate"]


class Imports:
    """Imports of the account."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def contacts(
        self,
        resource_id: str,
        *,
        fields: Mapping[str, str] | None = None,
        mode: ImportMode = "replace",
        workspace: str = "",
    ) -> None:
        """The rows of this resource are accepted for import; when they are contacts nobody tells.

        `fields`: contact field -> column; None where the columns have the names of fields.
        Raises Rejected for a resource that is not there, and InDoubt where the import may have begun.
        """
        # The mode is always said: without it the service writes over whoever is there (docs/service.md).
        options = {**({"fieldMapping": dict(fields)} if fields else {}), "importMode": mode}
        body = {
            "resourceId": urls.checked(resource_id),
            "importType": "contact",
            "importOptions": options,
        }
        path = urls.path("/workspaces/{wid}/imports" if workspace else "/imports", {"wid": workspace})
        encoded = self._transport.encode("importcontact", body)
        call = Call("POST", path, "importcontact", body=encoded)
        try:
            # Once: an import that is sent again may add everybody a second time.
            await self._transport.once(call, _accepted)
        except InDoubt as error:
            error.next = "list the contacts before anything is imported again."
            raise


def _accepted(answer: Answer) -> None:
    """202, with a sentence or nothing; whatever looks like a document must be no error."""
    # Public samples have no body here; a bare sentence says no more than the status.
    if answer.body.strip()[:1] in (b"{", b"<"):
        shapes.agreed(answer)
