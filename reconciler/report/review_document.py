"""What a report for reviewers is about: one plan, and how it ended where it was carried out.

The one input of every format (report_formats.py). Not here: how any of them looks.
"""

from msgspec import Struct

from reconciler.core.review.display_names import DisplayName, no_name
from reconciler.model.plans import Plan, Verdict
from reconciler.model.runs import Run


class Review(Struct, frozen=True):
    """A plan with the guard's verdict, and the run that carried it out, or None.

    `command` is the subcommand whose result this is: plan, drift, show, apply, resume. `exit_code` is what
    the command ends with (docs/planning.md, Exit codes). `next_step` is the command that carries the plan
    out, or "". Without `show_values` a report for many readers names fields and leaves values out; secrets
    are masked in the plan itself, in every case. `whom` says who an entity is: a value like any other.
    """

    command: str
    plan: Plan
    verdict: Verdict
    exit_code: int
    run: Run | None = None
    next_step: str = ""
    show_values: bool = False
    whom: DisplayName = no_name
