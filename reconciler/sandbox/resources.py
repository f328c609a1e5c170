"""What happens to a resource: the four mandatory fields and the checks of its content.

Source: specification 2.3 and 4.3; docs/service.md, resources.
"""

import base64
import binascii
from datetime import datetime
from xml.parsers import expat

import msgspec

from reconciler.sandbox.records import RESOURCE_FIELDS, Body, Resource
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
