"""What a check of one value found."""

from msgspec import Struct


class Finding(Struct, frozen=True):
    """One thing that is wrong with a value: a phrase that follows it, and what to do.

    `impossible`: the value cannot work, whatever the service does; else it is only unlikely to be meant.
    `code` is that of the mistake, where it is one. `guess` says what the value is understood as, `meant` is
    what was probably to be written, `correct` the value as it is to be written: all three are shown only
    where the value may be shown.
    """

    what: str
    hint: str
    code: str
    impossible: bool = False
    guess: str = ""
    meant: str = ""
    correct: str = ""
