"""Style as a test: what is banned, with what to use instead; docstrings; words that promise work.

A rule here is one that the linter does not know, or that must not be switched off beside a line.
"""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]

listed_min = 3  # modules that a docstring names: fewer are examples, and no list

# Never ours, and present when there is no git to ask: a tarball on a machine without it.
_NOT_OURS = {"__pycache__", "dist", "node_modules"}


@cache
def committed() -> tuple[Path, ...]:
    """Every file of the project, as git knows them, else as they lie there."""
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
        names = listed.stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        names = [str(path.relative_to(ROOT)) for path in sorted(ROOT.rglob("*")) if _is_ours(path)]
    return tuple(path for name in names if name and (path := ROOT / name).is_file())


def _is_ours(path: Path) -> bool:
    parts = path.relative_to(ROOT).parts
    return path.is_file() and not any(
        part in _NOT_OURS or (part[0] == "." and part != ".ci") for part in parts
    )


def modules(under: str = "reconciler") -> list[Path]:
    """The Python files of a folder of the project."""
    return [path for path in committed() if path.suffix == ".py" and path.is_relative_to(ROOT / under)]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=name(path))


@cache
def nodes(module: ast.Module) -> tuple[ast.AST, ...]:
    """Everything in a module: to walk there costs more than to look, and many rules look."""
    return tuple(ast.walk(module))


@cache
def text(path: Path) -> str:
    """The file as text; what is not text is read too, so that nothing hides in it."""
    return path.read_bytes().decode("utf-8", "replace")


class Ban(NamedTuple):
    """Names that a part of the project may not use, and what it uses instead."""

    where: Callable[[str], bool]
    names: re.Pattern[str]
    instead: str


def _below(*folders: str) -> Callable[[str], bool]:
    return lambda path: path.startswith(folders)


def _all_but(*files: str) -> Callable[[str], bool]:
    return lambda path: path.startswith("reconciler/") and path not in files


def _calls_no_service(path: str) -> bool:
    """One module opens what leads to the service, one what leads to a directory of each protocol.

    The sandbox calls receivers, the demo its own sandbox.
    """
    directories = ("reconciler/directories/ldap_wire.py", "reconciler/directories/scim_http.py")
    demo = "reconciler/cli/demo_stage.py"
    others = _all_but("reconciler/service/http/connections.py", demo, *directories)
    return others(path) and not path.startswith("reconciler/sandbox/")


PURE = _below("reconciler/core/", "reconciler/model/")
# They ask for what a machine may lack: shells, slapd, a browser. They fail where CI lacks it (.ci/run).
MAY_SKIP = {
    "tests/cli/test_completion.py",
    "tests/directories/slapd.py",
    "tests/examples/test_kubernetes.py",
    "tests/examples/test_systemd.py",
    "tests/report/html/browser.py",
    "tests/project/runners.py",
}
BANS = (
    Ban(
        _all_but("reconciler/cli/console/output.py"),
        re.compile(r"print"),
        "return text; cli/console/output.py prints it",
    ),
    Ban(
        PURE,
        re.compile(r"datetime\.(datetime\.(now|utcnow|today)|date\.today)|time\..+"),
        "take the time as an argument",
    ),
    Ban(PURE, re.compile(r"(random|secrets|uuid|os\.urandom)(\..+)?"), "take chance and ids as arguments"),
    Ban(PURE, re.compile(r"os\.(environ|getenv)(\..+)?"), "take the value; cli/ and the settings read it"),
    Ban(PURE, re.compile(r"(io\.)?open|pathlib\..+"), "take bytes; manifest/ and cli/ read files"),
    Ban(
        _below("reconciler/"),
        re.compile(r"ssl\.(_?create_\w+_context)"),
        "use tls.py: this one writes session keys where SSLKEYLOGFILE says",
    ),
    Ban(
        _calls_no_service,
        re.compile(
            r"socket\.create_connection|asyncio\.open_connection|http\.client\..+|urllib\.request(\..+)?"
            r"|httpx2\.((Async)?(HTTPTransport|Client)|get|post|put|delete|request|stream)"
        ),
        "use service/http/connections.py: it knows the proxy and the certificates",
    ),
    Ban(_below("reconciler/"), re.compile(r"NotImplementedError"), "write it, or leave it out"),
    Ban(_below("reconciler/"), re.compile(r"eval|exec|pickle\..+|marshal\..+"), "decode with msgspec"),
    Ban(
        _below("tests/"),
        re.compile(r"unittest\.mock(\..+)?|monkeypatch"),
        "put the sandbox behind the transport",
    ),
    Ban(
        lambda path: path.startswith("tests/") and path not in MAY_SKIP,
        re.compile(r"pytest\.(skip|xfail|importorskip|mark\.(skip|skipif|xfail))"),
        "make it pass, or take the claim back",
    ),
)


@cache
def used_in(path: Path) -> tuple[tuple[int, str], ...]:
    """Every name that a file reads; each is asked for many times."""
    return tuple(uses(tree(path)))


def uses(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield every name that is read, with its line, as `package.module.name` where an import tells."""
    imports = [node for node in nodes(module) if isinstance(node, _IMPORTS)]
    known = {short: full for node in imports for short, full in _imported(node)}
    for node in nodes(module):
        if isinstance(node, _IMPORTS):
            yield from ((node.lineno, full) for _, full in _imported(node))
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, _NAMES) and (dotted := _dotted(node)):
            head, _, rest = dotted.partition(".")
            yield node.lineno, ".".join(filter(None, [known.get(head, head), rest]))


_IMPORTS = (ast.Import, ast.ImportFrom)  # a union with `|` would be made again for each node
_NAMES = (ast.Attribute, ast.Name)


def _dotted(node: ast.expr) -> str:
    """The source of names and dots; "" of anything else, whose own names come by themselves."""
    if isinstance(node, ast.Name):
        return node.id
    before = _dotted(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{before}.{node.attr}" if before and isinstance(node, ast.Attribute) else ""


def _imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """What a statement imports: the name that the module has for it, and its whole name."""
    if isinstance(node, ast.Import):
        for one in node.names:
            package = one.name.partition(".")[0]
            yield (one.asname, one.name) if one.asname else (package, package)
    elif isinstance(node, ast.ImportFrom):
        yield from ((one.asname or one.name, f"{node.module}.{one.name}") for one in node.names)


@cache
def bans_of(used: str) -> tuple[Ban, ...]:
    """The bans that know a name: few files use names that no other uses."""
    return tuple(ban for ban in BANS if ban.names.fullmatch(used))


def test_banned_names_are_replaced() -> None:
    """Each ban keeps a seam open: time, chance, files and printing come from outside, or from one place."""
    found = [
        f"{name(path)}:{line}: {used}: {ban.instead}"
        for path in [*modules(), *modules("tests")]
        for line, used in used_in(path)
        for ban in bans_of(used)
        if ban.where(name(path))
    ]

    assert found == []


@pytest.mark.parametrize(
    ("source", "used"),
    [
        ("from datetime import datetime as d\nd.now()", "datetime.datetime.now"),
        ("import datetime\ndatetime.datetime.now()", "datetime.datetime.now"),
        ("from os import environ", "os.environ"),
        ("import os as system\nsystem.environ['A']", "os.environ"),
        ("import random", "random"),
        ("open('x')", "open"),
        ("def test_x(monkeypatch): ...", "monkeypatch"),
        ("from unittest import mock", "unittest.mock"),
        ("import unittest.mock", "unittest"),
    ],
)
def test_a_name_is_recognized_however_it_was_imported(source: str, used: str) -> None:
    """A ban that an alias gets around is none."""
    assert used in {found for _, found in uses(ast.parse(source))}


def comments(path: Path) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text(path)).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def test_every_ignored_rule_says_which_and_why() -> None:
    """`# noqa: A002 - the word that users read`; `# type: ignore[arg-type]  # why`."""
    noqa = re.compile(r"#\s*(ruff:\s*)?noqa", re.IGNORECASE)
    good_noqa = re.compile(r"noqa: [A-Z]+[0-9]+(, ?[A-Z]+[0-9]+)* +(-|#)? *\S")
    typed = re.compile(r"#\s*(type:\s*ignore|mypy:|pyright:)")
    good_typed = re.compile(r"type: ignore\[[a-z, -]+\] +# *\S")
    found = [
        f"{name(path)}:{line}: {comment}"
        for path in [*modules(), *modules("tests"), *modules("bench")]
        if noqa.search(text(path)) or typed.search(text(path))  # to take a file apart takes long
        for line, comment in comments(path)
        if (noqa.search(comment) and not good_noqa.search(comment))
        or (typed.search(comment) and not good_typed.search(comment))
    ]

    assert found == []


# In parts, or this file would hold what it looks for.
UNFINISHED = re.compile(
    r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK", "W" + "IP"]) + r")\b"
)
MACHINE_PATHS = re.compile(
    r"(?<![\w.:/-])/(?:"
    + "|".join(["ho" + "me", "Us" + "ers", "ro" + "ot", "wo" + "rk", "tm" + "p"])
    + r")/[\w.-]|\b[A-Z]:\\Us"
    + r"ers"
)
REGISTRIES = re.compile(
    "|".join(
        re.escape(".".join(parts))
        for parts in (
            ("py" + "pi", "org"),
            ("python" + "hosted", "org"),
            ("npm" + "js", "org"),
            ("yarn" + "pkg", "com"),
            ("cra" + "tes", "io"),
            ("ruby" + "gems", "org"),
            ("proxy.go" + "lang", "org"),
            ("repo.maven.ap" + "ache", "org"),
            ("conda.ana" + "conda", "org"),
        )
    )
)


@pytest.mark.parametrize(
    ("pattern", "instead"),
    [
        (UNFINISHED, "finish it, or open an issue and leave no word of it here"),
        (MACHINE_PATHS, "a path of one machine means nothing on another: use a relative one"),
        (REGISTRIES, "leave the index to whoever installs: names and hashes are enough"),
    ],
    ids=["unfinished work", "paths of a machine", "package registries"],
)
def test_no_file_holds_what_belongs_elsewhere(pattern: re.Pattern[str], instead: str) -> None:
    """All committed files, not only code."""
    found = [
        f"{name(path)}:{number}: {match[0]}: {instead}"
        for path in committed()
        for number, line in enumerate(text(path).splitlines(), 1)
        if (match := pattern.search(line))
    ]

    assert found == []


HEXADECIMAL = re.compile(r"[0-9a-f]{2,7}", re.IGNORECASE)


def chances(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield each short word of hexadecimal digits that is looked for in a text, with its line."""
    words = {}
    for node in nodes(module):
        if isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name):
            given = node.iter.elts if isinstance(node.iter, ast.Tuple | ast.List) else []
            words[node.target.id] = [one.value for one in given if isinstance(one, ast.Constant)]
    for node in nodes(module):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.NotIn):
            left = node.left
            found = words.get(left.id, []) if isinstance(left, ast.Name) else []
            found = [left.value] if isinstance(left, ast.Constant) else found
            yield from ((node.lineno, str(one)) for one in found if HEXADECIMAL.fullmatch(str(one)))


def test_no_test_fails_by_chance_over_a_short_word() -> None:
    """Ids and digests are random: 'ada' is part of one in five histories."""
    found = [
        f"{name(path)}:{line}: {word!r} may be part of an id: look for the whole word (tests/words.py)"
        for path in modules("tests")
        for line, word in chances(tree(path))
    ]

    assert found == []


@pytest.mark.parametrize(
    "source",
    ["assert 'ada' not in text", "for name in ('jane', 'ada'):\n    assert name not in text.lower()"],
)
def test_a_word_that_is_looked_for_by_chance_is_noticed(source: str) -> None:
    assert [word for _, word in chances(ast.parse(source))] == ["ada"]


# The files that may sleep, or give a time in which something ends, and why.
MAY_SLEEP = {
    "tests/waiting.py": "it is how the others wait",
    "tests/clock.py": "its time is a number",
    "tests/postgres.py": "it looks until the server is there, and imports nothing of the tests",
    "tests/postgres_shared.py": "the same",
    "tests/transcript.py": "ends a shell that may have to be killed",
    "tests/engine/bench.py": "as long as its callers say, and in little",
    "tests/crash/ground.py": "looks more often than others, and stops where the command ended",
    "tests/crash/test_signals.py": "a signal at moments drawn by lot: any of them must do",
    "tests/crash/test_store_kills.py": "a kill at moments drawn by lot: any of them must do",
    "tests/crash/test_two_terminals.py": "what two people do who try again; they do so until it works",
    "tests/cli/test_process.py": "a signal at any moment of the start: any of them must do",
    "tests/service/socket_server.py": "in a loop where that takes a moment",
    "tests/service/test_sockets.py": "until a connection is too old to be used; longer is as good",
    "tests/simulation/network.py": "in the loop of the simulation, where it costs nothing",
    "tests/simulation/universe.py": "the same",
    "tests/simulation/virtualloop.py": "the same",
    "tests/growth.py": "compares two measures of one thread",
    "tests/lies/proxy.py": "the latency of the line that it plays",
    "tests/lies/test_runs.py": "waits out the settle window, which is as long as it says",
    "tests/store/test_silence.py": "lets time pass; more of it is as good",
    "tests/store/test_promises.py": "lets a write reach its wait; where it did not, the promise holds too",
}
_ENDS = {"wait", "join", "settimeout"}
_TIMED = {"time.sleep", "select.select", "time.process_time", "time.thread_time"}


def hurries(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield each sleep, each select, each end after a number of seconds, and each measure of the processor.

    `asyncio.sleep(0)` lets others go first. Who hangs awaits `waiting.for_ever`; whoever needs time to pass
    uses a loop in which that costs nothing (`simulation/virtualloop.py`, `service/socket_server.py`).
    """
    yield from ((line, used) for line, used in uses(module) if used in _TIMED)
    for node in nodes(module):
        if not isinstance(node, ast.Call):
            continue
        ends = isinstance(node.func, ast.Attribute) and node.func.attr in _ENDS
        given = [
            *(node.args[:1] if ends else ()),
            *(one.value for one in node.keywords if one.arg == "timeout"),
        ]
        timed = any(isinstance(one, ast.Constant) and isinstance(one.value, int | float) for one in given)
        if timed or (_dotted(node.func) == "asyncio.sleep" != ast.unparse(node).removesuffix("(0)")):
            yield node.lineno, ast.unparse(node)


def test_no_test_depends_on_how_busy_the_machine_is() -> None:
    """A sleep is a guess; thirty seconds for a command are too few on a machine that does something else."""
    found = [
        f"{name(path)}:{line}: {used}: see tests/waiting.py and tests/growth.py"
        for path in modules("tests")
        if name(path) not in MAY_SLEEP
        for line, used in hurries(tree(path))
    ]

    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "import time\ntime.sleep(0.5)",
        "from time import sleep\nsleep(x)",
        "import time\nassert time.process_time() - began < 1",
        "import select\nselect.select([a], [], [], 1)",
        "process.communicate(timeout=30)",
        "process.wait(30)",
        "await asyncio.sleep(0.05)",
        "await asyncio.sleep(LATE_S)",
    ],
)
def test_a_test_that_hurries_is_noticed(source: str) -> None:
    assert list(hurries(ast.parse(source)))


def left_open(module: ast.Module) -> Iterator[int]:
    """Yield the line of each `with sqlite3.connect(...)`: it ends a transaction, and closes nothing."""
    for node in nodes(module):
        for item in node.items if isinstance(node, ast.With) else ():
            made = item.context_expr
            if isinstance(made, ast.Call) and _dotted(made.func) == "sqlite3.connect":
                yield made.lineno


def test_every_database_file_that_is_opened_is_closed() -> None:
    """A process of ten thousand tests ran out of descriptors."""
    found = [
        f"{name(path)}:{line}: put contextlib.closing around it (tests/store/support.py, file_of)"
        for path in [*modules(), *modules("tests"), *modules("bench")]
        for line in left_open(tree(path))
    ]

    assert found == []
    assert list(left_open(ast.parse("with a, sqlite3.connect(b) as c:\n    pass"))) == [1]


def rooms(imports: Iterable[tuple[str, str]]) -> dict[str, dict[str, set[str]]]:
    """Return, for each folder, what of it imports what of it: modules, and folders as a whole."""
    found: dict[str, dict[str, set[str]]] = {}
    for one, other in imports:
        ours, theirs = one.split("."), other.split(".")
        shared = next((n for n, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), 0)
        if shared:
            inside = found.setdefault(".".join(ours[:shared]), {})
            inside.setdefault(ours[shared], set()).add(theirs[shared])
    return found


def circles(inside: Mapping[str, set[str]]) -> list[str]:
    """Return what imports itself over others, in one folder; nothing where there is an order."""
    try:
        TopologicalSorter(inside).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_what_stands_in_a_folder_imports_one_way() -> None:
    """Arrows that run both ways between two folders make one of them, and a reader has to know both."""
    names = {name(path).removesuffix(".py").replace("/", "."): path for path in modules()}
    imports = [
        (module, full)
        for module, path in names.items()
        for node in nodes(tree(path))
        if isinstance(node, ast.ImportFrom)
        for _, full in _imported(node)
        if full.startswith("reconciler.")
    ]

    assert {folder: found for folder, inside in rooms(imports).items() if (found := circles(inside))} == {}
    assert circles(rooms([("a.b.x", "a.c.y"), ("a.c.z", "a.b.w")])["a"])


def undocumented(path: Path) -> Iterator[str]:
    module = tree(path)
    if not ast.get_docstring(module):
        yield f"{name(path)}: say what belongs into the module, and what must not"
    yield from (
        f"{name(path)}:{line}: {what}: say what is true after it" for line, what in _bare(module, public=True)
    )


def _bare(node: ast.Module | ast.ClassDef, *, public: bool) -> Iterator[tuple[int, str]]:
    for child in node.body:
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        shown = public and not child.name.startswith("_")
        if shown and not ast.get_docstring(child) and not _is_overload(child):
            yield child.lineno, child.name
        if isinstance(child, ast.ClassDef):
            yield from _bare(child, public=shown)


def _is_overload(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Setters and overloads are documented where the name is defined first, or last."""
    return any(ast.unparse(each).endswith((".setter", "overload")) for each in node.decorator_list)


def test_modules_and_public_names_say_what_they_are() -> None:
    """The contract is read before the code."""
    assert [each for path in modules() for each in undocumented(path)] == []


def unlisted(package: Path) -> Iterator[str]:
    """Yield what a package's docstring leaves out, where it names several of its modules."""
    said = ast.get_docstring(tree(package)) or ""
    inside = {path.stem for path in modules(name(package.parent)) if path.parent == package.parent}
    inside -= {"__init__"}
    named = re.findall(r"(?m)^ +([a-z_]+) {2}|\b([a-z_]+)\.py\b", said)
    listed = inside.intersection(word for pair in named for word in pair)
    if len(listed) >= listed_min:
        yield from (f"{name(package)}: {module}" for module in sorted(inside - listed))


def test_a_package_that_lists_its_modules_lists_all_of_them() -> None:
    """A reader of the list takes it for the whole, and never opens the module that is not in it."""
    packages = [path for path in modules() if path.name == "__init__.py"]

    assert [each for package in packages for each in unlisted(package)] == []


def test_a_lock_is_installed_as_it_is_and_nothing_is_resolved() -> None:
    """A package that asks for `coverage[toml]` lets pip take the newest one, which no lock has a hash of.

    A fresh machine then cannot set up what worked the day before.
    """
    files = [*(ROOT / "script").iterdir(), *(ROOT / "examples").rglob("*"), ROOT / ".ci" / "run"]
    texts = {path: path.read_text("utf-8", "replace") for path in files if path.is_file()}
    found = [
        (path.relative_to(ROOT).as_posix(), line)
        for path, text in texts.items()
        for line in text.replace("\\\n", " ").splitlines()
        if "--require-hashes" in line
    ]

    assert len(found) >= 4  # the tests, the peers of the bench, the action, the image
    assert [one for one in found if "--no-deps" not in one[1]] == []


def test_the_changelog_has_a_place_for_what_comes_next() -> None:
    """A change, its test and its line for the user travel together."""
    headings = [line for line in text(ROOT / "CHANGELOG.md").splitlines() if line.startswith("## ")]

    assert headings[:1] == ["## Unreleased"]
