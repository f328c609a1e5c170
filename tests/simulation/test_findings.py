"""What lives under seeds have found in the program, each as the smallest case that shows it."""

from typing import Literal

import pytest
from simulation.modelservice import SIDS, Switches
from simulation.network import Request
from simulation.people import desire, person
from simulation.scenarios import Scenario, world


def test_a_create_that_a_503_hid_is_not_made_again_while_lists_lag() -> None:
    """A gateway says 503 for what was done, the list shows it seconds later: one look is too early."""
    scenario = Scenario(desire(person("ann")), switches=Switches(lag_s=6.0))
    with world(scenario) as universe:
        universe.network.scripted = {1: "503 after"}

        end = universe.go(scenario.wanted)

        assert (end.word, end.writes) == ("done", 1)
        assert len(universe.model.of("contact", "AB12")) == 1
        assert universe.oracle.violations == []


def test_a_write_that_waits_for_another_try_is_not_sent_after_a_401() -> None:
    """One request finds no connection and waits a moment; meanwhile another hears that we are not welcome."""
    scenario = Scenario(desire(person("ann"), person("ben")))
    with world(scenario) as universe:
        universe.network.scripted = {1: "refused", 2: "401"}

        end = universe.go(scenario.wanted)

        assert end.writes == 1  # the one that was refused
        assert universe.oracle.violations == []
        assert not universe.model.rows


def test_an_edit_of_a_declared_field_beside_an_update_is_seen_by_the_next_plan() -> None:
    """Read back after the update of another field, it was taken for the service's own way of writing ours."""
    scenario = Scenario(
        desire(person("ann", jobTitle="Nurse")), first=desire(person("ann", jobTitle="Porter"))
    )
    with world(scenario) as universe:
        (ann,) = universe.model.of("contact", SIDS["ops"])

        def edit_between_plan_and_look(request: Request) -> None:
            if universe.oracle.seats[request.process].plan is not None and request.method == "GET":
                universe.network.meanwhile = None
                universe.model.replace("contact", ann.workspace, ann.id, {**ann.body, "firstName": "by hand"})

        universe.network.meanwhile = edit_between_plan_and_look
        first = universe.go(scenario.wanted)
        assert (first.word, ann.body["firstName"], ann.body["jobTitle"]) == ("done", "by hand", "Nurse")

        second = universe.go(scenario.wanted)

        assert (second.word, second.writes, ann.body["firstName"]) == ("done", 1, "Ann")
        assert universe.oracle.violations == []


@pytest.mark.parametrize("lie", ["no effect", "field ignored"])
def test_a_replace_that_was_not_carried_out_is_not_called_applied(lie: str) -> None:
    """The service says 204 and keeps the old value; that was recorded as its way of writing the new one."""
    scenario = Scenario(
        desire(person("ann", jobTitle="Nurse")), first=desire(person("ann", jobTitle="Porter"))
    )
    with world(scenario) as universe:
        universe.network.scripted = {2: lie}  # the first write made her

        first, second = universe.go(scenario.wanted), universe.go(scenario.wanted)

        (ann,) = universe.model.of("contact", SIDS["ops"])
        assert (first.word, second.word, ann.body["jobTitle"]) == ("failed", "done", "Nurse")
        assert universe.oracle.violations == []


def test_a_delete_that_was_not_carried_out_is_not_called_applied() -> None:
    """She stayed at the service, and nobody knew her as ours any more."""
    scenario = Scenario(desire(person("ann")), first=desire(person("ann"), person("ben")))
    with world(scenario) as universe:
        universe.network.scripted = {3: "no effect"}

        first, second = universe.go(scenario.wanted), universe.go(scenario.wanted)

        assert (first.word, second.word) == ("failed", "done")
        assert [row.body["firstName"] for row in universe.model.of("contact", SIDS["ops"])] == ["Ann"]
        assert universe.oracle.violations == []


@pytest.mark.parametrize("created", ["whole", "brief", "location"])
def test_an_answer_that_names_somebody_else_makes_nobody_ours(
    created: Literal["whole", "brief", "location"],
) -> None:
    """A stranger was recorded as ours, and deleted when the line left the manifest."""
    scenario = Scenario(desire(person("ann")), there=("old",), switches=Switches(created=created))
    with world(scenario) as universe:
        universe.network.scripted = {1: "names another"}

        universe.go(scenario.wanted)
        universe.network.scripted = {}
        universe.loop.run(universe.pass_s(60))
        universe.go(scenario.wanted)
        universe.go(desire())

        assert "old" in [row.body["firstName"] for row in universe.model.of("contact", SIDS["ops"])]
        assert universe.oracle.violations == []
