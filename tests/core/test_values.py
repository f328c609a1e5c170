"""What declared values may hold: what is wrong, what is only unlikely, and what passes."""

import random
import subprocess
import sys
from collections.abc import Mapping

import phonenumbers
import pytest
from msgspec import structs

from reconciler.core.compare.identity import region_of_country
from reconciler.core.desired import phone_plans, value_forms
from reconciler.core.desired.resolve import Resolved, resolve_desired
from reconciler.core.rules import Rules
from reconciler.errors import Problem
from reconciler.model.documents import Content, Document, Fields, Manifest, Origin, Place
from reconciler.model.field_types import find_spreadsheet_damage
from reconciler.model.geography import COUNTRY_CODES, COUNTRY_NAMES, zone_names
from reconciler.model.notices import Notice
from reconciler.model.settings import Checks

RULES = Rules(workspaces=frozenset({"ops"}))
MAIL = "jane@example.com"


def _manifest(*documents: Document, defaults: Mapping[str, Fields] | None = None) -> Manifest:
    places = {
        kind: {path: Place("a.yaml", 3, 5) for path in fields} for kind, fields in (defaults or {}).items()
    }
    return Manifest(
        file="a.yaml",
        workspace="ops",
        workspace_place=Place("a.yaml", 2, 1),
        kinds=frozenset({"contact", "resource"}),
        documents=documents,
        defaults=defaults or {},
        default_places=places,
    )


def _person(name: str = "jane", /, **fields: str) -> Document:
    every = {"workEmailAddress1": f"{name}@example.com", **fields}
    places = {path: Place("a.yaml", 10 + number, 5) for number, path in enumerate(every)}
    return Document("contact", name, Place("a.yaml", 9, 3), every, places)


def _told(found: Resolved) -> list[Problem | Notice]:
    return [*found.problems, *found.desired.notices]


def _judged(checks: Checks | None = None, /, **fields: str) -> Resolved:
    """What is said of one contact with these fields."""
    return resolve_desired([_manifest(_person(**fields))], structs.replace(RULES, checks=checks or Checks()))


def _one(checks: Checks | None = None, /, **fields: str) -> Problem | Notice:
    (told,) = _told(_judged(checks, **fields))
    return told


@pytest.mark.parametrize(
    ("number", "what"),
    [
        ("call me maybe", "is not a phone number"),
        ("4.47701E+11", "looks like a number that a spreadsheet rewrote"),
        ("4,47701E+11", "looks like a number that a spreadsheet rewrote"),
        ("#REF!", "is what a spreadsheet shows for a broken cell"),
        ("+", "is not a phone number"),
        ("+999123456789", "has an unknown country code"),
        ("+614", "is too short"),
        ("+6149157015612345", "is too long"),
        ("0491 570 156", "is a national number, and its country is not known"),
    ],
)
def test_a_number_that_nobody_can_dial_is_a_mistake(number: str, what: str) -> None:
    """It would be accepted by the service, and fail in the night in which it is needed."""
    told = _one(workMobilePhone1=number)

    assert isinstance(told, Problem)
    assert f"contact/ops/jane: workMobilePhone1 {number!r} {what}" in told.what
    assert (told.file, told.line) == ("a.yaml", 11)
    assert told.next


@pytest.mark.parametrize(
    ("number", "country", "what"),
    [
        ("+15555550123", "", "is not in a number range of United States"),
        ("+61 9991 570 156", "", "is not in a number range"),
        ("61491570156", "", "has no + before its country code; it is understood as +61 491 570 156"),
        ("491570156", "Australia", "lacks its leading 0, which spreadsheets remove"),
        ("1800 FLOWERS", "US", "it is understood as +1 800-356-9377 (from workCountry)"),
    ],
)
def test_a_number_that_is_unlikely_is_a_warning(number: str, country: str, what: str) -> None:
    """Numbering plans grow, so what they do not know yet may still ring. How it is understood is said."""
    told = _one(workMobilePhone1=number, workCountry=country)

    assert isinstance(told, Notice)
    assert told.kind == "value"
    assert told.subject == "contact/ops/jane"
    assert what in told.what
    assert told.place == "a.yaml:11"


@pytest.mark.parametrize(
    "fields",
    [
        {"workMobilePhone1": "+61491570156"},
        {"workMobilePhone1": "+61 491 570 156"},
        {"workMobilePhone1": "+447700900123"},
        {"workMobilePhone1": "+12025550143"},
        {"workMobilePhone1": "0491 570 156", "workCountry": "Australia"},
        {"workMobilePhone1": "0491 570 156", "personalCountry": "au"},
        {"workMobilePhone1": "0491 570 156", "workCountry": "Austalia"},
        {"workPhone1": "5550 1234", "workPhoneAreaCode1": "03", "workCountry": "AU"},
        {"workPhone1": "5550 1234", "workPhoneAreaCode1": "+61 3"},
        {"workOtherPhone": "1300 975 707", "workCountry": "Australia"},
        {"workSatellitePhone": "+870773111632"},
        {"workMobilePhone1": ""},
    ],
)
def test_numbers_that_can_be_dialled_pass(fields: Mapping[str, str]) -> None:
    """Also those that regulators reserve for fiction: examples and tests are full of them."""
    told = _told(_judged(Checks(countries="off"), **fields))

    assert told == []


def test_the_settings_may_say_in_which_country_national_numbers_are_read() -> None:
    """A contact's own country goes over it."""
    home = Checks(region="AU")

    assert _told(_judged(home, workMobilePhone1="0491 570 156")) == []
    assert "(from workCountry)" in str(_one(home, workMobilePhone1="0491 570 156", workCountry="US"))
    told = _one(home, workMobilePhone1="0491 570")
    assert "(from checks.region)" in str(told)


def test_the_quick_look_says_yes_only_where_the_long_one_finds_nothing() -> None:
    """It saves nine tenths of the time; a number that it lets pass wrongly would never be looked at."""
    chance, plans, quick = random.Random(1), phone_plans.PhonePlans(), 0
    samples = []
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        example = phonenumbers.example_number(region)
        assert example is not None
        plain = phonenumbers.format_number(example, phonenumbers.PhoneNumberFormat.E164)
        samples.append(plain)
        for _ in range(40):
            cut = chance.randrange(2, len(plain))
            samples.append(plain[:cut] + "".join(chance.choices("0123456789", k=chance.randint(0, 9))))
        for text in samples[-41:]:
            rest = text[1 + len(str(example.country_code)) :]
            if plans.assigned(f"0{rest}", region):
                found = phone_plans.check_phone(f"0{rest}", area="", region=region, region_from="workCountry")
                assert found is None, (rest, region)
    fiction = ["+447700900123", "+441632960999", "+442079460000", "+44 (808) 1570 123"]
    for text in [*samples, *fiction]:
        if plans.assigned(text):
            quick += 1
            assert phone_plans.check_phone(text, area="", region="", region_from="") is None, text
    assert quick > 800
    assert all(map(plans.assigned, fiction))
    assert plans.assigned("07700 900123", "GB")
    assert not any(map(plans.assigned, ("+99912345678", "+614915701560", "61491570156", "+61-", "+1", "")))
    assert plans.assigned("+61 491 570 156")
    assert plans.assigned("(03) 5550-1234", "AU")
    assert not plans.assigned("5550 1234", "AU")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("sam.lee at example", "must have an @-sign"),
        ("sam@example..com", "two periods"),
        ("sam@", "after the @-sign"),
        ("@example.com", "before the @-sign"),
        ("Sam Lee <sam@example.com>", "angle brackets"),
        ("sam@example.com, jo@example.com", "invalid characters"),
        ("sam lee@example.com", "SPACE"),
    ],
)
def test_a_text_that_is_no_address_is_a_mistake(text: str, why: str) -> None:
    """By its form alone; no name server is asked."""
    told = _one(workEmailAddress2=text)

    assert isinstance(told, Problem)
    assert why in told.what


@pytest.mark.parametrize(
    "text", [MAIL, "o'neil+x@sub.example.com", "jörg@exämple.example", "用户@例子.example", "a@x.test"]
)
def test_addresses_pass_also_international_ones(text: str) -> None:
    """RFC 6531 allows any letters on both sides; domains for examples and tests are domains."""
    assert _told(_judged(workEmailAddress2=text)) == []


def test_an_address_without_a_dot_is_only_unlikely() -> None:
    """A mail server inside a company may have such a name."""
    assert isinstance(_one(workEmailAddress2="sam@mailhost"), Notice)


def test_what_is_known_of_a_domain_makes_no_local_part_right() -> None:
    """The second address of a domain takes the short way."""
    check = value_forms.EmailCheck().check

    assert check(MAIL) is None
    assert check("jane@x@example.com") is not None
    assert check("a..b@example.com") is not None
    assert check(f"{'a' * 250}@example.com") is not None


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("Australia/Melburne", "is not a time zone", "did you mean Australia/Melbourne?"),
        ("australia/melbourne", "is not a time zone", "did you mean Australia/Melbourne?"),
        ("Melbourne", "is not a time zone", ""),
        ("+10", "is an offset", ""),
        ("UTC+5:30", "Asia/Kolkata has this offset all year", ""),
    ],
)
def test_a_text_that_is_no_zone_is_a_mistake(text: str, what: str, hint: str) -> None:
    """The service makes London of it, and says nothing."""
    told = _one(timezone=text)

    assert isinstance(told, Problem)
    assert what in told.what
    assert hint in told.next


def test_every_name_of_the_database_is_a_zone() -> None:
    """Old names too, and those of machines with a database of another version."""
    assert [name for name in zone_names() if value_forms.check_zone(name)] == []
    assert {"US/Eastern", "Etc/GMT-10", "UTC"} <= zone_names()


def test_every_country_is_known_by_its_code_and_its_name() -> None:
    """And an unknown one is only a warning, for the service takes any text."""
    assert all(
        region_of_country(code) == code == region_of_country(name) for code, name in COUNTRY_NAMES.items()
    )
    assert len(COUNTRY_NAMES) > 240
    assert set(phonenumbers.SUPPORTED_REGIONS) - set(COUNTRY_NAMES) == {"AC", "TA"}
    assert all(written == written.casefold() for written in COUNTRY_CODES)
    told = _one(workCountry="Austalia")
    assert isinstance(told, Notice)
    assert told.next == "did you mean Australia or Austria?"


def test_a_number_that_a_spreadsheet_rewrote_is_noticed_in_any_field() -> None:
    """An employee number is often the identity, and rewritten ones are the same for many people."""
    assert isinstance(_one(**{"custom.employeeId": "1.2E+10"}), Notice)
    assert isinstance(_one(jobTitle="#N/A"), Notice)
    assert all(
        find_spreadsheet_damage(text) is None for text in ("E+", "1E", "C1E1", "#1 support", "2.5", "3E+x")
    )


PNG = b"\x89PNG\r\n\x1a\n\0\0"


@pytest.mark.parametrize(
    ("media", "data", "what"),
    [
        ("application/json", b"a,b\n1,2\n", "is not application/json: expecting value (line 1, column 1)"),
        ("application/json", b'{"a": NaN}', "NaN is not a JSON value"),
        ("application/xml", b"<a><b></a>", "mismatched tag (line 1"),
        ("text/csv", b'[{"a": 1}]', "it is JSON"),
        ("text/csv", b"<a>1</a>", "it is XML"),
        ("text/csv", PNG, "its first bytes are those of image/png"),
        ("text/csv", b"a\0b", "it holds the character NUL"),
        ("text/csv", b'a,"b', "is not text/csv"),
        ("text/plain", b"\xff\0", "it holds bytes that are not text"),
        ("image/png", b"GIF89a", "its first bytes are those of image/gif"),
        ("image/png", b"plain", "its first bytes are not those of this type"),
        ("image/svg+xml", b"plain", "is not image/svg+xml"),
    ],
)
def test_bytes_of_another_type_are_a_mistake(media: str, data: bytes, what: str) -> None:
    """The service stores anything, and what reads it fails later."""
    found = value_forms.check_content(media, data)

    assert found is not None
    assert found.impossible
    assert what in found.what


@pytest.mark.parametrize(
    ("media", "data", "what"),
    [
        ("text/csv", b"a,b\n1,2,3\n", "has 3 cells in row 2 and 2 in the first one"),
        ("text/csv", "a;b\nJörg;1\n".encode("latin-1"), "is not UTF-8 (line 2)"),
        ("application/json", b"\xef\xbb\xbf{}", "begins with a byte order mark"),
        ("application/json", b"[" * 100_000 + b"]" * 100_000, "is nested so deeply"),
    ],
)
def test_bytes_in_an_unusual_form_are_only_unlikely(media: str, data: bytes, what: str) -> None:
    """Some reader may take them."""
    found = value_forms.check_content(media, data)

    assert found is not None
    assert not found.impossible
    assert what in found.what


@pytest.mark.parametrize(
    ("media", "data"),
    [
        ("application/json", b'{"a": [1, null]}'),
        ("application/vnd.example+json", b"[]"),
        ("application/xml", b"<?xml version='1.0'?><a b='c'>&amp;</a>"),
        ("application/xml", b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>"),
        ("text/csv", b"a;b\n1;2\n"),
        ("text/csv", b"\xef\xbb\xbfa,b\n\n1,2\n"),
        ("text/csv", b"one column\n1\n"),
        ("text/csv", b"x" * 200_000),
        ("image/png", PNG),
        ("application/octet-stream", b"\0\xff"),
        ("video/mp4", b"anything"),
    ],
)
def test_bytes_of_their_type_pass_and_unknown_types_are_not_checked(media: str, data: bytes) -> None:
    """No entity of a document is ever resolved."""
    assert value_forms.check_content(media, data) is None


def test_a_name_that_ends_in_another_type_is_a_warning() -> None:
    """People go by the ending."""
    fields = {"name": "list.json", "scope": "private", "mimeType": "text/csv", "content": "sha256:00"}
    payload = Content(b"a,b\n", "sha256:00")
    listed = Document("resource", "list", Place("a.yaml", 1, 1), fields, {}, content=payload)

    (told,) = _told(resolve_desired([_manifest(listed)], RULES))

    assert isinstance(told, Notice)
    assert "list.json is declared as text/csv, but its name ends in .json" in told.what


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("phones", {"workMobilePhone1": "call me maybe"}),
        ("emails", {"workEmailAddress2": "nobody"}),
        ("zones", {"timezone": "Nowhere"}),
        ("countries", {"workCountry": "Nowhere"}),
        ("spreadsheets", {"jobTitle": "1.2E+10"}),
    ],
)
def test_every_check_has_three_levels(kind: str, fields: Mapping[str, str]) -> None:
    """A deployment may know better; what is off is not looked at."""
    said = {
        level: _told(_judged(Checks(**{kind: level}), **fields))  # type: ignore[arg-type]  # one of the three
        for level in ("error", "warning", "off")
    }

    assert [type(one) for one in said["error"]] == [Problem]
    assert [type(one) for one in said["warning"]] == [Notice]
    assert said["off"] == []


def test_a_default_is_judged_once_and_where_it_stands() -> None:
    """A thousand contacts with one wrong default are one mistake."""
    people = [_person(f"p{number}") for number in range(50)]

    (told,) = _told(
        resolve_desired([_manifest(*people, defaults={"contact": {"timezone": "Melburne"}})], RULES)
    )

    assert isinstance(told, Problem)
    assert told.where == "a.yaml:3:5"


def test_a_cell_is_named_by_row_and_column() -> None:
    """Whoever mends it looks at a spreadsheet; text that is the same for every row is judged once."""
    origin = Origin({"workMobilePhone1": ("Mobile",)}, {"timezone": Place("a.yaml", 7, 7)})
    rows = [
        structs.replace(
            _person(f"p{number}", workMobilePhone1="maybe", timezone="Melburne"),
            places={"workMobilePhone1": Place("staff.csv", number, 4)},
            origin=origin,
        )
        for number in (2, 3)
    ]

    told = resolve_desired([_manifest(*rows)], RULES).problems

    assert [one.where for one in told] == ["a.yaml:7:7", "staff.csv:2:4", "staff.csv:3:4"]
    assert "workMobilePhone1 (column 'Mobile') 'maybe' is not a phone number" in told[1].what


def test_a_value_of_the_environment_is_judged_and_never_shown() -> None:
    """Neither itself nor what it might have meant."""
    jane = _person(workMobilePhone1="0491 570 15", timezone="Australia/Melburne", workCountry="AU")
    manifest = structs.replace(_manifest(jane), hidden=dict.fromkeys(jane.places.values(), ("PHONE",)))

    told = _told(resolve_desired([manifest], RULES))

    assert len(told) == 2
    assert not any(part in str(told) for part in ("0491", "491", "Melburne", "did you mean"))


def test_secrets_are_not_looked_at() -> None:
    """A password may look like anything."""
    assert _told(_judged(password="1.2E+10")) == []


def test_the_libraries_are_loaded_only_where_they_are_needed() -> None:
    """`reconciler --version` must not wait for numbering plans, and nobody asks a name server."""
    code = (
        "import sys; import reconciler.pipeline;"
        "from reconciler.core.desired import check_values, value_forms;"
        "assert not {'phonenumbers', 'email_validator'} & set(sys.modules);"
        "from reconciler.core.desired import phone_plans;"
        "assert value_forms.EmailCheck().check('jane@example.com') is None;"
        "assert phone_plans.PhonePlans().assigned('+61491570156');"
        "assert not any(name.split('.')[0] == 'dns' for name in sys.modules)"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
