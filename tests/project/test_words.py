"""Words: one meaning each, in plain technical English.

A row of a table here is a word that was replaced, and what replaces it. It holds for code, documentation,
help and messages: a word that was given up does not come back by habit.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from project.test_tidy import ROOT, committed, modules, name, nodes, text, tree

# Names that functions, classes and fields of the program no longer have: what to say instead.
NAMES = {
    "Desk": "ReplySink",
    "Teller": "ReplyPrinter",
    "Prompter": "SignalRelay",
    "_keep_a_log": "_enable_wal",
    "_seat": "_host_id",
    "bend": "apply: what a fault does to an answer",
    "lent": "unowned_paths",
    "lost_max": "late_retries_max",
    "moved()": "workspace_mismatch, drifted: what changed, against what",
    "rest()": "remaining_changes, remaining_pages: a REST client has another rest",
    "seat": "host_id",
    "spent()": "expiry_reason",
    "takes": "cascades, selects, values: it meant three things",
}
# Phrases that no text of the project has, whatever their line breaks and capitals: what to say instead.
PHRASES = {
    r"behind (our|your|my|their|somebody's) backs?": "changed at the service since our last apply",
    r"neither of two things": "`jobTitle` is null, which is not allowed",
    r"who leaves the manifest|leaves the manifest is deleted": "removed from the manifest",
    r"live is as planned": "the service matches the plan",
    r"another number of entities": "7 entities were unchanged; now 6 are",
    r"cut off people, and no file": "leave resources out",
    r"an ear of its own": "handles signals itself",
    r"slip of the pen": "typing mistake",
    r"is somebody else now": "is now another entity",
    r"comes to no end": "does not end",
    r"speaks? of passing trouble": "says to try later",
    r"it comes right in the end": "the declared state is reached",
}
# Two classes of one name, where both are right: why nobody takes one for the other.
SAME_NAME: dict[str, str] = {}

SEARCHED = {".py", ".md", ".json", ".yaml", ".toml", ".golden", ".txt"}


def defined(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield what a module defines, with its line: `name` of a class or field, `name()` of a function."""
    for node in nodes(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from ((node.lineno, node.name), (node.lineno, f"{node.name}()"))
        elif isinstance(node, ast.ClassDef):
            yield node.lineno, node.name
            fields = (one.target for one in node.body if isinstance(one, ast.AnnAssign))
            yield from ((one.lineno, one.id) for one in fields if isinstance(one, ast.Name))


def test_names_that_were_replaced_do_not_come_back() -> None:
    """Two people who do not know the project guess the same meaning of a name."""
    found = [
        f"{name(path)}:{line}: {one}: say {NAMES[one]}"
        for path in modules()
        for line, one in defined(tree(path))
        if one in NAMES
    ]

    assert found == []


def phrases(words: str) -> Iterator[str]:
    """Yield each phrase that a text has, with what to say instead; a line break is a space."""
    flowing = re.sub(r"[\s#*>|]+", " ", words)
    for phrase, instead in PHRASES.items():
        yield from (f"{found[0]}: say {instead!r}" for found in re.finditer(phrase, flowing, re.IGNORECASE))


def test_phrases_that_were_replaced_do_not_come_back() -> None:
    """A riddle, or a figure of speech, is read twice by whoever learnt English as a second language."""
    found = [
        f"{name(path)}: {phrase}"
        for path in committed()
        if path.suffix in SEARCHED and path != Path(__file__)
        for phrase in phrases(text(path))
    ]

    assert found == []


@pytest.mark.parametrize("words", ["edited behind your back", "edited Behind\n    # our back, once"])
def test_a_phrase_is_found_across_lines(words: str) -> None:
    assert len(list(phrases(words))) == 1


def public_classes(part: Path, *, but: Path | None = None) -> dict[str, list[str]]:
    """Return the modules that define each public class of a part of the program, by the name of the class."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in modules(str(part.relative_to(ROOT))):
        if but is None or not path.is_relative_to(but):
            for node in tree(path).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(name(path))
    return found


CLIENT = ROOT / "reconciler"
SANDBOX = CLIENT / "sandbox"


@pytest.mark.parametrize(
    ("part", "but"),
    # The sandbox shares no code with the client, so nobody who reads one of them meets the other.
    [pytest.param(CLIENT, SANDBOX, id="client"), pytest.param(SANDBOX, None, id="sandbox")],
)
def test_the_name_of_a_public_class_stands_for_one_thing(part: Path, but: Path | None) -> None:
    """Whoever searches for a class finds one; whoever reads a name need not look where it came from."""
    known = public_classes(part, but=but)

    twice = {one: where for one, where in known.items() if len(where) > 1 and one not in SAME_NAME}

    assert twice == {}


def test_every_exception_is_needed() -> None:
    """A name that was told apart since needs no excuse."""
    both = [public_classes(CLIENT, but=SANDBOX), public_classes(SANDBOX)]

    assert [one for one in SAME_NAME if not any(len(known[one]) > 1 for known in both)] == []
