"""What a review shows, in its order and its words: one document, from which every form is written.

A review is a plan with the guard's verdict, a drift, the run that carried a plan out, or what `validate`
found. review_builder.py makes its document; Markdown, HTML and the text of a terminal walk over it, and add
layout: what is folded, cut, coloured, or left to another line. Everything here is text as it is: each form
escapes it by its own rules. Entries are made as they are asked for, once for each walk: a review may have
100,000 of them.

Other forms choose by themselves, because a format of its own says what is in them: JSON (schemas/output), the
counts of GitLab, the metrics of Prometheus. JUnit, SARIF and annotations list what needs attention, which
remarks.py decides for all three.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, assert_never

from msgspec import Struct

from reconciler.core.review.display_names import DisplayName, no_name
from reconciler.errors import Problem
from reconciler.model.address import Address
from reconciler.model.documents import Scalar
from reconciler.model.kinds import KINDS
from reconciler.model.notices import Notice
from reconciler.model.plans import FieldChange, Plan, Verdict
from reconciler.model.runs import Run
from reconciler.report.values import DisplayedValue, display_change, display_value, value_max

# --- What a report is about ---------------------------------------------------------------------------


class Review(Struct, frozen=True):
    """A plan with the guard's verdict, and the run that carried it out, or None.

    `command` is the subcommand whose result this is: plan, drift, show, apply, resume. `exit_code` is what
    the command ends with (docs/guides/exit-codes.md). `next_step` is the command that carries the plan
    out, or "". Without `show_values` a report for many readers names fields and leaves values out; secrets
    are masked in the plan itself, in every case. `whom` says who an entity is: a value like any other.
    `sizes` are octets of content by address, where they are known.
    """

    command: str
    plan: Plan
    verdict: Verdict
    exit_code: int
    run: Run | None = None
    next_step: str = ""
    show_values: bool = False
    whom: DisplayName = no_name
    sizes: Mapping[Address, int] = {}


class Validated(Struct, frozen=True):
    """What `validate` found: every mistake in file order, and every warning."""

    problems: tuple[Problem, ...]
    notices: tuple[Notice, ...] = ()


# --- Entries and lists of them ---------------------------------------------------------------------------

Tone = Literal["delete", "update", "create", "warn", "dim", ""]

_few_fields = 4  # of an entry that has no room for all: so many are shown whatever their names are


class EntryField(Struct, frozen=True, gc=False):
    """One field of an entry. `form` says what `before` and `after` are.

    name: values are not shown, and none is here. value: `after` is the whole field, and `text`, if it is not
    empty, is what a person reads in its place. change: before and after a write. drift: what was left, what
    is live (before is not known where the manifest changed too). readback: what was sent, what the service
    shows; `accepted` is true where it shows the same value in its own way.
    """

    kind: str
    path: str
    form: Literal["name", "value", "change", "drift", "readback"]
    before: Scalar | None
    after: Scalar | None
    cause: str = ""
    text: str = ""
    accepted: bool = False

    def texts(self, limit: int) -> tuple[DisplayedValue, ...]:
        """Return the value, or both, as inert text of at most `limit` characters (0: any length)."""
        match self.form:
            case "name":
                return ()
            case "value":
                if self.text:
                    return (DisplayedValue(self.text),)
                return (display_value(self.kind, self.path, self.after, limit=limit),)
            case "readback":
                return (self._read_back(self.before, limit), self._read_back(self.after, limit))
            case "change" | "drift":
                cause: Any = self.cause
                both = display_change(
                    self.kind, FieldChange(self.path, self.before, self.after, cause), limit=limit
                )
                unknown = self.form == "drift" and self.cause == "both"
                return (DisplayedValue("(not known)", placeholder=True), both[1]) if unknown else both
        assert_never(self.form)

    def _read_back(self, value: Scalar | None, limit: int) -> DisplayedValue:
        if value is None:
            return DisplayedValue("nothing", placeholder=True)
        return display_value(self.kind, self.path, value, limit=limit)


class Note(Struct, frozen=True, gc=False):
    """A few words about an entry: `lead` and `text`; where there are `each`, `text` sums them up.

    cause: why; entries can be filtered by it. place: where it is declared. result: how it ended. detail and
    warning: a line of its own, in a form that has lines; a warning is what to look at.
    """

    text: str
    role: Literal["", "cause", "place", "result", "detail", "warning"] = ""
    tone: str = ""
    lead: str = ""
    each: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Everything that it says, as a part of a sentence."""
        return f"{self.lead}{self.text}" if self.lead and not self.each else self.text


class Entry(Struct, frozen=True):
    """One change, record, outcome, notice or mistake.

    `subject` is an address, or what else it is about; `who` is a person's name for it, where values are
    shown and `fields` does not hold it. `what` is a sentence, or, where `predicate` is true, the rest of one
    that begins with the subject; `code` is what `reconciler explain` takes. `fields_title` is there where the
    fields may be folded, and `folded` where they begin so. Entries with the same `gist` differ in nothing but
    ids.
    """

    subject: str
    who: str = ""
    notes: tuple[Note, ...] = ()
    what: str = ""
    next: str = ""
    fields: tuple[EntryField, ...] = ()
    fields_title: str = ""
    folded: bool = False
    predicate: bool = False
    code: str = ""
    gist: tuple[str, ...] = ()

    @property
    def coded(self) -> str:
        """The sentence, and its code behind it."""
        return f"{self.what} [{self.code}]" if self.code else self.what

    @property
    def cause(self) -> str:
        """The note that says why, or ""."""
        return next((note.text for note in self.notes if note.role == "cause"), "")

    @property
    def name(self) -> str:
        """`who`, or the names and the strongest identity among the fields of what is made or deleted."""
        if self.who or not self.fields or self.fields[0].form != "value":
            return self.who
        rows = {row.path: row for row in self.fields if row.after}
        paths = KINDS[self.fields[0].kind].presented
        return " · ".join(rows[path].texts(value_max)[0].text for path in paths if path in rows)

    def first_fields(self) -> tuple[list[EntryField], int]:
        """Return the fields for a form that has no room for all, most important first, and how many are left.

        They are those that say who or what it is. The type of a content is part of its description, so it is
        neither shown by itself nor counted.
        """
        rows = {row.path: row for row in self.fields}
        if not rows:
            return [], 0
        kind = KINDS[self.fields[0].kind]
        named = [path for path in kind.headline if path in rows]
        others = [path for path in rows if path not in named and path != "mimeType"]
        room = len(rows) if len(rows) <= _few_fields else max(_few_fields - len(named), 0)
        shown = [rows[path] for path in (*named, *others[:room])]
        described = any(row.text for row in shown) and "mimeType" in rows
        return shown, max(len(rows) - len(shown) - described, 0)


class Section(Struct, frozen=True):
    """A list of entries, never empty in a document. `name` is its id, unique in the document.

    `list_subjects` gives the subjects of the entries without the work of making those. `parts` are the same
    entries in several lists, for a form in which one can be hidden by itself.
    """

    name: str
    title: str
    count: int
    make_entries: Callable[[], Iterator[Entry]]
    list_subjects: Callable[[], Iterator[str]]
    about: str = ""
    label: str = ""  # in place of a title that is too long
    parts: tuple["Section", ...] = ()


# --- Around the lists --------------------------------------------------------------------------------------


class Clause(Struct, frozen=True):
    """A part of a sentence, and what it is about."""

    text: str
    tone: Tone = ""


class NextStep(Struct, frozen=True):
    """A command to go on with, and what it does, where that is not plain."""

    command: str
    about: str = ""


class Fact(Struct, frozen=True):
    """A name and a value. `notes` are counts beside it; `code` is set where a person copies the value."""

    name: str
    text: str
    code: bool = False
    notes: tuple[Note, ...] = ()


class ListReading(Struct, frozen=True):
    """How a list was read (`how`, or ""), and what is not known of it (`limit`, or "")."""

    scope: str
    how: str
    limit: str = ""

    @property
    def text(self) -> str:
        """Both."""
        return ", ".join(filter(None, [self.how, self.limit]))


class Tally(Struct, frozen=True):
    """A table of counts: one column an action, the most frequent row first."""

    title: str
    head: str
    rows: tuple[tuple[str, Mapping[str, int]], ...]


class Choice(Struct, frozen=True):
    """Something that entries can be filtered by: its name, its label, and its values in order."""

    name: str
    label: str
    values: tuple[str, ...]


class Breakdown(Struct, frozen=True):
    """Counts as tables, the `actions` that are their columns, and what entries can be filtered by."""

    actions: tuple[str, ...] = ()
    tallies: tuple[Tally, ...] = ()
    choices: tuple[Choice, ...] = ()


# --- The document ------------------------------------------------------------------------------------------


class RunDocument(Struct, frozen=True):
    """How a run ended. Every outcome is in one of the `sections`, the worst result first; `took` may be "".

    `uncertain` are the entities that it left alone because it is not certain which live one is meant,
    `missing` the workspaces that its plan left out.
    """

    outcome: str
    counts: tuple[Clause, ...]
    took: str
    facts: tuple[Fact, ...]
    stopped: str
    sections: tuple[Section, ...]
    uncertain: tuple[Entry, ...]
    missing: tuple[Entry, ...]
    conclusion: str
    next_step: NextStep | None


class ReviewDocument(Struct, frozen=True):
    """Everything a review shows, most important first. What does not apply is empty.

    `missing` says which workspaces are left out, before all else. `headline` is the sentence that matters
    first, `grave` what makes deletes worse, `details` the rest;
    `counts` say what becomes of every entity. `limits` says which part of the service was not read, where
    the headline claims something about all of it. `conclusion` is the result in one line.
    `make_breakdown` counts again, for a form that has tables and filters. `example` says what there is to
    search for.
    """

    command: str
    subject: str
    target: str
    headline: tuple[Clause, ...]
    conclusion: Clause
    missing: str = ""
    agreements: tuple[str, ...] = ()
    grave: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    counts: tuple[Clause, ...] = ()
    limits: str = ""
    answers: tuple[str, ...] = ()
    refusals: tuple[Entry, ...] = ()
    next_step: NextStep | None = None
    hides_values: bool = False
    run: RunDocument | None = None
    sections: tuple[Section, ...] = ()
    reading: tuple[ListReading, ...] = ()
    facts: tuple[Fact, ...] = ()
    closing: str = ""
    example: str = "Name, field or value"
    make_breakdown: Callable[[], Breakdown] = Breakdown

    @property
    def title(self) -> str:
        """The command and the headline."""
        return f"{self.command}: {self.sentence}"

    @property
    def sentence(self) -> str:
        """The headline as one sentence, behind what is missing."""
        said = enumerate_words([clause.text for clause in self.headline]) + "."
        return f"{self.missing}. {said}" if self.missing else said

    @property
    def more_sentences(self) -> tuple[str, ...]:
        """Everything that follows the headline and what makes it worse, as sentences."""
        answers = (f"{one[:1].upper()}{one[1:]}." for one in self.answers)
        return (*self.details, *([self.limits] if self.limits else []), *answers)


def enumerate_words(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
