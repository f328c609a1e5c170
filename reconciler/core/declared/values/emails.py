"""Whether a text is an e-mail address, by its form alone: nobody is asked, and nothing is sent.

Internationalized addresses are allowed (RFC 6531), and so are domains for examples (example.com).
"""

import re

from reconciler.core.declared.values.finding import Finding

# The plain form that nearly all addresses have. Whatever does not fit is looked at by the library.
_LOCAL = re.compile(r"[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*")
_LOCAL_MAX = 64  # octets (RFC 5321)
_WHOLE_MAX = 254


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
    domain = text.rpartition("@")[2]
    if "." not in domain:
        return Finding("has no dot behind the @, so mail servers elsewhere do not know it", hint, code="E402")
    return None
