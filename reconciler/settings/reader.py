"""The settings of a run as typed values, with every contradiction among them found.

layers.py finds the values and checks their form, secrets.py reads secrets.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from reconciler import database_urls
from reconciler.core.suggest import did_you_mean
from reconciler.errors import Problem, SettingsError
from reconciler.files.project_files import Unreadable, read_below_root, resolve_reference
from reconciler.model.kind import Kind
from reconciler.model.kinds import BUILT_IN_KINDS, CONTACT
from reconciler.model.profile import KindContradiction, KindRow, Profile, find_kind_contradictions
from reconciler.model.secrets import Secret
from reconciler.model.setting_description import StructSection, list_own_settings
from reconciler.model.settings import Auth, Identity, Network, Service, Settings, WorkspaceRef
from reconciler.parsing.tree import read_tree
from reconciler.schema.check import check_tree
from reconciler.schema.patterns import is_linear_pattern
from reconciler.service.http import urls as service_urls
from reconciler.service.profile import (
    bring_kinds,
    file_bytes_max,
    load_profile,
    parse_profile,
    unknown_profile,
    without_quotes,
)
from reconciler.settings import secrets
from reconciler.settings.directories import read_directories
from reconciler.settings.layers import (
    SERVICE_SECRETS,
    SettingLayers,
    SettingValue,
    read_layers,
    require_text_path,
    settings_error,
    variable_of_setting,
)
from reconciler.settings.network import find_network_problems as network_problems
from reconciler.settings.network import read_network
from reconciler.settings.notify import find_notify_problems, read_notify
from reconciler.settings.policy import find_policy_problems
from reconciler.settings.secrets import Revealed, ignore_secret, list_private_files, read_variable_files

T = TypeVar("T", bound=Struct)


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """The settings of one run, and where each value came from."""

    settings: Settings
    layers: SettingLayers


def read_settings(
    *,
    config: str | None,
    environment: str | None,
    cwd: Path,
    environ: Mapping[str, str],
    service: bool,
    revealed: Revealed = ignore_secret,
    without: str = "",
) -> ReadSettings:
    """Return the settings; with `service`, complete with secrets and fit for calls. Raises SettingsError.

    Without `service` no secret is read and no setting of the service is required: the secrets of the result
    are empty, and so is an unset base address. Secrets of directories and files of variables are read later,
    when a manifest needs them; `revealed` is called with each of them then. `without` is a section that is
    not looked at, whatever stands in it.
    """
    layers = read_layers(config=config, environment=environment, cwd=cwd, environ=environ, without=without)
    profile, problems = _load_profile(layers), [*_find_contradictions(layers)]
    directories, wrong = read_directories(layers, environ, revealed)
    problems += wrong
    problems += [] if isinstance(profile, Profile) else profile
    problems += _missing_settings(layers) if service else ()
    secrets, network = {name: Secret("") for name in SERVICE_SECRETS}, Network()
    unfit: tuple[Problem, ...] = ()
    if service and not problems:
        read = {name: _read_service_secret(layers, name, environ) for name in SERVICE_SECRETS}
        secrets |= {name: one for name, one in read.items() if isinstance(one, Secret)}
        network, unfit = read_network(layers, environ)
        problems += [*(one for one in read.values() if isinstance(one, Problem)), *unfit]
    if problems or not isinstance(profile, Profile):
        raise settings_error(*problems, of_network=unfit)
    bring_kinds(profile)
    settings = _build_settings(
        layers,
        _build_service(layers, secrets, network, profile),
        directories=directories,
        notify=read_notify(layers, environ, revealed),
        variable_files=read_variable_files(layers, environ, revealed),
        private_files=list_private_files(layers, environ),
    )
    return ReadSettings(settings, layers)


def working_folder() -> Path:
    """Return the working directory. Raises SettingsError where it was removed, or its name is no text."""
    try:
        folder = Path.cwd()
    except OSError as error:
        raise SettingsError("the working directory no longer exists.", next="cd into the project") from error
    require_text_path(folder, "the working directory")
    return folder


def workspace_values(layers: SettingLayers) -> Iterator[SettingValue]:
    """Yield the workspaces, in the order written; the alias is the last part of the path."""
    return (value for path, value in layers.values.items() if path[0] == "workspaces")


def _find_contradictions(layers: SettingLayers) -> Iterator[Problem]:
    """Yield what the schema cannot check: addresses, the store, workspaces that are the same, identities."""
    base_url, store = layers.value_of("service.base_url"), layers.value_of("store")
    address = () if base_url.raw is None else tuple(find_address_problems(base_url))
    yield from address or network_problems(layers)  # whether a proxy is allowed depends on the address
    yield from _store_problems(store)
    yield from _workspace_problems(tuple(workspace_values(layers)))
    yield from _identity_problems(layers)
    yield from find_policy_problems(layers)
    yield from _find_lease_problems(layers)
    yield from find_notify_problems(layers)


def find_address_problems(value: SettingValue) -> Iterator[Problem]:
    """Yield what is wrong with a base address. Credentials go to it, so it is never corrected."""
    try:
        found = service_urls.read_base(value.raw)
    except service_urls.UnusableUrl as error:
        yield value.problem(str(error), error.next, code="E100")
        return
    if found.is_plain:
        yield value.problem(
            f"{value.raw!r} would send the credentials unencrypted.",
            "write https; plain http is for this machine only (127.0.0.1, localhost)",
            code="E100",
        )


def _find_lease_problems(layers: SettingLayers) -> Iterator[Problem]:
    """Yield that a lease is too short for a request: the lock could be lost while one is under way."""
    lease, timeout = layers.value_of("lock.lease_s"), layers.value_of("service.limits.timeout_s")
    if lease.origin != "default" and float(lease.raw) < 2 * float(timeout.raw):
        limit = f"service.limits.timeout_s is {timeout.typed:g}"
        what = f"{lease.raw} s are less than two requests may take ({limit})."
        yield lease.problem(what, "make the lease longer, or the time for one request shorter", code="E100")


def _load_profile(layers: SettingLayers) -> Profile | list[Problem]:
    """Return the profile, read once for the whole run, or all its mistakes. A file is within the project."""
    value = layers.value_of("service.profile")
    name: str = value.raw
    try:
        if not name.endswith(".yaml"):
            unknown = unknown_profile(name)
            return [value.problem(*unknown, code="E208")] if unknown else load_profile(name)
        root = layers.root.resolve()
        content = read_below_root(
            root, resolve_reference(root, root, name), bytes_max=file_bytes_max, log=layers.log
        )
        return [*_profile_problems(content, name)] or parse_profile(content, name)
    except Unreadable as error:
        return [value.problem(f"the profile {error}", error.hint, error.code)]
    except SettingsError as error:
        return [value.problem(str(error), error.next, code="E208")]


def _profile_problems(content: bytes, name: str) -> Iterator[Problem]:
    """Yield every mistake of a profile at its line: those of its form, or else those of its kinds."""
    tree = read_tree(content, name)
    found = (*tree.problems, *(() if tree.broken else check_tree("profile", tree)))
    yield from map(without_quotes, found)
    if not found and "kinds" in tree.value:
        rows = msgspec.convert(tree.value["kinds"], dict[str, KindRow], strict=False)
        for path, what, hint in (*find_kind_contradictions(rows), *_unfit_patterns(rows)):
            steps = tuple(int(step) if step.isdecimal() else step for step in path)
            yield tree.problem(("kinds", *steps), f"kinds.{'.'.join(path)}: {what}", hint, code="E100")


def _unfit_patterns(rows: Mapping[str, KindRow]) -> Iterator[KindContradiction]:
    for name, row in rows.items():
        for key, field in row.fields.items():
            if not is_linear_pattern(field.pattern):
                what = f"the pattern of {key} cannot be used in a schema."
                hint = "write it as in JSON Schema, without (?=...), (?<...), \\1 or counts in counts"
                yield KindContradiction((name, "fields", key, "pattern"), what, hint)


def _store_problems(value: SettingValue) -> Iterator[Problem]:
    """Yield what is wrong with the store's URL, without showing its password."""
    if database_urls.url_has_password(value.raw) and not value.variable:
        yield value.problem(
            "it holds a password: this file is kept in git, and what was once committed stays readable.",
            "take it out, and set PGPASSWORD, a passfile, or "
            f"{variable_of_setting('store')} with the whole URL; change the password if it was committed",
            code="E100",
        )
        return
    error = database_urls.find_url_fault(value.raw)
    if error is not None:
        yield value.problem(str(error), error.next, code="E208")


def _store_url(layers: SettingLayers) -> str:
    """Return the store's URL; the path of a file is absolute."""
    url: str = layers.value_of("store").raw
    path = database_urls.sqlite_path(url)
    return url if path is None else database_urls.SQLITE + str(layers.root / path)


def _workspace_problems(values: tuple[SettingValue, ...]) -> Iterator[Problem]:
    seen: dict[tuple[str, str], SettingValue] = {}
    for value in values:
        alias, entry = value.path[-1], value.raw
        if alias == "default" and entry:
            yield value.problem(
                "the alias default is the service's default workspace and takes no id or name.",
                "give the workspace another alias",
                code="E100",
            )
        elif alias != "default" and not entry:
            yield value.problem(
                "it has neither id nor name; only the alias default may have none.",
                "write its id, its name, or both",
                code="E100",
            )
        for key in ("id", "name"):
            first = seen.setdefault((key, entry[key]), value) if key in entry else value
            if first is not value:
                yield value.problem(
                    f"it has the same {key} as {first.name} ({first.place}): one workspace, managed twice.",
                    "keep one of them",
                    code="E100",
                )


def _identity_problems(layers: SettingLayers) -> Iterator[Problem]:
    """Yield identities that cannot identify: fields that a kind does not have, and our own mark."""
    mark = _ownership_mark(layers)
    for kind in BUILT_IN_KINDS.values():
        identity = layers.value_of(f"identity.{kind.plural}")
        if identity.origin != "default":
            yield from _unknown_fields(kind, identity, layers)
        if kind.marked and mark and f"custom.{mark}" in identity.raw:
            yield identity.problem(
                f"custom.{mark} is the mark of ownership, so it cannot be an identity.",
                "name a field of the person",
                code="E100",
            )


def _unknown_fields(kind: Kind, identity: SettingValue, layers: SettingLayers) -> Iterator[Problem]:
    extra = layers.value_of("fields.contacts").raw if kind is CONTACT else ()
    known = [*(field.name for field in kind.declarable), *extra]
    for path in identity.raw:
        if path not in known and kind.type_of(path).shape != "custom":
            hint = did_you_mean("field", path, known, "a custom field is written custom.NAME")
            yield identity.problem(f"{path} is not a field of a {kind.name}.", hint, code="E201")


def _ownership_mark(layers: SettingLayers) -> str:
    return (layers.value_of("ownership.mark").raw or "").removeprefix("custom_")


def _missing_settings(layers: SettingLayers) -> Iterator[Problem]:
    """Yield a problem for each setting that calls need and that is not set."""
    shown = layers.shown
    for name in ("service.base_url", *SERVICE_SECRETS):
        if layers.value_of(name).raw is None:
            key = name.rsplit(".", 1)[-1]
            example = "https://api.example.com" if key == "base_url" else f"{{env: {key.upper()}}}"
            hint = f"write {key}: {example}, or set {variable_of_setting(name)}"
            yield Problem(shown, 0, 0, f"{name} is not set.", hint, code="E202")


def _read_service_secret(layers: SettingLayers, name: str, environ: Mapping[str, str]) -> Secret | Problem:
    value = layers.value_of(name)
    try:
        secret = secrets.read_secret_source(
            secrets.parse_secret_source(value.raw), root=layers.root, environ=environ
        )
    except secrets.SecretRefused as refusal:
        return value.problem(f"{refusal}.", refusal.next, refusal.code)
    unfit = _secret_fault(name, secret.reveal())
    return value.problem(*unfit, code="E100") if unfit else secret


def _secret_fault(name: str, text: str) -> tuple[str, str] | None:
    """Return why a secret cannot be sent, without showing it, and what to do; None where it can."""
    if name.endswith(".username") and ":" in text:
        return "a user name with a colon cannot be sent with the Basic scheme.", "check the value"
    if name.endswith(".api_key") and not re.fullmatch(r"[!-~]+", text, re.ASCII):
        return (
            "the key holds a space or a letter outside ASCII; headers cannot carry it.",
            "copy it again",
        )
    return None


def _chosen_identities(layers: SettingLayers) -> dict[str, tuple[str, ...]]:
    """Return the identity fields that are not the default, by the plural of their kind."""
    chosen = (
        (plural, layers.value_of(f"identity.{plural}"))
        for plural in (one.plural for one in BUILT_IN_KINDS.values())
    )
    return {plural: tuple(value.raw) for plural, value in chosen if value.origin != "default"}


def _build_struct(layers: SettingLayers, struct: type[T], above: str = "", /, **given: object) -> T:
    """Return a struct of settings: `given`, and the converted value of every other setting that is set.

    `above` is the path of its section, and ends in a dot. What is not set has the default of the field.
    """
    values = dict(given)
    for one in list_own_settings(struct, above):
        if one.field in given:
            continue
        if isinstance(one, StructSection):
            values[one.field] = _build_struct(layers, one.struct, f"{one.path}.")
        elif (raw := layers.value_of(one.path).raw) is not None:
            values[one.field] = msgspec.convert(raw, one.type, strict=False)
    return struct(**values)


def _build_service(
    layers: SettingLayers, secrets: Mapping[str, Secret], network: Network, profile: Profile
) -> Service:
    above = "service.auth."
    auth = {name.removeprefix(above): secret for name, secret in secrets.items()}
    return _build_struct(
        layers,
        Service,
        "service.",
        base_url=(layers.value_of("service.base_url").raw or "").rstrip("/"),
        auth=_build_struct(layers, Auth, above, **auth),
        profile=profile,
        network=network,
    )


def _build_settings(layers: SettingLayers, service: Service, **given: object) -> Settings:
    """Return the settings. Only those that are more than converted are named here."""
    root = layers.root
    return _build_struct(
        layers,
        Settings,
        manifests=tuple(str(root / path) for path in layers.value_of("manifests").raw),
        service=service,
        workspaces={v.path[-1]: msgspec.convert(v.raw, WorkspaceRef) for v in workspace_values(layers)},
        identity=Identity(_chosen_identities(layers)),
        mark=_ownership_mark(layers),
        store=_store_url(layers),
        root=str(root),
        file=str(layers.file.resolve()),
        environment=layers.environment,
        inputs=layers.log.files,
        **given,
    )
