"""What the tests of the receiver work with: payloads, and requests to an application in this process."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simulation.virtualloop import pause
from starlette.types import ASGIApp, Message

from reconciler.messaging.inbox import Inbox
from reconciler.messaging.receiver import ReceiverConfig, RefusedRequest, create_receiver
from reconciler.messaging.values import Reply
from reconciler.model.secrets import Secret

KEY = "canary-key-5d41402abc4b2a76"
HEADER = "X-Service-Callback-Key"

Headers = Mapping[str, str | bytes]


def payload(**changes: Any) -> dict[str, Any]:
    """One reply as the specification shows it (2.6)."""
    whole: dict[str, Any] = {
        "messageid": "4C8FE1A2B3D4E5F6",
        "location": "https://api.example.com/messages/4C8FE1A2B3D4E5F6",
        "from": {
            "name": "Jane Doe",
            "mri": "jane.doe.1@contact.example.com",
            "mobile": "+61491570156",
            "email": "jane.doe@example.com",
            "voice": "",
        },
        "responseMessage": {"channel": "SMS", "acknowledged": "02/03/26 20:30", "content": "Yes"},
        "customParameters": {"incident": "42"},
    }
    return whole | changes


def said(content: str, acknowledged: str = "02/03/26 20:30") -> dict[str, Any]:
    """The same reply with another text."""
    return payload(responseMessage={"channel": "SMS", "acknowledged": acknowledged, "content": content})


@dataclass
class Endpoint:
    """A receiver in this process, and what came of it."""

    app: ASGIApp
    inbox: Inbox
    told: list[Reply] = field(default_factory=list)
    refused: list[RefusedRequest] = field(default_factory=list)

    def post(self, body: bytes | dict[str, Any], **options: Any) -> int:
        """The status of one POST; the key is right where nothing else is said."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        options.setdefault("headers", {HEADER: KEY, "Content-Type": "application/json"})
        return asyncio.run(request(self.app, "POST", [data], **options))


def endpoint(folder: Path, config: ReceiverConfig | None = None) -> Endpoint:
    """A receiver with its inbox in that folder."""
    inbox = Inbox.open(folder / "inbox.db")
    told: list[Reply] = []
    refused: list[RefusedRequest] = []
    config = config or ReceiverConfig(key=Secret(KEY))
    return Endpoint(create_receiver(config, inbox, told.append, refused.append), inbox, told, refused)


async def request(
    app: ASGIApp,
    method: str,
    chunks: Iterable[bytes] = (b"",),
    *,
    path: str = "/",
    query: str = "",
    headers: Headers | Iterable[tuple[str, str | bytes]] = (),
    chunk_delay_s: float = 0,
    leaves: bool = False,
) -> int:
    """The status of one request, 0 where no answer was sent. `leaves`: the caller goes before its end."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    waiting = list(chunks)
    sent: list[Message] = []

    async def receive() -> Message:
        await (pause(chunk_delay_s) if chunk_delay_s else asyncio.sleep(0))
        if waiting:
            chunk = waiting.pop(0)
            return {"type": "http.request", "body": chunk, "more_body": bool(waiting) or leaves}
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(
        {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [
                (name.lower().encode(), value if isinstance(value, bytes) else value.encode())
                for name, value in pairs
            ],
        },
        receive,
        send,
    )
    assert len(sent) in (0, 2)
    return sent[0]["status"] if sent else 0
