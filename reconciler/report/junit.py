"""The report as JUnit XML: the tab of test results that every CI service has.

A suite for each kind and workspace, a test for each change. A change that is planned or applied passes; what
is refused, ambiguous, in doubt or failed does not. Only elements and attributes that all readers share.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from reconciler.model.plans import action_of
from reconciler.report.escaping import escape_ci_commands, escape_control
from reconciler.report.remarks import OF_CHANGES, Remark, list_check_remarks, list_remarks
from reconciler.report.review_document import Review, Validated

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})

_SKIPPED = {"left-alone", "skipped", "not-attempted"}
_ERRORS = {"in-doubt", "stopped"}
_PASSED = {
    "agreed",
    "delete",
    "reactivate",
    "notice",
}  # worth a look, and no failure: what they say is the test's output


class Test(Struct, frozen=True):
    """One test of a suite: how it ended (`""`, `failure`, `error`, `skipped`), why, and what it printed."""

    suite: str
    name: str
    ended: str = ""
    type: str = ""
    why: str = ""
    out: str = ""


def junit(review: Review) -> str:
    """Return the review as JUnit XML. It has a failure or an error where a person has to act."""
    return junit_suites(f"reconciler {review.command}", [*_list_tests(review)])


def junit_suites(title: str, tests: Sequence[Test]) -> str:
    """Return tests as one document, a suite for each name, in the order in which they first occur."""
    suites: dict[str, list[Test]] = {}
    for test in tests:
        suites.setdefault(test.suite, []).append(test)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f"<testsuites name={_quote_attribute(title)} {_write_counts(tests, skipped=False)}>")
    for name, these in suites.items():
        lines.append(f"  <testsuite name={_quote_attribute(name)} {_write_counts(these, skipped=True)}>")
        for test in _number_names(these):
            lines += _write_test(test)
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def make_place_test(found: Remark) -> Test:
    """Return the test of a remark in a file; the file is its suite."""
    place = ":".join(str(part) for part in (found.file, found.line, found.column) if part)
    why = ("failure", found.rule, found.said) if found.level == "error" else ("", "", "", found.said)
    return Test(found.file or "settings", f"{found.rule} {place}".strip(), *why)


def _make_test(found: Remark, suite: str, name: str) -> Test:
    said = f"{found.said}  at {found.file}:{found.line}" if found.file else found.said
    if found.rule in _PASSED:
        return Test(_name_suite(found.subject, suite), name, out=said)
    ended = "skipped" if found.rule in _SKIPPED else "error" if found.rule in _ERRORS else "failure"
    return Test(_name_suite(found.subject, suite), name, ended, found.rule, said)


def _list_tests(review: Review) -> Iterator[Test]:
    """Yield a test for each change, named alike in plans and runs, and for each other remark."""
    suite = "run" if review.run else review.command
    found = list_remarks(review)
    if review.run is not None:
        changes = [(one.address, one.action) for one in review.run.outcomes]
    else:
        changes = [(one.address, action_of(one)) for one in review.plan.changes]
    own = {one.subject: one for one in found if one.rule in OF_CHANGES}
    for one in found:
        if one.rule not in OF_CHANGES:
            yield _make_test(one, suite, f"{one.rule} {one.subject}".strip())
    for address, word in changes if review.command != "drift" else ():
        name = f"{word} {address}"
        yield (
            _make_test(own[address], suite, name)
            if address in own
            else Test(_name_suite(address, suite), name)
        )
    if review.run is not None:
        yield _make_run_test(suite, review.run.exit_code, review.run.outcome)
    else:
        yield Test(suite, "compared")


def _make_run_test(suite: str, exit_code: int, outcome: str) -> Test:
    """Return the test of the run itself, which fails if the command did, whatever its changes did."""
    return Test(suite, "the run", *(("failure", outcome, f"ended as: {outcome}") if exit_code else ()))


def _name_suite(subject: str, other: str) -> str:
    parts = subject.split("/")
    return f"{parts[0]} in {parts[1]}" if len(parts) > 1 else other


def _number_names(tests: Sequence[Test]) -> Iterator[Test]:
    """Yield tests with unique names: some readers keep only one of two with the same name."""
    seen = Counter[str]()
    for test in tests:
        seen[test.name] += 1
        number = seen[test.name]
        yield (
            test
            if number == 1
            else Test(test.suite, f"{test.name} ({number})", test.ended, test.type, test.why, test.out)
        )


def _write_test(test: Test) -> Iterator[str]:
    head = (
        f'    <testcase classname={_quote_attribute(test.suite)} name={_quote_attribute(test.name)} time="0"'
    )
    if not (test.ended or test.out):
        yield f"{head}/>"
        return
    yield f"{head}>"
    if test.ended == "skipped":
        yield f"      <skipped message={_quote_attribute(test.why)}/>"
    elif test.ended:
        about = f"message={_quote_attribute(test.why)} type={_quote_attribute(test.type)}"
        yield f"      <{test.ended} {about}>{_escape_xml_text(test.why)}</{test.ended}>"
    if test.out:
        yield f"      <system-out>{_escape_xml_text(test.out)}</system-out>"
    yield "    </testcase>"


def _write_counts(tests: Sequence[Test], *, skipped: bool) -> str:
    ended = Counter(test.ended for test in tests)
    counts = f'tests="{len(tests)}" failures="{ended["failure"]}" errors="{ended["error"]}"'
    return f'{counts} skipped="{ended["skipped"]}" time="0"' if skipped else f'{counts} time="0"'


def _escape_xml_text(text: str) -> str:
    return escape_ci_commands(escape_control(text)).translate(_ESCAPES)


def _quote_attribute(text: str) -> str:
    return f'"{_escape_xml_text(text)}"'


def junit_of_checks(result: Validated) -> str:
    """Return a suite a file and a test a mistake; one test that passes where there is none."""
    tests = [make_place_test(one) for one in list_check_remarks(result.problems, result.notices)]
    return junit_suites("reconciler validate", tests or [Test("manifests", "no mistakes")])
