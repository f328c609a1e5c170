"""Directories that rosters may come from, as the settings say them (docs/settings.md).

Values only: what reads a directory is in directories/, what its rows mean in manifest/rosters/.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from reconciler.model.documents import Place
from reconciler.model.secret import Secret


class SqlDirectory(Struct, frozen=True):
    """A query of a database: `url` as SQLAlchemy writes it, with its password where it has one.

    `tls`: "verify" requires that another machine proves itself; "driver" leaves that to the driver.
    """

    url: Secret
    statement: str
    timeout_s: float = 60.0
    tls: Literal["verify", "driver"] = "verify"


class LdapDirectory(Struct, frozen=True):
    """A search of an LDAP directory. `url` is ldaps://host[:port], or ldap:// (loopback, or `start_tls`).

    `attributes` are the columns, in this order; the DN of an entry is always the column `dn`. Without `dn`
    the bind is anonymous. `page` counts the entries of a page (RFC 2696). `ca` is a file of certificates in
    PEM; "": those of this system.
    """

    url: str
    base: str
    filter: str = "(objectClass=person)"
    attributes: tuple[str, ...] = ()
    scope: Literal["one", "subtree"] = "subtree"
    start_tls: bool = False
    dn: Secret | None = None
    password: Secret | None = None
    page: int = 500
    ca: str = ""
    timeout_s: float = 60.0


class ScimDirectory(Struct, frozen=True):
    """The users of a SCIM 2.0 service: `url` is its base, `/Users` is below it.

    `filter` is as SCIM writes it; `attributes` are those that are asked for, () all. `token` is sent as
    Bearer, to this origin only. `paging`: RFC 7644, 3.4.2.4, or RFC 9865. `ca` as of LDAP.
    """

    url: str
    filter: str = ""
    attributes: tuple[str, ...] = ()
    token: Secret | None = None
    paging: Literal["auto", "index", "cursor"] = "auto"
    page: int = 100
    ca: str = ""
    timeout_s: float = 60.0


Directory = SqlDirectory | LdapDirectory | ScimDirectory


class DirectorySetting(Struct, frozen=True):
    """A directory, and the place of the settings that describes it."""

    directory: Directory
    place: Place


Directories = Mapping[str, DirectorySetting]
