"""Files of which only some entries are read again mean what they mean read whole."""

import effort
from manifest.cut_files import walk

WALKS = effort.count(small=60, full=1_000, landing=150)


def test_files_in_cuts_mean_what_they_mean_whole() -> None:
    """Values, order, places, notices and mistakes, over generated and mutated files."""
    every = [walk(seed) for seed in range(WALKS)]

    assert [broken for one in every for broken in one.broken] == []
    entries, spared = sum(one.entries for one in every), sum(one.spared for one in every)
    # A law that always reads everything proves nothing.
    assert spared > entries / 20
    assert sum(one.cut for one in every) > WALKS / 4
