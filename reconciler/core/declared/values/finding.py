"""What a check of one value found."""

from msgspec import Struct


class Finding(Struct, frozen=True):
    """One thing that is wrong with a value: a phrase that follows it, and what to do.

    `impossible`: the value cannot work, whatever the service does; else it is only unlikely to be meant.
    `code` is that of the mistake, where it is one. `guess` says what the value is understood as, `instead` is
    a hint that speaks of the value and takes the place of `hint`: both are shown only where the value may be.
    """

    what: str
    hint: str
    code: str
    impossible: bool = False
    guess: str = ""
    instead: str = ""
