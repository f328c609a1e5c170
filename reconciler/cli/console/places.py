"""What is shown in place while a command works, as all commands see it; these show nothing.

Belongs here: what can be asked of them. Not here: how a terminal draws them (terminal.py), and where they are
made (output.py).
"""

TYPE_CHECKING = False  # importing it from `typing` would take 4 ms
if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.report.lines import Line


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
