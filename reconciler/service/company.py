"""The company that an account belongs to: `GET /`. Evidence that two addresses are one service.

Asked only where a person says so (`--same-service`); many deployments do not answer it.
"""

from reconciler.errors import Malformed, NotFound, Rejected
from reconciler.service import shapes
from reconciler.service.answers import Answer, Call
from reconciler.service.http.transport import Transport


async def company_id(transport: Transport) -> str:
    """Return the company's id, or "" where the service does not tell it. Raises what any call raises."""
    try:
        return await transport.call(Call("GET", "/", "company"), _id)
    except (NotFound, Rejected, Malformed):
        return ""


def _id(answer: Answer) -> str:
    found = shapes.agreed(answer).get("id", "")
    return found if isinstance(found, str) else ""
