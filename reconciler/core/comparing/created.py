"""Is what a create has made, or may have made, the entity that was sent? As two tables.

A service may write an address in its own way: a domain in its A-label, without the part behind a plus sign,
gmail for googlemail. Taken for somebody else's, every apply would make one more person. Taken for ours too
easily, a stranger would be ours.
Source: docs/planning.md, A12.
"""

from typing import Literal

from reconciler.core.comparing import taken
from reconciler.core.comparing.normalize import instant, masked
from reconciler.core.comparing.taken import Reading, same
from reconciler.core.rules import Key
from reconciler.core.text import fold_case, trim_edges
from reconciler.model.documents import Fields, Scalar
from reconciler.model.kinds import KINDS

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


# So many values that tell one from another have to agree; of an entity that has fewer, all of them.
_agreeing_min = 2
# So many where one of them differs, and it is no older than the create: the service may rewrite that one too.
_agreeing_but_one_min = 3


def may_be_made(
    kind: str, sent: Fields, shown: Fields, *, keys: tuple[Key, ...], salt: str, fresh: bool
) -> bool:
    """Whether a create whose answer was lost may have made an entity that shows another identity.

    Asked only of those that nobody has: neither recorded nor whom another entry declares. Values are compared
    that were sent and are shown, but for the identities and what tells nobody apart (countries, time zones,
    flags, messaging options). `fresh`: its time of change says that it is no older than the create. Secrets
    of `sent` are in clear or masked with `salt`, those of `shown` in clear. A text in another letter case
    agrees: a service that writes addresses in its own way may do so with names.

        values that differ | values that tell, and agree            | may be
        none               | 2, or all where fewer were sent        | yes
        none               | fewer, or nothing but the identity     | no
        one                | 3 or more, of a fresh one              | yes
        otherwise          | any                                    | no
    """
    row = KINDS[kind]
    unasked = {path for key in keys for path in key} | row.unread | row.revives.keys()
    telling = [
        path
        for path, value in sent.items()
        if value != "" and path not in unasked and row.type_of(path).distinguishes
    ]
    veiled = masked(kind, shown, salt)
    both = [path for path in telling if shown.get(path, "") != ""]
    equal = {p for p in both if _is_alike(kind, p, sent[p], shown[p]) or sent[p] == veiled[p]}
    differing = len(both) - len(equal)
    # A word of a list (public, private) may speak against it, and never for it.
    agreeing = len(equal - row.folds.keys())
    fewest = max(1, min(_agreeing_min, len(set(telling) - row.folds.keys())))
    if differing == 0:
        return agreeing >= fewest
    return differing == 1 and fresh and agreeing >= _agreeing_but_one_min


def _is_alike(kind: str, path: str, sent: Scalar, shown: Scalar) -> bool:
    texts = [fold_case(trim_edges(str(value))) for value in (sent, shown)]
    return same(kind, path, sent, shown) or (path not in KINDS[kind].secret and texts[0] == texts[1])


def is_older(modified: str, seen: str, *, within_s: float) -> bool:
    """Whether an entity was there before a request that was sent `within_s` seconds before it was seen.

    Both times are the service's (ISO 8601). Without one of them nothing is said.
    """
    changed, looked = instant(modified), instant(seen)
    if changed is None or looked is None:
        return False
    return (looked - changed).total_seconds() > within_s + _slack_s
