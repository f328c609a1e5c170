"""Directories that rosters may come from: the settings of each form, described, and their values."""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Struct

from reconciler.model.documents import Place
from reconciler.model.secrets import Secret
from reconciler.model.setting_description import (
    ABOVE_ZERO,
    PAGE_SIZE,
    SECRET,
    TEXT,
    TEXT_OR_SECRET,
    DescribedSetting,
    Setting,
    list_form,
    list_settings,
    text_form,
)

_DIRECTORY_TIMEOUT = Setting("Timeout", "Seconds for the whole read.", ABOVE_ZERO)
_DIRECTORY_CERTIFICATES = Setting(
    "Certificates",
    "env: trust the certificates of SSL_CERT_FILE and SSL_CERT_DIR, else those of this system; or a PEM "
    "file, relative to this file: trust its certificates and no others.",
    TEXT,
    examples=("env", "/etc/ssl/ours.pem"),
    written="env",
    more="See [proxy and certificates](#the-way-to-the-service).",
)


def _attributes(about: str, *examples: str) -> Setting:
    name = list_form(
        text_form(length=(1, 256)),
        "Attribute",
        "Its name, as the directory writes it.",
        examples[0],
        uniqueItems=True,
    )
    return Setting("Attributes", about, name, examples=([*examples],))


class SqlDirectory(Struct, frozen=True):
    """A query of a database: `url` as SQLAlchemy writes it, with its password where it has one."""

    url: Annotated[
        Secret,
        Setting(
            "URL of a database",
            "A URL of SQLAlchemy: postgresql://user@host/database, or sqlite:///PATH relative to this "
            "file. Give a URL with a password as {env: NAME}, {file: PATH} or {command: WORDS}.",
            TEXT_OR_SECRET,
            examples=("postgresql://reader@db.example.com/hr", "sqlite:///hr.db", {"env": "HR_URL"}),
            more="Databases other than PostgreSQL and SQLite need the extra `sql` and their driver.",
        ),
    ]
    statement: Annotated[
        str,
        Setting(
            "Statement",
            "One SELECT. Its columns are those of the roster.",
            text_form(length=(1, 100000)),
            examples=("SELECT id, name, mail FROM staff WHERE active",),
        ),
    ]
    tls: Annotated[
        Literal["verify", "driver"],
        Setting(
            "Encryption",
            "verify: connect to another machine only with encryption and a verified certificate; driver: "
            "leave both to the driver and the options of the URL, unchecked. For databases other than "
            "PostgreSQL and SQLite.",
            examples=("driver",),
        ),
    ] = "verify"
    timeout_s: Annotated[float, _DIRECTORY_TIMEOUT] = 60.0


class LdapDirectory(Struct, frozen=True):
    """A search of an LDAP directory. The DN of an entry is always the column `dn`."""

    url: Annotated[
        str,
        Setting(
            "URL of an LDAP server",
            "ldaps://host; ldap://host with start_tls, or on this machine.",
            TEXT,
            examples=("ldaps://ldap.example.com",),
        ),
    ]
    base: Annotated[
        str,
        Setting(
            "Base",
            "The DN below which entries are searched.",
            TEXT,
            examples=("ou=people,dc=example,dc=com",),
        ),
    ]
    filter: Annotated[
        str,
        Setting(
            "Filter",
            "Which entries to read, in the syntax of RFC 4515.",
            TEXT,
            examples=("(&(objectClass=person)(department=Operations))",),
        ),
    ] = "(objectClass=person)"
    attributes: Annotated[
        tuple[str, ...],
        _attributes("The columns of the roster, in this order.", "uid", "givenName", "mail"),
    ] = ()
    scope: Annotated[
        Literal["one", "subtree"],
        Setting(
            "Scope", "subtree: everything below the base; one: only its direct children.", examples=("one",)
        ),
    ] = "subtree"
    start_tls: Annotated[
        bool,
        Setting(
            "StartTLS",
            "Whether an ldap:// connection is encrypted before anything else is sent.",
            examples=("true",),
        ),
    ] = False
    dn: Annotated[
        Secret | None,
        Setting(
            "Bind DN",
            "The DN to bind as. Without it the bind is anonymous.",
            SECRET,
            examples=({"env": "LDAP_DN"},),
        ),
    ] = None
    password: Annotated[
        Secret | None,
        Setting("Password", "The password of the bind DN.", SECRET, examples=({"env": "LDAP_PASSWORD"},)),
    ] = None
    page: Annotated[int, Setting("Page", "How many entries a page has at most.", PAGE_SIZE)] = 500  # RFC 2696
    ca: Annotated[str, _DIRECTORY_CERTIFICATES] = ""  # an absolute path; "": the certificates of this system
    timeout_s: Annotated[float, _DIRECTORY_TIMEOUT] = 60.0


class ScimDirectory(Struct, frozen=True):
    """The users of a SCIM 2.0 service. `token` is sent to the origin of `url` only."""

    url: Annotated[
        str,
        Setting(
            "Base address",
            "The URL above /Users: https, or http on this machine.",
            TEXT,
            examples=("https://idp.example.com/scim/v2",),
        ),
    ]
    filter: Annotated[
        str,
        Setting(
            "Filter",
            "Which users to read, in the syntax of RFC 7644.",
            text_form(),
            examples=("active eq true",),
            written="",
        ),
    ] = ""
    attributes: Annotated[
        tuple[str, ...],
        _attributes(
            "The attributes to request; without any, the service returns all.", "userName", "name", "emails"
        ),
    ] = ()
    token: Annotated[
        Secret | None,
        Setting(
            "Token",
            "A Bearer token, sent to the origin of url only.",
            SECRET,
            examples=({"env": "SCIM_TOKEN"},),
        ),
    ] = None
    paging: Annotated[
        Literal["auto", "index", "cursor"],
        Setting(
            "Paging",
            "How pages are requested: by index (RFC 7644), by cursor (RFC 9865), or as the service offers "
            "(auto).",
            examples=("cursor",),
        ),
    ] = "auto"
    page: Annotated[int, Setting("Page", "How many entries a page has at most.", PAGE_SIZE)] = 100
    ca: Annotated[str, _DIRECTORY_CERTIFICATES] = ""  # as of LDAP
    timeout_s: Annotated[float, _DIRECTORY_TIMEOUT] = 60.0


Directory = SqlDirectory | LdapDirectory | ScimDirectory
DIRECTORY_STRUCTS: Mapping[str, type[Directory]] = {
    "sql": SqlDirectory,
    "ldap": LdapDirectory,
    "scim": ScimDirectory,
}


class DirectorySetting(Struct, frozen=True):
    """A directory, and the place of the settings that describes it."""

    directory: Directory
    place: Place


Directories = Mapping[str, DirectorySetting]


# The settings of a directory, by its form: `sql`, `ldap`, `scim`.
DIRECTORY_SETTINGS: Mapping[str, tuple[DescribedSetting, ...]] = {
    form: tuple(list_settings(struct)) for form, struct in DIRECTORY_STRUCTS.items()
}
