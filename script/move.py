# noqa: INP001 - a script, started by script/move; part of no package
"""Move or rename a module, a package or a name, over everything that mentions it.

    script/move reconciler/manifest/kept reconciler/manifest/cache          a package
    script/move reconciler/live/told.py reconciler/live/progress.py         a module
    script/move reconciler/live/told.py:reached report_progress             a name, where it is
    script/move reconciler/a.py:decide reconciler/b.py                      a definition, to another module
    script/move reconciler/a.py:decide reconciler/b.py:decide_call          the same, under another name
    script/move reconciler/a.py +reconciler/b.py                            a module, to the end of another
    script/move --file moves.txt                                            one move a line, # for remarks

Rewritten are the package, tests, scripts and benches, planted defects and mutants, import contracts, names of
modules in strings, and paths and names in docs, comments and docstrings. Printed is what a person has to look
at: words that may mean the name, and contracts in which a module changed its place. Nothing is committed.

Exit codes: 0 done; 1 done, but a planted defect lost its place; 2 the move cannot be made, and nothing was
written.
"""

import argparse
import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from sabotage.anchors import Edit, NoPlaceError, Package  # noqa: E402 - of the tests, found by the line above

TEXTS = {
    ".py",
    ".md",
    ".toml",
    ".yaml",
    ".yml",
    ".json",
    ".txt",
    ".sh",
    ".html",
    "",
}  # what may name a module
# Locks, what was true then, and the examples above.
UNTOUCHED = (
    "requirements/",
    "docs/sbom.cdx.json",
    "CHANGELOG.md",
    "script/move.py",
    "tests/project/test_move.py",
)


class MoveError(Exception):
    """A move that cannot be made; nothing of it was written."""


@dataclass(frozen=True)
class Place:
    """A module or package, or with `name` a function, class, constant or `Class.method` of it."""

    path: str
    name: str = ""

    @property
    def dotted(self) -> str:
        """The module as an import writes it."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def as_member(self) -> tuple[str, str]:
        """The module that binds it, and the name there: a module is a name of its package."""
        if self.name:
            return self.dotted, self.name
        package, _, stem = self.dotted.rpartition(".")
        return package, stem


def parse_place(text: str) -> Place:
    """Read `path` or `path:name`."""
    path, _, name = text.partition(":")
    return Place(path.rstrip("/"), name)


def main() -> int:
    """Make each move in order, write everything, and say what is left to a person."""
    tree = Tree()
    try:
        moves = _read_moves()
        for old, new in moves:
            _move(tree, parse_place(old), new)
    except MoveError as error:
        sys.stderr.write(f"script/move: {error}\n")
        return 2
    tree.write()
    lost = _mend_planted(tree.renamed)
    for remark in (*tree.remarks, *lost):
        sys.stdout.write(f"look at: {remark}\n")
    return 1 if lost else 0


def _read_moves() -> list[tuple[str, str]]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS
    )
    parser.add_argument("old", nargs="?")
    parser.add_argument("new", nargs="?")
    parser.add_argument("--file", type=Path, help="a file with one move a line: the old place, the new one")
    given = parser.parse_args()
    if not given.file:
        if not given.new:
            parser.error("name the old place and the new one")
        return [(given.old, given.new)]
    lines = [line.partition("#")[0].split() for line in given.file.read_text("utf-8").splitlines()]
    if wrong := [" ".join(line) for line in lines if len(line) not in (0, 2)]:
        raise MoveError(f"{given.file}: a line needs an old place and a new one: {wrong[0]}")
    return [(line[0], line[1]) for line in lines if line]


@dataclass(frozen=True)
class Renamed:
    """A name of a module, or with "" for the module a word of any row, and what takes its place."""

    module: str
    pattern: str
    becomes: str


class Tree:
    """The text of every file, in memory until `write`: a move that fails half way leaves nothing behind."""

    def __init__(self) -> None:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - of the path
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        names = [name for name in dict.fromkeys(listed.stdout.decode().split("\0")) if name]
        texts = {name: _read_text(ROOT / name) for name in names if not name.startswith(UNTOUCHED)}
        self.texts: dict[str, str] = {name: text for name, text in texts.items() if text is not None}
        self.before = dict(self.texts)
        self.moved: list[tuple[str, str]] = []  # files and folders, in order
        self.gone: list[str] = []  # modules that stand in another one now
        self.renamed: list[Renamed] = []  # what planted defects have to follow
        self.remarks: list[str] = []

    def python(self) -> list[str]:
        """Return the modules of the project."""
        return [name for name in self.texts if name.endswith(".py")]

    def change(self, change: Callable[[str], str], *suffixes: str) -> None:
        """Rewrite every file, or those that end in one of `suffixes`."""
        for name, text in self.texts.items():
            if not suffixes or name.endswith(suffixes):
                self.texts[name] = change(text)

    def move(self, old: str, new: str) -> None:
        """Give a file, or a folder with all below it, another path."""
        self.moved.append((old, new))
        for name in [one for one in self.texts if one == old or one.startswith(f"{old}/")]:
            self.texts[new + name.removeprefix(old)] = self.texts.pop(name)

    def remove(self, name: str) -> None:
        """Take a file away."""
        del self.texts[name]
        self.gone.append(name)

    def write(self) -> None:
        """Move what moved, write what changed, sort its imports and lay it out."""
        for old, new in self.moved:
            (ROOT / new).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / old).rename(ROOT / new)
        for name in self.gone:
            (ROOT / name).unlink()
        changed = [name for name, text in self.texts.items() if text != _read_text(ROOT / name)]
        for name in changed:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(self.texts[name], "utf-8")
        if modules := [name for name in changed if name.endswith(".py")]:
            _ruff("check", "--quiet", "--fix", "--exit-zero", "--select", "I,F401", *modules)
            _ruff("format", "--quiet", *modules)


def _move(tree: Tree, old: Place, wanted: str) -> None:
    if wanted.startswith("+"):
        _merge_module(tree, old, parse_place(wanted[1:]))
        return
    new = parse_place(wanted if "/" in wanted else f"{old.path}:{wanted}")
    if old.path not in tree.texts and not any(name.startswith(f"{old.path}/") for name in tree.texts):
        raise MoveError(f"{old.path} is not there")
    if not old.name:
        _move_module(tree, old, new)
        return
    name = new.name or old.name
    if name != old.name:
        _rename(tree, old, name)
    if new.path != old.path:
        _move_definition(tree, Place(old.path, name), new.path)


# --- A module or a package ------------------------------------------------------------------------


def _move_module(tree: Tree, old: Place, new: Place) -> None:
    """Let imports of the module as a name follow by their scopes, and every other mention by its spelling."""
    if new.path in tree.texts or any(name.startswith(f"{new.path}/") for name in tree.texts):
        raise MoveError(f"{new.path} is there already: write +{new.path} to add {old.path} to its end")
    if Path(old.path).suffix != Path(new.path).suffix:
        raise MoveError(f"{old.path} and {new.path} are not of one sort")
    _change_mentions(tree, old, new)
    _change_contracts(tree, old, new)
    tree.move(old.path, new.path)
    tree.renamed.append(Renamed("", rf"\b{old.as_member[1]}(?=[:.])", new.as_member[1]))  # 'paging:walk'


def _change_mentions(tree: Tree, old: Place, new: Place) -> None:
    package, stem = new.as_member
    for name in tree.python():
        if _may_import(name, tree.texts[name], old):
            source = Source(name, tree.texts[name])
            tree.texts[name] = source.edited(source.follow(old.as_member, stem, package))
    dotted = rf"(?<![\w.]){re.escape(old.dotted)}(?!\w)"
    tree.change(lambda text: re.sub(dotted, new.dotted, text))
    for was, becomes in _paths(old.path, new.path):
        path = rf"(?<![\w/.-]){re.escape(was)}(?![\w-])"
        tree.change(lambda text, path=path, becomes=becomes: re.sub(path, becomes, text))  # type: ignore[misc]


def _paths(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Return how a path is written: from the project, and from the package where a folder tells it apart."""
    yield old, new
    short, becomes = old.removeprefix("reconciler/"), new.removeprefix("reconciler/")
    if short != old and "/" in short:
        yield short, becomes


def _change_contracts(tree: Tree, old: Place, new: Place) -> None:
    """Rename a module in the layers of its package; where its package changes, a person places it."""
    (parent, stem), (target, becomes) = old.as_member, new.as_member
    mark = "[[tool.importlinter.contracts]]"
    blocks = tree.texts["pyproject.toml"].split(mark)
    for number, block in enumerate(blocks):
        head, layers, body = block.partition("layers = [")
        if f'containers = ["{parent}"]' not in head or not re.search(rf"\b{stem}\b", body):
            continue
        if parent == target:
            blocks[number] = head + layers + re.sub(rf"\b{stem}\b", becomes, body)
        else:
            tree.remarks.append(f"pyproject.toml: the layers of {parent} name {stem}, which left it")
    tree.texts["pyproject.toml"] = mark.join(blocks)


# --- A module becomes a part of another one ---------------------------------------------------------


def _merge_module(tree: Tree, old: Place, new: Place) -> None:
    """Add a module to the end of another one, under a heading that is its docstring.

    It goes to the beginning where the other one imports from it: what is used while a module is imported has
    to be defined by then. Both may import the same names; any other name that both have is refused.
    """
    if old.path not in tree.texts or new.path not in tree.texts:
        raise MoveError(f"{old.path} and {new.path} have to be modules that are there")
    source, target = Source(old.path, tree.texts[old.path]), Source(new.path, tree.texts[new.path])
    _refuse_two_meanings(source, target)
    first = any(module == source.dotted for module, _ in target.origins.values())
    added, kept = (Part(one.path, _without_other(one, other)) for one, other in _both(source, target))
    bodies = [f"{_heading(source)}\n\n\n{added.body}", kept.body]
    imports = "\n".join([kept.docstring, "", *dict.fromkeys([*kept.imports, *added.imports])])
    tree.texts[new.path] = "\n\n\n".join([imports, *(bodies if first else bodies[::-1])]).rstrip() + "\n"
    tree.remove(old.path)
    _change_mentions(tree, old, new)
    _drop_from_contracts(tree, old)
    tree.renamed.append(Renamed("", rf"\b{old.as_member[1]}(?=[:.])", new.as_member[1]))


def _both(source: "Source", target: "Source") -> tuple[tuple["Source", "Source"], tuple["Source", "Source"]]:
    return (source, target), (target, source)


def _refuse_two_meanings(source: "Source", target: "Source") -> None:
    wrong = []
    for name in sorted(source.origins.keys() & target.origins.keys()):
        ours, theirs = source.origins[name], target.origins[name]
        if ours not in (theirs, (target.dotted, name)) and theirs != (source.dotted, name):
            wrong.append(f"{name} is {_origin(ours)} and {_origin(theirs)}")
    for one, other in _both(source, target):
        wrong += [
            f"{one.path} imports {was} of {other.path} as {name}"
            for name, (module, was) in one.origins.items()
            if module == other.dotted and name != was
        ]
    if wrong:
        raise MoveError("; ".join(wrong) + ": rename first")


def _origin(origin: tuple[str, str]) -> str:
    module, name = origin
    return f"{module}.{name}"


def _without_other(source: "Source", other: "Source") -> str:
    """Return the text of a module in which nothing is imported from the other one any more."""
    package, _, stem = other.dotted.rpartition(".")
    aliases = {name for name, origin in source.origins.items() if origin == (package, stem)}
    edits: list[Span] = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and node.module in (package, other.dotted):
            kept = [one for one in node.names if node.module == package and one.name != stem]
            if len(kept) < len(node.names):
                line = ast.unparse(ast.ImportFrom(node.module, kept, 0)) if kept else ""
                edits.append((*source.span(node), line or ("pass" if node.col_offset else "")))
        elif (
            isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases
        ):
            edits.append((*source.span(node), node.attr))
    return source.edited(edits)


class Part:
    """A module in three pieces: its docstring, its imports, and the rest as it stands there."""

    def __init__(self, path: str, text: str) -> None:
        tree = ast.parse(text, filename=path)
        rows = text.splitlines()
        docstring = tree.body[:1] if ast.get_docstring(tree) is not None else []
        ahead = [
            node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) or _checks_types(node)
        ]
        self.docstring = "\n".join(_rows_of(rows, node) for node in docstring)
        self.imports = [_rows_of(rows, node) for node in ahead]
        taken = {number for node in (*docstring, *ahead) for number in _numbers(node)}
        self.body = "\n".join(row for number, row in enumerate(rows, 1) if number not in taken).strip("\n")


def _checks_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _numbers(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _rows_of(rows: list[str], node: ast.stmt) -> str:
    return "\n".join(rows[number - 1] for number in _numbers(node))


def _heading(source: "Source") -> str:
    first, _, rest = (ast.get_docstring(source.tree) or source.dotted).partition("\n")
    comment = [f"# {line}".rstrip() for line in rest.strip("\n").split("\n")] if rest.strip() else []
    return "\n".join([f"# --- {first.rstrip('.')} ".ljust(100, "-"), *(["#", *comment] if comment else [])])


def _drop_from_contracts(tree: Tree, old: Place) -> None:
    parent, stem = old.as_member
    mark = "[[tool.importlinter.contracts]]"
    blocks = tree.texts["pyproject.toml"].split(mark)
    for number, block in enumerate(blocks):
        head, layers, body = block.partition("layers = [")
        if f'containers = ["{parent}"]' in head:
            body = re.sub(rf'(?<=")\s*{stem} \| | \| {stem}\b', "", body)
            blocks[number] = head + layers + re.sub(rf'"{stem}",\s*|,?\s*"{stem}"', "", body)
    tree.texts["pyproject.toml"] = mark.join(blocks)


# --- A name ---------------------------------------------------------------------------------------


def _rename(tree: Tree, old: Place, name: str) -> None:
    source = Source(old.path, tree.texts[old.path])
    name = name.rpartition(".")[2]
    if "." in old.name:
        _rename_method(tree, source, old, name)
    else:
        if old.name not in source.defined:
            raise MoveError(f"{old.path} defines no {old.name}")
        _rename_global(tree, old, name)
    bare = old.name.rpartition(".")[2]
    short = old.path.removeprefix("reconciler/")
    tree.change(lambda text: _rename_beside(text, bare, name, short), ".md", ".py")
    tree.renamed.append(Renamed(old.as_member[1], rf"\b{re.escape(bare)}\b", name))
    for number, line in enumerate(tree.texts[old.path].split("\n"), 1):
        if re.search(rf"\b{re.escape(bare)}\b", line):
            tree.remarks.append(f"{old.path}:{number}: {line.strip()}")


def _rename_global(tree: Tree, old: Place, name: str) -> None:
    for path in sorted(tree.python(), key=lambda path: path != old.path):  # its own module is asked first
        if old.name not in tree.texts[path] or not _may_import(path, tree.texts[path], old):
            continue
        source = Source(path, tree.texts[path])
        edits = source.follow(old.as_member, name, old.dotted)
        if edits and name in source.bound:
            raise MoveError(f"{path} has {name} already")
        text = source.edited(edits)
        tree.texts[path] = text.replace(f"`{old.name}`", f"`{name}`") if edits else text


def _may_import(path: str, text: str, place: Place) -> bool:
    """Whether a file can mean a module or its names: parsing every file for each move takes minutes."""
    package, stem = Place(place.path).as_member
    return path == place.path or place.dotted in text or (f"from {package} import " in text and stem in text)


def _rename_method(tree: Tree, source: "Source", old: Place, name: str) -> None:
    """Types of values are not known here: a method is renamed where no other class has one of its name."""
    bare = old.name.rpartition(".")[2]
    sources = [Source(path, tree.texts[path]) for path in tree.python() if bare in tree.texts[path]]
    makers = [one.path for one in sources for made in one.methods if made == bare]
    if makers != [source.path]:
        raise MoveError(
            f"{bare} is a method or field in {len(makers)} classes: {', '.join(makers) or 'none'}"
        )
    for one in sources:
        tree.texts[one.path] = one.edited(one.attributes(bare, name))


def _rename_beside(text: str, name: str, becomes: str, path: str) -> str:
    """Rename a name in code quotes on the lines that name its file too: rows of tables, remarks."""
    if path not in text or f"{name}`" not in text:
        return text
    quoted = re.compile(rf"`((?:\w+\.)?){re.escape(name)}`")
    return "\n".join(
        quoted.sub(rf"`\1{becomes}`", line) if path in line else line for line in text.split("\n")
    )


# --- A definition goes to another module ----------------------------------------------------------


def _move_definition(tree: Tree, old: Place, path: str) -> None:
    """Cut it out with the comment above it, and append it to the other module.

    What it needs of its old module, it imports from there. Whoever had it as `module.name` imports it.
    """
    if path not in tree.texts:
        raise MoveError(f"{path} is not there: write its docstring first, which says what it is for")
    source, target, new = Source(old.path, tree.texts[old.path]), Source(path, tree.texts[path]), Place(path)
    if old.name not in source.defined:
        raise MoveError(f"{old.path} defines no {old.name}")
    if old.name in target.defined:
        raise MoveError(f"{path} defines {old.name} already")
    cut, rest, node = source.without(old.name)
    used = _used(node)
    imports = [line for line in source.imports_of(used) if not line.startswith(f"from {new.dotted} import ")]
    if left := sorted((used & source.defined) - {old.name}):
        imports.append(f"from {old.dotted} import {', '.join(left)}")
        tree.remarks.append(f"{path} imports {', '.join(left)} from {old.path}: is that a circle?")
    if old.name in _used(ast.parse(rest)):
        rest = with_imports(rest, [f"from {new.dotted} import {old.name}"])
    tree.texts[old.path] = rest
    joined = f"{target.text.rstrip()}\n\n\n{cut.strip()}\n"
    tree.texts[path] = with_imports(Source(path, joined).edited(target.drop_import(old)), imports)
    for name in tree.python():
        if (
            name not in (old.path, path)
            and old.name in tree.texts[name]
            and _may_import(name, tree.texts[name], old)
        ):
            one = Source(name, tree.texts[name])
            edits, imported = one.import_from(old, new.dotted)
            tree.texts[name] = with_imports(one.edited(edits), imported)
    (_, stem), (_, becomes) = Place(old.path).as_member, new.as_member
    tree.renamed.append(Renamed("", rf"\b{stem}(?=[:.]{re.escape(old.name)}\b)", becomes))
    was, becomes = (one.removeprefix("reconciler/") for one in (old.path, path))
    tree.change(lambda text: text.replace(f"`{old.name}` in `{was}`", f"`{old.name}` in `{becomes}`"), ".md")


def _used(node: ast.AST) -> set[str]:
    """Return the names that code uses, those of quoted annotations too."""
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    quoted = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
    texts = [text for text in quoted if isinstance(text, str) and re.fullmatch(r"[\w.\[\], |]+", text)]
    return names | {word for text in texts for word in re.findall(r"\w+", text)}


def with_imports(text: str, lines: Iterable[str]) -> str:
    """Put imports behind the docstring; the linter sorts and joins them afterwards."""
    module = ast.parse(text)
    at = (module.body[0].end_lineno or 0) if ast.get_docstring(module) is not None else 0
    there = {ast.unparse(one) for one in module.body if isinstance(one, ast.Import | ast.ImportFrom)}
    new = [f"{line}\n" for line in dict.fromkeys(lines) if line not in there]
    rows = text.splitlines(keepends=True)
    return "".join([*rows[:at], *(["\n"] if new and at else []), *new, *rows[at:]])


# --- What a module says, by its syntax ------------------------------------------------------------

Span = tuple[int, int, str]  # from, to, and the text that takes its place
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass
class Source:
    """One module: what it binds, and where it means a name of another one."""

    path: str
    text: str
    tree: ast.Module = field(init=False)

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.text, filename=self.path)

    @property
    def dotted(self) -> str:
        """The module as an import writes it."""
        return Place(self.path).dotted

    @cached_property
    def defined(self) -> set[str]:
        """What it defines itself, at its top."""
        return {name for node in self.tree.body for name in _defined(node)}

    @cached_property
    def bound(self) -> set[str]:
        """Every name at its top, imported ones too."""
        return self.defined | {name for node in ast.walk(self.tree) for name in _imported(node)}

    @cached_property
    def origins(self) -> dict[str, tuple[str, str]]:
        """Where each name at its top comes from: the module, and the name there."""
        found = {name: (self.dotted, name) for name in self.defined}
        for node in _own_nodes(self.tree):
            if isinstance(node, ast.ImportFrom):
                found |= {one.asname or one.name: (node.module or "", one.name) for one in node.names}
            elif isinstance(node, ast.Import):
                found |= {one.asname or one.name.partition(".")[0]: (one.name, "") for one in node.names}
        return found

    @cached_property
    def methods(self) -> list[str]:
        """The methods and fields of its classes."""
        classes = [node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)]
        return [name for one in classes for node in one.body for name in _defined(node)]

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts

    def at(self, line: int, column: int) -> int:
        """Return the index in the text; columns of a syntax tree count bytes."""
        start = self._starts[line - 1]
        row = self.text[start : self._starts[line]]
        return start + (column if row.isascii() else len(row.encode()[:column].decode()))

    def span(self, node: ast.expr | ast.stmt | ast.alias) -> tuple[int, int]:
        """Return where a node begins and ends."""
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno or 0, node.end_col_offset or 0)

    def edited(self, edits: Iterable[Span]) -> str:
        """Return the text with these places replaced."""
        text = self.text
        for start, end, new in sorted(set(edits), reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def follow(self, member: tuple[str, str], name: str, package: str) -> list[Span]:
        """Return the edits that let every mention of `name` of a module mean its new name and module."""
        finder = _Mentions(self, member, name, package)
        finder.visit(self.tree)
        return finder.edits

    def attributes(self, name: str, becomes: str) -> list[Span]:
        """Return the edits that rename a method or field wherever anything has it."""
        found: list[Span] = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute) and node.attr == name:
                end = self.span(node)[1]
                found.append((end - len(name), end, becomes))
            elif isinstance(node, ast.keyword) and node.arg == name:
                start = self.at(node.lineno, node.col_offset)
                found.append((start, start + len(name), becomes))
            elif isinstance(node, ast.ClassDef):
                found += [
                    (*_name_span(self, one, name), becomes) for one in node.body if name in _defined(one)
                ]
        return found

    def without(self, name: str) -> tuple[str, str, ast.stmt]:
        """Return a definition with the comment above it, the text without it, and its node."""
        node = next(one for one in self.tree.body if name in _defined(one))
        rows = self.text.splitlines(keepends=True)
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))]) - 1
        while first and rows[first - 1].startswith("#") and not rows[first - 1].startswith("# ---"):
            first -= 1
        return (
            "".join(rows[first : node.end_lineno]),
            "".join([*rows[:first], *rows[node.end_lineno :]]),
            node,
        )

    def imports_of(self, used: set[str]) -> list[str]:
        """Return one line for each import that binds one of these names."""
        lines = []
        for node in self.tree.body:
            for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
                if (alias.asname or alias.name.partition(".")[0]) in used:
                    one = (
                        ast.ImportFrom(node.module, [alias], 0) if isinstance(node, ast.ImportFrom) else None
                    )
                    lines.append(ast.unparse(one or ast.Import([alias])))
        return lines

    def drop_import(self, old: Place) -> list[Span]:
        """Return the edits that import a name no more."""
        return self.import_from(old, "")[0]

    def import_from(self, old: Place, module: str) -> tuple[list[Span], list[str]]:
        """Return the edits that take a name from its new module ("": from none), and imports to be added."""
        edits: list[Span] = []
        added: list[str] = []
        package, stem = Place(old.path).as_member
        modules = {
            alias.asname or alias.name
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom) and node.module == package
            for alias in node.names
            if alias.name == stem
        }
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module == old.dotted:
                taken = [one for one in node.names if one.name == old.name]
                others = [one for one in node.names if one.name != old.name]
                parts = [(old.dotted, others), (module, taken)]
                lines = [ast.unparse(ast.ImportFrom(of, names, 0)) for of, names in parts if of and names]
                if taken:
                    edits.append((*self.span(node), ("\n" + " " * node.col_offset).join(lines)))
            elif (
                module
                and isinstance(node, ast.Attribute)
                and node.attr == old.name
                and isinstance(node.value, ast.Name)
                and node.value.id in modules
            ):
                edits.append((*self.span(node), old.name))
                added.append(f"from {module} import {old.name}")
        return edits, added


class _Mentions(ast.NodeVisitor):
    """Finds where code means one name of one module, by the scopes of Python."""

    def __init__(self, source: Source, member: tuple[str, str], name: str, package: str) -> None:
        self.source, (self.module, self.old), self.new, self.package = source, member, name, package
        self.edits: list[Span] = []
        self.scopes: list[tuple[bool, Mapping[str, bool]]] = []  # is it a class; does its name mean ours
        self.quoted = False

    def visit_Module(self, node: ast.Module) -> None:
        self._within(node, node.body, of_class=False)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._definition(node)
        for one in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(one)
        self._within(node, node.body, of_class=True)

    def visit_FunctionDef(self, node: _Function) -> None:
        self._definition(node)
        for one in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(one)
        for annotation in _annotations(node):
            self._annotation(annotation)
        self._within(node, node.body, of_class=False)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for one in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(one)
        self._within(node, [node.body], of_class=False)

    def visit_ListComp(self, node: _Comprehension) -> None:
        self._within(node, list(ast.iter_child_nodes(node)), of_class=False)

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp  # noqa: N815

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._annotation(node.annotation)
        for one in filter(None, (node.target, node.value)):
            self.visit(one)

    def visit_Name(self, node: ast.Name) -> None:
        if self._means(node.id) and node.id == self.old:
            self.edits.append((*self.source.span(node), self.new))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr == self.old and isinstance(node.value, ast.Name) and self._is_module(node.value.id):
            end = self.source.span(node)[1]
            self.edits.append((end - len(self.old), end, self.new))
        self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        ours = [one for one in node.names if one.name == self.old]
        if node.module != self.module or not ours:
            return
        others = [one for one in node.names if one.name != self.old]
        renamed = [ast.alias(self.new, one.asname) for one in ours]
        if self.package == self.module:
            parts = [(self.module, [*others, *renamed])]
        else:
            parts = [(self.module, others), (self.package, renamed)]
        lines = [ast.unparse(ast.ImportFrom(of, names, 0)) for of, names in parts if names]
        self.edits.append((*self.source.span(node), ("\n" + " " * node.col_offset).join(lines)))

    def visit_Assign(self, node: ast.Assign) -> None:
        """The names in `__all__` are texts."""
        if any(isinstance(one, ast.Name) and one.id == "__all__" for one in node.targets):
            self._texts(node.value, exact=True)
        self.generic_visit(node)

    def _definition(self, node: _Function | ast.ClassDef) -> None:
        if node.name == self.old and self._means(node.name):
            self.edits.append((*_name_span(self.source, node, node.name), self.new))

    def _annotation(self, node: ast.expr) -> None:
        self._texts(node, exact=False)
        self._quoted_members(node)
        self.visit(node)

    def _quoted_members(self, node: ast.AST) -> None:
        """Follow `"module.Name"` in a quoted annotation."""
        for one in ast.walk(node):
            if isinstance(one, ast.Constant) and isinstance(one.value, str) and f".{self.old}" in one.value:
                start, end = self.source.span(one)
                text = self.source.text[start:end]
                for stem in re.findall(rf"(\w+)\.{self.old}\b", text):
                    if self._is_module(stem):
                        text = re.sub(rf"\b{stem}\.{self.old}\b", f"{stem}.{self.new}", text)
                        self.edits.append((start, end, text))

    def _texts(self, node: ast.AST, *, exact: bool) -> None:
        words = {
            id(part)
            for one in ast.walk(node)
            if isinstance(one, ast.Subscript) and ast.unparse(one.value).endswith("Literal")
            for part in ast.walk(one.slice)
        }
        for one in ast.walk(node) if self._means(self.old) else ():
            if isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in words:
                start, end = self.source.span(one)
                pattern = rf"(?<=^['\"]){self.old}(?=['\"]$)" if exact else rf"(?<!\.)\b{self.old}\b"
                self.edits.append((start, end, re.sub(pattern, self.new, self.source.text[start:end])))

    def _within(self, node: ast.AST, body: Iterable[ast.AST], *, of_class: bool) -> None:
        self.scopes.append((of_class, self._bindings(node)))
        for one in body:
            self.visit(one)
        self.scopes.pop()

    def _bindings(self, node: ast.AST) -> Mapping[str, bool]:
        """Return the names that a scope binds, and whether each means ours."""
        own = isinstance(node, ast.Module) and self.source.dotted == self.module
        found: dict[str, bool] = {}
        for one in _own_nodes(node):
            if isinstance(one, ast.ImportFrom):
                for alias in one.names:
                    means = one.module == self.module and alias.name == self.old
                    found[alias.asname or alias.name] = means
            for name in _bound_by(one):
                found.setdefault(name, own and name == self.old)
        for one in _own_nodes(node):
            if isinstance(one, ast.Global | ast.Nonlocal):
                found = {name: means for name, means in found.items() if name not in one.names}
        return found

    def _means(self, name: str) -> bool:
        for depth, (of_class, names) in enumerate(reversed(self.scopes)):
            if name in names and not (of_class and depth):
                return names[name]
        return False

    def _is_module(self, name: str) -> bool:
        package, _, stem = self.module.rpartition(".")
        return any(
            isinstance(node, ast.ImportFrom)
            and node.module == package
            and any(alias.name == stem and (alias.asname or alias.name) == name for alias in node.names)
            for node in ast.walk(self.source.tree)
        )


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Return the nodes of a scope without those of the scopes within it."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _Function | ast.ClassDef | ast.Lambda | _Comprehension):
            waiting.extend(ast.iter_child_nodes(node))


def _bound_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
        case ast.Import():
            yield from _imported(node)
        case _:
            pass


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from (one.asname or one.name.partition(".")[0] for one in node.names)


def _defined(node: ast.stmt) -> set[str]:
    if isinstance(node, _Function | ast.ClassDef):
        return {node.name}
    given = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {one.id for one in given if isinstance(one, ast.Name)}


def _annotations(node: _Function) -> Iterator[ast.expr]:
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    rest = filter(None, (node.args.vararg, node.args.kwarg))
    yield from filter(None, [*(one.annotation for one in (*arguments, *rest)), node.returns])


def _name_span(source: Source, node: ast.stmt, name: str) -> tuple[int, int]:
    """Return where the name of a definition stands."""
    start = source.span(node)[0]
    if isinstance(node, _Function | ast.ClassDef):
        start = source.text.index(name, start + len("def "))
    return start, start + len(name)


# --- Planted defects ------------------------------------------------------------------------------


def _mend_planted(renamed: Sequence[Renamed]) -> list[str]:
    """Rename in each row that lost its function or expression, where that gives it a place again.

    Return the rows that have no place still.
    """
    package = Package(ROOT)
    lost = []
    folders = [ROOT / "tests/sabotage/defects", ROOT / "tests/specification/mutants"]
    for file in sorted(path for folder in folders for path in folder.glob("*.toml")):
        rows = re.split(r"(?m)^(?=\[\[\w+\]\])", file.read_text("utf-8"))
        for number, row in enumerate(rows):
            if _has_place(row, package):
                continue
            mended = (becomes for becomes in _renamed_rows(row, renamed) if _has_place(becomes, package))
            rows[number] = next(mended, row)
            if rows[number] is row:
                named = re.search(r"(?m)^(?:name|statement) = .*", row)
                lost.append(f"{file.relative_to(ROOT)}: {named[0] if named else row}: the row has no place")
        file.write_text("".join(rows), "utf-8")
    return lost


def _renamed_rows(row: str, renamed: Sequence[Renamed]) -> Iterator[str]:
    """Return what a row may say now, the likeliest first.

    In one run several modules may rename a function of one name. Then the name means that of the module that
    the row is about, and behind another module and a dot, or alone in other rows, that of the other one.
    """
    within = re.search(r"(?m)^in = ['\"](?:[\w.]*\.)?(\w+):", row)
    places = [one for one in renamed if not one.module]
    own = [one for one in renamed if within and one.module == within[1]]
    behind = [
        Renamed(one.module, rf"(?<=\b{one.module}\.){one.pattern}", one.becomes)
        for one in renamed
        if one.module
    ]
    alone = [Renamed(one.module, rf"(?<!\.){one.pattern}", one.becomes) for one in own]
    used = [one for one in renamed if one.module and re.search(one.pattern, row)]
    for tried in ([*alone, *behind], [*own, *behind], [*own, *behind, *used], used):
        for order in ([*tried, *places], [*places, *tried]):
            yield _renamed_row(row, order)
    for one in used:
        yield _renamed_row(row, [*own, *behind, one, *places])


def _renamed_row(row: str, renamed: Iterable[Renamed]) -> str:
    fixed = ("name =", "tests =", "statement =")
    lines = row.splitlines(keepends=True)
    for one in renamed:
        for number, line in enumerate(lines):
            # A module may have the name of its function: before the colon of `in` the module is meant.
            where, colon, what = (
                line.rpartition(":") if one.module and line.startswith("in =") else ("", "", line)
            )
            if not line.startswith(fixed):
                lines[number] = where + colon + re.sub(one.pattern, one.becomes, what)
    return "".join(lines)


def _has_place(block: str, package: Package) -> bool:
    """Whether a row names what is there, and can be planted."""
    for row in (row for rows in tomllib.loads(block).values() for row in rows if "in" in row):
        if not package.has(row["in"]):
            return False
        olds, news = ([part] if isinstance(part, str) else part for part in (row["old"], row["new"]))
        try:
            package.places([Edit(row["in"], old, new) for old, new in zip(olds, news, strict=True)])
        except NoPlaceError:
            return False
    return True


# --- Files ----------------------------------------------------------------------------------------


def _read_text(path: Path) -> str | None:
    if path.suffix not in TEXTS or not path.is_file():
        return None
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        return None


def _ruff(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "ruff", *arguments], cwd=ROOT, check=True)  # noqa: S603 - our own words


if __name__ == "__main__":
    sys.exit(main())
