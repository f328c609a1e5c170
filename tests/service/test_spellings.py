"""No spelling of a secret passes: quick as we look for them, and wherever a text is cut into pieces.

The spellings are made here by the libraries and the renderers that make them, not by the patterns under test.
"""

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reconciler.cli.console import output
from reconciler.model.secrets import Secret
from reconciler.model.settings import Auth
from reconciler.report import forge, junit, sarif
from reconciler.report.escaping import escape_ci_commands, escape_control
from reconciler.report.html import escape_text
from reconciler.report.lines import line, plain, wrap_lines
from reconciler.service.http import auth
from reconciler.service.http.auth import Credentials, concealed_anywhere_min, hidden

Spell = Callable[[str], str]


def _in_base64(encode: Callable[[bytes], bytes], before: str, after: str = "") -> Spell:
    return lambda secret: encode(f"{before}{secret}{after}".encode()).decode()


def _on_screen(columns: int, before: str) -> Spell:
    return lambda secret: escape_ci_commands(plain(wrap_lines([line(before, secret)], columns)))


SPELLINGS: Mapping[str, Spell] = {
    "as it is": str,
    "percent": lambda secret: quote(secret, safe=""),
    "percent, of a path": quote,
    "percent, all of it": lambda secret: "".join(f"%{byte:02x}" for byte in secret.encode()),
    "query": quote_plus,
    "hexadecimal": lambda secret: secret.encode().hex(),
    "HEXADECIMAL": lambda secret: secret.encode().hex().upper(),
    "JSON": lambda secret: json.dumps(secret)[1:-1],
    "JSON, not ASCII": lambda secret: json.dumps(secret, ensure_ascii=False)[1:-1],
    "JSON of others": lambda secret: json.dumps(secret)[1:-1].replace("/", "\\/"),
    "JSON, printed": lambda secret: output.inert_json(json.dumps(secret, ensure_ascii=False))[1:-2],
    "base64": _in_base64(base64.b64encode, ""),
    "base64, behind one": _in_base64(base64.b64encode, "x"),
    "base64, behind two": _in_base64(base64.b64encode, "us"),
    "base64, in the middle": _in_base64(base64.b64encode, "user:", "\n"),
    "base64 of addresses": _in_base64(base64.urlsafe_b64encode, "", "?"),
    "base64 of addresses, inside": _in_base64(base64.urlsafe_b64encode, "us", "??"),
    "HTML": escape_text,
    "XML": lambda secret: escape(secret, {'"': "&quot;", "'": "&apos;"}),
    "JUnit": junit._escape_xml_text,
    "SARIF": lambda secret: json.dumps(sarif._escape_message(secret), ensure_ascii=False)[1:-1],
    "SARIF, ASCII": lambda secret: json.dumps(sarif._escape_message(secret))[1:-1],
    "GitHub": forge._escape_property,
    "text": lambda secret: escape_ci_commands(escape_control(secret)),
    "screen": _on_screen(40, "a field: "),
    "screen, narrow": _on_screen(9, "  "),
    "cut": lambda secret: escape_ci_commands(escape_control(secret, limit=7)),
    "cut late": lambda secret: escape_ci_commands(escape_control(secret, limit=14)),
}

# Each has what some form writes otherwise, at its beginning and in it.
_CANARIES = (
    "two words of ours",
    "<canary>&'\"{](}",
    "##[canary]::set",
    "%25,:/+~ canary",
    '\\"canary//',
    "password\u3164word",
    "<password\u3164>word",
    "é☃\U00010380-canary",
)


@pytest.mark.parametrize("secret", _CANARIES)
@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_is_hidden_however_it_comes(name: str, secret: str) -> None:
    """At once, in threes, and character by character: a secret may stand where two pieces meet."""
    spelt = SPELLINGS[name](secret)
    _require_hidden(secret, spelt, f"x{spelt}\n\n\n\n\n{spelt}x\n", sizes=(1, 3, 1_000))


@pytest.mark.parametrize("name", ["HTML", "XML"])
def test_a_page_that_quotes_a_secret_is_searched_too(name: str) -> None:
    """A proxy on the way answers in markup, and an error shows some of it."""
    secret = "<canary>&'\""
    credentials = Credentials(Auth(Secret("u"), Secret(secret), Secret("another-key")))

    assert credentials.conceal(f"<p>{SPELLINGS[name](secret)}</p>") == f"<p>{hidden}</p>"


def _require_hidden(secret: str, spelt: str, text: str, *, sizes: Sequence[int]) -> None:
    credentials = Credentials(Auth(Secret("u"), Secret(secret), Secret("another-key")))
    simplest = _looked_for_everywhere(
        secret, base64.b64encode(f"u:{secret}".encode()).decode(), "another-key"
    )
    for size in sizes:
        told = "".join(credentials.conceal_pieces(text[at : at + size] for at in range(0, len(text), size)))

        assert told == simplest.sub(hidden, text)
        assert spelt.strip() not in told


# No break, no control: those are refused before. Words of 1 to 7 characters, so that screens break them.
_WORDS = st.text('aAz09/+-_%"\\#[]({}&<>:=é☃\u3164𐎀', min_size=1, max_size=7)
_SECRETS = (
    st.lists(_WORDS, min_size=1, max_size=4)
    .map(" ".join)
    .filter(lambda one: len(one) >= concealed_anywhere_min and one.isprintable())
)
_FILLERS = st.sampled_from(
    ("", " ", "\n", "x", "\n  ", "::", "%", "\\", "a long line of others\n", "\x1b[2m", hidden)
)
_CUTS = st.lists(st.floats(0, 1), max_size=12)


def _looked_for_everywhere(*secrets: str) -> re.Pattern[str]:
    """Every form tried at every character, as it is simplest."""
    ordered = sorted(secrets, key=len, reverse=True)
    return re.compile("|".join(form for one in ordered for form in auth._forms_of(one, shown=True)))


@st.composite
def _texts(draw: st.DrawFn, *secrets: str) -> str:
    """A text with these secrets in spellings of all kinds, whole and torn, among other things."""
    parts: list[str] = []
    for _ in range(draw(st.integers(1, 8))):
        spelt = SPELLINGS[draw(st.sampled_from(sorted(SPELLINGS)))](draw(st.sampled_from(secrets)))
        torn = draw(st.sampled_from((None, None, None, -1, 3, len(spelt) // 2)))
        parts += [draw(_FILLERS), spelt[:torn]]
    return "".join((*parts, draw(_FILLERS)))


@given(st.data(), _SECRETS, st.sampled_from(("another-key", "another-key-of-ours", "abcdefgh")), _CUTS)
def test_nothing_more_is_told_than_by_looking_everywhere(
    data: st.DataObject, password: str, key: str, cuts: list[float]
) -> None:
    """To look only where a spelling may begin, and at pieces of a text, changes nothing that is told."""
    credentials = Credentials(Auth(Secret("u"), Secret(password), Secret(key)))
    basic = base64.b64encode(f"u:{password}".encode()).decode()
    text = data.draw(_texts(password, key, basic))
    simplest = _looked_for_everywhere(password, key, basic).sub(hidden, text)
    ends = [0, *sorted(int(one * len(text)) for one in cuts), len(text)]

    assert credentials.conceal_anywhere(text) == simplest
    assert "".join(credentials.conceal_pieces(text[at:end] for at, end in pairwise(ends))) == simplest
    assert "".join(credentials.conceal_pieces(text)) == simplest  # character by character


@given(_SECRETS, st.sampled_from(sorted(SPELLINGS)), _FILLERS, _FILLERS, st.integers(1, 9))
def test_no_spelling_of_a_secret_passes(secret: str, name: str, before: str, after: str, size: int) -> None:
    """Whoever printed or encoded it, and however many characters come at once."""
    spelt = SPELLINGS[name](secret)
    # Of what is cut short a start of four characters is a secret, and less is not.
    assume("cut" not in name or (spelt.endswith("\u2026") and spelt[:4] == secret[:4]))
    _require_hidden(secret, spelt, f"{before}{spelt}{after}", sizes=(size,))
