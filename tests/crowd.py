"""A live workspace that somebody else has filled: invented people, devices, resources, callbacks, over HTTP.

The bodies are made here and sent with the standard library: nothing of the client is trusted to say what is
there. The same number and seed give the same crowd. Belongs here: who is there. Not here: what becomes of
them (test_walk.py).
"""

import base64
import http.client
import json
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import urlsplit

from waiting import patience_s

Body = dict[str, object]

FIRST = ("Ada", "Björn", "Chloé", "Dmitri", "Esi", "Farid", "Grace", "Hana", "Ines", "Jürgen", "Kai", "Łucja")
LAST = (
    "King",
    "O'Neill",
    "García",
    "Nguyễn",
    "van der Berg",
    "Ünal",
    "Smith-Jones",
    "Østergård",
    "Li",
    "Musa",
)
JOBS = ("Nurse", "Engineer", "Porter", "Night manager", "Electrician")
# What people put into names, and what reads like something else to YAML, CSV, Markdown, HTML or a terminal.
HOSTILE = (
    *('Jane "JD"', "yes", "no: maybe", "- dash", "# not a comment", "=1+1", "@sum(A1)", "+SUM(1)", "-1+1"),
    *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "**bold** | pipe", "`code`", "[a](b)"),
    *("😀 Emoji", "משה", "\u202eevil\u202c", "${env:HOME}", "{firstName}", "null", "0x1F", "1e3", "%s%n"),
    *(
        "a" * 120,
        "O'Brien; DROP TABLE",
        "&amp;",
        "'quoted'",
        "tab\there",
        "\\backslash",
        "::set-env name=x::y",
    ),
)
APP = "com.example.oncall"


@dataclass(frozen=True)
class Crowd:
    """What is sent to a workspace: contacts with their devices, then resources.

    `twice` contacts share their e-mail address with another; `without_email` have none.
    """

    contacts: Sequence[tuple[Body, Sequence[Body]]]
    resources: Sequence[Body] = ()
    twice: int = 0
    without_email: int = 0


def crowd(people: int, *, seed: int = 7) -> Crowd:
    """Return a crowd of so many contacts, in the proportions of a real one.

    Of 10,000 contacts 300 have no e-mail address, 40 are 20 pairs with the same one, and 906 have a device.
    There are 200 resources.
    """
    chance = random.Random(seed)
    without, twice = max(people * 3 // 100, 3), max(people * 4 // 1000, 4) // 2 * 2
    contacts: list[tuple[Body, list[Body]]] = []
    for number in range(people - twice // 2):
        body = _person(number, chance)
        if number < without:
            del body["workEmailAddress1"]
        devices = [_device(number, chance)] if number % 11 == 5 else []
        contacts.append((body, devices))
    for number in range(twice // 2):
        again = dict(contacts[without + number * 3][0])
        contacts.append(({**again, "jobTitle": "Porter"}, []))
    chance.shuffle(contacts)
    resources = [_resource(number) for number in range(max(people // 50, 3))]
    return Crowd(contacts, resources, twice, without)


def _person(number: int, chance: random.Random) -> Body:
    first, last = chance.choice(FIRST), chance.choice(LAST)
    if number % 50 == 7 or 20 <= number < 20 + len(HOSTILE):
        first = HOSTILE[number % len(HOSTILE)]
    body: Body = {
        "firstName": first,
        "lastName": last,
        "workEmailAddress1": f"person.{number}@example.com",
        "workMobilePhone1": f"+6149157{number % 10_000:04d}",
        "workCountry": "Australia",
        "timezone": "Australia/Melbourne",
    }
    if chance.random() < 0.7:
        body["jobTitle"] = chance.choice(JOBS)
    if chance.random() < 0.3:
        body["department"] = chance.choice(("Ward 3", "Plant: north", "Night shift"))
    return body


def _device(number: int, chance: random.Random) -> Body:
    return {
        "deviceName": f"Phone {number}",
        "appId": APP,
        "platform": chance.choice(("GCM", "APNS")),
        "deviceOS": "Android 15",
        "deviceModel": "Pixel 9",
        "pushToken": f"invented-token-{number:06d}-{chance.randrange(10**12):012d}",
    }


def _resource(number: int) -> Body:
    data = base64.b64encode(f"name,shift\nperson {number},night\n".encode()).decode()
    return {
        "name": f"rota-{number:04d}.csv",
        "scope": "private",
        "mimeType": "text/csv",
        "derefUri": data,
    }


def fill(base_url: str, crowd: Crowd, *, at_once: int = 2) -> None:
    """Send a crowd to a workspace of a service: `base_url` leads there. Raises OSError."""
    with ThreadPoolExecutor(at_once) as pool:
        parts = [crowd.contacts[at::at_once] for at in range(at_once)]
        for _ in pool.map(lambda part: _send(base_url, part), parts):
            pass
    with closing(_Caller(base_url)) as caller:
        for body in crowd.resources:
            caller.post("/resources", "resource", body)


def _send(base_url: str, contacts: Sequence[tuple[Body, Sequence[Body]]]) -> None:
    """Send contacts, each before its devices, over one connection."""
    with closing(_Caller(base_url)) as caller:
        for body, devices in contacts:
            remote_id = caller.post("/contacts", "contact", body).rpartition("/")[2]
            for device in devices:
                caller.post(f"/contacts/{remote_id}/devices", "contactdevice", device)


class _Caller:
    def __init__(self, base_url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(base_url).netloc, timeout=patience_s)
        self._above = urlsplit(base_url).path
        secret = base64.b64encode(b"demo:demo").decode()
        self._headers = {"Authorization": f"Basic {secret}", "x-api-key": "demo-key"}

    def post(self, path: str, media: str, body: Body) -> str:
        """Return the path of what was made."""
        kind = f"application/vnd.service.{media}-v1+json"
        headers = {**self._headers, "Content-Type": kind, "Accept": kind}
        self._connection.request("POST", self._above + path, json.dumps(body), headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise OSError(f"{path}: {answer.status} {text[:300]!r}")
        return urlsplit(answer.headers.get("Location", "")).path

    def close(self) -> None:
        self._connection.close()
