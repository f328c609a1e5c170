"""What `explain` reads and asks: the store, and the service as `plan --only` of the same addresses would.

Belongs here: which addresses are known, and what has to be read for them. Not here: what is said of them
(core/views/explain.py).
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from msgspec import structs

from reconciler.core.compare.match import former_names
from reconciler.core.desired.resolve import Resolved
from reconciler.core.planning.select import Selection, check_selection
from reconciler.core.planning.select import list_addresses as selectable
from reconciler.core.rules import Rules, make_rules
from reconciler.core.suggest import did_you_mean
from reconciler.core.views.explain import ExplainRequest, PlanView, make_explanations, sources_of
from reconciler.engine.context import Dependencies, ReadContext
from reconciler.engine.planning import make_fresh_plan
from reconciler.engine.resources import open_for_reading, open_run_store
from reconciler.errors import UnknownAddress
from reconciler.model.address import Address, parse_address
from reconciler.model.plans import Consent, Explanation, Options
from reconciler.model.settings import Settings
from reconciler.model.snapshots import Desired, Scope
from reconciler.store.database import Store, await_store

_EXAMPLE = "use the form that plans show: contact/ops/jane-doe"
_COMPARE = "compare it with the addresses that `reconciler list` shows"


async def explain_addresses(
    settings: Settings,
    declared: Resolved,
    dependencies: Dependencies,
    texts: Sequence[str],
    *,
    selection: Selection,
    offline: bool,
) -> tuple[Explanation, ...]:
    """Return the explanation of each address that `texts` write, once each, in their order.

    Sends nothing but GET, and nothing at all where `offline`, or where no manifest speaks of what they are.
    Raises UnknownAddress for what is no address, or neither declared nor recorded.
    """
    async with open_run_store(settings, dependencies, create=False) as store:
        looking = partial(_load_evidence, store, texts, declared, make_rules(settings), selection)
        addresses, known = await await_store(dependencies.offload, looking, give_up=store.give_up)
    asked = () if offline else tuple(one for one in addresses if _is_in_scope(declared.desired, one))
    found = {one.address: one for one in make_explanations([a for a in addresses if a not in asked], known)}
    if asked:
        part = _narrow_to_workspaces(declared.desired, asked)
        async with open_for_reading(settings, part, dependencies) as context:
            planned = await _add_plan(replace(context, desired=part), known, asked)
        found |= {one.address: one for one in make_explanations(asked, planned)}
    return tuple(found[one] for one in addresses)


def _load_evidence(
    store: Store, texts: Sequence[str], declared: Resolved, rules: Rules, selection: Selection
) -> tuple[tuple[Address, ...], ExplainRequest]:
    """Return the addresses, and what manifests and store know of them. Raises UnknownAddress.

    Of the store that is what is recorded where it is certain which workspace an alias means.
    """
    workspaces = store.workspaces()
    stored = store.recorded(workspaces)
    addresses = _parse_addresses(texts, declared.desired, {*stored.entities, *store.addresses().values()})
    check_selection(selection, selectable(declared.desired, stored))
    sources = {
        one: sources_of(declared.declared[one], rules) for one in addresses if one in declared.declared
    }
    recorded_as = {*addresses, *_list_former_addresses(declared.desired, addresses)}
    writes = store.last_writes(sorted(recorded_as), workspaces)
    return addresses, ExplainRequest(declared.desired, stored, rules, sources, writes, selection=selection)


def _list_former_addresses(desired: Desired, addresses: Collection[Address]) -> Collection[Address]:
    """Return the addresses under which these, or what they belong to, were recorded before a rename."""
    entities = [desired.entities[one] for one in addresses if one in desired.entities]
    return former_names(entities).values()


def _parse_addresses(
    texts: Sequence[str], desired: Desired, recorded: Collection[Address]
) -> tuple[Address, ...]:
    """Return the addresses once each. Raises UnknownAddress for the first that nobody knows."""
    known = {*desired.entities, *desired.removed, *recorded}
    found: dict[Address, None] = {}
    for text in texts:
        address = parse_address(text)
        if address is None:
            raise UnknownAddress(
                f"{text!r} is not an address.",
                next=did_you_mean("entity to look at", text, map(str, known), _EXAMPLE),
            )
        if address.base not in known:
            what = f"{text} is neither declared nor recorded here."
            raise UnknownAddress(
                what, next=did_you_mean("entity to look at", text, map(str, known), _COMPARE)
            )
        found[address.base] = None
    return tuple(found)


def _is_in_scope(desired: Desired, address: Address) -> bool:
    """Whether a plan has something to say of an address: its kind is in scope, or it leaves."""
    return Scope.of(address.above or address) in desired.scopes or address in desired.removed


def _narrow_to_workspaces(desired: Desired, addresses: Collection[Address]) -> Desired:
    """Return what is declared in the workspaces of these addresses; the others need not be looked up."""
    names = {one.workspace for one in addresses}
    return structs.replace(
        desired,
        entities={one: entity for one, entity in desired.entities.items() if one.workspace in names},
        scopes=frozenset(scope for scope in desired.scopes if scope.workspace in names),
        removed={one: place for one, place in desired.removed.items() if one.workspace in names},
    )


async def _add_plan(
    context: ReadContext, known: ExplainRequest, addresses: Sequence[Address]
) -> ExplainRequest:
    """Return the same with the plan of these addresses, and what it saw."""
    only = tuple(map(str, addresses))
    planned = await make_fresh_plan(context, Options(only=only), Consent())
    seen = PlanView(planned.live, planned.plan, planned.verdict)
    workspaces = planned.plan.target.workspaces
    wanted = sorted({*addresses, *_list_former_addresses(planned.desired, addresses)})
    writes = await context.ask(lambda store: store.last_writes(wanted, workspaces))
    return structs.replace(
        known, desired=planned.desired, recorded=planned.recorded, writes=writes, seen=seen
    )
