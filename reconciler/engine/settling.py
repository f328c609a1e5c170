"""What earlier runs left in doubt is looked for before anything is planned.

Not here: waiting and looking (applying/recovery.py), what is left of their plans (core/runs/recover.py).
"""

from collections.abc import Collection

from reconciler.core.runs.recover import InterruptedRun
from reconciler.engine.context import RunContext
from reconciler.engine.recover import settle_unfinished
from reconciler.engine.resources import RunObserver
from reconciler.engine.targets import resolve_target
from reconciler.errors import Interrupted
from reconciler.instrumentation import record_span
from reconciler.model.runs import Outcome
from reconciler.model.snapshots import Desired
from reconciler.store.database import Store


async def settle_earlier_runs(
    context: RunContext,
    unfinished: tuple[InterruptedRun, ...],
    observer: RunObserver,
    *,
    released: Collection[str] = (),
) -> tuple[Outcome, ...]:
    """Return what became of what earlier runs left in doubt. Raises Interrupted where there was no time.

    `released` are addresses whose creates in doubt a person wants to be sent again. A store that may lack
    such runs is waited for in the same way, and accepted as it is afterwards.
    """
    doubtful = context.store.doubtful
    if not unfinished and not doubtful:
        return ()
    if doubtful:
        observer.doubtful(doubtful)
    if unfinished:
        observer.unfinished(unfinished)
    # The service is asked for its workspaces only where a plan cannot be read: all others name theirs.
    unread = any(one.plan is None for one in unfinished)
    target = await resolve_target(context, context.desired if unread else Desired({}, frozenset()))
    with record_span("settle") as notes:
        outcomes = await settle_unfinished(unfinished, context, target, released=released)
        notes["in_doubt"] = len(outcomes)
    if context.stop.asked:
        raise Interrupted("stopped before anything was written.", next="reconciler resume")
    await context.ask(Store.accept)
    return outcomes
