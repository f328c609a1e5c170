"""How a PostgreSQL server's certificate is verified, by where the connection really leads.

The URL alone does not say: libpq fills what is left out from PG* variables and a service file, and
PGHOSTADDR leads even `localhost` elsewhere. So libpq is asked which options it would use, and the decision is
about those. They are passed on by name, so that nothing changes in between. Nothing here opens a connection.
"""

import ipaddress
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from reconciler.database_urls import ServerUrl, UnusableDatabaseUrl

# Any weaker mode lets a machine on the way, or another server, be taken for ours.
_FULL = "verify-full"


def libpq_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what libpq takes from variables and from a service file, by its own names; nothing is decided.

    `environ` is the process's own, which libpq reads: it shows whether a value is a default or was set.
    """
    from psycopg import pq  # noqa: PLC0415 - loads the driver, which few need

    found = {}
    for option in pq.Conninfo.get_defaults():
        set_by = (option.envvar or b"").decode()
        if option.val and (option.val != option.compiled or set_by in environ):
            found[option.keyword.decode()] = option.val.decode(errors="surrogateescape")
    return found


def resolve_host(name: str) -> set[str]:
    """Return what this machine takes a name for; nothing where it knows none."""
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(name, None)}
    except OSError:
        return set()


def is_local_server(host: str, hostaddr: str, resolve: Callable[[str], Iterable[str]]) -> bool:
    """Whether every server of these lists is reached by a socket or by loopback: no machine is between.

    Both are lists with commas, as libpq takes them; an address goes before the name beside it. Of names only
    `localhost` can be near, and only where all of its addresses are loopback.
    """
    hosts, addresses = host.split(","), hostaddr.split(",")
    if hostaddr and host and len(hosts) != len(addresses):
        return False  # libpq refuses it; nothing is sent
    where = addresses if hostaddr and not host else hosts
    if hostaddr and host:
        where = [address or name for name, address in zip(hosts, addresses, strict=True)]
    return all(_is_local_host(one, resolve) for one in where)


def _is_local_host(where: str, resolve: Callable[[str], Iterable[str]]) -> bool:
    if not where or where.startswith(("/", "@")):  # the usual socket, or the one that is named
        return True
    found = tuple(resolve(where)) if where.lower() == "localhost" else (where,)
    return bool(found) and all(map(_is_loopback, found))


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def tls_arguments(
    url: ServerUrl, found: Mapping[str, str], resolve: Callable[[str], Iterable[str]] = resolve_host
) -> dict[str, str]:
    """Return where the connection leads and how the server proves itself, as libpq's arguments.

    On this machine encryption is used where it is offered; everywhere else the mode is verify-full. A weaker
    one counts only where the URL names it beside the host that it is for. Raises UnusableUrl for one that
    comes from the environment: no person has seen both together.
    """
    place = {name: found[name] for name in ("host", "hostaddr") if name in found} | (
        {"host": url.host} if url.host else {}
    )
    asked = url.options.get("sslmode", "")
    if is_local_server(place.get("host", ""), place.get("hostaddr", ""), resolve):
        return {**place, "sslmode": asked or found.get("sslmode", "prefer")}
    weaker = asked if asked != _FULL else ""
    if weaker and url.host and "hostaddr" not in place:
        return {**place, **_certificate_arguments(url, found)} if weaker.startswith("verify") else place
    weaker = weaker or (found.get("sslmode", _FULL) if not asked else _FULL)
    if weaker != _FULL:
        raise _weak_tls_refused(weaker, by_url=bool(asked))
    # Kerberos' own encryption would be tried first, and no certificate would be looked at.
    return {**place, "sslmode": _FULL, "gssencmode": "disable", **_certificate_arguments(url, found)}


def _weak_tls_refused(mode: str, *, by_url: bool) -> UnusableDatabaseUrl:
    if by_url:
        return UnusableDatabaseUrl(
            f"the URL sets sslmode={mode}, but its server is named elsewhere (PGHOST, PGHOSTADDR or a "
            "service file) and is not on this machine: what is sent could be read on the way.",
            "name the host in the URL too, or remove sslmode from it, so that the certificate is verified",
        )
    return UnusableDatabaseUrl(
        f"the server is not on this machine, and PGSSLMODE or a service file sets sslmode={mode}: "
        "the password and people's data could be read on the way, or reach another server.",
        "unset it, so that the server's certificate is verified (verify-full); in a network that you trust, "
        f"write the host and ?sslmode={mode} into the URL",
    )


def _certificate_arguments(url: ServerUrl, found: Mapping[str, str]) -> dict[str, str]:
    """Return which CAs sign a server's certificate, where no setting and no usual file of libpq says so."""
    usual = Path("~/.postgresql/root.crt").expanduser()
    if "sslrootcert" in url.options or "sslrootcert" in found or usual.exists():
        return {}
    # The library in the wheel looks for the system's certificates where its own builder had them.
    cafile = ssl.get_default_verify_paths().cafile
    return {"sslrootcert": cafile} if cafile else {}
