"""What formatting changes, as a unified diff for people. What may be a secret is not in it."""

import re
from collections.abc import Collection, Iterator
from difflib import get_close_matches, unified_diff

from reconciler.manifest.formatted.source import parsed, with_newlines
from reconciler.parsing.display import secret_keys

_REFERENCE = re.compile(r"[\"']?\$\{env:[A-Z0-9_]+\}[\"']?", re.ASCII | re.IGNORECASE)
_SECRET = "(secret)"  # noqa: S105 - the word that stands for one


def difference(file: str, before: bytes, after: bytes) -> Iterator[str]:
    """Yield the lines of a unified diff of two forms of one manifest, without line ends."""
    yield from unified_diff(
        _lines(before), _lines(after), f"{file} (as it is)", f"{file} (formatted)", lineterm=""
    )


def _lines(data: bytes) -> list[str]:
    """Return the lines of a manifest that can be read; the values of secret fields are not shown."""
    text = with_newlines(data.decode("utf-8-sig"))
    entries = parsed(text).entries
    secrets = {name.lower() for name in secret_keys()}
    written = {entry.key.value for entry in entries if entry.key is not None}
    keys = {key for key in written if _may_hold_a_secret(key, secrets)}
    parts, at = [], 0
    for entry in entries:
        if entry.key is None or entry.key.value not in keys or entry.value.start < at:
            continue
        start, end = entry.value.start, entry.value.end
        if not _REFERENCE.fullmatch(text[start:end]):
            parts += [text[at:start], _SECRET, "\n" * text.count("\n", start, end)]
            at = end
    return "".join([*parts, text[at:]]).splitlines()


def _may_hold_a_secret(key: str, secrets: Collection[str]) -> bool:
    """Whether a key is that of a secret field, or looks like a misspelt one; `secrets` in lower case."""
    return bool(get_close_matches(key.lower(), secrets, n=1, cutoff=0.8))
