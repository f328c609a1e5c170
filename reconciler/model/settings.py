"""Settings as typed values, after files, environment and flags were merged (docs/settings.md)."""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from reconciler.errors import Problem
from reconciler.model.documents import InputFile, Place
from reconciler.model.kinds import KINDS
from reconciler.model.profile import Profile

# --- Secrets, and variables that files hold -------------------------------------------------------


class Secret:
    """A value that must never be shown. `reveal()` is the only way to it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself, for the one place that sends it."""
        return self._value

    def __repr__(self) -> str:
        return "(secret)"

    __str__ = __repr__


class VariableFiles:
    """Variables that manifests may read and the environment does not have. Of this one there are none.

    `paths` are the files as they are written, `problems` are the mistakes of those that were opened, `inputs`
    those that a commit may hold.
    """

    paths: Sequence[str] = ()
    problems: Sequence[Problem] = ()
    inputs: Sequence[InputFile] = ()

    def begin(self) -> None:
        """Let what is asked from now on be as the files are now."""

    def find(self, _name: str) -> str | None:
        """Return the value of a variable, None where no file has it. The first call opens the files."""
        return None


NO_FILES = VariableFiles()


# --- Directories that rosters may come from -------------------------------------------------------


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


# --- All settings ---------------------------------------------------------------------------------


SendKey = Literal["header", "query", "both"]


class Auth(Struct, frozen=True):
    """The credentials, and how the key travels: in a header, in the query, or in both at once."""

    username: Secret
    password: Secret
    api_key: Secret
    send_key: SendKey = "header"


class Limits(Struct, frozen=True):
    """How hard we may press. Seconds, and calls."""

    requests_per_second: float = 10.0  # 0: none until the service throttles
    concurrency: int = 8
    timeout_s: float = 30.0  # one call, all of it
    deadline_s: float = 3600.0  # the whole run
    settle_s: float = 10.0  # how long a write in doubt may still land before we look (rule A9)


class Proxy(Struct, frozen=True):
    """A proxy on the way to the service. `address` is scheme://host:port and may be shown, `login` never."""

    address: str
    source: str  # the setting or variable that names it
    login: Secret | None = None  # user:password, as the Basic scheme writes them

    def __str__(self) -> str:
        """How messages name it."""
        return f"{self.address} ({self.source})"


class Trust(Struct, frozen=True):
    """Which certificates prove the service. Both empty: those of this system; else these and no others."""

    certificates: str = ""  # in PEM
    folders: tuple[str, ...] = ()  # of certificates under their hashes, as OpenSSL reads them


class Network(Struct, frozen=True):
    """The way to the service, after settings and variables were read: no one below reads a variable."""

    proxy: Proxy | None = None
    trust: Trust = Trust()


class Service(Struct, frozen=True):
    """Which service, and how to speak to it."""

    base_url: str
    auth: Auth
    profile: Profile | str = "service"  # settings hold the profile; a program may name one, or a file
    format: Literal["json", "xml"] = "json"  # of bodies on the wire
    schedule_zone: str = (
        ""  # in which the service reads dates of scheduled messages: the API user's; "": not told
    )
    limits: Limits = Limits()
    network: Network = Network()


class WorkspaceRef(Struct, frozen=True):
    """A workspace of the settings. Both empty only for the alias `default`."""

    id: str = ""
    name: str = ""


class Identity(Struct, frozen=True):
    """The fields by which a live entity is recognized, by the plural of its kind; else those of its row.

    `region` is the country in which phone numbers of an entity are read that names none (core/rules.py).
    """

    fields: Mapping[str, tuple[str, ...]] = {}
    region: str = ""

    def of(self, kind: str) -> tuple[tuple[str, ...], ...]:
        """The keys to try, in order; each is a tuple of paths that must all be equal."""
        row = KINDS[kind]
        named = self.fields.get(row.plural, row.identity)
        paths = tuple(row.identity_path(path, self.region) for path in named)
        return (paths,) if row.together else tuple((path,) for path in paths)


class GuardLimits(Struct, frozen=True):
    """Where the guard refuses (docs/planning.md, G1, G2 and G7); `recipients_max` is about messages."""

    deletes_max: int = 25
    deletes_max_percent: int = 20
    adopted_deletes_max: int = 3
    creates_max: int = 10
    creates_max_percent: int = 20
    updates_max: int = 25
    updates_max_percent: int = 50
    fewer_rows_max_percent: int = 20
    recipients_max: int = 25


class LockSettings(Struct, frozen=True):
    """How runs keep out of each other's way (docs/settings.md, lock)."""

    in_service: Literal["auto", "always", "never"] = "auto"
    timeout_s: float = 0.0  # how long to wait while another run holds a lock


class Refresh(Struct, frozen=True):
    """When lists are read completely (docs/settings.md). `auto`: once every `complete_every_h` hours."""

    mode: Literal["auto", "full"] = "auto"
    complete_every_h: float = 24.0


CheckLevel = Literal["error", "warning", "off"]


class Checks(Struct, frozen=True):
    """How strictly declared values are judged. What is only unlikely is a warning at most.

    `region` is the two-letter code of the country in which national phone numbers are read where an entity
    names no country; "" for none.
    """

    phones: CheckLevel = "error"
    emails: CheckLevel = "error"
    zones: CheckLevel = "error"
    content: CheckLevel = "error"
    countries: CheckLevel = "warning"
    spreadsheets: CheckLevel = "warning"
    region: str = ""


class Settings(Struct, frozen=True):
    """All settings, with absolute paths."""

    root: str  # the folder of reconciler.yaml
    manifests: tuple[str, ...]
    service: Service
    workspaces: Mapping[str, WorkspaceRef]
    store: str
    stack: str = "default"
    environment: str = ""
    identity: Identity = Identity()
    mark: str = ""  # the custom field that carries our mark, without `custom_`; empty: none
    adopt: Literal["always", "never"] = "always"
    guard: GuardLimits = GuardLimits()
    lock: LockSettings = LockSettings()
    refresh: Refresh = Refresh()
    variables: tuple[str, ...] = ()  # globs of environment names that manifests may read
    variable_files: VariableFiles = NO_FILES  # `secrets.files`: what the environment does not have of them
    contact_fields: tuple[str, ...] = ()  # fields of this deployment that the schema does not know
    device_limit: int = 3  # devices of one app that a contact may have
    checks: Checks = Checks()
    plan_expires_h: float = 24.0
    directories: Directories = {}  # that rosters may come from
    private_files: tuple[str, ...] = ()  # of secrets, of the store, of the settings: no manifest may name one
    plan_recipients: tuple[str, ...] = ()  # public keys that plan files are encrypted to; none: they are not
    file: str = ""  # reconciler.yaml itself, resolved
    generated: tuple[
        str, ...
    ] = ()  # patterns of files that an earlier step makes, so that no commit has them
    inputs: tuple[InputFile, ...] = ()  # what was read for them, where a commit may hold it
    caches: bool = False  # whether what manifests declare is kept from run to run, below `root`
