# noqa: INP001 - a script, started by script/generate-docs; part of no package
"""Write docs/reconciler.1: the manual page, from the declarations of the commands themselves.

With --check nothing is written; exit code 1 and one line say that the page is stale. Another page than
docs/reconciler.1 may be named last. Nothing about what commands do is written here: that is their --help.
"""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from reconciler.cli.main import COMMANDS, cli
from reconciler.model.runs import EXIT_CODE_WORDS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reconciler.1"

# Made by hand here, so that what is shown can be copied: roff makes typographic signs of these. A backslash
# comes first, for the others bring some.
_ESCAPES = {
    "\\": "\\e",
    "-": "\\-",
    "'": "\\(aq",
    "`": "\\(ga",
    "^": "\\(ha",
    "~": "\\(ti",
    '"': "\\(dq",
}
_HEAD = """\
.\\" Made by script/generate-docs from the program itself.
.TH RECONCILER 1 "" reconciler "User Commands\""""


def page() -> str:
    """Return the whole page."""
    root = click.Context(cli, info_name="reconciler", **cli.context_settings)
    about, *more = _paragraphs(cli)
    lines = [_HEAD, ".SH NAME", f"reconciler \\- {_text(about[:1].lower() + about[1:].rstrip('.'))}"]
    lines += [".SH SYNOPSIS", ".B reconciler", ".I COMMAND", _text("[OPTIONS] [ARGUMENTS]")]
    lines += [".SH DESCRIPTION", *_told(more), ".SH OPTIONS", *_options(cli, root), ".SH COMMANDS"]
    for name in COMMANDS:
        command = cli.get_command(root, name)
        assert command is not None  # noqa: S101 - the table names it
        lines += _command(command, click.Context(command, info_name=name, parent=root))
    lines += [".SH EXIT STATUS"]
    for code, word in sorted(EXIT_CODE_WORDS.items()):
        lines += [".TP", f".B {code}", _text(word)]
    lines += [".SH FILES", ".TP", ".I reconciler.yaml", "The settings, looked for here and above."]
    lines += [".SH SEE ALSO", "The pages below docs/ of the project."]
    return "\n".join(lines) + "\n"


def _command(command: click.Command, ctx: click.Context) -> Iterator[str]:
    """Yield the section of a command, then those of the commands below it."""
    yield f".SS {_text(ctx.command_path)}"
    yield from (".PP", f".B {_text(ctx.command_path)}", _text(" ".join(command.collect_usage_pieces(ctx))))
    yield from _told(_paragraphs(command))
    yield from _options(command, ctx)
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from _command(below, click.Context(below, info_name=name, parent=ctx))


def _paragraphs(command: click.Command) -> list[str]:
    return inspect.cleandoc(command.help or "").split("\n\n")


def _told(paragraphs: list[str]) -> Iterator[str]:
    """Yield paragraphs; what click leaves as it is, behind a backspace, stays as it is here too."""
    for one in paragraphs:
        if one.startswith("\b\n"):
            yield from (".PP", ".nf", *map(_text, one.removeprefix("\b\n").split("\n")), ".fi")
        else:
            yield from (".PP", *map(_text, one.split("\n")))


def _options(command: click.Command, ctx: click.Context) -> Iterator[str]:
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None and isinstance(parameter, click.Option):
            names, about = record
            yield from (".TP", f".B {_text(names)}", *map(_text, about.split("\n")))


def _text(text: str) -> str:
    """Return text in which roff finds no request and no escape, in ASCII."""
    escaped = "".join(
        _ESCAPES.get(char, char if char.isascii() else f"\\[u{ord(char):04X}]") for char in text
    )
    return f"\\&{escaped}" if escaped.startswith(".") else escaped


def main(arguments: list[str]) -> int:
    """Write the page, or look whether it is stale; return the exit code."""
    named = [word for word in arguments if word != "--check"]
    file = Path(named[-1]) if named else PAGE
    made = page()
    if "--check" not in arguments:
        file.write_text(made, encoding="utf-8")
    elif not file.is_file() or file.read_text(encoding="utf-8") != made:
        sys.stderr.write(f"{file.name} is stale.\n  next: script/generate-docs\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
