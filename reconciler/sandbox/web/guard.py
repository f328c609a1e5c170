"""Who may ask a sandbox behind a port: programs of this machine, and no web page.

A browser on the same machine reaches loopback for every page that it shows. A page names us by its own name,
which its owner lets lead here (DNS rebinding), and then may read everything; or it sends a request across
origins, and may read nothing, but the request arrives. The first shows in Host, the second in Origin and
Sec-Fetch-Site, which no page can change.

Belongs here: that decision. Not here: user, password and key (auth.py).
"""

from collections.abc import Mapping
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import urlsplit

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

_ours = frozenset({"localhost"})
_fetched_here = frozenset(
    {"", "none", "same-origin"}
)  # a program, an address that was typed in, our own page

Refused = tuple[HTTPStatus, str]


def guarded(app: ASGIApp, also: frozenset[str] = frozenset()) -> ASGIApp:
    """The application, asked by nobody but who may; `also` are further names under which it is reached."""
    names = _ours | {name.lower() for name in also}

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        refused = _refused(scope, names) if scope["type"] == "http" else None
        if refused is None:
            await app(scope, receive, send)
        else:
            await _say_no(send, *refused)

    return answer


def refusal(headers: Mapping[str, str], names: frozenset[str] = _ours) -> Refused | None:
    """Why a request with these headers (names in lower case) is not answered; None for one that is.

    An address of digits is always ours: only a name can lead elsewhere today and here tomorrow.
    """
    host = headers.get("host", "")
    if not _is_ours(host, names):
        text = "the sandbox is asked by another name than that of this machine; ask 127.0.0.1 or localhost"
        return HTTPStatus.MISDIRECTED_REQUEST, text
    origin = headers.get("origin")
    if (origin is not None and origin.lower() != f"http://{host}".lower()) or (
        headers.get("sec-fetch-site", "") not in _fetched_here
    ):
        return HTTPStatus.FORBIDDEN, "a page of another origin asks; the sandbox is for programs"
    return None


def _refused(scope: Scope, names: frozenset[str]) -> Refused | None:
    pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
    if sum(name == "host" for name, _ in pairs) > 1:
        return HTTPStatus.BAD_REQUEST, "the request has several Host headers"
    return refusal(dict(pairs), names)


def _is_ours(host: str, names: frozenset[str]) -> bool:
    try:
        name = urlsplit(f"http://{host}").hostname or ""
        ip_address(name)
    except ValueError:
        return _name(host) in names
    return True


def _name(host: str) -> str:
    return host.partition(":")[0].lower().removesuffix(".")


async def _say_no(send: Send, status: HTTPStatus, text: str) -> None:
    content = msgspec.json.encode({"errorSummary": "Your request was not accepted.", "errorText": text})
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": content})
