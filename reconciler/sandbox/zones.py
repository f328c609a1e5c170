"""Time zones as the service shows them: a name goes in, an offset of whole hours comes out.

Belongs here: that one rewriting. Not here: any decision about when it applies.
Source: docs/service.md, contacts. Recorded: "Australia/Melbourne" reads back "+10", a sent "+10" reads "0".
"""

from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

# Kept here, so that the common names read the same on machines without a time zone database.
# Standard time: the recording (August, Melbourne) cannot tell it from the offset of the day.
STANDARD_OFFSETS = {
    "Africa/Cairo": "+2",
    "Africa/Johannesburg": "+2",
    "Africa/Lagos": "+1",
    "Africa/Nairobi": "+3",
    "America/Anchorage": "-9",
    "America/Bogota": "-5",
    "America/Chicago": "-6",
    "America/Denver": "-7",
    "America/Halifax": "-4",
    "America/Los_Angeles": "-8",
    "America/Mexico_City": "-6",
    "America/New_York": "-5",
    "America/Sao_Paulo": "-3",
    "America/Toronto": "-5",
    "America/Vancouver": "-8",
    "Asia/Bangkok": "+7",
    "Asia/Dubai": "+4",
    "Asia/Hong_Kong": "+8",
    "Asia/Jakarta": "+7",
    "Asia/Kolkata": "+5:30",
    "Asia/Manila": "+8",
    "Asia/Seoul": "+9",
    "Asia/Shanghai": "+8",
    "Asia/Singapore": "+8",
    "Asia/Tokyo": "+9",
    "Australia/Adelaide": "+9:30",
    "Australia/Brisbane": "+10",
    "Australia/Canberra": "+10",
    "Australia/Darwin": "+9:30",
    "Australia/Hobart": "+10",
    "Australia/Melbourne": "+10",
    "Australia/Perth": "+8",
    "Australia/Sydney": "+10",
    "Etc/UTC": "0",
    "Europe/Amsterdam": "+1",
    "Europe/Athens": "+2",
    "Europe/Berlin": "+1",
    "Europe/Brussels": "+1",
    "Europe/Dublin": "0",
    "Europe/Istanbul": "+3",
    "Europe/Lisbon": "0",
    "Europe/London": "0",
    "Europe/Madrid": "+1",
    "Europe/Moscow": "+3",
    "Europe/Paris": "+1",
    "Europe/Rome": "+1",
    "Europe/Stockholm": "+1",
    "Europe/Vienna": "+1",
    "Europe/Warsaw": "+1",
    "Europe/Zurich": "+1",
    "GMT": "0",
    "Pacific/Auckland": "+12",
    "Pacific/Fiji": "+12",
    "Pacific/Honolulu": "-10",
    "UTC": "0",
}


@lru_cache(maxsize=1024)
def shown_zone(sent: str) -> str:
    """What the service shows after `sent` was written as a time zone; what it does not know becomes "0"."""
    return STANDARD_OFFSETS.get(sent) or database_offset(sent)


def database_offset(sent: str) -> str:
    """The standard offset that the machine's time zone database knows, else "0"."""
    try:
        zone = ZoneInfo(sent)
    except (OSError, ValueError, LookupError):  # the last is ZoneInfoNotFoundError, a KeyError
        return "0"
    winter_and_summer = (datetime(2025, month, 15, tzinfo=zone).utcoffset() for month in (1, 7))
    return _written(min(offset or timedelta() for offset in winter_and_summer))


def _written(offset: timedelta) -> str:
    minutes = int(offset.total_seconds()) // 60
    hours, rest = divmod(abs(minutes), 60)
    if minutes == 0:
        return "0"
    return f"{'-' if minutes < 0 else '+'}{hours}" + (f":{rest:02d}" if rest else "")
