# noqa: INP001 - a script, started by script/lengths; part of no package
"""Prints the longest modules and functions of the package. A report: it fails nothing.

A long module is a place to look at, not a mistake: what is read together stands together. What to do about it
is a person's decision, so no limit stands here.
"""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
shown = 10  # rows of each table


def main() -> None:
    """Print both tables, the longest first, and the median of each."""
    modules = sorted(_lines_of_modules(), reverse=True)
    functions = sorted(_lines_of_functions(), reverse=True)
    for title, rows in (("modules", modules), ("functions", functions)):
        lines = [count for count, _ in rows]
        sys.stdout.write(f"{len(rows):,} {title}, median {lines[len(lines) // 2]} lines; the longest:\n")
        sys.stdout.writelines(f"  {count:5}  {where}\n" for count, where in rows[:shown])


def _sources() -> list[Path]:
    return sorted((ROOT / "reconciler").rglob("*.py"))


def _lines_of_modules() -> list[tuple[int, str]]:
    counted = [
        (len(path.read_text("utf-8").splitlines()), path.relative_to(ROOT).as_posix()) for path in _sources()
    ]
    return [(count, where) for count, where in counted if not where.endswith("__init__.py")]


def _lines_of_functions() -> list[tuple[int, str]]:
    """A function without its docstring: a contract is as long as it has to be."""
    found = []
    for path in _sources():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[0]
                is_contract = ast.get_docstring(node, clean=False) is not None
                contract = (first.end_lineno or 0) - first.lineno + 1 if is_contract else 0
                count = (node.end_lineno or node.lineno) - node.lineno + 1 - contract
                found.append((count, f"{path.relative_to(ROOT).as_posix()}:{node.lineno} {node.name}"))
    return found


if __name__ == "__main__":
    main()
