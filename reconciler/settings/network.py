"""Which proxy is used and which certificates are trusted, by `service.network` and by variables.

The rules for variables and URLs are in service/http/connections.py, those for certificates in tls.py. The
address of a proxy may hold a password: no problem here quotes one.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from reconciler import tls
from reconciler.errors import Problem
from reconciler.model.settings import Network, Proxy, Trust
from reconciler.service.http import connections, urls
from reconciler.settings import secrets, trust
from reconciler.settings.layers import SettingLayers, SettingValue

PROXY, CA = "service.network.proxy", "service.network.ca"
ca_bytes_max = 16 * 1024 * 1024  # of a file of certificates; those of a whole system take some 250 KiB

_FILE, _FOLDERS = "SSL_CERT_FILE", "SSL_CERT_DIR"


class NetworkProxy(Struct, frozen=True):
    """Which proxy is used. `description` names it and what decided; `problem` says why none can be used."""

    description: str
    proxy: Proxy | None = None
    problem: Problem | None = None


class TrustChoice(Struct, frozen=True):
    """Which certificates are trusted. `description` names them and what decided; `problem` says why not."""

    description: str
    trust: Trust = Trust()
    problem: Problem | None = None


def read_network(layers: SettingLayers, environ: Mapping[str, str]) -> tuple[Network, tuple[Problem, ...]]:
    """Return proxy and certificates, or what is wrong with them. Reads the files that the settings name."""
    way, trusted = choose_proxy(layers, environ), choose_certificates(layers, environ)
    problems = tuple(one.problem for one in (way, trusted) if one.problem is not None)
    return Network(way.proxy, trusted.trust), problems


def find_network_problems(layers: SettingLayers) -> tuple[Problem, ...]:
    """Return what is wrong with the setting of the proxy itself. Reads no file and no secret."""
    value = layers.value_of(PROXY)
    if not isinstance(value.raw, str) or value.raw in ("env", "none"):
        return ()
    way = _proxy_of_settings(layers, value, value.raw)
    if way.problem is not None or way.proxy is None or way.proxy.login is None:
        return (way.problem,) if way.problem else ()
    if value.variable:
        return ()
    what = "it holds a user: this file is kept in git, and what was once committed stays readable."
    hint = "write {env: NAME}, {file: PATH} or {command: WORDS}; change the password if it was committed"
    return (value.problem(what, hint, code="E100"),)


def choose_proxy(
    layers: SettingLayers, environ: Mapping[str, str], *, known: Proxy | None = None
) -> NetworkProxy:
    """Return the proxy of the settings, or that of the environment where they leave it to it.

    `known` is the one that was read before from a secret's place. It is not read again, because a command may
    ask a person.
    """
    value = layers.value_of(PROXY)
    if value.raw == "none":
        return NetworkProxy(f"none: connects directly ({_place(value)})")
    if value.raw == "env":
        return _proxy_of_environment(layers, environ)
    if isinstance(value.raw, str):
        return _proxy_of_settings(layers, value, value.raw)
    if known is not None:
        return NetworkProxy(_describe_proxy(known, _place(value)), known)
    try:
        text = secrets.read_secret_source(
            secrets.parse_secret_source(value.raw), root=layers.root, environ=environ
        ).reveal()
    except secrets.SecretRefused as refusal:
        return NetworkProxy("", problem=value.problem(f"{refusal}.", refusal.next, refusal.code))
    return _proxy_of_settings(layers, value, text)


def _proxy_of_settings(layers: SettingLayers, value: SettingValue, text: str) -> NetworkProxy:
    """Return the proxy of the settings. It is used for this machine too, and never for plain http."""
    base_url = layers.value_of("service.base_url").raw
    try:
        proxy = connections.parse_proxy(text, PROXY)
    except urls.UnusableUrl as error:
        return NetworkProxy("", problem=value.problem(str(error), error.next, code="E100"))
    if base_url is not None and urls.parse_base_url(base_url).scheme != "https":
        what = "service.base_url is plain http, and a proxy would read the credentials."
        hint = "write https for service.base_url, or none here"
        return NetworkProxy("", problem=value.problem(what, hint, code="E100"))
    return NetworkProxy(_describe_proxy(proxy, _place(value)), proxy)


def _proxy_of_environment(layers: SettingLayers, environ: Mapping[str, str]) -> NetworkProxy:
    base_url = layers.value_of("service.base_url").raw
    if base_url is None:
        return NetworkProxy("none: service.base_url is not set")
    choice = connections.choose_proxy(urls.parse_base_url(base_url), environ)
    if not choice.text:
        why = (
            f"{choice.why}; {choice.variable} is not in effect" if choice.why else "no variable sets a proxy"
        )
        return NetworkProxy(f"none: connects directly ({why})")
    try:
        proxy = connections.parse_proxy(choice.text, choice.variable, scheme="http")
    except urls.UnusableUrl as error:
        hint = f"{error.next}; or set {PROXY}"
        place = f"environment {choice.variable}"
        return NetworkProxy("", problem=Problem(place, 0, 0, f"{PROXY}: {error}", hint, code="E100"))
    return NetworkProxy(_describe_proxy(proxy, choice.variable), proxy)


def _describe_proxy(proxy: Proxy, source: str) -> str:
    login = ", with a user that is never shown" if proxy.login else ""
    return f"{proxy.address} ({source}){login}"


def _place(value: SettingValue) -> str:
    return f"{value.name}, {value.origin}"


def choose_certificates(layers: SettingLayers, environ: Mapping[str, str]) -> TrustChoice:
    """Return the certificates of the settings, or those of the environment where they leave it to it.

    Variables count only for https: SSL_CERT_FILE and SSL_CERT_DIR together, and then no other certificates.
    """
    value, who = layers.value_of(CA), trust.trusted_users(environ)
    if value.raw != "env":
        found = read_trusted_certificates(layers.root / value.raw, value.raw, who)
        if isinstance(found, tuple):
            return TrustChoice("", problem=value.problem(*found))
        return TrustChoice(f"{found.description} ({_place(value)})", found.trust)
    base_url = layers.value_of("service.base_url").raw
    if base_url is not None and urls.parse_base_url(base_url).scheme != "https":
        return TrustChoice("not needed: service.base_url is plain http, on this machine")
    return _certificates_of_variables(environ, who)


def _certificates_of_variables(environ: Mapping[str, str], who: trust.TrustedUsers) -> TrustChoice:
    file, folders = environ.get(_FILE, ""), environ.get(_FOLDERS, "")
    descriptions, certificates = [], ""
    if file:
        found = read_trusted_certificates(Path(file), file, who)
        if isinstance(found, tuple):
            return _refused_certificates(_FILE, *found)
        descriptions.append(f"{found.description} ({_FILE})")
        certificates = found.trust.certificates
    named = tuple(one for one in folders.split(os.pathsep) if one)
    for one in named:
        unfit = _folder_fault(Path(one), one, who)
        if unfit is not None:
            return _refused_certificates(_FOLDERS, *unfit)
        descriptions.append(f"the folder {one} ({_FOLDERS})")
    if not descriptions:
        return TrustChoice("those of this system (no setting or variable names others)")
    return TrustChoice(f"{' and '.join(descriptions)}, and no others", Trust(certificates, named))


def _refused_certificates(name: str, what: str, hint: str, code: str) -> TrustChoice:
    problem = Problem(f"environment {name}", 0, 0, f"{CA}: {what}", f"{hint}; or set {CA}", code=code)
    return TrustChoice("", problem=problem)


def read_trusted_certificates(
    path: Path, shown: str, who: trust.TrustedUsers
) -> TrustChoice | tuple[str, str, str]:
    """Return the certificates of a file that no other user could have written.

    Or why they are not used, what to do, and the code of this mistake.
    """
    hint = f"put the certificates that prove the service into {shown}, in the form PEM"
    try:
        data = trust.read_trusted(path, who, ca_bytes_max + 1)
    except (OSError, ValueError) as error:
        return f"{shown} cannot be read: {_os_error_reason(error)}.", hint, "E112"
    if data is None:
        return f"{shown} is not a regular file.", hint, "E112"
    if isinstance(data, trust.Objection):
        what = f"{shown} is not used: {data.what}. It decides who receives the credentials."
        return what, data.next, "E100"
    if len(data) > ca_bytes_max:
        return f"{shown} has over {ca_bytes_max // 1024 // 1024} MiB.", hint, "E100"
    try:
        text, number = tls.parse_certificates(data)
    except tls.NoCertificates as error:
        return f"{shown} {error}.", hint, "E100"
    return TrustChoice(f"{number} of {shown}", Trust(text))


def _folder_fault(path: Path, shown: str, who: trust.TrustedUsers) -> tuple[str, str, str] | None:
    """Return why a folder of certificates is not used, what to do, and the code; None where it is."""
    hint = "name a folder of certificates under their hashes (openssl rehash)"
    try:
        if not path.is_dir():
            return f"{shown} is not a folder.", hint, "E112"
        found = trust.find_folder_objection(path, who)
    except (OSError, ValueError) as error:
        return f"{shown} cannot be read: {_os_error_reason(error)}.", hint, "E112"
    if found is None:
        return None
    what = f"{shown} is not used: {found.what}. It decides who receives the credentials."
    return what, found.next, "E100"


def _os_error_reason(error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else "the path is unusable"
    return reason.lower()
