"""What is left out of a plan, and what is the whole run's: decisions over tables."""

import pytest
from core.build import TARGET, at, contact, desired

from reconciler.core.desired.isolate import FaultyFile, drop_problems, isolate_mistakes
from reconciler.core.planning.select import Selection
from reconciler.core.planning.unplanned import (
    PlanInputs,
    find_wholly_planned,
    is_outage,
    judge_failed_reads,
    leave_out,
    list_scopes,
    not_planned_exit_code,
    select_left_out,
)
from reconciler.core.rules import Rules
from reconciler.errors import NotFound, Problem, ServiceError, Unauthorized, Unavailable
from reconciler.model.documents import Manifest, Place
from reconciler.model.kinds import KINDS
from reconciler.model.plans import Options, Plan, Workspace
from reconciler.model.snapshots import Live, NotPlanned, NotPlannedBy, Recorded, Scope

OPS, LAB = Scope("contact", "ops"), Scope("contact", "lab")
MISTAKE = Problem("ops.yaml", 4, 9, "fristName is not a field of a contact.", "did you mean?", code="E201")
SILENT = Problem("ops.yaml", 6, 3, "the directory staff cannot be read.", code="E514")


def manifest(workspace: str) -> Manifest:
    place = Place(f"{workspace}.yaml", 1, 1)
    return Manifest(place.file, workspace, place, frozenset({"contact"}), ())


@pytest.mark.parametrize(
    ("reasons", "applied", "code"),
    [
        ((), True, 0),
        (("manifests",), False, 3),
        (("settings",), False, 3),
        (("service",), False, 1),
        (("directory",), False, 1),
        (("manifests", "service"), False, 1),
        (("manifests", "service"), True, 6),
    ],
)
def test_the_exit_code_says_whose_mistake_it_is(
    reasons: tuple[NotPlannedBy, ...],
    applied: bool,  # noqa: FBT001 - a case of a table
    code: int,
) -> None:
    """1 before 3: what cannot be read may be read by the next run."""
    left = [NotPlanned(f"w{number}", by, "") for number, by in enumerate(reasons)]

    assert not_planned_exit_code(left, applied=applied) == code


def test_a_service_that_is_down_is_not_asked_by_every_workspace() -> None:
    """Two hundred times three tries would take the deadline of the run."""
    down = [Unavailable("no answer.")] * 8

    assert is_outage(down, 0)
    assert not is_outage(down, 1)
    assert not is_outage(down[:7], 0)
    assert not is_outage([NotFound("nothing there.")] * 100, 0), "deleted, each by itself"


@pytest.mark.parametrize(
    "error",
    [
        Unauthorized("no.", status=401),
        Unauthorized("the daily quota is used up.", status=403, code="OVER_QPD"),
        Unauthorized("the daily quota is used up.", status=429, code="OVER_QPD"),
    ],
)
def test_an_error_of_every_workspace_is_raised(error: ServiceError) -> None:
    """Also where some of them could be read before."""
    with pytest.raises(Unauthorized):
        judge_failed_reads({OPS: error}, [LAB])
    elsewhere = NotFound("another entity.")
    elsewhere.elsewhere = True
    with pytest.raises(NotFound):
        judge_failed_reads({OPS: elsewhere}, [LAB])


def test_each_workspace_is_left_out_once() -> None:
    """Whichever of its lists failed."""
    failed = {Scope(kind, "ops"): Unavailable("no answer.", next="later") for kind in ("contact", "resource")}

    (one,) = judge_failed_reads(failed, [LAB])

    assert (one.workspace, one.by, one.kinds, one.code, one.next) == ("ops", "service", (), "E023", "later")
    assert one.what == "contacts cannot be read: no answer."


def test_a_workspace_with_a_mistake_and_one_without_are_told_apart() -> None:
    """The reason is the directory's where all the mistakes are."""
    both = [manifest("lab"), manifest("ops")]
    rules = Rules(workspaces=frozenset({"lab", "ops"}))
    sick = FaultyFile("ops.yaml", frozenset({"ops"}), (SILENT,), frozenset({SILENT}))

    found = isolate_mistakes(both, [sick], (), rules)
    mixed = isolate_mistakes(
        both, [FaultyFile("ops.yaml", frozenset({"ops"}), (MISTAKE, SILENT), frozenset({SILENT}))], (), rules
    )

    assert found is not None
    assert mixed is not None
    assert found.resolved.desired.scopes == {LAB}
    assert [(one.workspace, one.by, one.code) for one in found.resolved.desired.not_planned] == [
        ("ops", "directory", "E514")
    ]
    (one,) = mixed.resolved.desired.not_planned
    assert (one.by, one.what) == ("manifests", "its manifests have 2 mistakes, the first at ops.yaml:4:9.")
    assert mixed.problems == (MISTAKE, SILENT)
    assert not found.is_empty
    assert isolate_mistakes(both, [sick], (MISTAKE,), rules) is None, "a mistake of no single file"
    assert drop_problems([sick], {SILENT}) == ()


def test_a_selection_says_which_of_what_is_left_out_counts() -> None:
    """Of the rest nothing was asked."""
    left = [NotPlanned("lab", "service", "no."), NotPlanned("ops", "service", "no.")]
    people = desired(contact("lab/kim"), contact("ops/lee"))
    inputs = leave_out(PlanInputs(people, Live({}), Recorded({}), TARGET), left)

    found = select_left_out(inputs.left_out, Selection(("workspace:ops",)))

    assert [one.workspace for one in found.not_planned] == ["ops"]
    assert list(found.entities) == [at("contact/ops/lee")]
    assert inputs.desired.entities == {}
    assert {scope.kind for scope in list_scopes(found.not_planned)} == set(KINDS)


def test_a_workspace_of_which_a_part_is_left_out_is_not_wholly_planned() -> None:
    """So nobody records that all of it was applied."""
    target = TARGET.__class__("http://x", "s", (Workspace("default", ""), Workspace("lab", "A1")))
    plan = Plan(
        target,
        Options(),
        "",
        "",
        (),
        not_planned=(NotPlanned("default", "service", "", kinds=("callback",)),),
    )

    assert [one.alias for one in find_wholly_planned(plan).workspaces] == ["lab"]
