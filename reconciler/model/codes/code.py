"""Code: one kind of mistake or refusal, what it means, and an example of it."""

from msgspec import Struct


class Code(Struct, frozen=True, kw_only=True):
    """One row of the catalogue: the code, a title, what is checked and why.

    `wrong` and `right` are a manifest below its `version` and `workspace`, or with `roster` the CSV file that
    ROSTER names; `wrong` has this mistake and no other. Both are "" where no file shows it.
    """

    code: str
    title: str
    means: str
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
