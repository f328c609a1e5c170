"""What the gateway refuses, and how. Source: docs/service.md, credentials and limits."""

import pytest
from sandbox.asking import JANE, Clock, Sandbox

NO_KEY = {"x-api-key": "wrong"}


def test_an_older_gateway_refuses_with_a_page() -> None:
    """Facts 5 and 8: 403 as {"message": "Forbidden"}, or the HTML "Developer Inactive"; nothing is done."""
    sandbox = Sandbox(forbidden="html")

    answer = sandbox.post("/contacts", JANE, headers=NO_KEY)

    assert (answer.status_code, answer.headers["content-type"]) == (403, "text/html")
    assert answer.text == "<h1>Developer Inactive</h1>"
    assert sandbox.get("/contacts").json()["status"] == "No records found"


def test_nobody_is_throttled_unless_configured() -> None:
    """Tests and demonstrations ask faster than any plan of the service allows."""
    sandbox = Sandbox(clock=Clock())

    assert {sandbox.get("/contacts").status_code for _ in range(60)} == {200}


def test_one_request_too_many_in_a_second_is_403_with_its_code() -> None:
    """Facts 8: 403, X-Error-Code ERR_403_DEVELOPER_OVER_QPS, X-Error-Detail; nothing is done."""
    sandbox = Sandbox(clock=Clock(), requests_per_second=2)
    before = [sandbox.get("/contacts").status_code for _ in range(2)]

    answer = sandbox.post("/contacts", JANE)

    assert before == [200, 200]
    assert answer.status_code == 403
    assert answer.headers["x-error-code"] == "ERR_403_DEVELOPER_OVER_QPS"
    assert answer.headers["x-error-detail"] == "Developer Over Qps"
    assert "retry-after" not in answer.headers
    assert answer.json() == {"message": "Developer Over Qps"}


def test_after_a_second_there_is_room_again() -> None:
    """Seconds of the sandbox's clock; what was refused does not count."""
    clock = Clock()
    sandbox = Sandbox(clock=clock, requests_per_second=1)
    codes = [sandbox.get("/contacts").status_code for _ in range(3)]

    clock.pass_s(1)

    assert codes == [200, 403, 403]
    assert sandbox.get("/contacts").json()["status"] == "No records found"


def test_the_quota_of_a_day_ends_with_the_day() -> None:
    """Facts 8: OVER_QPD; the day is that of UTC (assumed)."""
    clock = Clock()
    sandbox = Sandbox(clock=clock, requests_per_day=2)
    for _ in range(2):
        assert sandbox.get("/contacts").status_code == 200
        clock.pass_s(60)

    over = sandbox.get("/contacts")
    clock.pass_s(24 * 3600)

    assert (over.status_code, over.headers["x-error-code"]) == (403, "ERR_403_DEVELOPER_OVER_QPD")
    assert sandbox.get("/contacts").status_code == 200


def test_the_day_is_told_before_the_second() -> None:
    """Waiting a second would not help somebody whose day is used up."""
    sandbox = Sandbox(clock=Clock(), requests_per_second=1, requests_per_day=1)
    sandbox.get("/contacts")

    assert sandbox.get("/contacts").headers["x-error-code"].endswith("OVER_QPD")


def test_an_older_gateway_throttles_in_its_own_headers() -> None:
    """Facts 8: X-Mashery-Error-Code with the same values, and Retry-After: 1."""
    sandbox = Sandbox(clock=Clock(), requests_per_second=1, throttle="403-older", forbidden="html")
    sandbox.get("/contacts")

    answer = sandbox.get("/contacts")

    assert (answer.status_code, answer.text) == (403, "<h1>Developer Over Qps</h1>")
    assert answer.headers["x-mashery-error-code"] == "ERR_403_DEVELOPER_OVER_QPS"
    assert answer.headers["retry-after"] == "1"
    assert "x-error-code" not in answer.headers


@pytest.mark.parametrize(
    ("limit", "wait_s"), [({"requests_per_second": 1}, 1), ({"requests_per_day": 1}, 81_570)]
)
def test_the_other_form_of_throttling_is_429_with_the_time_to_wait(
    limit: dict[str, int], wait_s: int
) -> None:
    """Facts 8: the list of codes has 429 too; Retry-After until the period is over, in whole seconds."""
    clock = Clock()  # at 01:20:30.99
    sandbox = Sandbox(None, clock=clock, throttle="429", **limit)
    sandbox.get("/contacts")

    answer = sandbox.get("/contacts")

    assert (answer.status_code, answer.headers["retry-after"]) == (429, str(wait_s))
    clock.pass_s(wait_s)
    assert sandbox.get("/contacts").status_code == 200


def test_a_wrong_key_uses_up_nothing() -> None:
    """The limits are per key, and the key is looked at first."""
    sandbox = Sandbox(clock=Clock(), requests_per_second=1)

    refused = sandbox.get("/contacts", headers=NO_KEY)

    assert (refused.status_code, refused.json()) == (403, {"message": "Forbidden"})
    assert sandbox.get("/contacts").status_code == 200


def test_the_sandbox_s_own_addresses_are_not_throttled() -> None:
    """Moving a clock or reading the log is no request to the service."""
    sandbox = Sandbox(clock=Clock(), requests_per_day=1)
    sandbox.get("/contacts")

    assert sandbox.get("/_sandbox/requests").json()["total"] == 1


@pytest.mark.parametrize(
    "option",
    [
        {"requests_per_second": 0},
        {"requests_per_day": -1},
        {"token_lifetime_s": 0},
        {"resource_days": 0},
        {"default_form": "yaml"},
    ],
)
def test_options_that_cannot_be_meant_are_named(option: dict[str, object]) -> None:
    """ValueError at the start, not a strange answer later."""
    with pytest.raises(ValueError, match=next(iter(option))):
        Sandbox(None, **option)
