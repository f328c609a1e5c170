"""The plan that the options of a command line ask for: shared by plan, drift and apply."""

import shlex
from collections.abc import Mapping
from typing import Any

import click
from msgspec import UNSET

from reconciler import pipeline
from reconciler.cli.console import output
from reconciler.cli.session import (
    load_settings,
    make_dependencies,
    read_declaration,
    read_project_checkout,
    read_run_context,
    run_to_end,
    with_refresh_mode,
)
from reconciler.core.planning.deletes import uncertain_notices
from reconciler.core.review.guard import plan_exit_code
from reconciler.engine.planning import list_written_contents
from reconciler.files.encryption import collect_recipients
from reconciler.model.address import Address
from reconciler.model.plans import Consent, Options
from reconciler.pipeline import PlanResult
from reconciler.report.phrases import describe_input_differences

# What of a command line leads to the same plan, and so belongs to the command that carries it out.
_REPEATED = {
    "config": "--config",
    "environment": "--environment",
    "only": "--only",
    "excluded": "--except",
    "reactivate": "--reactivate",
    "same_service": "--same-service",
    "create_again": "--create-again",
    "confirm_same": "--confirm-same",
    "allow_deletes": "--allow-deletes",
    "allow_creates": "--allow-creates",
    "allow_updates": "--allow-updates",
    "allow_fewer_rows": "--allow-fewer-rows",
    "allow_moves": "--allow-moves",
}
_IN_THE_FILE = {
    "only",
    "excluded",
    "reactivate",
    "same_service",
    "create_again",
    "confirm_same",
    *(f"allow_{what}" for what in Consent.__struct_fields__),
}  # a plan file holds these, and apply refuses others beside it


def make_next_step(file: str | None, given: Mapping[str, Any]) -> str:
    """Return the command that carries out this plan and no other: same environment, same consent."""
    words = ["reconciler", "apply", *([file] if file else [])]
    for name, flag in _REPEATED.items():
        value = given.get(name)
        if isinstance(value, bool):
            words += [flag] if value and not (file and name in _IN_THE_FILE) else []
            continue
        values = value if isinstance(value, tuple) else () if value is None else (value,)
        if not (file and name in _IN_THE_FILE):
            words += [word for each in values for word in (flag, str(each))]
    return shlex.join(words)


def make_plan_for_options(given: Mapping[str, Any]) -> PlanResult:
    """Return the plan that the options of a command line ask for."""
    settings = load_settings(given["config"], given["environment"], service=True)
    settings = with_refresh_mode(settings, given["refresh"])
    declared = read_declaration(settings, given["only"])
    checkout = read_project_checkout(settings, declared.inputs)
    with output.progress() as bars:
        bars.advance("reading the service", 0, None)
        planned = run_to_end(
            lambda _signals: pipeline.plan(
                settings,
                declared.desired,
                make_dependencies(settings, read_run_context(settings, checkout=checkout)),
                options=make_plan_options(given),
                consent=make_consent(given),
                made_of=declared.made_of,
            )
        )
    if checkout.dirty:
        output.note(
            f"files differ from commit {checkout.commit}: {describe_input_differences(checkout.differences)}."
        )
    if checkout.unreadable:
        output.note(f"not compared with a commit: the repository cannot be read: {checkout.reason}.")
    return planned


def read_plan_recipients(given: Mapping[str, Any], missing: str) -> tuple[str, ...]:
    """Return the public keys that a file is encrypted to: of the options and of the settings.

    They are read before anything is planned. `missing` is the option for the file where it was not given:
    then there are no keys, and UsageError is raised for any that is. Raises InputError, FileError.
    """
    if missing:
        if given["encrypt_to"] or given["recipients_file"]:
            raise click.UsageError(
                f"--encrypt-to and --recipients-file need a file to encrypt: pass {missing}."
            )
        return ()
    settings = load_settings(given["config"], given["environment"], service=False)
    return collect_recipients((*settings.plan_recipients, *given["encrypt_to"]), given["recipients_file"])


def make_plan_options(given: Mapping[str, Any]) -> Options:
    """Return what the options of a command line say about which plan is made."""
    return Options(
        given["only"],
        given["excluded"],
        given.get("reactivate", ()),
        same_service=True if given.get("same_service") else UNSET,
        same=given.get("confirm_same") or UNSET,
        again=given.get("create_again") or UNSET,
    )


def make_consent(given: Mapping[str, Any]) -> Consent:
    """Return the numbers that a person has agreed to on the command line."""
    return Consent(**{what: given.get(f"allow_{what}") or 0 for what in Consent.__struct_fields__})


def find_plan_exit_code(planned: PlanResult, *, detailed: bool) -> int:
    """Return the exit code of a plan that was made, see `plan_exit_code`."""
    several = bool(uncertain_notices(planned.plan, planned.desired))
    return plan_exit_code(planned.plan, planned.verdict, ambiguous=several, detailed=detailed)


def content_sizes(planned: PlanResult) -> dict[Address, int]:
    """Return the octets of content by address of what is written, which the plan itself does not hold."""
    contents = list_written_contents(planned.plan, planned.desired)
    return {address: len(content.data) for address, content in contents.items()}
