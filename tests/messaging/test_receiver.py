"""The receiver's contract: who is believed, what is kept, when 200 is said."""

import asyncio
import json
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from messaging.post import HEADER, KEY, Endpoint, endpoint, payload, request, said

from reconciler.errors import FileError, SettingsError, StoreError
from reconciler.messaging.inbox import EventFile, Inbox, keep_days
from reconciler.messaging.listener import lock_reply_output
from reconciler.messaging.receiver import ReceiverConfig, create_receiver, pass_on_waiting
from reconciler.messaging.values import Reply, Respondent
from reconciler.model.secrets import Secret
from reconciler.ownership import find_fault

XML = b"""<?xml version="1.0"?>
<ns3:deliveryResponse xmlns:ns3="http://schemas.api.whispir.com">
  <messageid>4C8FE1A2B3D4E5F6</messageid>
  <messagelocation>https://api.example.com/messages/4C8FE1A2B3D4E5F6</messagelocation>
  <from><name>Jane Doe</name><mobile>+61491570156</mobile></from>
  <responseMessage><channel>SMS</channel><acknowledged>02/03/26 20:30</acknowledged>
    <content>Yes</content></responseMessage>
  <customParameters><entry><key>incident</key><value>42</value></entry></customParameters>
</ns3:deliveryResponse>"""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Endpoint]:
    found = endpoint(tmp_path)
    with closing(found.inbox):
        yield found


def test_a_reply_is_kept_and_passed_on_before_the_answer(here: Endpoint) -> None:
    """The service takes 200 for a promise, and never comes again (facts 6)."""
    assert here.post(payload()) == 200

    assert [one.content for one in here.told] == ["Yes"]
    assert here.told[0].parameters == {"incident": "42"}
    assert [kept.reply for kept in here.inbox.replies()] == here.told
    assert here.inbox.waiting() == ()


def test_json_and_xml_tell_the_same(here: Endpoint) -> None:
    """A callback is configured for one of them."""
    status = here.post(XML, headers={HEADER: KEY, "Content-Type": "application/xml; charset=utf-8"})

    assert status == 200
    (reply,) = here.told
    assert (reply.message_id, reply.sender.mobile, reply.content) == (
        "4C8FE1A2B3D4E5F6",
        "+61491570156",
        "Yes",
    )
    assert reply.parameters == {"incident": "42"}


def test_a_repeat_is_acknowledged_and_told_once(here: Endpoint) -> None:
    """The service repeats what it could not deliver, and sometimes what it could (reliability S20)."""
    later = payload(customParameters={"incident": "42", "sec": "17"})

    assert [here.post(payload()) for _ in range(20)] == [200] * 20
    assert here.post(later) == 200

    assert len(here.told) == 1
    assert len(here.inbox.replies()) == 1


def test_what_differs_in_message_sender_text_or_minute_is_another_reply(here: Endpoint) -> None:
    """YES, then NO, then YES again is three answers."""
    other = payload(**{"from": {"name": "Sam Lee", "mobile": "+61491570157"}})
    for body in (payload(), said("No"), said("Yes", "02/03/26 20:31"), payload(messageid="AB"), other):
        assert here.post(body) == 200

    assert len(here.told) == 5


def test_the_key_may_come_in_the_query(tmp_path: Path) -> None:
    """Public sources write auth and Auth."""
    found = endpoint(tmp_path, ReceiverConfig(key=Secret("a+b/c="), how="query"))
    with closing(found.inbox):
        for query in ("auth=a+b/c=", "Auth=a%2Bb%2Fc%3D", "x=1&auth=a%2Bb/c%3D"):
            assert found.post(payload(), query=query, headers={}) == 200
        for query in ("", "auth=", "auth=a b/c=", "auth=x&auth=a+b/c=", "key=a+b/c="):
            assert found.post(payload(), query=query, headers={}) == 404
        assert found.post(payload(), headers={HEADER: "a+b/c="}) == 404


def test_without_a_key_the_path_decides(tmp_path: Path) -> None:
    found = endpoint(tmp_path, ReceiverConfig(key=None, path="/0f3c"))
    with closing(found.inbox):
        assert found.post(payload(), path="/0f3c", headers={}) == 200
        assert found.post(payload(), path="/", headers={}) == 404


@pytest.mark.parametrize("key", ["", "two words", "clé", "line\nbreak"])
def test_a_key_that_proves_nothing_is_refused(key: str, tmp_path: Path) -> None:
    """An empty key would let everybody in who shows none."""
    with closing(Inbox.open(tmp_path / "inbox.db")) as inbox, pytest.raises(SettingsError):
        create_receiver(ReceiverConfig(key=Secret(key)), inbox, lambda _reply: None)


def test_the_probe_of_a_new_callback_gets_200_without_a_key(here: Endpoint) -> None:
    """The service GETs the address before it agrees, and sends no key with it (facts 6)."""
    for method in ("GET", "HEAD"):
        assert asyncio.run(request(here.app, method)) == 200
        assert asyncio.run(request(here.app, method, path="/elsewhere")) == 404
    assert here.told == []


def test_a_reply_that_cannot_be_passed_on_is_not_acknowledged(tmp_path: Path) -> None:
    """A full disk behind the event file: the service comes again, and then it is told."""
    full = [True]
    told: list[Reply] = []

    def on_reply(reply: Reply) -> None:
        if full[0]:
            raise FileError("no room.")
        told.append(reply)

    with closing(Inbox.open(tmp_path / "inbox.db")) as inbox:
        app = create_receiver(ReceiverConfig(key=None), inbox, on_reply)
        body = [json.dumps(payload()).encode()]
        assert asyncio.run(request(app, "POST", list(body))) == 500
        assert (told, len(inbox.waiting())) == ([], 1)

        full[0] = False
        assert asyncio.run(request(app, "POST", list(body))) == 200
        assert (len(told), inbox.waiting()) == (1, ())


def test_what_was_kept_and_not_passed_on_is_passed_on_at_the_start(tmp_path: Path) -> None:
    """Killed between the two: the service has its 200, or never comes again."""
    reply = Reply("AB", "", Respondent(name="Jane Doe"), content="Yes")
    with closing(Inbox.open(tmp_path / "inbox.db")) as inbox:
        assert inbox.add(reply) is not None

    told: list[Reply] = []
    with closing(Inbox.open(tmp_path / "inbox.db")) as inbox:
        assert pass_on_waiting(inbox, told.append) == 1
        assert pass_on_waiting(inbox, told.append) == 0
        assert inbox.add(reply) is None
    assert told == [reply]


def test_a_caller_who_leaves_is_no_reply(here: Endpoint) -> None:
    headers = {HEADER: KEY}

    status = asyncio.run(
        request(here.app, "POST", [json.dumps(payload()).encode()], headers=headers, leaves=True)
    )

    assert (status, here.told, here.inbox.replies()) == (0, [], ())


def test_an_inbox_is_private_and_durable(tmp_path: Path) -> None:
    """What people wrote is readable by its owner, and there after a power cut (P18)."""
    path = tmp_path / "new" / "inbox.db"
    with closing(Inbox.open(path)) as inbox:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert inbox._connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert inbox._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_what_was_told_is_kept_no_longer_than_repeats_may_come(tmp_path: Path) -> None:
    moment = [datetime(2026, 3, 2, tzinfo=UTC)]
    with closing(Inbox.open(tmp_path / "inbox.db", now=lambda: moment[0])) as inbox:
        old = inbox.add(Reply("A1", "", Respondent(), content="old"))
        waiting = inbox.add(Reply("A2", "", Respondent(), content="never told"))
        assert old is not None
        assert waiting is not None
        inbox.mark_delivered(old.number)

        moment[0] += timedelta(days=keep_days, seconds=1)
        inbox.add(Reply("A3", "", Respondent(), content="new"))

        assert [kept.reply.content for kept in inbox.replies()] == ["never told", "new"]


def test_a_file_that_is_no_inbox_is_left_alone(tmp_path: Path) -> None:
    text, other = tmp_path / "text", tmp_path / "other.db"
    text.write_text("this is no database, and it stays as it is, however long it may be")
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    for path in (text, other):
        path.chmod(0o600)

    for path in (text, other, tmp_path):
        with pytest.raises(StoreError) as told:
            Inbox.open(path)
        assert "--inbox" in told.value.next or "folder" in told.value.next
    assert text.read_text().startswith("this is no database")
    with closing(sqlite3.connect(other)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]


def test_the_event_file_only_grows(tmp_path: Path) -> None:
    """A torn line of a crash stays, and the next one stands on its own."""
    path = tmp_path / "replies.jsonl"
    with closing(EventFile(path)) as events:
        events.append('{"a": 1}', "1")
    with path.open("a") as torn:
        torn.write('{"b": ')
    with closing(EventFile(path)) as events:
        events.append('{"c": 3}', "3")

    assert path.read_text() == '{"a": 1}\n{"b": \n{"c": 3}\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_reply_stands_once_in_the_event_file(tmp_path: Path) -> None:
    """After a kill the last ones are told again: the file holds them, with or without its last line end."""
    path, lines = tmp_path / "replies.jsonl", [f'{{"id": "{number}"}}' for number in range(4)]
    path.write_text("not JSON\n[1]\n" + "\n".join(lines[:3]))
    path.chmod(0o600)
    with closing(EventFile(path)) as events:
        for number in (1, 2, 3):
            events.append(lines[number], str(number))

    assert path.read_text() == "not JSON\n[1]\n" + "\n".join(lines) + "\n"


def test_an_event_file_that_cannot_be_one_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "gone" / "replies.jsonl", Path("/dev/null")):
        with pytest.raises(FileError):
            EventFile(path)


def _open_events(path: Path) -> None:
    EventFile(path).close()


def _open_inbox(path: Path) -> None:
    Inbox.open(path).close()


def _listening(path: Path) -> None:
    with lock_reply_output(path):
        pass


def _link(path: Path, other: Path) -> None:
    path.symlink_to(other)


def _dangling(path: Path, other: Path) -> None:
    path.symlink_to(other.with_name("nowhere"))


def _hard_link(path: Path, other: Path) -> None:
    os.link(other, path)


def _pipe(path: Path, _other: Path) -> None:
    os.mkfifo(path, 0o600)


def _readable(path: Path, _other: Path) -> None:
    path.touch()
    path.chmod(0o640)


FOREIGN = {
    "a link": (_link, "a symbolic link"),
    "a link to nothing": (_dangling, "a symbolic link"),
    "a hard link": (_hard_link, "another name too"),
    "a pipe": (_pipe, "not a regular file"),
    "a file that others may read": (_readable, "(mode 0640)"),
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("opens", [_open_events, _open_inbox])
def test_an_existing_file_has_to_be_ours_and_private(
    name: str, opens: Callable[[Path], None], tmp_path: Path
) -> None:
    """Somebody who may write in the folder could have put it there, to read or to spoil something."""
    make, words = FOREIGN[name]
    path, other = tmp_path / "replies", tmp_path / "other"
    other.write_text("theirs")
    other.chmod(0o600)
    make(path, other)

    with pytest.raises((FileError, StoreError)) as told:
        opens(path)

    assert words in str(told.value)
    assert "--events" in told.value.next or "--inbox" in told.value.next or "chmod 600" in told.value.next
    assert other.read_text() == "theirs"
    assert not (tmp_path / "nowhere").exists()


def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    """Its owner could read what is appended, and change it."""
    path = tmp_path / "replies"
    path.touch(mode=0o600)
    about = list(path.lstat())
    about[stat.ST_UID] = os.geteuid() + 1

    assert find_fault(path, "--events") is None
    assert find_fault(path, "--events", os.stat_result(about)) == (
        "it belongs to another user",
        "name a file of yours with --events",
    )


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_what_sqlite_keeps_beside_the_inbox_is_no_link(end: str, tmp_path: Path) -> None:
    """It would write the replies through it before anybody looks."""
    path = tmp_path / "inbox.db"
    path.with_name(path.name + end).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StoreError, match="symbolic link"):
        Inbox.open(path)

    assert not (tmp_path / "elsewhere").exists()


def test_the_lock_of_an_inbox_is_no_link(tmp_path: Path) -> None:
    (tmp_path / "inbox.db.lock").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(FileError):
        _listening(tmp_path / "inbox.db")

    assert not (tmp_path / "elsewhere").exists()
