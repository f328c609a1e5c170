"""Which reader a directory has, and each directory read once.

A reader is loaded where a manifest takes from a directory of its kind: few need it, and one is an extra.
"""

from collections.abc import Callable, Mapping
from importlib import import_module

from reconciler.core.suggest import did_you_mean
from reconciler.directories.answers import AnswerRows, DirectoryFailed
from reconciler.instrumentation import start_stopwatch, step_log
from reconciler.model.documents import ROWS_MAX
from reconciler.model.settings import Directories, Directory, LdapDirectory, ScimDirectory, SqlDirectory
from reconciler.parsing.display import show_value

_READERS: Mapping[type[Directory], str] = {
    SqlDirectory: "sql.reading.read_sql",
    LdapDirectory: "ldap.reading.read_ldap",
    ScimDirectory: "scim.reading.read_scim",
}
_NAMES: Mapping[type[Directory], str] = {SqlDirectory: "sql", LdapDirectory: "ldap", ScimDirectory: "scim"}
# What to do about a cell of which no one text is meant.
_CELL_MENDS: Mapping[type[Directory], str] = {
    SqlDirectory: "let the statement make a text of it, as CAST(... AS text) does, or take another column",
    LdapDirectory: "take an attribute that has one value, and text in it",
    ScimDirectory: "name one value of it by its type, as emails.work.value does, or take another column",
}


def read_directory(name: str, directory: Directory, *, rows_max: int = ROWS_MAX) -> AnswerRows:
    """Return what a directory answers, whole. Raises DirectoryFailed, MissingExtra, SettingsError."""
    module, _, function = _READERS[type(directory)].rpartition(".")
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
        return _CELL_MENDS[type(self.known[name].directory)]

    def place_of(self, name: str, row: str) -> str:
        """Return what a row is called where places name a file; `row` is its name, "" where rows count."""
        kind = _NAMES[type(self.known[name].directory)]
        if not row:
            return f"{kind}:{name}"
        return f"{kind}:{row}" if kind == "ldap" else f"{kind}:{name}/{row}"
