"""Secrets and people that exist nowhere else, every spelling of them, and every place they could show up in.

Belongs here: the canaries, a project that holds them, a service that echoes them, looking for them. Which
commands meet which failures stands in test_canaries.py.
"""

import base64
import json
import shutil
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from hostile.command import Ended, run
from logged import everything_logged, whole
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from reconciler.manifest.cache import cache_bytes_min

USER = "Vw3k-canary-user"
PASSWORD = "pW9xq2r~canary/pass+word="
KEY = "Zk7tkx93+/=canary-key"
CALLBACK_KEY = "Cb4mQv81-canary-callback"
TOKEN = "Pt6hLs55-canary-push-token-0123456789"
CONTACT_PASSWORD = "Gn8rTd24-canary-of-a-person"
DIRECTORY_PASSWORD = "Hr5nBq77-canary-of-a-directory"

SECRETS = {
    "password": PASSWORD,
    "key": KEY,
    "callback key": CALLBACK_KEY,
    "push token": TOKEN,
    "password of a contact": CONTACT_PASSWORD,
    "password of a directory": DIRECTORY_PASSWORD,
}
PEOPLE = ("quillfeather", "canary.person@example.com", "+61491570110")

ENVIRON = {
    "SVC_USER": USER,
    "SVC_PASSWORD": PASSWORD,
    "SVC_API_KEY": KEY,
    "CALLBACK_KEY": CALLBACK_KEY,
    "HR_URL": f"postgresql://hr:{DIRECTORY_PASSWORD}@127.0.0.1:1/hr",  # where nobody listens
    "RECONCILER_SERVICE_LIMITS_REQUESTS_PER_SECOND": "0",
    "RECONCILER_SERVICE_LIMITS_SETTLE_S": "0",
    "RECONCILER_SERVICE_LIMITS_TIMEOUT_S": "0.25",
    "RECONCILER_LOCK_IN_SERVICE": "never",  # it waits for real seconds
}

MANIFEST = f"""\
version: 1
workspace: default
contacts:
  canary:
    firstName: Canaria
    lastName: Quillfeather
    workEmailAddress1: canary.person@example.com
    workMobilePhone1: "+61491570110"
    timezone: Australia/Melbourne
    workCountry: Australia
    password: {CONTACT_PASSWORD}
    devices:
      phone:
        deviceName: phone
        appId: com.example.oncall
        platform: GCM
        deviceOS: Android 15
        deviceModel: Pixel 9
        pushToken: {TOKEN}
"""

LARGE = "version: 1\nworkspace: default\ncontacts: {}\n" + "#" * cache_bytes_min + "\n"

# Where people's data may stand: what a person asked to see, and files of ours, private ones.
SHOWING = (
    "explain",
    "fmt",
    "list",
    "plan",
    "apply",
    "adopt",
    "forget",
    "resume",
    "drift",
    "show",
    "contacts",
    "messages",
    "callbacks",
    "history",
)


def spellings(secret: str) -> tuple[str, ...]:
    """The eight spellings that a secret is looked for in; what is split is found by joining the sink."""
    data = secret.encode()
    return (
        secret,
        quote(secret, safe=""),
        base64.b64encode(data).decode().rstrip("="),
        base64.urlsafe_b64encode(data).decode().rstrip("="),
        data.hex(),
        json.dumps(secret)[1:-1].replace("/", "\\/"),
        secret[::-1],
        secret[:8],
    )


BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode().rstrip("=")


def secrets_in(text: str) -> list[str]:
    """The names of the secrets that a text holds in any spelling, also over several lines."""
    joined = "".join(text.split())
    found = [
        name
        for name, secret in SECRETS.items()
        if any(form in text or form in joined for form in spellings(secret))
    ]
    return found + ["user and password"] * (BASIC[-16:] in joined or BASIC[:16] in joined)


def people_in(text: str) -> list[str]:
    """What of the person stands in a text."""
    return [word for word in PEOPLE if word in text.lower()]


@dataclass
class Sinks:
    """Everything that one command said and left behind."""

    ended: Ended
    crash: str = ""
    logs: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    modes: dict[str, int] = field(default_factory=dict)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield each sink by its name."""
        yield "stdout", self.ended.out
        yield "stderr", self.ended.err
        yield "crash", self.crash
        yield "logs", "\n".join(self.logs)
        yield from self.files.items()


@dataclass
class Project:
    """A folder with settings and a manifest full of canaries."""

    folder: Path
    environ: dict[str, str]

    @classmethod
    def make(cls, folder: Path, address: str, environ: Mapping[str, str]) -> "Project":
        """A new one, whatever stood there before."""
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "manifests").mkdir(parents=True)
        (folder / ".git").mkdir()
        auth = "{username: {env: SVC_USER}, password: {env: SVC_PASSWORD}, api_key: {env: SVC_API_KEY}}"
        (folder / "reconciler.yaml").write_text(
            f"version: 1\nstack: canary\nservice:\n  base_url: {address}\n  auth: {auth}\n"
            "directories: {staff: {sql: {url: {env: HR_URL}, statement: SELECT 1 AS id}}}\n"
        )
        (folder / "manifests" / "team.yaml").write_text(MANIFEST)
        # With it there is enough for a cache of manifests, whose entries are left behind like other files.
        (folder / "manifests" / "large.yaml").write_text(LARGE)
        return cls(folder, {**ENVIRON, "HOME": str(folder), **environ})

    def run(self, *arguments: str, breaks: Exception | None = None) -> Sinks:
        """Run a command line with every logger open, and collect what came of it.

        `breaks` is raised by whatever is written to stdout.
        """
        sinks = Sinks(Ended(-1, "", ""))
        with everything_logged() as logs:
            try:
                sinks.ended = run(self.folder, *arguments, environ=self.environ, breaks=breaks)
            except Exception as error:  # noqa: BLE001 - a crash is a sink like any other
                sinks.crash = "".join(traceback.format_exception(error)) + "".join(_told(error))
        sinks.logs = [whole(one) for one in logs]
        self.left_behind(sinks)
        return sinks

    def left_behind(self, sinks: Sinks) -> None:
        """Collect the files of ours; settings and manifests are the author's."""
        for path in self.folder.rglob("*"):
            name = str(path.relative_to(self.folder))
            if path.is_file() and name != "reconciler.yaml" and not name.startswith("manifests"):
                sinks.files[name] = path.read_bytes().decode("latin-1")
                sinks.modes[name] = path.stat().st_mode & 0o777


def _told(error: BaseException | None) -> Iterator[str]:
    for _ in range(20):  # a chain may be a ring
        if error is not None:
            yield from (repr(error), repr(error.args), repr(vars(error)))
            error = error.__cause__ or error.__context__


Answer = tuple[int, Mapping[str, str], bytes]
Echo = Callable[[str, str], Answer]


def echoing(answer: Echo) -> Starlette:
    """A service that answers every request by what it was told: the secrets, and the address asked for."""

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        basic = base64.b64decode(headers.get("authorization", " ").split(" ", 1)[1]).decode()
        told = f"{basic} {headers.get('authorization')} {headers.get('x-api-key')} {KEY} {PASSWORD}"
        where = f"{scope['path']}?{scope['query_string'].decode()}&apikey={quote(KEY, safe='')}"
        status, more, body = answer(told, where)
        raw = [(name.encode(), value.encode("latin-1")) for name, value in more.items()]
        raw.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": status, "headers": raw})
        await send({"type": "http.response.body", "body": body})

    return Starlette(routes=[Mount("/", app)])
