"""With which exit code a plan ends that nobody carries out. Of a run: applying/exits.py."""

from reconciler.model.plans import Plan, Verdict


def exit_code(plan: Plan, verdict: Verdict, *, ambiguous: bool, detailed: bool) -> int:
    """Return 7 for a refused plan, 5 where somebody is ambiguous, 2 for work (where asked for), else 0."""
    if not verdict.safe:
        return 7
    if ambiguous:
        return 5
    return 2 if detailed and not plan.empty else 0
