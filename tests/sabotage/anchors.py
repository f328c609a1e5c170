"""Finds the place of a defect in the source by function and expression, and plants the defect there.

Belongs here: the search and the change of a syntax tree. Not here: which defects there are (defects/), and
the copy in which they are planted (workshop.py).

The search compares syntax trees, so layout, quotes and comments do not matter. It looks, in this order, in

1. the functions, classes and constants of the given name;
2. their modules, because a part of a function often becomes a helper beside it;
3. the whole package, because functions move and get new names.

The first of these that holds the expression must hold it exactly once. Within a function of the given name,
local names may have changed: `got < wanted` finds `count < wanted` where `got` is gone and `count` is local.

A body that is `...` in `old` fits every body, and `...` in `new` puts it back, as in `if a: ...`.
"""

import ast
import builtins
import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class NoPlaceError(Exception):
    """The defect cannot be planted. The message names the defect and says why."""


class Reading(NamedTuple):
    """One way to read a piece of source: `left=left.plan` is an assignment and an argument of a call."""

    kind: Literal["statements", "expression", "argument", "entry"]
    nodes: tuple[ast.AST, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """`old` becomes `new` within the function, class or constant `within`."""

    within: str
    old: str
    new: str


@dataclass(frozen=True)
class Module:
    """A source file of the package, as `path` names it within the project."""

    path: str
    tree: ast.Module

    @cached_property
    def scopes(self) -> tuple["Scope", ...]:
        """All that has a name and holds code."""
        return tuple(_scopes(self, self.tree, ""))

    @cached_property
    def _holders(self) -> dict[int, int]:
        """The id of each node -> that of the statement of the module that holds it."""
        return {id(node): id(one) for one in self.tree.body for node in ast.walk(one)}

    def copied(self, owners: Iterable[ast.AST], memo: dict[int, Any]) -> ast.Module:
        """Return a copy whose statements are those of this module, but for those that hold an owner.

        `memo` is that of `copy.deepcopy`: it leads from the id of an owner to its copy.
        """
        changing = {self._holders.get(id(owner)) for owner in owners}
        memo |= {id(one): one for one in self.tree.body if id(one) not in changing}
        return copy.deepcopy(self.tree, memo)

    @cached_property
    def dotted(self) -> str:
        """The path as an import writes it."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name that something here has, so that a name in a defect that nothing has is noticed."""
        return frozenset(_bound(self.tree)) | frozenset(dir(builtins)) | {"__name__", "__file__"}

    @cached_property
    def words(self) -> frozenset[str]:
        """Every name and attribute that is used here: a place without new names is nowhere else."""
        return _words(self.tree)


@dataclass(frozen=True)
class Scope:
    """A function, class or constant; the name of a method is `Class.method`.

    The name is empty for what is outside of functions and classes, and `*` for all of a module.
    """

    module: Module
    name: str
    node: ast.AST


@dataclass
class Fit:
    """What a reading met where it fits."""

    names: dict[str, str] = field(default_factory=dict)  # every name of `old`, and what it is in the code
    bodies: list[list[ast.stmt]] = field(
        default_factory=list
    )  # those that `old` does not say, in their order

    @property
    def renamed(self) -> dict[str, str]:
        """The names that are not those of the code."""
        return {old: code for old, code in self.names.items() if old != code}


@dataclass(frozen=True)
class Site:
    """Where a reading of `old` stands: in `attribute` of `owner`, from `start` where that is a list."""

    module: Module
    owner: ast.AST
    attribute: str
    start: int
    reading: Reading
    fit: Fit = field(default_factory=Fit)


class Package:
    """The source files of a package, parsed once."""

    def __init__(self, root: Path, package: str = "reconciler") -> None:
        self._modules = [
            Module(path.relative_to(root).as_posix(), ast.parse(path.read_text(encoding="utf-8")))
            for path in sorted((root / package).rglob("*.py"))
        ]

    @cached_property
    def _scopes(self) -> dict[str, list[Scope]]:
        """The last part of a name -> whatever has it."""
        found: dict[str, list[Scope]] = {}
        for module in self._modules:
            for scope in module.scopes:
                found.setdefault(scope.name.rpartition(".")[2], []).append(scope)
        return found

    def has(self, within: str) -> bool:
        """Whether something has this name, as `within` of an edit is written."""
        where, _, name = within.rpartition(":")
        if not name:
            return any(_ends(one.dotted, where) for one in self._modules)
        named = self._scopes.get(name.rpartition(".")[2], [])
        return any(_ends(one.name, name) and _ends(one.module.dotted, where) for one in named)

    def planted(self, edits: Iterable[Edit]) -> dict[str, str]:
        """Return the source of each module that changes, by its path.

        `within` is a name such as `walk`, `Class.method`, `CONSTANT`, with `paging:` before it where the name
        alone is not enough. It is empty, or a module and a colon, for code outside of functions and classes.
        Raise NoPlaceError where a place is not there, or not once.
        """
        sites = self.places(edits)
        owners = [site.owner for site, _ in sites]
        memo: dict[int, Any] = {}
        changed = {site.module.path: site.module.copied(owners, memo) for site, _ in sites}
        # From the end, so that what is put in or left out moves no place that is still to be changed.
        for site, nodes in sorted(sites, key=lambda one: -one[0].start):
            _replace(memo[id(site.owner)], site, nodes)
        return {path: ast.unparse(tree) for path, tree in changed.items()}

    def places(self, edits: Iterable[Edit]) -> list[tuple[Site, list[ast.AST]]]:
        """Return where each edit applies, and what it puts there. Raise NoPlaceError as `planted` does."""
        found = []
        for edit in edits:
            site = self._site(edit)
            _check_names(site, edit.new)
            found.append((site, _fitting(site, edit.new)))
            if _same(edit.old, edit.new):
                raise NoPlaceError("`new` is the same as `old`")
        return found

    def _site(self, edit: Edit) -> Site:
        for sites in self._searches(edit.within, _readings(edit.old)):
            if len(sites) > 1:
                raise NoPlaceError(f"`{edit.old}` is there {len(sites)} times: {_places(sites)}")
            if sites:
                return sites[0]
        where = edit.within or "any module"
        raise NoPlaceError(f"`{edit.old}` is not in {where}, nor anywhere else in the package")

    def _searches(self, within: str, readings: Iterable[Reading]) -> Iterator[list[Site]]:
        where, _, name = within.rpartition(":")
        if name:
            named = self._scopes.get(name.rpartition(".")[2], [])
            scopes = [one for one in named if _ends(one.name, name) and _ends(one.module.dotted, where)]
        else:
            modules = [one for one in self._modules if _ends(one.dotted, where)]
            scopes = [Scope(module, "", module.tree) for module in modules]
        found = [site for scope in scopes for site in _sites(scope, readings)]
        yield [site for site in found if not site.fit.renamed]
        yield found
        beside = {id(scope.module): scope.module for scope in scopes}.values()
        yield list(_unrenamed(beside, readings))
        yield list(_unrenamed(self._modules, readings))


def _words(node: ast.AST) -> frozenset[str]:
    used = ast.walk(node)
    return frozenset(
        one.id if isinstance(one, ast.Name) else one.attr
        for one in used
        if isinstance(one, ast.Name | ast.Attribute)
    )


def _unrenamed(modules: Iterable[Module], readings: Iterable[Reading]) -> Iterator[Site]:
    # Looking at every node of the package takes seconds, so modules that cannot hold the place are left out.
    readings = list(readings)
    needed = [frozenset[str]().union(*map(_words, reading.nodes)) for reading in readings]
    for module in (one for one in modules if any(words <= one.words for words in needed)):
        yield from (
            site for site in _sites(Scope(module, "*", module.tree), readings) if not site.fit.renamed
        )


def _ends(name: str, wanted: str) -> bool:
    return not wanted or f".{name}".endswith(f".{wanted}")


def _places(sites: Iterable[Site]) -> str:
    return ", ".join(f"{site.module.path}:{getattr(site.owner, 'lineno', 1)}" for site in sites)


def _scopes(module: Module, node: ast.AST, prefix: str, *, local: bool = False) -> Iterator[Scope]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function | ast.ClassDef):
            yield Scope(module, f"{prefix}{child.name}", child)
            inside = isinstance(child, _Function)
            yield from _scopes(module, child, f"{prefix}{child.name}.", local=inside)
            continue
        targets = [] if local else _targets(child)
        yield from (Scope(module, f"{prefix}{one.id}", child) for one in targets if isinstance(one, ast.Name))
        yield from _scopes(module, child, prefix, local=local)


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def _bound(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name.partition(".")[0]
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ):
                yield name
            case _:
                pass


def _check_names(site: Site, new: str) -> None:
    """A name that nothing has would turn every test red, and show nothing."""
    trees = [tree for reading in _readings(new) for tree in reading.nodes]
    made = {name for tree in trees for name in _bound(tree)}
    used = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
    unknown = {site.fit.renamed.get(name, name) for name in used - made} - site.module.names
    if unknown:
        raise NoPlaceError(f"`new` uses {', '.join(sorted(unknown))}, which {site.module.path} does not have")


# What the source of a row can be.


def _readings(source: str) -> list[Reading]:
    """Return every way to read a piece of source; none for an empty one."""
    found = []
    match _parsed(source):
        case [ast.Expr(value=value)]:
            found.append(Reading("expression", (value,)))
        case [*several] if several:
            found.append(Reading("statements", tuple(several)))
    match _parsed(f"_({source}\n)"):
        case [ast.Expr(value=ast.Call(args=[], keywords=[keyword]))]:
            found.append(Reading("argument", (keyword,)))
    match _parsed(f"{{{source}\n}}"):
        case [ast.Expr(value=ast.Dict(keys=[ast.expr() as key], values=[value]))]:
            found.append(Reading("entry", (key, value)))
    if source.strip() and not found:
        raise NoPlaceError(f"`{source}` is no Python")
    return found


def _parsed(source: str) -> list[ast.stmt]:
    try:
        return ast.parse(source).body
    except SyntaxError:
        return []


# Where it stands.


def _sites(scope: Scope, readings: Iterable[Reading]) -> Iterator[Site]:
    """Yield every place of a scope where one of the readings stands."""
    for owner in _owners(scope):
        for attribute, value in ast.iter_fields(owner):
            if not isinstance(value, ast.AST | list):
                continue
            for reading in readings:
                yield from _sites_in(scope, Site(scope.module, owner, attribute, 0, reading), value)


def _owners(scope: Scope) -> Iterator[ast.AST]:
    if scope.name:
        yield from ast.walk(scope.node)
        return
    yield scope.node
    for statement in scope.module.tree.body:
        if not isinstance(statement, _Function | ast.ClassDef):
            yield from ast.walk(statement)


def _sites_in(scope: Scope, at: Site, value: Any) -> Iterator[Site]:
    """Yield the places in one field of a node."""
    nodes = at.reading.nodes
    if at.reading.kind == "entry":
        entries = zip(at.owner.keys, at.owner.values, strict=True) if isinstance(at.owner, ast.Dict) else ()
        for start, entry in enumerate(entries if at.attribute == "keys" else ()):
            yield from _site(scope, replace(at, start=start), entry)
    elif isinstance(value, list):
        for start in range(len(value) - len(nodes) + 1):
            # Most are of another kind, and that is seen at once.
            if _alike(nodes[0], value[start]):
                yield from _site(scope, replace(at, start=start), value[start : start + len(nodes)])
    elif len(nodes) == 1 and not isinstance(at.owner, ast.Expr) and _alike(nodes[0], value):
        yield from _site(scope, at, [value])


def _site(scope: Scope, at: Site, found: Sequence[Any]) -> Iterator[Site]:
    fit = Fit()
    # An expression also fits the statement that is nothing else, so that a statement can take its place.
    pairs = zip(map(_bare, at.reading.nodes), map(_bare, found), strict=True)
    if not all(_fits(old, code, fit) for old, code in pairs):
        return
    if not fit.renamed or _renames(scope, fit.renamed):
        yield replace(at, fit=fit)


def _alike(old: ast.AST, code: Any) -> bool:
    return type(_bare(old)) is type(_bare(code))


def _bare(node: Any) -> Any:
    return node.value if isinstance(node, ast.Expr) else node


def _fits(old: Any, code: Any, fit: Fit) -> bool:
    """Compare two trees. `fit` gets what each name of the first is called in the second, one to one."""
    if isinstance(old, ast.Name) and isinstance(code, ast.Name):
        taken = fit.names.setdefault(old.id, code.id) == code.id
        return taken and len(set(fit.names.values())) == len(fit.names)
    if isinstance(old, list) and isinstance(code, list):
        if _is_open(old) and code and isinstance(code[0], ast.stmt):
            fit.bodies.append(code)
            return True
        return len(old) == len(code) and all(_fits(*pair, fit) for pair in zip(old, code, strict=True))
    if isinstance(old, ast.AST) and type(old) is type(code):
        # Whether a name is read or written is said by where it stands.
        parts = [part for part in old._fields if part not in {"ctx", "kind", "type_comment"}]
        return all(_fits(getattr(old, part, None), getattr(code, part, None), fit) for part in parts)
    return type(old) is type(code) and bool(old == code)


def _is_open(body: list[Any]) -> bool:
    """Whether a body is `...`, which stands for any."""
    return len(body) == 1 and isinstance(body[0], ast.Expr) and ast.unparse(body[0]) == "..."


def _renames(scope: Scope, renamed: dict[str, str]) -> bool:
    """Whether these can be local names of a function that got other names."""
    if not isinstance(scope.node, _Function):
        return False
    used = {node.id for node in ast.walk(scope.node) if isinstance(node, ast.Name)}
    local = set(_bound(scope.node))
    return all(old not in used | local and code in local for old, code in renamed.items())


# The change.


def _same(old: str, new: str) -> bool:
    """Whether two pieces of source are read alike."""
    trees = [[ast.dump(node) for one in _readings(text) for node in one.nodes] for text in (old, new)]
    return trees[0] == trees[1]


def _replace(owner: Any, site: Site, nodes: list[ast.AST]) -> None:
    """Put these nodes where the site is; none removes what stands there."""
    held = getattr(owner, site.attribute)
    end = site.start + len(site.reading.nodes)
    if site.reading.kind == "entry":
        owner.keys[site.start : site.start + 1] = nodes[:1]
        owner.values[site.start : site.start + 1] = nodes[1:]
    elif not isinstance(held, list):
        setattr(owner, site.attribute, nodes[0] if nodes else None)
    elif isinstance(held[site.start], ast.stmt):
        held[site.start : end] = [ast.Expr(one) if isinstance(one, ast.expr) else one for one in nodes]
        if not held and not isinstance(owner, ast.Module):
            held.append(ast.Pass())
    else:
        held[site.start : end] = nodes


def _kinds(site: Site) -> tuple[str, ...]:
    """How a piece of source may be read that takes the place."""
    held = getattr(site.owner, site.attribute)
    if isinstance(held, list) and isinstance(held[site.start], ast.stmt):
        return ("statements", "expression")
    return (site.reading.kind if site.reading.kind in ("entry", "argument") else "expression",)


def _fitting(site: Site, new: str) -> list[ast.AST]:
    """Return the nodes of `new`, read as what can stand there; none where it is empty."""
    kinds = _kinds(site)
    readings = _readings(new)
    fitting = [reading for reading in readings if reading.kind in kinds]
    if readings and not fitting:
        raise NoPlaceError(f"`{new}` cannot stand in the place of `old`")
    bodies = iter(copy.deepcopy(site.fit.bodies))
    for reading in fitting[:1]:
        for node in reading.nodes:
            _fill(node, site.fit.renamed, bodies)
    return [node for reading in fitting[:1] for node in reading.nodes]


def _fill(new: ast.AST, names: dict[str, str], bodies: Iterator[list[ast.stmt]]) -> None:
    """Put in the names and the bodies of the code, in the order in which `old` met them."""
    if isinstance(new, ast.Name):
        new.id = names.get(new.id, new.id)
    for part, value in ast.iter_fields(new):
        if isinstance(value, list) and _is_open(value) and isinstance(value[0], ast.stmt):
            setattr(new, part, next(bodies, value))
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                _fill(child, names, bodies)
