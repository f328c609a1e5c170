"""`policy` of the settings: what `sync` may do by itself, and every mistake in it at once."""

from pathlib import Path

import pytest

from reconciler.errors import SettingsError
from reconciler.model.settings import Approver, AskWhen, Policy, Windows
from reconciler.settings.reader import read_settings

WHOLE = """\
version: 1
policy:
  mode: apply
  ask_when: {deletes: false, creates_more_than: 50, overwrites_drift: true}
  windows: {time_zone: Australia/Melbourne, allow: ["0 9 * * MON-FRI for 8h"], deny: ["0 0 24 12 * for 3d"]}
  drift: repair
  check: [opa, eval, --stdin-input]
  check_timeout_s: 5
  signed_by: /etc/reconciler/allowed_signers
  expect_every: 2h
  approvers: {jane: {phone: "+61412345678"}, ben: {email: ben@example.com}}
  quorum: 2
  approval_hours: 8
"""

WRONG = """\
version: 1
policy:
  windows:
    time_zone: Australia/Melborne
    allow: ["0 9 * * MON-FRI for 8h", "9am"]
    deny: ["0 0 31 4 * for 1d"]
  approvers: {jane: {phone: "+61412345678"}}
  quorum: 2
"""


def read(folder: Path, text: str, **environ: str) -> Policy:
    (folder / "reconciler.yaml").write_text(text, "utf-8")
    return read_settings(
        config=None, environment=None, cwd=folder, environ=environ, service=False
    ).settings.policy


def refusals(folder: Path, text: str, **environ: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        read(folder, text, **environ)
    return [f"{one.line}: {one.what}" for one in caught.value.problems]


def test_a_policy_arrives_typed(repository: Path) -> None:
    assert read(repository, WHOLE) == Policy(
        mode="apply",
        ask_when=AskWhen(deletes=False, creates_more_than=50, overwrites_drift=True),
        windows=Windows("Australia/Melbourne", ("0 9 * * MON-FRI for 8h",), ("0 0 24 12 * for 3d",)),
        drift="repair",
        check=("opa", "eval", "--stdin-input"),
        check_timeout_s=5,
        signed_by="/etc/reconciler/allowed_signers",
        expect_every="2h",
        approvers={"jane": Approver("+61412345678"), "ben": Approver(email="ben@example.com")},
        quorum=2,
        approval_hours=8,
    )


def test_without_a_policy_sync_only_reports(repository: Path) -> None:
    """Nobody gets changes made by a timer because a line is missing."""
    assert read(repository, "version: 1\n") == Policy()
    assert (Policy().mode, Policy().drift, Policy().ask_when.deletes) == ("report", "report", True)


def test_all_mistakes_of_a_policy_are_said_at_once_with_their_places(repository: Path) -> None:
    assert refusals(repository, WRONG) == [
        "4: policy.windows.time_zone: 'Australia/Melborne' is no time zone.",
        "5: policy.windows.allow: '9am': it is not five fields of cron, then `for` and how long.",
        "6: policy.windows.deny: '0 0 31 4 * for 1d': '0 0 31 4 *' is no cron expression: bad day-of-month.",
        "8: policy.quorum: 2 people must approve, and policy.approvers names 1.",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "mode: yes",
        "mdoe: apply",
        "ask_when: {deletes: sometimes}",
        "ask_when: {updates_more_than: -1}",
        "check: opa eval",
        "expect_every: 2 hours",
        "expect_every: 0h",
        "approvers: {jane: {}}",
        'approvers: {jane: {phone: "0412 345 678"}}',
        "approvers: {jane: {email: jane}}",
        "approvers: {Jane Doe: {email: jane@example.com}}",
        "quorum: 0",
    ],
)
def test_a_policy_of_another_form_is_refused_at_its_line(repository: Path, line: str) -> None:
    (refusal,) = refusals(repository, f"version: 1\npolicy:\n  drift: repair\n  {line}\n")

    assert refusal.startswith("4: ")


def test_a_variable_of_the_machine_goes_before_the_file_that_may_be_merged(repository: Path) -> None:
    """Who may merge may edit the file; what a machine sets stays."""
    found = read(
        repository, "version: 1\npolicy: {mode: apply}\n", RECONCILER_POLICY_MODE="report",
        RECONCILER_POLICY_ASK_WHEN_DELETES="false",
    )  # fmt: skip

    assert (found.mode, found.ask_when.deletes) == ("report", False)


def test_lists_of_a_policy_are_set_in_the_file_alone(repository: Path) -> None:
    """Cron expressions hold commas, by which lists in variables are cut."""
    (refusal,) = refusals(repository, "version: 1\n", RECONCILER_POLICY_WINDOWS_ALLOW="0 9 * * 1,2 for 8h")

    assert "no setting has this name" in refusal


def test_a_lease_covers_two_requests(repository: Path) -> None:
    """Otherwise another machine could look for a write that is still under way."""
    refused = refusals(repository, "version: 1\nlock: {lease_s: 40}\n")

    assert refused == [
        "2: lock.lease_s: 40 s are less than two requests may take (service.limits.timeout_s is 30)."
    ]
    for wrong in ("29", "301", "30.5", "-60"):
        assert refusals(repository, f"version: 1\nlock: {{lease_s: {wrong}}}\n")
    text = "version: 1\nlock: {lease_s: 40}\nservice: {limits: {timeout_s: 20}}\n"
    read(repository, text)


@pytest.mark.parametrize(
    ("first", "second", "what"),
    [
        ('phone: "+61412345678"', 'phone: "+61412345678"', "phone number"),
        ("email: Jane@Example.com", "email: jane@example.com", "e-mail address"),
        ("forge: jane-d", "forge: Jane-D", "login"),
    ],
)
def test_two_approvers_with_one_address_are_one_person(
    repository: Path, first: str, second: str, what: str
) -> None:
    """Who has the phone would be a quorum of two."""
    approvers = f"approvers: {{jane: {{{first}}}, ben: {{{second}}}}}"
    assert refusals(repository, f"version: 1\npolicy:\n  {approvers}\n") == [
        f"3: policy.approvers: jane and ben have the same {what}: one person would count twice."
    ]


def test_a_number_without_quotes_is_the_same_number(repository: Path) -> None:
    """YAML reads it as a whole number, and takes its plus away."""
    policy = read(repository, "version: 1\npolicy:\n  approvers: {jane: {phone: +61412345678}}\n")
    assert policy.approvers == {"jane": Approver("+61412345678")}


@pytest.mark.parametrize("approvers", ["x", "[jane]", "{jane: x}", "{jane: {}}", "{jane: {phone: 0412}}"])
def test_approvers_that_are_none_are_a_mistake_at_their_place(repository: Path, approvers: str) -> None:
    (found,) = refusals(repository, f"version: 1\npolicy:\n  approvers: {approvers}\n")
    assert found.startswith("3: ")


def test_a_check_that_everybody_may_write_is_refused(repository: Path) -> None:
    """Whoever may write it decides what is applied, with the rights of whoever syncs."""
    program = repository / "check"
    program.write_text("#!/bin/sh\nexit 0\n", "utf-8")
    text = "version: 1\npolicy: {check: [./check]}\n"
    program.chmod(0o777)

    assert refusals(repository, text) == [
        "2: policy.check: ./check is not run: everybody on this machine may write it or its folder."
    ]
    program.chmod(0o755)
    assert read(repository, text).check == ("./check",)
