"""Which certificates are trusted: settings to a TLS context. No variable is read here.

`ssl.create_default_context` is not used: it writes the keys of every session to the file that SSLKEYLOGFILE
names, and whoever has that file reads the credentials from recorded traffic.
"""

import re
import ssl

import httpx2

from reconciler.model.settings import Trust

_CERTIFICATE = re.compile(
    rb"-----BEGIN (X509 )?CERTIFICATE-----\s.*?-----END (?:X509 )?CERTIFICATE-----", re.ASCII | re.DOTALL
)


class NoCertificates(ValueError):
    """A file holds no certificates that can be used; the text is the rest of a sentence about it."""


def make_tls_context(trust: Trust) -> ssl.SSLContext:
    """Return a context that believes these certificates and no others; this system's where none are given.

    Raises OSError, of which ssl.SSLError is one.
    """
    if not trust.certificates and not trust.folders:
        # SSL_CERT_FILE and SSL_CERT_DIR do not count: the settings say which certificates to trust.
        return httpx2.create_ssl_context(trust_env=False)
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Each is believed by itself: an authority in the middle of a chain needs no root beside it.
    made.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    if trust.certificates:
        made.load_verify_locations(cadata=trust.certificates)
    for folder in trust.folders:
        made.load_verify_locations(capath=folder)
    return made


def parse_certificates(data: bytes) -> tuple[str, int]:
    """Return the certificates of a PEM file, and how many there are; what stands between them is left out.

    Raises NoCertificates where there is none, or one of them cannot be read.
    """
    if not data.strip():
        raise NoCertificates("is empty")
    # Bundles name their certificates between them, often in letters that ASCII has not.
    found = [match[0] for match in _CERTIFICATE.finditer(data)]
    if not found:
        raise NoCertificates("holds no certificate in the form PEM")
    try:
        text = b"\n".join(found).decode("ascii")
        # Loaded as it will be later: what cannot be used is found with the settings, and not in a run.
        make_tls_context(Trust(text))
    except (ssl.SSLError, UnicodeDecodeError):
        raise NoCertificates("holds a certificate that cannot be read") from None
    return text, len(found)


def make_empty_tls_context() -> ssl.SSLContext:
    """Return a context for connections without TLS: it trusts and loads no certificate."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
