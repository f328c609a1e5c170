"""An oracle of identities: which mailboxes and which phone numbers are one, written down and not computed.

It shares nothing with the program: no library of Unicode, IDNA or numbering plans is asked here. A mailbox
is a row of letters and a domain, a number is a country and its digits; each stands here with all spellings.
"""

import random
from collections.abc import Sequence

# Letters of a local part. All spellings of one line are one letter; two lines are never one.
LETTERS: Sequence[tuple[str, ...]] = (
    *((chr(97 + place), chr(65 + place)) for place in range(26) if chr(97 + place) != "k"),
    ("k", "K", "\u212a"),  # the Kelvin sign is composed (NFC) to K
    *((digit,) for digit in "0123456789"),
    ("+",), ("-",), ("_",), ("'",),
    ("\u00df", "\u1e9e"),  # sharp s, small and capital: never ss
    ("\u0131",),  # dotless i: never i nor I
    ("\u0130", "I\u0307"),  # capital I with a dot: never i nor I
    ("\u017f",),  # long s
    ("\u00e4", "\u00c4", "a\u0308", "A\u0308"),
    ("\u00f6", "\u00d6", "o\u0308", "O\u0308"),
    ("\u00fc", "\u00dc", "u\u0308", "U\u0308"),
    ("\u00e9", "\u00c9", "e\u0301", "E\u0301"),
    ("\u00f1", "\u00d1", "n\u0303", "N\u0303"),
    ("\u00e5", "\u00c5", "a\u030a", "A\u030a", "\u212b"),
    ("\u01f0", "J\u030c", "j\u030c"),
    ("\u00f8", "\u00d8"), ("\u00e6", "\u00c6"), ("\u0153", "\u0152"), ("\u0142", "\u0141"),
    ("\u00fe", "\u00de"),
    ("\u01c6", "\u01c4", "\u01c5"),  # a digraph has three cases
    ("\u03c3", "\u03c2", "\u03a3"),  # sigma, final sigma, capital sigma
    ("\u03b1", "\u0391"), ("\u03b2", "\u0392"), ("\u03b8", "\u0398"), ("\u03c9", "\u03a9", "\u2126"),
    ("\u03ac", "\u0386", "\u03b1\u0301"), ("\u03bc", "\u039c"),
    ("\u00b5",), ("\u03d0",), ("\u03d1",), ("\u03f4",),  # micro, beta, theta and capital theta symbols
    ("\u0430", "\u0410"), ("\u0435", "\u0415"), ("\u043e", "\u041e"), ("\u044f", "\u042f"),
    ("\u0457", "\u0407"),
    ("\u0439", "\u0419", "\u0438\u0306"), ("\u0561", "\u0531"), ("\u10d0", "\u1c90"), ("\u13a0", "\uab70"),
    ("\u05d0",), ("\u0627",), ("\u0623", "\u0627\u0654"), ("\u0928",), ("\u0e01",), ("\u4e2d",),
    ("\u8c48", "\uf900"),
    ("\u304b",), ("\u304c", "\u304b\u3099"), ("\uac00", "\u1100\u1161"),
    ("\uff41", "\uff21"), ("\uff42", "\uff22"), ("\uff11",),  # full-width letters and digits
    ("\ufb01",), ("\ufb00",), ("\u0133", "\u0132"), ("\u01c9", "\u01c7", "\u01c8"), ("\u2170", "\u2160"),
    ("\u00aa",),
)  # fmt: skip
# What a full case folding, a compatibility form or an eye takes for one: letters and those they look like.
NEAR: Sequence[tuple[str, tuple[str, ...]]] = (
    ("\u00df", ("s", "s")), ("\u0131", ("i",)), ("\u0130", ("i",)), ("\u017f", ("s",)),
    ("\ufb01", ("f", "i")),
    ("\ufb00", ("f", "f")), ("\uff41", ("a",)), ("\uff42", ("b",)), ("\uff11", ("1",)), ("\u0430", ("a",)),
    ("\u043e", ("o",)), ("\u0435", ("e",)), ("\u00b5", ("\u03bc",)), ("\u03d0", ("\u03b2",)),
    ("\u03d1", ("\u03b8",)), ("\u03f4", ("\u03b8",)), ("\u0133", ("i", "j")), ("\u00aa", ("a",)),
    ("\u00e4", ("a",)), ("\u00f8", ("o",)), ("\u0153", ("o", "e")), ("\u00e6", ("a", "e")),
)  # fmt: skip
# Domains. All spellings of one line are one domain; two lines are never one.
DOMAINS: Sequence[tuple[str, ...]] = (
    ("example.com", "EXAMPLE.com", "Example.Com", "example.com."),
    ("example.org", "example.ORG"), ("mail.example.com", "MAIL.example.com"), ("gmail.com", "GMAIL.COM"),
    ("googlemail.com",),
    ("b\u00fccher.example", "B\u00dcCHER.example", "bu\u0308cher.example", "xn--bcher-kva.example",
     "XN--BCHER-KVA.EXAMPLE", "b\u00fccher.example."),
    ("bucher.example",), ("buecher.example",),
    ("stra\u00dfe.example", "STRA\u1e9eE.example", "xn--strae-oqa.example"),
    ("strasse.example", "STRASSE.example"),
    ("fa\u00df.example", "xn--fa-hia.example"), ("fass.example", "FASS.example"),
    ("\u03b2\u03cc\u03bb\u03bf\u03c2.example", "xn--nxasmm1c.example"),
    ("\u03b2\u03cc\u03bb\u03bf\u03c3.example", "xn--nxasmq6b.example"),
    ("\u043f\u0440\u0438\u043c\u0435\u0440.example", "\u041f\u0420\u0418\u041c\u0415\u0420.example",
     "xn--e1afmkfd.example"),
    ("\u4f8b\u3048.example", "xn--r8jz45g.example"), ("\u4f8b\u3048\u3002example",),
    ("\uff45xample.com",), ("ex\u0430mple.com", "xn--exmple-4nf.com"),
    ("exampl\u00e9.com", "xn--exampl-gva.com"),
    ("i.example", "I.example"), ("\u0131.example", "xn--cfa.example"), ("[192.0.2.1]",),
    ("localhost", "LOCALHOST"),
    ("sub_domain.b\u00fccher.example", "SUB_domain.xn--bcher-kva.example"), ("\u2615.example",),
    ("\u00e9cole.example", "e\u0301cole.example", "\u00c9COLE.example", "xn--cole-9oa.example"),
    ("ecole.example",),
)  # fmt: skip

# Country, its code, a number as numbering plans are published with for an example (without any prefix), and
# the same as it is dialled at home.
COUNTRIES: Sequence[tuple[str, str, str, str]] = (
    ("Australia", "61", "412345678", "0412 345 678"),
    ("New Zealand", "64", "211234567", "021 123 4567"),
    ("United Kingdom", "44", "7400123456", "07400 123456"),
    ("United States", "1", "2015550123", "(201) 555-0123"),
    ("Canada", "1", "5062345678", "(506) 234-5678"),
    ("Germany", "49", "15123456789", "01512 3456789"),
    ("Austria", "43", "664123456", "0664 123456"),
    ("Switzerland", "41", "781234567", "078 123 45 67"),
    ("France", "33", "612345678", "06 12 34 56 78"),
    ("Italy", "39", "0212345678", "02 1234 5678"),
    ("Spain", "34", "612345678", "612 34 56 78"),
    ("Portugal", "351", "912345678", "912 345 678"),
    ("Netherlands", "31", "612345678", "06 12345678"),
    ("Belgium", "32", "450001234", "0450 00 12 34"),
    ("Denmark", "45", "34412345", "34 41 23 45"),
    ("Norway", "47", "40612345", "406 12 345"),
    ("Sweden", "46", "701234567", "070-123 45 67"),
    ("Finland", "358", "412345678", "041 2345678"),
    ("Poland", "48", "512345678", "512 345 678"),
    ("Czech Republic", "420", "601123456", "601 123 456"),
    ("Hungary", "36", "201234567", "06 20 123 4567"),
    ("Romania", "40", "712034567", "0712 034 567"),
    ("Greece", "30", "6912345678", "691 234 5678"),
    ("Turkey", "90", "5012345678", "0501 234 56 78"),
    ("Russia", "7", "9123456789", "8 (912) 345-67-89"),
    ("Ukraine", "380", "501234567", "050 123 4567"),
    ("India", "91", "8123456789", "081234 56789"),
    ("China", "86", "13123456789", "131 2345 6789"),
    ("Japan", "81", "9012345678", "090-1234-5678"),
    ("South Korea", "82", "1020000000", "010-2000-0000"),
    ("Singapore", "65", "81234567", "8123 4567"),
    ("Malaysia", "60", "123456789", "012-345 6789"),
    ("Thailand", "66", "812345678", "081 234 5678"),
    ("Vietnam", "84", "912345678", "0912 345 678"),
    ("Indonesia", "62", "812345678", "0812-345-678"),
    ("Philippines", "63", "9051234567", "0905 123 4567"),
    ("Brazil", "55", "11961234567", "(11) 96123-4567"),
    ("Argentina", "54", "91123456789", "011 15-2345-6789"),
    ("Mexico", "52", "2221234567", "222 123 4567"),
    ("South Africa", "27", "711234567", "071 123 4567"),
    ("Nigeria", "234", "8021234567", "0802 123 4567"),
    ("Kenya", "254", "712123456", "0712 123456"),
    ("Egypt", "20", "1001234567", "0100 123 4567"),
    ("Israel", "972", "502345678", "050-234-5678"),
    ("United Arab Emirates", "971", "501234567", "050 123 4567"),
    ("Ivory Coast", "225", "0123456789", "01 23 45 6789"),
    ("Congo", "242", "061234567", "06 123 4567"),
)  # fmt: skip
_FULL_WIDTH = str.maketrans("0123456789+", "".join(map(chr, range(0xFF10, 0xFF1A))) + "\uff0b")
_ARABIC = str.maketrans("0123456789", "".join(map(chr, range(0x660, 0x66A))))


def spellings(country: str, code: str, number: str, at_home: str) -> tuple[tuple[str, str], ...]:
    """A number in its spellings, each with the country that stands beside it, "" for none."""
    grouped = f"{number[:3]} {number[3:6]} {number[6:]}"
    return (
        (f"+{code}{number}", ""),
        (f"+{code} {grouped}", ""),
        (f"+{code} {grouped}", country),
        (f"(+{code}) {grouped}".replace(" ", "-"), "Iceland"),
        (f"+{code}.{number}".translate(_FULL_WIDTH), country),
        (f"+{code}{number}".translate(_ARABIC), country),
        (f"\u202a+{code}\u00a0{grouped}\u202c", ""),
        (f"{code}{number}", country),
        (at_home, country),
        (at_home.replace(" ", ""), country),
        (at_home.translate(_ARABIC), country),
    )


def one_spelling(chance: random.Random, letters: Sequence[tuple[str, ...]]) -> str:
    """A mailbox's letters, each in one of its spellings."""
    return "".join(chance.choice(letter) for letter in letters)


def near_miss(chance: random.Random, letters: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The letters with one that is another: one that looks like it where there is such a one."""
    by_first = {letter[0]: letter for letter in LETTERS}
    place = chance.randrange(len(letters))
    near = [pair for pair in NEAR if pair[0] == letters[place][0]]
    if near:
        return [*letters[:place], *(by_first[one] for one in near[0][1]), *letters[place + 1 :]]
    other = chance.choice([letter for letter in LETTERS if letter != letters[place]])
    return [*letters[:place], other, *letters[place + 1 :]]
