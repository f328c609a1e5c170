"""YAML text to the builder: strict, with positions. The YAML library only parses; it constructs nothing.

Aliases, anchors, merge keys, tags and second documents are refused. First the rules of YAML 1.2 that the C
parser does not check are checked on the text, then its events are read.

No message quotes text of the file: a secret without quotes that begins with `!`, `*`, `&` or `{` is a tag, an
alias, an anchor or a key to YAML. Messages give line and column instead.
"""

import io
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from reconciler.core.text import strip_quoted_text
from reconciler.parsing.display import describe_character
from reconciler.parsing.tree_builder import GAP, NODES_MAX, SHARED_MAX, Builder, Position

# --- Rules of YAML 1.2 that the C parser does not check -------------------------------------------
#
# The C parser (libyaml) reads YAML 1.1 and does not check all of its rules: it accepts a text that
# continues to the left of its key, `#` right after a value, and `?text` as `text`; and it refuses escaped
# surrogate pairs, as JSON writes every emoji. Another reader would refuse such a file, or read something
# else. The checks below search the text only where there is a reason to, which nearly no file gives. Their
# cases are those of the YAML test suite, which `tests/manifest/test_yaml_suite.py` runs.


_BREAK = re.compile(r"\r\n?|\n")
_BLANK = frozenset(" \t\r\n")

Span = tuple[int, int]  # characters of the text, the end not included
Parse = Callable[[str], Iterator[Any]]  # the events of a text


class Breach(NamedTuple):
    """A broken rule: the index in the text, the sentence, the hint and the code."""

    at: int
    what: str
    next: str
    code: str


def locate_index(text: str, index: int) -> Position:
    """Return the line and column of a character, counted as the parser does."""
    breaks = list(_BREAK.finditer(text, 0, index))
    return len(breaks) + 1, index - (breaks[-1].end() if breaks else 0) + 1


# --- Directives -----------------------------------------------------------------------------------

_DIRECTIVE = re.compile(r"^%(?:TAG\b|YAML(?![ \t]+1\.[12][ \t]*(?:[ \t]#.*)?\r?$))", re.MULTILINE)


def find_refused_directive(text: str) -> Breach | None:
    """Return the first refused directive: one about tags, or an unknown version."""
    found = _DIRECTIVE.search(text) if "%" in text else None
    if found is None:
        return None
    if found[0] == "%TAG":  # the parser compares each of these with all others
        hint = "remove the line; every value is text here"
        return Breach(found.start(), "the directive %TAG is refused.", hint, "E102")
    what = "this is not YAML: the directive %YAML does not name a version that is read."
    return Breach(found.start(), what, "remove the line, or write %YAML 1.2", "E101")


# --- Lines that continue too far left -------------------------------------------------------------

_LEFT = "indent it with spaces, by more than the key or the dash that it belongs to"
_ONLY_BRACKETS = re.compile(r"[\[\]{},\s]*(?:#.*)?")


def find_line_too_far_left(text: str, span: Span, indent: int, *, quoted: bool) -> Breach | None:
    """Return the first line of quoted text or brackets that is not indented more than its parent.

    `indent` is the column of the block mapping or list around it, -1 where there is none. Lines of brackets,
    commas and comments alone may be anywhere, as people write `key: [` and `]`.
    """
    for found in _BREAK.finditer(text, *span):
        start = found.end()
        stop = _BREAK.search(text, start)
        line = text[start : stop.start() if stop else len(text)]
        depth = len(line) - len(line.lstrip(" "))
        silent = not line.strip() if quoted else _ONLY_BRACKETS.fullmatch(line)
        if depth > indent or silent or start >= span[1]:
            continue
        tab = line[depth] == "\t"
        what = "its indentation contains a tab" if tab else "a line is indented less than its parent"
        kind = "a quoted text" if quoted else "what is in brackets"
        return Breach(
            start + depth, f"this is not YAML: {kind} has several lines, and {what}.", _LEFT, "E120"
        )
    return None


def find_deep_blank_lines(text: str, start: int, value: str) -> Breach | None:
    """Return the first line of a block text if it is less indented than the blank lines above it.

    The parser would end the text there and take the line for a comment. The block text begins at `start`;
    `value` is what the parser read.
    """
    head, _, below = text[start:].partition("\n")
    if value.strip("\n") or re.match(r"[|>][+-]?[1-9]", head):
        return None
    lines = below.lstrip("\n")
    at, deepest = len(text) - len(lines), 0
    for line in io.StringIO(lines, newline="\n"):  # one by one: nearly always the first line decides
        depth = len(line) - len(line.lstrip(" "))
        if line.strip():
            what = "this is not YAML: a block text begins less indented than the blank lines above it."
            hint = "remove the spaces of the blank lines"
            return Breach(at + depth, what, hint, "E120") if 0 < depth < deepest else None
        deepest, at = max(deepest, depth), at + len(line)
    return None


# --- `#` and `?` that are text to YAML ------------------------------------------------------------

# After these the parser takes a # for a comment: quotes, brackets, and what begins a value or a block text.
_BEFORE_HASH = frozenset("\"'[]{},:?|>+-0123456789")
_BEFORE_QUESTION = _BLANK | frozenset("[{,:")


def find_stray_sign(text: str, parse: Parse) -> Breach | None:
    """Return the first `#` or `?` that the parser takes for an indicator and YAML 1.2 for text.

    The text is parsed once more only if one of them may be there.
    """
    questions = [at for at in _find_sign(text, "?") if _may_begin_text(text, at)]
    if not questions and not any(at and text[at - 1] in _BEFORE_HASH for at in _find_sign(text, "#")):
        return None
    spans, read = _find_scalars(text, parse)
    starts = [start for start, _ in spans]
    hidden: list[Span] = []  # comments, in their order
    hashes: list[Breach] = []
    for at in _find_sign(text[:read], "#"):
        if _is_within(at, spans, starts) or (hidden and at < hidden[-1][1]):
            continue
        end = _BREAK.search(text, at)
        hidden.append((at, end.start() if end else len(text)))
        if at and text[at - 1] not in _BLANK:
            what = "this is not YAML: a comment needs a space before its #."
            hint = "write a space before the #, or quote the text that it belongs to"
            hashes.append(Breach(at, what, hint, "E121"))
    begins = [start for start, _ in hidden]
    for at in questions:
        if at < read and not _is_within(at, spans, starts) and not _is_within(at, hidden, begins):
            what = "a text in brackets that begins with ? is refused: some readers leave the ? out."
            hashes.append(Breach(at, what, "put the text in quotes", "E122"))
    return min(hashes, default=None)


def _may_begin_text(text: str, at: int) -> bool:
    return (at == 0 or text[at - 1] in _BEFORE_QUESTION) and text[at + 1 : at + 2] not in _BLANK | {""}


def _find_sign(text: str, sign: str) -> Iterator[int]:
    at = text.find(sign)
    while at >= 0:
        yield at
        at = text.find(sign, at + 1)


def _find_scalars(text: str, parse: Parse, *styles: str) -> tuple[list[Span], int]:
    """Return the spans of scalars, of all or of these styles, and the index where the parser stopped.

    It stops at the end or at a mistake, which is reported when the tree is built. The span of a block text
    begins after its first line, which may end with a comment.
    """
    spans, end = [], 0
    try:
        for event in parse(text):
            start, end = event.start_mark.index, event.end_mark.index
            if type(event) is not yaml.ScalarEvent or (styles and event.style not in styles):
                continue
            if event.style in ("|", ">"):
                found = _BREAK.search(text, start, end)
                start = found.end() if found else end
            spans.append((start, end))
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return spans, end
    return spans, len(text)


def _is_within(at: int, spans: Sequence[Span], starts: Sequence[int]) -> bool:
    number = bisect_right(starts, at) - 1
    return number >= 0 and at < spans[number][1]


# --- Escapes of characters beyond the first 65,536 ------------------------------------------------

# JSON writes such a character as two escapes; each alone is not a character. An even number of backslashes
# before them is escaped backslashes.
_HALVES = re.compile(
    r"(?<!\\)(?P<before>(?:\\\\)*)"
    r"(?:(?P<pair>\\u[dD][89aAbB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?P<lone>\\(?:u|U0000)[dD][89a-fA-F][0-9a-fA-F]{2}))"
)
_FILL = "\ufdd1"  # a noncharacter that fills up the length of an escape


class FitText(NamedTuple):
    """A text that the parser can read, with the length of the original.

    `lone` are single halves of pairs, by index and character; GAP replaces each.
    """

    text: str
    lone: tuple[tuple[int, str], ...] = ()
    filled: bool = False  # whether values may hold what `remove_fill` takes out


def fit_escapes(text: str, parse: Parse) -> FitText:
    """Return the text with each escaped surrogate pair in double quotes replaced by its character."""
    if "\\" not in text or not (found := list(_HALVES.finditer(text))):
        return FitText(text)
    whole, _ = _replace_escapes(text, found)
    quoted, end = _find_scalars(whole, parse, '"')
    starts = [start for start, _ in quoted]
    meant = [one for one in found if one.end() > end or _is_within(one.end() - 1, quoted, starts)]
    fit, lone = _replace_escapes(text, meant)
    return FitText(fit, lone, bool(meant))


def remove_fill(value: str) -> str:
    """Return a value without the fill that `fit_escapes` added."""
    return value.replace(_FILL, "")


def _replace_escapes(text: str, found: Sequence["re.Match[str]"]) -> tuple[str, tuple[tuple[int, str], ...]]:
    pieces, lone, at = [], [], 0
    for one in found:
        start, length = one.end("before"), one.end() - one.end("before")
        escapes = one[0][one.end("before") - one.start() :]
        if one["pair"]:
            high, low = int(escapes[2:6], 16), int(escapes[8:12], 16)
            character = chr(0x10000 + (high - 0xD800) * 0x400 + low - 0xDC00)
        else:
            character = GAP
            lone.append((start, chr(int(escapes[-4:], 16))))
        pieces += [text[at:start], character, _FILL * (length - 1)]
        at = one.end()
    return "".join([*pieces, text[at:]]), tuple(lone)


# --- Events ---------------------------------------------------------------------------------------

# The C parser is about seven times faster; the pure one accepts the same language, except for a few escapes
# that the builder checks again.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_UNUSUAL = _NULLS | {"-", "<<"}  # texts without quotes that are not text
_TABS = "replace the tab by spaces; YAML allows no tabs in the indentation"
_HINTS = (
    ("mapping values are not allowed", "quote a value that contains `: `, or check the indentation"),
    ("cannot start any token", "quote a value that begins with one of @ ` % & * ! | >"),
    ("expected ':'", "every line of a mapping needs `key: value`"),
    ("block end", "check the indentation of this line and of the ones above"),
    ("scanning a quoted scalar", "close the quotation mark"),
    ("Unicode character escape", "write the character itself; the last one is \\U0010FFFF"),
    ("flow", "close the bracket or brace, or add the missing comma"),
)
_BLOCK = (-1, -1)
_ALIAS = "write the value out; quote a text that begins with *"
_ANCHOR = "use `defaults`, or write the value in each place; quote a text that begins with &"
_TAG = "remove it: every value is text here; quote a text that begins with !"


def build_yaml(text: str, builder: Builder, loader: Any = LOADER) -> None:
    """Feed the one document of `text` to `builder`. Raises StopReading at a syntax error."""

    def parse(text: str) -> Iterator[Any]:
        return parse_events(text, loader)

    _stop_at_breach(find_refused_directive(text), text, builder)
    # Without a line end the parser drops the last line of a block text where it is blank.
    text = f"{text}\n" if text.endswith(" ") else text
    fit = fit_escapes(text, parse)
    for index, half in fit.lone:
        what = f"{describe_character(half)} is refused."
        hint = "write both halves, or the character itself"
        builder.add_gap(locate_index(text, index), what, hint, "E105")
    _stop_at_breach(find_stray_sign(fit.text, parse), text, builder)
    _feed_events(fit, builder, loader)


def parse_events(text: str, loader: Any = LOADER) -> Iterator[Any]:
    """Yield the events of a text. Raises the errors of the parser: for texts that were read before."""
    yield from yaml.parse(text, Loader=loader)


def _feed_events(fit: FitText, builder: Builder, loader: Any) -> None:
    feeder = _Feeder(fit, builder)
    parser = loader(fit.text)
    try:
        feeder.feed(parser)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        said = " ".join(part for part in (error.context, error.problem) if part)
        hint = next((hint for sign, hint in _HINTS if sign in said), "check the quotes and the indentation")
        if _has_tab(fit.text, position):
            hint = _TABS
        what = f"this is not YAML: {strip_quoted_text(error.problem or error.context)}."
        builder.stop(position, what, hint, code="E101")
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        # The pure parser raises these for escapes beyond Unicode and for characters it will not read.
        what = f"this is not YAML: {type(error).__name__}."
        builder.stop((1, 1), what, "check the quotes and the escapes", code="E101")
    finally:
        parser.dispose()
    if not feeder.documents:
        builder.add_nothing()


class _Feeder:
    """Gives the events of one text to a builder."""

    def __init__(self, fit: FitText, builder: Builder) -> None:
        self.documents = 0
        self._fit = fit
        self._builder = builder
        self._escapes = "\\" in fit.text
        self._indents = [-1]  # the column of each open block, innermost last; brackets have that around them
        self._opened: list[tuple[int, int]] = []  # of each open container: line and index of a bracket, or -1

    def feed(self, parser: Any) -> None:
        """Take all events. Raises the errors of the parser."""
        builder = self._builder
        # Not a field: it would hold the text and the builder in a cycle, and the collector is off meanwhile.
        takers: Mapping[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self._take_scalar,
            yaml.MappingStartEvent: self._begin,
            yaml.SequenceStartEvent: self._begin,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            yaml.AliasEvent: self._refuse_alias,
            yaml.DocumentStartEvent: self._begin_document,
        }
        usual = builder.takes_usual and not self._escapes and not self._fit.filled
        share, secret_keys = builder.shared.setdefault, builder.secret_keys
        # get_event returns None at the end. `yaml.parse` would make two calls for each event.
        for event in iter(parser.get_event, None):
            kind = type(event)
            # The usual key or value is given without a call, as `add_scalar` does it: there are half a
            # million of them in a large file, and the calls took a third of the time in which it is read.
            if kind is yaml.ScalarEvent and usual and event.anchor is None and event.tag is None:
                text, mark, top = event.value, event.start_mark, builder.top
                plain = event.end_mark.line == mark.line if event.style else text not in _UNUSUAL
                if plain and top is not None and type(top.container) is dict and builder.nodes < NODES_MAX:
                    if top.key is None and text.isascii() and text and text not in top.container:
                        top.key = share(text, text)
                        top.marks.append(mark.line + 1 << 32 | mark.column + 1)
                        if text in secret_keys:
                            builder.secrets.setdefault(mark.line + 1, mark.column + 1)
                        builder.nodes += 1
                        continue
                    if top.key is not None and not top.dropped:
                        top.container[top.key] = share(text, text) if len(text) <= SHARED_MAX else text
                        top.key = None
                        builder.nodes += 1
                        continue
            if kind in takers:
                takers[kind](event)

    def _take_scalar(self, event: Any) -> None:
        if not event.style or event.anchor is not None or event.tag is not None:
            _feed_scalar(event, self._builder)
            return
        mark = event.start_mark
        if event.end_mark.line != mark.line:
            _check_lines(self._fit.text, event, self._indents[-1], self._builder)
        value = remove_fill(event.value) if self._fit.filled else event.value
        checked = not (self._escapes and event.style == '"')
        self._builder.add_scalar(value, mark.line + 1, mark.column + 1, checked=checked, quoted=True)

    def _begin(self, event: Any) -> None:
        position = _refuse_decorations(event, self._builder)
        self._builder.begin({} if type(event) is yaml.MappingStartEvent else [], *position)
        mark = event.start_mark
        self._opened.append((mark.line, mark.index) if event.flow_style else _BLOCK)
        self._indents.append(self._indents[-1] if event.flow_style else mark.column)

    def _end(self, event: Any) -> None:
        self._builder.end()
        self._indents.pop()
        line, start = self._opened.pop()
        if line >= 0 and event.end_mark.line != line:
            span = (start, event.end_mark.index)
            found = find_line_too_far_left(self._fit.text, span, self._indents[-1], quoted=False)
            _stop_at_breach(found, self._fit.text, self._builder)

    def _refuse_alias(self, event: Any) -> None:
        position = _event_position(event)
        self._builder.refuse(position, "this is a YAML alias, which is refused.", _ALIAS, code="E102")
        self._builder.add_refused(*position)

    def _begin_document(self, event: Any) -> None:
        self.documents += 1
        if self.documents > 1:
            what = "the file contains several documents."
            self._builder.stop(_event_position(event), what, "use one file for each", code="E102")


def _stop_at_breach(breach: Breach | None, text: str, builder: Builder) -> None:
    if breach is not None:
        position = locate_index(text, breach.at)
        builder.stop(position, breach.what, breach.next, code=breach.code)


def _check_lines(text: str, event: Any, indent: int, builder: Builder) -> None:
    """Stop at a line of a multi-line text that YAML refuses and the parser accepts."""
    start, end = event.start_mark.index, event.end_mark.index
    if event.style in ("|", ">"):
        found = find_deep_blank_lines(text, start, event.value)
    else:
        found = find_line_too_far_left(text, (start, end), indent, quoted=True)
    _stop_at_breach(found, text, builder)


def _feed_scalar(event: Any, builder: Builder) -> None:
    mark, text, style = event.start_mark, event.value, event.style
    line, column = mark.line + 1, mark.column + 1
    if event.anchor is not None or event.tag is not None:
        _refuse_decorations(event, builder)
        if not text:  # `!text` and `&text` alone: the intended value is the tag or the anchor
            builder.add_refused(line, column)
            return
    if style:
        builder.add_scalar(text, line, column, checked=style != '"', quoted=True)
        return
    if text == "-":  # only in brackets: elsewhere it begins an item
        what = "this is not YAML: a dash in brackets is not text."
        builder.stop((line, column), what, "put it in quotes", code="E122")
    if text == "<<":
        hint = "use `defaults`, or write the values in each place"
        builder.refuse((line, column), "the merge key << is refused.", hint, code="E102")
        builder.add_refused(line, column)
        return
    builder.add_scalar(text, line, column, null=text in _NULLS)


def _refuse_decorations(event: Any, builder: Builder) -> Position:
    position = _event_position(event)
    if event.anchor is not None:
        builder.refuse(position, "this is a YAML anchor, which is refused.", _ANCHOR, code="E102")
    if event.tag is not None:
        builder.refuse(position, "this is a YAML tag, which is refused.", _TAG, code="E102")
    return position


def _event_position(event: Any) -> Position:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _has_tab(text: str, position: Position) -> bool:
    """Whether a tab is where the parser stopped, or in the indentation of that line."""
    lines = text.split("\n", position[0])
    line = lines[position[0] - 1] if len(lines) >= position[0] else ""
    indentation = line[: len(line) - len(line.lstrip())]
    return "\t" in indentation or line[position[1] - 1 : position[1]] == "\t"
