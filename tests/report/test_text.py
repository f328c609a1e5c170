"""What a plan says of itself, whatever is in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from report import cases
from report.strategies import calm, creates, deletes, plans, runs, updates, verdicts

from reconciler.errors import Problem
from reconciler.model.address import contact_address, make_address
from reconciler.model.kinds import KINDS
from reconciler.model.notices import Notice
from reconciler.model.plans import Cause, Create, Delete, FieldChange, Plan, Skip, Update, Verdict
from reconciler.model.runs import Outcome, Run
from reconciler.report.text import Line, drift_lines, plain, plan_lines, problem_lines, run_lines

SAFE = Verdict()


def one_update(*fields: FieldChange) -> Plan:
    update = Update(contact_address("ops", "jane-doe"), "ops.yaml:3", "9A01", fields)
    return structs.replace(cases.EMPTY, changes=(update,), reads=())


def text_of(plan: Plan, *, full: bool = False) -> str:
    return plain(plan_lines(plan, SAFE, full=full))


def is_inert(lines: tuple[Line, ...]) -> bool:
    return all(span.text.isprintable() for line in lines for span in line)


@calm
@given(plans(), verdicts, st.booleans())
def test_no_plan_can_act_on_a_terminal(plan: Plan, verdict: Verdict, full: bool) -> None:  # noqa: FBT001 - drawn by name
    """Names, values, ids, sentences of errors: whatever came from outside is inert in every span."""
    assert is_inert(plan_lines(plan, verdict, full=full))
    assert is_inert(drift_lines(plan, full=full))


@calm
@given(runs())
def test_no_run_can_act_on_a_terminal(run: Run) -> None:
    assert is_inert(run_lines(run))


@calm
@given(plans(), verdicts)
def test_the_same_plan_gives_the_same_text(plan: Plan, verdict: Verdict) -> None:
    """Two renderings of one plan in a pull request never differ."""
    assert plain(plan_lines(plan, verdict)) == plain(plan_lines(plan, verdict))


@calm
@given(plans(max_size=4))
def test_every_change_is_listed_with_its_sign(plan: Plan) -> None:
    """A plan that hides a change would be approved for what it does not say."""
    lines = text_of(plan).splitlines()[1:]  # the head begins with the stack, which may look like a sign
    shown = {sign: sum(1 for line in lines if line.startswith(f"{sign} ")) for sign in "-~+"}

    assert shown == {"-": plan.count("delete"), "~": plan.count("update"), "+": plan.count("create")}


@calm
@given(plans(st.one_of(creates(), updates, deletes), max_size=60))
def test_a_long_list_says_how_much_it_does_not_show(plan: Plan) -> None:
    """What is listed and what is counted as `more` is everything."""
    lines = text_of(plan).splitlines()[1:]
    listed = sum(1 for line in lines if line.startswith(("- ", "~ ", "+ ")))
    more = sum(int(line.split()[1]) for line in lines if line.endswith("more (--full shows them)"))

    assert listed + more == len(plan.changes)


def test_deletes_stand_above_all_else() -> None:
    """What cannot be taken back is read first."""
    signs = [
        line[0] for line in text_of(cases.MIXED).splitlines() if line[:2] in {"- ", "~ ", "+ ", "! ", "= "}
    ]

    assert signs == sorted(signs, key="-~+=!".index)
    assert (
        text_of(cases.MIXED).splitlines()[2].startswith("  1 delete   3 updates   3 creates   412 unchanged")
    )


def test_a_long_plan_repeats_its_counts_where_the_reader_stands() -> None:
    """After forty lines the first counts have left the screen."""
    lines = text_of(cases.LONG).splitlines()

    assert lines[-3] == lines[3] == "  41 deletes   21 creates   12,345 unchanged"


@pytest.mark.parametrize(
    ("kind", "path"), [(name, path) for name, kind in KINDS.items() for path in sorted(kind.secret)]
)
@pytest.mark.parametrize("full", [False, True])
def test_a_secret_field_is_hidden_even_if_its_mask_was_forgotten(kind: str, path: str, full: bool) -> None:  # noqa: FBT001 - a parameter of the case
    """The mask is put on when the plan is made; this is the second lock on the same door."""
    address = make_address(kind, "ops", "one", parent="jane-doe" if KINDS[kind].parent else "")
    change = Create(address, "ops.yaml:3", {path: "hunter2"})
    update = Update(address, "ops.yaml:3", "1", (FieldChange(path, "hunter1", "hunter2", "declared"),))
    plan = structs.replace(cases.EMPTY, changes=(change, update))

    assert "hunter" not in text_of(plan, full=full)
    assert "(secret)" in text_of(plan, full=full)


@calm
@given(st.from_regex(r"secret:[0-9a-f]{8,64}", fullmatch=True))
def test_a_mask_is_never_printed(mask: str) -> None:
    """Masks of weak secrets can be guessed by whoever holds the plan file too."""
    text = text_of(one_update(FieldChange("nickname", mask, mask[:-1], "declared")), full=True)

    assert mask[:-1] not in text
    assert "(secret)  →  (secret)" in text


@pytest.mark.parametrize(
    ("before", "after", "cause", "row"),
    [
        (None, "Day", "declared", "department  (none)  →  Day   declared"),
        ("Day", None, "no longer declared", "department  Day  →  (none)   no longer declared"),
        ("Day", "", "declared", "department  Day  →  (cleared)   declared"),
        (True, False, "drifted", "department  true  →  false   drifted"),
        ("Day ", "Day", "both", 'department  "Day "  →  Day   both'),
    ],
)
def test_a_field_shows_what_was_what_will_be_and_why(
    before: str | bool | None,  # noqa: FBT001 - a value, not a switch
    after: str | bool | None,  # noqa: FBT001 - a value, not a switch
    cause: Cause,
    row: str,
) -> None:
    assert f"    {row}\n" in text_of(one_update(FieldChange("department", before, after, cause)))


def test_what_cannot_be_read_back_is_not_called_absent() -> None:
    """`(none)` would claim that there is no content; nobody knows what is there."""
    text = text_of(cases.MIXED)

    assert "content      (unknown)     →  sha256 01234567   unknown" in text


def test_two_long_values_show_where_they_differ() -> None:
    """Two equal beginnings, cut, would read as no change at all."""
    same = "x" * 70
    text = text_of(one_update(FieldChange("notes", same + "1", same + "2", "declared")))

    assert "…xxxxxxxxxxxx1  →  …xxxxxxxxxxxx2   declared" in text


def test_full_cuts_and_folds_nothing() -> None:
    long = "word " * 40 + "end"
    plan = one_update(FieldChange("notes", "", long, "declared"))

    assert long not in text_of(plan)
    assert long in text_of(plan, full=True)
    assert "more" not in text_of(structs.replace(cases.LONG, reads=()), full=True)


def test_content_is_shown_by_size_where_it_is_known() -> None:
    """People know their files by size and type, not by digest."""
    plan = structs.replace(cases.EMPTY, changes=(cases.IMPORT,))

    sized = plain(plan_lines(plan, SAFE, sizes={cases.IMPORT.address: 12_698}))
    unsized = plain(plan_lines(plan, SAFE))

    assert "content  12.4 KiB, text/csv\n" in sized
    assert "content  sha256 01234567, text/csv\n" in unsized


def test_a_refused_plan_does_not_say_how_to_apply_it() -> None:
    """The way on is in the reasons: an edit, or a consent by number."""
    text = plain(plan_lines(cases.LONG, cases.REFUSED, next_step="reconciler apply plan.json"))

    assert "reconciler apply plan.json" not in text
    assert "refused: the plan deletes 41 entities (the limit is 25). [G1]\n  next: " in text


def test_an_adoption_alone_is_still_something_to_apply() -> None:
    """Nothing is written to the service, but what is ours is recorded by applying."""
    plan = structs.replace(cases.EMPTY, adoptions=cases.MIXED.adoptions)

    assert "next: reconciler apply" in text_of(plan)
    assert "Nothing to do" in text_of(cases.EMPTY)


def test_the_selection_is_part_of_what_is_shown() -> None:
    """A plan of a part must not be read as a plan of all."""
    assert "selected by --only contact/ops/* --only tag:team=sre --except kind:device\n" in text_of(
        cases.LONG
    )


def test_an_incomplete_read_is_named() -> None:
    assert "contacts in ops: scan, 1,031 calls, 12,345 avoided, not complete\n" in text_of(cases.LONG)


def test_problems_keep_their_order_and_never_share_a_line() -> None:
    """A manifest can hold what a terminal would act on, in a key for example."""
    problems = [
        Problem("b.yaml", 9, 1, "x\n\x1b[2J is not a field.", "remove it", code="E208"),
        Problem("a.yaml", 0, 0, "is empty.", code="E100"),
    ]

    text = plain(problem_lines(problems))

    assert text == "b.yaml:9:1: x\\n\\x1b[2J is not a field.\n  next: remove it\na.yaml: is empty.\n"


def test_drift_leaves_out_what_git_wants() -> None:
    """Drift is what others did; an edit of the manifest is not drift."""
    text = plain(drift_lines(cases.MIXED))

    assert "jobTitle" not in text
    assert "staff-import" not in text
    assert "old-hand" not in text
    assert (
        plain(drift_lines(structs.replace(cases.LONG, gone=())))
        == "No drift: everything is as the last apply left it. 21 not yet applied.\n"
    )


@calm
@given(runs())
def test_every_change_of_a_run_is_told_once(run: Run) -> None:
    """Law 7: each ends in exactly one outcome, and the report leaves none out."""
    lines = plain(run_lines(run, full=True)).splitlines()
    heads = [line for line in lines if line[:2] in {"? ", "x ", "! ", "· ", "+ ", "~ ", "- "}]

    assert len(heads) == len(run.outcomes)


def _failed(name: str, what: str, remote_id: str, step: str = "mend it") -> Outcome:
    return Outcome(contact_address("ops", name), "update", "failed", what, step, remote_id)


def test_failures_that_say_the_same_are_told_once() -> None:
    """Forty people and one wrong password are one thing to mend; the ids in the sentence do not differ it."""
    outcomes = (
        *(_failed(f"p{one}", f"PUT /contacts/A{one}: not allowed (403).", f"A{one}") for one in range(3)),
        _failed("other", "PUT /contacts/B: broken (500).", "B"),
    )
    text = plain(run_lines(structs.replace(cases.DONE, outcomes=outcomes, outcome="failed")))

    assert all(f"contact/ops/{name} " in text for name in ("p0", "p1", "p2", "other"))
    assert text.count("not allowed (403)") == text.count("each of these 3: ") == 1
    assert text.count("broken (500)") == 1
    assert text.count("next: mend it") == 2


def test_drift_says_a_thing_once() -> None:
    """A duplicate that is a change of the plan and a notice, an ambiguous person who is both, too."""
    duplicate, who = contact_address("ops", "jane"), contact_address("ops", "sam")
    plan = structs.replace(
        cases.MIXED,
        changes=(Delete(duplicate, "A2", {}, cause="duplicate", keeps="A1"),),
        skips=(Skip(who, "ambiguous", "matches 2 live contacts: B1, B2.", "remove one"),),
        notices=(
            Notice("duplicate", str(duplicate), "is live twice: A1, A2.", "apply"),
            Notice("ambiguous", str(who), "matches 2 live contacts: B1, B2.", "remove one"),
        ),
    )
    text = plain(drift_lines(plan))

    assert text.count(str(duplicate)) == text.count(str(who)) == 1


def test_a_run_of_less_than_a_second_does_not_claim_to_have_taken_none() -> None:
    """Reports hold whole seconds: `0.0 s` would claim a precision that was not measured."""
    at_once = structs.replace(cases.DONE, ended_at=cases.DONE.started_at)

    assert ", under 1 s" in plain(run_lines(at_once))
    assert "0.0 s" not in plain(run_lines(at_once))
