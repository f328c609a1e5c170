"""Requests of LDAP as bytes, written by `ldap3`: above all the filter, which people write (RFC 4515).

Its own connection is not used: an answer has no limit there, neither in time nor in size; of two attributes
of one name it keeps the last; and the keys of TLS sessions go to the file that SSLKEYLOGFILE names.
"""

import re
from typing import Any

from ldap3 import DEREF_NEVER, LEVEL, NO_ATTRIBUTES, SIMPLE, SUBTREE
from ldap3.core.exceptions import LDAPException
from ldap3.operation.bind import bind_operation
from ldap3.operation.extended import extended_operation
from ldap3.operation.search import parse_filter, search_operation
from ldap3.operation.unbind import unbind_operation
from ldap3.protocol.convert import build_controls_list
from ldap3.protocol.rfc2696 import paged_search_control
from ldap3.protocol.rfc4511 import LDAPMessage, MessageID, ProtocolOp
from ldap3.utils.asn1 import encode
from pyasn1.error import PyAsn1Error

from reconciler.directories.answers import DirectoryFailed
from reconciler.model.directories import LdapDirectory

_START_TLS = "1.3.6.1.4.1.1466.20037"
_SCOPES = {"one": LEVEL, "subtree": SUBTREE}
_VERSION = 3
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9-]*|[0-9]+(\.[0-9]+)*)(;[A-Za-z0-9-]+)*", re.ASCII)
_UNESCAPED = re.compile(r"\\(?![0-9A-Fa-f]{2})|\0")  # ldap3 would send these as they are
_UNFIT = (LDAPException, PyAsn1Error, ValueError, LookupError, AttributeError, RecursionError)  # as met


class LdapRequests:
    """The requests for one directory, each given the number of its message.

    Raises DirectoryFailed for a filter or a base that cannot be sent.
    """

    def __init__(self, directory: LdapDirectory) -> None:
        self._page = directory.page
        try:
            _check_filter(directory.filter)
            self._search = search_operation(
                search_base=directory.base,
                search_filter=directory.filter,
                search_scope=_SCOPES[directory.scope],
                dereference_aliases=DEREF_NEVER,  # an alias leads to what is found by itself, or must not be
                attributes=directory.attributes or [NO_ATTRIBUTES],
                size_limit=0,  # what is too much is refused, and not cut off
                time_limit=0,
                types_only=False,
                auto_escape=False,
                auto_encode=False,
            )
            self.page(1, b"")
        except _UNFIT as error:
            hint = (
                "write it as in (&(objectClass=person)(mail=*)); \\28, \\29, \\2a and \\5c stand for ( ) * \\"
            )
            raise DirectoryFailed("`filter` or `base` is not as LDAP writes them.", hint) from error

    def page(self, number: int, cookie: bytes) -> bytes:
        """The search for the page of a cookie, b"" for the first (RFC 2696).

        Critical: a server that knows no pages has to say so, and does not answer as it likes.
        """
        control = paged_search_control(criticality=True, size=self._page, cookie=cookie)
        return _encode_message(number, "searchRequest", self._search, build_controls_list([control]))

    def start_tls(self, number: int) -> bytes:
        """To speak TLS from now on (RFC 4511, 4.14)."""
        return _encode_message(number, "extendedReq", extended_operation(_START_TLS))

    def bind(self, number: int, dn: str, password: str) -> bytes:
        """To be taken for `dn`. Raises DirectoryFailed for what cannot be sent."""
        try:
            return _encode_message(number, "bindRequest", bind_operation(_VERSION, SIMPLE, dn, password))
        except _UNFIT:  # whose words may hold the password
            what = "`dn` or `password` holds characters that cannot be sent (RFC 4013)."
            raise DirectoryFailed(what, "check the two secrets") from None

    def unbind(self, number: int) -> bytes:
        """The goodbye."""
        return _encode_message(number, "unbindRequest", unbind_operation())


def _check_filter(text: str) -> None:
    """Raise ValueError for a filter that ldap3 reads, and RFC 4515 does not know."""
    if _UNESCAPED.search(text):
        raise ValueError
    waiting = list(parse_filter(text, None, False, False, None, False).elements)
    while waiting:
        node = waiting.pop()
        waiting.extend(node.elements)
        name = node.assertion.get("attr") if node.assertion else None
        if isinstance(name, str) and not _NAME.fullmatch(name):
            raise ValueError


def _encode_message(number: int, kind: str, operation: Any, controls: Any = None) -> bytes:
    message = LDAPMessage()
    message["messageID"] = MessageID(number)
    message["protocolOp"] = ProtocolOp().setComponentByName(kind, operation)
    if controls is not None:
        message["controls"] = controls
    return bytes(encode(message))
