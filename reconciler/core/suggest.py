"""What "did you mean ...?" says, wherever it is said, and of which names it says nothing.

A guess is followed by people in a hurry. Where a wrong one would be noticed, as a field that no schema has,
the nearest name is named. Where it would reach, delete or change somebody else, only another spelling of the
very same name is: other letter case, accents or signs between words. Of secrets nothing is. So each caller
says of what it speaks, by a row of TOPICS.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from reconciler.core.text import fold_case, normalize_unicode

_ALIKE = 0.6  # difflib's own idea of close
_length_max = 100  # characters; comparing takes the product of two lengths, and no name is longer
_known_max = 1000  # names that are compared; a longer list is not one that people type from
_compared_max = 5  # of the nearest, by the steps from one to the other
_named_max = 3  # in one sentence

_SIGNS = re.compile(r"[\W_]+")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


class SuggestionRule(Struct, frozen=True):
    """How far a suggestion may go for one sort of names, and why.

    `near`: the nearest name. `spelling`: the same name in another spelling. `never`: none. `margin`: names
    that are so many steps further off than the nearest are named beside it. `steps_max`: none that is further
    off (0: as difflib thinks). `by_words`: none that lacks a word of the name: deviceToken is no deviceModel.
    """

    guess: Literal["near", "spelling", "never"]
    why: str
    margin: int = 0
    steps_max: int = 0
    by_words: bool = False


TOPICS: Mapping[str, SuggestionRule] = {
    "field": SuggestionRule(
        "near",
        "a wrong field is refused again, or seen in the plan before anything is written",
        by_words=True,
    ),
    "word": SuggestionRule("near", "a word of a short list that stands in a file and is reviewed with it"),
    "column": SuggestionRule("near", "its values are seen in the plan before anything is written"),
    "setting": SuggestionRule(
        "near", "the names are the program's own, and what they set is shown by `config`", steps_max=2
    ),
    "kind": SuggestionRule("near", "there are a handful of kinds, and none is like another"),
    "command": SuggestionRule("near", "it is typed again, and says what it does"),
    "zone": SuggestionRule(
        "near", "names of places alone: no abbreviation, and no name with a number in it", steps_max=2
    ),
    "entity to look at": SuggestionRule("near", "nothing is written, whichever it is"),
    "country": SuggestionRule(
        "near", "it decides how numbers are read, and that is said", margin=2, steps_max=3
    ),
    "workspace": SuggestionRule("spelling", "another one is another team"),
    "environment": SuggestionRule("spelling", "another one may be production"),
    "directory": SuggestionRule("spelling", "another one holds other people"),
    "entity": SuggestionRule(
        "spelling", "another one is another person, who would be written to, changed or forgotten"
    ),
    "approver": SuggestionRule("spelling", "another one is another person, who would be told"),
    "callback": SuggestionRule("spelling", "replies would go to somebody else"),
    "call": SuggestionRule("never", "ids are like each other, and mean nothing to a reader"),
    "variable": SuggestionRule("never", "a secret: the nearest name is that of somebody else's token"),
}


def find_nearest(topic: str, wrong: str, known: Iterable[str]) -> str:
    """Return the one known name that `wrong` most likely means, letter case aside, or "".

    Where two are as near as each other it is neither.
    """
    found = find_suggestions(topic, wrong, known)
    return found[0] if len(found) == 1 else ""


def find_suggestions(topic: str, wrong: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the known names that `wrong` may mean, as far as the topic allows a guess."""
    row = TOPICS[topic]
    if len(wrong) > _length_max or row.guess == "never":
        return ()
    fitting = sorted(name for name in known if len(name) <= _length_max)
    if row.guess == "spelling":
        same = tuple(name for name in fitting if _fold_spelling(name) == _fold_spelling(wrong))
        # The kind in front of an address is the program's word, and no name of somebody.
        rest = _fold_spelling(wrong).partition("/")[2]
        return same or tuple(
            name for name in fitting if rest and _fold_spelling(name).partition("/")[2] == rest
        )
    folded = {fold_case(name): name for name in fitting[:_known_max]}
    text = fold_case(wrong)
    near = difflib.get_close_matches(text, folded, _compared_max, _ALIKE)
    if row.by_words:
        near = [name for name in near if _has_words_of(wrong, folded[name])]
    steps = {name: _edit_distance(text, name) for name in near}
    least = min(steps.values(), default=0)
    if row.steps_max and least > row.steps_max:
        return ()
    return tuple(sorted(folded[name] for name, count in steps.items() if count <= least + row.margin))


def did_you_mean(topic: str, wrong: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return "did you mean ...?" with the names that may be meant, or `otherwise` where there is none."""
    near = find_suggestions(topic, wrong, known)
    return f"did you mean {' or '.join(near)}?" if 0 < len(near) <= _named_max else otherwise


def _has_words_of(wrong: str, known: str) -> bool:
    """Whether each word of `wrong`, a name like workMobilePhone, is a word of `known`, slips aside."""
    words, there = ([one.lower() for one in _WORDS.findall(name)] for name in (wrong, known))
    if len(words) < 2:  # noqa: PLR2004 - without capitals there is nothing to compare word by word
        return True
    return all(
        one in known.lower() or any(_edit_distance(one, other) <= max(1, len(one) // 3) for other in there)
        for one in words
    )


def _fold_spelling(text: str) -> str:
    """Return a name without letter case, accents, and signs between words; its slashes and colons stay."""
    parts = re.split(r"([/:=])", normalize_unicode("NFD", fold_case(text)))
    return "".join(part if part in "/:=" else _SIGNS.sub("", part) for part in parts)


def _edit_distance(one: str, other: str) -> int:
    """Return how many letters are to be put in, taken out, replaced or swapped with the next one."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, char in enumerate(one, start=1):
        last, row, earlier = row, [at], before
        for to, wanted in enumerate(other, start=1):
            steps = min(row[-1] + 1, last[to] + 1, last[to - 1] + (char != wanted))
            if earlier and to > 1 and char == other[to - 2] and one[at - 2] == wanted:
                steps = min(steps, earlier[to - 2] + 1)
            row.append(steps)
        before = last
    return row[-1]
