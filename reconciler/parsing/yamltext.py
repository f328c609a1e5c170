"""YAML events to the builder: what YAML offers beyond keys, lists and text is refused here.

No alias, anchor, merge key, tag or second document. Nothing is constructed by the YAML library.

No message quotes text of the file: a secret that begins with `!`, `*`, `&` or `{`, and that nobody put in
quotes, is a tag, an alias, an anchor or a key to YAML. Line and column say which text is meant.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from reconciler.core.text.unquoted import unquoted
from reconciler.parsing.build import Builder, Position

# The C parser is about seven times faster; the pure one accepts the same language, but for a few
# escapes that the builder checks again.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_DIRECTIVE = re.compile(r"^%TAG\b", re.MULTILINE)
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TABS = "replace the tab by spaces; YAML allows no tabs in the indentation"
_HINTS = (
    ("mapping values are not allowed", "quote a value that holds `: `, or check the indentation"),
    ("cannot start any token", "quote a value that begins with one of @ ` % & * ! | >"),
    ("expected ':'", "every line of a mapping needs `key: value`"),
    ("block end", "check the indentation of this line and of the ones above"),
    ("scanning a quoted scalar", "close the quotation mark"),
    ("flow", "close the bracket or brace, or add the missing comma"),
)
_ALIAS = "write the value out; put a text that begins with * in quotes"
_ANCHOR = "use `defaults`, or write it out; put a text that begins with & in quotes"
_TAG = "remove it, for every scalar is text here; put a text that begins with ! in quotes"


def build_yaml(text: str, builder: Builder, loader: Any = LOADER) -> None:
    """Feed the one document of `text` to `builder`. Raises Stop where it cannot be read further."""
    documents = 0
    directive = _DIRECTIVE.search(text)
    if directive:  # tags are refused anyway, and the parser compares each of these with all others
        line = text.count("\n", 0, directive.start()) + 1
        hint = "take the line away; every scalar is text here"
        builder.stop((line, 1), "the directive %TAG is refused.", hint, code="E102")
    escapes = "\\" in text
    scalar = builder.scalar
    for event in _events(text, builder, loader):
        kind = type(event)
        if kind is yaml.ScalarEvent:
            style = event.style
            if style and event.anchor is None and event.tag is None:  # here and not in a function: for speed
                mark = event.start_mark
                checked = not (escapes and style == '"')
                scalar(event.value, mark.line + 1, mark.column + 1, checked=checked, quoted=True)
            else:
                _scalar(event, builder)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            position = _decorated(event, builder)
            builder.begin({} if kind is yaml.MappingStartEvent else [], *position)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            builder.end()
        elif kind is yaml.AliasEvent:
            position = _position(event)
            builder.refuse(position, "this is a YAML alias, which is refused.", _ALIAS, code="E102")
            builder.refused(*position)
        elif kind is yaml.DocumentStartEvent:
            documents += 1
            if documents > 1:
                what = "the file holds several documents."
                builder.stop(_position(event), what, "one file for each", code="E102")
    if not documents:
        builder.nothing()


def _scalar(event: Any, builder: Builder) -> None:
    mark, text, style = event.start_mark, event.value, event.style
    line, column = mark.line + 1, mark.column + 1
    if event.anchor is not None or event.tag is not None:
        _decorated(event, builder)
        if not text:  # `!text` and `&text` alone: what was meant as the value is the tag or the anchor
            builder.refused(line, column)
            return
    if style:
        builder.scalar(text, line, column, checked=style != '"', quoted=True)
        return
    if text == "<<":
        hint = "use `defaults`, or write it out"
        builder.refuse((line, column), "the merge key << is refused.", hint, code="E102")
        builder.refused(line, column)
        return
    builder.scalar(text, line, column, null=text in _NULLS)


def _decorated(event: Any, builder: Builder) -> Position:
    position = _position(event)
    if event.anchor is not None:
        builder.refuse(position, "this is a YAML anchor, which is refused.", _ANCHOR, code="E102")
    if event.tag is not None:
        builder.refuse(position, "this is a YAML tag, which is refused.", _TAG, code="E102")
    return position


def _position(event: Any) -> Position:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _events(text: str, builder: Builder, loader: Any) -> Iterator[Any]:
    parser = loader(text)
    try:
        # After the last there is none. `yaml.parse` would ask twice for each.
        yield from iter(parser.get_event, None)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        said = " ".join(part for part in (error.context, error.problem) if part)
        hint = next((hint for sign, hint in _HINTS if sign in said), "check the quotes and the indentation")
        if _tab(text, position):
            hint = _TABS
        what = f"this is not YAML: {unquoted(error.problem or error.context)}."
        builder.stop(position, what, hint, code="E101")
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        # The pure parser raises these for escapes beyond Unicode and for characters it will not read.
        what = f"this is not YAML: {type(error).__name__}."
        builder.stop((1, 1), what, "check the quotes and the escapes", code="E101")
    finally:
        parser.dispose()


def _tab(text: str, position: Position) -> bool:
    """Whether a tab stands where the parser stopped, or in the indentation of that line."""
    lines = text.split("\n", position[0])
    line = lines[position[0] - 1] if len(lines) >= position[0] else ""
    indentation = line[: len(line) - len(line.lstrip())]
    return "\t" in indentation or line[position[1] - 1 : position[1]] == "\t"
