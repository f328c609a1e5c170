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
def using(abbreviation: str) -> tuple[str, ...]:
    """Return the zones that write this abbreviation in the course of a year, those of most people first."""
    return _abbreviations().get(abbreviation.upper(), ())


@cache
def _abbreviations() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    # The first table has one zone for each set of rules that is in force, the place with most people; the
    # second all zones but those that are another name of one.
    for table in ("zonenow.tab", "zone1970.tab"):
        for line in files(_PACKAGE).joinpath("zoneinfo", table).read_text("utf-8").splitlines():
            if line and not line.startswith("#"):
                name = line.split("\t")[2]
                for text in {month.tzname() for month in _months(name)}:
                    if text and text.isalpha():
                        found.setdefault(text.upper(), {})[name] = None
    return {text: tuple(zones) for text, zones in found.items()}


def _months(name: str) -> tuple[datetime, ...]:
    """Return a moment of each month of the year of the database, in a zone."""
    year = int(version(_PACKAGE).partition(".")[0])
    return tuple(datetime(year, month, 15, tzinfo=zone(name)) for month in range(1, 13))


@cache
def offsets(name: str) -> tuple[str, ...]:
    """Return the offsets of a zone in the course of a year, smallest first, as the service writes them.

    The year is that of the database, so the rules are those that were known in it. Empty for what is no zone.
    """
    if name not in names():
        return ()
    return tuple(map(_written, sorted({month.utcoffset() or timedelta() for month in _months(name)})))


def _written(offset: timedelta) -> str:
    hours, minutes = divmod(abs(offset) // _minute, 60)
    if not hours and not minutes:
        return "0"
    return f"{'-' if offset < timedelta() else '+'}{hours}" + (f":{minutes:02}" if minutes else "")
