"""The checks of `reconciler doctor` on this machine: settings, manifests, limits, files, network, versions.

Each check stands alone, and none writes.
"""

import importlib.metadata
import os
import platform
import re
import sqlite3
import ssl
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from reconciler import pipeline
from reconciler.cli.doctor.check_context import Surroundings, describe_mistakes, make_unchecked
from reconciler.errors import Problem, SettingsError
from reconciler.extras import EXTRAS, install_hint, installed_versions, is_extra_installed
from reconciler.model.notices import CheckResult
from reconciler.model.settings import Settings
from reconciler.report.lines import count
from reconciler.report.phrases import describe_kinds
from reconciler.settings import network, trust
from reconciler.settings.layers import MAYBE_REFERENCES, SERVICE_SECRETS, settings_error
from reconciler.settings.reader import ReadSettings
from reconciler.version import DISTRIBUTION, __version__

# What others than the owner may do to a file, as bits of its mode.
OPEN_TO_OTHERS = 0o077

_PACKAGE = "reconciler"  # of this program; as a distribution, the name of another project
_LIBRARIES = ("httpx2", "msgspec", "pyyaml", "jsonschema-rs", "rich")

# What other programs would heed. Session keys in a file, or credentials from one, are never ours to use.
_NEVER_HEEDED = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSLKEYLOGFILE", "NETRC")
# libpq's own variables; they reach only a shared store.
_POSTGRES = (
    "PGHOST",
    "PGHOSTADDR",
    "PGPASSWORD",
    "PGPASSFILE",
    "PGSERVICE",
    "PGSERVICEFILE",
    "PGSYSCONFDIR",
    "PGSSLMODE",
    "PGSSLROOTCERT",
    "PGOPTIONS",
)

_entries_max = 20_000  # files and folders that the search for plan files walks
_sniffed_bytes = 64  # of a file, to know a plan by
_PLAN = re.compile(
    rb'\{\s*"adoptions"'
)  # how a plan file begins, for its keys are in order; encrypted ones are closed
_listed_max = 3  # files that one line names


def check_settings(around: Surroundings) -> tuple[Surroundings, tuple[CheckResult, ...]]:
    """Which files and variables decide, or every mistake in them; and the surroundings with what they say."""
    try:
        read = around.readable(service=False)
    except SettingsError as error:
        return around, describe_mistakes("settings", error)
    layers = read.layers
    ours = sorted({value.variable for value in layers.values.values() if value.variable})
    section = f", environment {layers.environment}" if layers.environment else ""
    over = f"; overridden by {', '.join(ours)}" if ours else ""
    what = f"{layers.shown}{section}, stack {read.settings.stack}{over}"
    return replace(around, read=read), (CheckResult("settings", "ok", what),)


def check_secrets(around: Surroundings) -> tuple[Surroundings, tuple[CheckResult, ...]]:
    """Whether each secret is there, and fit to be sent; and the surroundings with them. None is shown."""
    if around.read is None:
        return around, (make_unchecked("secrets", "the settings"),)
    try:
        complete: Settings | None = around.readable(service=True).settings
    except SettingsError as error:
        # What is wrong with the way to the service has lines of its own.
        ours = tuple(one for one in error.problems if one not in error.of_network)
        if ours or not error.problems:
            return around, describe_mistakes("secrets", settings_error(*ours) if ours else error)
        complete = None
    what = f"{len(SERVICE_SECRETS)} of {len(SERVICE_SECRETS)} present (never shown)"
    return replace(around, complete=complete), (CheckResult("secrets", "ok", what),)


def check_manifests(around: Surroundings) -> tuple[CheckResult, ...]:
    """Whether the manifests can be used; all of their mistakes are for `validate`."""
    if around.read is None:
        return (make_unchecked("manifests", "the settings"),)
    desired = pipeline.validate(around.read.settings, around.environ)
    what, warnings = describe_kinds(desired.entities), len(desired.notices)
    if warnings:
        what = f"{what}; {count(warnings, 'warning')}"
        return (CheckResult("manifests", "warn", what, "reconciler validate shows what is probably wrong"),)
    return (CheckResult("manifests", "ok", what),)


def check_limits(around: Surroundings) -> tuple[CheckResult, ...]:
    """How hard we may press."""
    if around.read is None:
        return (make_unchecked("limits", "the settings"),)
    now = around.read.settings.service.limits
    others = (
        f"{now.concurrency} at once, {now.timeout_s:g} s a call, {now.deadline_s:,.0f} s a run, "
        f"{now.settle_s:g} s to settle"
    )
    if now.requests_per_second:
        return (CheckResult("limits", "ok", f"{now.requests_per_second:g} calls a second, {others}"),)
    hint = "set service.limits.requests_per_second to what the service allows"
    return (CheckResult("limits", "warn", f"no limit on calls a second, {others}", hint),)


def check_files(around: Surroundings) -> tuple[CheckResult, ...]:
    """Whether others on this machine may read or change what holds people's data, or decides for us."""
    if sys.platform == "win32":  # its rights are not in the mode
        return (CheckResult("files", "ok", "permissions are those of the folder"),)
    root = around.read.layers.root if around.read else around.cwd
    found = [*_check_settings_files(around.read), *(_check_plan_files(root) if root else ())]
    return tuple(found) or (
        CheckResult("files", "ok", "settings, secrets and plans are not readable by others"),
    )


def _check_settings_files(read: ReadSettings | None) -> Iterator[CheckResult]:
    if read is None:
        return
    if trust.others_may_write(read.layers.file):  # and they were read: their folder is named as safe
        yield CheckResult(
            "files",
            "warn",
            f"others may write {read.layers.shown}, and change where credentials are sent",
            f"chmod go-w {read.layers.shown}",
        )
    for name in MAYBE_REFERENCES:
        raw = read.layers.value_of(name).raw
        path = raw.get("file") if isinstance(raw, dict) else None
        if path and read_mode(read.layers.root / path) & OPEN_TO_OTHERS:
            yield CheckResult("files", "warn", f"{name}: others may read {path}", f"chmod 600 {path}")


def _check_plan_files(root: Path) -> Iterator[CheckResult]:
    """Yield one warning for all plans that lie open: they hold people's data."""
    wide = sorted(
        path.relative_to(root).as_posix() for path in _iterate_json_files(root) if _is_open_plan(path)
    )
    if not wide:
        return
    rest = f" and {len(wide) - _listed_max} more" if len(wide) > _listed_max else ""
    yield CheckResult(
        "files",
        "warn",
        f"others may read {count(len(wide), 'plan file')}: {', '.join(wide[:_listed_max])}{rest}",
        "delete applied plans; protect the others: chmod 600 FILE",
    )


def _iterate_json_files(root: Path) -> Iterator[Path]:
    """Yield what may be a plan, below `root` and not in hidden folders, as far as the walk may go."""
    seen = 0
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if not name.startswith(".")]
        seen += len(below) + len(names)
        if seen > _entries_max:
            return
        yield from (Path(folder, name) for name in names if name.endswith((".json", ".plan")))


def _is_open_plan(path: Path) -> bool:
    mode = read_mode(path)
    if not stat.S_ISREG(mode) or not mode & OPEN_TO_OTHERS:
        return False
    try:
        with path.open("rb") as file:
            return _PLAN.match(file.read(_sniffed_bytes)) is not None
    except OSError:
        return False


def read_mode(path: Path) -> int:
    """Return the mode of what stands there itself, links not followed; 0 for nothing."""
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


def check_network_route(around: Surroundings) -> tuple[CheckResult, ...]:
    """Which proxy and which certificates are in effect, what decided, and which variables have no effect."""
    if around.read is None:
        return tuple(make_unchecked(name, "the settings") for name in ("proxies", "certificates"))
    layers, environ = around.read.layers, around.environ
    known = around.complete.service.network.proxy if around.complete else None
    through = network.choose_proxy(layers, environ, known=known)
    trusted = network.choose_certificates(layers, environ)
    ignored = [name for name in _NEVER_HEEDED if environ.get(name)]
    return (
        *_make_route_check("proxies", through.description, through.problem),
        *_make_route_check("certificates", trusted.description, trusted.problem),
        *(() if not ignored else (_warn_of_unused_variables(ignored),)),
        *_check_store_variables(around.read.settings.store, environ),
    )


def _make_route_check(name: str, told: str, problem: Problem | None) -> tuple[CheckResult, ...]:
    return (
        (CheckResult(name, "ok", told),)
        if problem is None
        else describe_mistakes(name, settings_error(problem))
    )


def _warn_of_unused_variables(names: list[str]) -> CheckResult:
    what = f"{', '.join(names)}: set, but ignored by reconciler"
    hint = "set service.network.ca to the certificates, and service.auth to the credentials"
    return CheckResult("certificates", "warn", what, hint)


def _check_store_variables(store: str, environ: Mapping[str, str]) -> tuple[CheckResult, ...]:
    libpq = [name for name in _POSTGRES if environ.get(name)]
    if not libpq or not store.startswith("postgresql"):
        return ()
    return (CheckResult("database", "ok", f"{', '.join(libpq)} used for the store"),)


def check_program(_around: Surroundings) -> tuple[CheckResult, ...]:
    """Versions of what decides how we behave."""
    found, missing = [], []
    for name in _LIBRARIES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    shown = [
        f"reconciler {__version__}",
        f"Python {platform.python_version()}",
        *found,
        f"SQLite {sqlite3.sqlite_version}",
        ssl.OPENSSL_VERSION.partition("  ")[0],
    ]
    if missing:
        what = f"not installed: {', '.join(missing)}"
        return (CheckResult("program", "fail", what, "install this program again from its source"),)
    return (CheckResult("program", "ok", ", ".join(shown)), *_check_namesake())


def _check_namesake() -> Iterator[CheckResult]:
    """Tell of a distribution with the name of our package: its files are in the same folder as ours.

    It is another project's, or ours of when it was called so. Which of the two wrote a file last, is unknown.
    """
    try:
        found = importlib.metadata.version(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return
    what = f"the distribution {_PACKAGE} {found} is installed too: not this program ({DISTRIBUTION})"
    hint = "both install into the same folder: create a new environment, and install this program there"
    yield CheckResult("program", "warn", what, hint)


def check_extras(_around: Surroundings) -> tuple[CheckResult, ...]:
    """Which extras are installed, in which versions, and which are not: none of them has to be."""
    there = [name for name in EXTRAS if is_extra_installed(name)]
    missing = [name for name in EXTRAS if name not in there]
    shown = [f"{name} ({', '.join(installed_versions(name))})" for name in there]
    what = ", ".join(shown) or "none"
    if not missing:
        return (CheckResult("extras", "ok", what),)
    what = f"{what}; not installed: {', '.join(missing)}"
    return (CheckResult("extras", "ok", what, f"for all of them: {install_hint(*missing)}"),)
