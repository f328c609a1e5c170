"""Notices of a plan and results of `reconciler doctor`: facts that a person should know."""

from typing import Literal

from msgspec import Struct

# --- Notices: facts that no change of a plan expresses --------------------------------------------


# What a notice is about. A new kind is one word here and in schemas/plan.schema.json and run.schema.json.
NoticeKind = Literal[
    "value",  # a declared value that is accepted and looks wrong
    "duplicate",  # a live entity that is not ours has the identity of one that is declared or recorded
    "ambiguous",  # several live entities are the declared one, and none of them is acted on
    "left behind",  # recorded as ours, live, and no manifest says any more whether it should be there
    "workspace",  # its alias is another one than at the last apply; its records go with it
    "origin",  # records of this stack were left at another address of a service
    "move",  # who moves to another workspace loses what others wrote of her
    "flapping",  # somebody else writes it too: fields that come back, or another stack that owns it
    "unapplied",  # of drift: a workspace of which nothing is recorded, so that nothing was compared
    "restored",  # we deleted it, and it is live again: a backup of the service was restored, perhaps
    "secret",  # something declared is not done until somebody gives a secret
    "consent",  # a line of `consent:` is used up, has ended, or matches nothing
    "store",  # the store may lack what was sent and recorded lately
]


class Notice(Struct, frozen=True):
    """One fact, in a sentence about `subject`.

    `subject` is an address wherever there is one. `what` never holds a secret. `next` says what can be done,
    `place` is the file and line of a manifest; both may be empty.
    """

    kind: NoticeKind
    subject: str
    what: str
    next: str = ""
    place: str = ""


# --- Results of `reconciler doctor` ---------------------------------------------------------------


# `unchecked`: something else has to be mended before this can be looked at.
CheckState = Literal["ok", "warn", "fail", "unchecked"]


class CheckResult(Struct, frozen=True):
    """One line of `reconciler doctor`: what was looked at, how it is, and what to do. No secret is in it."""

    name: str
    state: CheckState
    what: str
    next: str = ""
