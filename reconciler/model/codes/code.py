"""Code: one kind of mistake or refusal, what it means, and an example of it."""

from msgspec import Struct


class Code(Struct, frozen=True):
    """One row: the code, a title, what is checked and why.

    `sign` is a regular expression over the messages that have this code; "" where a class of error or a rule
    has it. `wrong` and `right` are a manifest below its `version` and `workspace`, or with `roster` the CSV
    file that ROSTER names; `wrong` has this mistake and no other. Both are "" where no file shows it.
    """

    code: str
    title: str
    means: str
    sign: str = ""
    wrong: str = ""
    right: str = ""
    roster: bool = False


# What the examples that are CSV files stand beside.
ROSTER = """\
rosters:
  - file: staff.csv
    name: "{ID}"
    contacts:
      firstName: "{Name}"
      workEmailAddress1: "{Mail}"
"""


def person(*lines: str) -> str:
    """Return a manifest with one contact, and these lines more in it."""
    more = "".join(f"    {line}\n" for line in lines)
    return f"contacts:\n  jane-doe:\n    firstName: Jane\n    workEmailAddress1: jane@example.com\n{more}"


def resource(*lines: str) -> str:
    """Return a manifest with one resource of these lines."""
    return "resources:\n  team-list:\n" + "".join(f"    {line}\n" for line in lines)
