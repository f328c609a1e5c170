"""Servers of LDAP that lie, break or answer half: no row is taken, and the reason is told."""

import socket
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
from directories.ldap_liar import (
    ENTRY,
    EXTENDED,
    INTERMEDIATE,
    Liar,
    Said,
    attribute,
    bound,
    done,
    entry,
    extended,
    integer,
    message,
    page,
    raw,
    reference,
    text,
    tlv,
)
from msgspec import structs

from reconciler.directories.answers import AnswerRows, DirectoryFailed
from reconciler.directories.ldap_search import EMPTY_PAGES_MAX, read_ldap
from reconciler.directories.ldap_wire import LDAP_RESULTS, MESSAGE_MAX, LdapWire
from reconciler.model.directories import LdapDirectory
from reconciler.model.secrets import Secret

BASE = "ou=people,dc=example,dc=com"
LOGIN = {"dn": Secret("cn=canary"), "password": Secret("canary-password")}
JANE = entry(f"uid=jane,{BASE}", attribute("mail", "jane@example.com"))
SAM = entry(f"uid=sam,{BASE}", attribute("mail", "sam@example.com"))


def read(liar: Liar, *, rows_max: int = 1000, **changed: Any) -> AnswerRows:
    directory = LdapDirectory(liar.url, BASE, attributes=("mail", "cn"), timeout_s=30.0)
    return read_ldap("staff", structs.replace(directory, **changed), rows_max=rows_max)


def refused(liar: Liar, **changed: Any) -> str:
    """What is said of a directory that cannot be read; never anything of what it holds, or of a secret."""
    with pytest.raises(DirectoryFailed) as caught:
        read(liar, **changed)
    said = f"{caught.value}\n{caught.value.hint}"
    assert caught.value.hint
    assert not any(word in said for word in ("canary", "jane", "sam@"))
    return said


STRANGE, CLOSED = (
    "does not answer as LDAP requires",
    "closed the connection before its answer was complete",
)
TWICE, ELSEWHERE = "sends an entry twice. It was read 2 times", "a part of the tree is on another server"

# What a server sends for a search -> what is said. Entries that came before are nobody's.
ANSWERS: dict[str, tuple[Sequence[Said], str]] = {
    "nothing": ([], CLOSED),
    "entries, and no end": ([JANE, SAM], CLOSED),
    "half an entry": ([lambda number: JANE(number)[:-9]], CLOSED),
    "half a header": ([raw(b"\x30")], CLOSED),
    "half a length": ([raw(b"\x30\x84\x00")], CLOSED),
    "a goodbye": ([JANE, message(tlv(EXTENDED, integer(52, 0x0A), text(""), text("")), number=0)], CLOSED),
    "HTTP": ([raw(b"HTTP/1.1 400 Bad Request\r\n\r\ncanary")], STRANGE),
    "SSH": ([raw(b"SSH-2.0-OpenSSH_9.6 canary\r\n")], STRANGE),
    "TLS": ([raw(b"\x15\x03\x03\x00\x02\x02\x46")], STRANGE),
    "NUL": ([raw(bytes(64))], STRANGE),
    "an indefinite length": ([raw(b"\x30\x80\x02\x01\x01\x00\x00")], STRANGE),
    "a length of five bytes": ([raw(b"\x30\x85\x00\x00\x00\x00\x05")], STRANGE),
    "a length of 127 bytes": ([raw(b"\x30\xff" + b"\xff" * 127)], STRANGE),
    "a tag of two bytes": ([raw(b"\x3f\x81\x02\x01\x01")], STRANGE),
    "an entry without a limit": ([raw(b"\x30\x84\x7f\xff\xff\xff\x02\x01\x01\x64")], "more than 16 MiB"),
    "an entry beyond the limit": ([raw(b"\x30\x84" + (MESSAGE_MAX + 1).to_bytes(4))], "more than 16 MiB"),
    "an empty message": ([raw(b"\x30\x00")], STRANGE),
    "a number alone": ([message()], STRANGE),
    "four parts": ([message(tlv(ENTRY), page(), page())], STRANGE),
    "no number": ([raw(tlv(0x30, text("1"), tlv(ENTRY)))], STRANGE),
    "an empty number": ([raw(tlv(0x30, tlv(0x02), tlv(ENTRY)))], STRANGE),
    "a number of nine bytes": ([raw(tlv(0x30, tlv(0x02, bytes(9)), tlv(ENTRY)))], STRANGE),
    "the answer to another request": ([lambda _: JANE(7), lambda _: done()(7)], STRANGE),
    "a negative number": ([message(tlv(ENTRY), number=-1)], STRANGE),
    "controls that are none": ([message(tlv(ENTRY), tlv(0xA1))], STRANGE),
    "a part longer than the whole": ([raw(b"\x30\x07\x02\x01\x01\x64\x50\x04\x00")], STRANGE),
    "an entry that is empty": ([message(tlv(ENTRY))], STRANGE),
    "a name that is no text": ([message(tlv(ENTRY, integer(1), tlv(0x30)))], STRANGE),
    "a name without attributes": ([message(tlv(ENTRY, text("cn=a")))], STRANGE),
    "attributes that are none": ([entry("cn=a", text("mail"))], STRANGE),
    "an attribute without values": ([entry("cn=a", tlv(0x30, text("mail")))], STRANGE),
    "values in a list": ([entry("cn=a", tlv(0x30, text("mail"), tlv(0x30, text("x"))))], STRANGE),
    "a value that is a number": ([entry("cn=a", tlv(0x30, text("mail"), tlv(0x31, integer(1))))], STRANGE),
    "a value longer than its set": ([entry("cn=a", tlv(0x30, text("mail"), b"\x31\x03\x04\x05x"))], STRANGE),
    "what follows a bind": ([JANE, bound()], STRANGE),
    "what follows StartTLS": ([JANE, extended()], STRANGE),
    "something between": ([JANE, message(tlv(INTERMEDIATE)), done()], STRANGE),
    "an operation that nobody knows": ([JANE, message(tlv(0x7E))], STRANGE),
    "a request": ([message(tlv(0x63))], STRANGE),
    "an end that is empty": ([JANE, message(tlv(0x65), page())], STRANGE),
    "a result that is text": ([JANE, message(tlv(0x65, text("0"), text(""), text("")), page())], STRANGE),
    "a result without words": ([JANE, message(tlv(0x65, integer(0, 0x0A)), page())], STRANGE),
    "an end without a page": ([JANE, done(controls=b"")], "does not say whether another one follows"),
    "the page of another control": ([JANE, done(controls=page(oid=b"1.2.3"))], "whether another one follows"),
    "a control without a value": (
        [JANE, done(controls=tlv(0xA0, tlv(0x30, text(page.__name__))))],
        "whether",
    ),
    "a control that is empty": ([JANE, done(controls=tlv(0xA0, tlv(0x30)))], "whether another one follows"),
    "a page that is none": (
        [JANE, done(controls=tlv(0xA0, tlv(0x30, text(b"1.2.840.113556.1.4.319"), text("x"))))],
        STRANGE,
    ),
    "a page without a cookie": (
        [JANE, done(controls=tlv(0xA0, tlv(0x30, text(b"1.2.840.113556.1.4.319"), text(tlv(0x30)))))],
        STRANGE,
    ),
    "a referral": ([done(10, more=tlv(0xA3, text("ldap://canary.example.com")))], ELSEWHERE),
    "a reference": ([reference("ldap://canary.example.com/ou=x"), done()], ELSEWHERE),
    "a reference after entries": ([JANE, SAM, reference("ldap://canary.example.com"), done()], ELSEWHERE),
    "a reference without an address": ([JANE, reference(), done()], ELSEWHERE),
    "an entry twice": ([JANE, SAM, JANE, done()], TWICE),
    "an entry in other letters": ([JANE, entry(f"UID=Jane,{BASE.upper()}"), done()], TWICE),
    "an attribute that nobody asked for": (
        [entry("cn=a", attribute("userPassword", "canary")), done()],
        "returns the attribute userpassword, which `attributes` does not name",
    ),
    "an attribute with an escape in its name": (
        [entry("cn=a", attribute("x\x1b]0;\x07", "canary")), done()],
        "returns the attribute x\\x1b]0;\\x07",
    ),
    "an attribute without a name": (
        [entry("cn=a", attribute("", "canary")), done()],
        "returns the attribute",
    ),
    "entries, and the limit in time": ([JANE, SAM, done(3)], "the server's time limit was reached"),
    "entries, and the limit in number": ([JANE, SAM, done(4)], "the server's limit of entries was reached"),
    "entries, and a limit of somebody": ([JANE, SAM, done(11)], "an administrative limit was reached"),
    "an unknown result": ([JANE, done(4096)], "with an unknown result code"),
    "a negative result": ([JANE, done(-1)], "with an unknown result code"),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_an_answer_that_is_not_the_whole_is_none(case: str) -> None:
    """Half of the people would look like the deletion of the others."""
    answers, words = ANSWERS[case]
    with Liar([answers]) as liar:
        assert words in refused(liar)


@pytest.mark.parametrize("code", LDAP_RESULTS)
def test_every_result_is_told_with_what_to_do(code: int) -> None:
    what, hint = LDAP_RESULTS[code]
    with Liar([[JANE, done(code)]]) as liar:
        said = refused(liar)

    assert what in said
    assert f"(LDAP result {code})" in said
    assert said.endswith(hint)


# What a server says to a bind -> what is said. The search is not sent.
BINDS: dict[str, tuple[Sequence[Said], str]] = {
    "no": ([bound(49)], "does not accept the DN and password"),
    "another way": ([bound(14)], "an authentication method that is not supported"),
    "encrypt": ([bound(13)], "requires encryption"),
    "a search": ([done()], STRANGE),
    "an entry": ([JANE, bound()], STRANGE),
    "nothing": ([], CLOSED),
}


@pytest.mark.parametrize("case", BINDS)
def test_a_bind_that_is_not_answered_with_yes_ends_it(case: str) -> None:
    answers, words = BINDS[case]
    with Liar([answers]) as liar:
        assert words in refused(liar, **LOGIN)
    assert len(liar.asked[0]) == 1


# What a server says to StartTLS -> what is said. The password is not sent.
STARTS: dict[str, tuple[Sequence[Said], str]] = {
    "no": ([extended(2)], "the server does not understand the request"),
    "busy": ([extended(51)], "the server is busy"),
    "a bind": ([bound()], STRANGE),
    "yes, and more in the clear": ([extended(), bound()], STRANGE),
    "yes, and half a message": ([extended(), raw(b"\x30")], STRANGE),
    "yes, and no TLS": ([extended()], "TLS handshake failed"),
}


@pytest.mark.parametrize("case", STARTS)
def test_nothing_is_sent_where_encryption_was_wanted_and_is_not_there(case: str) -> None:
    """What came in the clear could have been put in by anybody on the way."""
    answers, words = STARTS[case]
    with Liar([answers]) as liar:
        assert words in refused(liar, start_tls=True, **LOGIN)
    assert not any(b"canary" in request for request in liar.asked[0])


def test_pages_go_on_until_there_is_no_cookie() -> None:
    """An empty page is none, and a server may use one cookie for all of them."""
    pages = [[JANE, done(controls=page(b"same"))], [done(controls=page(b"same"))], [SAM, done()]]
    with Liar(pages) as liar:
        answer = read(liar)

    assert [row[1] for row in answer.rows] == ["jane@example.com", "sam@example.com"]
    assert [b"same" in request for request in liar.asked[0][:3]] == [False, True, True]


def test_pages_that_do_not_end_are_refused() -> None:
    with Liar([[done(controls=page(b"on"))]] * (EMPTY_PAGES_MAX + 2)) as liar:
        assert "sends empty pages without an end" in refused(liar)


def test_a_page_that_comes_again_is_noticed() -> None:
    with Liar([[JANE, done(controls=page(b"on"))], [JANE, done(controls=page(b"on"))]]) as liar:
        assert TWICE in refused(liar)


def test_a_directory_that_changes_while_it_is_read_is_read_once_more() -> None:
    with Liar([[JANE, SAM, JANE, done()]], again=[[JANE, SAM, done()]]) as liar:
        assert len(read(liar).rows) == 2
    assert len(liar.asked) == 2


def test_a_limit_on_a_later_page_is_no_end() -> None:
    with Liar([[JANE, done(controls=page(b"on"))], [SAM, done(4)]]) as liar:
        assert "the server's limit of entries was reached" in refused(liar)


def test_more_entries_than_the_limit_are_refused() -> None:
    with Liar([[JANE, SAM, done()]]) as liar:
        assert "more than 1 entries, which is the limit" in refused(liar, rows_max=1)


@pytest.mark.parametrize(
    "liar", [Liar([], silent=True), Liar([[JANE]], silent=True), Liar([[JANE]], drips_s=0.02)]
)
def test_a_server_has_so_much_time_for_an_answer(liar: Liar) -> None:
    """Counted to its end: one that sends a byte now and then is late as well."""
    with liar:
        assert "gave no complete answer in time" in refused(liar, timeout_s=0.15)


@pytest.mark.parametrize("pause_s", [0.1, 0.2])
def test_all_pages_together_have_the_time_of_one_answer(pause_s: float) -> None:
    """An entry a page, each page in time: counted anew for each, the reading would last for ever."""
    people = [
        entry(f"uid=p{number},{BASE}", attribute("mail", f"p{number}@example.com")) for number in range(200)
    ]
    with Liar([[one, done(controls=page(b"on"))] for one in people], pause_s=pause_s) as liar:
        assert "gave no complete answer in time" in refused(liar, timeout_s=0.5)
    assert len(liar.asked[0]) < 10


def test_a_server_that_knows_no_pages_has_to_say_so() -> None:
    """Otherwise it answers what it likes, and nobody sees where that ends: the control is critical."""
    with Liar([[JANE, done()]]) as liar:
        read(liar)
    assert text(b"1.2.840.113556.1.4.319") + b"\x01\x01\xff" in liar.asked[0][0]


def test_nothing_is_sent_in_the_clear_to_an_address_that_is_not_of_this_machine() -> None:
    """0.0.0.0 leads here, and says so nowhere."""
    with Liar([[JANE, done()]]) as liar:
        url = liar.url.replace("127.0.0.1", "0.0.0.0")  # noqa: S104 - nobody listens there
        assert "anyone on the network" in refused(liar, url=url, **LOGIN)
    assert liar.asked == []


def test_all_answers_together_have_a_limit() -> None:
    """A server that never ends would take all memory."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        threading.Thread(target=theirs.sendall, args=(JANE(1) * 30,), daemon=True).start()
        wire = LdapWire(ours, time.monotonic() + 5.0, bytes_max=len(JANE(1)) * 10)
        with pytest.raises(DirectoryFailed, match="which is the limit"):
            list(wire.ask(lambda _: b"x"))


@pytest.mark.parametrize(
    ("attributes", "cell", "held"),
    [
        ([], "", None),
        ([attribute("mail")], "", None),
        ([attribute("mail", "")], "", None),
        ([attribute("MAIL", "x")], "x", None),
        ([attribute("mail;lang-de", "x")], "", None),
        ([attribute("mail;lang-de", "x"), attribute("mail", "y")], "y", None),
        ([attribute("mail", "a\0b")], "a\0b", None),
        ([attribute("mail", b"\xff")], "?", "bytes that are not UTF-8"),
        ([attribute("mail", b"\xed\xa0\x80")], "?", "bytes that are not UTF-8"),
        ([attribute("mail", "x", "y")], "?", "several values"),
        ([attribute("mail", "x", "x")], "?", "several values"),
        ([attribute("mail", "x"), attribute("mail", "y")], "?", "several values"),
        ([attribute("mail", "x"), attribute("Mail", "y")], "?", "several values"),
        ([attribute("mail", b"\xff"), attribute("mail", "y")], "?", "several values"),
        ([attribute("mail;range=0-1", "x", "y")], "?", "several values"),
        ([attribute("mail;range=0-0", "x")], "?", "several values"),
        ([attribute("mail"), attribute("mail;range=0-1", "x", "y")], "?", "several values"),
    ],
)
def test_a_cell_is_one_text_or_says_why_it_is_none(
    attributes: list[bytes], cell: str, held: str | None
) -> None:
    with Liar([[entry("cn=a", *attributes), SAM, done()]]) as liar:
        answer = read(liar)

    assert answer.rows == (["cn=a", cell, ""], [f"uid=sam,{BASE}", "sam@example.com", ""])
    assert answer.unusable == ({} if held is None else {0: {1: held}})


@pytest.mark.parametrize(
    ("dn", "cell", "name"),
    [
        ("cn=Zoë", "cn=Zoë", "cn=Zoë"),
        ("cn=a\x1b[2J", "cn=a\x1b[2J", "cn=a\\x1b[2J"),
        ("cn=a\nb", "cn=a\nb", "cn=a\\nb"),
        ("cn=\u202eb", "cn=\u202eb", "cn=\\u202eb"),
        (b"cn=\xff", "?", "cn=\\xff"),
        ("", "", ""),
        ("cn=" + "x" * 500, "cn=" + "x" * 500, "cn=" + "x" * 196 + "…"),
    ],
)
def test_the_place_of_an_entry_is_its_name_with_nothing_that_acts(
    dn: str | bytes, cell: str, name: str
) -> None:
    with Liar([[entry(dn), done()]]) as liar:
        answer = read(liar)

    assert answer.rows[0][0] == cell
    assert answer.names == (name,)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"dn": Secret("cn=canary")}, "one of `dn` and `password` is missing"),
        ({"password": Secret("canary-password")}, "one of `dn` and `password` is missing"),
        ({"dn": Secret("cn=canary"), "password": Secret("")}, "one of `dn` and `password` is missing"),
        ({"dn": Secret("cn=canary"), "password": Secret("canary\x07")}, "cannot be sent (RFC 4013)"),
        ({"attributes": ("mail", "Mail")}, "Mail is in `attributes` twice"),
        ({"attributes": ("cn;b;a", "cn;a;b")}, "cn;a;b is in `attributes` twice"),
        ({"attributes": ("DN",)}, "DN is in `attributes` twice, or is the column `dn`"),
        *(
            ({"attributes": (name,)}, "is not the name of an attribute")
            for name in ("*", "+", "", "1.1", "a b", "é")
        ),
        ({"url": "ldap://ldap.example.com"}, "anyone on the network could read"),
        ({"url": "ldap://192.0.2.1"}, "anyone on the network could read"),
        ({"url": "ldap://127.0.0.1.example.com"}, "anyone on the network could read"),
        ({"url": "ldaps://127.0.0.1", "start_tls": True}, "`start_tls` asks for nothing"),
        *(
            ({"url": url}, "`url`")
            for url in (
                "http://127.0.0.1",
                "ldapi:///",
                "ldap://",
                "ldap://canary:canary@127.0.0.1",
                "ldap://127.0.0.1/ou=people",
                "ldap://127.0.0.1?x",
                "ldap://127.0.0.1:99999",
                "ldap://[::1",
                "127.0.0.1",
                "",
                "ldap://127.0.0.1\n.example.com",
                "ldap://127.0.0.1\\.example.com",
                "ldap://127.0.0.1 ",
                "ldap://\uff11.example.com",
            )
        ),
        *(
            ({"filter": text}, "`filter` or `base` is not as LDAP writes them")
            for text in (
                *("", "cn=*", "(cn=*", "(cn=a)(cn=b)", "((cn=a))", "()", "(&)", "(|)", "(!(cn=a)(cn=b))"),
                *("(=x)", "(x y=1)", "(cn=a(b)", "(cn=\\zz)", "(cn=\\5)", "(cn=a\0)", "(" * 5000, "(cn)"),
                *("(:=x)", "(&(cn=a)(=b))", "(" * 2000 + "cn=a" + ")" * 2000),
            )
        ),
        ({"url": "ldaps://127.0.0.1", "ca": "/nowhere/ca.pem"}, "its `ca` cannot be read"),
        ({"url": "ldaps://127.0.0.1", "ca": __file__}, "its `ca` holds no certificate in the form PEM"),
        ({"url": "ldaps://127.0.0.1", "ca": "a\0b"}, "its `ca` cannot be read"),
    ],
)
def test_what_the_settings_cannot_mean_is_told_before_anybody_is_called(changed: Any, words: str) -> None:
    with Liar([[bound()], [JANE, done()]]) as liar:
        assert words in refused(liar, **changed)
    assert liar.asked == []
