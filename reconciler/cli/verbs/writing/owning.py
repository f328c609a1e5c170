"""`reconciler adopt` and `forget` at work: what is ours changes, and what is live stays as it is.

A plan and an apply like any other, with options that let nothing else into the plan.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import click

from reconciler import pipeline
from reconciler.cli.console import output
from reconciler.cli.console.events import Events, events_of
from reconciler.cli.session import context_of, patient, settings_of
from reconciler.cli.verbs.reviewing.reviews import UNASKED, Reviews
from reconciler.cli.verbs.writing.apply import Job, Undo, carry_out
from reconciler.cli.verbs.writing.screen import Screen, report
from reconciler.core.planning.deletes import find_unmarked
from reconciler.core.suggest import did_you_mean
from reconciler.errors import UnknownAddress
from reconciler.manifest.cache import Declaration
from reconciler.model.address import Address, parse_address
from reconciler.model.plans import Consent, Options
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired
from reconciler.pipeline import PlanResult


def forget(*, events: str | None, as_json: bool, **given: Any) -> int:
    """Own these no longer where somebody agrees; return the exit code."""
    told = events_of(events, as_json=as_json)
    with told.of_command():
        return _forgotten(told, as_json=as_json, **given)


def _forgotten(
    events: Events, *, addresses: Sequence[str], yes: bool, full: bool, as_json: bool, **given: Any
) -> int:
    _check_asking(events, yes=yes, as_json=as_json)
    settings = patient(
        settings_of(given["config"], given["environment"], service=True), given["lock_timeout"]
    )
    found = pipeline.load_declaration(settings, os.environ)
    desired = found.desired
    named = _named(addresses, settings, desired)
    options = Options(only=named, forget=named)
    # Whoever names an address has agreed to the one write that it may take.
    consent = Consent(updates=len(named))
    job = _job(settings, found, options, consent, _again("forget", named, given))
    return _done("forget", job, events, Forgetting, ask=not yes, full=full, as_json=as_json)


def adopt(*, events: str | None, as_json: bool, **given: Any) -> int:
    """Own these from now on, as they are, where somebody agrees; return the exit code."""
    told = events_of(events, as_json=as_json)
    with told.of_command():
        return _adopted(told, as_json=as_json, **given)


def _adopted(
    events: Events,
    *,
    addresses: Sequence[str],
    everything: bool,
    yes: bool,
    full: bool,
    as_json: bool,
    **given: Any,
) -> int:
    if everything == bool(addresses):
        raise click.UsageError("give addresses, or --all for everything that is declared.")
    _check_asking(events, yes=yes, as_json=as_json)
    settings = patient(
        settings_of(given["config"], given["environment"], service=True), given["lock_timeout"]
    )
    found = pipeline.load_declaration(settings, os.environ)
    desired = found.desired
    options = Options(only=_declared(addresses, desired), adopt=True)
    words = ("--all",) if everything else tuple(addresses)
    job = _job(settings, found, options, Consent(), _again("adopt", words, given))
    return _done("adopt", job, events, Adopting, ask=not yes, full=full, as_json=as_json)


def _done(
    verb: str, job: Job, events: Events, screen: type[Screen], *, ask: bool, full: bool, as_json: bool
) -> int:
    """Carry out what is to be owned or not, report it, and return the exit code."""
    reviews = Reviews(verb, UNASKED)
    with reviews.of_refused():
        run = carry_out(
            job,
            Undo(None, ()),
            events,
            ask=ask,
            full=full,
            as_json=as_json,
            screen=screen,
            hears=reviews.hear,
        )
    return report(run, events=events, full=full, as_json=as_json, reviews=reviews)


def _check_asking(events: Events, *, yes: bool, as_json: bool) -> None:
    if not yes and (as_json or events.on_stdout or not output.can_ask()):
        raise click.UsageError("nobody can be asked here: give --yes.")


def _declared(texts: Sequence[str], desired: Desired) -> tuple[str, ...]:
    """Return the addresses and those declared below them. Raises UnknownAddress for what is not declared."""
    for text in texts:
        if text not in desired.entities:
            known = map(str, desired.entities)
            raise UnknownAddress(
                f"{text!r} is not declared, and only what is declared can be adopted.",
                next=did_you_mean(
                    "entity", text, known, "declare it first; reconciler plan --full shows addresses"
                ),
            )
    below = (str(one) for one in desired.entities if one.above is not None and one.above in texts)
    return tuple(dict.fromkeys((*texts, *below)))


def _again(verb: str, words: Sequence[str], given: Mapping[str, Any]) -> str:
    """Return the command line that asks once more."""
    chosen = [f"--{name}={given[name]}" for name in ("config", "environment") if given[name]]
    return shlex.join(["reconciler", verb, *words, *chosen])


def _job(settings: Settings, found: Declaration, options: Options, consent: Consent, again: str) -> Job:
    return Job(
        settings=settings,
        desired=found.desired,
        context=context_of(settings, found.inputs),
        options=options,
        consent=consent,
        saved=None,
        again=again,
        undo=None,
        recipients=(),
        fail_fast=False,
    )


def _named(texts: Sequence[str], settings: Settings, desired: Desired) -> tuple[str, ...]:
    """Return the addresses once each. Raises UnknownAddress for what is none, unknown or declared."""
    for text in texts:
        address = parse_address(text)
        if address is None or address != address.base:
            raise UnknownAddress(
                f"{text!r} is not an address.", next="write one as plans show it: contact/ops/jane-doe"
            )
        if address.workspace not in {*settings.workspaces, "default"}:
            raise UnknownAddress(
                f"{text}: the workspace {address.workspace} is not in the settings.",
                next=did_you_mean(
                    "workspace", address.workspace, settings.workspaces, "see reconciler config"
                ),
            )
        if address in desired.entities:
            raise UnknownAddress(
                f"{text} is still declared, {desired.entities[address].place}: it would be adopted again.",
                next="take its entry out of the manifest first",
            )
    return tuple(dict.fromkeys(texts))


def _not_ours(text: str, planned: PlanResult) -> UnknownAddress:
    """Return why nothing is forgotten under an address."""
    if text in planned.recorded.entities:
        return UnknownAddress(
            f"{text} is who another entry declares now, so it is not forgotten.",
            next="see which: reconciler plan; take that entry out of the manifest first",
        )
    otherwise = "compare it with the addresses that `reconciler history` shows"
    return UnknownAddress(
        f"{text} is not ours: nothing is recorded under this address.",
        next=did_you_mean("entity", text, map(str, planned.recorded.entities), otherwise),
    )


class Adopting(Screen):
    """Asks though nothing is written to the service: from now on the manifest decides."""

    def question(self, planned: PlanResult) -> str:
        """Return what is asked: the number is what is adopted."""
        number = len(planned.plan.adoptions)
        return f"Adopt {number} as they are?" if number else ""


class Forgetting(Screen):
    """Asks also where nothing is written to the service."""

    def planned(self, planned: PlanResult) -> None:
        """Show what is forgotten. Raises UnknownAddress for an address under which nothing is known."""
        plan = planned.plan
        known: set[Address | str] = {
            *plan.forgotten,
            *find_unmarked(plan),
            *(one.address for one in plan.skips),
        }
        known |= {notice.subject for notice in plan.notices}
        for text in plan.options.forget:
            if text not in known:
                raise _not_ours(text, planned)
        super().planned(planned)

    def question(self, planned: PlanResult) -> str:
        """Return what is asked: the number is what is forgotten, with what belongs to it."""
        number = len({*planned.plan.forgotten, *find_unmarked(planned.plan)})
        return f"Forget {number} of what is recorded here?" if number else ""
