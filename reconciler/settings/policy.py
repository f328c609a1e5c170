"""What is wrong with `policy` of the settings beside its form: windows, time zone, too few approvers."""

from collections.abc import Iterator

from reconciler.core.review.windows import parse_window
from reconciler.core.suggest import did_you_mean
from reconciler.errors import Problem
from reconciler.model.geography import zone_names
from reconciler.settings.layers import SettingLayers

_EXAMPLE = 'write it like "0 9 * * MON-FRI for 8h": minute, hour, day of month, month, day of week'


def find_policy_problems(layers: SettingLayers) -> Iterator[Problem]:
    """Yield every mistake, each at the place of its setting."""
    zone = layers.value_of("policy.windows.time_zone")
    if zone.origin != "default" and zone.raw not in zone_names():
        hint = did_you_mean("zone", zone.raw, zone_names(), "write the IANA name of a zone")
        yield zone.problem(f"{zone.raw!r} is no time zone.", hint, code="E100")
    for name in ("policy.windows.allow", "policy.windows.deny"):
        value = layers.value_of(name)
        for text in value.raw:
            try:
                parse_window(text)
            except ValueError as error:
                yield value.problem(f"{text!r}: {error}.", _EXAMPLE, code="E100")
    quorum, people = layers.value_of("policy.quorum"), layers.value_of("policy.approvers").raw
    if people and int(quorum.raw) > len(people):
        what = f"{quorum.raw} people must approve, and policy.approvers names {len(people)}."
        yield quorum.problem(what, "add approvers, or lower the quorum", code="E100")
