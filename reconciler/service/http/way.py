"""The way of one request out of this machine: how far it came, and the words for where it ended.

Belongs here: what the library tells of connecting, and what a failure before the request means. Not here:
opening connections (connections.py), answers of the service (exchange.py, refusals.py).

    connect to the proxy ─▶ CONNECT ─▶ TLS with the service ─▶ the request
    └──────── nothing of the request has left us ──────────┘   from its first byte on: it may have arrived

A proxy speaks in the first half alone, in the clear or in a TLS session of its own; what it answers there
is told as its words and never reaches whoever reads answers of the service.
"""

import re
import socket
import ssl
from collections.abc import Callable
from typing import Any, Literal, Self

import httpx2

from reconciler.core.calls import Failure
from reconciler.model.settings import Proxy
from reconciler.service.answers import Broken

# Measured on real sockets (tests/service/test_sockets.py): nothing of the request has left us.
# Everything else may have arrived, a reset at accept included: it looks like one after the work.
NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)

_PASSING = (408, 425, 429)  # statuses below 500 after which a proxy may well say yes a moment later

_NETWORK = "check service.base_url and the network; nothing was sent."
_TLS = "check service.base_url (https, host, port) and the certificates trusted here; nothing was sent."


class Unconnected(Exception):
    """What went wrong, its cause, did so before anything of the request left us."""


class Way:
    """How far one request came. `proxy` is the one that its connection goes through, if any.

    `leaving` is called where the first byte of the request is about to leave, and may raise.
    """

    def __init__(self, host: str, proxy: Proxy | None, leaving: Callable[[], None] | None) -> None:
        self._host = host
        self._proxy = proxy
        self._leaving = leaving
        # "" where the transport tells nothing, as those of tests do.
        self._stage: Literal["", "connecting", "asking", "securing", "sent"] = ""

    async def trace(self, event: str, info: dict[str, Any]) -> None:
        """Hear from the library what it does; for the extension `trace` of a request."""
        if event.endswith((".connect_tcp.started", "connection.start_tls.started")):
            self._stage = "connecting"
        elif event == "proxy.start_tls.started":
            self._stage = "securing"
        elif event.endswith(".send_request_headers.started"):
            if info["request"].method == b"CONNECT":  # to the proxy
                self._stage = "asking"
                return
            self._stage = "sent"
            # Nothing more is to be heard: it would be told of every step until the body of the answer ends.
            info["request"].extensions.pop("trace", None)
            if self._leaving:
                self._leaving()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Raise Unconnected in the place of a failure before the request."""
        # TimeoutError is our own deadline, which may end a connect as well as an answer.
        failed = isinstance(error, (TimeoutError, OSError, httpx2.HTTPError))
        if failed and self._stage not in ("", "sent"):
            raise Unconnected from error

    def ended(self, error: Exception) -> Broken:
        """Return what to say of a request that never left: where its way ended, and what to check."""
        refused = next((one for one in causes(error) if isinstance(one, httpx2.ProxyError)), None)
        if refused is not None and self._proxy is not None:
            return _refused(str(refused), self._host, self._proxy)
        what, hint = self._why(error)
        return Broken(Failure.NEVER_SENT, what, hint)

    def _why(self, error: Exception) -> tuple[str, str]:
        proxy = self._proxy
        if proxy is not None and self._stage in ("connecting", ""):
            what, hint = f"no connection to the proxy {proxy}", f"check {proxy.source}; nothing was sent."
        elif proxy is not None and self._stage == "asking":
            what = f"the proxy {proxy} gave no answer of a proxy"
            return what, f"check {proxy.source}: something else may answer there; nothing was sent."
        else:
            through = f" through the proxy {proxy}" if proxy is not None else ""
            what, hint = f"no connection to {self._host}{through}", _NETWORK
        return _named(error, what, hint)


def _refused(answer: str, host: str, proxy: Proxy) -> Broken:
    """Return what a proxy's answer to CONNECT means. Of the answer only its status is believed, and shown."""
    # What it refuses for good is not asked again: a wrong password, repeated, locks accounts.
    found = re.match(r"[1-9][0-9]{2}(?![0-9])", answer)
    status = int(found[0]) if found else 0
    final = 400 <= status < 500 and status not in _PASSING  # noqa: PLR2004 - the class of refusals
    failure = Failure.REFUSED if final else Failure.NEVER_SENT
    if status == 407:  # noqa: PLR2004 - Proxy Authentication Required
        want = "does not accept its user and password" if proxy.login else "wants a user and password"
        hint = f"check the user and password in {proxy.source}; nothing was sent to the service."
        return Broken(failure, f"the proxy {proxy} {want} (407)", hint)
    said = f" ({status})" if status else ""
    what = f"the proxy {proxy} makes no connection to {host}{said}"
    return Broken(failure, what, f"ask who runs the proxy, or check {proxy.source}; nothing was sent.")


def _named(error: Exception, what: str, hint: str) -> tuple[str, str]:
    """Return why there is no connection, in words of ours, and what to check."""
    tls = _TLS if hint is _NETWORK else hint
    for cause in causes(error):
        match cause:
            case ssl.SSLCertVerificationError():
                return f"{what}: the certificate is not trusted ({cause.verify_message})", tls
            case ssl.SSLError():
                return f"{what}: the TLS handshake failed", tls
            case socket.gaierror():
                return f"{what}: the name cannot be resolved", hint
            case ConnectionRefusedError():
                return f"{what}: refused", hint
    late = any(isinstance(cause, (TimeoutError, httpx2.TimeoutException)) for cause in causes(error))
    return (f"{what} in time" if late else what), hint


def causes(error: BaseException | None) -> list[BaseException]:
    """Return the error and what led to it; at most ten, however the chain is knotted."""
    found: list[BaseException] = []
    while error is not None and error not in found and len(found) < 10:  # noqa: PLR2004 - see above
        found.append(error)
        error = error.__cause__ or error.__context__
    return found
