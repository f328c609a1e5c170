"""What somebody wants to be otherwise about a callback, and what that changes."""

from typing import Literal

from msgspec import Struct

from reconciler.model.settings import Secret


class CallbackEdit(Struct, frozen=True):
    """New values of a callback's fields; None leaves one as it is. `email` "" takes the address away.

    `key` is a new key, `no_key` that there is none any more, `key_in` how the key travels.
    """

    name: str | None = None
    url: str | None = None
    content_type: Literal["json", "xml"] | None = None
    retries: bool | None = None
    email: str | None = None
    on_reply: bool | None = None
    on_undeliverable: bool | None = None
    key: Secret | None = None
    no_key: bool = False
    key_in: Literal["header", "query"] | None = None


class FieldEdit(Struct, frozen=True):
    """One field before and after, as it may be shown: a key is never its own text."""

    field: str
    before: str
    after: str
