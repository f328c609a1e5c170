"""CommonMark in which nothing from outside acts, and that is cut at an item where it gets too long.

What came from outside stands in code spans, where no service looks for mentions, links, emoji or commands;
only plain words of sentences do not. So nothing has to be escaped by rules that differ between GitHub, GitLab
and others. Not here: what a plan or a run is (markdown.py).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

from reconciler.report.inert import inert, without_orders
from reconciler.report.lines import count

name_max = 200  # characters of an address, a path or a place
text_max = 500  # characters of one sentence
_value_max = 100  # characters of one value; the JSON report has all of it
_fields_max = 40  # fields of one change

_frame_max = 150  # characters of a title with the line that says what was cut

# A word that no dialect of Markdown acts on. Anything else stands in a code span.
_PLAIN = re.compile(r"\(?(?:[A-Za-z]+[0-9]*(?:['-][A-Za-z]+)*|[0-9][0-9,.]*)\)?[.,;:!?]*")
_WORDS = re.compile(r"`[^`]+`\S*|\S+")
_QUOTED = re.compile(r"`([^`]+)`([.,;:!?)]*)")  # our own sentences quote so
_AROUND = re.compile(r"^(\(?)(.+?)([.,;:!?)]*)$", re.DOTALL)  # a word, and what of the sentence touches it
_COMMIT = re.compile(r"[0-9a-fA-F]{7,}[.,;:!?]*")  # services make a link of what could be a commit


class Section(Struct, frozen=True):
    """A title, and an item for each of `number` things; they are written as far as they are needed.

    `short` are the same items in as few words as they can be, for where they do not all fit. All of them
    together have at most `most` characters.
    """

    title: str
    number: int
    items: Iterable[str]
    short: Iterable[str] = ()
    most: int = 0


def code(text: str, *, limit: int = name_max) -> str:
    """Return any text as a code span in which nothing acts, fenced by more backticks than it has in a row."""
    text = without_orders(inert(text, limit=limit)) or "(empty)"
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1) if "`" in text else "`"
    # A parser takes one space off both ends, unless there is nothing else.
    room = " " if text.strip(" ") and (text[0] in " `" or text[-1] in " `") else ""
    return f"{fence}{room}{text}{room}{fence}"


def prose(text: str) -> str:
    """Return a sentence in which every word that could act stands in a code span."""
    return " ".join(_word(word) for word in _WORDS.findall(inert(text, limit=text_max)))


def _word(word: str) -> str:
    if _PLAIN.fullmatch(word) and not _COMMIT.fullmatch(word):
        return word
    quoted = _QUOTED.fullmatch(word)
    if quoted:
        return code(quoted[1]) + quoted[2]
    before, bare, after = _AROUND.findall(word)[0]
    return f"{before}{code(bare)}{after}"


def some(texts: Iterable[str], number: int) -> str:
    """Return the first of so many texts with commas between, and how many more there are."""
    more = number - _fields_max
    return ", ".join(islice(texts, _fields_max)) + (f" and {more:,} more" if more > 0 else "")


def names(texts: Sequence[str]) -> str:
    """Return names as code spans: the first ones, and how many more there are."""
    return some(map(code, texts), len(texts))


def rows(values: Iterable[tuple[str, ...]], number: int) -> str:
    """Return `path: value`, or `path: before → after, cause`, an item each, and how many more there are."""
    lines = []
    for path, *shown in islice(values, _fields_max):
        said = " → ".join(code(value, limit=_value_max) for value in shown[:2])
        lines.append(f"  - {code(path)}: {said}{f', {shown[2]}' if shown[2:] else ''}\n")
    more = number - _fields_max
    return "".join(lines) + (f"  - and {count(more, 'more field')}\n" if more > 0 else "")


def fitted(sections: Sequence[Section], budget: int) -> str:
    """Return the sections in at most `budget` characters, each of them named whatever is before it."""
    there = [section for section in sections if section.number]
    written = []
    for position, section in enumerate(there):
        kept_free = _frame_max * (len(there) - position)
        text = _section(section, min(section.most or budget, budget - kept_free))
        budget -= len(text)
        written.append(text)
    return "".join(written)


def _section(section: Section, room: int) -> str:
    kept = list(_fitting(section.items, room))
    if len(kept) < section.number and section.short:
        kept = list(_fitting(section.short, room))
    left = section.number - len(kept)
    rest = f"- **and {left:,} more that this report has no room for**\n" if left else ""
    return f"### {section.title} ({section.number:,})\n\n{''.join(kept)}{rest}\n"


def _fitting(items: Iterable[str], room: int) -> Iterator[str]:
    for item in items:
        room -= len(item)
        if room < 0:
            return
        yield item
