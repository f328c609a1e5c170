"""The calls that were made to a callback: their links and their marks. Source: docs/service.md, callbacks."""

from typing import Any

from sandbox.asking import Clock, Sandbox, origin
from sandbox.receiving import MOBILE, callback_body, delivered, receiving, replied, sent


def with_callback(url: str, **options: Any) -> tuple[Sandbox, str, str]:
    """A sandbox, the path of its callback, and a message that names it."""
    sandbox = Sandbox(callback_check=False, clock=options.pop("clock", Clock()))
    path = sandbox.created("/callbacks", callback_body(url, **options.pop("callback", {})))
    return sandbox, path, sent(sandbox, MOBILE, callbackId="approvals")


def calls(sandbox: Sandbox, path: str) -> list[dict[str, Any]]:
    """The calls that were tried."""
    found: list[dict[str, Any]] = sandbox.get(f"{path}/calls").json()["calls"]
    return found


def test_a_call_is_read_by_its_own_link() -> None:
    """Links: to itself, and to its update; the callback's own lead to all of its calls."""
    with receiving(500) as receiver:
        sandbox, path, message = with_callback(receiver.url)
        replied(sandbox, message)
        replied(sandbox, message, "No")
        delivered(sandbox)
        found = calls(sandbox, path)

    own = {link["rel"]: link["uri"].removeprefix(origin) for link in found[0]["link"]}
    whole = {link["rel"]: link["uri"].removeprefix(origin) for link in sandbox.get(path).json()["link"]}
    assert sandbox.get(own["self"]).json()["calls"] == [found[0]]
    assert sandbox.put(own["updateCall"], {"status": "SUCCESS"}).status_code == 204
    assert len(sandbox.get(whole["retrieveCallbackHistory"]).json()["calls"]) == 2
    update = f"{whole['updateCallbackHistory']}?id={found[0]['id']}&id={found[1]['id']}"
    assert sandbox.put(update, {"status": "FAILED"}).status_code == 204
    assert [one["status"] for one in calls(sandbox, path)] == ["FAILED"] * 2


def test_a_call_marked_as_failed_is_not_tried_again_for_that() -> None:
    """The client sets the mark; it changes nothing for a call that waits for its next attempt."""
    clock = Clock()
    with receiving(500) as receiver:
        sandbox, path, message = with_callback(receiver.url, clock=clock, callback={"retriesEnabled": True})
        replied(sandbox, message)
        assert delivered(sandbox) == {"success": 0, "failed": 1, "waiting": 1}
        (call,) = calls(sandbox, path)
        update = f"{path}/calls?id={call['id']}"

        assert sandbox.put(update, {"status": "FAILED"}).status_code == 204
        assert delivered(sandbox)["waiting"] == 1
        sandbox.put(update, {"status": "SUCCESS"})
        sandbox.put(update, {"status": "FAILED"})
        clock.pass_s(3600)

        assert delivered(sandbox) == {"success": 0, "failed": 0, "waiting": 0}
    assert len(receiver.calls) == 1
