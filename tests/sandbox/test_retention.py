"""Resources that vanish by themselves, and how an update answers. Source: docs/service.md, resources."""

from pathlib import Path

import pytest
from sandbox.asking import Clock, Sandbox, last_segment, resource_body

DAY = 24 * 3600


def test_a_resource_vanishes_after_its_days() -> None:
    """Facts 4: retention of 30 or 90 days, on the sandbox's clock; then 404 and in no list, for everybody."""
    clock = Clock()
    sandbox = Sandbox(clock=clock, resource_days=30)
    path = sandbox.created("/resources", resource_body())

    clock.pass_s(30 * DAY - 1)
    before = sandbox.get(path).status_code
    clock.pass_s(1)

    assert (before, sandbox.get(path).status_code) == (200, 404)
    assert sandbox.get("/resources").json()["status"] == "No records found"
    assert sandbox.get(f"/_sandbox/resources/{last_segment(path)}/content").status_code == 404


def test_an_update_begins_the_days_again() -> None:
    """Assumed: the days count from the last update; reading changes nothing about them."""
    clock = Clock()
    sandbox = Sandbox(clock=clock, resource_days=30)
    updated, read = (sandbox.created("/resources", resource_body()) for _ in range(2))

    clock.pass_s(20 * DAY)
    sandbox.put(updated, resource_body())
    sandbox.get(read)
    clock.pass_s(20 * DAY)

    assert [sandbox.get(path).status_code for path in (updated, read)] == [200, 404]


def test_resources_stay_for_ever_unless_configured() -> None:
    """Facts 4: a third source says "unlimited"."""
    clock = Clock()
    sandbox = Sandbox(clock=clock)
    path = sandbox.created("/resources", resource_body())

    clock.pass_s(4000 * DAY)

    assert sandbox.get(path).status_code == 200


def test_the_days_go_on_while_the_sandbox_is_stopped(tmp_path: Path) -> None:
    """The moment of the update is in the file."""
    clock, data = Clock(), tmp_path / "sandbox.db"
    first = Sandbox(clock=clock, data=data, resource_days=30)
    path = first.created("/resources", resource_body())
    first.app.state.sandbox.close()
    clock.pass_s(31 * DAY)

    second = Sandbox(clock=clock, data=data, resource_days=30)

    assert second.get(path).status_code == 404
    second.app.state.sandbox.close()


@pytest.mark.parametrize("status", [204, 200])
def test_an_update_answers_as_configured(status: int) -> None:
    """Facts 11: sources differ between 204 and 200 with the representation; what is kept is the same."""
    sandbox = Sandbox(None, resource_put=status)
    path = sandbox.created("/resources", resource_body())

    answer = sandbox.put(path, resource_body(name="new.csv"))

    assert answer.status_code == status
    assert sandbox.get(path).json()["name"] == "new.csv"
    if status == 200:
        assert (answer.json()["id"], answer.json()["name"]) == (last_segment(path), "new.csv")
    else:
        assert answer.content == b""
