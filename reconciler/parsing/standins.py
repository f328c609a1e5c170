"""Files of a checkout that stand for another content, recognized by their bytes. Pure.

A pointer of git-lfs or git-annex, an unresolved merge and an encrypted file are text like any other. Read
as a roster, or sent as content, they would silently replace the intended content.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from reconciler.errors import Problem

POINTER, CONFLICT, LINK = "E117", "E118", "E119"

_POINTER_MAX = 1024  # bytes; git-lfs takes nothing longer for a pointer, git-annex writes one line
_DECRYPT = "decrypt it first, in a step before this command, and name the decrypted file"


@dataclass(frozen=True, slots=True)
class StandIn:
    """What a file is instead of its content: the end of a sentence, the hint, and the line."""

    what: str
    hint: str
    line: int = 0
    code: str = POINTER

    def problem(self, file: str) -> Problem:
        """Return the mistake of a whole file; a conflict has the place of its first marker."""
        column = 1 if self.line else 0
        return Problem(file, self.line, column, f"the file {self.what}.", self.hint, code=self.code)


def find_stand_in(data: bytes, *, armour: bool = True) -> StandIn | None:
    """Return what these bytes stand for; None where they are the content itself.

    Without `armour`, a PGP message counts as content: one may be published, a pointer never.
    """
    head = data[:_POINTER_MAX].lstrip(b"\xef\xbb\xbf")
    for begins, is_one, found in _BEGINNINGS:
        if begins.match(head) and is_one(data):
            return found
    if armour and _ARMOUR.match(head):
        return _describe_encrypted("an encrypted message in ASCII armour")
    if b"ENC[AES256_GCM," in data and _SOPS.search(data):
        return StandIn(
            "is encrypted with SOPS",
            "decrypt it first: sops decrypt FILE > OTHER, and name OTHER",
        )
    return _find_conflict(data)


def _describe_encrypted(what: str) -> StandIn:
    return StandIn(f"is {what}", _DECRYPT)


_BASE64 = re.compile(rb"[0-9A-Za-z+/\r\n]+={0,2}\s*")
# How such files begin, and a further condition.
_BEGINNINGS: tuple[tuple[re.Pattern[bytes], Callable[[bytes], bool], StandIn], ...] = (
    (
        # Source: git-lfs, docs/spec.md, with the two older addresses that it still reads.
        re.compile(
            rb"version https?://(?:git-lfs\.github\.com/spec/|hawser\.github\.com/spec/|git-media\.io/v/)"
        ),
        lambda data: len(data) < _POINTER_MAX,
        StandIn(
            "is a git-lfs pointer, not the file itself",
            "fetch the file: git lfs pull   (in CI, let the checkout do it, as with `lfs: true`)",
        ),
    ),
    (
        re.compile(rb"(?:\.\./)*(?:\.git)?/annex/objects/"),
        lambda data: len(data) < _POINTER_MAX,
        StandIn(
            "is a git-annex pointer, not the file itself",
            "fetch the file: git annex get FILE",
        ),
    ),
    (
        re.compile(rb"\s*\$ANSIBLE_VAULT;"),
        lambda _: True,
        _describe_encrypted("encrypted with Ansible Vault"),
    ),
    (
        re.compile(rb"\0GITCRYPT\0"),
        lambda _: True,
        StandIn("is encrypted with git-crypt", "unlock the checkout first: git-crypt unlock KEY"),
    ),
    (
        re.compile(rb"U2FsdGVkX1[0-9A-Za-z+/]"),
        lambda data: bool(_BASE64.fullmatch(data)),
        _describe_encrypted("encrypted with OpenSSL"),
    ),
    (re.compile(rb"Salted__"), lambda _: True, _describe_encrypted("encrypted with OpenSSL")),
    (
        re.compile(rb"# STRONGBOX ENCRYPTED RESOURCE"),
        lambda _: True,
        _describe_encrypted("encrypted with Strongbox"),
    ),
)
_ARMOUR = re.compile(
    rb"\s*-----BEGIN (?:PGP MESSAGE|PGP SIGNED MESSAGE|AGE ENCRYPTED FILE|PKCS7|CMS|ENCRYPTED MESSAGE)-----"
)
# The key in YAML, JSON, ENV and INI.
_SOPS = re.compile(rb"^sops:|\"sops\"\s*:|^sops_(?:version|mac)\s*=|^\[sops\]", re.MULTILINE)

# A marker has seven signs, or as many as the attribute conflict-marker-size says.
_MARKER = re.compile(rb"^(([<=>])\2{6,})(?: [^\r\n]*)?\r?$", re.MULTILINE)


def _find_conflict(data: bytes) -> StandIn | None:
    """Return the first conflict: all three markers at the beginning of lines, in order and equally long.

    A line of `=======` alone may underline a heading.
    """
    begin, size, wanted = 0, 0, b""
    for found in _MARKER.finditer(data) if b"<<<<<<<" in data else ():
        if found[2] == b"<":
            begin, size, wanted = found.start(), len(found[1]), b"="
        elif found[2] == wanted and len(found[1]) == size:
            if wanted == b">":
                first, last = (data.count(b"\n", 0, place) + 1 for place in (begin, found.start()))
                return StandIn(
                    f"contains an unresolved merge conflict, from line {first} to line {last}",
                    "resolve it, and delete the lines with <<<<<<<, ======= and >>>>>>>",
                    first,
                    CONFLICT,
                )
            wanted = b">"
    return None


def extract_lone_path(data: bytes) -> str:
    """Return the relative path that is all of these bytes, as git writes a link as text; else ""."""
    try:
        text = data.decode() if len(data) < _POINTER_MAX else ""
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() and text == text.strip() and not text.startswith("/") else ""


def describe_link(target: str) -> StandIn:
    """Describe a file that contains only the path of another one."""
    return StandIn(
        f"contains only the path of another file ({target}): a symbolic link that git wrote as text",
        "put the file itself there; git makes no links where core.symlinks is false",
        code=LINK,
    )
