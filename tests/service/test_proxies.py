"""Which proxy the environment names, and what the address of a proxy may be."""

import pytest

from reconciler.service.http import urls
from reconciler.service.http.connections import ProxyChoice, choose_proxy, is_exempt, parse_proxy, show_proxy
from reconciler.service.http.urls import parse_base_url

API = "https://api.example.com"
P = "http://proxy.example.com:3128"
Q = "http://other.example.com:3128"

CHOICES = {
    "nothing is set": ({}, API, ProxyChoice()),
    "in capitals": ({"HTTPS_PROXY": P}, API, ProxyChoice("HTTPS_PROXY", P)),
    "in small letters": ({"https_proxy": P}, API, ProxyChoice("https_proxy", P)),
    "small letters go first": ({"https_proxy": P, "HTTPS_PROXY": Q}, API, ProxyChoice("https_proxy", P)),
    "an empty one is not set": ({"https_proxy": "", "HTTPS_PROXY": P}, API, ProxyChoice("HTTPS_PROXY", P)),
    "one for everything": ({"ALL_PROXY": P}, API, ProxyChoice("ALL_PROXY", P)),
    "the one for https goes first": ({"all_proxy": Q, "HTTPS_PROXY": P}, API, ProxyChoice("HTTPS_PROXY", P)),
    "the one for http is not for https": ({"HTTP_PROXY": P, "http_proxy": P}, API, ProxyChoice()),
    "plain http": (
        {"HTTP_PROXY": P, "HTTPS_PROXY": Q},
        "http://api.example.com",
        ProxyChoice("HTTP_PROXY", P),
    ),
    "plain http in CGI": (
        {"HTTP_PROXY": P, "REQUEST_METHOD": "GET"},
        "http://api.example.com",
        ProxyChoice(),
    ),
    "plain http in CGI, in small letters": (
        {"http_proxy": P, "HTTP_PROXY": Q, "REQUEST_METHOD": ""},
        "http://api.example.com",
        ProxyChoice("http_proxy", P),
    ),
    "without": (
        {"HTTPS_PROXY": P, "NO_PROXY": "example.com"},
        API,
        ProxyChoice("HTTPS_PROXY", why="NO_PROXY names api.example.com"),
    ),
    "without, small letters first": (
        {"HTTPS_PROXY": P, "no_proxy": "example.org", "NO_PROXY": "*"},
        API,
        ProxyChoice("HTTPS_PROXY", P),
    ),
    "this machine by address": (
        {"HTTPS_PROXY": P},
        "https://127.0.0.1:8443",
        ProxyChoice("HTTPS_PROXY", why="127.0.0.1 is this machine"),
    ),
    "this machine by IPv6": (
        {"ALL_PROXY": P},
        "https://[::1]",
        ProxyChoice("ALL_PROXY", why="[::1] is this machine"),
    ),
    "this machine by name": (
        {"HTTP_PROXY": P},
        "http://localhost:8480",
        ProxyChoice("HTTP_PROXY", why="localhost is this machine"),
    ),
    "this machine, whatever NO_PROXY says": (
        {"HTTPS_PROXY": P, "NO_PROXY": "example.com"},
        "https://LOCALHOST",
        ProxyChoice("HTTPS_PROXY", why="localhost is this machine"),
    ),
}


@pytest.mark.parametrize("case", CHOICES)
def test_variables_are_read_as_others_read_them(case: str) -> None:
    """Whoever set them for curl, Go or Python finds the same here; `proxies.py` says where those differ."""
    environ, address, expected = CHOICES[case]
    assert choose_proxy(parse_base_url(address), environ) == expected


EXEMPT = {
    "": False,
    " , ,": False,
    "*": True,
    "example.org,*": True,
    "api.example.com": True,
    "API.Example.COM": True,
    "example.com": True,
    ".example.com": True,
    "*.example.com": True,
    "example.com.": True,
    "example.org  example.com": True,
    "ple.com": False,
    "pi.example.com": False,
    "sub.api.example.com": False,
    "com.example": False,
    "api.example.com:443": True,
    "api.example.com:8443": False,
    "example.com:443": True,
    "*.": False,
    ".": False,
    ":443": False,
    "10.0.0.0/8": False,
    "https://api.example.com": False,
}


@pytest.mark.parametrize("listed", EXEMPT)
def test_a_name_of_no_proxy_means_itself_and_all_below_it(listed: str) -> None:
    assert is_exempt(listed, "api.example.com", 443) == EXEMPT[listed]


@pytest.mark.parametrize(
    ("listed", "host", "expected"),
    [
        ("192.0.2.7", "192.0.2.7", True),
        ("192.0.2.7", "192.0.2.70", False),
        ("192.0.2.0/24", "192.0.2.7", True),
        ("192.0.2.1/24", "192.0.2.7", True),
        ("192.0.2.0/33", "192.0.2.7", False),
        ("192.0.2.7:443", "192.0.2.7", True),
        ("192.0.2.7:80", "192.0.2.7", False),
        (".2.7", "192.0.2.7", True),
        ("2001:db8::/32", "[2001:db8::1]", True),
        ("2001:DB8:0::1", "[2001:db8::1]", True),
        ("[2001:db8::1]", "[2001:db8::1]", True),
        ("[2001:db8::1]:443", "[2001:db8::1]", True),
        ("[2001:db8::1]:80", "[2001:db8::1]", False),
        ("2001:db8::2", "[2001:db8::1]", False),
    ],
)
def test_addresses_and_networks_of_no_proxy_are_compared_as_numbers(
    listed: str, host: str, *, expected: bool
) -> None:
    assert is_exempt(listed, host, 443) == expected


@pytest.mark.parametrize(
    ("text", "address", "login"),
    [
        ("http://proxy.example.com:3128", "http://proxy.example.com:3128", None),
        ("HTTP://Proxy.Example.com", "http://proxy.example.com:80", None),
        ("https://proxy.example.com/", "https://proxy.example.com:443", None),
        ("http://[2001:db8::1]:3128", "http://[2001:db8::1]:3128", None),
        ("http://me:pass@proxy.example.com:3128", "http://proxy.example.com:3128", "me:pass"),
        ("http://me:p%40ss%2Fw:rd@proxy.example.com:3128", "http://proxy.example.com:3128", "me:p@ss/w:rd"),
        ("http://me:p@ss@proxy.example.com:3128", "http://proxy.example.com:3128", "me:p@ss"),
        ("http://token@proxy.example.com:3128", "http://proxy.example.com:3128", "token:"),
    ],
)
def test_the_url_of_a_proxy_is_taken_apart(text: str, address: str, login: str | None) -> None:
    found = parse_proxy(text, "HTTPS_PROXY")

    assert (found.address, found.login.reveal() if found.login else None) == (address, login)
    assert str(found) == f"{address} (HTTPS_PROXY)"
    assert "pass" not in repr(found)


def test_a_variable_may_leave_out_the_scheme_and_a_setting_may_not() -> None:
    """Other programs take `proxy:3128` from a variable; a setting is written for us and says all of it."""
    assert parse_proxy("proxy.example.com:3128", "ALL_PROXY", scheme="http").address == P
    with pytest.raises(urls.UnusableUrl):
        parse_proxy("proxy.example.com:3128", "service.network.proxy")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("socks5://me:canary@proxy.example.com:1080", "of the kind socks5 are not supported"),
        ("http://me:canary@proxy.example.com:3128/proxy.pac", "more than a host and a port"),
        ("http://me:canary@proxy.example.com:3128?a=b", "more than a host and a port"),
        ("http://me:canary#@proxy.example.com:3128", "more than a host and a port"),
        ("http://me:canary@proxy.example.com:0", "host or port"),
        ("http://me:canary@proxy.example.com:99999", "host or port"),
        ("http://me:canary@proxy..example.com", "host or port"),
        ("http://me:canary@", "host or port"),
        ("http://:canary@proxy.example.com", "Basic scheme"),
        ("http://m%3Ae:canary@proxy.example.com", "Basic scheme"),
        ("http://me:canary%0d%0aX-Evil:1@proxy.example.com", "Basic scheme"),
        ("http://me:can ary@proxy.example.com", "a character that no address holds"),
        ("http://me:canary\r\n@proxy.example.com", "a character that no address holds"),
        ("canary", "is not a URL"),
        ("", "is not a URL"),
    ],
)
def test_what_is_no_proxy_is_refused_and_never_shown(text: str, words: str) -> None:
    """To connect directly instead would go round whatever the proxy is there for."""
    with pytest.raises(urls.UnusableUrl) as raised:
        parse_proxy(text, "HTTPS_PROXY")

    assert words in str(raised.value)
    assert "canary" not in f"{raised.value}{raised.value.next}{raised.value!r}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (P, P),
        ("env", "env"),
        ("http://me:canary@proxy.example.com", "http://(secret)@proxy.example.com"),
        ("http://me:can://ary@proxy.example.com", "http://(secret)@proxy.example.com"),
        ("me:canary@proxy.example.com", "(secret)@proxy.example.com"),
    ],
)
def test_a_proxy_is_shown_without_its_login(text: str, expected: str) -> None:
    assert show_proxy(text) == expected
