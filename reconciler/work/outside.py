"""What the verbs get from outside the program. Nothing is done with it here."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from reconciler.aside import aside
from reconciler.model.context import Context
from reconciler.service.client import Connections
from reconciler.service.http.timing import Timing
from reconciler.store.aside import Offload


@dataclass(frozen=True, slots=True)
class Outside:
    """What the verbs get from outside the program: time, chance, and the way to the service.

    `now` tells UTC; `token` gives fresh random text, `run_id` a UUID; `context` says where we are;
    `offload` runs what waits for the store's disk, beside the event loop or in place; `connections`
    replaces the network (tests); `unattended` says that nobody can be asked here.
    """

    now: Callable[[], datetime]
    token: Callable[[], str]
    run_id: Callable[[], str]
    timing: Timing
    context: Callable[[], Context] = Context
    connections: Connections | None = None
    offload: Offload = aside
    unattended: bool = False
