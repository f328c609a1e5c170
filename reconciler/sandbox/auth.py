"""Who may call: the key at the gateway, then the user at the service.

Belongs here: the two checks and their order. Not here: what a refusal looks like in full (refusals.py).
Source: specification 5; service-facts 8: header and query are alternatives here, the header counts first.
"""

import base64
import binascii
import hmac
from collections.abc import Mapping

from reconciler.sandbox.config import SandboxConfig


def key_fits(config: SandboxConfig, headers: Mapping[str, str], query: Mapping[str, str]) -> bool:
    """Is the API key right? The query's key counts only where the header carries none."""
    given = headers.get("x-api-key", query.get("apikey", ""))
    return hmac.compare_digest(given.encode(), config.api_key.encode())


def user_fits(config: SandboxConfig, headers: Mapping[str, str]) -> bool:
    """Are user name and password right, in the Basic scheme?"""
    scheme, _, encoded = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return False
    try:
        given = base64.b64decode(encoded.strip(), validate=True)
    except (binascii.Error, ValueError):
        return False
    return hmac.compare_digest(given, f"{config.username}:{config.password}".encode())
