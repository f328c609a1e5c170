"""Context: by which program, from which commit and in which place a run took place."""

from msgspec import Struct


class Context(Struct, frozen=True, omit_defaults=True):
    """What an operator looks for when two records of one night have to be laid side by side.

    Each is empty where it is not known, and has the form of its name in schemas/common.schema.json:
    `program` a semantic version, `commit` 40 hexadecimal digits (64 where git names by SHA-256) and `+dirty`
    where something was read that it does not hold, `+unchecked` where nothing was compared, `container` a
    long or short id.
    """

    program: str = ""
    commit: str = ""
    trace_id: str = ""
    container: str = ""
    region: str = ""
