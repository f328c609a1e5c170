"""The page of `validate`: how many mistakes, counts by code and file, search, then each with its place.

Belongs here: the order of everything, and how one mistake looks. Not here: the file around it (frame.py), and
what validate found (formats/checks.py). Values are quoted, as in every report of validate.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct

from reconciler.model.codes import CODES
from reconciler.report.html.charts import CountedMistake, charts_of_mistakes
from reconciler.report.html.controls import FilterChoice, controls
from reconciler.report.html.frame import EntryList, enumerated, framed, listed
from reconciler.report.html.markup import LINE, NOTHING, Html, code, joined, text
from reconciler.report.lines import count
from reconciler.report.remarks import at
from reconciler.report.validation import Validated

_WARNING = "warning"  # instead of a code: a warning has none

_VERDICTS = {True: "Nothing is planned until every mistake is mended.", False: "They can be planned."}


class _Found(Struct, frozen=True):
    """One mistake or warning. `place` is `file:line:column` as far as known, `code` one of docs/errors.md."""

    action: str
    place: str
    code: str
    what: str
    next: str

    @property
    def file(self) -> str:
        return at(self.place)[0] or self.place


def html_of_checks(validated: Validated) -> str:
    """Return the mistakes and warnings as one HTML file that needs nothing else: the same bytes each time."""
    found = [*_found(validated)]
    sections = [one for one in _sections(found) if one.count]
    parts = [(one.name, one.title, one.count) for one in sections]
    form = controls(parts, _choices(found), len(found), example="Place, code or word", folds=False)
    body = joined(
        [
            _head(validated, found),
            charts_of_mistakes([CountedMistake(one.action, one.file, one.code) for one in found]),
            form if len(found) > 1 else NOTHING,
            Html(f"<main id=main>{joined(chain.from_iterable(map(listed, sections)))}</main>"),
            _foot(found),
        ],
        LINE,
    )
    title = f"validate: {' and '.join(words for words, _ in _counts(validated))}."
    return "".join(framed(title, (body,)))


def _found(validated: Validated) -> Iterator[_Found]:
    for one in validated.problems:
        yield _Found("mistake", one.where, one.code, one.what, one.next)
    for notice in validated.notices:
        what = f"{notice.subject}: {notice.what}" if notice.place else notice.what
        yield _Found("warning", notice.place or notice.subject, _WARNING, what, notice.next)


def _sections(found: Sequence[_Found]) -> Iterator[EntryList]:
    mistakes = [one for one in found if one.action == "mistake"]
    yield EntryList("mistakes", "Mistakes", len(mistakes), map(_entry, mistakes))
    warnings = [one for one in found if one.action == "warning"]
    about = "Probably wrong, and accepted."
    yield EntryList("warnings", "Warnings", len(warnings), map(_entry, warnings), about)


def _entry(one: _Found) -> Html:
    """Return an entry; its heading is the place, with the name of the file set off."""
    above, slash, name = one.place.rpartition("/")
    known = CODES.get(one.code)
    about = f"<p class=w><i>{text(one.code)}</i>{f' · {text(known.title)}' if known else ''}</p>"
    step = f"<p class=next><span>next:</span> {text(one.next)}</p>" if one.next else ""
    return Html(f"<li><h3>{text(above + slash)}<b>{text(name)}</b></h3><p>{text(one.what)}</p>{step}{about}")


def _choices(found: Sequence[_Found]) -> Iterator[FilterChoice]:
    yield FilterChoice("file", "File", tuple(sorted({one.file for one in found})))
    yield FilterChoice("cause", "Code", tuple(sorted({one.code for one in found})))


def _counts(validated: Validated) -> Iterator[tuple[str, str]]:
    """Yield what there is, in words, each with how grave it is; never nothing."""
    if validated.problems:
        yield count(len(validated.problems), "mistake"), "delete"
    else:
        yield "No mistakes", ""
    if validated.notices:
        yield count(len(validated.notices), "warning"), "warn"


def _head(validated: Validated, found: Sequence[_Found]) -> Html:
    marked = [
        Html(f'<strong class="{tone}">{text(words)}</strong>') if tone else text(words)
        for words, tone in _counts(validated)
    ]
    files = count(len({one.file for one in found}), "file")
    where = f"In {files}. " if found else "The manifests are as they should be. "
    return Html(
        "<header class=top><p class=about><b>validate</b> settings and manifests</p>"
        f"<h1>{enumerated(marked)}.</h1>"
        f"<p class=more>{text(where + _VERDICTS[bool(validated.problems)])}</p></header>"
    )


def _foot(found: Sequence[_Found]) -> Html:
    if not any(one.code in CODES for one in found):
        return NOTHING
    return Html(
        "<footer><h2>About this report</h2><p>"
        f"{code('reconciler explain CODE')} says what a code means, with a wrong and a right example."
        "</p></footer>"
    )
