# noqa: INP001 - a script, started by script/generate-docs; part of no package
"""Write docs/cli.md: the help of every command, exit codes and error classes, taken from the program itself.

And docs/errors.md, the page of all codes, which a test compares with their table.

With --check nothing is written; exit code 1 and one line say that the page is stale. Another page than
docs/cli.md may be named last. Nothing about what commands do is written here: that is their --help.
"""

import inspect
import io
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import click

from reconciler import errors
from reconciler.cli.main import COMMANDS, cli, run
from reconciler.model.codes import CODES
from reconciler.model.runs import EXIT_CODE_WORDS
from reconciler.report.codes import code_page

ROOT = Path(__file__).parents[1]
CODES_PAGE = ROOT / "docs" / "errors.md"
PAGE = ROOT / "docs" / "cli.md"
COLUMNS = "100"  # characters of a line of help; what fits beside the margin of most readers

HEAD = """\
# The command line

Made by `script/generate-docs` from the program itself; a test holds the two together.

Data goes to stdout, everything else to stderr. Why a command failed stands on stderr in every format, also
where it is in the report on stdout: `--format json > FILE` leaves a log that says what is wrong and what to
do. Where both are one terminal, pipe or file, it is said once. Progress bars and questions appear on a
terminal only; elsewhere a line tells every 30 seconds how far a command is. Colour is for a terminal too,
unless `NO_COLOR` is set, and for other places where `FORCE_COLOR` is. With `CI` set nothing is
taken for a terminal.

A command that says it writes nothing makes, changes and removes no file of the project, and sends the service
nothing but GET. One exception: a store of an earlier version is brought to this one by the first command
that opens it.

`man reconciler` shows the same where a wheel is installed, `man -l docs/reconciler.1` in a checkout.
`reconciler completion` prints what completes commands in a shell.
"""

SELECTORS = """\
## Selectors

`--only` and `--except` take, as often as wanted:

| selector | takes |
|---|---|
| `contact/ops/jane-doe` | one address |
| `contact/ops/*` | addresses that fit; `*` and `?` stand for any characters |
| `kind:device` | contacts, devices or resources |
| `workspace:ops` | everything in a workspace, by its alias |
| `tag:team=sre` | what is declared with this tag, the file's tags included |

A selector that names nothing is an error. What is not selected is not changed, and keeps its record.
"""


def page() -> str:
    """Return the whole page."""
    shown = [_command(words) for name in ("", *COMMANDS) for words in _with_those_below(name)]
    parts = [HEAD, _contents(), *shown, SELECTORS, _exit_codes(), _errors()]
    return "\n".join(parts)


def _contents() -> str:
    rows = [f"| [`{name}`](#reconciler-{name}) | {about} |" for name, about in COMMANDS.items()]
    return "\n".join(["| command | does |", "|---|---|", *rows, ""])


def _with_those_below(name: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command, then those of each command below it."""
    yield (name,) if name else ()
    command = cli.get_command(click.Context(cli), name) if name else None
    if isinstance(command, click.Group):
        yield from ((name, below) for below in command.commands)


def _command(words: tuple[str, ...]) -> str:
    title = " ".join(("reconciler", *words))
    told = io.StringIO()
    with redirect_stdout(told):
        assert run([*words, "--help"]) == 0  # noqa: S101 - help has no other end
    shown = "\n".join(line.rstrip() for line in told.getvalue().strip().splitlines())
    return f"##{'#' * (len(words) > 1)} {title}\n\n```text\n{shown}\n```\n"


def _exit_codes() -> str:
    rows = [f"| {code} | `{word}` |" for code, word in sorted(EXIT_CODE_WORDS.items())]
    head = "With `--format json` the word stands beside the code, as `outcome` and `exit_code`."
    return "\n".join(["## Exit codes", "", head, "", "| code | outcome |", "|---|---|", *rows, ""])


def _errors() -> str:
    head = (
        "With `--format json` an error is `{version, outcome, exit_code, code, error: {kind, message,\n"
        "next}, problems}` (schema `output/error`). What the codes mean stands in [errors](errors.md), and\n"
        "`kind` is one of these. Each is one thing that the reader does next; those below another are\n"
        "kinds of it."
    )
    rows = [
        f"| {'&ensp;' * 2 * depth}`{kind.__name__}` | {kind.exit_code} | {_about(kind)} |"
        for depth, kind in _tree()
    ]
    return "\n".join(["## Errors", "", head, "", "| kind | code | means |", "|---|---|---|", *rows, ""])


def _tree(kind: type[errors.ReconcilerError] = errors.ReconcilerError, depth: int = 0) -> "Iterator[Row]":
    yield depth, kind
    for below in kind.__subclasses__():
        yield from _tree(below, depth + 1)


Row = tuple[int, type[errors.ReconcilerError]]


def _about(kind: type[errors.ReconcilerError]) -> str:
    return (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")


def main(arguments: list[str]) -> int:
    """Write the page, or look whether it is stale; return the exit code."""
    check = "--check" in arguments
    named = [word for word in arguments if word != "--check"]
    file = Path(named[-1]) if named else PAGE
    os.environ["COLUMNS"] = COLUMNS
    made = page()
    if check:
        if file.is_file() and file.read_text(encoding="utf-8") == made:
            return 0
        sys.stderr.write(f"{file.name} is stale.\n  next: script/generate-docs\n")
        return 1
    file.write_text(made, encoding="utf-8")
    if not named:
        CODES_PAGE.write_text(code_page(CODES.values()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
