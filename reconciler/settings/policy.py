"""What is wrong with `policy` of the settings beside its form: windows, time zone, approvers."""

from collections.abc import Iterator
from contextlib import suppress

from reconciler.core.compare.identity import email_key, number_key
from reconciler.core.review.windows import parse_window
from reconciler.core.suggest import did_you_mean
from reconciler.errors import Problem
from reconciler.model.geography import zone_names
from reconciler.settings.layers import SettingLayers, SettingValue
from reconciler.settings.trust import find_program_objection

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
    check = layers.value_of("policy.check")
    if check.raw and "/" in check.raw[0]:
        with suppress(OSError):  # it is missing: the check fails, and says so
            found = find_program_objection(layers.root / check.raw[0])
            if found is not None:
                yield check.problem(f"{check.raw[0]} is not run: {found.what}.", found.next, code="E100")
    yield from _find_shared_addresses(layers.value_of("policy.approvers"))
    quorum, people = layers.value_of("policy.quorum"), layers.value_of("policy.approvers").raw
    if people and int(quorum.raw) > len(people):
        what = f"{quorum.raw} people must approve, and policy.approvers names {len(people)}."
        yield quorum.problem(what, "add approvers, or lower the quorum", code="E100")


def _find_shared_addresses(approvers: SettingValue) -> Iterator[Problem]:
    """Yield a mistake for two approvers with one address: one person would be two of a quorum."""
    seen: dict[tuple[str, str], str] = {}
    for name, one in (approvers.raw or {}).items():
        written = {word: str(one.get(word, "")) for word in ("phone", "email", "forge")}
        keys = {
            "phone number": number_key(written["phone"]),
            "e-mail address": email_key(written["email"]),
            "login": written["forge"].lower(),  # a forge tells no letter case apart
        }
        for what, key in keys.items():
            first = seen.setdefault((what, key), name) if key else name
            if first != name:
                said = f"{first} and {name} have the same {what}: one person would count twice."
                yield approvers.problem(said, "give each approver an address of their own", code="E100")
