"""What a file holds that should not be published, whatever its name is. Pure.

Belongs here: the signs by which our own files and keys are known. Not here: reading (files.py), and what is
private by its place on the disk.

The whole file is looked through: the keys of a plan are sorted, so those that tell it from other JSON stand
behind its changes, as far behind as there are changes. Each pattern begins with fixed text and repeats
nothing inside of a repetition, so the time grows with the size of the file and nothing is copied but a
file in UTF-16.
"""

import re

from reconciler.model.runs import EXIT_CODE_WORDS


def _keys(*patterns: str) -> tuple[re.Pattern[bytes], ...]:
    r"""Return what finds each of these JSON keys with its value. `\s` and `:` alone stand between them."""
    return tuple(
        re.compile(rf'"{key}"\s*:\s*{value}'.encode())
        for key, _, value in (pattern.partition(" ") for pattern in patterns)
    )


_WORD = f'"(?:{"|".join(re.escape(word) for word in EXIT_CODE_WORDS.values())})"'

# All patterns of a row have to be found, in any order. JSON that is quoted within a JSON text matches none of
# the keys: its quotation marks have a backslash before them.
_SIGNS: tuple[tuple[tuple[re.Pattern[bytes], ...], str], ...] = (
    # The database itself, its write-ahead log and its rollback journal (https://sqlite.org/fileformat.html).
    (
        (re.compile(rb"\A(?:SQLite format 3\0|\x37\x7f\x06[\x82\x83]|\xd9\xd5\x05\xf9\x20\xa1\x63\xd7)"),),
        "a database, as a store is",
    ),
    (
        (re.compile(rb"\A(?:\xef\xbb\xbf)?\s*age-encryption\.org/|-----BEGIN AGE ENCRYPTED FILE-----"),),
        "encrypted, as a plan is",
    ),
    ((re.compile(rb"AGE-SECRET-KEY-1|-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----"),), "a private key"),
    (_keys('manifest_digest "', 'fingerprint "'), "a plan"),
    (_keys("version 1", "exit_code [0-9]", f"outcome {_WORD}"), "a report of this program"),
    (_keys('message_id "', 'received_at "', 'undeliverable "'), "a list of people's replies"),
)


def private_kind(data: bytes) -> str:
    """Return what a file with this content is, if that is private ("a plan"); otherwise ""."""
    if b"\0" in data[:4] and not data.startswith(b"SQLite"):
        data = data.replace(b"\0", b"")  # UTF-16, as the PowerShell writes what it redirects: ASCII is left
    for patterns, kind in _SIGNS:
        if all(pattern.search(data) for pattern in patterns):
            return kind
    return ""
