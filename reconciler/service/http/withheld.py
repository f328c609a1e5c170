"""Keeps the secrets of a body out of the error that its request ends with.

A service that refuses a body may repeat it in its words. The credentials of every call are concealed by
auth.py; what stands here is about the secrets that are sent as fields: passwords, tokens, keys of callbacks.
"""

from collections.abc import Iterable
from urllib.parse import quote

from reconciler.errors import ServiceError
from reconciler.model.settings import Secret
from reconciler.service.http.auth import spellings_of

# Characters. The service's words were cut and escaped before, so so much of a secret's beginning is enough
# to leave all of them out.
_known_part = 4


def withhold(error: ServiceError, secrets: Iterable[str]) -> bool:
    """Whether the error's words repeat a secret; they are left out of it then."""
    said = f"{error} {error.code}"
    repeats = any(_is_in(secret, said) for secret in secrets if secret)
    if repeats:
        what = "the answer repeats a secret and is left out."
        error.args = (f"{error.method} {error.path} ({error.status}): {what}",)
        error.code = ""
    return repeats


def _is_in(secret: str, said: str) -> bool:
    begins = {form[:_known_part] for form in (secret, quote(secret, safe=""))}
    return any(begin in said for begin in begins) or spellings_of(Secret(secret)).search(said) is not None
