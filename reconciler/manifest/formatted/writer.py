"""The canonical text of a manifest: two spaces a level, keys in order, quotes where YAML may want them.

What is in brackets in one line stays there; brackets over several lines become blocks. Lines are never
broken or joined. Whether the text means the same is judged elsewhere (formatting.py).
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from reconciler.manifest.entries import Steps
from reconciler.manifest.formatted.order import rank_at
from reconciler.manifest.formatted.source import Layout, Node, WrittenEntry
from reconciler.manifest.written.yamltext import WORDS, quoted

_INDENT = "  "
_HEADER = re.compile(r"([|>])([-+0-9]*)(.*)")
# What YAML 1.2 takes for a number, and 1.1 does not. What 1.1 takes for one, the library knows.
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+")
_RESOLVER: Any = yaml.resolver.Resolver()
_TEXT = _RESOLVER.DEFAULT_SCALAR_TAG


def written(source: Layout) -> str:
    """Return the whole text. `source` is left as it is."""
    lines = [*source.before, *(["---"] if source.marked else [])]
    lines += _block(source.root, 0, ())
    while lines and not lines[0]:
        lines.pop(0)
    return "\n".join(lines) + "\n"


def _block(node: Node, depth: int, path: Steps) -> list[str]:
    """Return the lines of a container with entries, and of the comments at its end."""
    pad = _INDENT * depth
    lines: list[str] = []
    for head, entries in _groups(node, path):
        lines += [f"{pad}{text}".rstrip() for text in head]
        for number, entry, leading in entries:
            lines += [f"{pad}{text}" for text in leading]
            if entry.key is None:
                lines += _item(entry, depth, (*path, number))
            else:
                key = _scalar(entry.key, depth, top=False)
                lines += _with_value(f"{pad}{key}:", entry, depth, (*path, entry.key.value))
    if lines and not lines[0]:
        lines.pop(0)
    return lines + [f"{pad}{text}".rstrip() for text in node.trailing]


Placed = tuple[int, WrittenEntry, list[str]]  # its number, and the comments that move with it


def _groups(node: Node, path: Steps) -> Iterator[tuple[list[str], list[Placed]]]:
    """Yield the entries between blank lines, sorted, and what stands above them and stays there."""
    groups: list[tuple[list[str], list[Placed]]] = [([], [])]
    for number, entry in enumerate(node.entries or ()):
        leading = _leading(entry)
        # What stands above the first key of a file is about the file.
        cut = len(leading) if not path and not number else _behind_blank(leading)
        if cut:
            groups.append((leading[:cut], []))
        groups[-1][1].append((number, entry, leading[cut:]))
    rank = rank_at(path) if node.mapping and not node.keeps else None
    if rank is not None:
        for _, group in groups:
            group.sort(key=lambda one: rank(one[1].key.value if one[1].key else ""))
    yield from groups


def _behind_blank(leading: list[str]) -> int:
    return max((at for at, text in enumerate(leading, 1) if not text), default=0)


def _leading(entry: WrittenEntry) -> list[str]:
    """Return what stands above an entry, with the comments that have no place within it."""
    value = entry.value
    inside = list(value.trailing) if value.entries is not None and not value.entries else []
    moves = entry.beside and entry.key is None and _is_block(value)
    return [*entry.leading, *(text for text in inside if text), *([entry.beside] if moves else [])]


def _is_block(node: Node) -> bool:
    return bool(node.entries) and not node.inline


def _item(entry: WrittenEntry, depth: int, path: Steps) -> list[str]:
    pad = _INDENT * depth
    if not _is_block(entry.value):
        return _with_value(f"{pad}-", entry, depth, path)
    lines = _block(entry.value, depth + 1, path)
    # Comments above the first key would stand behind the dash.
    comments = next(at for at, line in enumerate(lines) if line and not line.lstrip().startswith("#"))
    above = [f"{pad}{line.strip()}" for line in lines[:comments] if line]
    return [*above, f"{pad}- {lines[comments].lstrip()}", *lines[comments + 1 :]]


def _with_value(start: str, entry: WrittenEntry, depth: int, path: Steps) -> list[str]:
    """Return the lines of an entry whose first one begins with `start`."""
    value = entry.value
    if _is_block(value):
        return [_commented(start, entry), *_block(value, depth + 1, path)]
    if value.entries is not None:
        return [_commented(f"{start} {_brackets(value, depth, path)}", entry)]
    if value.style in ("|", ">"):
        first, *rest = _text_block(entry, depth)
        return [f"{start} {first}", *rest]
    *lines, last = f"{start} {_scalar(value, depth, top=path == ('version',))}".split("\n")
    return [*lines, _commented(last, entry)]


def _commented(line: str, entry: WrittenEntry) -> str:
    """Return a line with its comment, in the column where it stood, if there is room."""
    if not entry.beside:
        return line
    return f"{line}{' ' * max(2, entry.beside_column - len(line))}{entry.beside}"


def _brackets(node: Node, depth: int, path: Steps) -> str:
    """Return a container in one line."""
    if not node.mapping:
        inner = [_inline(one.value, depth, (*path, at)) for at, one in enumerate(node.entries or ())]
        return f"[{', '.join(inner)}]"
    pairs = []
    for _, group in _groups(node, path):
        for _, one, _ in group:
            assert one.key is not None  # noqa: S101 - the entries of a mapping have keys
            key = _scalar(one.key, depth, top=False)
            pairs.append(f"{key}: {_inline(one.value, depth, (*path, one.key.value))}")
    return f"{{{', '.join(pairs)}}}"


def _inline(node: Node, depth: int, path: Steps) -> str:
    return _scalar(node, depth, top=False) if node.entries is None else _brackets(node, depth, path)


def _scalar(node: Node, depth: int, *, top: bool) -> str:
    """Return a scalar with the quotes it needs. `top`: the version of the file, a number to editors."""
    text, raw = node.value, node.raw
    if "\n" in raw:  # lines are joined by the reader, whatever stands before each
        first, *rest = raw.split("\n")  # an escaped space may end a line
        return "\n".join(
            [first, *(f"{_INDENT * (depth + 1)}{line}" if line else "" for line in map(str.lstrip, rest))]
        )
    plain = quoted(text)
    if node.style == "":
        return plain if _means_more(text) and not top else raw
    if plain == text:
        return text
    as_it_is = node.style == '"' or '"' in text or "\\" in text
    return raw if as_it_is else plain


def _means_more(text: str) -> bool:
    """Whether a text without quotes is something else to another reader of YAML. Flags are meant to be."""
    if text in ("true", "false"):
        return False
    if text in ("-", "?"):  # which may stand so in brackets alone
        return True
    known = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)) != _TEXT
    return known or text.casefold() in WORDS or _NUMBER.fullmatch(text) is not None


def _text_block(entry: WrittenEntry, depth: int) -> Iterator[str]:
    """Yield the lines of a text behind `|` or `>`, with the indentation of this depth."""
    value = entry.value
    header, *lines = value.raw.split("\n")
    found = _HEADER.fullmatch(header)
    assert found is not None  # noqa: S101 - the parser has read it
    digits = "".join(filter(str.isdigit, found[2]))
    above = entry.within.column
    filled = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip(" ")]
    cut = above + int(digits) if digits else (filled[0] if filled else 0)
    sign = found[2].replace(digits, "2") if digits else found[2]
    if value.value and not value.value.endswith("\n"):  # the file may end in this text, without a line end
        sign = f"{'2' if digits else ''}-"
    yield f"{found[1]}{sign}{found[3].rstrip()}"
    for line in lines:
        yield f"{_INDENT * (depth + 1)}{line[cut:]}" if line[cut:] else ""
