"""What is told about messages, as lines."""

from reconciler.messaging.reports import delivery_lines
from reconciler.messaging.values import Delivery
from reconciler.report.lines import plain


def test_deliveries_are_counted_by_what_was_used() -> None:
    """203 recipients of an e-mail are 203 deliveries, although the service lists SMS and voice for each."""
    used = [Delivery(f"person {number}", "", "email", "SENT", "") for number in range(203)]

    whole = delivery_lines(used)
    partly = delivery_lines([*used, Delivery("Sam", "", "", "", "")])

    assert plain(whole[-1:]) == "203 deliveries\n"
    assert plain(partly[-1:]) == "203 deliveries, 1 recipient without one\n"
    assert len(partly) == 1 + 204 + 1
