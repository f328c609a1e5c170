"""Phone numbers as identities: one text for one number, however it is written.

    +61 491 570 156, 0491 570 156 and 61491570156 in Australia      +61491570156
    0491 570 156, and no country is known                           0491570156
    what is no number: letters, two numbers, nothing                ""

A number with a plus is the same everywhere. One without is read in its country, with the area code that
stands in a field of its own; where that is no number there and more than ten digits begin with a country
code, as if a plus stood before it. An extension belongs to the number. By the numbering plans of the library
`phonenumbers`; nothing is sent, and no value is replaced.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

from reconciler.core.text import fold_case, normalize_unicode
from reconciler.model.geography import COUNTRY_CODES

if TYPE_CHECKING:
    from phonenumbers import PhoneNumber

# A plus, perhaps in brackets with the country code; digits and what people put between them; an extension.
_PARTED = re.compile(
    r"[ (]*(\+?)([0-9 ().\-/]*[0-9][0-9 ().\-/]*)(?:(?:;ext=|ext\.?|extension|x|#)\s*([0-9]+))?",
    re.IGNORECASE,
)
_NOT_A_DIGIT = re.compile(r"[^0-9]")
_length_max = 60  # characters; no number is longer, and the library takes its time over long ones
# Digits from which on a number without a plus may begin with its country code. Fewer may be a national one:
# 6561234567 is one in Singapore with a plus before it, and one in the United States without.
_international_digits = 11
_SIGNS = {"\uff0b": "+", "\uff08": "(", "\uff09": ")", "\uff0e": ".", "\uff0f": "/", "\u2212": "-"}


def region_of_country(text: str) -> str:
    """Return the two-letter code of a country, or "" where the text names none that we know."""
    return COUNTRY_CODES.get(fold_case(normalize_unicode("NFC", text)).strip(), "")


def number_key(text: str, *, area: str = "", region: str = "") -> str:
    """Return the one text of a phone number; "" where this is no number.

    `area` is the area code that stands in a field of its own, `region` the code of the country in which a
    national number is read, "" where nobody says.
    """
    if len(text) > _length_max:
        return ""
    found = _PARTED.fullmatch(_plain(text).strip())
    if found is None:
        return ""
    plus, digits, extension = found[1], _NOT_A_DIGIT.sub("", found[2]), found[3] or ""
    end = f"x{extension}" if extension else ""
    if plus:
        number = _possible(f"+{digits}", "")
        return f"{_written(number) if number else f'+{digits}'}{end}"
    before = _NOT_A_DIGIT.sub("", _plain(area)) if not area.strip().startswith("+") else ""
    numbers = list(_readings(before, digits, region))
    number = next(filter(_is_assigned, numbers), numbers[0] if numbers else None)
    return f"{_written(number) if number else before + digits}{end}"


def last_digits(text: str) -> str:
    """Return the last two digits of a number, without its extension; "" where there are none."""
    found = _PARTED.fullmatch(text.strip()) if len(text) <= _length_max else None
    return _NOT_A_DIGIT.sub("", found[2] if found else text)[-2:]


def _readings(area: str, digits: str, region: str) -> Iterator["PhoneNumber"]:
    """Yield the numbers that digits without a plus may be, the likeliest first."""
    long = len(digits) >= _international_digits and digits[0] != "0"
    abroad = _possible(f"+{digits}", "") if long else None
    if region and abroad is not None and abroad.country_code == _code_of(region):
        yield abroad  # German numbers may have so many digits that this one would be a national one as well
    for one in dict.fromkeys((area + digits, digits)) if region else ():
        number = _possible(one, region)
        if number is not None:
            yield number
    if abroad is not None:
        yield abroad


def _possible(text: str, region: str) -> "PhoneNumber | None":
    """Return the number of which a text has as many digits as its country uses."""
    import phonenumbers  # noqa: PLC0415 - 20 ms and 5 MB, where a phone number is an identity

    try:
        number = phonenumbers.parse(text, region or None)
    except phonenumbers.NumberParseException:
        return None
    reason = phonenumbers.is_possible_number_with_reason(number)
    return number if reason == phonenumbers.ValidationResult.IS_POSSIBLE else None


def _code_of(region: str) -> int:
    import phonenumbers  # noqa: PLC0415 - as above

    return phonenumbers.country_code_for_region(region)


def _is_assigned(number: "PhoneNumber") -> bool:
    import phonenumbers  # noqa: PLC0415 - as above

    return phonenumbers.is_valid_number(number)


def _written(number: "PhoneNumber") -> str:
    import phonenumbers  # noqa: PLC0415 - as above

    return f"+{number.country_code}{phonenumbers.national_significant_number(number)}"


def _plain(text: str) -> str:
    """Return the text with the digits and signs of every script as ASCII has them: the same digits."""
    return text if text.isascii() else "".join(map(_plain_sign, text))


def _plain_sign(sign: str) -> str:
    digit = unicodedata.decimal(sign, None)
    if digit is not None:
        return str(digit)
    kind = unicodedata.category(sign)
    return _SIGNS.get(sign) or {"Zs": " ", "Pd": "-", "Cf": ""}.get(kind, sign)
