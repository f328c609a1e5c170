"""What `init` did: which files were written, which were there, and what is next."""

from msgspec import Struct, structs

from reconciler.report.lines import BLANK, Line, line


class Begun(Struct, frozen=True):
    """Files written and files kept, by path in the project; `next` are commands.

    `lacking` are lines that a kept .gitignore has not; `edit` the files with something to edit; `elsewhere`
    says that jobs were not written, because the folder is not the root of its repository.
    """

    written: tuple[str, ...]
    kept: tuple[str, ...]
    lacking: tuple[str, ...] = ()
    edit: tuple[str, ...] = ()
    elsewhere: bool = False
    next: tuple[str, ...] = ()


def begun_lines(begun: Begun) -> tuple[Line, ...]:
    """Return a line for each file, what is to be done by hand, and the next commands."""
    lines: list[Line] = [line(("written  ", "create"), name) for name in begun.written]
    lines += [line(("kept     ", "dim"), name) for name in begun.kept]
    if begun.lacking:
        lines.append(line(("! ", "warn"), f".gitignore has no line for {', '.join(begun.lacking)}"))
    for name in begun.edit:
        lines.append(line(("! ", "warn"), f"{name}: edit the lines marked `edit` before it runs"))
    if begun.elsewhere:
        what = "no CI jobs and no hooks were written: this is not the root of its repository (see docs/ci.md)"
        lines.append(line(("! ", "warn"), what))
    if begun.next:
        lines += [BLANK, line("next:"), *(line("  ", command) for command in begun.next)]
    return tuple(lines)


def begun_values(begun: Begun) -> dict[str, object]:
    """Return the same for the JSON form."""
    return structs.asdict(begun)
