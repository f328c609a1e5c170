"""Secret: a value that is sent and never shown; and variables that files hold, not the environment."""

from collections.abc import Sequence

from reconciler.errors import Problem
from reconciler.model.inputs import InputFile


class Secret:
    """A value that must never be shown. `reveal()` is the only way to it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself, for the one place that sends it."""
        return self._value

    def __repr__(self) -> str:
        return "(secret)"

    __str__ = __repr__


class VariableFiles:
    """Variables that manifests may read and the environment does not have. Of this one there are none.

    `paths` are the files as they are written, `problems` are the mistakes of those that were opened, `inputs`
    those that a commit may hold.
    """

    paths: Sequence[str] = ()
    problems: Sequence[Problem] = ()
    inputs: Sequence[InputFile] = ()

    def begin(self) -> None:
        """Let what is asked from now on be as the files are now."""

    def find(self, _name: str) -> str | None:
        """Return the value of a variable, None where no file has it. The first call opens the files."""
        return None


NO_FILES = VariableFiles()
