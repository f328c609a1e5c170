"""A review as one HTML file that needs nothing else: the same bytes for the same review, in pieces.

Edit the templates in templates/ to change what the page holds and how it looks. This module gives them the
document (review_document.py) and what a template cannot do by itself: the policy of the page, the pieces of a
changed value, the widths of bars. Only this module loads Jinja2.

Security: in every `{{ ... }}` a text passes `escape_control` and is escaped then, fit for an element and for
an attribute in quotes. The page loads nothing; its policy lets one style and one script run, by their
hashes.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from reconciler.report.escaping import escape_control
from reconciler.report.phrases import AGREED_TITLE
from reconciler.report.review_builder import build_review, build_validation
from reconciler.report.review_document import (
    EntryField,
    Review,
    ReviewDocument,
    Tally,
    Validated,
)
from reconciler.report.values import DisplayedValue

_TITLES: Mapping[str, str] = {
    "delete": "Delete",
    "update": "Update",
    "create": "Create",
    "drift": "Changed",
    "mistake": "Mistakes",
    "warning": "Warnings",
}
_bar_units = 1000  # of a bar's width
_unbroken = 24  # characters of a path that stand on one line of the narrowest column
_pieces_together = 500  # a template yields a piece for each word of markup


def html(review: Review) -> str:
    """Return the page of a review."""
    return "".join(html_pieces(review))


def html_pieces(review: Review) -> Iterator[str]:
    """Yield the same, no more than a few entries at once."""
    return render_html(build_review(review))


def html_of_checks(result: Validated) -> str:
    """Return the page of what `validate` found."""
    return "".join(render_html(build_validation(result)))


def render_html(document: ReviewDocument) -> Iterator[str]:
    """Yield the page; no more than a few entries are held at once."""
    style, script = read_static("page.css"), read_static("page.js")
    lists = [part for section in document.sections for part in section.parts or (section,)]
    stream = (
        page_environment()
        .get_template("page.html")
        .stream(
            review=document,
            breakdown=document.make_breakdown(),
            lists=lists,
            total=sum(one.count for one in lists),
            folds=document.command != "validate",
            style=Markup(style),  # noqa: S704 - a file of ours
            script=Markup(script),  # noqa: S704 - a file of ours
            policy=Markup(  # noqa: S704 - words of ours and digests
                f"default-src 'none'; script-src {quote_hash(script)}; style-src {quote_hash(style)}; "
                "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
                "trusted-types 'none'"
            ),
        )
    )
    stream.enable_buffering(_pieces_together)
    yield from stream
    yield "\n"


@cache
def page_environment() -> Environment:
    """Return what loads the templates: every text that they print is made inert and escaped."""
    made = Environment(
        loader=PackageLoader("reconciler.report"),
        autoescape=True,
        finalize=_escape_control_in,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"thousands": "{:,}".format, "break_at_dots": _break_at_dots, "code_spans": _code_spans}
    made.globals |= {
        "agreed_title": AGREED_TITLE,
        "columns": _TITLES,
        "bar_parts": _list_bar_parts,
        "value_parts": list_value_parts,
    }
    return made


def _escape_control_in(value: Any) -> Any:
    """Escape control characters in the text that a template prints; markup was made of escaped text."""
    return escape_control(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def escape_text(text: str) -> Markup:
    """Return a text as markup: `<` is a character, and hidden or moving characters are escapes."""
    return escape(escape_control(text))


def _break_at_dots(path: str) -> Markup:
    """Return the path of a field; a long one may be broken behind its dots, and nowhere else."""
    text = escape_text(path)
    return text.replace(".", Markup(".<wbr>")) if len(path) > _unbroken else text


def _code_spans(text: str) -> Markup:
    """Return a sentence of the program as markup, with its backticks as code elements."""
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text)))  # noqa: S704 - escaped before


def quote_hash(part: str) -> str:
    """Return what lets this one style or script act, in the policy of a page."""
    return f"'sha256-{b64encode(sha256(part.encode()).digest()).decode()}'"


@cache
def read_static(name: str) -> str:
    """Return the style or the script, which the page holds as it is, and its policy by its hash."""
    return (files("reconciler.report") / "templates" / name).read_text("utf-8")


def _list_bar_parts(
    tally: Tally, counts: Mapping[str, int], actions: Sequence[str]
) -> Iterator[tuple[str, int, int]]:
    """Yield action, place and width of each part of a bar, in proportion to the longest bar of its table."""
    most = max(sum(row.values()) for _, row in tally.rows)
    at = 0
    for one in actions:
        wide = counts[one] * _bar_units // most
        if counts[one]:
            yield one, at, max(wide, 4)
        at += wide


# --- What changed inside a value: one text with the parts that go and the parts that come -----------------

Tag = Literal["", "del", "ins"]


class ValuePart(NamedTuple):
    """A piece of a value: what stays, goes or comes; `omitted` characters are left out behind it."""

    tag: Tag
    text: str
    omitted: int = 0
    placeholder: bool = False


# A value that is longer than this and shares words with the other is shown as one text with its changes.
_short = 32  # characters
_shared_min = 0.4  # of the shorter text: with less in common, two texts are read faster than one mixture
# Comparing words costs their number squared: beyond this the whole stretch between the first and the
# last difference counts as changed.
_words_max = 160
_around = 60  # characters of unchanged text that stay on each side of a change
piece_max = 600  # characters of one piece that are shown

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


def list_value_parts(row: EntryField) -> list[ValuePart]:
    """Return the value of a field, or both of its values, as pieces."""
    texts = row.texts(0)
    if len(texts) < 2:  # noqa: PLR2004 - a value alone, or none
        return [_cut_shown("", one) for one in texts]
    before, after = texts
    if row.form == "readback" or before.placeholder or after.placeholder:
        return [_cut_shown("del", before), ValuePart("", " "), _cut_shown("ins", after)]
    return compare_words(before.text, after.text)


def compare_words(before: str, after: str) -> list[ValuePart]:
    """Return two texts as one with what goes and what comes in it, or one beside the other."""
    pieces = _diff_words(before, after)
    same = sum(len(piece) for tag, piece in pieces if not tag)
    shorter = min(len(before), len(after))
    if max(len(before), len(after)) <= _short or same < shorter * _shared_min or not shorter:
        return [_cut_part("del", before), ValuePart("", " "), _cut_part("ins", after)]
    last = len(pieces) - 1
    found: list[ValuePart] = []
    for at, (tag, piece) in enumerate(pieces):
        found += [_cut_part(tag, piece)] if tag else _cut_same(piece, first=at == 0, last=at == last)
    return found


def _cut_shown(tag: Tag, value: DisplayedValue) -> ValuePart:
    if value.placeholder:
        return ValuePart(tag, value.text, placeholder=True)
    return _cut_part(tag, value.text)


def _cut_part(tag: Tag, text: str) -> ValuePart:
    return ValuePart(tag, text[:piece_max], max(len(text) - piece_max, 0))


def _cut_same(piece: str, *, first: bool, last: bool) -> list[ValuePart]:
    """Return unchanged text, its middle left out where it is long and far from every change."""
    head, tail = 0 if first else _around, 0 if last else _around
    left = len(piece) - head - tail
    if left <= _around:
        return [ValuePart("", piece)]
    return [ValuePart("", piece[:head], left), ValuePart("", piece[len(piece) - tail :])]


def _diff_words(before: str, after: str) -> list[tuple[Tag, str]]:
    """Return the pieces of both texts in their order: what is equal once, what differs old before new."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    most = min(len(old), len(new))
    start = next((at for at in range(most) if old[at] != new[at]), most)
    most -= start
    end = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    whole: list[tuple[Tag, str]] = [
        ("", "".join(old[:start])),
        *_diff_changed_words(old[start : len(old) - end], new[start : len(new) - end]),
        ("", "".join(old[len(old) - end :])),
    ]
    return [piece for piece in whole if piece[1]]


def _diff_changed_words(old: list[str], new: list[str]) -> Iterator[tuple[Tag, str]]:
    if max(len(old), len(new)) > _words_max:
        yield "del", "".join(old)
        yield "ins", "".join(new)
        return
    for how, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if how == "equal":
            yield "", "".join(old[i1:i2])
            continue
        yield "del", "".join(old[i1:i2])
        yield "ins", "".join(new[j1:j2])
