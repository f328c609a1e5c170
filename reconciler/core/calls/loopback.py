"""Whether an address leads to this machine: to it alone, credentials may travel without encryption."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether a host of an address is this machine, without asking any name service."""
    if host.lower() == "localhost":
        return True
    try:
        # No name service is asked: its answer may be another one when the connection is made.
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
