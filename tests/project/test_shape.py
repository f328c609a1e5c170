"""script/shape: a report of the package that fails nothing, and a circle of imports that is named."""

import importlib.util
import subprocess
import sys
from types import ModuleType

import pytest
from project.test_tidy import ROOT


@pytest.fixture(scope="module")
def shape() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shape", ROOT / "script" / "shape.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_report_has_every_row_and_fails_nothing() -> None:
    """Its numbers are signs for a person; a limit here would reward cutting and gluing."""
    done = subprocess.run(
        [sys.executable, ROOT / "script" / "shape.py", "--names"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    for row in (
        "modules with code; median lines",
        "functions per 1,000 lines",
        "names that stand in another module too",
        "value types; near-twin pairs",
        "longest chain of imports",
        "the longest functions:",
        "bare participles:",
    ):
        assert row in done.stdout


def test_the_longest_chain_is_the_longest_way_down(shape: ModuleType) -> None:
    graph = {"cli": ["core", "model"], "core": ["model"], "model": [], "lone": []}

    assert shape.longest_chain(graph) == ["cli", "core", "model"]


def test_a_circle_of_imports_is_named_whole(shape: ModuleType) -> None:
    """A chain through a circle has no length."""
    with pytest.raises(SystemExit, match="a > b > c > a"):
        shape.longest_chain({"a": ["b"], "b": ["c"], "c": ["a"]})
