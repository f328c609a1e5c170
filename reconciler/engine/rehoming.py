"""`--same-service`: what was recorded under a former address of the service becomes ours under this one.

Belongs here: asking the service who it is, and moving the records. Which address is meant is decided in
core/planning/records.py, rows are moved by store/rehoming.py. A plan moves nothing: it compares with both.
"""

from msgspec import structs

from reconciler.core.planning.records import SAME_SERVICE, choose_origin
from reconciler.engine.context import ReadContext, RunContext
from reconciler.errors import Refused
from reconciler.instrumentation import step_log
from reconciler.model.plans import Target
from reconciler.model.snapshots import Recorded


async def merge_former_records(context: ReadContext, target: Target, recorded: Recorded) -> Recorded:
    """Return what would be recorded once the records of the other address are taken over; nothing is written.

    Raises InputError where several addresses may be meant, Refused where the service is known to be another.
    """
    origin = choose_origin(recorded, stack=target.stack)
    if not origin:
        return recorded
    await _check_same_company(context, target, origin)
    theirs = await context.ask(lambda store: store.recorded(target.workspaces, at=origin))
    return structs.replace(
        recorded,
        entities={**theirs.entities, **recorded.entities},
        doubts={**theirs.doubts, **recorded.doubts},
        unapplied=recorded.unapplied & theirs.unapplied,
        elsewhere=tuple(one for one in recorded.elsewhere if one.origin != origin),
    )


async def take_over_records(context: RunContext, target: Target) -> None:
    """Move the records in one transaction; both histories say so. Nothing is done where none is left.

    Raises LockHeld where a run writes under the other address, InputError and Refused as above.
    """
    recorded = await context.ask(lambda store: store.recorded(target.workspaces))
    origin = choose_origin(recorded, stack=target.stack)
    if not origin:
        return  # it was done by a run that did not come further
    company = await _check_same_company(context, target, origin)
    moved = await context.ask(lambda store: store.take_over(origin, target.workspaces, company=company))
    step_log.info("records taken over: %d", moved)


async def _check_same_company(context: ReadContext, target: Target, origin: str) -> str:
    """Return the company's id where the service tells it. Raises Refused where it was another one."""
    company = await context.client.company_id()
    before = await context.ask(lambda store: store.company(origin))
    if company and before and company != before:
        raise Refused(
            f"{SAME_SERVICE}: {target.origin} is not the service of {origin}: GET / names another company.",
            next="check service.base_url and the credentials; nothing was moved and nothing was sent",
        )
    return company
