"""A code as lines for a person, as values for a program, and all of them as the page docs/errors.md.

The codes themselves are in model/codes.py.
"""

from collections.abc import Iterable

from reconciler.model.codes import ROSTER_EXAMPLE, Code
from reconciler.report.lines import BLANK, Line, line

_PAGE = """\
# Codes of errors

Made by `script/generate-docs` from `reconciler/model/codes.py`; a test holds the two together,
and runs every example.

Every error message ends in its code, such as `[E201]`: mistakes in files, reasons why a plan is refused,
entities that a plan leaves alone, and all others. A mistake in the command line has none; `--help` says more.
With `--format json` the code is in the key `code`. `reconciler explain E201` prints its entry here.
A code keeps its meaning, and the code of an error that no longer exists is not used again. Codes of rules,
such as G1, are those of [planning](planning.md).
"""


def code_lines(one: Code) -> tuple[Line, ...]:
    """Return a code with what it means, and its examples."""
    lines: list[Line] = [line((one.code, "bold"), f"  {one.title}"), BLANK, line(one.means)]
    for word, text in _list_examples(one):
        lines += [BLANK, line((f"{word}:", "bold"))]
        lines += [line(f"    {each}") for each in text.splitlines()]
    return tuple(lines)


def code_value(one: Code) -> dict[str, str]:
    """Return the same for a program: all of them texts, "" where there is no example."""
    return {
        "code": one.code,
        "title": one.title,
        "means": one.means,
        "beside": ROSTER_EXAMPLE if one.roster else "",
        "wrong": one.wrong,
        "right": one.right,
    }


def code_page(codes: Iterable[Code]) -> str:
    """Return the page of all codes, as Markdown."""
    found = tuple(codes)
    rows = [f"| [{one.code}](#{one.code.lower()}) | {one.title} |" for one in found]
    sections = [_write_code_section(one) for one in found]
    return "\n".join([_PAGE, "| code | means |", "|---|---|", *rows, "", *sections])


def _list_examples(one: Code) -> Iterable[tuple[str, str]]:
    """Return the captions and texts of the examples that a code has."""
    beside = (("the manifest beside the roster", ROSTER_EXAMPLE),) if one.roster and one.wrong else ()
    return [pair for pair in (*beside, ("wrong", one.wrong), ("right", one.right)) if pair[1]]


def _write_code_section(one: Code) -> str:
    parts = [f"## {one.code}", "", f"**{one.title}.** {one.means}", ""]
    for word, text in _list_examples(one):
        # Not as YAML: the tests of the pages read that, and half of these are meant to be wrong.
        parts += [
            f"{word[:1].upper()}{word[1:]}:",
            "",
            "```text",
            *["".join(span.text for span in line(each)) for each in text.splitlines()],
            "```",
            "",
        ]
    return "\n".join(parts)
