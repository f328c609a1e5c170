"""A target of octoDNS that holds its records in memory: what is live, for a plan without a network."""

import json
from logging import getLogger
from pathlib import Path
from typing import Any

from octodns.provider.base import BaseProvider
from octodns.record import Record


class MemoryProvider(BaseProvider):  # type: ignore[misc]  # octoDNS publishes no types
    """Knows the records of one JSON file, {name: [value, ...]}, and applies nothing."""

    SUPPORTS_GEO = False
    SUPPORTS_DYNAMIC = False
    SUPPORTS = frozenset({"TXT"})

    def __init__(self, id: str, path: str) -> None:  # noqa: A002 - the name that octoDNS passes
        self.log = getLogger(f"MemoryProvider[{id}]")
        super().__init__(id)
        self._path = Path(path)

    def populate(self, zone: Any, target: bool = False, lenient: bool = False) -> bool:  # noqa: FBT001, FBT002, ARG002 - octoDNS' own signature
        """Add every record that is live."""
        for name, values in json.loads(self._path.read_text(encoding="utf-8")).items():
            data = {"type": "TXT", "ttl": 3600, "values": values}
            zone.add_record(Record.new(zone, name, data, source=self, lenient=lenient), lenient=lenient)
        return True
