# noqa: INP001 - a script, started by script/shape; part of no package
"""Prints the shape of the package: sizes of modules, cut of names, reach of imports.

    script/shape            the table, and the longest modules and functions
    script/shape --plan     also which modules and functions `reconciler plan` of one contact enters (5 s)
    script/shape --names    also the names that stand in several modules, and those that are bare participles

A report: it fails nothing. Each number is a sign, and can be reached without anybody being better off, by
gluing files or prefixing names. What to do about it is a person's decision.
"""

import argparse
import ast
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
longest_shown = 10  # rows of each table of the longest
fields_alike_min = 3  # fields that two value types have to share to be near twins
share_alike_min = 0.6  # of all fields of both
helper_lines_max = 3  # lines of a function that is worth a look where it has one caller

_IRREGULAR = re.compile(
    "begun|bound|broken|brought|built|caught|chosen|come|cut|done|drawn|driven|eaten|fallen|felt|found|gone|given|"
    "grown|heard|held|hidden|kept|known|laid|led|left|lent|lost|made|meant|met|paid|put|read|said|seen|sent|set|"
    "shown|shut|spent|split|spoken|stood|taken|taught|thought|told|torn|understood|won|worn|written"
)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Module(NamedTuple):
    """One module with code: its dotted name, its lines and its syntax."""

    name: str
    path: Path
    lines: int
    tree: ast.Module


def main() -> None:
    """Print the table, then the longest, then what was asked for besides."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS
    )
    parser.add_argument("--plan", action="store_true", help="count what a plan of one contact enters")
    parser.add_argument("--names", action="store_true", help="list the names that are counted")
    given = parser.parse_args()
    modules = tuple(read_modules())
    rows = [*count_sizes(modules), *count_names(modules), *count_types(modules), *count_imports(modules)]
    if given.plan:
        rows.append(("modules; functions entered by a plan of one contact", count_entered()))
    for title, value in rows:
        sys.stdout.write(f"{title:<66} {value}\n")
    _print_longest(modules)
    if given.names:
        _print_names(modules)


def read_modules() -> Iterator[Module]:
    """Every module of the package that defines something, in the order of their paths."""
    for path in sorted((ROOT / "reconciler").rglob("*.py")):
        text = path.read_text("utf-8")
        name = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
        tree = ast.parse(text)
        if any(not isinstance(node, ast.Expr) for node in tree.body):
            yield Module(name, path, len(text.splitlines()), tree)


# --- Sizes -----------------------------------------------------------------------------------------


def count_sizes(modules: tuple[Module, ...]) -> Iterator[tuple[str, str]]:
    """Modules, lines, and functions for each thousand of them."""
    lines = sum(module.lines for module in modules)
    parts = ("reconciler.messaging", "reconciler.sandbox")
    engine = sum(module.lines for module in modules if not module.name.startswith(parts))
    functions = [node for module in modules for node in ast.walk(module.tree) if isinstance(node, _Function)]
    yield "modules with code; median lines", f"{len(modules)}; {median(m.lines for m in modules):.0f}"
    yield "lines without messaging and sandbox; all", f"{engine:,}; {lines:,}"
    yield "functions per 1,000 lines", f"{1000 * len(functions) / lines:.0f}"
    yield f"functions with one caller and <= {helper_lines_max} lines", str(len(_small_helpers(modules)))


def _small_helpers(modules: tuple[Module, ...]) -> list[str]:
    """A caller is a mention outside of the function itself; of two functions of one name none is counted."""
    mentions: Counter[str] = Counter()
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Name):
                mentions[node.id] += 1
            elif isinstance(node, ast.Attribute):
                mentions[node.attr] += 1
    defined = [
        (module, node) for module in modules for node in _definitions(module) if isinstance(node, _Function)
    ]
    names = Counter(node.name for _, node in defined)
    return [
        f"{module.name}:{node.name}"
        for module, node in defined
        if names[node.name] == 1 and mentions[node.name] == 1 and _code_lines(node) <= helper_lines_max
    ]


def _code_lines(node: _Function) -> int:
    """Without its docstring: a contract is as long as it has to be."""
    first = node.body[0]
    is_contract = ast.get_docstring(node, clean=False) is not None
    body = node.body[1:] if is_contract else node.body
    return (node.end_lineno or node.lineno) - (body[0].lineno if body else first.lineno) + 1


# --- Names -----------------------------------------------------------------------------------------


def _definitions(module: Module) -> list[_Function | ast.ClassDef]:
    return [node for node in module.tree.body if isinstance(node, _Function | ast.ClassDef)]


@cache
def _modules_of_names(modules: tuple[Module, ...]) -> Mapping[str, list[str]]:
    found = defaultdict(list)
    for module in modules:
        for node in _definitions(module):
            found[node.name].append(module.name)
    return found


def count_names(modules: tuple[Module, ...]) -> Iterator[tuple[str, str]]:
    """Functions and classes at the top of modules, private ones too."""
    names = _modules_of_names(modules)
    total = sum(len(where) for where in names.values())
    again = sum(len(where) for where in names.values() if len(where) > 1)
    functions = [
        node.name for module in modules for node in _definitions(module) if isinstance(node, _Function)
    ]
    words = sum(1 for name in functions if "_" not in name.strip("_"))
    participles = sum(1 for name in functions if _is_participle(name))
    yield "names that stand in another module too", f"{again / total:.1%} of {total:,}"
    yield (
        "functions named by one word; by a bare participle",
        (f"{words / len(functions):.0%}; {participles / len(functions):.1%} of {len(functions):,}"),
    )


def _is_participle(name: str) -> bool:
    word = name.strip("_")
    return bool(_IRREGULAR.fullmatch(word) or re.fullmatch(r"[a-z]{2,}ed", word))


# --- Value types -----------------------------------------------------------------------------------


def count_types(modules: tuple[Module, ...]) -> Iterator[tuple[str, str]]:
    """Classes that are nothing but fields, and pairs of them that share most of these."""
    types = {
        f"{module.name}:{node.name}": _fields(node) for module in modules for node in _value_types(module)
    }
    yield "value types; near-twin pairs", f"{len(types)}; {len(_near_twins(types))}"


def _value_types(module: Module) -> Iterator[ast.ClassDef]:
    marks = ("dataclass", "Struct", "NamedTuple", "TypedDict")
    for node in _definitions(module):
        if isinstance(node, ast.ClassDef):
            said = [ast.unparse(one) for one in (*node.decorator_list, *node.bases)]
            if any(mark in text for text in said for mark in marks):
                yield node


def _fields(node: ast.ClassDef) -> frozenset[str]:
    return frozenset(ast.unparse(one.target) for one in node.body if isinstance(one, ast.AnnAssign))


def _near_twins(types: Mapping[str, frozenset[str]]) -> list[tuple[str, str]]:
    return [
        (one, other)
        for (one, ours), (other, theirs) in combinations(types.items(), 2)
        if len(ours & theirs) >= fields_alike_min
        and len(ours & theirs) >= share_alike_min * len(ours | theirs)
    ]


# --- Imports ---------------------------------------------------------------------------------------


def count_imports(modules: tuple[Module, ...]) -> Iterator[tuple[str, str]]:
    """The chain is counted in modules, over what they import when they are imported themselves."""
    graph = {module.name: _imported(module, {one.name for one in modules}) for module in modules}
    chain = longest_chain(graph)
    yield "longest chain of imports", f"{len(chain)} ({chain[0]} ... {chain[-1]})"


def _imported(module: Module, known: set[str]) -> set[str]:
    found = set()
    for node in module.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (names & known) or {node.module}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return (found & known) - {module.name}


def longest_chain(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """The longest way down, the topmost module first. Raises SystemExit where imports go in a circle."""
    lengths: dict[str, list[str]] = {}

    def follow(name: str, above: tuple[str, ...]) -> list[str]:
        if name in above:
            raise SystemExit(f"imports go in a circle: {' > '.join([*above[above.index(name) :], name])}")
        if name not in lengths:
            ways = [follow(one, (*above, name)) for one in sorted(graph[name])]
            lengths[name] = [name, *max(ways, key=len, default=[])]
        return lengths[name]

    return max((follow(name, ()) for name in sorted(graph)), key=len)


# --- What one plan enters --------------------------------------------------------------------------

# Runs the command given to it with a profile function that notes each function of the package, once.
_COUNTING = """
import json, os, sys, threading
from pathlib import Path
package = os.path.join(sys.argv[1], "reconciler") + os.sep
entered = set()
def note(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(package):
        entered.add((code.co_filename, code.co_firstlineno, code.co_name))
def write_and_leave(code, leave=os._exit):
    sys.setprofile(None)
    functions = {one for one in entered if one[2] != "<module>"}
    Path("entered.json").write_text(json.dumps([len({one[0] for one in functions}), len(functions)]))
    leave(code)
os._exit = write_and_leave  # how the command ends
sys.argv = ["reconciler", *sys.argv[2:]]
threading.setprofile(note)
sys.setprofile(note)
from reconciler.cli.entry import main
main()
"""


def count_entered() -> str:
    """Plan one new contact against a sandbox in another process, and count modules and functions that ran.

    What runs only because a module is imported is not counted: its top, and the bodies of classes.
    """
    sys.path.insert(0, str(ROOT / "bench"))
    from cases import project  # noqa: PLC0415 - of the measurements, found by the line above
    from processes import environ_of  # noqa: PLC0415 - of the measurements, found by the line above
    from service import sandbox  # noqa: PLC0415 - as above

    with sandbox(0) as base_url, project(1, "yaml", base_url) as folder:
        environ = {**os.environ, **environ_of(folder), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", _COUNTING, str(ROOT), "plan"]
        done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)  # noqa: S603 - ours
        counted = folder / "entered.json"
        if not counted.is_file() or "create" not in done.stdout:
            raise SystemExit(f"the plan failed:\n{done.stdout}{done.stderr}")
        modules, functions = json.loads(counted.read_text("utf-8"))
    return f"{modules}; {functions:,}"


# --- The longest, and the names --------------------------------------------------------------------


def _print_longest(modules: tuple[Module, ...]) -> None:
    functions = [
        (_code_lines(node), f"{module.path.relative_to(ROOT).as_posix()}:{node.lineno} {node.name}")
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, _Function)
    ]
    sizes = [(module.lines, module.path.relative_to(ROOT).as_posix()) for module in modules]
    for title, rows in (("modules", sizes), ("functions", functions)):
        sys.stdout.write(f"the longest {title}:\n")
        sys.stdout.writelines(
            f"  {count:5}  {where}\n" for count, where in sorted(rows, reverse=True)[:longest_shown]
        )


def _print_names(modules: tuple[Module, ...]) -> None:
    names = _modules_of_names(modules)
    sys.stdout.write("names in several modules:\n")
    for name, where in sorted(names.items(), key=lambda item: (-len(item[1]), item[0])):
        if len(where) > 1:
            sys.stdout.write(f"  {name}: {', '.join(one.removeprefix('reconciler.') for one in where)}\n")
    sys.stdout.write("bare participles:\n")
    for name, where in sorted(names.items()):
        if _is_participle(name):
            sys.stdout.write(f"  {name}: {', '.join(one.removeprefix('reconciler.') for one in where)}\n")
    types = {
        f"{module.name}:{node.name}": _fields(node) for module in modules for node in _value_types(module)
    }
    sys.stdout.write("near twins:\n")
    sys.stdout.writelines(f"  {one} and {other}\n" for one, other in _near_twins(types))
    sys.stdout.write("helpers with one caller:\n")
    sys.stdout.writelines(f"  {one}\n" for one in _small_helpers(modules))


if __name__ == "__main__":
    main()
