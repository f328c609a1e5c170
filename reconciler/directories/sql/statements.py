"""Whether a text may be the one statement of a directory, and whether its URL may stand in a file of git.

Pure: the settings are checked with it before any directory is asked. The database has the last word: it reads
in a transaction that cannot write (sqlite.py, postgresql.py, dialects.py).
"""

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, unquote

from reconciler.core.redact import AT, COLON

READ_ONLY = "give it one SELECT, which reads and changes nothing"
QUERIES = ("SELECT", "WITH", "VALUES", "TABLE")
_ASIDE = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.DOTALL)
_WORD = re.compile(r"[A-Za-z]+")
_SHOWN_MAX = 20  # characters of a word
_SCHEME = re.compile(r"[a-z][a-z0-9_]*(?:\+[a-z0-9_]+)?://", re.ASCII)
_LOGIN = re.compile(r"(?<=://)[^:/]*:(?P<password>.+)@", re.DOTALL)
# The same where what ends a login is encoded: no @ is left, and all of it looks like a host.
_ENCODED_LOGIN = re.compile(rf"(?<=://)[^/?#]*?{COLON}(?P<password>[^/?#]+?){AT}", re.IGNORECASE)
_SECRET_OPTIONS = re.compile(r"pass|pwd|secret|token|key\Z", re.IGNORECASE)


def why_no_query(statement: str) -> str:
    """Return why a statement is none that reads, as far as its first word says; "" where it may be one."""
    at = _ASIDE.match(statement)
    word = _WORD.match(statement, at.end() if at else 0)
    if word is None:
        return "the statement is empty." if not statement.strip() else "the statement begins with no word."
    first = word[0].upper()
    return "" if first in QUERIES else f"the statement begins with {first[:_SHOWN_MAX]}, and is no query."


def why_no_url(url: str) -> str:
    """Return why a URL is none of a database that can be asked safely; "" where it may be."""
    dialect = dialect_of(url)
    kind, _, driver = dialect.partition("+")
    if not dialect:
        return "its url is none of a database."
    # By another driver the file would be opened to write, or the server would not have to prove itself.
    own = kind == "sqlite" or kind.startswith("postgres")
    return f"its url names the driver {driver}, and {kind} needs none." if own and driver else ""


def dialect_of(url: str) -> str:
    """Return the scheme of a URL, `postgresql` or `mysql+pymysql`; "" where it is no URL of a database."""
    found = _SCHEME.match(url)
    return found[0].removesuffix("://") if found else ""


def holds_password(url: str) -> bool:
    """Whether a URL holds a password, or what looks like one, also among its options."""
    return any(True for _ in passwords_of(url))


def passwords_of(url: str) -> Iterator[str]:
    """Yield what is or looks like a password in a URL, as it stands there and as it is meant."""
    if found := _LOGIN.search(url) or _ENCODED_LOGIN.search(url):
        yield from dict.fromkeys((found["password"], unquote(found["password"])))
    _, _, query = url.partition("?")
    for name, value in parse_qsl(query):
        if _SECRET_OPTIONS.search(name) and name not in _OF_FILES:
            yield value


_OF_FILES = ("passfile", "sslkey", "ssl_key")  # options that name a file with a secret
