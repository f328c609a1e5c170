"""Time zones, which the service shows otherwise than they were written: comparing them, writing them back.

The service shows a zone as its offset ("+10"), and takes an offset for nonsense: "+10" in a PUT reads
back as "0" (docs/service.md, contacts). A read-modify-write would move every person it touches to
London. So an offset is written as the name of a zone that has it all year, and the name we once
sent is preferred to any other. And where no record says what the service made of a name, a name and
an offset that it has are the same: writing it again would change nothing.
"""

from collections.abc import Mapping

from reconciler.model.documents import Fields, Scalar
from reconciler.model.geography import zone_offsets
from reconciler.model.snapshots import Entity, RecordedEntity

PATH = "timezone"

# Zones without summer time, so that any reading of "the offset of a zone" gives the same number.
NAMES: Mapping[str, str] = {
    "-11": "Pacific/Pago_Pago",
    "-10": "Pacific/Honolulu",
    "-9:30": "Pacific/Marquesas",
    "-9": "Pacific/Gambier",
    "-8": "Pacific/Pitcairn",
    "-7": "America/Phoenix",
    "-6": "America/Regina",
    "-5": "America/Bogota",
    "-4": "America/Puerto_Rico",
    "-3": "America/Argentina/Buenos_Aires",
    "-2": "America/Noronha",
    "-1": "Atlantic/Cape_Verde",
    "0": "Etc/UTC",
    "+1": "Africa/Lagos",
    "+2": "Africa/Johannesburg",
    "+3": "Africa/Nairobi",
    "+4": "Asia/Dubai",
    "+4:30": "Asia/Kabul",
    "+5": "Asia/Karachi",
    "+5:30": "Asia/Kolkata",
    "+5:45": "Asia/Kathmandu",
    "+6": "Asia/Dhaka",
    "+6:30": "Asia/Yangon",
    "+7": "Asia/Bangkok",
    "+8": "Asia/Singapore",
    "+8:45": "Australia/Eucla",
    "+9": "Asia/Tokyo",
    "+9:30": "Australia/Darwin",
    "+10": "Australia/Brisbane",
    "+11": "Pacific/Guadalcanal",
    "+12": "Pacific/Tarawa",
    "+13": "Pacific/Tongatapu",
    "+14": "Pacific/Kiritimati",
}


def writable(shown: Scalar, entity: Entity, before: RecordedEntity | None) -> Scalar:
    """Return what to write so that the service goes on showing `shown`.

    The declared name, if that is what we sent and `shown` is what the service made of it, or an offset that
    it has in a year; else a zone with that offset; else the text itself, which then is a name already.
    """
    declared = entity.fields.get(PATH, "")
    sent: Fields = before.sent if before else {}
    # The name that we sent comes first: the service may keep more of it than it shows
    # (tests/core/test_zones.py).
    if before and declared and declared == sent.get(PATH) and shown == before.shown.get(PATH):
        return declared
    # The offset of summer is no other zone than that of winter: Melbourne would become Guadalcanal.
    if declared and shows(declared, shown):
        return declared
    # An offset that is sent back reads as "0" (docs/service.md, contacts): everybody a PUT touches would move
    # to London.
    return NAMES.get(str(shown), shown)


def shows(declared: Scalar, shown: Scalar) -> bool:
    """Whether the service may show `shown` for the declared name: an offset that it has in a year."""
    # Any offset of the year: nobody says whether the one of today or that of winter is shown.
    return str(shown) in zone_offsets(str(declared))
