"""Proxies: which one the environment names for an address, and what the address of a proxy may be.

Belongs here: the rules for the variables, reading the URL of a proxy. Not here: where the variables come from
(settings/network.py), connecting (connections.py).

Sources: curl's manual (ENVIRONMENT), Go's golang.org/x/net/http/httpproxy, Python's urllib.request. Where
they differ, the comment at the rule says which one is followed.
"""

import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from reconciler.core.calls import is_loopback
from reconciler.core.redact import mask_url
from reconciler.model.settings import Proxy, Secret
from reconciler.service.http.urls import HOST, Base, Unusable

# Small letters go first, as in curl and urllib. A variable that is empty counts as one that is not set, as in
# curl and Go.
_NAMED: Mapping[str, tuple[str, ...]] = {
    "https": ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"),
    "http": ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"),
}
_EXEMPT = ("no_proxy", "NO_PROXY")
_PORTS = {"http": 80, "https": 443}
_login_max = 2_048  # characters; a signed token has some hundred


class Choice(Struct, frozen=True):
    """What the environment says: `variable` names the proxy `text`; that is "" where `why` sets it aside."""

    variable: str = ""
    text: str = ""
    why: str = ""


def chosen(base: Base, environ: Mapping[str, str]) -> Choice:
    """Return which variable names a proxy for this address, as curl, Go and urllib read them."""
    # In a CGI program HTTP_PROXY is a header of whoever called it, and is left out (as in Go and urllib);
    # http_proxy is not.
    skipped = {"HTTP_PROXY"} if "REQUEST_METHOD" in environ else set()
    name = next((one for one in _NAMED[base.scheme] if environ.get(one) and one not in skipped), "")
    if not name:
        return Choice()
    # As in Go: a proxy would take the name for that of its own machine.
    if is_loopback(base.host):
        return Choice(name, why=f"{base.host} is this machine")
    without = next((one for one in _EXEMPT if environ.get(one)), "")
    if without and exempt(environ[without], base.host, base.port):
        return Choice(name, why=f"{without} names {base.host}")
    return Choice(name, environ[name].strip())


def exempt(listed: str, host: str, port: int) -> bool:
    """Whether a list of NO_PROXY names this host: `*`, an address, a network, or a name with all below it.

    A dot or `*.` at the start changes nothing (as in curl; Go would leave out the name itself). `:PORT`
    limits an entry to that port (as in Go). What cannot be read names nobody.
    """
    return any(
        _names(entry, host.lower().strip("[]."), port) for entry in re.split(r"[,\s]+", listed.lower())
    )


def _names(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    entry, limited = _without_port(entry)
    if not entry or limited not in (0, port):
        return False
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:  # one of them is a name
        entry = entry.removeprefix("*").strip(".")
        return bool(entry) and (host == entry or host.endswith(f".{entry}"))


def _without_port(entry: str) -> tuple[str, int]:
    """Return an entry without its port, and the port; 0 where it has none. IPv6 has one behind `]` alone."""
    found = re.fullmatch(r"(\[[^]]*\]|[^:]*):([0-9]{1,5})", entry, re.ASCII)
    return (found[1], int(found[2])) if found else (entry, 0)


def parse(text: str, source: str, *, scheme: str = "") -> Proxy:
    """Return the proxy at a URL: http or https, host, port, and before them `user:password@`.

    `scheme` is the one of an address that has none, as variables may. Raises Unusable.
    """
    written = text if "://" in text or not scheme else f"{scheme}://{text}"
    # Where libraries read an address in two ways, the login would go to whichever host the second one names.
    if not written.isascii() or not written.isprintable() or " " in written or "\\" in written:
        raise Unusable("the address of the proxy holds a character that no address holds.", _WRITE)
    found = re.fullmatch(
        r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?:(?P<login>[^/?#]*)@)?(?P<host>[^/?#@]*)/?", written
    )
    if found is None:
        raise Unusable("the address of the proxy is no URL, or has more than a host and a port.", _WRITE)
    kind = found["scheme"].lower()
    if kind not in _PORTS:
        raise Unusable(f"proxies of the kind {kind[:20]} are not supported, only http and https.", _WRITE)
    host, port = _host_and_port(found["host"])
    return Proxy(f"{kind}://{host.lower()}:{port or _PORTS[kind]}", source, _login(found["login"]))


def _host_and_port(text: str) -> tuple[str, int | None]:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.netloc, parts.port
    except ValueError:
        raise Unusable("the host or port of the proxy cannot be read.", _WRITE) from None
    if port is not None:
        host = host.rpartition(":")[0]
    if not HOST.fullmatch(host) or port == 0:
        raise Unusable("the host or port of the proxy cannot be read.", _WRITE)
    return host, port


def shown(text: str) -> str:
    """Return the setting without user and password, whatever stands in it."""
    assumed = "" if "://" in text else "http://"
    return mask_url(f"{assumed}{text}").removeprefix(assumed)


_WRITE = "write it like http://proxy.example.com:3128; signs in its user and password like %40"


def _login(text: str | None) -> Secret | None:
    """Return user:password as they are sent. Raises Unusable."""
    if text is None:
        return None
    user, _, password = text.partition(":")
    user, password = unquote(user), unquote(password)
    if not user or ":" in user or not (user + password).isprintable() or len(text) > _login_max:
        raise Unusable("the user and password of the proxy cannot be sent with the Basic scheme.", _WRITE)
    return Secret(f"{user}:{password}")
