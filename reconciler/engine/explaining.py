"""The evidence for `explain`: from the store, and from the service as `plan --only` of the same addresses.

What is said of it is in core/views/explain.py.
"""

from collections.abc import Collection, Sequence

from msgspec import structs

from reconciler.core.compare.match import former_names
from reconciler.core.desired.resolve import Resolved
from reconciler.core.planning.select import Selection, check_selection
from reconciler.core.planning.select import list_addresses as selectable
from reconciler.core.rules import Rules
from reconciler.core.suggest import did_you_mean
from reconciler.core.views.explain import ExplainRequest, PlanView, sources_of
from reconciler.engine.context import ReadContext
from reconciler.engine.planning import make_fresh_plan
from reconciler.errors import UnknownAddress
from reconciler.model.address import Address, parse_address
from reconciler.model.plans import Consent, Options
from reconciler.model.snapshots import Desired, Scope
from reconciler.store.database import Store

_EXAMPLE = "use the form that plans show: contact/ops/jane-doe"
_COMPARE = "compare it with the addresses that `reconciler list` shows"


def load_explain_evidence(
    store: Store, texts: Sequence[str], declared: Resolved, rules: Rules, selection: Selection
) -> tuple[tuple[Address, ...], ExplainRequest]:
    """Return the addresses, and what manifests and store know of them. Raises UnknownAddress.

    The store's records count where it is certain which workspace an alias means.
    """
    workspaces = store.workspaces()
    stored = store.recorded(workspaces)
    addresses = _parse_addresses(texts, declared.desired, {*stored.entities, *store.addresses().values()})
    check_selection(selection, selectable(declared.desired, stored))
    sources = {
        one: sources_of(declared.declared[one], rules) for one in addresses if one in declared.declared
    }
    recorded_as = {*addresses, *_list_former_addresses(declared.desired, addresses)}
    writes = store.last_record_writes(sorted(recorded_as), workspaces)
    return addresses, ExplainRequest(declared.desired, stored, rules, sources, writes, selection=selection)


def _list_former_addresses(desired: Desired, addresses: Collection[Address]) -> Collection[Address]:
    """Return the addresses under which these, or what they belong to, were recorded before a rename."""
    entities = [desired.entities[one] for one in addresses if one in desired.entities]
    return former_names(entities).values()


def _parse_addresses(
    texts: Sequence[str], desired: Desired, recorded: Collection[Address]
) -> tuple[Address, ...]:
    """Return the addresses once each. Raises UnknownAddress for the first that is not known."""
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


def is_in_plan_scope(desired: Desired, address: Address) -> bool:
    """Whether a plan has something to say of an address: its kind is in scope, or it leaves."""
    return Scope.of(address.above or address) in desired.scopes or address in desired.removed


def narrow_to_workspaces(desired: Desired, addresses: Collection[Address]) -> Desired:
    """Return what is declared in the workspaces of these addresses; the others need not be looked up."""
    names = {one.workspace for one in addresses}
    return structs.replace(
        desired,
        entities={one: entity for one, entity in desired.entities.items() if one.workspace in names},
        scopes=frozenset(scope for scope in desired.scopes if scope.workspace in names),
        removed={one: place for one, place in desired.removed.items() if one.workspace in names},
    )


async def add_explain_plan(
    context: ReadContext, known: ExplainRequest, addresses: Sequence[Address]
) -> ExplainRequest:
    """Return `known` with the plan of these addresses, and with what the plan read."""
    only = tuple(map(str, addresses))
    planned = await make_fresh_plan(context, Options(only=only), Consent())
    seen = PlanView(planned.live, planned.plan, planned.verdict)
    workspaces = planned.plan.target.workspaces
    wanted = sorted({*addresses, *_list_former_addresses(planned.desired, addresses)})
    writes = await context.ask(lambda store: store.last_record_writes(wanted, workspaces))
    return structs.replace(
        known, desired=planned.desired, recorded=planned.recorded, writes=writes, seen=seen
    )
