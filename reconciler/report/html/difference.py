"""What changed inside a value: one text with the parts that go and the parts that come.

Belongs here: cutting two texts into equal and different pieces, in linear time. Not here: which values are
shown, and how secrets are hidden (report/values.py).
"""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal

from reconciler.report.html.markup import Html, joined, text

Piece = tuple[Literal["same", "old", "new"], str]

# A value that is longer than this and shares words with the other is shown as one text with its changes.
_short = 32  # characters
_shared_min = 0.4  # of the shorter text: with less in common, two texts are read faster than one mixture
# Comparing words costs their number squared: beyond this the whole stretch between the first and the
# last difference counts as changed.
_words_max = 160
_around = 60  # characters of unchanged text that stay on each side of a change
piece_max = 600  # characters of one piece that are shown

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


def difference(before: str, after: str) -> Html:
    """Return two inert texts as markup: one text with <del> and <ins> inside, or one beside the other."""
    pieces = _pieces(before, after)
    same = sum(len(piece) for sign, piece in pieces if sign == "same")
    shorter = min(len(before), len(after))
    if max(len(before), len(after)) <= _short or same < shorter * _shared_min or not shorter:
        return Html(f"<del>{_cut(before)}</del> <ins>{_cut(after)}</ins>")
    last = len(pieces) - 1
    return joined(
        _same(piece, first=at == 0, last=at == last)
        if sign == "same"
        else Html(f"<{_TAGS[sign]}>{_cut(piece)}</{_TAGS[sign]}>")
        for at, (sign, piece) in enumerate(pieces)
    )


_TAGS = {"old": "del", "new": "ins"}


def _cut(piece: str) -> Html:
    left = len(piece) - piece_max
    return text(piece) if left <= 0 else Html(f"{text(piece[:piece_max])}{_gap(left)}")


def _gap(left: int) -> Html:
    return Html(f"<small>… {left:,} more characters …</small>")


def _same(piece: str, *, first: bool, last: bool) -> Html:
    """Return unchanged text, its middle left out where it is long and far from every change."""
    head, tail = 0 if first else _around, 0 if last else _around
    left = len(piece) - head - tail
    if left <= _around:
        return text(piece)
    return Html(f"{text(piece[:head])}{_gap(left)}{text(piece[len(piece) - tail :])}")


def _pieces(before: str, after: str) -> list[Piece]:
    """Return the pieces of both texts in their order: what is equal once, what differs old before new."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    most = min(len(old), len(new))
    start = next((at for at in range(most) if old[at] != new[at]), most)
    most -= start
    end = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    middle = _changed(old[start : len(old) - end], new[start : len(new) - end])
    whole: list[Piece] = [
        ("same", "".join(old[:start])),
        *middle,
        ("same", "".join(old[len(old) - end :])),
    ]
    return [piece for piece in whole if piece[1]]


def _changed(old: list[str], new: list[str]) -> Iterator[Piece]:
    if max(len(old), len(new)) > _words_max:
        yield "old", "".join(old)
        yield "new", "".join(new)
        return
    for how, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if how == "equal":
            yield "same", "".join(old[i1:i2])
            continue
        yield "old", "".join(old[i1:i2])
        yield "new", "".join(new[j1:j2])
