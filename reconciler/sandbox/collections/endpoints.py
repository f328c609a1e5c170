"""What the root and the addresses of tokens do.

Belongs here: these three, a few lines each. Not here: what a token is (tokens.py), collections (rows.py).
"""

from reconciler.sandbox.calls import Answer, Call
from reconciler.sandbox.config import workspace_id
from reconciler.sandbox.refusals import not_found, unauthorized
from reconciler.sandbox.web.auth import bearer_token
from reconciler.sandbox.web.tokens import new_token


def get_company(call: Call) -> Answer:
    """The document at the root."""
    return Answer(200, call.writer.company(workspace_id("")))


def create_token(call: Call) -> Answer:
    """A token for whoever came with user and password; a token is no way to another one (assumed)."""
    if bearer_token(call.incoming.headers.get("authorization", "")) is not None:
        raise unauthorized()
    return Answer(200, call.writer.auth(new_token(call.config)))


def verify_token(call: Call) -> Answer:
    """The token that the request came with: it is good, or nobody would have got here."""
    if call.ids != ("verify",):
        raise not_found()
    token = bearer_token(call.incoming.headers.get("authorization", ""))
    if token is None:
        raise unauthorized()
    return Answer(200, call.writer.auth(token))
