"""What a file of git's configuration sets, in the order in which it stands there.

Source: git, Documentation/config.txt (syntax) and config.c. Not here: which files there are, and which others
they include (surroundings/repository.py).
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

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
            head = _section(rest)
            if head is None:
                return
            section, part, rest = head
        if not rest or rest[0] in "#;":
            continue
        name, value = _entry(rest, lines)
        if not name or not section:
            return
        yield ConfigEntry(section, part, name, value)


def _section(line: str) -> tuple[str, str, str] | None:
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


def _entry(line: str, lines: Iterator[str]) -> tuple[str, str | None]:
    at = 0
    while at < len(line) and (line[at].isalnum() or line[at] == "-"):
        at += 1
    name, rest = line[:at].lower(), line[at:].lstrip()
    if not rest or rest[0] in "#;":
        return name, None
    return (name, _value(rest[1:], lines)) if rest[0] == "=" else ("", None)


def _value(rest: str, lines: Iterator[str]) -> str:
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


def last_value(entries: Iterable[ConfigEntry], key: str, default: str = "") -> str:
    """Return what is set last under a key: it counts."""
    found = default
    for one in entries:
        if one.key == key:
            found = one.text
    return found


def is_true(value: str) -> bool:
    """Whether git takes a value for true."""
    return value.lower() in _TRUE
