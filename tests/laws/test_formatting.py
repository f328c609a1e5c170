"""Formatting: the same meaning, the same comments, one form; whatever the layout was."""

import re
from collections import Counter

from hypothesis import assume, given
from hypothesis import strategies as st
from manifest.layouts import manifest

from reconciler.manifest.fmt import _find_unlike_paths, format_manifest
from reconciler.parsing.tree import read_tree

NOTE = re.compile(r"# note \d+")


@given(st.integers(0, 2**63))
def test_any_layout_is_formatted_and_means_the_same(seed: int) -> None:
    """No comment is lost and no value changes, and what was formatted once stays as it is."""
    data = manifest(seed)
    before = read_tree(data, "a.yaml")
    assume(not before.problems)

    result = format_manifest(data, "a.yaml")

    assert result.problems == ()
    after = read_tree(result.data, "a.yaml")
    assert after.problems == ()
    assert [*_find_unlike_paths(before.value, after.value, ())] == []
    assert Counter(NOTE.findall(data.decode())) == Counter(NOTE.findall(result.data.decode()))
    assert format_manifest(result.data, "a.yaml").data == result.data
