"""Time zones and the offsets they have in a year, from the public database that the package `tzdata` brings.

The database of the machine is not asked: with the same version of the package, the same manifests give the
same plan everywhere. Data of a package, so nothing here depends on where or when it runs.
"""

from datetime import datetime, timedelta
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from zoneinfo import ZoneInfo

_PACKAGE = "tzdata"
_minute = timedelta(minutes=1)


@cache
def names() -> frozenset[str]:
    """Return the name of every zone."""
    return frozenset(files(_PACKAGE).joinpath("zones").read_text("utf-8").split())


@cache
def zone(name: str) -> ZoneInfo:
    """Return a zone. Raises KeyError for what is not in `names`, before any file is looked for."""
    if name not in names():
        raise KeyError(name)
    with files(_PACKAGE).joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, name)


@cache
def offsets(name: str) -> tuple[str, ...]:
    """Return the offsets of a zone in the course of a year, smallest first, as the service writes them.

    The year is that of the database, so the rules are those that were known in it. Empty for what is no zone.
    """
    if name not in names():
        return ()
    year = int(version(_PACKAGE).partition(".")[0])
    months = (datetime(year, month, 15, tzinfo=zone(name)) for month in range(1, 13))
    return tuple(map(_written, sorted({month.utcoffset() or timedelta() for month in months})))


def _written(offset: timedelta) -> str:
    hours, minutes = divmod(abs(offset) // _minute, 60)
    if not hours and not minutes:
        return "0"
    return f"{'-' if offset < timedelta() else '+'}{hours}" + (f":{minutes:02}" if minutes else "")
