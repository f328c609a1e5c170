"""`directories` of the settings as values, with secrets that are read when a directory is called.

Refuses descriptions that contradict themselves or would send a secret unencrypted; the schema has checked
their form.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from reconciler import database_urls
from reconciler.core.calls import is_loopback
from reconciler.directories import sql_values
from reconciler.errors import Problem
from reconciler.model.directories import DIRECTORY_STRUCTS, Directories, Directory, DirectorySetting
from reconciler.model.secrets import Secret
from reconciler.service.http.urls import UnusableUrl, read_base
from reconciler.settings import trust
from reconciler.settings.late_secrets import LateSecret, make_secret_reader
from reconciler.settings.layers import DIRECTORY_SECRETS, SettingLayers, SettingValue
from reconciler.settings.network import read_trusted_certificates
from reconciler.settings.secrets import Revealed

_BY_REFERENCE = "write {env: NAME}, {file: PATH} or {command: WORDS} in its place"


def read_directories(
    layers: SettingLayers, environ: Mapping[str, str], revealed: Revealed
) -> tuple[Directories, tuple[Problem, ...]]:
    """Return the directories by name, or what is wrong with them. Reads no secret, calls no directory."""
    values = tuple(value for path, value in layers.values.items() if path[0] == "directories")
    problems = tuple(problem for value in values for problem in _directory_problems(value, layers, environ))
    if problems:
        return {}, problems
    found = {value.path[-1]: _build_directory(value, layers, environ, revealed) for value in values}
    return found, ()


def _directory_problems(
    value: SettingValue, layers: SettingLayers, environ: Mapping[str, str]
) -> Iterator[Problem]:
    ((kind, described),) = value.raw.items()
    for what, hint in _OBJECTIONS[kind](described):
        yield value.problem(what, hint, code="E100")
    ca = described.get("ca", "env")
    found = (
        None if ca == "env" else read_trusted_certificates(layers.root / ca, ca, trust.trusted_users(environ))
    )
    if isinstance(found, tuple):
        yield value.problem(*found)


_Objections = Iterator[tuple[str, str]]  # sentences and hints


def _sql_problems(described: Mapping[str, Any]) -> _Objections:
    url = described["url"]
    why = sql_values.why_not_query(described["statement"])
    if why:
        yield why, sql_values.READ_ONLY
    if not isinstance(url, str):
        return
    if described.get("tls") == "driver" and url.startswith(("sqlite:", database_urls.POSTGRESQL)):
        yield "it has tls, which is only for databases other than SQLite and PostgreSQL.", "remove tls"
    if sql_values.holds_password(url):
        yield (
            "its url holds a password: this file is kept in git, and what was once committed stays readable.",
            f"{_BY_REFERENCE}; change the password if it was committed",
        )
    elif why := sql_values.why_not_url(url):
        yield why, "write it like postgresql://reader@db.example.com/hr, or sqlite:///PATH"
    elif url.startswith("sqlite:") and database_urls.sqlite_path(url) is None:
        yield "its url names no file.", "write sqlite:///PATH, without options"
    elif url.startswith(database_urls.POSTGRESQL):
        try:
            database_urls.parse_server_url(url)
        except database_urls.UnusableDatabaseUrl as error:
            yield str(error), error.next


def _ldap_problems(described: Mapping[str, Any]) -> _Objections:
    scheme, _, rest = described["url"].partition("://")
    host = rest.partition("/")[0]
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    safe = scheme == "ldaps" or described.get("start_tls") == "true" or is_loopback(name)
    if scheme not in ("ldap", "ldaps") or not host or "@" in host or rest.rstrip("/") != host:
        yield (
            "its url is not ldaps://host or ldap://host, with a port or without.",
            "write nothing more into it",
        )
    elif not safe:
        yield (
            "its url would send the password and people's data unencrypted.",
            "write ldaps, or start_tls: true; plain ldap is for this machine only (127.0.0.1, localhost)",
        )
    if scheme == "ldaps" and described.get("start_tls") == "true":
        yield "it is ldaps and has start_tls: each encrypts by itself.", "remove start_tls, or write ldap"
    if ("dn" in described) != ("password" in described):
        yield "it has only one of dn and password.", "give both, or none for an anonymous bind"


def _scim_problems(described: Mapping[str, Any]) -> _Objections:
    try:
        plain = read_base(described["url"]).is_plain
    except UnusableUrl as error:
        yield f"its url cannot be used: {error}", error.next
        return
    if plain:
        yield (
            "its url would send the token and people's data unencrypted.",
            "write https; plain http is for this machine only (127.0.0.1, localhost)",
        )


_OBJECTIONS: Mapping[str, Callable[[Mapping[str, Any]], _Objections]] = {
    "sql": _sql_problems,
    "ldap": _ldap_problems,
    "scim": _scim_problems,
}


def _build_directory(
    value: SettingValue, layers: SettingLayers, environ: Mapping[str, str], revealed: Revealed
) -> DirectorySetting:
    ((kind, described),) = value.raw.items()
    plain = dict(described)
    for key in [key for of, key in DIRECTORY_SECRETS if of == kind and key in described]:
        plain[key] = LateSecret(make_secret_reader(value, described[key], layers, environ, revealed))
    if kind == "sql":
        plain["url"] = LateSecret(_url_reader(value, described["url"], layers, environ, revealed))
    ca = plain.pop("ca", "env")
    if ca != "env":
        plain["ca"] = str(layers.root / ca)
    return DirectorySetting(_convert_texts(plain, DIRECTORY_STRUCTS[kind]), value.place)


def _convert_texts(plain: Mapping[str, Any], kind: type[Directory]) -> Directory:
    """Return the struct, texts of the file converted; secrets are values already."""
    texts = {key: one for key, one in plain.items() if not isinstance(one, Secret)}
    secrets = {key: one for key, one in plain.items() if isinstance(one, Secret)}
    fields = {one.name: one.type for one in msgspec.structs.fields(kind)}
    typed = {key: msgspec.convert(one, fields[key], strict=False) for key, one in texts.items()}
    both: dict[str, Any] = {**typed, **secrets}
    return kind(**both)


def _url_reader(
    value: SettingValue,
    written: object,
    layers: SettingLayers,
    environ: Mapping[str, str],
    revealed: Revealed,
) -> Callable[[], str]:
    """Return a function that reads the URL of a database; the path of a file is absolute."""
    from_place = None
    if isinstance(written, Mapping):  # the schema knows two forms
        from_place = make_secret_reader(value, written, layers, environ, revealed)

    def read() -> str:
        url = from_place() if from_place is not None else str(written)
        for password in sql_values.find_passwords(url):
            revealed(password)  # as it stands in the URL, and decoded
        path = database_urls.sqlite_path(url)
        return url if path is None else database_urls.SQLITE + str(Path(layers.root) / path)

    return read
