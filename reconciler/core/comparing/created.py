"""Is what a create has made the entity that was sent, though it shows another identity? As a table.

A service may write an address in its own way: a domain in its A-label, without the part behind a plus sign,
gmail for googlemail. Taken for somebody else's, every apply would make one more person. Taken for ours too
easily, a stranger would be ours.
Source: docs/planning.md, A12.
"""

from typing import Literal

from reconciler.core.comparing import taken
from reconciler.core.comparing.normalize import instant
from reconciler.core.comparing.taken import Reading
from reconciler.core.rules import Key
from reconciler.model.documents import Fields

MadeAs = Literal["same", "rewritten", "hidden", "other"]

# Seconds for which the service's clock and the moment of a request may disagree: it tells whole seconds.
_slack_s = 2.0


def judge_created(
    kind: str,
    sent: Fields,
    reading: Reading,
    shown: Fields,
    *,
    keys: tuple[Key, ...],
    of_another: bool,
    old: bool,
) -> MadeAs:
    """Return what a new entity is that shows these fields; `reading` is what it says of each that was sent.

    `of_another`: it shows the identity of another entity that is declared or recorded. `old`: it was there
    before the create was sent. What it shows otherwise may be its identity alone.

        identity       everything else | of another, or old | is
        same           any             | (not asked)        | same
        other          as sent         | no                 | rewritten: the service writes it in its own way
        hidden         as sent, or not | no                 | hidden: taken for it, as far as can be seen
                       shown           |                    |
        other, hidden  otherwise       | any                | other
    """
    identity = taken.identity(kind, sent, shown, keys)
    if identity == "same":
        return "same"
    paths = {path for key in keys for path in key}
    apart = {one.path for one in (*reading.refused, *reading.rewritten)} - paths
    if identity == "hidden":
        # A field that is not shown does not differ: that a create lost it is said, and it is planned again.
        apart -= {one.path for one in reading.refused if one.shown is None}
    if apart or of_another or old or not reading.taken - paths:
        return "other"
    return "rewritten" if identity == "other" else "hidden"


def is_older(modified: str, seen: str, *, within_s: float) -> bool:
    """Whether an entity was there before a request that was sent `within_s` seconds before it was seen.

    Both times are the service's (ISO 8601). Without one of them nothing is said.
    """
    changed, looked = instant(modified), instant(seen)
    if changed is None or looked is None:
        return False
    return (looked - changed).total_seconds() > within_s + _slack_s
