"""The whole error tree. One class for each thing that the caller does next.

    ReconcilerError
      InputError          ManifestError, SettingsError, UnknownAddress       the author edits       3
                          MissingExtra                                       install it             3
      Refused             UnsafePlan, NotCommitted, ConsentDiffers,          a person decides       7, 7, 7,
                          CommitRewound, CommitUnsigned,                                            7, 7,
                          NotApproved, StalePlan, LockHeld                                          7, 5, 4
      ServiceError        Temporary(wait_s): Throttled, Unavailable, Cached  we try again           1
                          Permanent: Unauthorized, NotFound, Rejected,
                          Malformed                                          we stop this change    1
                          InDoubt                                            looked at, never sent
                                                                             again                  8
      DirectoryError                                                         it is mended, or waited
                                                                             for                    1
      StoreError          CorruptRecord                                      we stop everything     1
      FileError                                                              make room, or rights   1
      Interrupted                                                            run it again         130
      ProgramError                                                           report it              1

Every error says what, where and why in its message, and `next` says what to do. Neither ever
holds a secret or a value of somebody's personal data. Nothing raises a ProgramError: our own mistakes
are `assert` and whatever Python raises, and `cli/console/crash_report.py` makes one of what nobody has
handled.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in an input file: where it stands, what it is, and what to do.

    `line` and `column` count from 1; 0 means that the problem belongs to the whole file.
    """

    file: str
    line: int
    column: int
    what: str
    next: str = ""
    code: str = field(kw_only=True)  # its row of model/codes.py, given where the mistake is found

    @property
    def where(self) -> str:
        """`file:line:column`, as far as known: the form that editors jump to."""
        return ":".join([self.file, *(str(part) for part in (self.line, self.column) if part)])

    def __str__(self) -> str:
        """Two lines at most: the place and the mistake, then what to do."""
        hint = f"\n  next: {self.next}" if self.next else ""
        return f"{self.where}: {self.what}{hint}"


class ReconcilerError(Exception):
    """Every error that a user of the program can meet. `str()` is the message, `next` says what to do."""

    error_code: ClassVar[str] = "E010"  # its row of model/codes.py; a class below may have its own
    exit_code: ClassVar[int] = 1
    outcome: ClassVar[str] = "failed"
    workspaces: frozenset[str] = frozenset()  # all that it concerns; empty: not known, or no workspace

    def __init__(self, message: str, *, next: str = "") -> None:  # noqa: A002 - the word that users read
        super().__init__(message)
        self.next = next


class InputError(ReconcilerError):
    """Something has to be edited: files, settings or options."""

    error_code = "E001"
    exit_code = 3
    outcome = "invalid"

    def __init__(self, message: str, *, next: str = "", problems: tuple[Problem, ...] = ()) -> None:  # noqa: A002 - the word that users read
        super().__init__(message, next=next)
        self.problems = problems


class ManifestError(InputError):
    """The manifests have mistakes. `problems` has all of them, in file order."""

    error_code = "E002"


class SettingsError(InputError):
    """The settings cannot be used, or a secret that they name.

    `of_network` are those of the problems that are about the way to the service.
    """

    error_code = "E003"

    def __init__(
        self,
        message: str,
        *,
        next: str = "",  # noqa: A002 - the word that users read
        problems: tuple[Problem, ...] = (),
        of_network: tuple[Problem, ...] = (),
    ) -> None:
        super().__init__(message, next=next, problems=problems)
        self.of_network = of_network


class MissingExtra(InputError):
    """An optional part of the program is needed and not installed; `next` is the command that installs it."""

    error_code = "E005"


class UnknownAddress(InputError):
    """An address or a selector matches nothing that is declared, recorded or planned."""

    error_code = "E004"


class UnknownRun(InputError):
    """A run that is named is not in the history of this stack, or several are meant."""

    error_code = "E188"


class Refused(ReconcilerError):
    """A person has to decide before this may go on."""

    error_code = "E011"
    exit_code = 7
    outcome = "refused"


class UnsafePlan(Refused):
    """The guard refuses the plan; `reasons` holds one sentence for each rule that was broken."""

    error_code = "E012"

    def __init__(self, message: str, *, next: str = "", reasons: tuple[str, ...] = ()) -> None:  # noqa: A002 - the word that users read
        super().__init__(message, next=next)
        self.reasons = reasons


class NotCommitted(Refused):
    """In CI, the files to apply are not in a commit."""

    error_code = "E045"


class CommitUnreadable(NotCommitted):
    """In CI, the files cannot be compared with a commit, because the repository cannot be read."""

    error_code = "E170"


class CommitRewound(Refused):
    """The commit does not descend from the one that was applied last, or that cannot be known here."""

    error_code = "E190"


class CommitUnsigned(Refused):
    """The commit has no good signature of somebody whom the settings name."""

    error_code = "E191"


class ConsentDiffers(Refused):
    """The command line gives another consent than the plan file, which was reviewed with its own."""

    error_code = "E047"


class NotApproved(Refused):
    """A plan that needs the approval of persons does not have it, or has it no longer."""

    error_code = "E184"


class NotUndoable(Refused):
    """A run of the history cannot be undone: it wrote nothing, or what undoes it is not kept."""

    error_code = "E189"


class StalePlan(Refused):
    """An apply would do something else now than the plan file says."""

    error_code = "E013"
    exit_code = 5
    outcome = "stale"


class LockHeld(Refused):
    """Another run is writing; the message names who holds the lock, since when, and how far that run is.

    `running` says the same in fields (model/runs.py); None where the lock was lost, or is not a run's.
    """

    error_code = "E014"
    exit_code = 4
    outcome = "locked"

    def __init__(self, message: str, *, next: str = "", running: Mapping[str, object] | None = None) -> None:  # noqa: A002 - the word that users read
        super().__init__(message, next=next)
        self.running = running


class ServiceError(ReconcilerError):
    """The service, or the network on the way to it, did not do what was asked.

    `method` and `path` name the call without its query, which may carry a key;
    `status` is 0 when no answer arrived; `code` is the service's own error code, if any. `elsewhere`: asked
    for one entity by its id, the service shows another one, redirects, or says that it is gone for good. That
    is a conflict of that entity, as where two were merged, and not by itself a wrong address.
    """

    error_code = "E020"
    elsewhere: bool = False

    def __init__(
        self,
        message: str,
        *,
        next: str = "",  # noqa: A002 - the word that users read
        method: str = "",
        path: str = "",
        status: int = 0,
        code: str = "",
    ) -> None:
        super().__init__(message, next=next)
        self.method = method
        self.path = path
        self.status = status
        self.code = code


class Temporary(ServiceError):
    """Another try may succeed after `wait_s` seconds (0: the service names no time)."""

    error_code = "E021"

    wait_s: float = 0.0


class Throttled(Temporary):
    """The service asked us to slow down."""

    error_code = "E022"


class Unavailable(Temporary):
    """No answer, or an answer that says to try later. It is not known that anything was done."""

    error_code = "E023"


class Cached(Temporary):
    """A cache answered instead of the service: the answer may be out of date, so nothing is decided by it."""

    error_code = "E024"


class NotSent(Unavailable):
    """A write was certainly not sent. It may be sent after another look at the service."""

    error_code = "E025"


class Permanent(ServiceError):
    """Another try would end the same way."""

    error_code = "E026"


class Unauthorized(Permanent):
    """The credentials are refused, or the day's quota is used up: the whole run stops."""

    error_code = "E027"


class NotFound(Permanent):
    """The service has nothing at this path."""

    error_code = "E028"


class Rejected(Permanent):
    """The service understood the request and refused it."""

    error_code = "E029"


class Malformed(Permanent):
    """The answer does not have the form that the specification says; it is never taken for an empty one."""

    error_code = "E030"


class InDoubt(ServiceError):
    """A write was sent and its outcome is unknown. The service is read before anything is sent again."""

    error_code = "E031"
    exit_code = 8
    outcome = "in doubt"


class DirectoryError(ReconcilerError):
    """A directory that rosters come from gave an invalid answer: `problems` say which, where and why."""

    error_code = "E032"

    def __init__(self, message: str, *, next: str = "", problems: tuple[Problem, ...] = ()) -> None:  # noqa: A002 - the word that users read
        super().__init__(message, next=next)
        self.problems = problems


class StoreError(ReconcilerError):
    """The store cannot be read or written: everything stops, before the next remote write."""

    error_code = "E040"


class CorruptRecord(StoreError):
    """A row of the store does not have the content that this program writes."""

    error_code = "E041"


class FileError(ReconcilerError):
    """A file cannot be written or read: a full disk, a missing permission, or another file in the way."""

    error_code = "E042"


class Interrupted(ReconcilerError):
    """A signal asked us to stop; what was finished is reported."""

    error_code = "E043"
    exit_code = 130
    outcome = "interrupted"


class ProgramError(ReconcilerError):
    """A bug in this program: an unexpected exception. `places` says where, the innermost first."""

    error_code = "E044"

    def __init__(self, message: str, *, next: str, places: tuple[str, ...]) -> None:  # noqa: A002 - the word that users read
        super().__init__(message, next=next)
        self.places = places


def unwrap_exception_group(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first of what a user can meet, where a group holds nothing else; else the group.

    Reads run side by side: when the service refuses, several of them may say so at once.
    """
    told, others = group.split(ReconcilerError)
    return group if told is None or others is not None else next(_leaf_errors(told))


def _leaf_errors(group: BaseExceptionGroup[ReconcilerError]) -> Iterator[ReconcilerError]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaf_errors(error)
        else:
            yield error
