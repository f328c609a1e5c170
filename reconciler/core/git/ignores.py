"""Whether `.gitignore` files leave a path alone, decided as git decides it.

Belongs here: lines, patterns and precedence, as pure functions. Not here: which files there are
(surroundings/repository.py). Patterns are matched as those of attributes are (attributes.py).

Source: git, Documentation/gitignore.txt, dir.c.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from reconciler.core.git.attributes import by_bytes, fits_below, lower


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
    folder = by_bytes(folder)
    lines = data.removeprefix(b"\xef\xbb\xbf").decode("latin-1").split("\n")
    return tuple(rule for line in lines if (rule := _rule(line.removesuffix("\r"), folder)) is not None)


def _rule(line: str, folder: str) -> IgnoreRule | None:
    pattern = _without_blanks(line)
    if not pattern or pattern.startswith("#"):
        return None
    ignored = not pattern.startswith("!")
    pattern = pattern if ignored else pattern[1:]
    folders = pattern.endswith("/")
    pattern = pattern[:-1] if folders else pattern
    anchored = "/" in pattern
    pattern = pattern.removeprefix("/")
    return IgnoreRule(pattern, folder, ignored, anchored, folders) if pattern else None


def _without_blanks(line: str) -> str:
    r"""Return a line without the blanks at its end; one behind a backslash stays (`name\ `)."""
    rest = line.rstrip(" ")
    behind = len(rest) - len(rest.rstrip("\\"))
    return f"{rest} " if len(rest) < len(line) and behind % 2 else rest


def is_left_alone(path: str, rules: Iterable[IgnoreRule], *, ignore_case: bool = False) -> bool:
    """Whether a file that is not in the index is ignored: it is, or a folder that it is in.

    `rules` are those of all files, the most important last. Nothing brings back what is in an ignored folder.
    """
    known = tuple(rules)[::-1]
    path = lower(by_bytes(path)) if ignore_case else by_bytes(path)
    return any(_is_ignored(one, known, folder, ignore_case) for one, folder in _ways(path))


def _ways(path: str) -> Iterator[tuple[str, bool]]:
    """Yield the folders that a path is in, the outermost first, and the path; and whether it is a folder."""
    names = path.split("/")
    for number in range(1, len(names)):
        yield "/".join(names[:number]), True
    yield path, False


def _is_ignored(path: str, rules: Iterable[IgnoreRule], is_folder: bool, ignore_case: bool) -> bool:  # noqa: FBT001 - of this module alone
    for rule in rules:
        if (is_folder or not rule.folders) and fits_below(
            path, rule.pattern, rule.folder, anchored=rule.anchored, ignore_case=ignore_case
        ):
            return rule.ignored
    return False
