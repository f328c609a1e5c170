"""What the text of a manifest says of its workspace is what the parser finds, or nothing is said."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import effort
import pytest
import tally

from reconciler.manifest.workspace_names import find_workspace_names
from reconciler.parsing.tree import read_tree

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").rglob("manifests/**/*.yaml"))
MUTANTS = effort.count(small=4_000, full=100_000)
# What is put between two characters of a manifest: all that begins, ends or hides something in YAML.
PIECES = (
    *(
        "\n",
        "\n\n",
        "\r\n",
        " ",
        "\t",
        "#",
        " #",
        '"',
        "'",
        "\\",
        ": ",
        "- ",
        "? ",
        "---\n",
        "...\n",
        "\ufeff",
    ),
    *("{", "}", "[", "]", ",", "&a ", "*a", "!!str ", "|\n", ">\n", "%YAML 1.2\n", "\x00", "é"),
    *("workspace: lab\n", "\nworkspace: lab", "workspace", '"workspace": lab\n', "? workspace\n: lab\n"),
    *(
        "workspaces: lab\n",
        " workspace: lab\n",
        '"work\\x73pace": lab\n',
        "{workspace: lab, ",
        "version: 1\n",
    ),
    *("note: |\n  workspace: lab\n", 'x: "\nworkspace: lab\n"\n', "x: a\n  workspace: lab\n"),
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("workspace: ops\n", {"ops"}),
        ('# x\n\n---\nversion: "1"\nworkspace: "ops" # y\ncontacts: [}', {"ops"}),
        ("\ufeffversion: 1\r\nworkspace: 'ops'\r\n", {"ops"}),
        ("workspace: ops\ncontacts: {}\nworkspace: lab\n", {"lab", "ops"}),
        ('workspace: ops\n"workspace": lab\n', set()),
        ("contacts:\n  x: {}\nworkspace: ops\n", set()),
        ('note: "\nworkspace: ops\n"\n', set()),
        ("workspace: *a\n", set()),
        ("workspace: ops lab\n", set()),
        ("workspace:ops\n", set()),
        ("workspace: ops\n workspace: x\n", {"ops"}),
        ("workspace:\n  ops\n", set()),
        ("", set()),
        ('{"version": 1, "workspace": "ops", "contacts": {', {"ops"}),
        ('{"workspace": "ops", "contacts": {}, "workspace": "lab"}', {"lab", "ops"}),
        ('{"contacts": {}, "workspace": "ops"}', set()),
        ('{"workspace": "o\\u0070s"}', set()),
    ],
)
def test_the_first_plain_lines_name_the_workspace(text: str, names: set[str]) -> None:
    """Everything else is not known, and the manifest is read."""
    assert find_workspace_names(text.encode()) == names


def mutants(number: int) -> Iterator[bytes]:
    texts = [path.read_text("utf-8") for path in EXAMPLES]
    texts += ["version: 1\nworkspace: ops\ncontacts: {}\n", '{"version": 1, "workspace": "ops"}\n']
    chance = Random(31)
    for _ in range(number):
        text = chance.choice(texts)
        for _ in range(chance.choice((1, 1, 2, 3))):
            head = chance.random() < 0.8  # where it can change what the first lines mean
            at = chance.randrange(min(len(text), 120) if head else len(text))
            text = text[:at] + chance.choice(PIECES) + text[at + chance.choice((0, 0, 1, 3)) :]
        yield text.encode()


def test_what_the_text_says_is_what_the_parser_finds() -> None:
    """Else entries of a selected workspace would be missing from its plan, and be deleted."""
    known = 0
    for data in mutants(MUTANTS):
        names, tree = find_workspace_names(data), read_tree(data, "ops.yaml")
        if tree.problems or "workspace" not in tree.value:
            continue
        known += bool(names)
        assert not names or names == {tree.value["workspace"]}, data
    tally.count("workspaces named by text", "valid manifests", known)
    assert known > MUTANTS // 20
