"""YAML events to the builder: what YAML offers beyond keys, lists and text is refused here.

No alias, anchor, merge key, tag or second document. Nothing is constructed by the YAML library.

No message quotes text of the file: a secret that begins with `!`, `*`, `&` or `{`, and that nobody put in
quotes, is a tag, an alias, an anchor or a key to YAML. Line and column say which text is meant.
"""

from collections.abc import Iterator
from typing import Any

import yaml

from reconciler.core.text import strip_quoted_text
from reconciler.parsing import yamlrules
from reconciler.parsing.build import Builder, Position
from reconciler.parsing.characters import complaint
from reconciler.parsing.yamlrules import Breach

# The C parser is about seven times faster; the pure one accepts the same language, but for a few
# escapes that the builder checks again. What YAML refuses and they do not: yamlrules.py.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TABS = "replace the tab by spaces; YAML allows no tabs in the indentation"
_HINTS = (
    ("mapping values are not allowed", "quote a value that holds `: `, or check the indentation"),
    ("cannot start any token", "quote a value that begins with one of @ ` % & * ! | >"),
    ("expected ':'", "every line of a mapping needs `key: value`"),
    ("block end", "check the indentation of this line and of the ones above"),
    ("scanning a quoted scalar", "close the quotation mark"),
    ("Unicode character escape", "write the character itself; the last one is \\U0010FFFF"),
    ("flow", "close the bracket or brace, or add the missing comma"),
)
_BLOCK = (-1, -1)
_ALIAS = "write the value out; put a text that begins with * in quotes"
_ANCHOR = "use `defaults`, or write it out; put a text that begins with & in quotes"
_TAG = "remove it, for every scalar is text here; put a text that begins with ! in quotes"


def build_yaml(text: str, builder: Builder, loader: Any = LOADER) -> None:
    """Feed the one document of `text` to `builder`. Raises Stop where it cannot be read further."""

    def parse(text: str) -> Iterator[Any]:
        return events_of(text, loader)

    _stop_at(yamlrules.refused_directive(text), text, builder)
    # Without a line end the parser drops the last line of a block text where it is blank.
    text = f"{text}\n" if text.endswith(" ") else text
    fit = yamlrules.fit_escapes(text, parse)
    for index, half in fit.lone:
        what = f"{complaint(half)} is refused."
        hint = "write both halves, or the character itself"
        builder.gap(yamlrules.position(text, index), what, hint, "E105")
    _stop_at(yamlrules.stray_sign(fit.text, parse), text, builder)
    _feed(fit, builder, loader)


def events_of(text: str, loader: Any = LOADER) -> Iterator[Any]:
    """Yield what the parser says of a text. Raises what it raises: for texts that were read before."""
    yield from yaml.parse(text, Loader=loader)


def _feed(fit: yamlrules.FitText, builder: Builder, loader: Any) -> None:
    text = fit.text
    documents = 0
    escapes = "\\" in text
    scalar = builder.scalar
    indents = [
        -1
    ]  # the column of each open block, the innermost last; that of brackets is the one around them
    opened: list[tuple[int, int]] = []  # of each open container: its line and index in brackets, else -1
    for event in _events(text, builder, loader):
        kind = type(event)
        if kind is yaml.ScalarEvent:
            style = event.style
            if style and event.anchor is None and event.tag is None:  # here and not in a function: for speed
                mark = event.start_mark
                if event.end_mark.line != mark.line:
                    _check_lines(text, event, indents[-1], builder)
                value = yamlrules.without_fill(event.value) if fit.filled else event.value
                checked = not (escapes and style == '"')
                scalar(value, mark.line + 1, mark.column + 1, checked=checked, quoted=True)
            else:
                _scalar(event, builder)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            position = _decorated(event, builder)
            builder.begin({} if kind is yaml.MappingStartEvent else [], *position)
            mark = event.start_mark
            opened.append((mark.line, mark.index) if event.flow_style else _BLOCK)
            indents.append(indents[-1] if event.flow_style else mark.column)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            builder.end()
            indents.pop()
            line, start = opened.pop()
            if line >= 0 and event.end_mark.line != line:
                span = (start, event.end_mark.index)
                found = yamlrules.line_too_far_left(text, span, indents[-1], quoted=False)
                _stop_at(found, text, builder)
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


def _stop_at(breach: Breach | None, text: str, builder: Builder) -> None:
    if breach is not None:
        position = yamlrules.position(text, breach.at)
        builder.stop(position, breach.what, breach.next, code=breach.code)


def _check_lines(text: str, event: Any, indent: int, builder: Builder) -> None:
    """Stop at a line of a text of several lines that YAML refuses, and the parser does not."""
    start, end = event.start_mark.index, event.end_mark.index
    if event.style in ("|", ">"):
        found = yamlrules.blank_lines_too_deep(text, start, event.value)
    else:
        found = yamlrules.line_too_far_left(text, (start, end), indent, quoted=True)
    _stop_at(found, text, builder)


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
    if text == "-":  # only in brackets: elsewhere it begins an item
        what = "this is not YAML: a dash in brackets is no text."
        builder.stop((line, column), what, "put it in quotes", code="E122")
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
        what = f"this is not YAML: {strip_quoted_text(error.problem or error.context)}."
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
