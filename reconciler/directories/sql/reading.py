"""What one statement answers, whole: by the database that the URL names."""

from typing import Any

from reconciler import database_urls
from reconciler.directories.answers import AnswerRows, DirectoryFailed
from reconciler.directories.sql import sqlite
from reconciler.directories.sql.cells import answer_of
from reconciler.directories.sql.statements import READ_ONLY, dialect_of, why_no_query, why_no_url
from reconciler.extras import require_extra
from reconciler.model.settings import SqlDirectory


def read_sql(_name: str, directory: SqlDirectory, *, rows_max: int) -> AnswerRows:
    """Return what the statement of a directory answers.

    Raises DirectoryFailed, SettingsError, MissingExtra.
    """
    url, statement = directory.url.reveal(), directory.statement
    if why := why_no_query(statement):
        raise DirectoryFailed(why, READ_ONLY)
    with _asked(url, statement, directory) as (titles, batches):
        return answer_of(titles, batches, rows_max=rows_max)


def _asked(url: str, statement: str, directory: SqlDirectory) -> Any:
    """Return the context in which the database is asked. Each driver is loaded where it is needed."""
    if why := why_no_url(url):
        raise DirectoryFailed(why, "write it like postgresql://reader@db.example.com/hr, or sqlite:///PATH")
    dialect, timeout_s = dialect_of(url), directory.timeout_s
    if dialect == "sqlite":
        path = database_urls.sqlite_path(url)
        if path is None:
            raise DirectoryFailed("its url names no file.", "write sqlite:///PATH, without options")
        return sqlite.asked(path, statement, timeout_s)
    if dialect == "postgresql":
        require_extra("postgres")
        from reconciler.directories.sql import postgresql  # noqa: PLC0415 - loads the driver, which few need

        return postgresql.asked(url, statement, timeout_s)
    require_extra("sql")
    from reconciler.directories.sql import dialects  # noqa: PLC0415 - loads SQLAlchemy

    return dialects.asked(url, statement, timeout_s, leave_tls=directory.tls == "driver")
