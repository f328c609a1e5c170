"""What a reader of a directory returns, and how it says that nothing can be taken from one.

Belongs here: the form that SQL, LDAP and SCIM share. Not here: what the cells mean (manifest/rosters/).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


class DirectoryFailed(Exception):
    """Why nothing can be taken from a directory. `hint` says what to do next.

    Never holds a secret or a value of a person.
    """

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class AnswerRows:
    """What a directory answered, complete: its columns, and its rows in the order of the answer.

    `header` is unique, and each row has as many cells. `names` are those of the rows, for their places
    (`uid=jane,ou=people,dc=example,dc=com`, `Users/2819c223`); (): their numbers, from 1. `unusable` says, by
    row and column from 0, what a cell holds that is no text: "several values", "bytes", "a list".
    """

    header: tuple[str, ...]
    rows: tuple[list[str], ...]
    names: tuple[str, ...] = ()
    unusable: Mapping[int, Mapping[int, str]] = field(default_factory=dict)
