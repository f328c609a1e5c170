"""A project with every kind of secret that a command could meet, and one search that finds any of them.

Belongs here: the secrets, where each one lies, and how bytes are searched. Each secret is a name around one
word that stands nowhere else, so a part of it is found too, in whatever form the word was written. What
has a form of its own (a private key of age) is searched for as it stands.
"""

import base64
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hostile import canaries
from hostile.canaries import Project
from pyrage import x25519
from waiting import patience_s

WORD = "Xq7vKwJz9bNd"
PUBLIC_PERSON = "ines.vault@example.com"


def secret(name: str) -> str:
    """A value with signs that forms of writing change."""
    return f"{name}+{WORD}/~={name[::-1]}"


# In variables: ours, those of libraries, and those that are none of ours.
VARIABLES = {
    "SVC_USER": "vault-user",  # a name, and no secret: the service shows it as the sender of messages
    "SVC_PASSWORD": secret("password"),
    "SVC_API_KEY": secret("api-key"),
    "CALLBACK_DECLARED": secret("callback-key"),
    "DEVICE_DECLARED": secret("push-token-of-a-variable"),
    "CALLBACK_KEY": secret("key-of-a-command"),
    "PROXY_URL": f"http://p:{quote(secret('proxy'), safe='')}@127.0.0.1:1",
    "HTTPS_PROXY": f"http://p:{quote(secret('proxy-of-the-environment'), safe='')}@127.0.0.1:1",
    "SQL_URL": f"postgresql://h:{quote(secret('sql'), safe='')}@127.0.0.1:1/x",
    "PGPASSWORD": secret("password-of-libpq"),
    "LDAP_DN": f"cn={secret('dn')},dc=example,dc=com",
    "LDAP_PASSWORD": secret("ldap"),
    "SCIM_TOKEN": secret("scim-bearer"),
    "OTEL_EXPORTER_OTLP_HEADERS": f"x-token={quote(secret('collector'), safe='')}",
    "AWS_SECRET_ACCESS_KEY": secret("cloud"),
    "GH_TOKEN": secret("token-of-a-job"),
    "CI_JOB_TOKEN": secret("token-of-a-pipeline"),
    "GIT_CONFIG_PARAMETERS": f"'http.extraheader=AUTHORIZATION: basic {secret('git-variable')}'",
    "SSH_AUTH_SOCK": f"/nowhere/{WORD}-agent",
}
# An environment in which the store is a database that nobody runs.
SHARED = {"RECONCILER_STORE": f"postgresql://r:{quote(secret('store'), safe='')}@127.0.0.1:1/x"}
# In files beside the manifests.
FILES = {
    ".netrc": f"machine 127.0.0.1 login x password {secret('netrc')}\n",
    ".pgpass": f"*:*:*:*:{secret('passfile')}\n",
    ".env": f"TOKEN={secret('dotenv')}\n",
    ".git/config": (
        "[core]\n\trepositoryformatversion = 0\n"
        f'[remote "origin"]\n\turl = https://x:{quote(secret("remote"), safe="")}@git.example.com/x.git\n'
        f'[http "https://git.example.com/"]\n\textraheader = AUTHORIZATION: basic {secret("extraheader")}\n'
    ),
    ".git/credentials": f"https://x:{quote(secret('credentials'), safe='')}@git.example.com\n",
    "ldap-password": secret("file-of-a-directory") + "\n",
    "service-password": secret("file-of-the-service") + "\n",
    "people.csv": (
        f"name,first,mail,phrase\nrow,Ines,row.vault@example.com,{secret('column-of-a-roster')}\n"
    ),
    "payloads/content.csv": f"private {secret('file-of-a-resource')}\n",
}
# In the manifest as it stands there, and at the service alone.
LITERALS = {name: secret(name) for name in ("contact", "answer", "push-token", "resource")}
LIVE = {name: secret(name) for name in ("live-token", "live-key")} | {"mask": f"****{WORD}"}

AGE = x25519.Identity.generate()
IDENTITY = str(AGE)
PUBLIC = str(AGE.to_public())

NAMES = (*VARIABLES, *SHARED, *FILES, *LITERALS, *LIVE, "identity")

SETTINGS = """\
version: 1
stack: vault
service:
  base_url: {address}
  auth: {{username: {{env: SVC_USER}}, password: {{env: SVC_PASSWORD}}, api_key: {{env: SVC_API_KEY}}}}
variables: [CALLBACK_*, DEVICE_*]
directories:
  staff: {{sql: {{url: {{env: SQL_URL}}, statement: SELECT 1 AS id}}}}
  tree:
    ldap:
      url: ldaps://127.0.0.1:1
      base: dc=example,dc=com
      attributes: [uid]
      dn: {{env: LDAP_DN}}
      password: {{file: ldap-password}}
  users: {{scim: {{url: "https://127.0.0.1:1/scim", token: {{env: SCIM_TOKEN}}}}}}
environments:
  proxied: {{service: {{base_url: "https://127.0.0.1:1", network: {{proxy: {{env: PROXY_URL}}}}}}}}
  filed: {{service: {{auth: {{password: {{file: service-password}}}}}}}}
  broken: {{service: {{auth: {{password: {{command: [cat, service-password, nowhere]}}}}}}}}
"""
MANIFEST = f"""\
version: 1
workspace: default
defaults:
  contacts: {{timezone: Australia/Melbourne, workCountry: Australia}}
contacts:
  canary:
    firstName: Ines
    lastName: Vault
    workEmailAddress1: {PUBLIC_PERSON}
    password: {LITERALS["contact"]}
    secretQuestion: The first school
    secretAnswer: {LITERALS["answer"]}
    devices:
      one: {{deviceName: One, appId: com.example.a, platform: GCM, deviceOS: Android 15, deviceModel: Pixel 9,
        pushToken: "{LITERALS["push-token"]}"}}
      two: {{deviceName: Two, appId: com.example.b, platform: GCM, deviceOS: Android 15, deviceModel: Pixel 9,
        pushToken: "${{env:DEVICE_DECLARED}}"}}
      live: {{deviceName: Live, appId: com.example.c, platform: GCM, deviceOS: Android 15,
        deviceModel: Pixel 8}}
resources:
  text: {{name: text.csv, scope: private, mimeType: text/csv, content: {{text: "{LITERALS["resource"]}"}}}}
  file: {{name: file.csv, scope: private, mimeType: text/csv, content: {{file: ../payloads/content.csv}}}}
callbacks:
  on-call:
    name: on-call
    url: "http://127.0.0.1:9/"
    contentType: json
    auth: {{type: httpheader, key: "${{env:CALLBACK_DECLARED}}"}}
    events: {{reply: enabled, undeliverable: enabled}}
rosters:
  - file: ../people.csv
    name: "{{name}}"
    contacts: {{firstName: "{{first}}", lastName: Row, workEmailAddress1: "{{mail}}", password: "{{phrase}}"}}
"""


@dataclass
class Vault(Project):
    """A project that holds all of it; what it was made of is no sink while its bytes stay."""

    made: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def fill(cls, folder: Path, address: str, environ: dict[str, str]) -> "Vault":
        """A new one."""
        made = {"reconciler.yaml": SETTINGS.format(address=address), "manifests/team.yaml": MANIFEST, **FILES}
        made["identity"] = IDENTITY + "\n"
        made |= {".git/HEAD": "ref: refs/heads/main\n", ".git/refs/x": "", ".git/objects/x": ""}
        for name, text in made.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            path.chmod(0o600)
        plain = {name: value for name, value in canaries.ENVIRON.items() if name.startswith("RECONCILER_")}
        files = {"HOME": str(folder), "PGPASSFILE": str(folder / ".pgpass")}
        vault = cls(folder, {**plain, **VARIABLES, **files, **environ})
        vault.made |= {name: text.encode() for name, text in made.items()}
        return vault

    def live_first(self, address: str) -> None:
        """Let the service have a person with devices whose tokens nobody declared."""
        person = {"firstName": "Ines", "lastName": "Vault", "workEmailAddress1": PUBLIC_PERSON}
        made = self._send(address, "/contacts", "contact", person)
        for app, token in (("c", LIVE["live-token"]), ("d", LIVE["mask"])):
            device = {"deviceName": "Live", "appId": f"com.example.{app}", "platform": "GCM"}
            device |= {"deviceOS": "Android 15", "deviceModel": "Pixel 9", "pushToken": token}
            path = made["link"][0]["uri"].removeprefix(address)
            self._send(address, f"{path}/devices", "contactdevice", device)

    @staticmethod
    def _send(address: str, path: str, kind: str, body: object) -> dict[str, Any]:
        basic = base64.b64encode(f"{VARIABLES['SVC_USER']}:{VARIABLES['SVC_PASSWORD']}".encode()).decode()
        media = f"application/vnd.service.{kind}-v1+json"
        headers = {"Authorization": f"Basic {basic}", "X-Api-Key": VARIABLES["SVC_API_KEY"]}
        headers |= {"Accept": media, "Content-Type": media}
        connection = HTTPConnection(address.removeprefix("http://"), timeout=patience_s)
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.status < 300, text
        found: dict[str, Any] = json.loads(text) if text else {}
        return found

    def left(self) -> Iterator[tuple[str, bytes]]:
        """Yield the files that commands made or changed."""
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            if name.startswith("manifests/"):  # what `fmt` writes is the author's
                continue
            if path.is_file() and self.made.get(name) != (data := path.read_bytes()):
                yield name, data


def _forms(word: str) -> Iterator[bytes]:
    """A word as it stands, backwards, in hexadecimal, UTF-16, percent signs and base64 at each offset."""
    data = word.encode()
    yield from (data, data[::-1], data.hex().encode(), data.hex().upper().encode())
    yield from (word.encode("utf-16-le"), word.encode("utf-16-be"))
    yield "".join(f"%{one:02X}" for one in data).encode()
    yield "".join(f"\\u{one:04x}" for one in data).encode()
    wide = (word.encode("utf-16-le"), word.encode("utf-16-be"))
    for at in range(3):
        for one in (data, *wide):
            whole = base64.b64encode(bytes(at) + one)[(4 if at else 0) : -4]
            yield whole
            yield whole.translate(bytes.maketrans(b"+/", b"-_"))


NEEDLES = re.compile(
    b"|".join(re.escape(form) for word in (WORD, IDENTITY[16:40]) for form in {*_forms(word)})
)
_PACKED = re.compile(rb"\x78[\x01\x5e\x9c\xda]|\x1f\x8b\x08")


def finds(data: bytes) -> list[str]:
    """What of a secret bytes hold, also packed, or over several lines; each with what stands around it."""
    found = [
        f"{text[max(0, hit.start() - 30) : hit.end() + 10]!r}"
        for text in (data, b"".join(data.split()))
        for hit in NEEDLES.finditer(text)
    ]
    for start in _PACKED.finditer(data):
        try:
            whole = zlib.decompressobj(wbits=47).decompress(data[start.start() :], 1 << 20)
        except zlib.error:
            continue
        found += [f"packed: {one}" for one in finds(whole)] if len(whole) > len(WORD) else []
    return found
