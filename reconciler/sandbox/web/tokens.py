"""Bearer tokens: made for somebody who has user and password, good for a while.

Belongs here: making and checking a token, as pure functions; nothing is stored. Not here: when one is asked
for (endpoints), headers (auth.py).
Source: docs/service.md, credentials. The token is a JWT; its claims and its lifetime are assumed.
"""

import base64
import binascii
import hmac
from datetime import datetime, timedelta

import msgspec

from reconciler.sandbox.config import SandboxConfig


class _Claims(msgspec.Struct):
    """Whom the token speaks for, and from when until when, in seconds since 1970."""

    sub: str
    iat: int
    exp: int


def new_token(config: SandboxConfig) -> str:
    """A token for the configured user, good from now on for the configured time."""
    now = config.clock()
    until = now + timedelta(seconds=config.token_lifetime_s)
    claims = _Claims(config.username, _seconds(now), _seconds(until))
    signed = ".".join((_packed(b'{"alg":"HS256","typ":"JWT"}'), _packed(msgspec.json.encode(claims))))
    return f"{signed}.{_signature(config, signed)}"


def token_fits(config: SandboxConfig, token: str) -> bool:
    """Did this sandbox make the token, for its user as it is now, and is it still good?"""
    signed, _, signature = token.rpartition(".")
    if not hmac.compare_digest(signature.encode(), _signature(config, signed).encode()):
        return False
    try:
        packed = signed.partition(".")[2]
        claims = msgspec.json.decode(base64.urlsafe_b64decode(packed + "=="), type=_Claims)
    except (binascii.Error, ValueError):
        return False
    return _seconds(config.clock()) < claims.exp


def _signature(config: SandboxConfig, signed: str) -> str:
    # From the credentials, so that a token outlives a restart and not a change of the password.
    secret = f"{config.username}\0{config.password}\0{config.api_key}".encode()
    return _packed(hmac.digest(secret, signed.encode(), "sha256"))


def _packed(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())
