"""The form in which two values of an identity are the same: as the type of its field compares (rule M2).

    text     composed (NFC), without space around it: Jane and JANE may be two people
    flag     in small letters: true and True are one
    number   as it is written shortest: 5.0 and 5 are one
    email    the local part composed and in small letters (`fold_case`), the domain by A-labels (IDNA 2008)
    phone    the number in its country (below)

Nothing is joined by full case folding, by compatibility forms (full-width letters, ligatures) or by what a
provider makes of an address (plus signs, dots, `googlemail.com`): two mailboxes would be one person. What
only *looks* the same has one `looks_like`, which is for warnings and decides nothing.
"""

import hashlib
import hmac
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from reconciler.core.text import fold_case, normalize_unicode, shorten_number, trim_edges
from reconciler.model.address import Address
from reconciler.model.documents import Fields, Place, Scalar
from reconciler.model.field_types import IdentityKey, international_digits, require_rows
from reconciler.model.geography import COUNTRY_CODES
from reconciler.model.kind import IdentityPath, Key
from reconciler.model.notices import Notice

if TYPE_CHECKING:
    from phonenumbers import PhoneNumber


# --- Phone numbers: one text for one number, however it is written --------------------------------
#
#     +61 491 570 156, 0491 570 156 and 61491570156 in Australia      +61491570156
#     0491 570 156, and no country is known                           0491570156
#     what is no number: letters, two numbers, nothing                ""
#
# A number with a plus is the same everywhere. One without is read in its country, with the area code that
# stands in a field of its own; where that is no number there and more than ten digits begin with a country
# code, as if a plus stood before it. An extension belongs to the number. By the numbering plans of the
# library `phonenumbers`; nothing is sent, and no value is replaced.


# A plus, perhaps in brackets with the country code; digits and what people put between them; an extension.
_PARTED = re.compile(
    r"[ (]*(\+?)([0-9 ().\-/]*[0-9][0-9 ().\-/]*)(?:(?:;ext=|ext\.?|extension|x|#)\s*([0-9]+))?",
    re.IGNORECASE,
)
_NOT_A_DIGIT = re.compile(r"[^0-9]")
_length_max = 60  # characters; no number is longer, and the library takes its time over long ones
_SIGNS = {"\uff0b": "+", "\uff08": "(", "\uff09": ")", "\uff0e": ".", "\uff0f": "/", "\u2212": "-"}


def region_of_country(text: str) -> str:
    """Return the two-letter code of a country, or "" where the text names none that we know."""
    return COUNTRY_CODES.get(fold_case(normalize_unicode("NFC", text)).strip(), "")


def number_key(text: str, *, area: str = "", region: str = "") -> str:
    """Return the one text of a phone number; "" where this is no number.

    `area` is the area code that stands in a field of its own, `region` the code of the country in which a
    national number is read, "" where that is not known.
    """
    if len(text) > _length_max:
        return ""
    found = _PARTED.fullmatch(_ascii_signs(text).strip())
    if found is None:
        return ""
    plus, digits, extension = found[1], _NOT_A_DIGIT.sub("", found[2]), found[3] or ""
    end = f"x{extension}" if extension else ""
    if plus:
        number = _parse_possible(f"+{digits}", "")
        return f"{_international_form(number) if number else f'+{digits}'}{end}"
    before = _NOT_A_DIGIT.sub("", _ascii_signs(area)) if not area.strip().startswith("+") else ""
    numbers = list(_possible_numbers(before, digits, region))
    number = next(filter(_is_assigned, numbers), numbers[0] if numbers else None)
    return f"{_international_form(number) if number else before + digits}{end}"


def last_digits(text: str) -> str:
    """Return the last two digits of a number, without its extension; "" where there are none."""
    found = _PARTED.fullmatch(text.strip()) if len(text) <= _length_max else None
    return _NOT_A_DIGIT.sub("", found[2] if found else text)[-2:]


def _possible_numbers(area: str, digits: str, region: str) -> Iterator["PhoneNumber"]:
    """Yield the numbers that digits without a plus may be, the likeliest first."""
    long = len(digits) >= international_digits and digits[0] != "0"
    abroad = _parse_possible(f"+{digits}", "") if long else None
    if region and abroad is not None and abroad.country_code == _country_code_of(region):
        yield abroad  # German numbers may have so many digits that this one would be a national one as well
    for one in dict.fromkeys((area + digits, digits)) if region else ():
        number = _parse_possible(one, region)
        if number is not None:
            yield number
    if abroad is not None:
        yield abroad


def _parse_possible(text: str, region: str) -> "PhoneNumber | None":
    """Return the number of which a text has as many digits as its country uses."""
    import phonenumbers  # noqa: PLC0415 - 20 ms and 5 MB, where a phone number is an identity

    try:
        number = phonenumbers.parse(text, region or None)
    except phonenumbers.NumberParseException:
        return None
    reason = phonenumbers.is_possible_number_with_reason(number)
    return number if reason == phonenumbers.ValidationResult.IS_POSSIBLE else None


def _country_code_of(region: str) -> int:
    import phonenumbers  # noqa: PLC0415 - as above

    return phonenumbers.country_code_for_region(region)


def _is_assigned(number: "PhoneNumber") -> bool:
    import phonenumbers  # noqa: PLC0415 - as above

    return phonenumbers.is_valid_number(number)


def _international_form(number: "PhoneNumber") -> str:
    import phonenumbers  # noqa: PLC0415 - as above

    return f"+{number.country_code}{phonenumbers.national_significant_number(number)}"


def _ascii_signs(text: str) -> str:
    """Return the text with the digits and signs of every script as ASCII has them: the same digits."""
    return text if text.isascii() else "".join(map(_ascii_sign, text))


def _ascii_sign(sign: str) -> str:
    digit = unicodedata.decimal(sign, None)
    if digit is not None:
        return str(digit)
    kind = unicodedata.category(sign)
    return _SIGNS.get(sign) or {"Zs": " ", "Pd": "-", "Cf": ""}.get(kind, sign)


_seen_max = 320  # characters of an address; a longer text is compared as it is
_told_digits = 6  # at the end of a phone number, which no country code and no trunk prefix reaches
_label_max = 63  # octets of an A-label (RFC 5890)
_FINAL_SIGMA = "\N{GREEK SMALL LETTER FINAL SIGMA}"
_DOMAINS_KEPT = 4096  # a company has few
# What is not seen (Unicode, Default_Ignorable_Code_Point).
_IGNORED = dict.fromkeys(
    [
        *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0),
        *(*range(0x180B, 0x1810), *range(0x200B, 0x2010), *range(0x202A, 0x202F)),
        *(*range(0x2060, 0x2070), *range(0xFE00, 0xFE10)),
    ]
)
# Letters that look like others, of the scripts of which addresses are faked (UTS 39, confusables), as codes:
# Cyrillic, Greek, the dotless i, and signs for dots and dashes.
_CYRILLIC = "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0457\u0458\u0455\u04bb\u0501\u051b\u051d\u0475"
_GREEK = "\u03bf\u03c1\u03bd\u03b9\u03ba\u03c5\u03b1"
_ALIKE: Mapping[int, str] = {
    **dict(zip(map(ord, _CYRILLIC), "aeopcyxiijshdqwv", strict=True)),
    **dict(zip(map(ord, _GREEK), "opvikua", strict=True)),
    **dict.fromkeys([0x131, 0x269], "i"),
    **dict.fromkeys([0x3002, 0x2024], "."),
    **dict.fromkeys([*range(0x2010, 0x2016), 0x2212], "-"),
}


# --- Identities -----------------------------------------------------------------------------------


def identity_of(key: Key, fields: Fields) -> tuple[str, ...] | None:
    """Return the texts under which two entities are the same by this key; None where one is missing."""
    values = []
    for path in key:
        text = identity_text(path, fields)
        if not text:
            return None
        values.append(text)
    return tuple(values)


def identity_digests(fields: Fields, keys: tuple[Key, ...], salt: str) -> Mapping[str, str]:
    """Return the identities of an entity as digests keyed by `salt`, by their paths joined by `+`.

    They tell whether another one is the same, and not who it is.
    """
    found = {"+".join(key): identity_of(key, fields) for key in keys}
    return {
        name: hmac.new(salt.encode(), "\0".join((name, *texts)).encode(), hashlib.sha256).hexdigest()[:32]
        for name, texts in found.items()
        if texts is not None
    }


def identity_text(path: str, fields: Fields) -> str:
    """Return the text under which a value of an identity field is the same as another; "" for none.

    A phone number is read in the country that the other fields name.
    """
    value = fields.get(path, "")
    return _KEYS[_key_of(path)](path, str(value), fields) if value != "" else ""


def fields_beside(key: Key) -> tuple[str, ...]:
    """Return the other fields that the values of a key are read with."""
    return tuple(one for path in key if isinstance(path, IdentityPath) for one in path.beside)


def identity_key(path: str, value: Scalar) -> str:
    """Return the text under which two values of an identity field are the same, whatever is beside them."""
    return identity_text(path, {path: value})


def _key_of(path: str) -> IdentityKey:
    if isinstance(path, IdentityPath):
        return path.key
    return "email" if "EmailAddress" in path else "text"  # the kind of the field is not known: by its name


def _text_key(_path: str, value: str, _fields: Fields) -> str:
    return trim_edges(value if value.isascii() else normalize_unicode("NFC", value))


def email_key(value: str) -> str:
    """Return the text under which two e-mail addresses are one mailbox."""
    text = trim_edges(value)
    if text.isascii():
        local, at, domain = text.lower().rpartition("@")
        if "xn--" not in domain:
            return f"{local}{at}{_without_last_dot(domain)}"
    else:
        text = trim_edges(normalize_unicode("NFC", text))
    local, at, domain = text.rpartition("@")
    return f"{_fold_mail_case(local)}{at}{_domain_key(domain) if at else _fold_mail_case(domain)}"


def _fold_mail_case(text: str) -> str:
    # Small letters may have a composed form where the capital has none: J̌ and ǰ.
    return normalize_unicode("NFC", fold_case(text))


def _without_last_dot(domain: str) -> str:
    """Return a domain without the dot that ends a full name: `example.com.` is `example.com`."""
    rest = domain.removesuffix(".")
    return domain if rest.endswith(".") or not rest else rest


@lru_cache(_DOMAINS_KEPT)
def _domain_key(domain: str) -> str:
    """Return a domain by its A-labels, without the dot that ends a full name.

    A label that IDNA 2008 refuses is compared in small letters.
    """
    return ".".join(map(_label_key, _without_last_dot(domain).split(".")))


def _label_key(label: str) -> str:
    if label.isascii() and not label.lower().startswith("xn--"):
        return label.lower()
    # The final sigma is a letter of its own in a domain (RFC 5892), as ß is: no table of ours joins it.
    small = normalize_unicode("NFC", "".join(one if one == _FINAL_SIGMA else fold_case(one) for one in label))
    if len(small) > _label_max:
        return small
    import idna  # noqa: PLC0415 - 10 ms, for domains that are not ASCII

    try:
        return idna.alabel(idna.ulabel(small) if small.isascii() else small).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        return small


def _phone_key(path: str, value: str, fields: Fields) -> str:
    area, region = "", ""
    if isinstance(path, IdentityPath):
        area = str(fields.get(path.area, "")) if path.area else ""
        named = next((text for one in path.countries if (text := str(fields.get(one, "")))), "")
        region = region_of_country(named) if named else path.region
    return number_key(value, area=area, region=region) or _text_key(path, value, fields)


def _flag_key(path: str, value: str, fields: Fields) -> str:
    return fold_case(_text_key(path, value, fields))


def _number_key(path: str, value: str, fields: Fields) -> str:
    return shorten_number(_text_key(path, value, fields))


# The form in which two values are one identity, by the type of their field. Whatever is one value to a
# comparison (`NormalForm`) is one here too: else an entity would be created beside the one that it is.
_KEYS: Mapping[IdentityKey, Callable[[str, str, Fields], str]] = require_rows(
    IdentityKey,
    {
        "text": _text_key,
        "flag": _flag_key,
        "number": _number_key,
        "email": lambda _path, value, _fields: email_key(value),
        "phone": _phone_key,
    },
)


def looks_like(path: str, fields: Fields) -> str:
    """Return what an identity value looks like: equal for any two that are one, and for more.

    For warnings alone. Compatibility forms, full case folding, letters of other scripts and what is not seen
    are taken for what they look like; a domain is taken as it is shown, and not as its A-label.
    """
    text = identity_text(path, fields)
    key = _key_of(path)
    if not text or key == "phone":
        return text  # by its number: no two spellings of digits are left that only look the same
    if text.isascii() and (key != "email" or "xn--" not in text):
        return text.lower()
    if key == "email" and "xn--" in text:
        local, _, domain = text.rpartition("@")
        text = f"{local}@{_decode_domain(domain)}"
    if len(text) > _seen_max:
        return text
    # Folded twice: what a compatibility form stands for may have a case of its own, and the other way round.
    for _ in range(2):
        text = unicodedata.normalize("NFKC", text.translate(_IGNORED)).casefold()
    return unicodedata.normalize("NFKC", text).replace("i\u0307", "i").translate(_ALIKE)


def appearance_of(key: Key, fields: Fields) -> tuple[str, ...] | None:
    """Return what the values of a key look like; None where one of them is missing."""
    values = tuple(looks_like(path, fields) for path in key)
    return values if all(values) else None


def similarity_notice(subject: Address, key: Key, other: str, place: Place) -> Notice:
    """Return the warning that an identity only looks like that of `other`, which is another entity."""
    verb = "looks" if len(key) == 1 else "look"
    what = f"{' and '.join(key)} {verb} like that of {other}, but not the same; they stay two entities."
    step = "compare the two letter by letter; if they should be the same, write both the same way"
    return Notice("value", str(subject), what, step, str(place))


@lru_cache(_DOMAINS_KEPT)
def _decode_domain(domain: str) -> str:
    import idna  # noqa: PLC0415 - 10 ms, for domains that are not ASCII

    try:
        return idna.decode(domain)
    except (idna.IDNAError, UnicodeError):
        return domain


def may_be_same(key: Key, fields: Fields, shown: Fields) -> bool:
    """Whether a row that does not show all that this key is read with may be the entity, once seen whole."""
    if any(path not in shown for path in key if fields.get(path)):
        return True
    around = fields_beside(key)
    if not around or any(path in shown for path in around):
        return False
    # A number is shown, and no country: elsewhere it is another number, with the same digits at its end.
    ends = [
        ["".join(filter(str.isdecimal, str(known[path])))[-_told_digits:] for path in key]
        for known in (fields, shown)
    ]
    return ends[0] == ends[1]


def search_texts(key: Key, fields: Fields) -> Mapping[str, str]:
    """Return what a search for an entity asks for, by path: a text that every spelling of the value contains.

    The service answers "contains", in any letter case of ASCII. A path without such a text is left out; with
    none at all every entity has to be looked through.
    """
    found = {path: _SEARCHED[_key_of(path)](path, trim_edges(str(fields[path])), fields) for path in key}
    return {path: text for path, text in found.items() if text}


def _searched_text(_path: str, value: str, _fields: Fields) -> str:
    return value


def _searched_email(_path: str, value: str, _fields: Fields) -> str:
    """Return the address, or the longest run of ASCII where another spelling differs in the rest."""
    if value.isascii() and "xn--" not in value.lower():
        return value.removesuffix(".")
    local, at, _ = normalize_unicode("NFC", value).rpartition("@")
    if at and local.isascii():
        return f"{local}@"
    runs = "".join(one if one.isascii() else "\n" for one in local).split("\n")
    return max(runs, key=len)


def _searched_phone(_path: str, value: str, _fields: Fields) -> str:
    """Return the last two digits: what people and services put between digits never parts those."""
    return last_digits(value) if value.isascii() else ""


def _searched_number(_path: str, value: str, _fields: Fields) -> str:
    """Return the number without its sign, as it is written shortest: zeros may stand on both sides of it."""
    return shorten_number(value).removeprefix("-")


# The text that every spelling of a value contains, by the type of its field; "": there is none.
_SEARCHED: Mapping[IdentityKey, Callable[[str, str, Fields], str]] = require_rows(
    IdentityKey,
    {
        "text": _searched_text,
        "flag": lambda _path, _value, _fields: "",
        "number": _searched_number,
        "email": _searched_email,
        "phone": _searched_phone,
    },
)
