"""The nouns of one exchange with the service: what is asked, what came back, what came instead.

Sending, judging and repeating: exchange.py, refusals.py and transport.py in http/.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from reconciler.core.calls import Failure

Form = Literal["json", "xml"]  # of bodies on the wire


# What to do about a body that cannot be used: by its cause, for the address is rarely what is wrong.
OTHER_SERVICE = "check service.base_url: something answers at this address, but not as the service does."
RECODED = (
    "look for a gateway or proxy that rewrites the answers of the service, or for a file that is served in "
    "its place: answers must be in UTF-8, without a byte order mark."
)
CUT = "run the command again; if the error stays, look for a proxy or gateway that cuts or changes answers."
MISCOUNTED = (
    "run the command again: the list may have changed while it was read. If the error stays, the service "
    "counts wrong, or a gateway answers for it: report this to its operators, and write nothing until then."
)
ENDLESS = (
    "run the command again: the list may have changed while it was read. If the error stays, the service, or "
    "a gateway that answers for it, ignores `offset` or shows new rows for ever: report this to its "
    "operators, and write nothing until then."
)
OVERSIZED = (
    "report this to the operators of the service: its answers are far smaller, so something adds to them."
)
UNKNOWN_FORM = (
    "report this call to the operators of the service: its specification has no answer of this form. A newer "
    "version of this program may know it."
)
ITS_ERROR = (
    "run the command again later; if the error stays, ask the operators of the service, who "
    "can see its error."
)


class BadBody(ValueError):
    """A body that cannot be used; the text says why and quotes nothing of it, `next` what to do about it.

    Whoever knows the call turns it into Malformed (http/refusals.py).
    """

    def __init__(self, what: str, next: str = UNKNOWN_FORM) -> None:  # noqa: A002 - the word that users read
        super().__init__(what)
        self.next = next


class AnotherEntity(BadBody):
    """A good body of another entity than the one that was asked for by its id."""


class TemplatedPath(str):  # noqa: SLOT000 - it has one more attribute
    """A path that knows its template, until a Call takes both: so a log can show it without ids."""

    template = ""


def template_of(path: str) -> str:
    """Return `/contacts/{id}` for a path that urls.path built, and of any other the first segment.

    Nothing else is known to hold no id: what was added to a path is not shown.
    """
    if isinstance(path, TemplatedPath):
        return path.template
    first, more = path.split("/")[1:2], path.count("/") > 1
    return "/" + "".join(first) + ("/..." if more else "")


@dataclass(frozen=True, slots=True)
class Call:
    """One call: `path` below the base address as urls.path built it, `media` the vendor type's kind.

    `varies` names a parameter of the query whose value may differ from try to try without meaning anything
    else: the order of the list `fields`, or the `offset` of a single entity. See urls.varied.
    """

    method: str
    path: str
    media: str
    query: tuple[tuple[str, str], ...] = ()
    varies: Literal["", "fields", "offset"] = ""
    # Bodies and headers hold people and keys, so none of them is ever part of a repr.
    body: bytes | None = field(default=None, repr=False)
    template: str = field(default="", init=False, repr=False, compare=False)  # the path without ids, for logs

    def __post_init__(self) -> None:
        """Keep the template that urls.path left at the path; what goes on is plain text."""
        object.__setattr__(self, "template", template_of(self.path))
        object.__setattr__(self, "path", str(self.path))

    def __str__(self) -> str:
        """`GET /contacts`: never the query, which may hold what people searched for."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer: header names in lower case, the body decoded from its content encoding.

    `form` and `media` are the form and the kind of document that were asked for; whether the body has
    them shows when it is read.
    """

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    form: Form = "json"
    media: str = ""


@dataclass(frozen=True, slots=True)
class Broken:
    """No complete answer. `status` is 0 where not even the first line of one arrived.

    REFUSED is the word of a proxy that will not connect us: nothing was sent, and asking again is of no use.
    """

    failure: Failure
    what: str
    next: str = ""
    status: int = 0

    @property
    def left_us(self) -> bool:
        """Whether anything of the request may have arrived."""
        # Everything else may have been carried out: a write is in doubt then (docs/planning.md, A8).
        return self.failure not in (Failure.NEVER_SENT, Failure.REFUSED)
