"""`reconciler adopt` and `forget`: start or stop managing entities, and leave what is live as it is."""

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli import options
from reconciler.cli.console import output
from reconciler.cli.dispatch import Completes, prints_result
from reconciler.cli.results import ResultWork, RunReport
from reconciler.errors import UnknownAddress
from reconciler.model.address import parse_address
from reconciler.model.plans import Consent, Options
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired

if TYPE_CHECKING:
    from reconciler.cli.console.logs import Events
    from reconciler.cli.run_screen import Job, Screen
    from reconciler.manifest.cache import Declaration


# What both commands take, besides addresses.
_shared_options = options.combine_options(
    options.yes_option,
    options.lock_option,
    options.events_option,
    options.settings_options,
    options.strict_option,
    options.cache_option,
    options.full_option,
    options.format_option,
)


@click.command()
@click.argument("addresses", metavar="[ADDRESS]...", nargs=-1, shell_complete=Completes("addresses"))
@click.option(
    "--all", "everything", is_flag=True, help="Adopt every live entity that is declared and unmanaged."
)
@_shared_options
@prints_result
def adopt_command(
    *, addresses: tuple[str, ...], everything: bool, events: str | None, as_json: bool, **given: Any
) -> ResultWork[RunReport]:
    """Start managing live entities that are declared, without changing them at the service.

    Live entities are recognized as in a plan, and recorded as they are. Where they differ from the manifest,
    nothing is written to the service: the next plan shows the differences as updates. Nothing is created,
    updated or deleted at the service. An ADDRESS includes the entities that are declared below it, such as
    the devices of a contact.

    Reads settings, manifests, the store and the service; writes the store, caches of large manifests and
    of lists in .reconciler/cache, and nothing at the service.

    Exit codes: 0 done; 1 failed; 3 the input is invalid, or an address is not declared; 4 another run holds
    the lock; 5 an entity is ambiguous; 7 you declined; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler adopt --all
        reconciler adopt --yes contact/ops/jane-doe
    """
    from reconciler.cli.console.logs import open_events
    from reconciler.cli.run_screen import Adopting

    told = open_events(events, as_json=as_json)
    with told.of_command():
        if everything == bool(addresses):
            raise click.UsageError("pass addresses, or --all for everything that is declared.")
        settings, declared = _load_declaration(told, given, as_json=as_json)
        selected = _select_declared(addresses, declared.desired)
        words = ("--all",) if everything else addresses
        job = _make_job(
            settings,
            declared,
            Options(only=selected, adopt=True),
            Consent(),
            _repeat_command("adopt", words, given),
        )
        return (yield from _carry_out("adopt", job, told, Adopting, given, as_json=as_json))


# --- `reconciler forget`: stops owning entities, and leaves what is live as it is -----------------


@click.command()
@click.argument(
    "addresses", metavar="ADDRESS...", nargs=-1, required=True, shell_complete=Completes("addresses")
)
@_shared_options
@prints_result
def forget_command(
    *, addresses: tuple[str, ...], events: str | None, as_json: bool, **given: Any
) -> ResultWork[RunReport]:
    """Stop managing these entities, and leave them at the service as they are.

    First remove the entry from the manifests: an entity that is still declared would be adopted again. An
    ADDRESS includes the entities that belong to it, such as the devices of a contact. If the settings ask for
    an ownership mark, the mark is removed from the entity; nothing else is written to the service. To forget
    an entity through git instead, list its name under `removed:` in a manifest.

    Reads settings, manifests, the store and the service; writes the store, the mark at the service, and
    caches of large manifests and of lists in .reconciler/cache.

    Exit codes: 0 done; 1 failed; 3 the input is invalid, or an address is still declared or is not known; 4
    another run holds the lock; 5 a conflict, or an entity is ambiguous; 6 applied in part; 7 the guard
    refused, or you declined; 8 in doubt: the outcome of a write is not known; 64 usage error; 130
    interrupted.

    \b
    Examples:
        reconciler forget contact/ops/jane-doe
        reconciler forget --yes contact/ops/jane-doe device/ops/john-roe/pixel
    """
    from reconciler.cli.console.logs import open_events
    from reconciler.cli.run_screen import Forgetting

    told = open_events(events, as_json=as_json)
    with told.of_command():
        settings, declared = _load_declaration(told, given, as_json=as_json)
        named = _require_undeclared(addresses, settings, declared.desired)
        # A person who names an address has agreed to the one write that it may take.
        consent = Consent(updates=len(named))
        again = _repeat_command("forget", named, given)
        job = _make_job(settings, declared, Options(only=named, forget=named), consent, again)
        return (yield from _carry_out("forget", job, told, Forgetting, given, as_json=as_json))


# --- `reconciler adopt` and `forget` at work: what is ours changes, and what is live stays as it is
#
# A plan and an apply like any other, with options that let nothing else into the plan.


def _load_declaration(
    events: "Events", given: Mapping[str, Any], *, as_json: bool
) -> "tuple[Settings, Declaration]":
    """Return the settings and what manifests declare. Raises UsageError where nobody could be asked."""
    from reconciler.cli.session import load_settings, read_declaration, with_lock_timeout

    if not given["yes"] and (as_json or events.on_stdout or not output.can_ask()):
        raise click.UsageError("not a terminal: pass --yes.")
    settings = with_lock_timeout(
        load_settings(given["config"], given["environment"], service=True), given["lock_timeout"]
    )
    return settings, read_declaration(settings)


def _carry_out(
    command: str,
    job: "Job",
    events: "Events",
    screen: "type[Screen]",
    given: Mapping[str, Any],
    *,
    as_json: bool,
) -> ResultWork[RunReport]:
    """Adopt or forget, and yield how the run ended."""
    from reconciler.cli.review_files import UNASKED, Reviews
    from reconciler.cli.run_screen import Undo, carry_out, report_run

    reviews, full = Reviews(command, UNASKED), given["full"]
    with reviews.of_refused():
        run = carry_out(
            job,
            Undo(None, ()),
            events,
            ask=not given["yes"],
            full=full,
            as_json=as_json,
            screen=screen,
            hears=reviews.hear,
        )
    return (yield from report_run(run, RunReport, events=events, full=full, reviews=reviews))


def _select_declared(texts: Sequence[str], desired: Desired) -> tuple[str, ...]:
    """Return the addresses and those declared below them. Raises UnknownAddress for what is not declared."""
    from reconciler.core.suggest import did_you_mean

    for text in texts:
        if text not in desired.entities:
            known = map(str, desired.entities)
            raise UnknownAddress(
                f"{text!r} is not declared; only declared entities can be adopted.",
                next=did_you_mean(
                    "entity", text, known, "declare it first; reconciler plan --full shows addresses"
                ),
            )
    below = (str(one) for one in desired.entities if one.above is not None and one.above in texts)
    return tuple(dict.fromkeys((*texts, *below)))


def _repeat_command(verb: str, words: Sequence[str], given: Mapping[str, Any]) -> str:
    """Return the command line that a person who said no can repeat."""
    chosen = [f"--{name}={given[name]}" for name in ("config", "environment") if given[name]]
    return shlex.join(["reconciler", verb, *words, *chosen])


def _make_job(
    settings: Settings, found: "Declaration", options: Options, consent: Consent, again: str
) -> "Job":
    from reconciler.cli.run_screen import Job
    from reconciler.cli.session import read_run_context

    return Job(
        settings=settings,
        desired=found.desired,
        context=read_run_context(settings, found.inputs),
        options=options,
        consent=consent,
        saved=None,
        again=again,
        undo=None,
        recipients=(),
        fail_fast=False,
    )


def _require_undeclared(texts: Sequence[str], settings: Settings, desired: Desired) -> tuple[str, ...]:
    """Return the addresses once each. Raises UnknownAddress for what is none, unknown or declared."""
    from reconciler.core.suggest import did_you_mean

    for text in texts:
        address = parse_address(text)
        if address is None or address != address.base:
            raise UnknownAddress(
                f"{text!r} is not an address.", next="use the form that plans show: contact/ops/jane-doe"
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
                next="remove its entry from the manifest first",
            )
    return tuple(dict.fromkeys(texts))
