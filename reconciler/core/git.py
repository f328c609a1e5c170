"""The formats of git's files, as data: attributes, ignores, configuration, objects. No git program is run.

Pure functions over bytes; environment/repository.py reads the files, core/runs/commit_check.py says what the
attributes mean. A pattern is matched by a walk over the sets of places that it can be at: time is at most the
length of the pattern times that of the path, for any pattern.

Source: git, Documentation/gitattributes.txt, attr.c, dir.c, wildmatch.c.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial

from msgspec import Struct

from reconciler.core.runs.commit_check import Attributes

_BLANKS = " \t\r\n"
_SPECIAL = frozenset("*?[\\")
_line_max = 2048  # bytes; git ignores a longer line
_NAME = re.compile(r"(?!-)[-A-Za-z0-9_.]+", re.ASCII)
_ESCAPE = re.compile(r'\\([0-7]{3}|[abfnrtv"\\])')
_QUOTED_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

AttributeAssignment = tuple[str, str]  # an attribute, and its value as `git check-attr` writes it


class AttributeRule(Struct, frozen=True):
    """One line: what it says of the paths that fit. `folder` is where its file is, "" for the repository."""

    pattern: str
    folder: str
    assigned: tuple[AttributeAssignment, ...]


class AttributeFile(Struct, frozen=True):
    """One file, in the order of its lines. `macros` are attributes that stand for several."""

    rules: tuple[AttributeRule, ...] = ()
    macros: tuple[tuple[str, tuple[AttributeAssignment, ...]], ...] = ()


_BUILT_IN: Mapping[str, tuple[AttributeAssignment, ...]] = {
    "binary": (("diff", "unset"), ("merge", "unset"), ("text", "unset"))
}


def parse_attributes(data: bytes, folder: str = "", *, macros: bool = True) -> AttributeFile:
    """Return what a file says. Macros count only in the file of the repository's folder, and of no other."""
    folder = path_by_bytes(folder)
    rules, found = list[AttributeRule](), list[tuple[str, tuple[AttributeAssignment, ...]]]()
    for line in data.removeprefix(b"\xef\xbb\xbf").decode("latin-1").split("\n"):
        rest = line.lstrip(_BLANKS)
        if not rest or rest.startswith("#") or len(line) >= _line_max:
            continue
        pattern, rest = _first_word(rest)
        is_macro = pattern.startswith("[attr]")
        assigned = _parse_assignments(rest)
        if assigned is None or pattern.startswith("!"):
            continue
        if not is_macro:
            rules.append(AttributeRule(pattern, folder, assigned))
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
            return _ESCAPE.sub(_unescape_quoted, line[1:end]), line[end + 1 :]
    word = re.split(f"[{_BLANKS}]", line, maxsplit=1)
    return word[0], word[1] if len(word) > 1 else ""


def _unescape_quoted(found: re.Match[str]) -> str:
    what = found[1]
    return chr(int(what, 8) % 256) if what.isdigit() else _QUOTED_ESCAPES.get(what, what)


def _parse_assignments(text: str) -> tuple[AttributeAssignment, ...] | None:
    found = list[AttributeAssignment]()
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
    path = lower_ascii(path_by_bytes(path)) if ignore_case else path_by_bytes(path)
    macros: dict[str, tuple[AttributeAssignment, ...]] = dict(_BUILT_IN)
    for file in reversed(files):
        macros.update(file.macros)
    found: dict[str, str] = {}
    for file in files:
        for rule in reversed(file.rules):
            if _matches_rule(path, rule, ignore_case=ignore_case):
                _assign_attribute(found, rule.assigned, macros)
    return Attributes(**{name: found[name] for name in ("text", "eol", "crlf") if name in found})


def path_by_bytes(path: str) -> str:
    """Return a path with one character for each byte: git compares bytes."""
    return path if path.isascii() else path.encode(errors="surrogateescape").decode("latin-1")


def lower_ascii(path: str) -> str:
    """Return a path with small letters of ASCII: git knows no others."""
    return path.encode("latin-1").lower().decode("latin-1")


def _assign_attribute(
    found: dict[str, str],
    assigned: Iterable[AttributeAssignment],
    macros: Mapping[str, tuple[AttributeAssignment, ...]],
) -> None:
    for name, value in reversed(tuple(assigned)):
        if name not in found:
            found[name] = value
            if value == "set" and name in macros:
                _assign_attribute(found, macros[name], macros)


def _matches_rule(path: str, rule: AttributeRule, *, ignore_case: bool = False) -> bool:
    """Whether a rule is about a file. A pattern without a slash is about names, one with it about paths."""
    pattern, anchored = rule.pattern, "/" in rule.pattern
    if pattern.endswith("/"):
        return False
    return matches_below(
        path, pattern.removeprefix("/"), rule.folder, anchored=anchored, ignore_case=ignore_case
    )


def matches_below(path: str, pattern: str, folder: str, *, anchored: bool, ignore_case: bool) -> bool:
    """Whether a pattern, which stands in a file in `folder`, fits a path that has a character for each byte.

    It is about the path from that folder on where it is `anchored`, else about the name, in any folder below.
    With `ignore_case` the path is in small letters.
    """
    front = f"{folder}/" if folder else ""
    if ignore_case:
        pattern, front = lower_ascii(pattern), lower_ascii(front)
    if not path.startswith(front):
        return False
    if anchored:
        return matches_wildcards(path[len(front) :], pattern)
    name = path.rpartition("/")[2]
    if pattern.startswith("*") and _SPECIAL.isdisjoint(pattern[1:]):
        return name.endswith(pattern[1:])
    return matches_wildcards(name, pattern)


class _Star(Struct, frozen=True):
    """Any number of characters, of one name or (`deep`) of several."""

    deep: bool


class _Jump(Struct, frozen=True):
    """What comes next may be left out, up to `over` steps further."""

    over: int


_Step = Callable[[str], bool] | _Star | _Jump


def matches_wildcards(text: str, pattern: str) -> bool:
    """Whether a pattern with wildcards fits the whole of a path."""
    plain = next((at for at, one in enumerate(pattern) if one in _SPECIAL), len(pattern))
    if text[:plain] != pattern[:plain]:
        return False
    if plain == len(pattern):
        return len(text) == plain
    steps = _pattern_steps(pattern[plain:])
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
def _pattern_steps(pattern: str) -> tuple[_Step, ...] | None:
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
            group = _bracket_group(pattern, at + 1)
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


def _bracket_group(pattern: str, at: int) -> tuple[int, Callable[[str], bool]] | None:
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
        low, at = _bracket_member(pattern, at)
        if pattern[at : at + 1] == "-" and pattern[at + 1 : at + 2] not in ("", "]"):
            high, at = _bracket_member(pattern, at + 1)
            tests.append(partial(_is_between, low, high))
        else:
            tests.append(low.__eq__)

    def fits(one: str) -> bool:
        return one != "/" and any(test(one) for test in tests) != negated

    return at + 1, fits


def _bracket_member(pattern: str, at: int) -> tuple[str, int]:
    at += pattern[at] == "\\"
    return pattern[at : at + 1], at + 1


def _is_between(low: str, high: str, one: str) -> bool:
    return low <= one <= high


def _ascii_class(test: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda one: one.isascii() and test(one)


_CLASSES: dict[str, Callable[[str], bool]] = {
    "alnum": _ascii_class(str.isalnum),
    "alpha": _ascii_class(str.isalpha),
    "blank": lambda one: one in " \t",
    "cntrl": lambda one: one < " " or one == "\x7f",
    "digit": _ascii_class(str.isdecimal),
    "graph": lambda one: "!" <= one <= "~",
    "lower": _ascii_class(str.islower),
    "print": lambda one: " " <= one <= "~",
    "punct": lambda one: "!" <= one <= "~" and not one.isalnum(),
    "space": lambda one: one in " \t\n\r\v\f",
    "upper": _ascii_class(str.isupper),
    "xdigit": lambda one: one in "0123456789abcdefABCDEF",
}


# --- .gitignore: whether a path is ignored. Source: git, Documentation/gitignore.txt, dir.c -------


class IgnoreRule(Struct, frozen=True):
    """One line. `folder` is where its file is, "" for the repository; `ignored` is false behind a `!`.

    Without `anchored` the pattern is about names, in any folder; with `folders` about folders alone.
    """

    pattern: str
    folder: str
    ignored: bool
    anchored: bool
    folders: bool


def parse_ignores(data: bytes, folder: str = "") -> tuple[IgnoreRule, ...]:
    """Return the rules of a file, in the order of its lines."""
    folder = path_by_bytes(folder)
    lines = data.removeprefix(b"\xef\xbb\xbf").decode("latin-1").split("\n")
    return tuple(
        rule for line in lines if (rule := _parse_ignore_rule(line.removesuffix("\r"), folder)) is not None
    )


def _parse_ignore_rule(line: str, folder: str) -> IgnoreRule | None:
    pattern = _strip_blanks(line)
    if not pattern or pattern.startswith("#"):
        return None
    ignored = not pattern.startswith("!")
    pattern = pattern if ignored else pattern[1:]
    folders = pattern.endswith("/")
    pattern = pattern[:-1] if folders else pattern
    anchored = "/" in pattern
    pattern = pattern.removeprefix("/")
    return IgnoreRule(pattern, folder, ignored, anchored, folders) if pattern else None


def _strip_blanks(line: str) -> str:
    r"""Return a line without the blanks at its end; one behind a backslash stays (`name\ `)."""
    rest = line.rstrip(" ")
    behind = len(rest) - len(rest.rstrip("\\"))
    return f"{rest} " if len(rest) < len(line) and behind % 2 else rest


def is_ignored_by(path: str, rules: Iterable[IgnoreRule], *, ignore_case: bool = False) -> bool:
    """Whether a file that is not in the index is ignored: it is, or a folder that it is in.

    `rules` are those of all files, the most important last. Nothing brings back what is in an ignored folder.
    """
    known = tuple(rules)[::-1]
    path = lower_ascii(path_by_bytes(path)) if ignore_case else path_by_bytes(path)
    return any(_is_ignored(one, known, folder, ignore_case) for one, folder in _folders_and_path(path))


def _folders_and_path(path: str) -> Iterator[tuple[str, bool]]:
    """Yield the folders that a path is in, the outermost first, and the path; and whether it is a folder."""
    names = path.split("/")
    for number in range(1, len(names)):
        yield "/".join(names[:number]), True
    yield path, False


def _is_ignored(path: str, rules: Iterable[IgnoreRule], is_folder: bool, ignore_case: bool) -> bool:  # noqa: FBT001 - of this module alone
    for rule in rules:
        if (is_folder or not rule.folders) and matches_below(
            path, rule.pattern, rule.folder, anchored=rule.anchored, ignore_case=ignore_case
        ):
            return rule.ignored
    return False


# --- Configuration: entries in the order of the file ----------------------------------------------
# Source: git, Documentation/config.txt (syntax), config.c. environment/repository.py follows includes.


_TRUE = ("true", "yes", "on", "1")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}


class ConfigEntry(Struct, frozen=True):
    """One value: section and name are in small letters, the part between them as it is written.

    `value` is None where the name stands alone, which means true.
    """

    section: str
    part: str
    name: str
    value: str | None

    @property
    def key(self) -> str:
        """The whole name as `git config` writes it."""
        return ".".join((self.section, self.part, self.name) if self.part else (self.section, self.name))

    @property
    def text(self) -> str:
        """The value as a text."""
        return "true" if self.value is None else self.value


def parse_config(text: str) -> Iterator[ConfigEntry]:
    """Yield what a file sets, up to the first line that is no configuration: git stops there, too."""
    section = part = ""
    lines = iter(text.removeprefix("\N{BYTE ORDER MARK}").replace("\r\n", "\n").split("\n"))
    for line in lines:
        rest = line.strip()
        if rest.startswith("["):
            head = _parse_section(rest)
            if head is None:
                return
            section, part, rest = head
        if not rest or rest[0] in "#;":
            continue
        name, value = _parse_entry(rest, lines)
        if not name or not section:
            return
        yield ConfigEntry(section, part, name, value)


def _parse_section(line: str) -> tuple[str, str, str] | None:
    """Return section, part and what stands behind the bracket; None where it is no heading."""
    at, part = 1, ""
    while at < len(line) and (line[at].isalnum() or line[at] in "-."):
        at += 1
    name = line[1:at].lower()
    if line[at:].lstrip().startswith('"'):
        at = line.index('"', at) + 1
        while at < len(line) and line[at] != '"':
            at += line[at] == "\\"
            part += line[at : at + 1]
            at += 1
        at += 1
    else:
        name, _, part = name.partition(".")
    return (name, part, line[at + 1 :].strip()) if line[at : at + 1] == "]" and name else None


def _parse_entry(line: str, lines: Iterator[str]) -> tuple[str, str | None]:
    at = 0
    while at < len(line) and (line[at].isalnum() or line[at] == "-"):
        at += 1
    name, rest = line[:at].lower(), line[at:].lstrip()
    if not rest or rest[0] in "#;":
        return name, None
    return (name, _parse_config_value(rest[1:], lines)) if rest[0] == "=" else ("", None)


def _parse_config_value(rest: str, lines: Iterator[str]) -> str:
    """Return a value that may go on in the next lines: quotes keep blanks, a comment ends it."""
    found, quoted, end, at = list[str](), False, 0, 0
    rest = rest.lstrip()
    while at < len(rest):
        one = rest[at]
        at += 1
        if one == '"':
            quoted = not quoted
        elif one == "\\" and at == len(rest):
            rest, at = next(lines, ""), 0
            continue
        elif one == "\\":
            found.append(_ESCAPES.get(rest[at], rest[at]))
            at += 1
        elif one in "#;" and not quoted:
            break
        else:
            found.append(one)
            if one.isspace() and not quoted:
                continue
        end = len(found)
    return "".join(found[:end])


def last_config_value(entries: Iterable[ConfigEntry], key: str, default: str = "") -> str:
    """Return what is set last under a key: it counts."""
    found = default
    for one in entries:
        if one.key == key:
            found = one.text
    return found


def is_config_true(value: str) -> bool:
    """Whether git takes a value for true."""
    return value.lower() in _TRUE


# --- Objects: trees, and the entries of a pack ----------------------------------------------------
# Source: git, Documentation/gitformat-pack.txt. What is damaged raises ValueError.


COMMIT, TREE, BLOB, TAG = "commit", "tree", "blob", "tag"
# Types of the entries of a pack, by number; the last two are stored as changes of another object.
PACKED = {1: COMMIT, 2: TREE, 3: BLOB, 4: TAG}
OFFSET_DELTA, NAMED_DELTA = 6, 7
FOLDER_MODE = "040000"  # the mode of a tree in a tree
_MODES = {b"40000": FOLDER_MODE, b"100644": "100644"}
_ENTRIES = {
    size: re.compile(rb"([0-7]{5,6}) ([^\0/]+)\0(.{%d})" % size, re.DOTALL) for size in (20, 32)
}  # by the size of an id
_COPY = 0x80
_varint_max = 10  # bytes of a number: 64 bits fit
_copy_max = 0x10000  # bytes, where a copy has no size


def read_tree_entries(data: bytes, id_size: int) -> Iterator[tuple[str, bytes, bytes]]:
    """Yield mode, name and id of each entry of a tree."""
    at = 0
    for found in _ENTRIES[id_size].finditer(data):
        if found.start() != at:
            break
        at = found.end()
        mode, name, oid = found.groups()
        yield _MODES.get(mode) or mode.decode(), name, oid
    if at != len(data):
        raise ValueError("a tree has an entry that cannot be read")


def read_tree_id(commit: bytes) -> bytes:
    """Return the id of the tree of a commit."""
    head, _, rest = commit.partition(b"\n")
    if not head.startswith(b"tree ") or not rest:
        raise ValueError("a commit names no tree")
    return bytes.fromhex(head[5:].decode("ascii"))


class CommitHead(Struct, frozen=True):
    """Whose child a commit is, and when it was made (seconds since 1970, as its author set the clock)."""

    parents: tuple[bytes, ...]
    made_at: int


_PARENT = re.compile(rb"^parent ([0-9a-f]{40}|[0-9a-f]{64})$", re.MULTILINE)
_COMMITTER = re.compile(rb"^committer .*> ([0-9]{1,15}) [+-][0-9]{4}$", re.MULTILINE)


def read_commit_head(commit: bytes) -> CommitHead:
    """Return the parents and the time of a commit; 0 where its time cannot be read."""
    head = commit.partition(b"\n\n")[0]
    made = _COMMITTER.search(head)
    parents = tuple(bytes.fromhex(one.decode("ascii")) for one in _PARENT.findall(head))
    return CommitHead(parents, int(made[1]) if made else 0)


def split_signature(commit: bytes, id_size: int) -> tuple[bytes, bytes]:
    """Return what was signed of a commit, and the signature; b"" for none.

    A signature of the other form of ids is neither. Source: git, commit.c, parse_buffer_signed_by_header.
    """
    head, blank, message = commit.partition(b"\n\n")
    own = b"gpgsig " if id_size == 20 else b"gpgsig-sha256 "  # noqa: PLR2004 - of SHA-1
    signed, signature = list[bytes](), list[bytes]()
    target: list[bytes] | None = signed
    for line in head.split(b"\n"):
        if not line.startswith(b" "):
            target = signature if line.startswith(own) else None if line.startswith(b"gpgsig") else signed
        if target is not None:
            target.append(
                line.removeprefix(own if target is signature else b"").removeprefix(
                    b" " if target is signature else b""
                )
            )
    return b"\n".join(signed) + blank + message, b"".join(line + b"\n" for line in signature)


def read_entry_head(data: bytes) -> tuple[int, int, int]:
    """Return type, size and where the content begins, of an entry of a pack that begins here."""
    one = data[0]
    rest, at = _read_varint(data, 1) if one & _COPY else (0, 1)
    return one >> 4 & 7, rest << 4 | one & 15, at


def read_base_distance(data: bytes, at: int) -> tuple[int, int]:
    """Return how far before its own beginning the base of an entry begins, and where the content begins."""
    one = data[at]
    found, at = one & 0x7F, at + 1
    while one & _COPY:
        one = data[at]
        found, at = (found + 1) << 7 | one & 0x7F, at + 1
    return found, at


def read_result_size(delta: bytes) -> int:
    """Return how long the object is that a delta makes, in bytes."""
    return _read_varint(delta, _read_varint(delta, 0)[1])[0]


def apply_delta(base: bytes, delta: bytes) -> bytes:
    """Return the object that a delta makes of its base."""
    base_size, at = _read_varint(delta, 0)
    size, at = _read_varint(delta, at)
    if base_size != len(base):
        raise ValueError("a delta is of another object")
    parts, made = list[bytes](), 0
    while at < len(delta):
        code = delta[at]
        at += 1
        if code & _COPY:
            start = length = 0
            for bit in range(4):
                if code >> bit & 1:
                    start |= delta[at] << 8 * bit
                    at += 1
            for bit in range(3):
                if code >> (4 + bit) & 1:
                    length |= delta[at] << 8 * bit
                    at += 1
            part = base[start : start + (length or _copy_max)]
        elif code:
            part = delta[at : at + code]
            at += code
        else:
            raise ValueError("a delta has a command that is reserved")
        made += len(part)
        if made > size:
            break
        parts.append(part)
    if made != size:
        raise ValueError("a delta makes an object of another size")
    return b"".join(parts)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    found = 0
    for number in range(_varint_max):
        one = data[at + number]
        found |= (one & 0x7F) << 7 * number
        if not one & _COPY:
            return found, at + number + 1
    raise ValueError("a number has too many digits")
