"""`reconciler sandbox` at work: the whole service on loopback, until it is stopped."""

from collections.abc import Mapping
from typing import Any

import click
import msgspec

from reconciler import signals
from reconciler.cli.console import output
from reconciler.cli.verbs.service.ports import refused_port
from reconciler.cli.verbs.service.sandbox_rows import rows_of
from reconciler.errors import FileError, InputError, ReconcilerError
from reconciler.sandbox.app import SandboxConfig, serve_sandbox
from reconciler.sandbox.faults import FaultRule
from reconciler.sandbox.state import DataFileError
from reconciler.service.profile import load_profile


def sandbox(*, port: int, profile: str | None, **given: Any) -> int:
    """Serve until a signal. Options are those of `SandboxConfig`; None is its default."""
    served = load_profile(_path_of(profile)) if profile is not None else None
    if served is not None:
        given["vendor"] = given["vendor"] or served.vendor
    config = configured(given)
    try:
        serve_sandbox(
            config,
            collections=rows_of(served) if served is not None else (),
            port=port,
            on_ready=lambda address: _ready(address, config.named_workspaces()),
        )
    except OSError as error:
        raise _unusable(error, port) from error
    output.note("sandbox stopped.")
    return 0


def configured(given: Mapping[str, Any]) -> SandboxConfig:
    """Return the configuration that the options write. Raises UsageError."""
    found = {name: value for name, value in given.items() if value is not None}
    faults = tuple(_fault(line) for line in found.pop("faults"))
    if "resource_put" in found:
        found["resource_put"] = int(found["resource_put"])
    try:
        return SandboxConfig.like(found.pop("like"), **found, faults=faults)
    except ValueError as error:
        raise click.UsageError(f"{error}.") from error


def _path_of(profile: str) -> str:
    if not profile.endswith(".yaml"):
        raise click.BadParameter(f"{profile!r} is no file that ends in .yaml.", param_hint="'--profile'")
    return profile


def _fault(line: str) -> FaultRule:
    """Return the rule that `NAME[,OPTION=VALUE]...` writes. Raises BadParameter."""
    name, *options = line.split(",")
    values = _options(line, options)
    try:
        return msgspec.convert({**values, "fault": name}, FaultRule, strict=False)
    except msgspec.ValidationError as error:
        _, _, option = str(error).rstrip("`").partition("`$.")
        why = f"{option} cannot be {values[option]!r}" if option in values else str(error)
        raise _bad_fault(line, f": {why}.") from error


def _options(line: str, written: list[str]) -> dict[str, str | None]:
    pairs = [option.partition("=") for option in written]
    if any(not equals for _, equals, _ in pairs):
        raise _bad_fault(line, " is not NAME[,OPTION=VALUE]...")
    values = {key: None if value == "null" else value for key, _, value in pairs}
    known = [one for one in FaultRule.__struct_fields__ if one != "fault"]
    unknown = [key for key in values if key not in known]
    if unknown:
        raise _bad_fault(line, f": a fault has no option {unknown[0]!r}; it has {', '.join(known)}.")
    return values


def _bad_fault(line: str, what: str) -> click.BadParameter:
    return click.BadParameter(f"{line!r}{what}", param_hint="'--fault'")


def _ready(address: str, workspaces: tuple[tuple[str, str], ...]) -> None:
    signals.set_reaction(signals.leave_to_server)
    named = "".join(f"\n  workspace {name} has the id {found}" for name, found in workspaces)
    output.data(f"sandbox ready at {address}")
    output.note(
        f"  settings: service.base_url: {address}, or RECONCILER_SERVICE_BASE_URL={address}\n"
        "  credentials: what --username, --password and --api-key say (demo, demo, demo-key)"
        f"{named}\n  stop it with Ctrl-C"
    )


def _unusable(error: OSError, port: int) -> ReconcilerError:
    if isinstance(error, DataFileError):
        return FileError(f"{error}.", next="name another file with --data, or leave it out")
    return refused_port(error, "127.0.0.1", port, command="sandbox", example=8480) or InputError(
        f"the sandbox cannot start: {(error.strerror or str(error)).lower()}.", next="try --port 0"
    )
