"""Values that must never be shown, and the files with variables of manifests."""

from collections.abc import Sequence

from reconciler.errors import Problem
from reconciler.model.documents import InputFile


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
    """Files with variables that manifests may read and the environment does not have; these are none.

    `paths` are the names of the files as written, `problems` the mistakes of those that were opened, `inputs`
    those that a commit may hold.
    """

    paths: Sequence[str] = ()
    problems: Sequence[Problem] = ()
    inputs: Sequence[InputFile] = ()

    def begin(self) -> None:
        """Read the files anew when the next variable is looked up."""

    def find(self, _name: str) -> str | None:
        """Return the value of a variable, None where no file has it. The first call opens the files."""
        return None


NO_FILES = VariableFiles()
