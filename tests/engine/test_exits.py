import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.engine.context import StopCause
from reconciler.engine.outcomes import run_exit_code
from reconciler.model.address import contact_address
from reconciler.model.runs import EXIT_CODE_WORDS, Outcome, Result

RESULTS: tuple[Result, ...] = ("applied", "skipped", "conflict", "failed", "in doubt", "not attempted")
REASONS: tuple[StopCause, ...] = (
    "interrupted",
    "deadline",
    "credentials",
    "lock",
    "store",
    "fail-fast",
    "mistake",
)


def ended(*results: Result) -> list[Outcome]:
    return [
        Outcome(contact_address("ops", f"p{number}"), "create", one) for number, one in enumerate(results)
    ]


@pytest.mark.parametrize(
    ("results", "stopped", "code"),
    [
        ((), None, 0),
        (("applied", "applied"), None, 0),
        (("applied", "skipped"), None, 0),
        (("skipped",), None, 0),
        (("applied", "failed"), None, 6),
        (("applied", "conflict"), None, 6),
        (("failed",), None, 1),
        (("failed", "skipped"), None, 1),
        (("failed", "conflict"), None, 1),
        (("conflict",), None, 5),
        (("conflict", "skipped"), None, 5),
        (("applied", "in doubt"), None, 8),
        (("failed", "in doubt"), "credentials", 8),
        (("applied", "not attempted"), "interrupted", 130),
        (("in doubt", "not attempted"), "interrupted", 130),
        (("applied", "not attempted"), "deadline", 130),
        (("failed", "not attempted"), "credentials", 1),
        (("applied", "failed", "not attempted"), "credentials", 6),
        (("not attempted",), "lock", 4),
        (("applied", "not attempted"), "lock", 6),
        (("not attempted",), "store", 1),
        (("applied",), "store", 6),
        (("conflict", "not attempted"), "fail-fast", 1),
    ],
)
def test_the_table_of_exit_codes(results: tuple[Result, ...], stopped: StopCause | None, code: int) -> None:
    assert run_exit_code(ended(*results), stopped) == code


@given(st.lists(st.sampled_from(RESULTS), max_size=6), st.none() | st.sampled_from(REASONS))
def test_zero_means_that_nothing_is_left_to_do(results: list[Result], stopped: StopCause | None) -> None:
    """A build continues after exit code 0."""
    code = run_exit_code(ended(*results), stopped)

    assert code in EXIT_CODE_WORDS
    if code == 0:
        assert set(results) <= {"applied", "skipped"}
        assert stopped is None
    if "in doubt" in results:
        assert code in {8, 130}
