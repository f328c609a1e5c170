"""A defect keeps its place when the code around it moves, and says so when it has none."""

import ast
from pathlib import Path
from textwrap import dedent

import pytest
from sabotage.anchors import Edit, NoPlaceError, Package

WALK = """
    def walk(page, wanted):
        got = len(page.rows)
        while page.rows and got < wanted:
            got += 1
        return got
"""
SHORT_PAGE = Edit("walk", "page.rows and got < wanted", "False")
PLANTED = WALK.replace("page.rows and got < wanted", "False")


def plant(folder: Path, modules: dict[str, str], *edits: Edit) -> dict[str, str]:
    for name, source in modules.items():
        path = folder / "package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(source))
    return Package(folder, "package").planted(edits)


def tidy(source: str) -> str:
    return ast.unparse(ast.parse(dedent(source)))


def test_a_defect_is_planted_in_the_function_it_names(tmp_path: Path) -> None:
    other = "def other(page, wanted, got):\n    return page.rows and got < wanted\n"

    found = plant(tmp_path, {"paging.py": other + dedent(WALK)}, SHORT_PAGE)

    assert found == {"package/paging.py": tidy(other + dedent(PLANTED))}


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        ({"moved/elsewhere.py": WALK}, ("package/moved/elsewhere.py", PLANTED)),
        (
            {"paging.py": WALK.replace("walk(", "read_all(")},
            ("package/paging.py", PLANTED.replace("walk(", "read_all(")),
        ),
        (
            {
                "paging.py": WALK.replace(
                    "page.rows and got", "(page.rows  # all of them\n            and got"
                ).replace("wanted:", "wanted):")
            },
            ("package/paging.py", PLANTED),
        ),
        (
            {"paging.py": "class Pages:" + WALK.replace("\n", "\n    ").replace("(page", "(self, page")},
            (
                "package/paging.py",
                "class Pages:" + PLANTED.replace("\n", "\n    ").replace("(page", "(self, page"),
            ),
        ),
        (
            {"paging.py": WALK.replace("got", "count").replace("page", "sheet")},
            ("package/paging.py", PLANTED.replace("got", "count").replace("page", "sheet")),
        ),
        (
            {
                "paging.py": "def walk(page):\n    return _all(page, 3)\n"
                + dedent(WALK).replace("walk(", "_all(")
            },
            (
                "package/paging.py",
                "def walk(page):\n    return _all(page, 3)\n" + dedent(PLANTED).replace("walk(", "_all("),
            ),
        ),
    ],
    ids=["moved", "renamed", "formatted", "now a method", "local names renamed", "a helper taken out"],
)
def test_a_refactoring_costs_no_row(
    tmp_path: Path, modules: dict[str, str], expected: tuple[str, str]
) -> None:
    """Otherwise whoever improves the code edits hundreds of rows."""
    path, source = expected

    assert plant(tmp_path, modules, SHORT_PAGE) == {path: tidy(source)}


def test_the_new_code_follows_the_renamed_names(tmp_path: Path) -> None:
    """Else it would fail with a NameError, and every test would seem to notice the defect."""
    edit = Edit("walk", "page.rows and got < wanted", "got != wanted")

    found = plant(tmp_path, {"paging.py": WALK.replace("got", "count")}, edit)

    assert "while count != wanted:" in found["package/paging.py"]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (WALK.replace("page.rows and got", "got"), "is not in walk, nor anywhere else"),
        (WALK.replace("return got", "return page.rows and got < wanted"), "is there 2 times"),
        (WALK.replace("walk", "one") + WALK.replace("walk", "two"), "is there 2 times"),
        (WALK.replace("got", "page.got"), "is not in walk"),
    ],
    ids=["gone", "twice in the function", "twice in the package", "no longer local"],
)
def test_a_defect_without_one_place_is_refused(tmp_path: Path, source: str, reason: str) -> None:
    """A defect that is planted nowhere, or somewhere by chance, proves nothing."""
    with pytest.raises(NoPlaceError, match=reason):
        plant(tmp_path, {"paging.py": source}, SHORT_PAGE)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (Edit("walk", "got <", "x"), "is no Python"),
        (Edit("walk", "got += 1", "got += gott"), "uses gott"),
        (Edit("walk", "got += 1", "got  +=  1"), "is the same as"),
        (Edit("walk", "page.rows", "return 1"), "cannot stand in the place"),
    ],
    ids=["no source", "a name that nothing has", "no change", "a statement for an expression"],
)
def test_a_row_that_cannot_be_meant_is_refused(tmp_path: Path, edit: Edit, reason: str) -> None:
    """An unknown name would fail every test, whatever it claims."""
    with pytest.raises(NoPlaceError, match=reason):
        plant(
            tmp_path,
            {"paging.py": "def walk(page, wanted):\n    got = 1\n    got += 1\n    return page.rows\n"},
            edit,
        )


@pytest.mark.parametrize(
    ("source", "edit", "expected"),
    [
        (
            "ID = 'a'\ndef f():\n    return 'a'",
            Edit("ID", "'a'", "'b'"),
            "ID = 'b'\ndef f():\n    return 'a'",
        ),
        ("X = {1: 2, 3: 4}", Edit("X", "3: 4", "3: 5"), "X = {1: 2, 3: 5}"),
        ("X = {1: 2, 3: 4}", Edit("X", "3: 4", ""), "X = {1: 2}"),
        ("def f(a):\n    return g(a, b=a.b)", Edit("f", "b=a.b", ""), "def f(a):\n    return g(a)"),
        ("def f(a):\n    return g(a, b=a.b)", Edit("f", "b=a.b", "b=a"), "def f(a):\n    return g(a, b=a)"),
        ("def f(a):\n    g(a)", Edit("f", "g(a)", ""), "def f(a):\n    pass"),
        ("def f(a):\n    g(a)", Edit("f", "g(a)", "return a"), "def f(a):\n    return a"),
        ("def f(a):\n    return a, *g(a)", Edit("f", "*g(a)", ""), "def f(a):\n    return (a,)"),
        (
            "def f(a):\n    if a:\n        g()\n        h()",
            Edit("f", "if a: ...", "if not a: ..."),
            "def f(a):\n    if not a:\n        g()\n        h()",
        ),
        ("@d\ndef f(a):\n    return a", Edit("f", "d", ""), "def f(a):\n    return a"),
        (
            "def f(a):\n    g()\n    h()\n    g()",
            Edit("f", "g()\nh()", "h()\ng()"),
            "def f(a):\n    h()\n    g()\n    g()",
        ),
        (
            "from m import a\ndef f():\n    from m import a",
            Edit("one:", "from m import a", ""),
            "def f():\n    from m import a",
        ),
    ],
    ids=lambda value: value.old if isinstance(value, Edit) else "",
)
def test_whatever_stands_in_the_code_can_be_changed_or_left_out(
    tmp_path: Path, source: str, edit: Edit, expected: str
) -> None:
    names = "\ndef g(): 0\ndef h(): 0\nd = 1"

    found = plant(tmp_path, {"one.py": source + names}, edit)

    assert found == {"package/one.py": tidy(expected + names)}


def test_several_places_change_together(tmp_path: Path) -> None:
    edits = [Edit("f", "g()", ""), Edit("f", "h()", "h()\ng()")]

    found = plant(tmp_path, {"one.py": "def f(g, h):\n    g()\n    h()\n    return 1"}, *edits)

    assert found == {"package/one.py": tidy("def f(g, h):\n    h()\n    g()\n    return 1")}


def test_a_module_tells_functions_of_one_name_apart(tmp_path: Path) -> None:
    modules = {"one.py": "def f(a):\n    return a", "two.py": "def f(a):\n    return a"}

    assert list(plant(tmp_path, modules, Edit("two:f", "return a", "return 0"))) == ["package/two.py"]
