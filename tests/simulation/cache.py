"""A gateway before the service that keeps the answers to GET for some seconds, in three forms.

The worst of the three ignores what a client asks of a cache, and hides what it does. Nothing but an address
that was never asked for gets through to the service then.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from http import HTTPStatus
from random import Random
from typing import Literal

from simulation.faults import Faults
from simulation.modelwire import Answer

Manner = Literal["", "heeds", "tells", "hides"]
keeps_s = (8.0, 30.0)  # as measured on gateways


class Cache:
    """See the module. `manner` is "" in the worlds that have none."""

    def __init__(self, now: Callable[[], float], faults: Faults, chance: Random) -> None:
        self.manner: Manner = ""
        if faults.active("cache"):
            self.manner = chance.choice(("heeds", "tells", "hides"))
        self._now = now
        self._keeps_s = chance.uniform(*keeps_s)
        self._kept: dict[str, tuple[float, Answer]] = {}

    def answer(self, address: str, *, no_cache: bool, fresh: Mapping[str, str]) -> Answer | None:
        """What was kept for this address, or None where the service has to be asked.

        `no_cache` is what the client asks for; `fresh` are the headers of an answer of this moment.
        """
        kept = self._kept.get(address)
        if kept is None or (no_cache and self.manner == "heeds"):
            return None
        age_s = self._now() - kept[0]
        if age_s >= self._keeps_s:
            return None
        if self.manner == "hides":
            return replace(kept[1], headers={**kept[1].headers, **fresh})
        return replace(kept[1], headers={**kept[1].headers, "age": f"{int(age_s)}"})

    def keep(self, address: str, found: Answer) -> None:
        """Keep a good answer."""
        if self.manner and found.status == HTTPStatus.OK:
            self._kept[address] = (self._now(), found)
