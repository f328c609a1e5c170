"""history as a process: who applied what, and whether the record of it is whole."""

import json

import pytest
import tally
from cli.hands import Project, Service
from cli.keeping import rewrite, seal_again, store_file, store_of, told
from words import says

from reconciler.cli.commands.history import history_result, verification_result
from reconciler.core.runs.audit import Verification
from reconciler.model.runs import AuditEntry, Head
from reconciler.report.lines import plain

JANE = "contact/default/jane-doe"


@pytest.fixture
def applied(project: Project, service: Service) -> Project:
    """A project after two runs: five creates, then an update of Jane."""
    assert project.run(service, "apply", "--yes").returncode == 0
    project.edit("jobTitle: Engineer", "jobTitle: Senior Engineer")
    assert project.run(service, "apply", "--yes").returncode == 0
    return project


def runs(project: Project, service: Service) -> list[str]:
    """The ids of all runs, oldest first."""
    entries = told(project.run(service, "history", "--format", "json"))["entries"]
    return list(dict.fromkeys(one["run"] for one in entries))


def test_runs_are_shown_with_who_when_command_outcome_and_counts(applied: Project, service: Service) -> None:
    """The newest last, as in a log; each change below its run."""
    done = applied.run(service, "history")

    lines = done.stdout.splitlines()
    first, second = runs(applied, service)
    assert (done.returncode, done.stderr) == (0, "")
    assert lines[0].split() == ["history", "of", "stack", "quickstart", "2", "runs,", "10", "entries"]
    assert done.stdout.index(first) < done.stdout.index(second)
    assert [line.split("  ")[1:3] for line in lines if " UTC  " in line] == [["apply", "done"]] * 2
    assert sum(line.startswith("  + ") for line in lines) == 5
    assert sum(line.startswith("  ~ contact/default/") for line in lines) == 1
    assert "fingerprint" in done.stdout
    assert lines[-1].startswith("head 10:")


def test_no_name_of_a_person_is_in_the_history(applied: Project, service: Service) -> None:
    """It is kept for years: addresses stand as keyed hashes, and of who is deleted nothing else is left."""
    assert rewrite(applied, "DELETE FROM entities") == 5
    shown = applied.run(service, "history", "--full").stdout
    shown += applied.run(service, "history", "--format", "json").stdout

    names = ("jane", "doe", "sam", "lee", "ada", "king", "pixel", "engineer", "example.com")
    assert [name for name in names if says(shown, name)] == []


def test_what_the_store_still_knows_is_shown_by_its_address(applied: Project, service: Service) -> None:
    """A hash does not show which entity was changed."""
    shown = applied.run(service, "history").stdout
    as_json = told(applied.run(service, "history", "--format", "json"))
    assert rewrite(applied, "DELETE FROM entities WHERE address = ?", "contact/jane-doe") == 1
    forgotten = applied.run(service, "history").stdout
    left = told(applied.run(service, "history", "--format", "json"))

    changed = [one["entity"] for one in as_json["entries"] if one["event"] == "changed"]
    assert (f"  + {JANE}   applied" in shown, f"  ~ {JANE}   applied" in shown) == (True, True)
    assert as_json["addresses"].keys() == set(changed)
    assert JANE in as_json["addresses"].values()
    assert JANE not in forgotten
    assert "  ~ contact in default  " in forgotten
    assert left["addresses"].keys() < as_json["addresses"].keys()
    assert left["entries"] == as_json["entries"]


def test_one_run_is_shown_by_the_beginning_of_its_id(applied: Project, service: Service) -> None:
    """Nobody types 36 characters."""
    first, second = runs(applied, service)

    done = applied.run(service, "history", "--run", second[:8])

    assert second in done.stdout
    assert first not in done.stdout
    assert "1 run, 3 entries" in done.stdout


def test_the_last_runs_are_shown_whole(applied: Project, service: Service) -> None:
    """A limit counts runs: half a run would look like one that did less."""
    first, second = runs(applied, service)

    done = applied.run(service, "history", "--limit", "1", "--format", "json")

    entries = told(done)["entries"]
    assert {one["run"] for one in entries} == {second} != {first}
    assert [one["event"] for one in entries] == ["began", "changed", "ended"]


def test_the_changes_of_one_entity_are_found_by_its_address(applied: Project, service: Service) -> None:
    """The address is not in the store; its keyed hash is, and we can compute that one."""
    done = told(applied.run(service, "history", "--of", JANE, "--format", "json"))
    nobody = told(applied.run(service, "history", "--of", "contact/default/nobody", "--format", "json"))
    wrong = applied.run(service, "history", "--of", "Jane Doe")

    changes = [one for one in done["entries"] if one["event"] == "changed"]
    assert [one["action"] for one in changes] == ["create", "update"]
    assert len({one["entity"] for one in changes}) == 1
    assert nobody["entries"] == []
    assert (wrong.returncode, wrong.stdout) == (3, "")
    assert "is not an address" in wrong.stderr


def test_a_history_without_a_store_is_empty_and_makes_none(project: Project, service: Service) -> None:
    done = project.run(service, "history")
    checked = project.run(service, "history", "--verify")

    assert (done.returncode, done.stdout) == (0, "nothing is recorded for stack quickstart.\n")
    assert (checked.returncode, checked.stdout) == (0, "nothing is recorded yet.\n")
    assert not store_file(project).exists()


def test_an_unbroken_history_says_so_and_gives_the_head_to_keep(applied: Project, service: Service) -> None:
    """The head is what proves later that nothing was cut off; giving it back proves it."""
    done = applied.run(service, "history", "--verify")
    head = told(applied.run(service, "history", "--verify", "--format", "json"))["head"]
    again = applied.run(service, "history", "--verify", "--anchor", head)

    assert done.returncode == again.returncode == 0
    assert done.stdout.startswith("10 entries, unbroken.\n")
    assert f"--anchor {head}" in done.stdout
    assert "only with a head that is kept elsewhere" in done.stdout
    assert again.stdout.startswith("10 entries, unbroken. Nothing was cut off since the anchor.\n")


def test_the_head_that_a_run_reports_is_one_to_check_against(applied: Project, service: Service) -> None:
    """It is in the run's report, so that it lies in the log of whoever carried the run out."""
    applied.edit("jobTitle: Senior Engineer", "jobTitle: Chief Engineer")
    reported = told(applied.run(service, "apply", "--yes", "--format", "json"))["audit_head"]

    checked = told(applied.run(service, "history", "--verify", "--anchor", reported, "--format", "json"))

    assert (checked["exit_code"], checked["head"], checked["entries"]) == (0, reported, 13)


TAMPERING = (
    (
        "an outcome was edited",
        3,
        "UPDATE audit SET body = replace(body, 'applied', 'skipped') WHERE number = 3",
    ),
    ("an author was edited", 1, "UPDATE audit SET body = replace(body, 'apply', 'adopt') WHERE number = 1"),
    ("an entry was taken out", 4, "DELETE FROM audit WHERE number = 4"),
    ("the first was taken out", 1, "DELETE FROM audit WHERE number = 1"),
    ("two changed places", 3, "UPDATE audit SET body = CASE number {3} {4} END WHERE number IN (3, 4)"),
    ("a hash was edited", 9, "UPDATE audit SET hash = 'ffff' || substr(hash, 5) WHERE number = 9"),
    ("an entry is no JSON", 6, "UPDATE audit SET body = 'x' WHERE number = 6"),
    ("an entry was put in", 11, "INSERT INTO audit SELECT origin, stack, 11, body, hash FROM audit LIMIT 1"),
)
_OTHER = "WHEN {} THEN (SELECT body FROM audit WHERE number = {})"


def test_a_history_that_somebody_touched_is_broken_and_the_entry_named(
    applied: Project, service: Service
) -> None:
    """Exit code 1, the number of the first entry that does not hold, and what to do; without any anchor."""
    whole = store_file(applied).read_bytes()
    seen = {}
    for how, _, statement in TAMPERING:
        swapped = statement.replace("{3}", _OTHER.format(3, 4)).replace("{4}", _OTHER.format(4, 3))
        assert rewrite(applied, swapped), how
        done = applied.run(service, "history", "--verify", "--format", "json")
        assert done.returncode == 1, how
        assert done.stderr.count("\n  next: ") == 1, how
        seen[how] = told(done)["broken_at"]
        store_file(applied).write_bytes(whole)
        tally.count("bad inputs", "tampered history, through the command")
    assert rewrite(applied, TAMPERING[0][2])
    shown = applied.run(service, "history", "--verify")

    assert seen == {how: number for how, number, _ in TAMPERING}
    assert (shown.returncode, shown.stderr) == (1, shown.stdout)
    assert "entry 3" in shown.stdout
    assert "next: " in shown.stdout


def test_an_end_that_was_cut_off_shows_only_against_an_anchor(applied: Project, service: Service) -> None:
    """A seal finds accidents; what somebody does to both, only a head kept elsewhere can tell."""
    head = told(applied.run(service, "history", "--verify", "--format", "json"))["head"]
    assert rewrite(applied, "DELETE FROM audit WHERE number > 8") == 2

    cut = applied.run(service, "history", "--verify")
    seal_again(applied)
    alone = applied.run(service, "history", "--verify")
    anchored = applied.run(service, "history", "--verify", "--anchor", head)
    gone = rewrite(applied, "DELETE FROM audit")
    emptied = applied.run(service, "history", "--verify", "--anchor", head)

    assert (cut.returncode, alone.returncode, anchored.returncode, emptied.returncode) == (1, 0, 1, 1)
    assert "entry 10" in anchored.stdout
    assert gone == 8
    assert "broken" in emptied.stdout


@pytest.mark.parametrize(
    "anchor", ["", "17", "0:" + "a" * 64, "1:xyz", "-1:" + "a" * 64, "1:" + "A" * 64, "1:a\n"]
)
def test_an_anchor_that_is_none_is_a_mistake_in_the_command_line(
    anchor: str, project: Project, service: Service
) -> None:
    """Checked against nothing, a cut history would look whole."""
    done = project.run(service, "history", "--verify", "--anchor", anchor)

    assert (done.returncode, done.stdout) == (64, "")


def test_options_that_do_not_go_together_are_refused(project: Project, service: Service) -> None:
    """A check of a part says nothing about the whole."""
    for options in (("--anchor", "1:" + "a" * 64), ("--verify", "--run", "x"), ("--verify", "--of", JANE)):
        done = project.run(service, "history", *options)
        assert (done.returncode, done.stdout) == (64, "")


def test_the_history_of_another_stack_is_another_one(applied: Project, service: Service) -> None:
    done = applied.run(service, "history", env={"RECONCILER_STACK": "other"})

    assert done.stdout == "nothing is recorded for stack other.\n"


def test_a_run_that_has_not_ended_is_shown_as_that(applied: Project, service: Service) -> None:
    """A killed run has no end; it must not look like one that did all it wanted."""
    assert rewrite(applied, "DELETE FROM audit WHERE number = 10") == 1
    seal_again(applied)

    shown = applied.run(service, "history", "--limit", "1").stdout

    assert "apply  not ended   1 applied" in shown


def test_entries_written_by_another_hand_cannot_act_on_the_terminal() -> None:
    """The store may be shared: what stands in it is a stranger's text."""
    wild = AuditEntry(1, "2026-03-01\x1b[2J", "unlocked", "run\n1", who="\u202eeve", hash="a" * 64)

    shown = plain(history_result((wild,), Head(1, "a" * 64), "ops").lines())

    assert all(char == "\n" or char.isprintable() for char in shown)
    assert "\\u202eeve" in shown


def test_a_commit_is_cut_and_its_mark_is_not() -> None:
    """Ten digits name a commit; that it was not all of it says the rest."""
    entry = AuditEntry(1, "2026-03-01T10:00:00+00:00", "began", "r", commit=f"{'0123456789' * 4}+dirty")

    assert "commit 0123456789+dirty" in plain(history_result((entry,), None, "ops").lines())


def test_long_runs_are_folded_and_shown_whole_where_asked() -> None:
    entries = tuple(
        AuditEntry(
            n, "2026-03-01T10:00:00+00:00", "changed", "r", action="create", kind="contact", outcome="applied"
        )
        for n in range(1, 101)
    )

    folded = plain(history_result(entries, None, "ops").lines())
    whole = plain(history_result(entries, None, "ops", full=True).lines())

    assert (folded.count("  + contact"), whole.count("  + contact")) == (10, 100)
    assert "90 more" in folded


def test_what_belongs_to_no_run_stands_by_itself() -> None:
    """A pause is not one run with the question that was asked a day later."""
    at, until = "2026-03-01T10:00:00+00:00", "2026-03-02T10:00:00+00:00"
    entries = (
        AuditEntry(1, at, "paused", "", who="jane on build-7", until=until, reason="stocktaking"),
        AuditEntry(2, at, "unpaused", "", who="jane on build-7"),
        AuditEntry(3, at, "asked", "", question="Q7K2", before="P3M9", counts={"delete": 4}),
        AuditEntry(4, at, "answered", "", question="Q7K2", who="maria", action="forge", outcome="give"),
        AuditEntry(5, at, "rejected", "", question="Q7K2", who="sam", action="code", outcome="wrong code"),
        AuditEntry(6, at, "began", "run-1", command="sync", question="Q7K2"),
    )

    shown = plain(history_result(entries, None, "ops").lines()).splitlines()

    assert shown[0].split() == ["history", "of", "stack", "ops", "1", "run,", "6", "entries"]
    assert [line.split("  ", 1)[1] for line in shown if " UTC  " in line] == [
        "sync is paused until 2026-03-02 10:00:00 UTC: stocktaking",
        "the pause was ended",
        "question Q7K2 was asked: 4 deletes; it replaces P3M9",
        "question Q7K2 was answered: give   by forge",
        "an answer to question Q7K2 did not count: wrong code",
        "sync  not ended",
    ]
    assert sum("maria" in line for line in shown) == 1
    assert any("from the address of sam" in line for line in shown)
    assert any("approved by question Q7K2" in line for line in shown)


def test_a_check_tells_where_the_chain_breaks() -> None:
    """The last sound entry is not given as a head to keep: it would prove the cut."""
    broken = Verification(3, Head(3, "a" * 64), 4, "entry 4 does not hold: it is not as it was written.")

    shown = plain(verification_result(broken, None).lines())

    assert "entry 4 does not hold" in shown
    assert "a" * 64 not in shown


def test_the_store_is_only_read(applied: Project, service: Service) -> None:
    """Looking at the history, and checking it, leaves it as it was."""
    with store_of(applied, service) as store:
        before = store.head()
    for options in ((), ("--verify",), ("--of", JANE), ("--run", "x"), ("--format", "json")):
        assert applied.run(service, "history", *options).returncode == 0
    with store_of(applied, service) as store:
        after = store.head()

    assert before == after
    assert json.loads(applied.run(service, "history", "--format", "json").stdout)["head"] == str(before)
