"""Which workspaces the text of a manifest names, without parsing it: for files that cannot be parsed.

A manifest names its workspace at its top. Only plain lines are read, so what is found is what the parser
would find there; whatever looks otherwise is not known.
"""

import re
from collections.abc import Iterator

_alias = rb"""(?:"(?P<double>[A-Za-z0-9._-]+)"|'(?P<single>[A-Za-z0-9._-]+)'|(?P<plain>[A-Za-z0-9._-]+))"""
_end = rb"[ \t]*(?:[ \t]#[^\n]*)?\r?$"
_WORKSPACE = re.compile(rb"workspace:[ \t]+" + _alias + _end, re.MULTILINE)
# What may stand above it in a file of which nothing else is known: nothing that goes on in the next line.
_HEAD_LINE = re.compile(
    rb"""(?:[ \t]*(?:\#[^\n]*)?|---|[A-Za-z]+:[ \t]+(?:"[^"\\\n]*"|'[^'\n]*'|[A-Za-z0-9._-]+))"""
    + _end
    + rb"\n?",
    re.MULTILINE,
)
# Any further key of this name in the first column, in whatever spelling.
_SECOND = re.compile(rb"""^(?:[?&!][^\n]*)?["']?workspace["']?[ \t]*:""", re.MULTILINE)
_JSON_HEAD = re.compile(
    rb"""\s*\{\s*(?:"version"\s*:\s*"?[0-9]+"?\s*,\s*)?"workspace"\s*:\s*"(?P<double>[A-Za-z0-9._-]+)"\s*[,}]"""
)
_JSON_SECOND = re.compile(rb'"workspace"\s*:\s*')
_JSON_VALUE = re.compile(rb'"(?P<double>[A-Za-z0-9._-]+)"')
_WORD = b"workspace"
_BOM = b"\xef\xbb\xbf"


def find_workspace_names(data: bytes) -> frozenset[str]:
    """Return every workspace that a manifest with these bytes may be about; none where that is not known.

    More than one where the key stands there several times, which is a mistake in any case.
    """
    text = data.removeprefix(_BOM)
    found = _find_in_json(text) if text.lstrip()[:1] == b"{" else _find_in_lines(text)
    names = frozenset(found)
    return frozenset() if "" in names else names


def _find_in_lines(text: bytes) -> Iterator[str]:
    """Yield the value of the key in the first lines, then of every further one; "" where one is not plain."""
    at = 0
    while not (first := _WORKSPACE.match(text, at)):
        above = _HEAD_LINE.match(text, at)
        if above is None or above.end() == at:
            yield ""
            return
        at = above.end()
    yield _name_of(first)
    if _WORD not in text[first.end() :]:  # as in nearly every file, which this finds much sooner
        return
    for more in _SECOND.finditer(text, first.end()):
        plain = _WORKSPACE.match(text, more.start())
        yield _name_of(plain) if plain else ""


def _find_in_json(text: bytes) -> Iterator[str]:
    first = _JSON_HEAD.match(text)
    yield _name_of(first) if first else ""
    for more in _JSON_SECOND.finditer(text, first.end() if first else len(text)):
        value = _JSON_VALUE.match(text, more.end())
        yield _name_of(value) if value else ""


def _name_of(found: re.Match[bytes]) -> str:
    return next(one for one in found.groups() if one is not None).decode()
