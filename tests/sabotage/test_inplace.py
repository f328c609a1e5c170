"""Code put in place is what an import would have brought; what cannot be is told, and nothing is changed."""

import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from sabotage.inplace import functions_below, put_in_place

SOURCE = """
TABLE = {"a": 1}

def double(number, times=2):
    return number * times

def counted(numbers):
    def is_odd(number):
        return number % 2 == 1
    return sum(1 for number in numbers if is_odd(number))

class Scale:
    factor = 3

    def of(self, number):
        return number * self.factor

    @property
    def name(self):
        return "scale"
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    path = tmp_path / "put_in_place.py"
    path.write_text(SOURCE, encoding="utf-8")
    spec = spec_from_file_location("put_in_place", path)
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    sys.modules["put_in_place"] = made
    spec.loader.exec_module(made)
    yield made
    del sys.modules["put_in_place"]


def put(module: ModuleType, old: str, new: str) -> bool:
    assert SOURCE.count(old) == 1
    return put_in_place(
        {module.__name__: SOURCE.replace(old, new)}, functions_below(Path(str(module.__file__)).parent)
    )


def test_what_holds_a_function_runs_its_new_code(module: ModuleType) -> None:
    """Whoever imported it by name has the same function, and a method is reached through its class."""
    double, scale = module.double, module.Scale()

    assert put(module, "number * times", "number + times")
    assert put(module, "number * self.factor", "number")
    assert put(module, 'return "scale"', 'return "another"')

    assert (double(5), scale.of(5), scale.name) == (7, 5, "another")


def test_a_function_within_a_function_is_changed_with_it(module: ModuleType) -> None:
    assert module.counted([1, 2, 3]) == 2

    assert put(module, "number % 2 == 1", "number % 2 == 0")

    assert module.counted([1, 2, 3]) == 1


def test_true_is_not_one(module: ModuleType) -> None:
    """Python calls them equal, and so would a comparison of constants."""
    assert put(module, "number % 2 == 1", "number % 2 == True")
    assert put(module, 'return "scale"', "return 1")
    assert module.Scale().name == 1
    assert put(module, "sum(1 for", "sum(True for")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"a": 1}', '{"a": 2}'),
        ("times=2", "times=3"),
        ("factor = 3", "factor = 4"),
        ("    @property\n", ""),
        ("(number, times=2)", "(number, times=2, more=0)"),
        ("def counted", "def count"),
        ("    return number * times\n", "    return (lambda: number * times)()\n"),
        ("def double", "async def double"),
    ],
    ids=["constant", "default", "class", "decorator", "argument", "name", "function within", "async"],
)
def test_what_runs_at_import_is_told_and_nothing_is_changed(module: ModuleType, old: str, new: str) -> None:
    """A table that is made at import time would stay the old one, and the trial would say nothing."""
    assert not put(module, old, new)

    assert module.double(5) == 10
    assert module.counted([1, 2, 3]) == 2
    assert module.Scale().of(5) == 15


def test_a_module_that_nobody_imported_is_nothing_to_change() -> None:
    assert put_in_place({"put_in_place_later": "value = 1"}, {})
