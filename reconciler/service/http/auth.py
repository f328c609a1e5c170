"""The credentials on the wire, and their concealment everywhere else.

The Basic header, the key's header or query parameter, replacing both in foreign text, and the keyed hash
that stands for a credential where it must be distinguished from others.

The only module below service/ that reveals a secret. A control character in a header makes HTTP libraries
raise an error that quotes the header, so such a value is refused here, unseen.
"""

import hmac
import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import sha256
from urllib.parse import quote

from reconciler.errors import ServiceError, SettingsError
from reconciler.model.secrets import Secret
from reconciler.model.settings import Auth, Proxy

concealed_min = 4  # characters; replacing shorter secrets in a text would tear it up and tell them
concealed_anywhere_min = 8  # the same in everything that is printed, where a word such as `demo` is common
cut_max = 256  # characters of a secret that are looked for at the end of a value that was cut
hidden = "(secret)"

# What stands for a character in markup: HTML as we write it, XML, and either as others do.
_ENTITIES = {
    "&": ("&amp;",),
    "<": ("&lt;",),
    ">": ("&gt;",),
    '"': ("&quot;", "&#34;"),
    "'": ("&#x27;", "&#39;", "&apos;"),
}


class Concealed:
    """Secrets that no output may show, whoever puts them there."""

    __slots__ = ("_breaks_max", "_long_forms")

    def __init__(self, secrets: Iterable[str]) -> None:
        long = [value for value in secrets if len(value) >= concealed_anywhere_min]
        self._long_forms = _compile_spellings(long, shown=True)
        self._breaks_max = max((value.count(" ") for value in long), default=0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(secret)"

    def conceal_anywhere(self, text: str) -> str:
        """The text of an output without our secrets, whoever put them there: a live field may hold one."""
        return self._long_forms.sub(hidden, text)

    def conceal_pieces(self, pieces: Iterable[str]) -> Iterator[str]:
        """Yield the same for a text that comes in pieces, wherever they end."""
        left = ""
        for piece in pieces:
            left += piece
            # A secret has a line break for a space at most, so what is found before these lines is whole.
            undecided = _start_of_lines(left, self._breaks_max)
            if not undecided:
                continue
            told, at = [], 0
            for found in self._long_forms.finditer(left):
                if found.start() >= undecided:
                    break
                told += [left[at : found.start()], hidden]
                at = found.end()
            undecided = max(undecided, at)
            yield "".join((*told, left[at:undecided]))
            left = left[undecided:]
        yield self.conceal_anywhere(left)


class Credentials(Concealed):
    """What goes with every request to our own origin, and to no other.

    The login of a proxy is hidden as well, and is sent to the proxy alone (connections.py).
    """

    __slots__ = ("_forms", "headers", "key_in_query")

    def __init__(self, auth: Auth, proxy: Proxy | None = None) -> None:
        username = _reveal_sendable("username", auth.username)
        password = _reveal_sendable("password", auth.password)
        key = _reveal_sendable("api_key", auth.api_key)
        # RFC 7617, 2: the first colon ends the user name, so the rest would be taken for the password.
        if ":" in username:
            raise SettingsError(
                "service.auth.username holds a colon, which the Basic scheme cannot carry.",
                next="check that the user name is not the whole `user:password`.",
            )
        in_header, in_query = auth.send_key != "query", auth.send_key != "header"
        # RFC 9110, 5.5: what other bytes in a header mean is agreed by nobody.
        if in_header and not key.isascii():
            raise SettingsError(
                "service.auth.api_key holds a character that no header can carry.",
                next="check the secret; a key has ASCII letters, digits and signs.",
            )
        basic = b64encode(f"{username}:{password}".encode()).decode()
        self.key_in_query = f"apikey={quote(key, safe='')}" if in_query else ""
        self.headers: tuple[tuple[str, str], ...] = (
            ("Authorization", f"Basic {basic}"),
            *((("x-api-key", key),) if in_header else ()),
        )
        secrets = (key, password, basic, *_of_proxy(proxy))
        self._forms = _compile_spellings(secrets)
        super().__init__(secrets)

    def conceal(self, text: str) -> str:
        """The text with every spelling of our secrets in it replaced: a service may echo what it got."""
        return self._forms.sub(hidden, text)


def spellings_of(secret: Secret) -> re.Pattern[str]:
    """Every spelling of one secret of at least 4 characters, as foreign text and our own output write it."""
    return _compile_spellings((secret.reveal(),), shown=True)


def credential_hash(auth: Auth, origin: str, salt: str) -> str:
    """What tells this credential from others, to nobody without the store's salt: 32 hex digits."""
    # The same user and key at the same origin are one credential, whose requests the service counts
    # together; a new password does not make another one of it.
    known = json.dumps([origin, auth.username.reveal(), auth.api_key.reveal()])
    return hmac.new(salt.encode(), b"credential\0" + known.encode(), sha256).hexdigest()[:32]


def login_of(proxy: Proxy) -> tuple[str, str] | None:
    """User and password for a proxy, to be sent with the Basic scheme to it and to nobody else."""
    if proxy.login is None:
        return None
    user, _, password = proxy.login.reveal().partition(":")
    return user, password


def _start_of_lines(text: str, count: int) -> int:
    """Return where the last so many lines begin, and what follows the last line end."""
    at = len(text)
    for _ in range(count + 1):
        at = text.rfind("\n", 0, at)
        if at < 0:
            return 0
    return at + 1


def _of_proxy(proxy: Proxy | None) -> tuple[str, ...]:
    """What has to be hidden of a proxy's login: a user without a password is a token."""
    login = login_of(proxy) if proxy else None
    if login is None:
        return ()
    both = ":".join(login)
    # A user without a password is a token, and secret itself.
    return (login[1] or login[0], both, b64encode(both.encode()).decode())


def _reveal_sendable(name: str, secret: Secret) -> str:
    value = secret.reveal()
    # Refused unseen: a library that cannot send a header quotes it in its error.
    if not value or not value.isprintable():
        what = "holds a control character" if value else "is empty"
        raise SettingsError(
            f"service.auth.{name} {what}.",
            next="check the secret's source: the variable, file or command that the settings name.",
        )
    return value


def _compile_spellings(secrets: Iterable[str], *, shown: bool = False) -> re.Pattern[str]:
    """Every spelling to hide, those of the longest secret first, so that none is left half replaced.

    With `shown` those too that a text has when it is about to be printed.
    """
    ordered = sorted({value for value in secrets if len(value) >= concealed_min}, key=len, reverse=True)
    forms = "|".join(dict.fromkeys(form for value in ordered for form in _forms_of(value, shown=shown)))
    if not forms:
        return re.compile("(?!)")  # fits nowhere: where there is no secret nothing is replaced
    # Few characters begin a form: to look at one first is quicker than to try a hundred forms wherever it is.
    heads = "".join(map(re.escape, sorted({head for value in ordered for head in _first_characters(value)})))
    return re.compile(f"(?=[{heads}])(?:{forms})")


def _forms_of(value: str, *, shown: bool) -> Iterator[str]:
    yield from _spelling_patterns(value)
    if shown:
        for told in dict.fromkeys((value, _sarif_spelling(value))):
            yield _printed_pattern(told)
            yield _cut_forms(told)


def _first_characters(value: str) -> Iterator[str]:
    """Yield every character that a form of a secret may begin with."""
    yield from (value[0], "%", "\\")  # as it is, percent-encoded, and behind a backslash of any escape
    if value[0] in _ENTITIES:
        yield "&"
    if value[0] == " ":
        yield from "+\n\x1b"  # as queries write it, wrapped, and in a colour
    yield from {value.encode().hex()[0].lower(), value.encode().hex()[0].upper()}
    for form in _in_base64(value.encode()):
        yield form[0]


def _spelling_patterns(value: str) -> Iterator[str]:
    """Yield patterns of a secret as it is, in JSON, in markup, percent-encoded, hexadecimal and in base64.

    Percent-encoded in either letter case, also where only some characters are, and with a plus for a space;
    base64 in both alphabets, at each of the three places in a longer text, without what the neighbours of the
    secret decide.
    """
    data = value.encode()
    yield re.escape(value)
    for ascii_only in (True, False):
        written = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield re.escape(written)
        yield re.escape(written.replace("/", "\\/"))
    yield "".join(_match_either((*_ENTITIES.get(character, ()), character)) for character in value)
    yield "".join(_percent_pattern(character) for character in value)
    yield f"(?i:{data.hex()})"
    yield from map(re.escape, _in_base64(data))


def _in_base64(data: bytes) -> Iterator[str]:
    """Yield what a text in base64 has of a secret: three spellings in each alphabet, by where it begins."""
    for lead in range(3):  # three bytes are four characters
        start = -(-lead * 4 // 3)  # characters that hold bits of what stands before
        end = (lead + len(data)) * 8 // 6  # characters that hold bits of the secret alone
        for encode in (b64encode, urlsafe_b64encode):
            form = encode(bytes(lead) + data + b"\0\0").decode()[start:end]
            if len(form) >= concealed_min:
                yield form


def _sarif_spelling(value: str) -> str:
    """Return a secret as messages of SARIF have it, without placeholders and links (report/sarif.py)."""
    return value.replace("](", "] (").replace("{", "{{").replace("}", "}}")


def _printed_pattern(value: str) -> str:
    """Return the pattern of a secret in printed text: made inert, without orders to a runner, and wrapped.

    One without such characters is printed as it is, and has no pattern of its own.
    """
    if value.isascii() and not set(value) & {*" #:%,", *_ENTITIES}:
        return re.escape(value)
    return "".join(map(_printed_character, value))


def _cut_forms(value: str) -> str:
    """Return the pattern of the beginning of a secret at which a value was cut, as reports do."""
    first, *others = [_printed_character(character) for character in value[:cut_max]]
    at = concealed_min - 1
    optional = "".join(f"(?:{one}" for one in others[at:]) + ")?" * len(others[at:])
    in_an_escape = r"(?:\\{1,2}\w{0,9})?"  # of the next character
    return first + "".join(others[:at]) + optional + in_an_escape + "\u2026"


_COLOUR = r"(?:\x1b\[[0-9;]*m)*"  # each word of a wrapped value has a colour of its own


@lru_cache(1_000)  # each client asks for the same characters again, each several times
def _printed_character(character: str) -> str:
    """Return the pattern of one character as report/escaping.py, JSON and a line break leave it."""
    if character == " ":
        return rf"{_COLOUR}(?: |\n{_COLOUR} *){_COLOUR}"
    units = character.encode("utf-16-be").hex()
    in_json = "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
    escape = character.encode("unicode_escape").decode() if not character.isascii() else ""
    hexadecimal = f"\\x{ord(character):02x}" if character.isascii() else ""
    backslashed = f"\\{character}" if character in '"\\/' else ""
    escape_in_json = escape.replace("\\", "\\\\")
    others = _ENTITIES.get(character, ()) or ((f"%{ord(character):02X}",) if character in "%:," else ())
    return _match_either((*others, backslashed, character, in_json, escape, escape_in_json, hexadecimal))


def _match_either(forms: Iterable[str]) -> str:
    return f"(?:{'|'.join(re.escape(form) for form in forms if form)})"


@lru_cache(1_000)
def _percent_pattern(character: str) -> str:
    encoded = "".join(f"%{byte:02X}" for byte in character.encode())
    plus = "|\\+" if character == " " else ""
    return f"(?:{re.escape(character)}|(?i:{encoded}){plus})"


# --- Secrets of a body in the error that its request ends with ------------------------------------
#
# A service that refuses a body may repeat it in its words: passwords, tokens, keys of callbacks.


# Characters. The service's words were cut and escaped before, so so much of a secret's beginning is enough
# to leave all of them out.
_known_part = 4


def redact_sent_secrets(error: ServiceError, secrets: Iterable[str]) -> bool:
    """Whether the error's words repeat a secret; they are left out of it then."""
    said = f"{error} {error.code}"
    repeats = any(_repeats_secret(secret, said) for secret in secrets if secret)
    if repeats:
        what = "the answer repeats a secret and is left out."
        error.args = (f"{error.method} {error.path} ({error.status}): {what}",)
        error.code = ""
    return repeats


def _repeats_secret(secret: str, said: str) -> bool:
    begins = {form[:_known_part] for form in (secret, quote(secret, safe=""))}
    return any(begin in said for begin in begins) or spellings_of(Secret(secret)).search(said) is not None
