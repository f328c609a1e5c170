"""Which address a directory has, and which certificates prove it. Not here: who may write their file."""

import ssl
from pathlib import Path

from reconciler import tls
from reconciler.directories.answers import DirectoryFailed
from reconciler.model.settings import Trust

BYTES_MAX = 16 * 1024 * 1024  # of a file of certificates; those of a whole system take some 250 KiB


def trusted(ca: str) -> ssl.SSLContext:
    """Return a context that believes the certificates of a file and no others; "": those of this system.

    Host names are always checked. Raises DirectoryFailed.
    """
    hint = "put the certificates that prove the directory into the file that `ca` names, in the form PEM"
    try:
        if not ca:
            return tls.make_tls_context(Trust())
        with Path(ca).open("rb") as file:
            data = file.read(BYTES_MAX + 1)
        if len(data) > BYTES_MAX:
            raise DirectoryFailed(f"its `ca` has over {BYTES_MAX // 1024 // 1024} MiB.", hint)
        return tls.make_tls_context(Trust(tls.parse_certificates(data)[0]))
    except (OSError, ValueError) as error:  # NoCertificates is a ValueError, and so is a path with NUL
        why = str(error) if isinstance(error, tls.NoCertificates) else "cannot be read"
        raise DirectoryFailed(f"its `ca` {why}.", hint) from error


def plain_url(url: str) -> str:
    """Return the URL. Raises ValueError where two readers of addresses may take it for two."""
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise ValueError
    return url
