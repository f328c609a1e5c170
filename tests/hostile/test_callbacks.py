"""Callbacks as somebody could send them who knows the key: taken as these values, or refused whole."""

from contextlib import closing
from pathlib import Path

from hostile import corpora
from hostile.corpora import Case
from messaging.post import HEADER, KEY, endpoint


def said(case: Case, folder: Path) -> str:
    """The status that a body of this type gets, and the reply that came of it."""
    found = endpoint(folder)
    with closing(found.inbox):
        headers = {HEADER: KEY, "Content-Type": case.raw["type"]}
        body = case.raw["body"]
        status = found.post(body if isinstance(body, bytes) else body.encode(), headers=headers)
        assert [kept.reply for kept in found.inbox.replies()] == found.told
        assert len(found.told) == (1 if status == 200 else 0)
        assert not [refused for refused in found.refused if "Jane" in refused.what]
    if status != 200:
        return f"value: {status} {found.refused[0].why}"
    reply = found.told[0]
    shown = ascii([reply.message_id, reply.content[:40], dict(reply.parameters)])
    return f"value: {shown if len(shown) < 300 else len(shown)}"


@corpora.each("callbacks")
def test_every_callback_meets_its_line(case: Case, tmp_path: Path) -> None:
    """Kept before it is acknowledged, or nothing of it anywhere."""
    corpora.claim(case, "callbacks", lambda: said(case, tmp_path))
