"""Who may call: the key at the gateway, then the user at the service, by password or by token.

Belongs here: the two checks and their order. Not here: what a refusal looks like in full (refusals.py).
Source: specification 5; docs/service.md, credentials: the header counts first, the query where there is none.
"""

import base64
import binascii
import hmac
from collections.abc import Mapping

from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.web.tokens import token_fits


def key_fits(config: SandboxConfig, headers: Mapping[str, str], query: Mapping[str, str]) -> bool:
    """Is the API key right? The query's key counts only where the header carries none."""
    header = headers.get("x-api-key")
    given = (
        query.get("apikey", "").encode() if header is None else header.encode("latin-1")
    )  # the bytes as sent
    return hmac.compare_digest(given, config.api_key.encode())


def user_fits(config: SandboxConfig, headers: Mapping[str, str]) -> bool:
    """Are user name and password right, in the Basic scheme, or is the Bearer token one of ours?"""
    authorization = headers.get("authorization", "")
    token = bearer_token(authorization)
    return password_fits(config, authorization) if token is None else token_fits(config, token)


def bearer_token(authorization: str) -> str | None:
    """The token in a header of the Bearer scheme, None in any other."""
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def password_fits(config: SandboxConfig, authorization: str) -> bool:
    """Are user name and password right, in the Basic scheme?"""
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return False
    try:
        given = base64.b64decode(encoded.strip(), validate=True)
    except (binascii.Error, ValueError):
        return False
    return hmac.compare_digest(given, f"{config.username}:{config.password}".encode())
