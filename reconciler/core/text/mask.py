"""URLs as they may be shown, in errors, settings, logs and doctor: without logins and keys.

Belongs here: the one rule for it. Whatever is wrong with a URL, what could be a password in it is not shown:
a URL that cannot be read is shown most often. So no URL is parsed here. Too much is hidden rather than too
little.
"""

import re

HIDDEN = "(secret)"

_SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*:/+)?")
AT = r"(?:@|%(?:25)*40|\N{FULLWIDTH COMMERCIAL AT}|\N{SMALL COMMERCIAL AT})"  # as it is, encoded, or twice so
COLON = r"(?::|%(?:25)*3a|\N{FULLWIDTH COLON})"
_LAST_AT = re.compile(rf".*{AT}", re.DOTALL | re.IGNORECASE)
# What ends host and port; and what begins a query, a fragment, or the parameters of a segment.
_HOST = re.compile(r"(?:\[[^\]/?#]*\]|[^:/?#;%\\\s]*)(?::[0-9]{0,5}(?=[/?#;\\\s]|\Z))?")
_QUERY = re.compile(r"(?P<mark>[?#;]|%(?:25)*(?:3f|23|3b))", re.IGNORECASE)
_PAIR = re.compile(r"[A-Za-z0-9_.-]{1,40}(?==)")
# Options of databases that say where something is and how it is reached.
_PLAIN = frozenset(
    (
        "host",
        "sslmode",
        "sslrootcert",
        "sslcert",
        "sslkey",
        "passfile",
        "connect_timeout",
        "charset",
        "mode",
        "cache",
    )
)
_FILE = re.compile(r"\s*(?:sqlite|file):/", re.IGNORECASE)  # what follows is a path, and no host
_WEB = re.compile(r"\s*(?:https?|socks\w*|git|ssh)\b", re.IGNORECASE)


def mask_url(url: str) -> str:
    """Return the URL without its login, and without the values of its query, its fragment and its parameters.

    Of a login with a user and a password the user stays, but in the address of a web service or a repository,
    where the user may be a token. What stands where a port does and is none counts as a password.
    """
    scheme = _SCHEME.match(url)
    assert scheme is not None  # noqa: S101 - it matches everything
    head, rest = url[: scheme.end()], url[scheme.end() :]
    login = _LAST_AT.match(rest)
    if login and _may_be_query(login[0]):
        return head + HIDDEN
    if login:
        rest = rest[login.end() :]
        head += f"{_masked_login(login[0], secret=bool(_WEB.match(url)))}@"
    return head + (_masked_query(rest) if _FILE.match(url) else _masked_place(rest))


def _may_be_query(login: str) -> bool:
    """Whether the last @ may stand in a query, and what follows it belong to a secret value."""
    query = _QUERY.search(login)
    if query is None:
        return False
    return len(query["mark"]) == 1 or "/" in login[: query.start()] or not login.endswith("@")


def _masked_login(login: str, *, secret: bool) -> str:
    """Return what stands before the last @, itself left out."""
    found = re.split(COLON, login, maxsplit=1, flags=re.IGNORECASE)
    if secret:
        return HIDDEN
    if len(found) > 1:
        return f"{found[0]}:{HIDDEN}"
    user = re.sub(rf"{AT}\Z", "", login, flags=re.IGNORECASE)
    return user if re.fullmatch(r"[\w.%+-]*", user) else HIDDEN


def _masked_place(rest: str) -> str:
    """Return host and port, and what follows them as it may be shown."""
    host = _HOST.match(rest)
    assert host is not None  # noqa: S101 - it matches nothing too
    place, more = host[0], rest[host.end() :]
    if more[:1] in (":", "%"):  # no port, so what was written before an @ that is not there
        return f"{place}:{HIDDEN}"
    return place + _masked_query(more)


def _masked_query(more: str) -> str:
    """Return a path, and of what follows it the names of its values."""
    query = _QUERY.search(more)
    if query is None:
        return more
    shown = [more[: query.start()], query["mark"]]
    for pair in re.split(r"([&;?#])", more[query.end() :]):
        name = _PAIR.match(pair)
        if pair in ("&", ";", "?", "#") or (name and name[0] in _PLAIN):
            shown.append(pair)
        elif pair:
            shown.append(f"{name[0]}={HIDDEN}" if name else HIDDEN)
    return "".join(shown)
