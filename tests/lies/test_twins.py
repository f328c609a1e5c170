"""What a service shows twice is said, and healed where both are provably ours."""

from pathlib import Path

import effort
import pytest
import tally
from lies.stage import Stage, crowd, said, stage
from lies.told import Kept, asked

pytestmark = effort.proofs_only()

COMMANDS = (("plan",), ("apply", "--yes"), ("drift",))


def test_a_create_that_lands_after_the_window_is_told_by_every_command(place: Stage) -> None:
    """Two of one person are live: one is ours, and nothing would ever find the other."""
    late = Kept(asked("POST"))
    place.declare(**crowd(1))
    with place.proxy.telling(late.lie("a POST that lands after the window")):
        place.apply()
    assert place.apply().returncode == 0
    late.land(place.proxy.truth)
    both = [row["id"] for row in place.live()]
    assert len(both) == 2
    tally.count("published exceptions seen", "a create that lands after the window")

    told = {words[0]: place.run(*words) for words in COMMANDS}

    for done in told.values():
        assert not [one for one in both if one not in said(done)], said(done)
    assert told["drift"].returncode == 2
    assert "live twice" in said(place.run("doctor"))


@pytest.mark.parametrize("command", [("plan",), ("drift",), ("apply", "--yes")])
def test_both_of_two_are_in_the_json_too(place: Stage, command: tuple[str, ...]) -> None:
    place.built(1)
    place.stranger("Person0")
    both = place.ids_of("Person0")

    done = place.run(*command, "--format", "json")

    assert len(both) == 2
    assert not [one for one in both if one not in done.stdout], said(done)


def test_a_late_landing_that_carries_our_mark_is_healed(tmp_path: Path) -> None:
    """The mark says that we made both: one is kept, the other deleted as its duplicate."""
    settings = "ownership: {mark: custom_managedBy}\n"
    with stage(tmp_path / "project", settings=settings) as place:
        late = Kept(asked("POST", text="person1@example.com"))
        place.declare(**crowd(10))
        with place.proxy.telling(late.lie("a POST that lands after the window")):
            place.apply()
        assert place.apply().returncode == 0
        late.land(place.proxy.truth)
        assert len(place.live()) == 11

        planned = place.run("plan")
        assert "duplicate of" in planned.stdout, said(planned)
        place.apply()

        assert len(place.live()) == 10
        assert len(place.mails()) == 10
        assert place.run("plan", "--detailed-exitcode").returncode == 0


def test_two_who_could_both_be_meant_are_named_first_and_end_with_5(place: Stage) -> None:
    """Nobody can say which of them is declared; "nothing to do" would be wrong."""
    place.stranger("Person0")
    place.stranger("Person0")
    place.declare(**crowd(2))

    for done in (place.run("plan"), place.apply(), place.apply()):
        assert done.returncode == 5, said(done)
        assert "Nothing to do" not in said(done)
        named = done.stdout.index("contact/default/person-0")
        assert "matches 2 live contacts" in done.stdout, said(done)
        others = done.stdout.find("contact/default/person-1")
        assert others == -1 or named < others, said(done)
