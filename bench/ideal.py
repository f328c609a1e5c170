"""What cannot be done faster with the same libraries: the lines that our commands are held against.

    .venv/bin/python bench/ideal.py start                 an interpreter with the HTTP client loaded
    .venv/bin/python bench/ideal.py fetch BASE_URL N      every page of N contacts, decoded, and nothing more
    .venv/bin/python bench/ideal.py parse FOLDER          the C parser over every manifest, and nothing more

A process each, measured by bench/measure.py from outside, as the commands are.
"""

import asyncio
import gc
import sys
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import yaml
from service import FIELDS, KEY, PAGE, USER

_AT_ONCE = 16  # what the settings of the measured projects say


async def _fetch(base_url: str, count: int) -> None:
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    offsets = iter(range(0, count, PAGE))

    async def work(client: httpx2.AsyncClient) -> None:
        for offset in offsets:
            asked = {"limit": PAGE, "offset": offset, "fields": FIELDS}
            answer = await client.get("/contacts", params=asked)
            answer.raise_for_status()
            decode(answer.content)

    limits = httpx2.Limits(max_connections=_AT_ONCE, max_keepalive_connections=_AT_ONCE)
    async with httpx2.AsyncClient(base_url=base_url, headers=KEY, auth=USER, limits=limits) as client:
        await asyncio.gather(*(work(client) for _ in range(_AT_ONCE)))


def _parse(folder: Path) -> None:
    gc.disable()
    for path in sorted(folder.glob("*.yaml")):
        for _ in yaml.parse(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader):
            pass


def main(what: str, *given: str) -> None:
    """Do one of them."""
    if what == "fetch":
        asyncio.run(_fetch(given[0], int(given[1])))
    elif what == "parse":
        _parse(Path(given[0]))


if __name__ == "__main__":
    main(*sys.argv[1:])
