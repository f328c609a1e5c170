"""URLs as they may be shown, which hold no password, however it was written and whatever else is wrong."""

from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.redact import mask_url

CASES = {
    # as they were meant
    "https://u:PW@h/": "https://(secret)@h/",
    "https://PW@h/v1": "https://(secret)@h/v1",
    "postgresql://u:PW@h:5432/db": "postgresql://u:(secret)@h:5432/db",
    "postgresql://u@h/db?sslmode=require&password=PW": "postgresql://u@h/db?sslmode=require&password=(secret)",
    "mysql+pymysql://u:PW@h/db": "mysql+pymysql://u:(secret)@h/db",
    "https://h/?apikey=PW&a=u:PW": "https://h/?apikey=(secret)&a=(secret)",
    "https://h/#PW": "https://h/#(secret)",
    "https://h/a;token=PW": "https://h/a;token=(secret)",
    # encoded where it should not be, once or twice
    "https://u:PW%40h/": "https://(secret)@h/",
    "https://u%3APW%40h/": "https://(secret)@h/",
    "https://u:PW%2540h/": "https://(secret)@h/",
    "https://u:a%2FPW%40h/": "https://(secret)@h/",
    "https://h/%3Fapikey=PW": "https://h/%3Fapikey=(secret)",
    "postgresql://u:PW%40h/db": "postgresql://u:(secret)@h/db",
    "postgresql://u%3aPW@h/db": "postgresql://u:(secret)@h/db",
    "https://h/?key=a@PW": "https://(secret)",
    "https://h/%3Fkey=a%40PW": "https://(secret)",
    "https://h/%3Fkey=a@PW": "https://(secret)",
    "postgresql://u:a%3FPW@h/db": "postgresql://u:(secret)@h/db",
    # signs of URLs in the password
    "postgresql://u:a/PW@h/db": "postgresql://u:(secret)@h/db",
    "postgresql://u:a?PW#PW@h/db": "postgresql://(secret)",
    "postgresql://u:a@PW@h/db": "postgresql://u:(secret)@h/db",
    # no URL any more
    "https://u:PW": "https://u:(secret)",
    "https://u:PW/": "https://u:(secret)",
    "https://h:443PW/": "https://h:(secret)",
    "u:PW@h": "u:(secret)@h",
    "https//u:PW%40h": "(secret)@h",
    "postgresql:u:PW@h/db": "postgresql:(secret)@h/db",
    "https://u:PW\N{FULLWIDTH COMMERCIAL AT}h/": "https://(secret)@h/",
    "https://PW:x-oauth-basic@h/o/r.git": "https://(secret)@h/o/r.git",
}
PLAIN = (
    "https://api.example.com",
    "https://api.example.com:8443/v1/x",
    "http://127.0.0.1:8480",
    "https://[::1]:8480/x",
    "sqlite:///.reconciler/store.db",
    "sqlite:////var/lib/store.db",
    "sqlite:///:memory:",
    "postgresql://reader@db.example.com:5432/hr?sslmode=verify-full&sslrootcert=/etc/ca.pem",
    "postgresql:///hr?host=/run/postgresql",
    "ldaps://ldap.example.com:636",
    "ftp://example.com/x",
    "",
)


@pytest.mark.parametrize("url", CASES)
def test_what_could_be_a_password_is_not_shown(url: str) -> None:
    assert mask_url(url) == CASES[url]
    assert "PW" not in mask_url(url)


@pytest.mark.parametrize("url", PLAIN)
def test_what_holds_none_is_shown_as_it_is(url: str) -> None:
    """Else nobody could tell what is wrong with it."""
    assert mask_url(url) == url


signs = st.text("ab:/?#[]@!$&'()*+,;=%. \\\n\u00e9", max_size=8)
schemes = st.sampled_from(
    ["https://", "http://", "postgresql://", "mysql+pymysql://", "ldaps://", "HTTPS:/", ""]
)


@given(schemes, signs, signs, signs, st.integers(0, 3), st.integers(0, 2), signs)
def test_no_spelling_of_a_login_is_shown(  # noqa: PLR0917 - one for each part
    scheme: str, user: str, before: str, after: str, encoded: int, at_encoded: int, path: str
) -> None:
    """Whatever stands around the password, and however often it was encoded, with the @ or without."""
    password, at = f"{before}canary{after}", "@"
    for _ in range(encoded):
        password = quote(password, safe="")
    for _ in range(at_encoded):
        at = quote(at, safe="")
    shown = mask_url(f"{scheme}{quote(user, safe='')}:{password}{at}db.example.com/{quote(path)}")

    assert "canary" not in unquote(unquote(unquote(shown)))


@given(schemes, signs, signs, st.sampled_from("?#;"))
def test_no_value_of_a_query_is_shown(scheme: str, before: str, after: str, mark: str) -> None:
    value = quote(f"{before}canary{after}", safe="")

    assert "canary" not in mask_url(f"{scheme}db.example.com/db{mark}key={value}&x={value}#{value}")


@given(st.text(max_size=60))
def test_any_text_is_shown_in_some_way(text: str) -> None:
    """It stands in an error, which must not end in another one."""
    assert isinstance(mask_url(text), str)
