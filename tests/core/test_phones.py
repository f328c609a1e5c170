"""Telephone numbers: signs that none has, zeros of national calls, and what was accepted until now."""

from collections.abc import Mapping
from itertools import product

import phonenumbers
import pytest
from phonenumbers import PhoneMetadata, PhoneNumberFormat, PhoneNumberType

from reconciler.core.desired.phone_plans import PhonePlans, check_phone
from reconciler.core.desired.resolve import resolve_desired
from reconciler.core.rules import Rules
from reconciler.errors import Problem
from reconciler.model.documents import Document, Manifest, Place
from reconciler.model.notices import Notice
from reconciler.model.settings import Checks

PLACE = Place("a.yaml", 4, 5)


def _told(fields: Mapping[str, str], *, hidden: bool = False) -> list[Problem | Notice]:
    every = {"workEmailAddress1": "jane@example.com", **fields}
    jane = Document("contact", "jane", PLACE, every, dict.fromkeys(every, PLACE))
    manifest = Manifest(
        file="a.yaml",
        workspace="ops",
        workspace_place=PLACE,
        kinds=frozenset({"contact"}),
        documents=(jane,),
        hidden={PLACE: ("MOBILE",)} if hidden else {},
    )
    found = resolve_desired([manifest], Rules(workspaces=frozenset({"ops"}), checks=Checks()))
    return [*found.problems, *found.desired.notices]


def _mobile(number: str, **fields: str) -> list[Problem | Notice]:
    return _told({"workMobilePhone1": number, "workCountry": "Australia", **fields})


@pytest.mark.parametrize(
    "number",
    [
        '="0491570156"',
        "'0491570156",
        "#0491570156",
        "0491570156;",
        "R0491570156",
        "0491570156a",
        "0491.570.156,",
        "[0491] 570 156",
        "0491~570~156",
        "0491_570_156",
        "0491570156*",
        "\uff10\uff14\uff19\uff11\uff15\uff17\uff10\uff11\uff15\uff16",
        "\u0660\u0664\u0669\u0661\u0665\u0667\u0660\u0661\u0665\u0666",
        "\u0966\u096a\u096f\u0967\u096b\u096d\u0966\u0967\u096b\u096c",
        "\uff0b61491570156",
        "++61491570156",
        "+61491570156+",
        "+61\u2013491\u2013570\u2013156",
        "0491\u200b570156",
        "+61491570156X",
    ],
)
def test_a_sign_that_no_number_has_is_a_mistake_with_the_number_as_it_should_be(number: str) -> None:
    """It would be sent as it is, and nobody knows what a gateway makes of it."""
    (told,) = _mobile(number)

    assert isinstance(told, Problem)
    assert told.code == "E407"
    assert told.next == "write it as +61 491 570 156"


@pytest.mark.parametrize(
    "number", ["+61 (0)491 570 156", "+610491570156", "+61 0491-570-156", "+61.0.491570156"]
)
def test_a_zero_of_national_calls_behind_the_country_code_is_a_mistake(number: str) -> None:
    """From abroad nobody is reached by it; the service sends it as it is."""
    (told,) = _mobile(number)

    assert isinstance(told, Problem)
    assert told.code == "E408"
    assert told.next == "write it as +61 491 570 156"


@pytest.mark.parametrize(
    "number", ["+390612345678", "+39 06 1234 5678", "+2250701234567", "+242061234567", "+378 0549 886377"]
)
def test_a_zero_that_belongs_to_the_number_is_right(number: str) -> None:
    """Without it somebody else is called, or nobody."""
    assert _told({"workMobilePhone1": number}) == []
    assert check_phone(number, area="", region="", region_from="") is None


@pytest.mark.parametrize(
    ("number", "what"),
    [
        ("+61491570156 ext. 5", "holds an extension"),
        ("+61491570156x5", "holds an extension"),
        ("+61491570156;ext=5", "holds an extension"),
        ("+61491570156,,5", "holds an extension"),
        ("tel:+61491570156", "is a URI, not a number"),
        ("Mobile: 0491 570 156", "holds letters"),
        ("0491570156; 0491570157", "holds several numbers"),
        ("+61\u00a0491\u00a0570\u00a0156", "holds a blank that is not a plain space"),
        ("+61 491\u2009570\u2009156", "holds a blank that is not a plain space"),
        ("+7 8 912 345 67 89", "has the 8 for calls within Russia after the country code"),
    ],
)
def test_a_form_that_was_accepted_until_now_is_a_warning_first(number: str, what: str) -> None:
    """Projects go on, and hear in time that a later version refuses it."""
    (told,) = _mobile(number)

    assert isinstance(told, Notice)
    assert f"{what}, which a later version will refuse" in told.what


@pytest.mark.parametrize(
    "field",
    [
        "workMobilePhone1",
        "workMobilePhone2",
        "workPhone1",
        "workFax1",
        "otherMobile",
        "otherPhone1",
        "personalPhone2",
        "personalMobilePhone1",
    ],
)
def test_every_phone_field_is_looked_at(field: str) -> None:
    """A wrong fax number is a lost message as well."""
    (told,) = _told({field: "'0491570156", "workCountry": "Australia", "personalCountry": "Australia"})

    assert isinstance(told, Problem)
    assert (told.code, told.next) == ("E407", "write it as +61 491 570 156")


@pytest.mark.parametrize("area", ["'03", '="03"', "\uff10\uff13", "O3"])
def test_the_sign_of_an_area_code_is_told_where_it_stands(area: str) -> None:
    """The number itself is right."""
    (told,) = _told({"workPhoneAreaCode1": area, "workPhone1": "5550 1234", "workCountry": "Australia"})

    assert isinstance(told, Problem)
    assert told.code == "E407"
    assert "workPhoneAreaCode1" in told.what


@pytest.mark.parametrize(("area", "number"), [("+61 (0)3", "5550 1234"), ("+61", "0355501234")])
def test_a_zero_behind_the_country_code_in_its_own_field_is_found(area: str, number: str) -> None:
    """The two are dialled as one."""
    (told,) = _told({"workPhoneAreaCode1": area, "workPhone1": number})

    assert isinstance(told, Problem)
    assert (told.code, told.next) == ("E408", "write it as +61 3 5550 1234")


@pytest.mark.parametrize("number", ["R0491570110", "+61 (0)491 570 110"])
def test_a_number_of_the_environment_is_judged_and_not_shown(number: str) -> None:
    """Nor is how it should be written."""
    (told,) = _told({"workMobilePhone1": number, "workCountry": "Australia"}, hidden=True)

    assert isinstance(told, Problem)
    assert not any(part in f"{told.what} {told.next}" for part in ("0491", "491 570", "570110"))


TYPES = (
    PhoneNumberType.FIXED_LINE,
    PhoneNumberType.MOBILE,
    PhoneNumberType.TOLL_FREE,
    PhoneNumberType.VOIP,
    PhoneNumberType.SHARED_COST,
)
EXAMPLES = [
    (region, number)
    for region, type_ in product(sorted(phonenumbers.SUPPORTED_REGIONS), TYPES)
    if (number := phonenumbers.example_number_for_type(region, type_)) is not None
    and phonenumbers.is_valid_number_for_region(number, region)
]
PLANS = PhonePlans()


def _judged(text: str) -> str:
    if PLANS.assigned(text):
        return ""
    found = check_phone(text, area="", region="", region_from="")
    return found.code or found.what if found else ""


def test_every_example_number_of_every_country_is_right_in_the_international_form() -> None:
    """The numbering plans of the library, all regions of it."""
    wrong = {
        (region, text, said)
        for region, number in EXAMPLES
        for form in (PhoneNumberFormat.E164, PhoneNumberFormat.INTERNATIONAL)
        if (said := _judged(text := phonenumbers.format_number(number, form)))
    }

    assert len(EXAMPLES) > 800
    assert wrong == set()


def test_a_zero_is_refused_in_every_country_that_dials_one_at_home() -> None:
    """Where 0 is the prefix of the country, and no number begins with one."""
    missed, tried = set(), 0
    for region, number in EXAMPLES:
        plan = PhoneMetadata.metadata_for_region(region)
        assert plan is not None
        national = phonenumbers.national_significant_number(number)
        if plan.national_prefix != "0" or national.startswith("0"):
            continue
        for zero in ("0", "(0)", " 0 ", "(0) "):
            tried += 1
            text = f"+{number.country_code}{zero}{national}"
            if _judged(text) != "E408":
                missed.add((region, text, _judged(text)))

    assert tried > 1500
    assert missed == set()
