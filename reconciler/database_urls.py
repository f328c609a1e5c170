"""The URL of a store: an SQLite file, or a PostgreSQL database; and its form without the password.

Nothing is opened here (store/connection.py), and no database library is loaded, because every command reads
its settings. Whether a password may stand where it stood is for settings/reader.py to say.
"""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, unquote

from msgspec import Struct

from reconciler.core.redact import mask_url
from reconciler.errors import SettingsError
from reconciler.model.secrets import Secret

SQLITE = "sqlite:///"
POSTGRESQL = "postgresql://"
MARKER_ENDING = ".id"
EXAMPLES = "sqlite:///.reconciler/store.db, or postgresql://user@host/database"

_port_max = 65_535

# What follows the path of a store in a file, for each file that belongs to it; the last is its marker.
STORE_FILE_ENDINGS = ("", "-wal", "-shm", "-journal", MARKER_ENDING)

# No option after the path, and no database in memory: it would forget what is ours with every run.
_FILE = re.compile(r"sqlite:///(?P<path>(?!:)[^?]+)", re.DOTALL)
# The password may hold anything but an @: what follows the last of them is never a part of it.
_SERVER = re.compile(
    r"postgresql://(?:(?P<user>[^:/?#]*)(?::(?P<password>[^@]*))?@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|)(?::(?P<port>[0-9]{1,5}))?"
    r"/(?P<database>[^/?#@]+)(?:\?(?P<options>[^#]*))?",
    re.ASCII,
)
_WORD = re.compile(r"[A-Za-z0-9+._-]{1,40}", re.ASCII)
_PASSWORD = re.compile(r"(?<=://)([^:/]*):.*@", re.DOTALL)
# What may stand after the question mark: where the socket is, how the other side proves itself, where a
# password may lie. Everything else is ours to decide, or could hold a secret.
OPTIONS = ("host", "sslmode", "sslrootcert", "sslcert", "sslkey", "passfile", "connect_timeout")
_PRIVATE_FILES = ("passfile", "sslkey")  # those of them that name a file which holds a secret
_SSLMODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")


class UnusableDatabaseUrl(Exception):
    """Why a URL leads to no database, as the end of a sentence about it, and `next`; nothing of it is shown.

    Whose URL it is, a store's or a directory's, is for the caller to say.
    """

    def __init__(self, what: str, next: str) -> None:  # noqa: A002 - the word that users read
        super().__init__(what)
        self.next = next

    def of_store(self) -> SettingsError:
        """Return the error that says it of a store."""
        return SettingsError(f"store: {self}", next=self.next)


class ServerUrl(Struct, frozen=True):
    """A PostgreSQL database. `host` is a name, an address, or the folder of a socket.

    What is empty is found where every program of PostgreSQL looks for it (store/postgres_tls.py).
    """

    user: str
    password: Secret
    host: str
    port: int  # 0: the usual one
    database: str
    options: Mapping[str, str]

    @property
    def name(self) -> str:
        """What errors call it: the way there, and nothing that belongs to a person."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        at = f"{host}:{self.port}" if self.port and not host.startswith("/") else host
        return f"{POSTGRESQL}{at}/{self.database}"


def sqlite_path(url: str) -> str | None:
    """Return the path in `sqlite:///relative` or `sqlite:////absolute`; None for every other URL."""
    found = _FILE.fullmatch(url)
    return found["path"] if found else None


def parse_server_url(url: str) -> ServerUrl:
    """Return what a `postgresql://` URL says. Raises UnusableDatabaseUrl."""
    found = _SERVER.fullmatch(url)
    if found is None or int(found["port"] or 1) not in range(1, _port_max + 1):
        raise _unusable_url(
            "is not user, host, port and database",
            "write it like postgresql://user@host:5432/database; other signs in a name or a password as %40",
        )
    options = _parse_url_options(found["options"] or "")
    host = options.pop("host", "")
    if host and (found["host"] or not host.startswith("/")):
        raise _unusable_url(
            "has an option host that is not the folder of a socket", "write the host before the /"
        )
    return ServerUrl(
        user=unquote(found["user"] or ""),
        password=Secret(unquote(found["password"] or "")),
        host=host or found["host"].strip("[]"),
        port=int(found["port"] or 0),
        database=unquote(found["database"]),
        options=options,
    )


def find_url_fault(url: str) -> UnusableDatabaseUrl | None:
    """Return why a URL names no store, without its password; None where it does."""
    if url.startswith(POSTGRESQL):
        try:
            parse_server_url(url)
        except UnusableDatabaseUrl as error:
            return error
        return None
    if sqlite_path(url) is not None:
        return None
    if url.startswith("sqlite:"):
        return UnusableDatabaseUrl(f"{hide_url_password(url)} does not name a file.", f"write {EXAMPLES}")
    # The rest of it may hold a password, so that only a plain word at its start is shown.
    scheme, mark, _ = url.partition("://")
    named = scheme if mark and _WORD.fullmatch(scheme) else "a URL like this" if url else "an empty URL"
    return UnusableDatabaseUrl(f"{named} is not supported.", f"write {EXAMPLES}")


def list_database_files(url: str) -> Iterator[str]:
    """Yield the private files that a URL names: those of a database, or those with a password or a key."""
    path = sqlite_path(url)
    if path is not None:
        yield from (path + end for end in STORE_FILE_ENDINGS)
    elif url.startswith(POSTGRESQL):
        try:
            options = parse_server_url(url).options
        except UnusableDatabaseUrl:  # of another environment: a run with it says so
            return
        yield from (options[name] for name in _PRIVATE_FILES if name in options)


def hide_url_password(url: str) -> str:
    """Return the URL as it may be shown: without its password, whatever else is wrong with it."""
    try:
        password = parse_server_url(url).password.reveal()
    except UnusableDatabaseUrl:
        return mask_url(url)
    return _PASSWORD.sub(r"\1:(secret)@", url) if password else url


def url_has_password(url: str) -> bool:
    """Whether the URL holds a password, or what looks like one."""
    try:
        return bool(parse_server_url(url).password.reveal())
    except UnusableDatabaseUrl:
        return _PASSWORD.search(url) is not None


def _parse_url_options(text: str) -> dict[str, str]:
    found = dict(parse_qsl(text, keep_blank_values=True))
    for name, value in found.items():
        _check_url_option(name, value)
    if found.get("sslmode", _SSLMODES[0]) not in _SSLMODES:
        raise _unusable_url("has an unknown sslmode", f"use one of {', '.join(_SSLMODES)}")
    if not re.fullmatch("[1-9][0-9]{0,3}", found.get("connect_timeout", "1"), re.ASCII):
        raise _unusable_url(
            "has a connect_timeout that is not a number from 1 to 9999", "write it in seconds"
        )
    return found


def _check_url_option(name: str, value: str) -> None:
    if name not in OPTIONS:
        # Only what is a plain word is shown: a password with a question mark ends up here too.
        known = name in ("password", "user", "options")
        what = f"has an option {name}" if known else "has an unknown option"
        raise _unusable_url(f"{what}, which is not one of ours", f"use one of {', '.join(OPTIONS)}")
    if not value:
        raise _unusable_url(f"has an empty {name}", f"give {name} a value, or leave it out")


def _unusable_url(what: str, hint: str) -> UnusableDatabaseUrl:
    return UnusableDatabaseUrl(f"the postgresql:// URL {what}.", hint)
