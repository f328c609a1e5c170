"""Resources: the four mandatory fields, the checks of the content, and what their addresses do.

Source: specification 2.3 and 4.3; docs/service.md, resources.
"""

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime
from xml.parsers import expat

import msgspec

from reconciler.sandbox.calls import Answer, Call, no_content
from reconciler.sandbox.collections import CollectionRow
from reconciler.sandbox.documents import View
from reconciler.sandbox.records import RESOURCE_FIELDS, Body, Resource, lower_letters
from reconciler.sandbox.refusals import body_choice, invalid, require_filled, require_texts

_line_breaks = {ord(character): None for character in "\r\n\t "}  # encoders break lines after 64 or 76 signs
PRIVATE_MEDIA_TYPES = ("text/csv", "application/json", "application/xml")


def read_resource(
    body: Body, *, known: tuple[str, int], workspace: str, bytes_max: int, now: datetime
) -> Resource:
    """The resource that this body describes; refuses (422) a missing field, a wrong type, bad content."""
    require_filled(body, RESOURCE_FIELDS)
    require_texts(body, RESOURCE_FIELDS)
    name, _, mime_type, encoded = (str(body[field]) for field in RESOURCE_FIELDS)
    scope = body_choice(body, "scope", ("private", "public"))
    if scope == "private" and mime_type not in PRIVATE_MEDIA_TYPES:
        raise invalid(f"mimeType of a private resource must be one of {', '.join(PRIVATE_MEDIA_TYPES)}")
    content = _decode_content(encoded)
    if len(content) > bytes_max:
        raise invalid(f"derefUri holds {len(content)} bytes; the limit is {bytes_max}")
    if not is_well_formed(mime_type, content):
        raise invalid(f"derefUri is not well-formed {mime_type}")
    return Resource(
        id=known[0],
        number=known[1],
        workspace=workspace,
        name=name,
        scope=scope,
        mime_type=mime_type,
        content=content,
        modified=now,
    )


def is_well_formed(mime_type: str, content: bytes) -> bool:
    """Can the content be read as its type? Types without a check here are always readable."""
    try:
        match mime_type:
            case "text/csv":
                # Which delimiter is meant is not said, so quotes are all that can be broken.
                return content.decode("utf-8").count('"') % 2 == 0 and b"\0" not in content
            case "application/json":
                msgspec.json.decode(content)
            case "application/xml":
                expat.ParserCreate().Parse(content, True)
    except (ValueError, expat.ExpatError, RecursionError):
        return False
    return True


def _decode_content(text: str) -> bytes:
    try:
        return base64.b64decode(text.translate(_line_breaks), validate=True)
    except (binascii.Error, ValueError):
        raise invalid("derefUri is not base64") from None


# --- The addresses of resources


class ResourceCollection(CollectionRow[Resource]):
    """Their content goes in and is never shown."""

    def found(self, call: Call) -> Sequence[Resource]:
        """Of one scope, or whose name contains a text; those updated last come first."""
        scope, name = call.query.get("scope", "").lower(), lower_letters(call.query.get("name", ""))
        everything = reversed(call.listed(self.records(call).values()))
        return [one for one in everything if scope in ("", one.scope) and name in lower_letters(one.name)]

    def read(self, call: Call, before: Resource | None) -> Resource:
        """The supplied one, in the place of the one before."""
        known = (before.id, before.number) if before else call.state.new_id("resource")
        return read_resource(
            call.body(),
            known=known,
            workspace=call.shelf.id,
            bytes_max=call.config.resource_bytes_max,
            now=call.config.clock(),
        )

    def shown(self, call: Call, record: Resource, view: View) -> Body:
        """The representation, with its id after a create, and in a list with its own link alone."""
        return call.writer.resource(record, view)

    def replaced(self, call: Call, record: Resource) -> Answer:
        """Nothing, or the representation as after a create: the sources differ."""
        if call.config.resource_put == 200:  # noqa: PLR2004 - the status itself
            return Answer(200, self.shown(call, record, "created"))
        return no_content


RESOURCES = ResourceCollection(
    name="resource",
    plural="resources",
    order="updated",
    filters=("scope", "name"),
    says={
        "list": "One page of the resources, most recently updated first.",
        "create": "A new resource; the answer is its representation.",
        "get": "The representation of the resource, not its content.",
        "put": "The resource is replaced by the supplied one and is the most recently updated.",
    },
)
