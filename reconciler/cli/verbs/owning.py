"""`reconciler forget` at work: what the store knows of some entities goes, and what is live stays.

A plan and an apply like any other, with options that let nothing else into the plan.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import click

from reconciler import pipeline
from reconciler.cli import output
from reconciler.cli.running import context_of, patient, settings_of
from reconciler.cli.verbs.apply import Job, Undo, carry_out
from reconciler.cli.verbs.screen import Screen, report
from reconciler.core.guard import Consent
from reconciler.core.leaving import unmarking
from reconciler.core.suggest import did_you_mean
from reconciler.errors import UnknownAddress
from reconciler.model.address import Address, parse
from reconciler.model.plans import Options
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired
from reconciler.pipeline import Planned


def forget(*, addresses: Sequence[str], yes: bool, full: bool, as_json: bool, **given: Any) -> int:
    """Own these no longer where somebody agrees; return the exit code."""
    if not yes and (as_json or not output.can_ask()):
        raise click.UsageError("nobody can be asked here: give --yes.")
    settings = patient(
        settings_of(given["config"], given["environment"], service=True), given["lock_timeout"]
    )
    desired = pipeline.validate(settings, os.environ)
    named = _named(addresses, settings, desired)
    # Whoever names an address has agreed to the one write that it may take.
    job = _job(settings, desired, Options(only=named, forget=named), Consent(updates=len(named)), given)
    run = carry_out(job, Undo(None, ()), ask=not yes, full=full, as_json=as_json, screen=Forgetting)
    return report(run, full=full, as_json=as_json)


def _job(
    settings: Settings, desired: Desired, options: Options, consent: Consent, given: Mapping[str, Any]
) -> Job:
    words = ["reconciler", "forget", *options.forget]
    for name in ("config", "environment"):
        words += [f"--{name}", str(given[name])] if given[name] else []
    return Job(
        settings=settings,
        desired=desired,
        context=context_of(settings),
        options=options,
        consent=consent,
        saved=None,
        again=shlex.join(words),
        undo=None,
        recipients=(),
        fail_fast=False,
    )


def _named(texts: Sequence[str], settings: Settings, desired: Desired) -> tuple[str, ...]:
    """Return the addresses once each. Raises UnknownAddress for what is none, unknown or declared."""
    for text in texts:
        address = parse(text)
        if address is None or address != address.base:
            raise UnknownAddress(
                f"{text!r} is not an address.", next="write one as plans show it: contact/ops/jane-doe"
            )
        if address.workspace not in {*settings.workspaces, "default"}:
            raise UnknownAddress(
                f"{text}: the workspace {address.workspace} is not in the settings.",
                next=did_you_mean(address.workspace, settings.workspaces, "see reconciler config"),
            )
        if address in desired.entities:
            raise UnknownAddress(
                f"{text} is still declared, {desired.entities[address].place}: it would be adopted again.",
                next="take its entry out of the manifest first",
            )
    return tuple(dict.fromkeys(texts))


class Forgetting(Screen):
    """Asks also where nothing is written to the service."""

    def planned(self, planned: Planned) -> None:
        """Show what is forgotten. Raises UnknownAddress for an address under which nothing is known."""
        plan = planned.plan
        known: set[Address | str] = {*plan.forgotten, *unmarking(plan), *(one.address for one in plan.skips)}
        known |= {notice.subject for notice in plan.notices}
        for text in plan.options.forget:
            if text not in known:
                recorded = map(str, planned.recorded.entities)
                otherwise = "compare it with the addresses that `reconciler history` shows"
                raise UnknownAddress(
                    f"{text} is not ours: nothing is recorded under this address.",
                    next=did_you_mean(text, recorded, otherwise),
                )
        super().planned(planned)

    def question(self, planned: Planned) -> str:
        """Return what is asked: the number is what is forgotten, with what belongs to it."""
        number = len({*planned.plan.forgotten, *unmarking(planned.plan)})
        return f"Forget {number} of what is recorded here?" if number else ""
