"""URLs and private keys as errors, settings, logs and doctor may show them.

Whatever is wrong with a URL, what could be a password in it is not shown, and a URL that cannot be read is
shown most often. So no URL is parsed here, and too much is hidden rather than too little.
"""

import re

# --- URLs, without logins and keys ----------------------------------------------------------------

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
        head += f"{_mask_login(login[0], secret=bool(_WEB.match(url)))}@"
    return head + (_mask_query(rest) if _FILE.match(url) else _mask_host_and_path(rest))


def _may_be_query(login: str) -> bool:
    """Whether the last @ may stand in a query, and what follows it belong to a secret value."""
    query = _QUERY.search(login)
    if query is None:
        return False
    return len(query["mark"]) == 1 or "/" in login[: query.start()] or not login.endswith("@")


def _mask_login(login: str, *, secret: bool) -> str:
    """Return what stands before the last @, itself left out."""
    found = re.split(COLON, login, maxsplit=1, flags=re.IGNORECASE)
    if secret:
        return HIDDEN
    if len(found) > 1:
        return f"{found[0]}:{HIDDEN}"
    user = re.sub(rf"{AT}\Z", "", login, flags=re.IGNORECASE)
    return user if re.fullmatch(r"[\w.%+-]*", user) else HIDDEN


def _mask_host_and_path(rest: str) -> str:
    """Return host and port, and what follows them as it may be shown."""
    host = _HOST.match(rest)
    assert host is not None  # noqa: S101 - it matches nothing too
    place, more = host[0], rest[host.end() :]
    if more[:1] in (":", "%"):  # no port, so what was written before an @ that is not there
        return f"{place}:{HIDDEN}"
    return place + _mask_query(more)


def _mask_query(more: str) -> str:
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


# --- Private keys where the name of a file or a variable is expected ------------------------------


# Keys of age and of its plugins, and the beginning of those of SSH and OpenSSL: in any letter case, with any
# dash. `age-secret-key.txt` is the name of a file.
_SIGN = re.compile(
    r"age[^0-9a-z]?(?:secret[^0-9a-z]?key|plugin[^0-9a-z][0-9a-z-]{1,40})[^0-9a-z]?1[0-9a-z]{12}"
    r"|begin [a-z0-9 ]{0,40}private key",
    re.IGNORECASE,
)
# A step of a path that is longer than names of files are, or is written as base64 is.
_UNSIGNED = re.compile(r"[0-9A-Za-z+=_-]{41,}|(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])[0-9A-Za-z+=]{24,}")


def is_private_key(text: str) -> bool:
    """Whether a text holds a private key, by its form."""
    return bool(_SIGN.search(text))


def may_be_private_key(text: str) -> bool:
    """Whether a text that names nothing may be a piece of a key, without its beginning."""
    return is_private_key(text) or "\n" in text or any(map(_UNSIGNED.fullmatch, text.split("/")))


def mask_private_key(text: str) -> str:
    """Return a text as it may be shown where the name of something is due."""
    return "(a private key)" if is_private_key(text) else text
