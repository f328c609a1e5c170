"""Manifests of which most entries are read by their form mean what the parser reads of the whole file."""

import effort
from manifest.alike_files import compare

FILES = effort.count(small=400, full=55_000, landing=5_000)  # of 20 entries and more each


def test_entries_read_by_their_form_mean_what_the_parser_reads() -> None:
    """Values, order, positions, mistakes and size, over generated and mutated files."""
    every = [compare(seed) for seed in range(FILES)]

    assert [one.difference for one in every if one.difference] == []
    # A law that always reads everything proves nothing.
    assert sum(one.alike for one in every) > FILES / 4
