"""Whether a text can be dialled, by the numbering plans that the library `phonenumbers` carries.

Nothing is asked of any network. Numbers are sent as they are written: what a text is understood as is
said, and never put in its place.
"""

import re
import unicodedata
from collections.abc import Iterable

import phonenumbers
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, NumberParseException, PhoneMetadata, PhoneNumber

from reconciler.model.field_types import Finding, find_spreadsheet_damage
from reconciler.model.geography import COUNTRY_NAMES

# Ranges that regulators keep free for films and examples and that the numbering plans do not count as
# assigned (Ofcom, "Telephone numbers for use in TV and radio drama programmes"). Whoever tries this program
# out writes such numbers, so they pass. Those of Australia and North America are assigned in the plans.
_FICTION = re.compile(
    r"\+44(?:7700900|1632960|20794600|1134960|3069990|8081570|9098790)\d{3}|\+44(?:20|1\d\d)79460\d{3}"
)
_PLAIN = re.compile(r"\+[1-9][0-9]{6,14}")
_SEPARATORS = str.maketrans("", "", " -().")  # what people put between digits
_DIGITS = re.compile(r"[^0-9]")
_LETTERS = re.compile(r"[A-WYZa-wyz]{2,}")  # x begins an extension
# Behind a number alone: `#0491570158` is no extension of nothing.
_EXTENSION = re.compile(r"(?<=[0-9)])\s*(?:;ext=|ext\.?|extension|x|#|,{1,2})\s*[0-9]+#?$", re.IGNORECASE)
_URI = re.compile(r"tel:", re.IGNORECASE)
_BETWEEN = re.compile(r"[;,/|&\n]|\bor\b|\band\b")  # what stands between two numbers in one cell

# The signs of a telephone number. A gateway knows the digits 0-9, and no others of Unicode.
_SIGNS = frozenset("+0123456789()-./ ")

_REFUSED_LATER = "which a later version will refuse"
_FORM = "write it with + and the country code, such as +61491570156"


SIGN, TRUNK = "E407", "E408"


class PhonePlans:
    """Knows plain numbers (+, country code, digits) that are assigned, without taking them apart.

    Parsing a number costs twenty times as much. `assigned` says yes only where `check_phone` finds nothing;
    what it does not say yes to is for `check_phone`.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, re.Pattern[str]] | None] = {}
        self._codes: dict[str, str] = {}

    def assigned(self, text: str, region: str = "") -> bool:
        """Whether a number is written plainly and is in a range that its country uses.

        A national form is read in `region`, where that is a country whose numbers begin with 0.
        """
        text = text.translate(_SEPARATORS)
        # A 0 in front stands for the country at home; abroad its code takes that place.
        if text.startswith("0") and region:
            if region not in self._codes:
                self._codes[region] = _code_after_zero(region)
            text = self._codes[region] + text[1:]
        if not _PLAIN.fullmatch(text):
            return False
        if _FICTION.fullmatch(text):
            return True
        head = text[1:4]
        if head not in self._known:
            self._known[head] = _load_plan(head)
        plan = self._known[head]
        return plan is not None and plan[1].fullmatch(text, plan[0]) is not None

    def check(self, text: str, *, area: str, region: str, region_from: str) -> Finding | None:
        """Return what `check_phone` says of a number that is not plainly assigned."""
        return check_phone(text, area=area, region=region, region_from=region_from)

    def check_area(self, text: str) -> Finding | None:
        """Return why a text is not an area code, or None: a sign that no phone number has."""
        return find_spreadsheet_damage(text) or _check_signs(text, area="", region="")


def _code_after_zero(region: str) -> str:
    """Return + and the code of a country that writes a 0 in front at home and not abroad, else ""."""
    plan = PhoneMetadata.metadata_for_region(region)
    if plan is None or plan.national_prefix != "0" or plan.national_prefix_transform_rule:
        return ""
    return f"+{plan.country_code}"


def _load_plan(head: str) -> tuple[int, re.Pattern[str]] | None:
    """Return where the national number begins, and the pattern of those that the main country assigns."""
    code = next((head[:size] for size in (1, 2, 3) if int(head[:size]) in COUNTRY_CODE_TO_REGION_CODE), "")
    region = COUNTRY_CODE_TO_REGION_CODE[int(code)][0] if code else ""
    plan = PhoneMetadata.metadata_for_region(region) if region else None
    # Countries that share a code may be told apart by leading digits, as +7 is: those are for the library.
    if plan is None or plan.leading_digits or plan.general_desc is None:
        return None
    kinds = (plan.fixed_line, plan.mobile, plan.toll_free, plan.shared_cost, plan.voip, plan.uan)
    ranges = [
        f"(?={_length_pattern(kind.possible_length)}$)(?:{kind.national_number_pattern})"
        for kind in kinds
        if kind is not None and kind.national_number_pattern and kind.possible_length
    ]
    if not ranges:
        return None
    whole = f"(?=(?:{plan.general_desc.national_number_pattern})$)(?:{'|'.join(ranges)})"
    return 1 + len(code), re.compile(whole)


def _length_pattern(possible: Iterable[int]) -> str:
    return f"(?:{'|'.join(f'[0-9]{{{length}}}' for length in possible)})"


def check_phone(text: str, *, area: str, region: str, region_from: str) -> Finding | None:
    """Return why a number cannot be dialled, or probably not; None where nothing speaks against it.

    `area` is the area code that stands in a field of its own; `region` the two-letter code of the country in
    which a national form is read, "" if not known; `region_from` names the field or setting that says it.
    Where that names a country which is not understood, a national number is not judged.
    """
    found = find_spreadsheet_damage(text) or _check_signs(text, area=area, region=region)
    if found or (
        area and _check_signs(area, area="", region="")
    ):  # the area code is reported at its own field
        return found
    # The second is the full-width plus of East Asian keyboards, which the library takes as well.
    national = not text.startswith(("+", "\uff0b"))
    whole = f"{area} {text}".strip() if national else text
    if whole.startswith(("+", "\uff0b")):
        national = False
    try:
        number = phonenumbers.parse(whole, region if national and region else None)
    except phonenumbers.NumberParseException as error:
        if national and not region and error.error_type == error.INVALID_COUNTRY_CODE:
            # A country that we could not understand may well have this number.
            return None if region_from else _without_country(whole)
        return _explain_unreadable(error, national=national)
    return _check_number(number, whole, national=national, region=region, region_from=region_from)


def _without_country(whole: str) -> Finding:
    try:
        number = phonenumbers.parse(f"+{_DIGITS.sub('', whole)}")
    except phonenumbers.NumberParseException:
        number = None
    # With a 0 in front it is a national number; a country code begins with none.
    if number is not None and phonenumbers.is_valid_number(number) and not whole.startswith("0"):
        guess = f"it is understood as {_format_number(number)}"
        return Finding("has no + before its country code", _FORM, guess=guess, code="E401")
    hint = f"{_FORM}, declare workCountry, or set `checks.region` in the settings"
    return Finding("is a national number, and its country is not known", hint, impossible=True, code="E401")


def _explain_unreadable(error: NumberParseException, *, national: bool) -> Finding:
    if error.error_type == error.INVALID_COUNTRY_CODE and not national:
        return Finding("has an unknown country code", _FORM, impossible=True, code="E401")
    if error.error_type in (error.TOO_SHORT_NSN, error.TOO_SHORT_AFTER_IDD):
        return Finding("is too short for a phone number", _FORM, impossible=True, code="E401")
    if error.error_type == error.TOO_LONG:
        return Finding("is too long for a phone number", _FORM, impossible=True, code="E401")
    return Finding("is not a phone number", _FORM, impossible=True, code="E401")


def _check_number(
    number: PhoneNumber, whole: str, *, national: bool, region: str, region_from: str
) -> Finding | None:
    by = f" (from {region_from})" if national and region else ""
    guess = f"it is understood as {_format_number(number)}{by}"
    country = _country_name(number, region if national else "")
    if wrong := None if national else _check_prefix(number, whole, country):
        return wrong
    if wrong := _check_length(number, country, guess):
        return wrong
    plain = f"+{number.country_code}{phonenumbers.national_significant_number(number)}"
    # A warning and no mistake: plans grow, and a range that the library does not know yet may ring.
    if not phonenumbers.is_valid_number(number) and not _FICTION.fullmatch(plain):
        return Finding(f"is not in a number range of {country}", "check its digits", guess=guess, code="E401")
    # Vanity numbers: the library turns letters into digits; it is not known whether the service does.
    if form := _describe_extra(whole, region if national else ""):
        return Finding(f"{form}, {_REFUSED_LATER}", _FORM, guess=guess, code="E401")
    if national and _has_lost_zero(number, whole):
        what = "lacks its leading 0, which spreadsheets remove"
        return Finding(what, "put it back, or " + _FORM, guess=guess, code="E401")
    return None


def _check_signs(text: str, *, area: str, region: str) -> Finding | None:
    """Return which sign of a text no telephone number has, and the number as it should be written."""
    if _SIGNS.issuperset(text):
        return _misplaced_plus(text, region) if "+" in text[1:] else None
    # A text without a digit is not a number; letters and extensions are reported as such.
    if not any(char.isdigit() for char in text) or _describe_extra(text, region):
        return None
    strange = next((char for char in text if char not in _SIGNS and not char.isspace()), "")
    if not strange:
        what = f"holds a blank that is not a plain space, {_REFUSED_LATER}"
        return Finding(what, _FORM, instead=_suggest_number(text, area, region), code="E401")
    what = f"holds {_describe_sign(strange)}, which phone numbers do not have"
    return Finding(what, _FORM, impossible=True, instead=_suggest_number(text, area, region), code=SIGN)


def _misplaced_plus(text: str, region: str) -> Finding:
    what = "holds a + that is not at the start"
    return Finding(what, _FORM, impossible=True, instead=_suggest_number(text, "", region), code=SIGN)


def _describe_sign(char: str) -> str:
    # Which one it is is a part of the value, and that may be hidden.
    if char.isdigit():
        return "a digit other than 0-9"
    if char.isalpha():
        return "a letter"
    return "a sign" if char.isprintable() else "an invisible character"


def _suggest_number(text: str, area: str, region: str) -> str:
    """Return how to write the number, where the digits of a text can be dialled; else ""."""
    folded = "".join(_fold_digit(char) for char in f"{area} {text}")
    plain = re.sub(r"[^+0-9]", "", folded)
    plain = plain[:1] + plain[1:].replace("+", "")
    try:
        number = phonenumbers.parse(plain, None if plain.startswith("+") else region or None)
    except phonenumbers.NumberParseException:
        return ""
    return f"write it as {_format_number(number)}" if phonenumbers.is_valid_number(number) else ""


def _fold_digit(char: str) -> str:
    if char == "\uff0b":
        return "+"
    digit = unicodedata.digit(char, None)
    return char if digit is None else str(digit)


def _describe_extra(whole: str, region: str) -> str:
    """Return what a text holds besides one number, where earlier versions accepted such texts; else ""."""
    if _URI.match(whole):
        return "is a URI, not a number"
    # Vanity numbers: the library turns letters into digits; it is not known whether the service does.
    if _LETTERS.search(_EXTENSION.sub("", whole)):
        return "holds letters"
    if _EXTENSION.search(whole) and not _LETTERS.search(_EXTENSION.sub("", whole)):
        return "holds an extension"
    parts = [part for part in _BETWEEN.split(whole) if part.strip()]
    if len(parts) > 1 and all(_SIGNS.issuperset(part) and _is_dialable(part, region) for part in parts):
        return "holds several numbers"
    return ""


def _is_dialable(text: str, region: str) -> bool:
    try:
        number = phonenumbers.parse(text, None if text.strip().startswith("+") else region or None)
    except phonenumbers.NumberParseException:
        return False
    return phonenumbers.is_valid_number(number)


def _check_prefix(number: PhoneNumber, whole: str, country: str) -> Finding | None:
    """Return which digit that is dialled at home alone stands behind the country code.

    A zero that belongs to the number is none: Italy, Ivory Coast and Congo have such (`+39 06 ...`).
    """
    digits, code = _DIGITS.sub("", _EXTENSION.sub("", whole)), str(number.country_code)
    national, written = phonenumbers.national_significant_number(number), digits.removeprefix(code)
    if digits.startswith(code) and written.startswith("0") and not phonenumbers.is_valid_number(number):
        without = _without_zero(code, written)
        number, national = (number, national) if without is None else without
    if written == national or not written.endswith(national):
        return None
    prefix = written.removesuffix(national)
    what = f"has the {prefix} for calls within {country} after the country code"
    instead = f"write it as {_format_number(number)}"
    if prefix.startswith("0"):
        return Finding(what, _FORM, impossible=True, instead=instead, code=TRUNK)
    plan = PhoneMetadata.metadata_for_region(phonenumbers.region_code_for_number(number) or "")
    if plan is None or plan.national_prefix != prefix:
        return None
    return Finding(f"{what}, {_REFUSED_LATER}", _FORM, instead=instead, code="E401")


def _without_zero(code: str, written: str) -> tuple[PhoneNumber, str] | None:
    """Return the number without zeros in front, where that is one: the library may have kept them."""
    national = written.lstrip("0")
    try:
        number = phonenumbers.parse(f"+{code}{national}")
    except phonenumbers.NumberParseException:
        return None
    whole = phonenumbers.national_significant_number(number) == national
    return (number, national) if whole and phonenumbers.is_valid_number(number) else None


def _check_length(number: PhoneNumber, country: str, guess: str) -> Finding | None:
    """Return why a number cannot be one of its country, by its digits alone."""
    reasons = phonenumbers.ValidationResult
    reason = phonenumbers.is_possible_number_with_reason(number)
    # Dialled from elsewhere it does not connect, or reaches somebody else.
    if reason == reasons.IS_POSSIBLE_LOCAL_ONLY:
        return Finding("has no area code, so it can only be dialled locally", _FORM, guess=guess, code="E401")
    if reason == reasons.INVALID_COUNTRY_CODE:
        return Finding("has an unknown country code", _FORM, impossible=True, code="E401")
    if reason != reasons.IS_POSSIBLE:
        sizes = {reasons.TOO_SHORT: "too short", reasons.TOO_LONG: "too long"}
        size = sizes.get(reason, "of the wrong length")
        return Finding(
            f"is {size} for a number of {country}", _FORM, impossible=True, guess=guess, code="E401"
        )
    return None


def _has_lost_zero(number: PhoneNumber, whole: str) -> bool:
    written = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.NATIONAL)
    return _DIGITS.sub("", written) == "0" + _DIGITS.sub("", whole)


def _country_name(number: PhoneNumber, region: str) -> str:
    code = region or phonenumbers.region_code_for_country_code(number.country_code or 0)
    return COUNTRY_NAMES.get(code, f"country code +{number.country_code}")


def _format_number(number: PhoneNumber) -> str:
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
