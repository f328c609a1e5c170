"""How these tests talk to the sandbox: in process, one event loop a request, a plain client's headers.

Belongs here: sending, and the bodies that many tests start from. Not here: claims.
"""

import asyncio
import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import clock
import httpx2
from starlette.applications import Starlette

from reconciler.sandbox.app import create_app
from reconciler.sandbox.config import SandboxConfig

origin = "http://sandbox.example.com"
named = "4C8FE1A2B3D4E5F6"  # the id of the workspace "Night Shift" in these tests
KINDS = {
    "devices": "contactdevice",
    "contacts": "contact",
    "resources": "resource",
    "workspaces": "workspace",
    "messages": "message",
    "messagestatus": "messagestatus",
    "messageresponses": "messageresponse",
    "callbacks": "api-callback",
    "imports": "importcontact",
    "calls": "api-call",
    "templates": "template",  # rows of test_collections.py
    "notes": "note",
}

JANE = {
    "firstName": "Jane",
    "lastName": "Doe",
    "timezone": "Australia/Melbourne",
    "workEmailAddress1": "jane.doe@example.com",
    "workMobilePhone1": "+61491570156",
    "workCountry": "Australia",
}
PIXEL = {
    "deviceName": "Pixel of Jane",
    "appId": "com.example.oncall",
    "platform": "GCM",
    "deviceOS": "Android 15",
    "deviceModel": "Pixel 9",
    "status": "ACTIVE",
    "pushToken": "token-1",
}


class Clock(clock.Clock):
    """The clock of the tests, from a moment with fractions of a second: what rounds them shows."""

    begins = datetime(2026, 8, 14, 1, 20, 30, 987654, tzinfo=UTC)

    def advance(self, seconds: float) -> None:
        """Go on, as the control interface of the sandbox asks its clock to."""
        self.pass_s(seconds)


class Sandbox:
    """One sandbox in process; every request carries what a good client sends unless told otherwise."""

    def __init__(
        self,
        config: SandboxConfig | None = None,
        *,
        like: Any = "specification",
        collections: Any = (),
        **options: Any,
    ) -> None:
        self.app: Starlette = create_app(
            config or SandboxConfig.like(like, **options), collections=collections
        )

    def send(
        self,
        method: str,
        path: str,
        json: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> httpx2.Response:
        """The answer to one request. `headers` are added to the usual ones; an empty value leaves one out."""
        given = {**usual_headers(path), **(headers or {})}
        present = {name: value for name, value in given.items() if value}
        return asyncio.run(self._send(method, path, json, present, content))

    def get(self, path: str, **options: Any) -> httpx2.Response:
        return self.send("GET", path, **options)

    def post(self, path: str, json: object = None, **options: Any) -> httpx2.Response:
        return self.send("POST", path, json, **options)

    def put(self, path: str, json: object = None, **options: Any) -> httpx2.Response:
        return self.send("PUT", path, json, **options)

    def delete(self, path: str, **options: Any) -> httpx2.Response:
        return self.send("DELETE", path, **options)

    def created(self, path: str, json: object) -> str:
        """Creates, and gives the path of what was created."""
        answer = self.post(path, json)
        assert answer.status_code == 201, answer.text
        return answer.headers["location"].removeprefix(origin)

    def push(self, device: str, result: str) -> Any:
        """One simulated push to the device at this path, and what came of it."""
        answer = self.post(f"/_sandbox/devices/{device.rsplit('/', 1)[1]}/push", {"result": result})
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def _send(
        self, method: str, path: str, json: object, headers: Mapping[str, str], content: bytes | None
    ) -> httpx2.Response:
        transport = httpx2.ASGITransport(app=self.app)
        async with httpx2.AsyncClient(transport=transport, base_url=origin) as client:
            client.headers.clear()
            client.headers["host"] = origin.removeprefix("http://")
            return await client.request(
                method,
                path,
                headers=[(name.encode(), value.encode()) for name, value in headers.items()],
                **({"content": content} if content is not None else {"json": json}),
            )


def vendor_type(kind: str, vendor: str = "service") -> str:
    """The media type of one kind, as the specification writes it."""
    return f"application/vnd.{vendor}.{kind}-v1+json"


def usual_headers(path: str) -> dict[str, str]:
    """Credentials and the media types of the address."""
    names = [segment for segment in path.partition("?")[0].split("/") if segment in KINDS]
    shown = vendor_type(KINDS[names[-1]]) if names else "application/json"
    credentials = base64.b64encode(b"demo:demo").decode()
    return {
        "accept": shown,
        "content-type": shown,
        "authorization": f"Basic {credentials}",
        "x-api-key": "demo-key",
    }


def resource_body(content: bytes = b"name;mail\n", **changed: str) -> dict[str, str]:
    """A private CSV resource with this content."""
    encoded = base64.b64encode(content).decode()
    return {"name": "staff.csv", "scope": "private", "mimeType": "text/csv", "derefUri": encoded, **changed}


def last_segment(path: str) -> str:
    """The id at the end of a path or an address."""
    return path.rsplit("/", 1)[1]
