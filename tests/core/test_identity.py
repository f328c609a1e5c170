"""Which two identities are one, against the table of identity_table.py, and what only looks the same."""

import random
from typing import get_args

import effort
import growth
import pytest
import tally
from core.identity_table import COUNTRIES, DOMAINS, LETTERS, NEAR, near_miss, one_spelling, spellings

from reconciler.core.compare.identity import (
    appearance_of,
    email_key,
    identity_key,
    identity_of,
    identity_text,
    looks_like,
    may_be_same,
    number_key,
    search_texts,
)
from reconciler.core.text import fold_case, trim_edges
from reconciler.model.documents import Scalar
from reconciler.model.field_types import FIELD_TYPES, FieldType, NormalForm
from reconciler.model.kind import IdentityPath
from reconciler.model.kinds import CONTACT
from reconciler.model.settings import Identity

MAIL = CONTACT.identity_path("workEmailAddress1")
MOBILE = CONTACT.identity_path("workMobilePhone1")
SECTION = "pairs of identities"
pairs = effort.count(small=4_000, full=12_000)


@pytest.mark.parametrize("start", range(4))
def test_two_addresses_are_one_where_the_table_says_so(start: int) -> None:
    """Two mailboxes that are one adopt a stranger; one that is two makes somebody twice."""
    chance = random.Random(start)
    wrong = []
    for _ in range(pairs // 4):
        letters = [chance.choice(LETTERS) for _ in range(chance.randint(1, 8))]
        if chance.random() < 0.5:
            first_of = chance.choice(NEAR)[0]
            letters[chance.randrange(len(letters))] = next(one for one in LETTERS if one[0] == first_of)
        domain = chance.choice(DOMAINS)
        kind = chance.choice(("one", "another letter", "another domain", "a plus sign"))
        others, beside, end = letters, domain, ""
        if kind == "another letter":
            others = near_miss(chance, letters)
        elif kind == "another domain":
            beside = chance.choice([one for one in DOMAINS if one != domain])
        elif kind == "a plus sign":
            end = "+alerts"
        first = f"{one_spelling(chance, letters)}@{chance.choice(domain)}"
        second = f"{one_spelling(chance, others)}{end}@{chance.choice(beside)}"
        same = identity_key(MAIL, first) == identity_key(MAIL, second)
        tally.count(SECTION, f"addresses: {kind}")
        if same is not (kind == "one"):
            wrong.append((kind, ascii(first), ascii(second)))

    assert wrong == []


def test_two_numbers_are_one_where_the_table_says_so() -> None:
    """In another spelling it is the same telephone; with another digit or country it is somebody else's."""
    wrong = []
    for row in COUNTRIES:
        country, code, number, at_home = row
        ways = spellings(*row)
        for elsewhere in (one for one in COUNTRIES if one[1] != code):
            tally.count(SECTION, "numbers: at home in another country")
            if _number(at_home, elsewhere[0]) == _number(at_home, country):
                wrong.append(("elsewhere", country, elsewhere[0], at_home))
        for text, beside in ways:
            for other, around in ways:
                tally.count(SECTION, "numbers: one")
                if _number(text, beside) != _number(other, around):
                    wrong.append(("one", country, ascii(text), ascii(other)))
            last = f"{number[:-1]}{(int(number[-1]) + 1) % 10}"
            abroad = next(one for one in COUNTRIES if one[1] != code)
            for kind, different in (
                ("another digit", f"+{code}{last}"),
                ("another country", f"+{abroad[1]}{number}"),
                ("an extension", f"+{code}{number} ext. 7"),
            ):
                tally.count(SECTION, f"numbers: {kind}")
                if _number(text, beside) == _number(different, ""):
                    wrong.append((kind, country, ascii(text), ascii(different)))

    assert wrong == []


def _number(text: str, country: str) -> str:
    return identity_text(MOBILE, {"workMobilePhone1": text, "workCountry": country})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("strau\u00df@example.com", "strauss@example.com"),
        ("jo@stra\u00dfe.example", "jo@strasse.example"),
        ("\u0131nes@example.com", "ines@example.com"),
        ("\ufb01nn@example.com", "finn@example.com"),
        ("\uff41nn@example.com", "ann@example.com"),
        ("\u0430nn@example.com", "ann@example.com"),
        ("jo@xn--strae-oqa.example", "jo@strasse.example"),
        ("jo\u200bhn@example.com", "john@example.com"),
        ("jo@\u4f8b\u3048\u3002example", "jo@\u4f8b\u3048.example"),
    ],
)
def test_what_only_looks_the_same_looks_the_same_and_is_not(one: str, other: str) -> None:
    """An adoption would overwrite a stranger; silence would hide a slip."""
    assert looks_like(MAIL, {MAIL: one}) == looks_like(MAIL, {MAIL: other})
    assert email_key(one) != email_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("jane+a@example.com", "jane@example.com"), ("j.d@gmail.com", "jd@gmail.com")]
)
def test_aliases_of_a_provider_do_not_even_look_the_same(one: str, other: str) -> None:
    """That a provider delivers both to one person is nothing that an address says."""
    assert looks_like(MAIL, {MAIL: one}) != looks_like(MAIL, {MAIL: other})


def test_whoever_is_one_looks_the_same() -> None:
    """Parts of manifests are compared by how identities look: that must not miss one that is the same."""
    chance = random.Random(7)
    for _ in range(pairs // 4):
        letters = [chance.choice(LETTERS) for _ in range(chance.randint(1, 8))]
        domain = chance.choice(DOMAINS)
        first, second = (f"{one_spelling(chance, letters)}@{chance.choice(domain)}" for _ in range(2))
        assert appearance_of((MAIL,), {MAIL: first}) == appearance_of((MAIL,), {MAIL: second})


def test_letter_case_is_mapped_letter_by_letter() -> None:
    """No letter becomes two, and none becomes another because of what stands beside it."""
    assert [fold_case(one) for one in ("\u0130", "\u0131", "\u017f", "\u00b5", "\ufb01")] == [
        "\u0130", "\u0131", "\u017f", "\u00b5", "\ufb01",
    ]  # fmt: skip
    assert fold_case("\u039f\u03a3") == fold_case("\u03bf\u03c2") == "\u03bf\u03c3"
    assert all(len(fold_case(chr(code))) == 1 for code in range(0x110000))


@pytest.mark.parametrize(
    ("text", "area", "region", "key"),
    [
        ("9555 1234", "03", "AU", "+61395551234"),
        ("(03) 9555 1234", "03", "AU", "+61395551234"),
        ("0491 570 156", "", "", "0491570156"),
        ("0011 61 491 570 156", "", "AU", "+61491570156"),
        ("6561234567", "", "SG", "+6561234567"),
        ("6561234567", "", "US", "+16561234567"),
        ("15512345678", "", "CN", "+8615512345678"),
        ("+61 (0)491 570 156", "", "", "+61491570156"),
        ("1-800-FLOWERS", "", "US", ""),
        ("0491570156 / 0491570157", "", "AU", "04915701560491570157"),
        ("n/a", "", "AU", ""),
        ("4" * 10_000, "", "AU", ""),
    ],
)
def test_a_number_is_read_in_its_country(text: str, area: str, region: str, key: str) -> None:
    """What cannot be read as a number there is compared by its digits, and what has none as text."""
    assert number_key(text, area=area, region=region) == key


def test_the_country_of_a_number_is_that_beside_it_and_else_the_setting() -> None:
    """The same digits are another telephone in another country."""
    keys = Identity({"contacts": ("workMobilePhone1", "personalPhone1")}, region="AU").of("contact")
    number = {"workMobilePhone1": "0491 570 156"}

    assert identity_of(keys[0], number) == ("+61491570156",)
    assert identity_of(keys[0], {**number, "workCountry": "Germany"}) == ("+49491570156",)
    assert identity_of(keys[0], {**number, "personalCountry": "NZ"}) == ("+64491570156",)
    assert keys[1][0].beside[1:3] == ("personalCountry", "workPostalCountry")  # type: ignore[attr-defined]  # of an IdentityPath


@pytest.mark.parametrize(
    ("sent", "asked"),
    [
        ("jane@example.com", "jane@example.com"),
        ("jane@example.com.", "jane@example.com"),
        ("jo@b\u00fccher.example", "jo@"),
        ("jo@xn--bcher-kva.example", "jo@"),
        ("strau\u00df@example.com", "strau"),
        ("\u044e\u043b@example.com", ""),
    ],
)
def test_a_search_asks_for_what_every_spelling_contains(sent: str, asked: str) -> None:
    """The service compares texts: asked for one spelling it does not find another, and it is made twice."""
    assert search_texts((MAIL,), {MAIL: sent}).get(MAIL, "") == asked


# Spellings of one value, by the form in which a comparison takes them for one.
SPELLINGS: dict[str, tuple[tuple[Scalar, ...], ...]] = {
    "text": (("Jane", " Jane"), ("e\u0301", "\u00e9")),
    "flag": ((True, "true", "True", "TRUE"), (False, "false", "FALSE ")),
    "number": (("5", "5.0", "05", " 5.00"), ("0", "-0", "0.0"), ("-7", "-7.0", "-07"), ("1.5", "01.50")),
}


@pytest.mark.parametrize("kind", FIELD_TYPES)
def test_what_compares_as_one_value_is_one_identity(kind: FieldType) -> None:
    """A person whose number is written 5 here and 5.0 there would be created a second time."""
    row, wrong = FIELD_TYPES[kind], []
    path = IdentityPath("level", row.key)
    values = SPELLINGS[row.normal]
    for number, spelt in enumerate(values):
        keys = {identity_text(path, {path: one}) for one in spelt}
        asked = {search_texts((path,), {path: one}).get(path, "") for one in spelt}
        found = all(text in trim_edges(str(one)) for text in asked for one in spelt)
        others = {identity_text(path, {path: one}) for other in values[number + 1 :] for one in other}
        if (
            len(keys) > 1
            or keys & others
            or (spelt[0].__class__ is not bool and row.key != "text" and not found)
        ):
            wrong.append((spelt, keys, asked))
    assert wrong == []
    assert {*SPELLINGS} == {*get_args(NormalForm)}


def test_a_search_for_a_number_asks_for_its_last_digits() -> None:
    """Between the last two digits nobody puts a sign; between all others somebody does."""
    for row in COUNTRIES:
        asked = search_texts((MOBILE,), {MOBILE: row[3]})[MOBILE]
        assert all(asked in text for text, _ in spellings(*row) if text.isascii())
    assert search_texts((MOBILE,), {MOBILE: "+61 491 570 156 ext. 7"}) == {MOBILE: "56"}


def test_a_brief_row_that_shows_no_country_is_looked_at_whole() -> None:
    """Its number may be that of another country, and it may be the entity."""
    ours = {"workMobilePhone1": "+61491570156"}

    assert may_be_same((MOBILE,), ours, {"workMobilePhone1": "0491 570 156"})
    assert not may_be_same((MOBILE,), ours, {"workMobilePhone1": "0491 570 156", "workCountry": "Germany"})
    assert not may_be_same((MOBILE,), ours, {"workMobilePhone1": "0491 570 157"})
    assert may_be_same((MOBILE,), ours, {})


def test_identities_of_a_hundred_thousand_people_take_time_in_proportion() -> None:
    """A plan looks at each identity of each row: what is dear once is dear a hundred thousand times."""

    def people(number: int) -> list[dict[str, Scalar]]:
        mails = (f"Person.{one}@b\u00fccher.example" for one in range(number))
        return [{MAIL: mail, "workMobilePhone1": "0491 570 156"} for mail in mails]

    def compared(every: list[dict[str, Scalar]]) -> list[object]:
        keys = ((MAIL,), (MOBILE,))
        return [(identity_of(key, one), appearance_of(key, one)) for one in every for key in keys]

    assert growth.ratio(compared, people, 500) < growth.RATIO_MAX
