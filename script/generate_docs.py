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

Data goes to stdout, everything else to stderr. The reason why a command failed is on stderr in every format,
also if the report on stdout has it: so with `--format json > FILE`, the log still says what is wrong and what
to do. If stdout and stderr are the same terminal, pipe or file, the reason is shown once. Progress bars and
questions appear on a terminal only; elsewhere, a line says every 30 seconds how far a command is. Colour is
used on a terminal, unless `NO_COLOR` is set; with `FORCE_COLOR`, it is used everywhere. If the variable `CI`
is set, nothing counts as a terminal.

A command that says that it writes nothing creates, changes and removes no file of the project, and sends only
GET requests to the service. There is one exception: the first command that opens a store of an earlier
version upgrades the store.

`man reconciler` shows the same text after an installation from a wheel; in a checkout, use
`man -l docs/reconciler.1`. `reconciler completion` prints a script that completes commands in a shell.
"""

SELECTORS = """\
## Selectors

`--only` and `--except` take one selector each, and may be repeated:

| selector | selects |
|---|---|
| `contact/ops/jane-doe` | one address |
| `contact/ops/*` | all addresses that match; `*` stands for any characters, `?` for one |
| `kind:device` | all entities of a kind |
| `workspace:ops` | everything in a workspace, by its alias |
| `tag:team=sre` | everything that is declared with this tag, in the entry or for its whole file |

A selector that matches nothing is an error. Entities that are not selected are not changed,
and their records stay.
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
        "next}, problems}` (schema `output/error`). The page [errors](errors.md) says what the codes mean.\n"
        "`kind` is one of the following. Each kind calls for another reaction of the caller; an indented\n"
        "kind is a special case of the one above it."
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
