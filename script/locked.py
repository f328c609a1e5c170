# noqa: INP001 - a script, and a module of other scripts; part of no package
"""Print the rows of the lock that the package needs, alone or with some extras, each with its hashes.

    .venv/bin/python script/locked.py                       what the package alone needs
    .venv/bin/python script/locked.py encryption postgres   what it needs with these extras

They can be installed with `pip install --no-deps --require-hashes -r`. Like the lock they are for all
platforms. Which package needs which is read from what is installed in .venv.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from reconciler.extras import EXTRAS
from reconciler.version import DISTRIBUTION

LOCK = Path(__file__).parents[1] / "requirements" / "run.txt"
_ROW = re.compile(r"^(?P<name>[a-z0-9-]+)==.*?(?=^[a-z0-9]|\Z)", re.MULTILINE | re.DOTALL)


def rows() -> Mapping[str, str]:
    """Return the whole lock: what stands there of each package, by its name."""
    return {found["name"]: found[0] for found in _ROW.finditer(LOCK.read_text(encoding="utf-8"))}


def shipped() -> Mapping[str, str]:
    """Return the version of each package in the lock that a system which the program runs on may get."""
    found = {}
    for name, row in rows().items():
        wanted = Requirement(row.partition("\\")[0].strip())
        systems = ({"sys_platform": one} for one in ("linux", "darwin", "win32"))
        if wanted.marker is None or any(wanted.marker.evaluate(one) for one in systems):
            found[name] = str(wanted.specifier).removeprefix("==")
    return found


def needed(extras: Iterable[str] = ()) -> frozenset[str]:
    """Return the names of all packages that ours needs with these extras, itself left out."""
    return frozenset(graph(extras)) - {DISTRIBUTION}


def graph(extras: Iterable[str] = ()) -> Mapping[str, frozenset[str]]:
    """Return which packages each of them needs directly, ours with these extras among them."""
    locked = rows()
    found: dict[str, frozenset[str]] = {}
    seen: set[tuple[str, str]] = set()
    ahead = [(DISTRIBUTION, extra) for extra in ("", *extras)]
    while ahead:
        here = ahead.pop()
        if here not in seen:
            seen.add(here)
            below = [one for one in _below(*here) if one[0] in locked]
            found[here[0]] = found.get(here[0], frozenset()) | {name for name, _ in below} - {here[0]}
            ahead += below
    return found


def _below(name: str, extra: str) -> Iterator[tuple[str, str]]:
    """Yield what a package asks for, with its extras, for every platform. `extra` is one of its own."""
    try:
        asked = requires(name) or ()
    except PackageNotFoundError:  # one of another platform
        return
    for text in asked:
        wanted = Requirement(text)
        marker = wanted.marker
        if marker is not None and "extra" in str(marker):
            if not marker.evaluate({"extra": extra}):
                continue
        elif extra:  # without a word of an extra it is the package's own
            continue
        found = canonicalize_name(wanted.name)
        yield from ((found, each) for each in ("", *wanted.extras))


def main(extras: list[str]) -> int:
    """Print the rows; 64 and a line on stderr for an extra that there is not."""
    unknown = [one for one in extras if one not in EXTRAS]
    if unknown:
        print(f"{unknown[0]!r} is not an extra.\n  next: one of {', '.join(EXTRAS)}", file=sys.stderr)  # noqa: T201 - a script
        return 64
    wanted = needed(extras)
    sys.stdout.writelines(row for name, row in rows().items() if name in wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
