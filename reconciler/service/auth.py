"""The credentials on the wire, and their concealment everywhere else.

Belongs here: the Basic header, the key's header or query parameter, replacing both in foreign text, and the
keyed hash that stands for a credential where it must be told from others.
Not here: where secrets come from (cli/settings.py).

The only module that reveals a secret. A control character in a header makes HTTP libraries raise an
error that quotes the header, so such a value is refused here, unseen.
"""

import hmac
import json
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from urllib.parse import quote

from reconciler.errors import SettingsError
from reconciler.model.settings import Auth, Secret

concealed_min = 4  # characters; replacing shorter secrets in a text would tear it up and tell them
hidden = "(secret)"


class Credentials:
    """What goes with every request to our own origin, and to no other."""

    __slots__ = ("_forms", "headers", "key_in_query")

    def __init__(self, auth: Auth) -> None:
        username = _checked("username", auth.username)
        password = _checked("password", auth.password)
        key = _checked("api_key", auth.api_key)
        if ":" in username:
            raise SettingsError(
                "service.auth.username holds a colon, which the Basic scheme cannot carry.",
                next="check that the user name is not the whole `user:password`.",
            )
        if auth.send_key == "header" and not key.isascii():
            raise SettingsError(
                "service.auth.api_key holds a character that no header can carry.",
                next="check the secret; a key has ASCII letters, digits and signs.",
            )
        basic = b64encode(f"{username}:{password}".encode()).decode()
        in_query = auth.send_key == "query"
        self.key_in_query = f"apikey={quote(key, safe='')}" if in_query else ""
        self.headers: tuple[tuple[str, str], ...] = (
            ("Authorization", f"Basic {basic}"),
            *(() if in_query else (("x-api-key", key),)),
        )
        self._forms = _forms((key, password, basic))

    def __repr__(self) -> str:
        return "Credentials(secret)"

    def conceal(self, text: str) -> str:
        """The text with every spelling of our secrets in it replaced: a service may echo what it got."""
        for form in self._forms:
            text = text.replace(form, hidden)
        return text


def credential_hash(auth: Auth, origin: str, salt: str) -> str:
    """What tells this credential from others, to nobody without the store's salt: 32 hex digits.

    The same user and key at the same origin are one credential, whose requests the service counts
    together; a new password does not make another one of it.
    """
    known = json.dumps([origin, auth.username.reveal(), auth.api_key.reveal()])
    return hmac.new(salt.encode(), b"credential\0" + known.encode(), sha256).hexdigest()[:32]


def _checked(name: str, secret: Secret) -> str:
    value = secret.reveal()
    if not value or not value.isprintable():
        what = "holds a control character" if value else "is empty"
        raise SettingsError(
            f"service.auth.{name} {what}.",
            next="check the secret's source: the variable, file or command that the settings name.",
        )
    return value


def _forms(secrets: Iterable[str]) -> tuple[str, ...]:
    """Every spelling to hide, the longest first, so that none is left half replaced."""
    spellings = {
        form for value in secrets if len(value) >= concealed_min for form in (value, quote(value, safe=""))
    }
    return tuple(sorted(spellings, key=len, reverse=True))
