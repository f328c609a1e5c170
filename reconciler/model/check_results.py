"""What one look of `doctor` at the surroundings has shown.

The value only; looking is cli/verbs/project/doctor/checks.py.
"""

from typing import Literal

from msgspec import Struct

# `unchecked`: something else has to be mended before this can be looked at.
State = Literal["ok", "warn", "fail", "unchecked"]


class CheckResult(Struct, frozen=True):
    """One line of `reconciler doctor`: what was looked at, how it is, and what to do. No secret is in it."""

    name: str
    state: State
    what: str
    next: str = ""
