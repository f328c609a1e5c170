"""Replies are told: to a reader who sleeps, dies or is full, after kills, and by the next command."""

import json
import resource
import signal
import subprocess
from collections import Counter
from collections.abc import Iterable
from http.client import HTTPException
from pathlib import Path
from random import Random

import pytest
from cli.hands import Project, Service
from cli.listener import Listener, lines_of, listening, noted
from waiting import patience_s

kills = 6
ends_within_s = 25.0  # promised are 2; a busy machine takes longer, and what nobody ends takes 30 or more
full_at = 4 * 1024 * 1024  # bytes
LONG = "x" * 1_000  # a pipe of four pages holds four lines with this


def post(ear: Listener, content: str) -> int:
    """The status of the answer to a reply; 0 where there was none."""
    payload = {
        "messageid": "4C8FE1A2B3D4E5F6",
        "from": {"name": "Jane Doe", "mobile": "+61491570156"},
        "responseMessage": {"channel": "SMS", "acknowledged": "02/03/26 20:30", "content": content},
    }
    try:
        return ear.post(json.dumps(payload).encode(), {})
    except (OSError, HTTPException):
        return 0


def contents(lines: Iterable[str]) -> list[str]:
    """What the replies of some lines say, without what makes them long."""
    return [json.loads(line)["content"].removesuffix(LONG) for line in lines]


def inbox(project: Project, service: Service, *options: str) -> list[str]:
    """What `callbacks inbox` prints."""
    ended = project.run(service, "callbacks", "inbox", *options)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


@pytest.mark.parametrize("by", ["listen", "inbox"])
def test_what_a_dead_reader_did_not_take_is_told_by_the_next(
    by: str, project: Project, service: Service
) -> None:
    """All were acknowledged, so the service never comes again; the listener ends, for it tells nobody."""
    sent = [f"{number:02}" for number in range(20)]
    with listening(project, service, "--no-key", pipesize=16_384) as ear:
        assert post(ear, "first") == 200
        assert ear.reply()["content"] == "first"
        noted(project, 1)
        assert {post(ear, one + LONG) for one in sent} == {200}
        assert ear.process.stdout is not None
        ear.process.stdout.close()
        assert ear.process.wait(ends_within_s) == 1
        assert ear.process.stderr is not None
        said = ear.process.stderr.read()

    assert "stopped: 1 reply, 0 refused.\n  20 not printed: " in said
    assert "standard output cannot be written: its reader has gone." in said or "broken pipe" in said
    if by == "inbox":
        assert contents(inbox(project, service)) == sent
    else:
        with listening(project, service, "--no-key") as ear:
            assert ear.process.stdout is not None
            assert contents(ear.process.stdout.readline() for _ in sent) == sent
            code, rest, said = ear.stop()
        assert (code, rest) == (0, "")
        assert said.endswith("stopped: 20 replies, 0 refused.\n")
    assert inbox(project, service) == []
    assert len(inbox(project, service, "--all")) == 21


def test_a_reader_that_sleeps_holds_up_nobody(project: Project, service: Service) -> None:
    """Neither the service nor the end; and what the pipe holds is not told again."""
    sent = [f"{number:02}" for number in range(20)]
    with listening(project, service, "--no-key", pipesize=16_384) as ear:
        assert {post(ear, one + LONG) for one in sent} == {200}
        ear.process.send_signal(signal.SIGTERM)
        assert ear.process.wait(ends_within_s) == 0
        assert ear.process.stdout is not None
        taken = contents(ear.process.stdout)
        assert ear.process.stderr is not None
        said = ear.process.stderr.read()

    assert 0 < len(taken) < len(sent)
    assert f"stopped: {len(taken)} replies, 0 refused.\n  {20 - len(taken)} not printed: " in said
    assert taken + contents(inbox(project, service)) == sent


def test_a_full_output_is_not_listened_for(project: Project, service: Service) -> None:
    """Otherwise it would acknowledge replies that are never printed."""
    with Path("/dev/full").open("w") as full:
        words = ("callbacks", "listen", "--port", "0", "--no-key")
        with project.start(service, *words, stdout=full, stderr=subprocess.PIPE) as process:
            said = process.communicate(timeout=patience_s)[1]

    assert process.returncode == 1
    assert said.startswith("standard output cannot be written: no space left on device. ")


def test_an_output_that_fills_up_ends_the_listener(project: Project, service: Service) -> None:
    """In the middle of a line, long after the start. What was acknowledged and not told is told again."""
    path, sent = project.folder / "told", [f"{number:02}" for number in range(4)]
    with path.open("ab") as output:
        output.truncate(full_at)  # far more than the files of the inbox have: the limit is for any file
        with listening(project, service, "--no-key", stdout=output) as ear:
            assert post(ear, "first") == 200
            noted(project, 1)
            limit = path.stat().st_size + len(LONG)
            resource.prlimit(ear.process.pid, resource.RLIMIT_FSIZE, (limit, limit))
            acknowledged = [one for one in sent if post(ear, one + LONG) == 200]
            assert ear.process.wait(ends_within_s) == 1
            assert ear.process.stderr is not None
            said = ear.process.stderr.read()

    assert acknowledged[:1] == sent[:1]
    assert f"stopped: 1 reply, 0 refused.\n  {len(acknowledged)} not printed: " in said
    assert "standard output cannot be written: file too large." in said
    assert path.stat().st_size == limit
    assert contents(inbox(project, service)) == acknowledged
    assert inbox(project, service) == []


def test_killed_at_chance_moments_no_reply_is_lost(project: Project, service: Service) -> None:
    """The event file holds each once; on standard output the last ones may come again, with their ids."""
    chance, events = Random(7), project.folder / "replies.jsonl"
    acknowledged: set[str] = set()
    printed: list[str] = []
    for kill in range(kills + 1):
        with listening(project, service, "--no-key", "--events", str(events)) as ear:
            fatal = chance.randrange(10)
            for number in range(10):
                if number == fatal and kill < kills:
                    ear.process.send_signal(signal.SIGKILL)
                if post(ear, f"{kill}-{number}") == 200:
                    acknowledged.add(f"{kill}-{number}")
            if kill == kills:
                ear.process.send_signal(signal.SIGTERM)
            printed += ear.process.communicate(timeout=patience_s)[0].splitlines()

    ids = {json.loads(line)["id"]: json.loads(line)["content"] for line in printed}
    assert acknowledged <= set(contents(printed))
    assert len(set(ids.values())) == len(ids)
    filed = Counter(one["content"] for one in lines_of(events))
    assert set(filed) >= acknowledged
    assert set(filed.values()) == {1}
    assert inbox(project, service) == []


def test_one_command_tells_from_an_inbox(project: Project, service: Service) -> None:
    """Two would both print the same reply; looking is always allowed."""
    with listening(project, service, "--no-key") as ear:
        assert post(ear, "Yes") == 200
        assert ear.reply()["content"] == "Yes"
        for words in (("inbox",), ("listen", "--port", "0", "--no-key")):
            second = project.run(service, "callbacks", *words)
            assert (second.returncode, second.stdout) == (4, "")
            assert "are being printed by another command. [E014]\n  next: " in second.stderr
        assert contents(inbox(project, service, "--all")) == ["Yes"]


def test_there_has_to_be_an_inbox(project: Project, service: Service) -> None:
    """A name with a slip in it would otherwise be an empty inbox."""
    ended = project.run(service, "callbacks", "inbox", "--inbox", "gone.db")

    assert (ended.returncode, ended.stdout) == (1, "")
    assert (
        ended.stderr
        == "there is no inbox at gone.db. [E042]\n  next: name the inbox of the listener: --inbox FILE\n"
    )
    assert not (project.folder / "gone.db").exists()
