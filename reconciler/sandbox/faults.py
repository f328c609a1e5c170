"""Faults on demand: which requests are struck, and what then happens to them.

    rule (matcher, options) ──armed──▶ strikes(method, path)? ──▶ Course ──▶ app.py follows it

A fault strikes requests whose method and path match: from the `nth` on, at most `times` times (null: until it
is disarmed), each with `probability`. The same seed strikes the same requests.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatchcase
from random import Random
from typing import Annotated, Literal

import msgspec

from reconciler.sandbox.records import Body

Rewrite = Callable[[Body], Body]

unfiltered = ("apikey", "limit", "offset", "sortorder", "sortfields", "fields", "customfields", "view")
"""Query parameters, in lower case, that choose no rows; they survive an ignored filter."""

html_page = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in.</body></html>"


class FaultRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fault as it is asked for: its name in FAULTS, its matcher, its options.

    `path`: a glob over the whole path, in which `*` also matches slashes. `seconds`: of latency, land-late
    and index-lag. `keep`: bytes that a truncated answer keeps (null: half). `rows`: of a short page.
    `words`: an empty page says "No records found" too. `host`: the origin in foreign links. `field`, `how`:
    what a normaliser changes; `field` also: what a wrong order follows. `status`: of an answer without more.
    """

    fault: str
    method: str = "*"
    path: str = "*"
    nth: Annotated[int, msgspec.Meta(ge=1)] = 1
    times: Annotated[int, msgspec.Meta(ge=1)] | None = 1
    probability: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
    seed: int = 0
    seconds: Annotated[float, msgspec.Meta(ge=0, le=86_400)] = 1.0
    keep: Annotated[int, msgspec.Meta(ge=0)] | None = None
    rows: Annotated[int, msgspec.Meta(ge=1, le=20)] = 3
    words: bool = False
    host: str = "https://elsewhere.example.net"
    field: str = ""
    how: Literal["upper", "lower", "trim", "shorten", "append"] = "upper"
    status: Annotated[int, msgspec.Meta(ge=400, le=599)] = 503

    def __post_init__(self) -> None:
        if self.fault not in FAULTS:
            raise ValueError(f"fault: {self.fault!r} is none of {', '.join(FAULTS)}")
        if self.fault == "normaliser" and not self.field:
            raise ValueError("field: a normaliser needs the name of a field")


@dataclass(frozen=True, slots=True)
class Course:
    """What happens to one request. The defaults are a request without faults.

    `done`: how often it is carried out. `late_s`: it is carried out that much later. Without `answered`, the
    connection is closed without an answer. `lag_s`: how long lists lack what it creates. `keep`: the answer
    is cut after so many bytes (-1: in the middle) and the connection closed. `status`: the answer is this
    status without a body, whatever was done.
    """

    wait_s: float = 0.0
    origin: str | None = None
    query: tuple[Callable[[Mapping[str, str]], dict[str, str]], ...] = ()
    written: tuple[Rewrite, ...] = ()
    done: int = 1
    late_s: float | None = None
    lag_s: float = 0.0
    shown: tuple[Rewrite, ...] = ()
    broken: bool = False
    page: bytes | None = None
    status: int | None = None
    keep: int | None = None
    answered: bool = True

    def read(self, body: Body) -> Body:
        """The body as the service understands it."""
        return _apply_changes(self.written, body)

    def show(self, document: Body) -> Body:
        """The document as it is sent."""
        return _apply_changes(self.shown, document)

    def ask(self, query: dict[str, str]) -> dict[str, str]:
        """The query as the service understands it."""
        for change in self.query:
            query = change(query)
        return query


no_fault_course = Course()


@dataclass(frozen=True, slots=True)
class Fault:
    """One row of the table: where it acts, what it does in words, and how it changes a course."""

    where: Literal["request", "state", "answer"]
    does: str
    apply: Callable[[FaultRule, Course], Course]


def _change_order(rule: FaultRule, course: Course) -> Course:
    def other(query: Mapping[str, str]) -> dict[str, str]:
        sorts = {name: rule.field or "lastName" for name in query if name.lower() == "sortfields"}
        return {**query, **sorts}

    return replace(course, query=(*course.query, other))


def _normalise_field(rule: FaultRule, course: Course) -> Course:
    def changed(body: Body) -> Body:
        value = body.get(rule.field)
        return {**body, rule.field: NORMALISERS[rule.how](value)} if isinstance(value, str) else body

    return replace(course, written=(*course.written, changed))


def _drop_rows(rule: FaultRule, course: Course) -> Course:
    def emptied(document: Body) -> Body:
        if rule.words:
            return {"status": "No records found", "link": []}
        return {key: [] if _is_rows(key, value) else value for key, value in document.items()}

    return replace(course, shown=(*course.shown, emptied))


FAULTS: dict[str, Fault] = {
    "latency": Fault(
        "request",
        "it is answered `seconds` later",
        lambda rule, course: replace(course, wait_s=course.wait_s + rule.seconds),
    ),
    "drop-before": Fault(
        "request",
        "the connection is closed, and nothing was done",
        lambda _, course: replace(course, done=0, answered=False),
    ),
    "ignored-filter": Fault(
        "request",
        "a list is given as if it had no filter",
        lambda _, course: replace(course, query=(*course.query, _without_filters)),
    ),
    "ignored-order": Fault(
        "request",
        "a list is given in its own order, whatever was asked for",
        lambda _, course: replace(course, query=(*course.query, _without_order)),
    ),
    "wrong-order": Fault(
        "request",
        "a list in any order is in that of `field` (of last names, where none is given)",
        _change_order,
    ),
    "short-page": Fault(
        "request",
        "a page has `rows` rows at most, whatever was asked for",
        lambda rule, course: replace(
            course, query=(*course.query, lambda query: {**query, "limit": str(rule.rows)})
        ),
    ),
    "repeated-page": Fault(
        "request",
        "the first page is given, whatever was asked for",
        lambda _, course: replace(course, query=(*course.query, lambda query: {**query, "offset": "0"})),
    ),
    "drop-after": Fault(
        "state",
        "it is done, and the connection closed without an answer",
        lambda _, course: replace(course, answered=False),
    ),
    "refused-before": Fault(
        "request",
        "nothing is done, and it is answered with `status`",
        lambda rule, course: replace(course, done=0, status=rule.status),
    ),
    "refused-after": Fault(
        "state",
        "it is done, and answered with `status` all the same",
        lambda rule, course: replace(course, status=rule.status),
    ),
    "land-late": Fault(
        "state",
        "the connection is closed without an answer, and it is done `seconds` later",
        lambda rule, course: replace(course, late_s=rule.seconds, answered=False),
    ),
    "duplicate": Fault(
        "state", "it is done twice; the first is answered", lambda _, course: replace(course, done=2)
    ),
    "normaliser": Fault("state", "`field` of what is written is changed as `how` says", _normalise_field),
    "index-lag": Fault(
        "state",
        "what it creates is missing from lists and searches for `seconds`",
        lambda rule, course: replace(course, lag_s=rule.seconds),
    ),
    "truncate": Fault(
        "answer",
        "the answer ends after `keep` bytes of its body, and the connection is closed",
        lambda rule, course: replace(course, keep=-1 if rule.keep is None else rule.keep),
    ),
    "malformed": Fault(
        "answer",
        "half the body is sent, and its length says that this is all",
        lambda _, course: replace(course, broken=True),
    ),
    "html": Fault("answer", "a page in HTML, with 200", lambda _, course: replace(course, page=html_page)),
    "empty-page": Fault("answer", "a list shows none of its rows", _drop_rows),
    "foreign-links": Fault(
        "answer",
        "links and Location name the origin `host`",
        lambda rule, course: replace(course, origin=rule.host),
    ),
    "wrong-times": Fault(
        "answer",
        "all rows of a list tell one and the same lastModifiedTime",
        lambda _, course: replace(course, shown=(*course.shown, _at_one_time)),
    ),
    "extra-fields": Fault(
        "answer",
        "documents and rows carry fields that nobody has heard of",
        lambda _, course: replace(course, shown=(*course.shown, _with_extras)),
    ),
}

NORMALISERS: dict[str, Callable[[str], str]] = {
    "upper": str.upper,
    "lower": str.lower,
    "trim": str.strip,
    "shorten": lambda text: text[:3],
    "append": lambda text: text + ".",  # grows with every write, so that no two reads agree
}

_ONE_TIME: Body = {"lastModifiedTime": "2026-01-05T09:00:00Z"}

EXTRAS: Body = {
    "xServerBuild": "2027.1",
    "xNothing": None,
    "xList": [1, "two", {"three": 3}],
    "xObject": {"nested": {"deep": True}},
}


@dataclass(slots=True)
class ArmedFault:
    """An armed fault and its counts."""

    id: str
    rule: FaultRule
    chance: Random
    seen: int = 0
    struck: int = 0

    def strikes(self, method: str, path: str) -> bool:
        """Whether this request is struck. Call it once for every request, because it counts."""
        rule = self.rule
        if not (fnmatchcase(method, rule.method) and fnmatchcase(path, rule.path)):
            return False
        self.seen += 1
        if self.seen < rule.nth or (rule.times is not None and self.struck >= rule.times):
            return False
        if self.chance.random() >= rule.probability:
            return False
        self.struck += 1
        return True

    def document(self) -> Body:
        """The rule with its id and its counts."""
        rule: Body = msgspec.to_builtins(self.rule)
        return {"id": self.id, **rule, "seen": self.seen, "struck": self.struck}


class Faults:
    """The faults armed in one sandbox, and the entities that its lists do not show yet."""

    def __init__(self, rules: Iterable[FaultRule] = ()) -> None:
        self._armed: dict[str, ArmedFault] = {}
        self._number = 0
        self._hidden: dict[str, datetime] = {}  # id -> when it is shown
        for rule in rules:
            self.arm(rule)

    def arm(self, rule: FaultRule) -> ArmedFault:
        """Arm a fault."""
        self._number += 1
        armed = ArmedFault(str(self._number), rule, Random(rule.seed))  # noqa: S311 - repeatable on purpose
        self._armed[armed.id] = armed
        return armed

    def disarm(self, fault_id: str) -> bool:
        """Disarm a fault; return False if there is none with this id."""
        return self._armed.pop(fault_id, None) is not None

    def disarm_all(self) -> None:
        """Disarm all faults. Records that are hidden already stay hidden for their time."""
        self._armed.clear()

    def document(self) -> Body:
        """All that are armed, in the order of arming, and the names there are."""
        kinds = {name: {"where": fault.where, "does": fault.does} for name, fault in FAULTS.items()}
        return {"faults": [armed.document() for armed in self._armed.values()], "kinds": kinds}

    def course(self, method: str, path: str) -> Course:
        """Apply all faults that strike this request, in the order of arming."""
        course = no_fault_course
        for armed in self._armed.values():
            if armed.strikes(method, path):
                course = FAULTS[armed.rule.fault].apply(armed.rule, course)
        return course

    def hide(self, entity_id: str, *, until: datetime) -> None:
        """Lists leave this entity out until then."""
        self._hidden[entity_id] = until

    def hidden(self, now: datetime) -> frozenset[str]:
        """The ids that lists leave out at this moment."""
        if self._hidden:
            self._hidden = {one: until for one, until in self._hidden.items() if until > now}
        return frozenset(self._hidden)


def _apply_changes(changes: Iterable[Rewrite], body: Body) -> Body:
    for change in changes:
        body = change(body)
    return body


def _without_filters(query: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in query.items() if name.lower() in unfiltered}


def _without_order(query: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in query.items() if name.lower() not in ("sortfields", "sortorder")}


def _at_one_time(document: Body) -> Body:
    return _add_to_rows(document, _ONE_TIME)


def _add_to_rows(document: Body, fields: Body) -> Body:
    return {
        key: [{**row, **fields} if isinstance(row, dict) else row for row in value]
        if isinstance(value, list) and _is_rows(key, value)
        else value
        for key, value in document.items()
    }


def _is_rows(key: str, value: object) -> bool:
    return key != "link" and isinstance(value, list)


def _with_extras(document: Body) -> Body:
    return {**_add_to_rows(document, EXTRAS), **EXTRAS}
