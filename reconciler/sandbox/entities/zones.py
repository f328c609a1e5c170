"""Time zones as the service shows them: a name goes in, an offset of whole hours comes out.

Belongs here: that one rewriting. Not here: any decision about when it applies.
Source: docs/service.md, contacts. Recorded: "Australia/Melbourne" reads back "+10", a sent "+10" reads "0".
"""

from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo


@lru_cache(maxsize=1024)
def shown_zone(sent: str) -> str:
    """What the service shows after `sent` was written as a time zone; what it does not know becomes "0".

    It is the standard offset: the recording (August, Melbourne) cannot tell it from that of the day.
    """
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
