"""How much a run of the tests carries out: small counts in `script/test`, the full ones in `script/prove`.

    EXAMPLES = effort.count(small=100, full=2_000)

    @effort.sample(2)                       # a quick run takes two of the cases, all others take all
    @pytest.mark.parametrize("seed", range(40))
    def test_...

    pytestmark = effort.proofs_only()       # a quick run takes none; a test's own sample(...) counts more

`--effort` of pytest says which (tests/conftest.py):

    quick   small counts, and samples: what `script/test` does when it runs everything. Of a test that the
            proofs take with all its cases it takes four, unless sample(...) says otherwise
    (none)  small counts, and every case: what `script/test tests/crash` does
    full    full counts, and every case
    proofs  the same, of the tests alone that count something, here or by tally.py (counting.py), or try
            generated examples beside one that does: script/test has proved the rest, and it is not done twice
    landing the same, but of a test with many cases every other one, or every nth with `landing_part(n)`:
            another part each day. What must pass before a change lands has 25 minutes
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from counting import counting

LEVELS = ("quick", "full", "proofs", "landing")
PROOFS = ("proofs", "landing")
# Cases that a quick run takes of a test with more, where the proofs take all of them. Two thousand cases ran
# in both, which was 6 % of the time of a quick run.
_of_proofs = 4
_many = 8  # cases, of which a run before landing takes every other one
_level = [""]
_imports = re.compile(r"^import (effort|tally)\b", re.MULTILINE)


def begin(level: str) -> None:
    """Set the level of this process, before test modules are imported."""
    _level[0] = level


def count(*, small: int, full: int, landing: int = 0) -> int:
    """Return how many to try; `landing` before a change lands, where that has no time for all."""
    if landing and _level[0] == "landing":
        return landing
    return full if _level[0] in ("full", *PROOFS) else small


def least_share() -> float:
    """Return the share of the numbers of a whole run that this one has to show."""
    return 0.15 if _level[0] == "landing" else 1.0


def sample(number: int) -> pytest.MarkDecorator:
    """Mark a parametrized test of which a quick run takes this many cases, spread over all of them."""
    return pytest.mark.sample(number)


def proofs_only() -> pytest.MarkDecorator:
    """Mark what a quick run leaves out: long, and claimed by a quicker test as well."""
    return pytest.mark.sample(0)


def landing_part(number: int) -> pytest.MarkDecorator:
    """Mark a parametrized test of which a run before landing takes each of so many cases, from today's on."""
    return pytest.mark.landing_part(number)


def chosen(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that a run at this level takes, in their order."""
    every = list(items)
    if _level[0] in PROOFS:
        proofs = [item for item in every if _is_proof(item)]
        if _level[0] == "landing":
            part = pick_landing_parts(proofs, datetime.now(UTC).toordinal())
            proofs = [item for item in proofs if item in part]
        # The lies of a proxy take real time and little work: begun first, they are over before the rest is.
        return sorted(proofs, key=lambda item: "lies" not in item.path.parts)
    if _level[0] == "quick":
        left_out = _beyond_the_samples(every)
        return [item for item in every if item not in left_out]
    return every


def pick_landing_parts(items: Iterable[pytest.Item], day: int) -> set[pytest.Item]:
    """Return what is tried before landing on this day: of a marked test a part of the cases."""
    taken: set[pytest.Item] = set()
    for each in _by_test(items).values():
        marker = each[0].get_closest_marker("landing_part")
        number = int(marker.args[0]) if marker else 2 if len(each) >= _many else 1
        taken |= set(each[day % number :: number])
    return taken


def _by_test(items: Iterable[pytest.Item]) -> dict[str, list[pytest.Item]]:
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return cases


def _is_proof(item: pytest.Item) -> bool:
    """Whether a test does more at full effort, or is counted."""
    name = item.nodeid.split("::")[1].partition("[")[0]
    generates = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    return generates or name in counting(item.path)


def counts(module: Path) -> bool:
    """Whether a test module may have a place among the proofs: it imports what it counts with."""
    return bool(_imports.search(module.read_text("utf-8")))


def _beyond_the_samples(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    return {
        item for each in _by_test(items).values() for item in set(each) - set(_spread(each, _wanted(each)))
    }


def _wanted(cases: Sequence[pytest.Item]) -> int:
    """How many cases of a test a quick run takes."""
    marker = cases[0].get_closest_marker("sample")
    if marker is not None:
        return min(int(marker.args[0]), len(cases))
    if len(cases) > _of_proofs and counts(cases[0].path) and _is_proof(cases[0]):
        return _of_proofs
    return len(cases)


def _spread(items: Sequence[pytest.Item], number: int) -> list[pytest.Item]:
    return [items[at * len(items) // number] for at in range(number)]
