"""What a command returns: one value, from which its text, its JSON and the schema of that JSON follow.

A command is one file below `commands/`, and a row in the table of `main.py`. This is the file of
a command `holder`, which tests/cli/test_dispatch.py runs:

    from collections.abc import Sequence
    from typing import Annotated, ClassVar

    import click

    from reconciler.cli import options
    from reconciler.cli.dispatch import prints_result
    from reconciler.cli.results import CommandResult, Doc
    from reconciler.report.lines import Line, line


    class HolderResult(CommandResult, frozen=True):
        "Who holds the lock of the store."

        title: ClassVar[str] = "Who holds the lock"    # of the schema
        stack: Annotated[str, Doc("The stack of the settings.")]
        holder: Annotated[str | None, Doc("Who holds the lock.")]

        def lines(self) -> Sequence[Line]:             # the text
            return (line(f"{self.stack}: {self.holder or 'free'}"),)


    @click.command(name="holder")
    @options.settings_options
    @options.format_option
    @prints_result
    def holder_command(*, config: str | None, environment: str | None) -> HolderResult:
        "Show who holds the lock.    (this is `reconciler holder --help`)"
        from reconciler.cli.session import open_project_store  # heavy imports stand in the function

        with open_project_store({"config": config, "environment": environment}) as (store, settings):
            found = store.holder()
        return HolderResult(stack=settings.stack, holder=found.holder if found else None)

- A field with a `Doc` is a key of the JSON document, beside `version`, `outcome` and `exit_code`. Keys are
  printed sorted. A field without one is for the text alone.
- A command with several documents returns a union: `-> LockResult | TicketsResult`. A result whose document
  another schema describes names that in `schema`. A file that is printed as it is, is a `FileText`.
- A command that goes on after its result is printed yields it, `-> ResultWork[RunReport]`, and returns
  whether every other file was written.
- Types of fields that are slow to load are imported for the type checker alone, and written in quotes.
- What loads the engine, the settings, the store or the client is imported inside the functions, so that
  `reconciler holder --help` and completion load none of it; a test holds that.
- After a change of a result: `script/generate-schemas`, and `script/generate-docs` for the help.
"""

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeVar

from msgspec import UNSET, Struct, structs

from reconciler.report.lines import Line

if TYPE_CHECKING:
    from reconciler.model.runs import Run


class Doc:
    """In `Annotated[type, Doc(text)]`: the field is part of the JSON document, and this is what it holds."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class CommandResult(Struct, frozen=True, kw_only=True):
    """What a command came to. `reports_missing`: a file of --report or --events could not be written."""

    title: ClassVar[str] = ""
    # The name of the schema that describes the document, where it is not `output/COMMAND`.
    schema: ClassVar[str] = ""
    # Every exit code that stands in the document, in the order of the schema.
    exit_codes: ClassVar[tuple[int, ...]] = (0,)

    reports_missing: bool = False

    @property
    def exit_code(self) -> int:
        """The exit code in the document; the process has it too, unless reports are missing."""
        return 0

    @property
    def shown_again_by(self) -> str:
        """The command that shows the result again, if its output was cut off; or empty."""
        return ""

    def lines(self) -> Sequence[Line]:
        """Return the result as text; none, where a command prints nothing for people."""
        return ()

    def text(self) -> str:
        """Return the result as text that is printed as it is, lines never wrapped, before `lines`: a diff."""
        return ""

    def notes(self, form: str) -> Sequence[Line]:  # noqa: ARG002 - for the results that differ
        """Return what stderr gets before the result. `form` is text, json or csv."""
        return ()

    def csv(self) -> str:
        """Return the result as CSV, for a command that has `--format csv`."""
        return ""

    def csv_notes(self) -> Sequence[Line]:
        """Return what the CSV cannot say; it goes to stderr."""
        return ()

    def failure_lines(self) -> Sequence[Line]:
        """Return why the command failed, for a log that does not hold its result; nothing if it did not."""
        return ()

    def document(self) -> dict[str, object]:
        """Return the keys of the JSON document behind its head. A field that is UNSET is left out."""
        values = ((name, getattr(self, name)) for name, _ in document_fields(type(self)))
        return {name: value for name, value in values if value is not UNSET}


class FileText(CommandResult, frozen=True):
    """A file of ours, printed as it is whatever the format, so that it can be redirected into one."""

    content: str


class RunReport(CommandResult, frozen=True):
    """How a run ended. With `is_hidden` nobody sees it as text: its events are on standard output."""

    schema: ClassVar[str] = "run"
    run: "Run"
    full: bool
    verbose: bool
    is_hidden: bool

    @property
    def exit_code(self) -> int:
        """That of the run."""
        return self.run.exit_code

    @property
    def shown_again_by(self) -> str:
        """What was done is never lost: the store has it."""
        return f"reconciler history   (holds the run {self.run.run})"

    def document(self) -> dict[str, object]:
        """Return the run, field by field."""
        return structs.asdict(self.run)

    def lines(self) -> Sequence[Line]:
        """Return what became of each change, and what to do."""
        from reconciler.report.text import run_lines  # noqa: PLC0415 - where a run is shown

        return () if self.is_hidden else run_lines(self.run, full=self.full, verbose=self.verbose)


Result = TypeVar("Result", bound=CommandResult)
ResultWork = Generator[Result, None, bool]


def document_fields(result: type[CommandResult]) -> Iterator[tuple[str, str]]:
    """Yield name and description of each field of a result that is part of its JSON document."""
    for base in reversed(result.__mro__):
        for name, kind in vars(base).get("__annotations__", {}).items():
            for note in getattr(kind, "__metadata__", ()):
                if isinstance(note, Doc):
                    yield name, note.text
