"""What `.gitattributes` say of the line ends of a path, decided as git decides it.

Belongs here: lines, patterns, macros and precedence, as pure functions. Not here: which files there are
(surroundings/repository.py), and what the attributes mean (core/runs/committed.py).

A pattern is matched by a walk over the sets of places that it can be at: time is at most the length of the
pattern times that of the path, whoever wrote it.

Source: git, Documentation/gitattributes.txt, attr.c, dir.c, wildmatch.c.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial

from msgspec import Struct

from reconciler.core.runs.committed import Attributes

_BLANKS = " \t\r\n"
_SPECIAL = frozenset("*?[\\")
_line_max = 2048  # bytes; git ignores a longer line
_NAME = re.compile(r"(?!-)[-A-Za-z0-9_.]+", re.ASCII)
_ESCAPE = re.compile(r'\\([0-7]{3}|[abfnrtv"\\])')
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

Assignment = tuple[str, str]  # an attribute, and its value as `git check-attr` writes it


class Rule(Struct, frozen=True):
    """One line: what it says of the paths that fit. `folder` is where its file is, "" for the repository."""

    pattern: str
    folder: str
    assigned: tuple[Assignment, ...]


class AttributeFile(Struct, frozen=True):
    """One file, in the order of its lines. `macros` are attributes that stand for several."""

    rules: tuple[Rule, ...] = ()
    macros: tuple[tuple[str, tuple[Assignment, ...]], ...] = ()


_BUILT_IN: Mapping[str, tuple[Assignment, ...]] = {
    "binary": (("diff", "unset"), ("merge", "unset"), ("text", "unset"))
}


def parse_attributes(data: bytes, folder: str = "", *, macros: bool = True) -> AttributeFile:
    """Return what a file says. Macros count only in the file of the repository's folder, and of no other."""
    folder = by_bytes(folder)
    rules, found = list[Rule](), list[tuple[str, tuple[Assignment, ...]]]()
    for line in data.removeprefix(b"\xef\xbb\xbf").decode("latin-1").split("\n"):
        rest = line.lstrip(_BLANKS)
        if not rest or rest.startswith("#") or len(line) >= _line_max:
            continue
        pattern, rest = _first_word(rest)
        is_macro = pattern.startswith("[attr]")
        assigned = _assignments(rest)
        if assigned is None or pattern.startswith("!"):
            continue
        if not is_macro:
            rules.append(Rule(pattern, folder, assigned))
        elif macros and _NAME.fullmatch(pattern.removeprefix("[attr]")):
            found.append((pattern.removeprefix("[attr]"), assigned))
    return AttributeFile(tuple(rules), tuple(found))


def _first_word(line: str) -> tuple[str, str]:
    """Return the pattern of a line, which may stand in quotes, and the rest."""
    if line.startswith('"'):
        end = 1
        while end < len(line) and line[end] != '"':
            end += 1 + (line[end] == "\\")
        if end < len(line):
            return _ESCAPE.sub(_unescaped, line[1:end]), line[end + 1 :]
    word = re.split(f"[{_BLANKS}]", line, maxsplit=1)
    return word[0], word[1] if len(word) > 1 else ""


def _unescaped(found: re.Match[str]) -> str:
    what = found[1]
    return chr(int(what, 8) % 256) if what.isdigit() else _ESCAPES.get(what, what)


def _assignments(text: str) -> tuple[Assignment, ...] | None:
    found = list[Assignment]()
    for word in re.split(f"[{_BLANKS}]+", text.strip(_BLANKS)):
        if not word:
            continue
        name, equals, value = word.partition("=")
        if word[0] in "-!":
            name, value = name[1:], "unset" if word[0] == "-" else "unspecified"
        elif not equals:
            value = "set"
        if not _NAME.fullmatch(name):
            return None
        found.append((name, value))
    return tuple(found)


def line_end_attributes(
    path: str, files: Sequence[AttributeFile], *, ignore_case: bool = False
) -> Attributes:
    """Return what files say of a path, the most important file first; in a file the last line counts."""
    path = lower(by_bytes(path)) if ignore_case else by_bytes(path)
    macros: dict[str, tuple[Assignment, ...]] = dict(_BUILT_IN)
    for file in reversed(files):
        macros.update(file.macros)
    found: dict[str, str] = {}
    for file in files:
        for rule in reversed(file.rules):
            if _fits_rule(path, rule, ignore_case=ignore_case):
                _assign(found, rule.assigned, macros)
    return Attributes(**{name: found[name] for name in ("text", "eol", "crlf") if name in found})


def by_bytes(path: str) -> str:
    """Return a path with one character for each byte: git compares bytes."""
    return path if path.isascii() else path.encode(errors="surrogateescape").decode("latin-1")


def lower(path: str) -> str:
    """Return a path with small letters of ASCII: git knows no others."""
    return path.encode("latin-1").lower().decode("latin-1")


def _assign(
    found: dict[str, str],
    assigned: Iterable[Assignment],
    macros: Mapping[str, tuple[Assignment, ...]],
) -> None:
    for name, value in reversed(tuple(assigned)):
        if name not in found:
            found[name] = value
            if value == "set" and name in macros:
                _assign(found, macros[name], macros)


def _fits_rule(path: str, rule: Rule, *, ignore_case: bool = False) -> bool:
    """Whether a rule is about a file. A pattern without a slash is about names, one with it about paths."""
    pattern, anchored = rule.pattern, "/" in rule.pattern
    if pattern.endswith("/"):
        return False
    return fits_below(
        path, pattern.removeprefix("/"), rule.folder, anchored=anchored, ignore_case=ignore_case
    )


def fits_below(path: str, pattern: str, folder: str, *, anchored: bool, ignore_case: bool) -> bool:
    """Whether a pattern, which stands in a file in `folder`, fits a path that has a character for each byte.

    It is about the path from that folder on where it is `anchored`, else about the name, in any folder below.
    With `ignore_case` the path is in small letters.
    """
    front = f"{folder}/" if folder else ""
    if ignore_case:
        pattern, front = lower(pattern), lower(front)
    if not path.startswith(front):
        return False
    if anchored:
        return fits_wildcards(path[len(front) :], pattern)
    name = path.rpartition("/")[2]
    if pattern.startswith("*") and _SPECIAL.isdisjoint(pattern[1:]):
        return name.endswith(pattern[1:])
    return fits_wildcards(name, pattern)


class _Star(Struct, frozen=True):
    """Any number of characters, of one name or (`deep`) of several."""

    deep: bool


class _Jump(Struct, frozen=True):
    """What comes next may be left out, up to `over` steps further."""

    over: int


_Step = Callable[[str], bool] | _Star | _Jump


def fits_wildcards(text: str, pattern: str) -> bool:
    """Whether a pattern with wildcards fits the whole of a path."""
    plain = next((at for at, one in enumerate(pattern) if one in _SPECIAL), len(pattern))
    if text[:plain] != pattern[:plain]:
        return False
    if plain == len(pattern):
        return len(text) == plain
    steps = _steps(pattern[plain:])
    if steps is None:
        return False
    places = _with_optional({0}, steps)
    for one in text[plain:]:
        following = set[int]()
        for at in places:
            step = steps[at] if at < len(steps) else None
            if isinstance(step, _Star):
                if step.deep or one != "/":
                    following.add(at)
            elif step is not None and not isinstance(step, _Jump) and step(one):
                following.add(at + 1)
        if not following:
            return False
        places = _with_optional(following, steps)
    return len(steps) in places


def _with_optional(places: set[int], steps: Sequence[_Step]) -> set[int]:
    """Return these places and all that are reached from there without a character."""
    found, left = set[int](), list(places)
    while left:
        at = left.pop()
        if at in found:
            continue
        found.add(at)
        match steps[at] if at < len(steps) else None:
            case _Star():
                left.append(at + 1)
            case _Jump(over=over):
                left += (at + 1, at + over)
            case _:
                pass
    return found


@lru_cache(maxsize=4096)
def _steps(pattern: str) -> tuple[_Step, ...] | None:
    """Return a pattern in steps; None where it fits nothing."""
    found, at = list[_Step](), 0
    while at < len(pattern):
        one = pattern[at]
        if one == "*":
            end = at
            while pattern[end : end + 1] == "*":
                end += 1
            after = pattern[end : end + 1]
            alone = (at == 0 or pattern[at - 1] == "/") and (
                after in ("", "/") or pattern[end:].startswith("\\/")
            )
            deep = end - at > 1 and alone
            if deep and after == "/":
                found += (_Jump(3), _Star(deep=True), "/".__eq__)
                end += 1
            else:
                found.append(_Star(deep=deep))
            at = end
        elif one == "?":
            found.append("/".__ne__)
            at += 1
        elif one == "[":
            group = _group(pattern, at + 1)
            if group is None:
                return None
            at, step = group
            found.append(step)
        else:
            at += one == "\\"
            if at == len(pattern):
                return None
            found.append(pattern[at].__eq__)
            at += 1
    return tuple(found)


def _group(pattern: str, at: int) -> tuple[int, Callable[[str], bool]] | None:
    """Return where a group in brackets ends, and what fits it; None where it does not end."""
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    tests, first = list[Callable[[str], bool]](), at
    while at == first or pattern[at : at + 1] != "]":
        if at >= len(pattern):
            return None
        if (
            pattern.startswith("[:", at)
            and (end := pattern.find("]", at + 2)) >= 0
            and pattern[end - 1] == ":"
        ):
            test = _CLASSES.get(pattern[at + 2 : end - 1])
            if test is None:
                return None
            tests.append(test)
            at = end + 1
            continue
        low, at = _member(pattern, at)
        if pattern[at : at + 1] == "-" and pattern[at + 1 : at + 2] not in ("", "]"):
            high, at = _member(pattern, at + 1)
            tests.append(partial(_is_between, low, high))
        else:
            tests.append(low.__eq__)

    def fits(one: str) -> bool:
        return one != "/" and any(test(one) for test in tests) != negated

    return at + 1, fits


def _member(pattern: str, at: int) -> tuple[str, int]:
    at += pattern[at] == "\\"
    return pattern[at : at + 1], at + 1


def _is_between(low: str, high: str, one: str) -> bool:
    return low <= one <= high


def _ascii(test: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda one: one.isascii() and test(one)


_CLASSES: dict[str, Callable[[str], bool]] = {
    "alnum": _ascii(str.isalnum),
    "alpha": _ascii(str.isalpha),
    "blank": lambda one: one in " \t",
    "cntrl": lambda one: one < " " or one == "\x7f",
    "digit": _ascii(str.isdecimal),
    "graph": lambda one: "!" <= one <= "~",
    "lower": _ascii(str.islower),
    "print": lambda one: " " <= one <= "~",
    "punct": lambda one: "!" <= one <= "~" and not one.isalnum(),
    "space": lambda one: one in " \t\n\r\v\f",
    "upper": _ascii(str.isupper),
    "xdigit": lambda one: one in "0123456789abcdefABCDEF",
}
