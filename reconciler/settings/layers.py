"""Every setting with its value and origin: a variable, the environment's section, the file or the default.

The form of a value is checked here, by the schema; what values mean together in reader.py.
"""

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from reconciler.core.redact import mask_private_key
from reconciler.core.suggest import did_you_mean, find_suggestions
from reconciler.core.text import escape_undecodable, why_not_text
from reconciler.errors import Problem, SettingsError
from reconciler.files.project_files import ReadLog
from reconciler.model.directories import DIRECTORY_SETTINGS
from reconciler.model.documents import Place
from reconciler.model.setting_description import SECRET, list_settings
from reconciler.model.settings import SETTINGS, Auth
from reconciler.parsing.tree import Tree, read_tree
from reconciler.schema.check import check_tree
from reconciler.settings import trust

# --- One setting: its path, its value as written, and where it came from --------------------------


# The secrets without which no call can be made.
SERVICE_SECRETS = tuple(f"service.auth.{one.path}" for one in list_settings(Auth) if one.form is SECRET)
# Settings that never are plain text in the file, and those that need not be.
NEVER_IN_FILE = tuple(path for path, one in SETTINGS.items() if one.form.by_reference == "always")
MAYBE_REFERENCES = (
    *NEVER_IN_FILE,
    *(path for path, one in SETTINGS.items() if one.form.by_reference == "maybe"),
)
DIRECTORY_SECRETS = tuple(
    (form, one.path)
    for form, settings in DIRECTORY_SETTINGS.items()
    for one in settings
    if one.form.by_reference == "always"
)  # below directories.NAME


@dataclass(frozen=True, slots=True)
class SettingValue:
    """One setting as written: text, a list of texts, or the mapping of a secret or a workspace.

    `origin` is what `config` shows; `place` is where a problem with it is reported. `variable` is the one of
    RECONCILER_* that gives it, or "".
    """

    path: tuple[str, ...]
    raw: Any
    origin: str
    place: Place
    variable: str = ""

    @property
    def name(self) -> str:
        """The path as people write it: `service.base_url`."""
        return ".".join(self.path)

    @property
    def typed(self) -> Any:
        """The value as what its default is: a number where that is one."""
        default = SETTINGS[self.name].default if self.name in SETTINGS else None
        if isinstance(default, bool):
            return self.raw in (True, "true")
        return type(default)(self.raw) if isinstance(default, int | float) else self.raw

    def problem(self, what: str, hint: str, code: str) -> Problem:
        """Return a problem with this value, at the place where it was given."""
        return self.place.problem(f"{self.name}: {what}", hint, code)


SettingValues = dict[tuple[str, ...], SettingValue]


@dataclass(frozen=True, slots=True)
class SettingLayers:
    """Every setting once, the strongest source's value.

    `root` is the absolute folder of the file, `shown` the file's name in messages, `written` the whole file,
    `log` the files that were read for them. `service_links` are variables that Kubernetes made for a Service,
    and the Service: no settings.
    """

    file: Path
    shown: str
    root: Path
    environment: str
    environment_origin: str
    values: Mapping[tuple[str, ...], SettingValue]
    written: Mapping[str, Any]
    log: ReadLog
    service_links: Mapping[str, str] = field(default_factory=dict)

    def value_of(self, name: str) -> SettingValue:
        """Return a setting by its path: `service.base_url`."""
        return self.values[tuple(name.split("."))]


def settings_error(*problems: Problem, of_network: tuple[Problem, ...] = ()) -> SettingsError:
    """Return the error that carries these problems, `of_network` as of SettingsError."""
    count = "1 mistake" if len(problems) == 1 else f"{len(problems)} mistakes"
    return SettingsError(f"the settings cannot be used: {count}.", problems=problems, of_network=of_network)


# --- Variables that Kubernetes sets for Services, which are no settings ---------------------------
# A Service `reconciler-web` makes all of the names in `_LINK_FORMS` behind RECONCILER_WEB. A name alone
# proves nothing: each value has to be an address, a port or a protocol, and those of one Service have to
# agree.
# Source: Kubernetes, "Service", "Discovering services", environment variables.


_PORT_MAX = 65535
_HOST, _PORT, _PROTOCOL, _URL = "host", "port", "protocol", "url"

# The part of the name behind the Service -> the kind of value.
_PROTOCOL_PORT = r"_PORT_(?P<port>[0-9]{1,5})_(?P<protocol>TCP|UDP|SCTP)"
_LINK_FORMS = tuple(
    (re.compile(f"(?P<service>RECONCILER(?:_[A-Z0-9_]+?)?){behind}"), form)
    for behind, form in (
        ("_SERVICE_HOST", _HOST),  # 10.0.0.7
        ("_SERVICE_PORT", _PORT),  # 80
        ("_SERVICE_PORT_[A-Z0-9_]+", _PORT),  # 80: the port that is called http
        ("_PORT", _URL),  # tcp://10.0.0.7:80
        (_PROTOCOL_PORT, _URL),  # tcp://10.0.0.7:80
        (f"{_PROTOCOL_PORT}_ADDR", _HOST),
        (f"{_PROTOCOL_PORT}_PORT", _PORT),
        (f"{_PROTOCOL_PORT}_PROTO", _PROTOCOL),
    )
)
_VALUE = re.compile(r"(?P<protocol>tcp|udp|sctp)://(?P<host>[0-9.]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class _LinkReading:
    """One way to read a variable: the Service of its name, and the address that its value names, if any."""

    service: str
    host: str


def find_service_links(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that Kubernetes made for a Service `reconciler` or `reconciler-*`, with its name.

    A port or a protocol alone proves nothing: it belongs to a Service whose address another variable gives.
    Variables of one Service that name several addresses are not links.
    """
    readings = {
        name: tuple(_read_link(name, environ[name])) for name in environ if name.startswith("RECONCILER_")
    }
    hosts: dict[str, set[str]] = {}
    for one in (reading for found in readings.values() for reading in found if reading.host):
        hosts.setdefault(one.service, set()).add(one.host)
    known = {service for service, found in hosts.items() if len(found) == 1}
    links: dict[str, str] = {}
    for name, found in readings.items():
        services = [one.service for one in found if one.service in known]
        if services:
            links[name] = services[0].lower().replace("_", "-")
    return links


def _read_link(name: str, value: str) -> Iterator[_LinkReading]:
    for pattern, form in _LINK_FORMS:
        if (found := pattern.fullmatch(name)) is None:
            continue
        named = found.groupdict()
        host = _address_in_value(form, value, port=named.get("port"), protocol=named.get("protocol"))
        if host is not None:
            yield _LinkReading(found["service"], host)


def _address_in_value(form: str, value: str, *, port: str | None, protocol: str | None) -> str | None:
    """Return the address in a value, "" for a port or a protocol, None where it is not part of a link.

    `port` and `protocol` are those of the variable's name.
    """
    match form:
        case "host":
            return _parse_address(value)
        case "port":
            return "" if _is_port(value, port) else None
        case "protocol":
            return "" if value.upper() == protocol and value.islower() else None
    if (found := _VALUE.fullmatch(value)) is None or not _is_port(found["port"], port):
        return None
    agrees = protocol is None or found["protocol"].upper() == protocol
    return _parse_address(found["host"].strip("[]")) if agrees else None


def _is_port(value: str, named: str | None) -> bool:
    digits = value.isascii() and value.isdecimal()
    return digits and 0 < int(value[:6]) <= _PORT_MAX and named in (None, value)


def _parse_address(value: str) -> str | None:
    try:
        return str(ip_address(value))
    except ValueError:
        return None


# --- RECONCILER_* variables -----------------------------------------------------------------------


VARIABLE_PREFIX = "RECONCILER_"

# Names with our prefix that are not settings: three that stand for flags, the folders whose files are trusted
# (trust.py), and those that a container platform sets for a service called reconciler, with any value. Those
# of reconciler-web and others: `find_service_links`.
_FLAGS = ("RECONCILER_CONFIG", "RECONCILER_ENVIRONMENT", "RECONCILER_IDENTITY", trust.SAFE_DIRECTORY_VARIABLE)
_PLATFORM = ("RECONCILER_PORT", "RECONCILER_SERVICE_HOST", "RECONCILER_SERVICE_PORT")


_OF_POLICY = re.compile(r"(environments\.[^.]+\.)?policy[.: ]")


def is_policy_problem(problem: Problem) -> bool:
    """Whether a mistake of the settings is one of their policy."""
    variable = problem.file.removeprefix("environment ")
    return bool(_OF_POLICY.match(problem.what)) or variable.startswith(variable_of_setting("policy."))


def variable_of_setting(path: str) -> str:
    """Return the variable of a setting: RECONCILER_ and its path in capitals, dots as underscores."""
    return VARIABLE_PREFIX + path.replace(".", "_").upper()


def flag_variable(name: str, environ: Mapping[str, str]) -> str | None:
    """Return a variable that stands for a flag. An empty one is refused: its value was lost."""
    if environ.get(name) == "":
        hint = f"unset {name}, or give it a value"
        raise settings_error(
            Problem(f"environment {name}", 0, 0, "it is set to an empty value.", hint, code="E100")
        )
    return environ.get(name)


def read_variables(
    environ: Mapping[str, str], *, taken: Collection[str], globs: Sequence[str], links: Collection[str] = ()
) -> SettingValues:
    """Return the settings that RECONCILER_* variables give. Raises SettingsError for any other such name.

    `taken` are variables that the file names for secrets; `globs` those that manifests may read; `links`
    those that Kubernetes made, of which none has the name of a setting.
    """
    names = {variable_of_setting(name): name for name, one in SETTINGS.items() if not one.setting.file_only}
    ours = sorted(
        name
        for name in environ
        if name.startswith(VARIABLE_PREFIX) and not _is_no_setting(name, taken, globs)
    )
    found: SettingValues = {}
    problems: list[Problem] = []
    for name in ours:
        if name in names:
            value = _variable_value(name, names[name], environ[name])
            problems += _variable_problems(value)
            found[value.path] = value
        elif name not in links:
            # The prefix that all names share would make any two of them similar.
            rest = {one.removeprefix(VARIABLE_PREFIX): one for one in names}
            near = find_suggestions("setting", name.removeprefix(VARIABLE_PREFIX), rest)
            hint = f"unset {escape_undecodable(name)}; docs/settings.md lists the names"
            hint = f"did you mean {rest[near[0]]}?" if len(near) == 1 else hint
            what = "no setting has this name."
            problems.append(Problem(f"environment {escape_undecodable(name)}", 0, 0, what, hint, code="E100"))
    if problems:
        raise settings_error(*problems)
    return found


def _is_no_setting(name: str, taken: Collection[str], globs: Sequence[str]) -> bool:
    """Whether a name with our prefix is that of a flag, the platform, a secret or a manifest's variable."""
    known = name in _FLAGS or name.startswith(_PLATFORM) or name in taken
    return known or any(fnmatchcase(name, glob) for glob in globs)


def _variable_value(name: str, setting: str, text: str) -> SettingValue:
    path = tuple(setting.split("."))
    raw: Any = text
    if setting in NEVER_IN_FILE:
        raw = {"env": name}
    elif SETTINGS[setting].form.keywords["type"] == "array":
        raw = [part.strip() for part in text.split(",")] if text else text
    return SettingValue(path, raw, f"environment {name}", Place(f"environment {name}"), variable=name)


def _variable_problems(value: SettingValue) -> Iterator[Problem]:
    """Yield what is wrong with a variable's value, by the schema of the file."""
    if value.raw == "":
        hint = "unset it, or give it a value"
        yield Problem(value.place.file, 0, 0, "it is set to an empty value.", hint, code="E100")
        return
    nested = value.raw
    for step in reversed(value.path):
        nested = {step: nested}
    tree = read_tree(json.dumps({"version": "1", **nested}).encode(), "variable.json")
    for problem in (*tree.problems, *check_tree("settings", tree)):
        yield replace(problem, file=value.place.file, line=0, column=0)


# --- The file, and all layers ---------------------------------------------------------------------


SETTINGS_FILE = "reconciler.yaml"

_RENAME = "rename the file or the folder, or name another one"
_PLAIN = "a plain value is refused: this file is kept in git, and what was once committed stays readable."


def read_layers(
    *, config: str | None, environment: str | None, cwd: Path, environ: Mapping[str, str], without: str = ""
) -> SettingLayers:
    """Return all settings: a variable overrides the section, the section the file, the file the default.

    `without` is a section that is not looked at, in the file and in variables: its settings have their
    defaults.
    """
    # An empty --config comes from an empty variable of a script: it names a folder, and is refused as one.
    who = trust.trusted_users(environ)
    named = flag_variable("RECONCILER_CONFIG", environ) if config is None else config
    if named is not None:  # before anything else: the system takes no path with a NUL
        require_text_path(Path(named), "the settings file")
    file = _locate_file(named, cwd, who)
    require_text_path(file, "the settings file")
    log = ReadLog(file.parent)
    log.note_links(_logical_folder(cwd, environ) / (named or ""))
    if without:
        ours = variable_of_setting(f"{without}.")
        environ = {name: one for name, one in environ.items() if not name.startswith(ours)}
    tree = _read_file(file, os.path.relpath(file, cwd.resolve()), who, log, without)
    section, origin = _choose_section(tree, environment, environ)
    values = dict(_default_values()) | _values_in_file(tree, tree.value, ())
    if section:
        values |= _values_in_file(tree, tree.value["environments"][section], ("environments", section))
    taken = frozenset(_named_variables(tree.value))
    globs = values["variables",].raw
    links = find_service_links(environ)
    values |= read_variables(environ, taken=taken, globs=globs, links=links)
    return SettingLayers(file, tree.file, file.parent, section, origin, values, tree.value, log, links)


def _logical_folder(cwd: Path, environ: Mapping[str, str]) -> Path:
    """Return the working directory with the links through which a shell came there, if PWD has them."""
    shell_folder = Path(environ.get("PWD", ""))
    try:
        return shell_folder if shell_folder.is_absolute() and shell_folder.samefile(cwd) else cwd
    except (OSError, ValueError):
        return cwd


def require_text_path(path: Path, what: str) -> None:
    """Raise SettingsError for a path that is not text: the store, reports and messages contain it."""
    if why := why_not_text(str(path)):
        raise settings_error(
            Problem(
                escape_undecodable(str(path)).replace("\0", "\\0"),
                0,
                0,
                f"the name of {what} {why}.",
                _RENAME,
                code="E123",
            )
        )


def _locate_file(config: str | None, cwd: Path, who: trust.TrustedUsers) -> Path:
    """Return the file that is named, or the nearest one of this repository. Raises SettingsError."""
    if config is not None:
        return (cwd / config).resolve()
    folder = cwd.resolve()
    above = (folder, *folder.parents)
    looked_at = folders_to_search(above, who)
    for candidate in looked_at:
        if _path_exists(candidate / SETTINGS_FILE):
            return candidate / SETTINGS_FILE
    raise _nothing_found(looked_at, above)


def find_settings_file(cwd: Path, environ: Mapping[str, str]) -> Path | None:
    """Return the settings file that is named or found, without reading it; None where there is none."""
    try:
        return _locate_file(flag_variable("RECONCILER_CONFIG", environ), cwd, trust.trusted_users(environ))
    except SettingsError:
        return None


def folders_to_search(above: tuple[Path, ...], who: trust.TrustedUsers) -> tuple[Path, ...]:
    """Return the folders to search for settings, of the working directory and all above it.

    Outside of a repository nothing says where the project ends: a folder above may belong to anybody. So may
    a repository of another user.
    """
    roots = [depth for depth, one in enumerate(above) if _path_exists(one / ".git")]
    if not roots or not trust.is_trusted_path(above[roots[0]] / ".git", who):
        return above[:1]
    return above[: roots[0] + 1]


def _nothing_found(reach: tuple[Path, ...], above: tuple[Path, ...]) -> SettingsError:
    folder = reach[0]
    where = (
        f"{folder}, nor in a folder above it up to the root of the repository, {reach[-1]}"
        if len(reach) > 1
        else f"{folder}, and folders above it are searched only within a git repository"
    )
    other = next((name for name in ("reconciler.yml", "reconciler.json") if _path_exists(folder / name)), "")
    beyond = next(
        (one / SETTINGS_FILE for one in above[len(reach) :] if _path_exists(one / SETTINGS_FILE)), None
    )
    if other:
        hint = f"rename {other} to {SETTINGS_FILE}"
    elif beyond is not None:
        hint = f"to use {beyond}: --config {os.path.relpath(beyond, folder)}"
    else:
        hint = "reconciler init   (writes one; or name it with --config FILE)"
    return SettingsError(f"no {SETTINGS_FILE} in {where}.", next=hint)


def _path_exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a folder above us that may not be looked into
        return False


def _read_file(file: Path, shown: str, who: trust.TrustedUsers, log: ReadLog, without: str) -> Tree:
    data = _read_trusted_file(file, shown, who)
    log.note(file.resolve(), data)
    log.note_links(file)
    tree = read_tree(data, shown)
    for section in _list_sections(tree.value) if without else ():
        section.pop(without, None)
    plain = tuple(_plain_secrets(tree))
    # A problem of the schema with a plain secret is dropped: it might show the value.
    at = {(problem.line, problem.column) for problem in plain}
    checked = () if tree.broken else check_tree("settings", tree)
    others = [found for found in (*tree.problems, *checked) if (found.line, found.column) not in at]
    problems = sorted((*plain, *others), key=lambda problem: (problem.line, problem.column))
    if problems:
        raise settings_error(*problems)
    return tree


def _list_sections(written: Any) -> Iterator[dict[str, Any]]:
    """Yield the file itself and the sections of `environments`, as far as they are mappings."""
    if isinstance(written, dict):
        yield written
        named = written.get("environments")
        yield from (one for one in named.values() if isinstance(one, dict)) if isinstance(named, dict) else ()


def _read_trusted_file(file: Path, shown: str, who: trust.TrustedUsers) -> bytes:
    """Return the bytes of the file. Raises SettingsError where another user could have written it."""
    shown = mask_private_key(shown)
    try:
        found = trust.read_trusted(file, who)
    except OSError as error:
        reason = (error.strerror or "it cannot be opened").lower()
        raise SettingsError(
            f"{shown}: the settings cannot be read: {reason}.", next="check the name and its rights"
        ) from error
    if found is None:
        raise SettingsError(
            f"{shown}: the settings cannot be read: it is not a regular file.", next="name a file"
        )
    if isinstance(found, trust.Objection):
        raise SettingsError(
            f"{shown}: these settings are not read: {found.what}. "
            "Settings decide where the credentials go and which command is run to get them.",
            next=found.next,
        )
    return found


def _plain_secrets(tree: Tree) -> Iterator[Problem]:
    """Yield a problem for each secret that the file holds as plain text, without showing it."""
    sections = tree.value.get("environments")
    names = sections if isinstance(sections, dict) else {}
    for start in ((), *(("environments", name) for name in names)):
        for secret in (*(tuple(one.split(".")) for one in NEVER_IN_FILE), *_directory_secrets(tree, start)):
            path = (*start, *secret)
            if isinstance(_value_at(tree.value, path), str):
                name = path[-1].upper()
                yield tree.problem(
                    path,
                    f"{'.'.join(secret)}: {_PLAIN}",
                    f"write {{env: {name}}}, {{file: PATH}} or {{command: WORDS}}; "
                    "change the secret if it was committed",
                    code="E100",
                )


def _directory_secrets(tree: Tree, start: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of possible secrets in the directories of a section."""
    directories = _value_at(tree.value, (*start, "directories"))
    for name in directories if isinstance(directories, dict) else ():
        yield from (("directories", name, *one) for one in DIRECTORY_SECRETS)


def _named_variables(node: Any) -> Iterator[str]:
    """Yield the variables that the file names for secrets, in every section: they are set on purpose."""
    if isinstance(node, dict):
        if isinstance(node.get("env"), str):
            yield node["env"]
        if isinstance(command := node.get("command"), dict):
            yield from command.get("variables", ())
        for below in node.values():
            yield from _named_variables(below)


def _value_at(node: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        node = node.get(step) if isinstance(node, dict) else None
    return node


def _choose_section(tree: Tree, flag: str | None, environ: Mapping[str, str]) -> tuple[str, str]:
    name = flag if flag is not None else flag_variable("RECONCILER_ENVIRONMENT", environ)
    origin = "--environment" if flag is not None else "environment RECONCILER_ENVIRONMENT"
    if name is None:
        return "", "default"
    known = tuple(tree.value.get("environments", {}))
    if name in known:
        return name, origin
    there = f"the settings have {', '.join(known)}" if known else "the settings have none"
    raise SettingsError(
        f"{tree.file}: no environment {name!r} ({origin}); {there}.",
        next=did_you_mean(
            "environment", name, known, "leave it out, or add it under `environments:` in the settings"
        ),
    )


def _default_values() -> Iterator[tuple[tuple[str, ...], SettingValue]]:
    nowhere = Place("default")
    for name, one in SETTINGS.items():
        path = tuple(name.split("."))
        yield path, SettingValue(path, one.default, "default", nowhere)
    path = ("workspaces", "default")
    yield path, SettingValue(path, {}, "default", nowhere)


def _values_in_file(tree: Tree, node: Mapping[str, Any], above: tuple[str, ...]) -> SettingValues:
    """Return the settings of one mapping of the file. `above` is the path of the mapping."""
    found: SettingValues = {}
    pending: list[tuple[tuple[str, ...], Any]] = [((), node)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict) and not _is_one_value(path):
            pending += [((*path, key), below) for key, below in reversed(value.items())]
        elif path != ("version",):
            place = tree.place((*above, *path))
            found[path] = SettingValue(path, value, str(place), place)
    return {path: value for path, value in found.items() if path[0] != "environments"}


def _is_one_value(path: tuple[str, ...]) -> bool:
    """Whether a mapping at this path is one value, and not a section."""
    if path[:1] == ("environments",):
        return True
    named = len(path) == 2 and path[0] in ("workspaces", "directories")  # noqa: PLR2004 - workspaces.ALIAS
    return ".".join(path) in (*MAYBE_REFERENCES, "policy.approvers") or named
