"""What a stream is: whether a person looks at it, whether it is coloured, what no stream may show.

And what stands in the place of bars and live lines where nobody looks. Both modules that print stand on this
one: output.py, and terminal.py, which it imports where colour or a bar is shown.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from reconciler.report.lines import Line

Conceal = Callable[[Iterable[str]], Iterable[str]]

_concealing: list[Conceal] = []  # what hides our secrets, once they are known
_besides: list[Conceal] = []  # and those that are read later, where they are needed
_project = [""]
_told = [False]
_began_at = [time.time()]


def conceal(hide: Conceal | None) -> None:
    """Let everything that is printed from now on pass `hide`; None: nothing is hidden, as at the start.

    It gets the pieces of a text, and yields those of the same text without our secrets.
    """
    _concealing[:] = [] if hide is None else [hide]


def conceal_besides(hide: Conceal) -> None:
    """Let everything that is printed from now on pass `hide` as well."""
    _besides.append(hide)


def hidden(text: str) -> str:
    """Return the text without our secrets, once they are known."""
    return "".join(hidden_pieces((text,)))


def hidden_pieces(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the same for a text that comes in pieces."""
    for hide in (*_concealing, *_besides):
        pieces = hide(pieces)
    return iter(pieces)


def command_begins() -> None:
    """Forget what an earlier command of this process knew: its secrets, its project, when it began."""
    conceal(None)
    _besides.clear()
    _project[:] = [""]
    tell_on_stderr(wanted=False)
    _began_at[:] = [time.time()]


def project_is(folder: str) -> None:
    """Remember the folder from which manifests are named."""
    _project[:] = [folder]


def project() -> str:
    """Return the folder from which manifests are named; "" where it is not known, which is where we are."""
    return _project[-1]


def began_at() -> float:
    """Return when this command began, in seconds since 1970."""
    return _began_at[-1]


def tell_on_stderr(*, wanted: bool) -> None:
    """Remember whether what is done is told on stderr, line by line."""
    _told[:] = [wanted]


def told_on_stderr() -> bool:
    """Whether -v was given."""
    return _told[-1]


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at this stream: a terminal, not a CI log that pretends to be one."""
    if stream is None or stream.closed or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def wants_colour(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """NO_COLOR forbids, FORCE_COLOR demands, otherwise a terminal decides. Empty means unset."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "") not in ("", "0"):
        return True
    return is_terminal(stream)


class Bars:
    """Progress on stderr, one bar for each thing that advances. This one shows nothing: it is no terminal."""

    def advance(self, what: str, done: int, total: int | None, more: str = "") -> None:
        """Show that `done` of `total` are done; without a total the bar only shows that work goes on.

        `more` stands behind the numbers.
        """

    def clear(self) -> None:
        """Take all bars away, so that text or a question may follow. They may come again."""


class LiveLines:
    """Lines on stderr that are shown in place of those before. Here `shown` is false: it is no terminal."""

    shown = False

    def update(self, rendered: "Sequence[Line]") -> None:
        """Show these lines now."""

    def clear(self) -> None:
        """Take the lines away."""
