"""Reviews for the tests of every format: real-looking ones, and ones in which every text tries to act."""

from collections.abc import Mapping

from hypothesis import strategies as st
from msgspec import structs
from report import cases
from report.strategies import plans, runs, verdicts

from reconciler.model.notices import Notice
from reconciler.model.plans import (
    Create,
    Delete,
    FieldChange,
    GuardReason,
    Plan,
    Skip,
    Target,
    Update,
    Verdict,
)
from reconciler.model.runs import FieldResult, Outcome
from reconciler.report.review_document import Review

SAFE = Verdict()
APPLY = "reconciler apply plan.json"
UNDOING = structs.replace(cases.EMPTY, options=structs.replace(cases.EMPTY.options, undo_of="0000-1"))
SHORT = structs.replace(cases.LONG, changes=(*cases.LONG.changes[:3], *cases.LONG.changes[-2:]))

REVIEWS: Mapping[str, Review] = {
    "plan": Review("plan", cases.MIXED, SAFE, 0, next_step=APPLY),
    "plan-values": Review("plan", cases.MIXED, SAFE, 0, next_step=APPLY, show_values=True),
    "plan-refused": Review("plan", SHORT, cases.REFUSED, 7, next_step=APPLY),
    "plan-empty": Review("show", cases.EMPTY, SAFE, 0, next_step=APPLY),
    "undo": Review("show", UNDOING, SAFE, 0, next_step=APPLY),
    "drift": Review("drift", cases.MIXED, SAFE, 2),
    "drift-none": Review("drift", cases.EMPTY, SAFE, 0),
    "run": Review("apply", cases.MIXED, SAFE, 8, cases.PARTIAL),
    "run-done": Review("resume", cases.MIXED, SAFE, 0, cases.DONE),
}

# What some reader of a report would act on.
ACTING = (
    "@admin and @example/team",
    "![x](https://example.com/a.png)",
    "[a](https://example.com) <https://example.com>",
    "https://example.com www.example.com a@example.com",
    "<script>alert(1)</script><img src=x onerror=x>",
    "</testcase><![CDATA[ ]]> <!-- --> &amp; &#64;",
    "a\n\n# heading\n/close\n- [ ] task\n| a | b |\n|---|---|",
    "``` ~~~ `` ` **b** __b__ ~~s~~ $`x`$ $$x$$",
    "x`y``z```",
    "` spaces `",
    "::error file=a::b\n::set-env name=A::b\r\n##[group]x ##vso[task.x]",
    "{0} {{x}} %25 %0A ${{ secrets.KEY }}",
    "\u202etxt.live\u2066 a\u200bb \x1b[2J \x00 \ufffe",
    "#1 GH-1 !1 deadbeef1 deadbee :tada: owner/repo#1 1. x",
    "=cmd|' /C calc'!A0",
    "---\n===\n    code\n\ttab\\",
)


def acting(text: str) -> Review:
    """A plan with this text wherever somebody else could have written it, and values shown."""
    plan = structs.replace(
        cases.MIXED,
        target=Target("https://api.example.com", text, ()),
        changes=(
            Create(cases.BACK.address, text, {"firstName": text, text: text}),
            Update(
                cases.JANE.address, text, text, (FieldChange(text, text, f"{text}x", "drifted"),), adopts=text
            ),
            Delete(cases.OLD_HAND.address, text, {text: text, "a": text}, cascades=(text, text), keeps=text),
        ),
        skips=(
            Skip(cases.DISABLED.address, "ambiguous", text, text),
            Skip(cases.PROTECTED.address, "protected", text),
        ),
        notices=(Notice("value", text, text, text, text), Notice("duplicate", str(cases.JANE.address), text)),
        contents={cases.BACK.address: text},
    )
    return Review(
        "plan",
        plan,
        Verdict((GuardReason("G1", text, 1, 1, text, text),)),
        7,
        next_step=text,
        show_values=True,
    )


def acting_run(text: str) -> Review:
    """The same of a run."""
    result = FieldResult(text, text, text)
    outcomes = (
        Outcome(cases.JANE.address, "update", "failed", text, text, text, (result,)),
        Outcome(cases.OLD_HAND.address, "delete", "in doubt", text, text),
        Outcome(cases.BACK.address, "create", "skipped", text, text),
    )
    run = structs.replace(cases.PARTIAL, outcomes=outcomes, stopped=text, run=text)
    return structs.replace(acting(text), command="apply", run=run)


@st.composite
def reviews(draw: st.DrawFn) -> Review:
    """Any review that the model allows."""
    command = draw(st.sampled_from(["plan", "show", "drift", "apply", "resume"]))
    run = draw(runs()) if command in {"apply", "resume"} else None
    code = run.exit_code if run else draw(st.sampled_from([0, 2, 5, 7]))
    return Review(command, draw(plans()), draw(verdicts), code, run, "reconciler apply", draw(st.booleans()))


def many(number: int) -> Plan:
    """A plan of so many changes, a third of each action."""
    return structs.replace(
        cases.LONG,
        changes=tuple(
            structs.replace(one, address=type(one.address)(f"contact/ops/p{each:05}"))
            for each in range(number)
            for one in ((cases.NEW_CONTACT, cases.JANE, cases.OLD_HAND)[each % 3],)
        ),
    )
