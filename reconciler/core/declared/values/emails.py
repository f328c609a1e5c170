"""Whether a text is an e-mail address, by its form alone: nobody is asked, and nothing is sent.

Internationalized addresses are allowed (RFC 6531), and so are domains for examples (example.com).
"""

import re
import unicodedata
from ipaddress import ip_address
from typing import NamedTuple

from reconciler.core.declared.values.finding import Finding

# The plain form that nearly all addresses have. Whatever does not fit is looked at by the library.
_LOCAL = re.compile(r"[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*")
_LOCAL_MAX = 64  # octets (RFC 5321)
_WHOLE_MAX = 254
_FORMS = frozenset({"<wide>", "<narrow>", "<font>", "<circle>", "<super>", "<sub>", "<square>"})
_LIGATURES = frozenset("\ufb00\ufb01\ufb02\ufb03\ufb04\ufb05\ufb06")


class Emails:
    """Checks addresses; what is known of a domain is kept, because a company has few."""

    def __init__(self) -> None:
        self._good: set[str] = set()

    def check(self, text: str) -> Finding | None:
        """Return why a text is no address, or probably none; None where nothing speaks against it."""
        local, at, domain = text.rpartition("@")
        if at and domain in self._good and _plain(local, text):
            return None
        found = _looked_up(text)
        if found is None and _plain(local, text):
            self._good.add(domain)
        return found


def _plain(local: str, text: str) -> bool:
    return len(local) <= _LOCAL_MAX and len(text) <= _WHOLE_MAX and _LOCAL.fullmatch(local) is not None


def _looked_up(text: str) -> Finding | None:
    # Its resolver of names is never imported.
    from email_validator import EmailNotValidError, validate_email  # noqa: PLC0415 - 20 ms, for addresses alone

    hint = "write it like jane.doe@example.com"
    try:
        validate_email(text, check_deliverability=False, globally_deliverable=False, test_environment=True)
    except EmailNotValidError as error:
        why = str(error).rstrip(".")
        return Finding(
            f"is not an e-mail address: {why[:1].lower()}{why[1:]}", hint, impossible=True, code="E402"
        )
    if unlikely := _unlikely(text):
        return Finding(unlikely.what, unlikely.hint or hint, code="E402")
    return None


class _Unlikely(NamedTuple):
    what: str
    hint: str = ""


def _unlikely(text: str) -> _Unlikely | None:
    """Return why mail to an address of the right form probably reaches nobody, or None."""
    local, _, domain = text.rpartition("@")
    if any(map(_is_typographic, text)):
        # Word writes one for an apostrophe, and o\u2019brien@ is another mailbox than o'brien@.
        what = "holds a typographic sign, as word processors put it in the place of ' \" or -"
        return _Unlikely(what, "write the plain sign that the mailbox has")
    if any(map(_is_another_form, text)):
        what = "holds a letter of another form, such as a full-width one or a ligature"
        return _Unlikely(what, "write it with plain letters")
    if "." not in domain:
        return _Unlikely("has no dot behind the @, so mail servers elsewhere do not know it")
    if _is_machine(domain):
        return _Unlikely("has the number of a machine behind the @, and no domain")
    if len(local.encode()) > _LOCAL_MAX:
        return _Unlikely(f"has more than {_LOCAL_MAX} octets before the @, which mail servers refuse")
    if len(text.encode()) > _WHOLE_MAX:
        return _Unlikely(f"has more than {_WHOLE_MAX} octets, which mail servers refuse")
    return None


def _is_typographic(char: str) -> bool:
    """Whether a character is punctuation, a symbol or a blank that no keyboard writes into an address."""
    return not char.isascii() and unicodedata.category(char)[0] in "PSZC"


def _is_another_form(char: str) -> bool:
    """Whether a character is drawn as a letter, and is another one: full-width, raised, of two letters."""
    return not char.isascii() and (
        unicodedata.decomposition(char).partition(" ")[0] in _FORMS or char in _LIGATURES
    )


def _is_machine(domain: str) -> bool:
    try:
        ip_address(domain)
    except ValueError:
        return False
    return True
