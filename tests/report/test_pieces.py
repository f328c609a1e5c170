"""What is long comes in pieces: the same bytes as at once, and never more of them in memory than a few."""

import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, structs
from report.reviews import REVIEWS, many, reviews
from report.strategies import calm

from reconciler.core.planning.fingerprint import fingerprint
from reconciler.core.review.saved_plans import seal_plan, seal_plan_pieces
from reconciler.model.address import parse_address
from reconciler.model.encoding import encode_json, encode_json_pieces
from reconciler.report.json import json_pieces, json_text, plan_pieces
from reconciler.report.report_formats import FORMATS, IN_PIECES
from reconciler.report.review_document import Review


class _Plain(Struct):
    beta: object
    alpha: object = None


class _Tagged(Struct, tag="one", tag_field="what"):
    alpha: object


class _Brief(Struct, omit_defaults=True):
    alpha: object = 1


class _Array(Struct, array_like=True):
    alpha: object


_ADDRESS = parse_address("contact/ops/jane-doe")
_ALONE = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False)
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
_KEYS = _TEXTS | st.just(_ADDRESS)
_STRUCTS: tuple[Callable[[Any], Struct], ...] = (_Plain, _Tagged, _Brief, _Array)


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, max_size=7)
    made = st.tuples(st.sampled_from(_STRUCTS), inner).map(lambda one: one[0](one[1]))
    return several | several.map(tuple) | st.dictionaries(_KEYS, inner, max_size=7) | made


VALUES = st.recursive(_ALONE | _TEXTS | st.just(_ADDRESS), _containers, max_leaves=40)


@given(VALUES, st.sampled_from([0, 1, 2, 4]), st.integers(1, 8))
def test_pieces_are_the_text_of_every_value(value: object, indent: int, together: int) -> None:
    """Keys sorted, layout, empty lists, what a struct leaves out: however few are encoded at once."""
    pieces = list(encode_json_pieces(value, indent=indent, together=together))

    assert b"".join(pieces) == encode_json(value, indent=indent)
    assert not indent or all(piece.endswith(b"\n") for piece in pieces)


@pytest.mark.parametrize("name", IN_PIECES)
@calm
@given(review=reviews())
def test_a_report_in_pieces_is_the_report(name: str, review: Review) -> None:
    """Whichever way it is written."""
    assert "".join(IN_PIECES[name](review)) == FORMATS[name](review)


@calm
@given(review=reviews())
def test_json_in_pieces_is_escaped_as_the_whole_is(review: Review) -> None:
    """What acts on a terminal is an escape in every piece."""
    for text in (json_text(review.plan), "".join(json_pieces(review.plan))):
        assert [char for char in text if char != "\n" and not char.isprintable()] == []
    assert json_text(review.plan) == "".join(json_pieces(review.plan))


@calm
@given(review=reviews())
def test_a_plan_file_in_pieces_is_the_plan_file(review: Review) -> None:
    """Its seal covers all of it."""
    assert b"".join(seal_plan_pieces(review.plan, "1")) == seal_plan(review.plan, "1")


# By form: its pieces, and how many MB of them may be in memory at once.
_FORMS: dict[str, tuple[Callable[[Review], Iterable[str | bytes]], float]] = {
    "JSON": (lambda review: plan_pieces(review.plan, review.verdict, 0), 2.5),
    "plan file": (lambda review: seal_plan_pieces(review.plan, "1"), 2.5),
    "report json": (IN_PIECES["json"], 2.5),
    "report html": (IN_PIECES["html"], 2.0),  # fifty entries, and what the charts count: 150 bytes a change
}


@pytest.mark.parametrize("form", _FORMS)
def test_a_long_plan_is_never_one_text_in_memory(form: str) -> None:
    """The text of 100,000 changes has 55 MB, and ten times that was needed to make it as one."""
    pieces, most = _FORMS[form]
    review = structs.replace(REVIEWS["plan-values"], plan=many(10_000))
    size = sum(map(len, pieces(review)))

    assert size > 2 * most * 1e6
    assert _peak(lambda: sum(map(len, pieces(review)))) < most * 1e6


def test_the_digest_of_a_long_plan_is_taken_of_pieces() -> None:
    """Every plan has one, also where nothing of it is written."""
    plan = many(10_000)

    assert len(encode_json(plan.changes)) > 3e6
    assert _peak(lambda: fingerprint(plan)) < 2e6


def _peak(work: Callable[[], object]) -> int:
    """Return the most bytes that Python held for this work at once."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
