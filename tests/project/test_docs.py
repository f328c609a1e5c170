"""What the pages say is so: commands, errors, links, tests, manifests and transcripts.

A page that nobody checks is wrong within a month, and its readers notice first.
"""

import ast
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import transcript
import yaml
from project.test_tidy import committed, nodes, tree

from reconciler import errors
from reconciler.cli.main import COMMANDS
from reconciler.core.desired.resolve import resolve_desired
from reconciler.core.rules import Rules
from reconciler.manifest.load import load_manifests
from reconciler.model.runs import EXIT_CODE_WORDS
from reconciler.parsing.tree import read_tree
from reconciler.schema.check import check_tree

ROOT = Path(__file__).parents[2]
GENERATE = ROOT / "script" / "generate_docs.py"

_FENCE = re.compile(r"^( *)(`{3,})([^\n`]*)\n(.*?)^\1\2$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]\n]*\]\(([^()\s]+)\)|^\[[^\]\n]+\]: (\S+)$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
_VARIABLE = re.compile(r"(?<!\$)\$\{env:(\w+)\}")
_COLUMN = re.compile(r"\{([^{}:]+)\}")


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _pages() -> list[Path]:
    return [path for path in committed() if path.suffix == ".md"]


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def _prose(path: Path) -> str:
    """The page without its fenced blocks, whose brackets and hashes mean something else."""
    return _FENCE.sub("", _text(path))


class Block(NamedTuple):
    """A fenced block: its page, the line where it begins, its language, what it holds."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{_name(self.page)}:{self.line}"


def _blocks(*languages: str) -> list[Block]:
    return [
        Block(page, _text(page).count("\n", 0, found.start()) + 1, found[3].strip(), found[4])
        for page in _pages()
        for found in _FENCE.finditer(_text(page))
        if found[3].strip() in languages
    ]


# The command line: docs/cli.md is what the program says.


def _generate(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(GENERATE), *arguments], capture_output=True, text=True, check=False
    )


def test_the_page_of_commands_is_what_help_says(tmp_path: Path) -> None:
    """Generated, so that no option is described that is not there; and a stale page is told."""
    assert _generate("--check").returncode == 0, "run script/generate-docs"
    stale = tmp_path / "cli.md"
    stale.write_text(_text(ROOT / "docs" / "cli.md").replace("--only", "--lonely"), encoding="utf-8")

    told = _generate("--check", str(stale))

    assert (told.returncode, told.stderr) == (1, "cli.md is stale.\n  next: script/generate-docs\n")
    assert "--lonely" in stale.read_text(encoding="utf-8")


def test_every_command_and_every_exit_code_is_documented() -> None:
    page = _text(ROOT / "docs" / "cli.md")

    assert [name for name in COMMANDS if f"## reconciler {name}\n" not in page] == []
    assert [code for code, word in EXIT_CODE_WORDS.items() if f"| {code} | `{word}` |" not in page] == []


def test_every_class_of_error_is_documented() -> None:
    """`kind` in the JSON form of an error is a name that people look up."""
    known = [
        name for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)
    ]
    pages = "".join(map(_text, _pages()))

    assert known
    assert [name for name in known if f"`{name}`" not in pages] == []


# Links and references.


@cache
def _anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as the usual readers of Markdown make them."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", _prose(path), re.MULTILINE):
        bare = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", bare.lower()).replace(" ", "-")
        number = sum(1 for one in found if re.fullmatch(rf"{re.escape(anchor)}(-\d+)?", one))
        found.add(f"{anchor}-{number}" if number else anchor)
    return found


def _broken(page: Path) -> Iterator[str]:
    for one, other in _LINK.findall(_prose(page)):
        target, _, anchor = (one or other).partition("#")
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or not file.is_relative_to(ROOT):
            yield f"{_name(page)}: {one or other}: there is no such file"
        elif anchor and (file.suffix != ".md" or anchor not in _anchors(file)):
            yield f"{_name(page)}: {one or other}: there is no such heading"


def test_every_relative_link_leads_somewhere() -> None:
    assert [each for page in _pages() for each in _broken(page)] == []


@cache
def _tests_of(path: Path) -> set[str]:
    return {
        node.name for node in nodes(tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_every_test_that_a_page_points_at_is_there() -> None:
    """A promise whose proof was renamed away is only a claim."""
    missing = [
        f"{_name(page)}: {file}{'::' if test else ''}{test}"
        for page in _pages()
        for file, test in _TEST.findall(_text(page))
        if not (ROOT / file).is_file() or (test and test not in _tests_of(ROOT / file))
    ]

    assert missing == []


# Blocks of YAML and JSON.


@pytest.mark.parametrize("block", _blocks("yaml", "yml", "json"), ids=str)
def test_every_block_of_data_can_be_read(block: Block) -> None:
    """By the parsers that everybody has, and by ours, which takes less."""
    if block.language == "json":
        json.loads(block.text)
    else:
        list(yaml.safe_load_all(block.text))
    assert read_tree(block.text.encode(), f"block.{block.language}").problems == ()


@cache
def _mapping(block: Block) -> dict[str, Any]:
    found = yaml.load(block.text, Loader=yaml.BaseLoader)  # noqa: S506 - texts alone: the safest of all loaders
    return found if isinstance(found, dict) else {}


def _is_manifest(block: Block) -> bool:
    return {"version", "workspace"} <= _mapping(block).keys()


def _is_settings(block: Block) -> bool:
    keys = _mapping(block).keys()
    return "version" in keys and bool(keys & {"service", "manifests", "workspaces", "stack"})


# What stands in the columns that do not take just any text.
_CELLS = {"On call": "yes", "E-mail": "jane.doe@example.com", "Mobile": "+61491570156"}


def _with_its_files(block: Block, folder: Path) -> Path:
    """Write a manifest, a payload for each `content: {file}`, a roster with the columns that are named."""
    manifest = _mapping(block)
    for resource in manifest.get("resources", {}).values():
        if "file" in resource.get("content", {}):
            _written(folder / resource["content"]["file"], "invented\n")
    for roster in manifest.get("rosters", ()):
        columns = dict.fromkeys(_COLUMN.findall(json.dumps([roster["name"], roster["contacts"]])))
        cells = (_CELLS.get(column, f"a {column}") for column in columns)
        _written(folder / roster["file"], f"{';'.join(columns)}\n{';'.join(cells)}\n")
    return _written(folder / "block.yaml", block.text)


def _written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("block", [b for b in _blocks("yaml", "yml", "json") if _is_manifest(b)], ids=str)
def test_every_manifest_of_a_page_is_one(block: Block, tmp_path: Path) -> None:
    """People copy what they see."""
    variables = dict.fromkeys(_VARIABLE.findall(block.text), "invented")

    loaded = load_manifests(
        [_with_its_files(block, tmp_path)], root=tmp_path, environ=variables, variables=["*"]
    )
    rules = Rules(workspaces=frozenset({str(_mapping(block)["workspace"])}))
    resolved = resolve_desired(loaded.manifests, rules)

    assert (loaded.problems, resolved.problems) == ((), ())
    assert resolved.desired.scopes


def test_all_settings_of_a_page_are_some() -> None:
    wrong = {
        str(block): check_tree("settings", read_tree(block.text.encode(), "block.yaml"))
        for block in _blocks("yaml", "yml", "json")
        if _is_settings(block)
    }

    assert {block: problems for block, problems in wrong.items() if problems} == {}


def test_all_messages_of_a_page_are_some() -> None:
    blocks = [block for block in _blocks("yaml", "yml", "json") if "subject" in _mapping(block)]
    wrong = {
        str(block): check_tree("message", read_tree(block.text.encode(), "block.yaml")) for block in blocks
    }

    assert blocks
    assert {block: problems for block, problems in wrong.items() if problems} == {}


# Transcripts.


def _told() -> list[Path]:
    return [page for page in _pages() if transcript.blocks(_text(page))]


@pytest.mark.parametrize("page", _told(), ids=_name)
def test_every_transcript_of_a_page_happens_so(page: Path, tmp_path: Path) -> None:
    """What a page shows is what its reader will see, from the first command to the last."""
    assert list(transcript.run_page(_text(page), tmp_path)) == []


def test_examples_have_a_transcript() -> None:
    assert "examples/README.md" in map(_name, _told())


def test_a_transcript_that_is_wrong_is_told_with_its_line(tmp_path: Path) -> None:
    """A runner that never complains proves nothing."""
    page = (
        "# Page\n\n```console\n$ export NAME=there\n$ cat <<END\n> hello $NAME\n> END\nhello …re\n"
        "$ echo one; echo two\none\n$ false\n```\n\n```console\n$ false\n$ echo $?\n1\n"
        "$ printf 'a\\nb\\nc\\n'\na\n…\nc\n```\n"
    )

    wrong = list(transcript.run_page(page, tmp_path))

    assert wrong == [
        "line 9: echo one; echo two: the page shows\none\nand it is\none\ntwo\n",
        "line 11: false: ended with 1:\n",
    ]
