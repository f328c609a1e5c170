"""What the readers of SQL, LDAP and SCIM share: the form of an answer, trust, retries, one read a command.

What the cells mean: manifest/rosters/.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.core.suggest import did_you_mean
from reconciler.instrumentation import start_stopwatch, step_log
from reconciler.model.directories import Directories, Directory, LdapDirectory, ScimDirectory, SqlDirectory
from reconciler.model.documents import ROWS_MAX
from reconciler.model.settings import Trust
from reconciler.parsing.display import show_value

if TYPE_CHECKING:
    import ssl


class DirectoryFailed(Exception):
    """Why nothing can be taken from a directory. `hint` says what to do next.

    Never holds a secret or a value of a person.
    """

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class AnswerRows:
    """What a directory answered, complete: its columns, and its rows in the order of the answer.

    `header` is unique, and each row has as many cells. `names` are those of the rows, for their places
    (`uid=jane,ou=people,dc=example,dc=com`, `Users/2819c223`); (): their numbers, from 1. `unusable` says, by
    row and column from 0, what a cell holds that is no text: "several values", "bytes", "a list".
    """

    header: tuple[str, ...]
    rows: tuple[list[str], ...]
    names: tuple[str, ...] = ()
    unusable: Mapping[int, Mapping[int, str]] = field(default_factory=dict)


# --- Addresses, and the certificates that prove them ----------------------------------------------

CA_BYTES_MAX = 16 * 1024 * 1024  # of a file of certificates; those of a whole system take some 250 KiB


def load_directory_trust(ca: str) -> "ssl.SSLContext":
    """Return a context that believes the certificates of a file and no others; "": those of this system.

    Host names are always checked. Raises DirectoryFailed.
    """
    from reconciler import tls  # noqa: PLC0415 - ssl takes long to load, and most runs ask no directory

    hint = "put the CA certificates of the directory into the file that `ca` names, as PEM"
    try:
        if not ca:
            return tls.make_tls_context(Trust())
        with Path(ca).open("rb") as file:
            data = file.read(CA_BYTES_MAX + 1)
        if len(data) > CA_BYTES_MAX:
            raise DirectoryFailed(f"its `ca` has over {CA_BYTES_MAX // 1024 // 1024} MiB.", hint)
        return tls.make_tls_context(Trust(tls.parse_certificates(data)[0]))
    except (OSError, ValueError) as error:  # NoCertificates is a ValueError, and so is a path with NUL
        why = str(error) if isinstance(error, tls.NoCertificates) else "cannot be read"
        raise DirectoryFailed(f"its `ca` {why}.", hint) from error


def require_plain_url(url: str) -> str:
    """Return the URL. Raises ValueError where two readers of addresses may take it for two."""
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise ValueError
    return url


# --- A directory that changes while it is read: read once more, and no third time -----------------

READ_TRIES = 2  # a directory that changes all the time would be read for ever


class ChangedError(Exception):
    """A directory changed while it was read; the text is how that shows, a sentence about `it`."""


def read_until_unchanged(read: Callable[[], AnswerRows]) -> AnswerRows:
    """Return what `read` returns, the second time where the directory changed the first time."""
    for _ in range(READ_TRIES):
        try:
            return read()
        except ChangedError as error:
            how = str(error)
            step_log.info("a directory changed while it was read: %s", how)
    hint = "run it again; if this persists, the directory violates its protocol"
    raise DirectoryFailed(f"{how} It was read {READ_TRIES} times.", hint)


# --- Each directory, read once --------------------------------------------------------------------
#
# A reader is loaded where a manifest takes from a directory of its kind: few need it, and one is an extra.

_READER_NAMES: Mapping[type[Directory], str] = {
    SqlDirectory: "sql_query.read_sql",
    LdapDirectory: "ldap_search.read_ldap",
    ScimDirectory: "scim_users.read_scim",
}
_PLACE_PREFIXES: Mapping[type[Directory], str] = {
    SqlDirectory: "sql",
    LdapDirectory: "ldap",
    ScimDirectory: "scim",
}
# What to do about a cell of which no one text is meant.
_CELL_HINTS: Mapping[type[Directory], str] = {
    SqlDirectory: "convert it in the statement, as CAST(... AS text) does, or use another column",
    LdapDirectory: "use an attribute with one text value",
    ScimDirectory: "name one of its values by type, as emails.work.value does, or use another column",
}


def read_directory(name: str, directory: Directory, *, rows_max: int = ROWS_MAX) -> AnswerRows:
    """Return what a directory answers, whole. Raises DirectoryFailed, MissingExtra, SettingsError."""
    module, _, function = _READER_NAMES[type(directory)].rpartition(".")
    read: Callable[..., AnswerRows] = getattr(import_module(f"reconciler.directories.{module}"), function)
    took = start_stopwatch()
    answer = read(name, directory, rows_max=rows_max)
    step_log.info("directory %s answered; rows: %d, %.1f s", name, len(answer.rows), took())
    return answer


class ReadOnce:
    """The directories of the settings, each asked at most once, when it is first wanted.

    Without `asks` none is: for a check where their secrets must not be.
    """

    def __init__(self, directories: Directories, *, asks: bool = True) -> None:
        self.known = directories
        self.asks = asks
        self._answers: dict[str, AnswerRows | DirectoryFailed] = {}

    def answer(self, name: str) -> AnswerRows:
        """Return what a known directory answers. Raises DirectoryFailed, the same each time."""
        if name not in self._answers:
            try:
                self._answers[name] = read_directory(name, self.known[name].directory)
            except DirectoryFailed as failed:
                self._answers[name] = failed
        found = self._answers[name]
        if isinstance(found, DirectoryFailed):
            raise found
        return found

    def unknown(self, name: str) -> tuple[str, str]:
        """Return what is wrong with a name that no directory has, and what to do."""
        known = f"the settings know: {', '.join(sorted(self.known)) or 'none'}"
        what = f"the directory {show_value(name)} is not in the settings."
        return what, did_you_mean("directory", name, self.known, known)

    def cell_mend(self, name: str) -> str:
        """Return what to do about a cell of this directory of which no one text is meant."""
        return _CELL_HINTS[type(self.known[name].directory)]

    def place_of(self, name: str, row: str) -> str:
        """Return what a row is called where places name a file; `row` is its name, "" where rows count."""
        kind = _PLACE_PREFIXES[type(self.known[name].directory)]
        if not row:
            return f"{kind}:{name}"
        return f"{kind}:{row}" if kind == "ldap" else f"{kind}:{name}/{row}"
