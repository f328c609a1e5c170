"""Who may call: the API key at the gateway, then the user at the service, by password or by token.

Source: specification 5; docs/service.md, credentials. A key in the header counts; a key in the query counts
only where the header has none.
"""

import base64
import binascii
import hmac
from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from reconciler.sandbox.calls import Answer, Call
from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.refusals import not_found, unauthorized


def accepts_key(config: SandboxConfig, headers: Mapping[str, str], query: Mapping[str, str]) -> bool:
    """Is the API key right? The query's key counts only where the header carries none."""
    header = headers.get("x-api-key")
    # The bytes as they were sent.
    given = query.get("apikey", "").encode() if header is None else header.encode("latin-1")
    return hmac.compare_digest(given, config.api_key.encode())


def accepts_user(config: SandboxConfig, headers: Mapping[str, str]) -> bool:
    """Are user name and password right, in the Basic scheme, or is the Bearer token one of ours?"""
    authorization = headers.get("authorization", "")
    token = bearer_token(authorization)
    return accepts_password(config, authorization) if token is None else accepts_token(config, token)


def bearer_token(authorization: str) -> str | None:
    """The token in a header of the Bearer scheme, None in any other."""
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def accepts_password(config: SandboxConfig, authorization: str) -> bool:
    """Are user name and password right, in the Basic scheme?"""
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return False
    try:
        given = base64.b64decode(encoded.strip(), validate=True)
    except (binascii.Error, ValueError):
        return False
    return hmac.compare_digest(given, f"{config.username}:{config.password}".encode())


# --- Tokens ------------------------------------------------------------------------------------
#
# Source: docs/service.md, credentials. The token is a JWT; its claims and its lifetime are assumed.


class _Claims(msgspec.Struct):
    """The user that the token stands for, and its times of issue and expiry in seconds since 1970."""

    sub: str
    iat: int
    exp: int


def new_token(config: SandboxConfig) -> str:
    """A token for the configured user, good from now on for the configured time."""
    now = config.clock()
    until = now + timedelta(seconds=config.token_lifetime_s)
    claims = _Claims(config.username, _epoch_seconds(now), _epoch_seconds(until))
    signed = ".".join((_base64_url(b'{"alg":"HS256","typ":"JWT"}'), _base64_url(msgspec.json.encode(claims))))
    return f"{signed}.{_sign_token(config, signed)}"


def accepts_token(config: SandboxConfig, token: str) -> bool:
    """Did this sandbox make the token, for its user as it is now, and is it still good?"""
    signed, _, signature = token.rpartition(".")
    if not hmac.compare_digest(signature.encode(), _sign_token(config, signed).encode()):
        return False
    try:
        packed = signed.partition(".")[2]
        claims = msgspec.json.decode(base64.urlsafe_b64decode(packed + "=="), type=_Claims)
    except (binascii.Error, ValueError):
        return False
    return _epoch_seconds(config.clock()) < claims.exp


def _sign_token(config: SandboxConfig, signed: str) -> str:
    # From the credentials, so that a token outlives a restart and not a change of the password.
    secret = f"{config.username}\0{config.password}\0{config.api_key}".encode()
    return _base64_url(hmac.digest(secret, signed.encode(), "sha256"))


def _base64_url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _epoch_seconds(moment: datetime) -> int:
    return int(moment.timestamp())


# --- The addresses of tokens ---------------------------------------------------------------------


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
