"""What the result codes of LDAP mean, and what to do about each. Source: RFC 4511, A.2, and appendix A.

The server's own words are never shown: they may hold a DN, or a value of somebody.
"""

from reconciler.directories.answers import DirectoryFailed

SUCCESS = 0

_ASK = "ask who runs the directory"
_LOGIN = "check `dn` and `password` in the settings"
_NARROW = "narrow `filter` or `base`, or ask who runs the directory for a higher limit for this user"
_RIGHTS = "check what the user of `dn` may read there"
_LATER = "run it again later"
_BASE = "check `base` in the settings: it is a DN, such as ou=people,dc=example,dc=com"

ELSEWHERE = (
    "a part of the tree is on another server, and no referral is followed.",
    "name a `base` below which everything is on this server, or ask a server that holds all of it",
)

# Code -> what happened, what to do next.
RESULTS: dict[int, tuple[str, str]] = {
    1: ("the server could not do it in this order.", f"check whether it wants a user (`dn`); or {_ASK}"),
    2: ("the server does not understand the request.", "check `url`: it may speak another protocol"),
    3: ("the server's limit in time is over; what it found until then is not taken.", _NARROW),
    4: ("the server's limit of entries is reached; what it found until then is not taken.", _NARROW),
    7: ("the server takes no user with a password.", _ASK),
    8: ("the server wants a stronger proof of who asks.", "use ldaps:// or `start_tls`; or " + _ASK),
    10: ELSEWHERE,
    11: ("an administrative limit is reached; what was found until then is not taken.", _NARROW),
    12: (
        "the server cannot read in pages (RFC 2696).",
        f"{_ASK} to allow the control 1.2.840.113556.1.4.319",
    ),
    13: ("the server wants encryption.", "use ldaps:// or `start_tls`"),
    14: ("the server wants a way of proving oneself that is not known here.", _ASK),
    16: ("the server does not know one of the attributes.", "check `attributes` and `filter`"),
    17: ("the server does not know one of the attributes.", "check `attributes` and `filter`"),
    18: ("an attribute of the filter cannot be compared like that.", "check `filter`"),
    19: ("the server refuses the value: it breaks a rule of the directory.", _ASK),
    21: ("a value of the filter is none that its attribute can have.", "check `filter`"),
    32: ("there is no such `base`, or this user may not see it.", _BASE),
    33: ("an alias leads nowhere.", _ASK),
    34: ("a DN of the settings is none.", "check `base` and `dn`"),
    36: ("an alias could not be followed.", _ASK),
    48: ("the server does not let this user in with a password.", _LOGIN),
    49: ("the server does not accept the DN and password.", _LOGIN),
    50: ("this user may not read it.", _RIGHTS),
    51: ("the server is busy.", _LATER),
    52: ("the server is not available.", _LATER),
    53: ("the server refuses to do it.", _ASK),
    54: ("the server went around in a circle.", _ASK),
    71: ("the answer would come from several servers.", _ASK),
    80: ("the server failed.", _LATER),
}


def refusal(step: str, code: int) -> DirectoryFailed:
    """Return why a step, such as "the search", did not succeed."""
    what, hint = RESULTS.get(code, ("the server refuses, for a reason that is not known here.", _ASK))
    return DirectoryFailed(f"{step}: {what} (LDAP result {code})", hint)
