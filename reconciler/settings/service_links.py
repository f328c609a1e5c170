"""Variables that Kubernetes puts into every pod for each Service of the namespace, told from settings.

A Service `reconciler-web` makes all of the names in `_FORMS` behind RECONCILER_WEB. A name alone proves
nothing: what each of them says has to be an address, a port or a protocol, and those of one Service agree.
Source: Kubernetes, "Service", "Discovering services", environment variables.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address

_PORT_MAX = 65535
_HOST, _PORT, _PROTOCOL, _URL = "host", "port", "protocol", "url"

# What stands behind the name of the Service -> what the value is.
_PROTOCOL_PORT = r"_PORT_(?P<port>[0-9]{1,5})_(?P<protocol>TCP|UDP|SCTP)"
_FORMS = tuple(
    (re.compile(f"(?P<service>RECONCILER(?:_[A-Z0-9_]+?)?){behind}"), form)
    for behind, form in (
        ("_SERVICE_HOST", _HOST),  # 10.0.0.7
        ("_SERVICE_PORT", _PORT),  # 80
        ("_SERVICE_PORT_[A-Z0-9_]+", _PORT),  # 80: the port that is called http
        ("_PORT", _URL),  # tcp://10.0.0.7:80
        (_PROTOCOL_PORT, _URL),  # tcp://10.0.0.7:80
        (f"{_PROTOCOL_PORT}_ADDR", _HOST),
        (f"{_PROTOCOL_PORT}_PORT", _PORT),
        (f"{_PROTOCOL_PORT}_PROTO", _PROTOCOL),
    )
)
_VALUE = re.compile(r"(?P<protocol>tcp|udp|sctp)://(?P<host>[0-9.]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class _Reading:
    """One way to read a variable: the Service of its name, and the address that its value names, if any."""

    service: str
    host: str


def find_service_links(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that Kubernetes made for a Service behind `reconciler`, and the Service of each.

    A port or a protocol names no Service by itself: it belongs to one whose address another variable gives.
    Where variables of one Service name several addresses, they are no links.
    """
    readings = {
        name: tuple(_readings(name, environ[name])) for name in environ if name.startswith("RECONCILER_")
    }
    hosts: dict[str, set[str]] = {}
    for one in (reading for found in readings.values() for reading in found if reading.host):
        hosts.setdefault(one.service, set()).add(one.host)
    known = {service for service, found in hosts.items() if len(found) == 1}
    links: dict[str, str] = {}
    for name, found in readings.items():
        services = [one.service for one in found if one.service in known]
        if services:
            links[name] = services[0].lower().replace("_", "-")
    return links


def _readings(name: str, value: str) -> Iterator[_Reading]:
    for pattern, form in _FORMS:
        if (found := pattern.fullmatch(name)) is None:
            continue
        named = found.groupdict()
        host = _said(form, value, port=named.get("port"), protocol=named.get("protocol"))
        if host is not None:
            yield _Reading(found["service"], host)


def _said(form: str, value: str, *, port: str | None, protocol: str | None) -> str | None:
    """Return the address that a value names, "" where it is another part of a link, None where it is none.

    `port` and `protocol` are those of the variable's name.
    """
    match form:
        case "host":
            return _address(value)
        case "port":
            return "" if _is_port(value, port) else None
        case "protocol":
            return "" if value.upper() == protocol and value.islower() else None
    if (found := _VALUE.fullmatch(value)) is None or not _is_port(found["port"], port):
        return None
    agrees = protocol is None or found["protocol"].upper() == protocol
    return _address(found["host"].strip("[]")) if agrees else None


def _is_port(value: str, named: str | None) -> bool:
    digits = value.isascii() and value.isdecimal()
    return digits and 0 < int(value[:6]) <= _PORT_MAX and named in (None, value)


def _address(value: str) -> str | None:
    try:
        return str(ip_address(value))
    except ValueError:
        return None
