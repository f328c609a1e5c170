"""The way of a new user who takes a live workspace to git and CI, with the shipped commands and jobs."""

import base64
import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import warm
from cli.hands import PLAIN, Service
from project.test_ci_templates import TEMPLATES, violations
from project.workflows import Runner
from pyrage import x25519
from served import sandbox

PEOPLE = 100
LEAVING = (7, 23, 42, 99)
CREDENTIALS = {"SVC_USER": "demo", "SVC_PASSWORD": "demo", "SVC_API_KEY": "demo-key"}
KEYS = {
    "CALLBACK_DEFAULT_DUTY_AUTH_KEY": "key-of-duty",
    "CALLBACK_DEFAULT_ESCALATION_AUTH_KEY": "key-of-escalation",
}
PHONE = {
    "deviceName": "Phone",
    "appId": "com.example.oncall",
    "platform": "GCM",
    "deviceOS": "Android 15",
    "deviceModel": "Pixel 9",
}
SITES = {"name": "sites.csv", "scope": "private", "mimeType": "text/csv"}


@pytest.fixture
def service() -> Iterator[Service]:
    """A service in a process of its own, with people, a device each, two files and two callbacks."""
    with sandbox("--no-callback-check") as (address, _):
        service = Service(address)
        for at in range(PEOPLE):
            mail = {"workEmailAddress1": f"ann.no{at:03d}@example.com"}
            made = service.call("POST", "/contacts", {"firstName": "Ann", "lastName": f"No{at:03d}", **mail})
            path = made["link"][0]["uri"].removeprefix(address)
            service.call("POST", f"{path}/devices", {**PHONE, "pushToken": f"live-token-{at:03d}"})
        for name in ("sites.csv", "rota.csv"):
            content = base64.b64encode(b"site,city\nHead office,Oslo\n").decode()
            service.call("POST", "/resources", {**SITES, "name": name, "derefUri": content})
        yield service


@pytest.fixture
def project(service: Service, tmp_path: Path) -> "NewUser":
    """An empty repository, and somebody who has three credentials."""
    (tmp_path / "on-call").mkdir()
    git(tmp_path / "on-call", "init", "-q", "-b", "main")
    return NewUser(tmp_path / "on-call", service)


class NewUser:
    """Somebody at a terminal, with a clone."""

    def __init__(self, folder: Path, service: Service) -> None:
        self.folder = folder
        self.service = service

    def run(self, *words: str, **environ: str) -> str:
        """What a command says, having ended well."""
        given = {**PLAIN, **CREDENTIALS, **environ}
        done = warm.run(*words, cwd=self.folder, env=given)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def start(self, store: Path) -> None:
        """Begin: `init`, the settings of a test, and callbacks that somebody made once."""
        self.run("init", RECONCILER_SERVICE_BASE_URL=self.service.address)
        settings = self.folder / "reconciler.yaml"
        # As fast as the service answers; and the runners share a disk, for the store.
        text = settings.read_text(encoding="utf-8").replace(
            "service:\n",
            f"store: sqlite:///{store}\nlock: {{in_service: never}}\n"
            "service:\n  limits: {requests_per_second: 0, settle_s: 0}\n",
        )
        settings.write_text(text, encoding="utf-8")
        for name in ("duty", "escalation"):
            url = f"http://127.0.0.1:9/{name}"
            self.run("callbacks", "create", name, url, "--key-env", "KEY", KEY=f"old-key-of-{name}")

    def edit(self, before: str, after: str) -> None:
        """Replace one piece of the manifest of people."""
        path = self.folder / "manifests" / "default-contacts.yaml"
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1
        path.write_text(text.replace(before, after), encoding="utf-8")

    def remove(self, numbers: tuple[int, ...]) -> None:
        """Take the entries of people out."""
        path = self.folder / "manifests" / "default-contacts.yaml"
        entries = re.split(r"^(?=  [\w-]+:\n)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        names = [f"lastName: No{at:03d}\n" for at in numbers]
        staying = [one for one in entries if not any(name in one for name in names)]
        assert len(entries) - len(staying) == len(numbers)
        path.write_text("".join(staying), encoding="utf-8")

    def commit(self, subject: str) -> None:
        """Everything that git does not ignore."""
        git(self.folder, "add", "--all")
        git(self.folder, "commit", "-q", "-m", subject)

    def copy_workflows(self, recipients: str) -> None:
        """As docs/ci.md says: copy, and edit the lines marked `edit`."""
        values = {"RECONCILER_SERVICE_BASE_URL": self.service.address, "RECIPIENTS": recipients}
        place = self.folder / ".github" / "workflows"
        for name in ("plan", "apply", "resume", "drift"):
            text = (TEMPLATES / "github" / f"{name}.yml").read_text(encoding="utf-8")
            edited = []
            for line in text.splitlines():
                if " # edit" not in line:
                    edited.append(line)
                elif "CALLBACK_" in line:
                    edited += [line[: line.index("#")] + f"{key}: ${{{{ secrets.{key} }}}}" for key in KEYS]
                else:
                    key = line.partition(":")[0]
                    edited.append(f"{key}: {values[key.strip()]}" if key.strip() in values else line)
            (place / f"{name}.yml").write_text("\n".join(edited) + "\n", encoding="utf-8")


def git(folder: Path, *words: str) -> None:
    """Run git as somebody."""
    who = ("-c", "user.name=Kim Example", "-c", "user.email=kim@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True)


def everything(service: Service) -> dict[str, Any]:
    """The whole live workspace, by direct calls: each entity as it is shown alone."""
    found = {}
    for kind in ("contacts", "resources", "callbacks"):
        at = 0
        while rows := service.call("GET", f"/{kind}?offset={at}").get(kind):
            at += len(rows)
            for row in rows:
                path = f"/{kind}/{row.get('id') or row['link'][0]['uri'].rpartition('/')[2]}"
                found[path] = service.call("GET", f"{path}?customFields=true" if kind == "contacts" else path)
    return found


def is_of(numbers: tuple[int, ...], entity: dict[str, Any]) -> bool:
    """Whether this is one of these people."""
    return entity.get("lastName") in {f"No{at:03d}" for at in numbers}


def calls_announced(text: str) -> int:
    """How many calls a command says it made."""
    (number,) = re.findall(r"(?:in | )([\d,]+) calls(?:\.|, [\d.]+ s)", text)
    return int(number.replace(",", ""))


def test_a_live_workspace_goes_to_git_and_ci_and_a_wanted_delete_passes(  # noqa: PLR0915 - one way, in its order
    project: NewUser, service: Service, tmp_path: Path
) -> None:
    """From beginning to end: what goes wrong because of an earlier step goes wrong here and nowhere else."""
    project.start(tmp_path / "store.db")
    before = everything(service)
    asked = len(service.requests())

    # Export: a variable for the key of each callback alone, and nothing changes.
    exported = project.run("export", "--devices")
    assert "exported 100 contacts, 100 devices, 2 resources, 2 callbacks" in exported
    assert calls_announced(exported) == len(service.requests()) - asked
    assert re.findall(r"^    ([A-Z_]+)$", exported, re.MULTILINE) == list(KEYS)
    assert "live-token" not in "".join(one.read_text() for one in project.folder.glob("manifests/*.yaml"))
    checked = project.run("validate", **KEYS)
    assert "no mistakes. Declared: 100 contacts, 100 devices, 2 resources, 2 callbacks" in checked
    assert "no changes   204 adopted" in project.run("plan", **KEYS)

    # Commit, and the jobs as they are shipped: everybody is adopted, and nothing is sent.
    machine, reviewer = x25519.Identity.generate(), x25519.Identity.generate()
    project.copy_workflows(f"{machine.to_public()} {reviewer.to_public()}")
    project.commit("Take what is live to git")
    secrets = {**CREDENTIALS, **KEYS}  # five; and for the job that opens the plan, its own key
    runner = Runner(
        *(project.folder, tmp_path / "runs"),
        {"live-plan": secrets, "production": {**secrets, "AGE_IDENTITY": str(machine)}},
    )
    assert runner.run("validate", "validate").ended_well
    planned = runner.run("apply", "plan")
    assert (planned.ended_well, planned.outputs) == (True, "changes=true\n"), planned
    assert "- 204 adopted\n- 107 calls\n" in planned.summary
    applied = runner.run("apply", "apply")
    assert applied.ended_well, applied.log
    assert everything(service) == before

    # Four people leave: the pull request says what would happen, and so does the merge.
    project.remove(LEAVING)
    git(project.folder, "switch", "-q", "-c", "four-leave")
    project.commit("Remove the four who left")
    proposed = runner.run("plan", "plan", branch="four-leave")
    git(project.folder, "switch", "-q", "main")
    git(project.folder, "merge", "-q", "four-leave")
    merged = runner.run("apply", "plan")
    for refused in (proposed, merged):
        assert not refused.ended_well
        for text in (refused.log, refused.summary):
            assert "the plan deletes 4 entities that existed before this stack" in text
            assert all(f"contact/default/ann-no{at:03d}" in text for at in LEAVING)
            assert len(set(re.findall(r"contact/default/[\w-]+", text))) == len(LEAVING)
            assert "[G5]" in text
            assert "next: check that nothing is missing from the manifests; if this is meant" in text
            assert "--allow-deletes 4" in text
    assert "merge, then start the workflow apply by hand" in proposed.summary
    assert "start this workflow by hand and agree to it there" in merged.summary
    assert merged.outputs == "changes=true\n"
    assert everything(service) == before

    # Somebody agrees, somebody reviews, and exactly that is carried out.
    agreed = runner.run("apply", "plan", allow_deletes="4")
    assert agreed.ended_well, agreed.log
    assert "- **agreed to: --allow-deletes 4**" in agreed.summary
    key = tmp_path / "key"
    key.write_text(str(reviewer), encoding="utf-8")
    key.chmod(0o600)
    review = project.run("show", str(runner.artifacts["plan"]), "--identity", str(key)).splitlines()
    named = ", ".join(f"contact/default/ann-no{at:03d}" for at in LEAVING)
    assert review[:2] == [
        "Consent given:",
        f"  up to 4 deletes (--allow-deletes 4): {named}",
    ]
    writes = len(service.writes())
    deleted = runner.run("apply", "apply")
    assert deleted.ended_well, deleted.log
    assert "## apply: done\n- 4 applied\n" in deleted.summary
    assert [method for method, _ in service.writes()[writes:]] == ["DELETE"] * 4
    assert everything(service) == {path: one for path, one in before.items() if not is_of(LEAVING, one)}
    assert len(before) - len(everything(service)) == 4

    # A mistake in a pull request: its place, its code and what to do, without a secret.
    project.edit("lastName: No000", "lastNam: No000")
    git(project.folder, "switch", "-q", "-c", "mistake")
    project.commit("Make a mistake")
    place = r"manifests/default-contacts\.yaml:\d+:\d+: "
    told = place + r"contact/default/ann-no000: lastNam is not a field.* \[E201\]\n"
    for invalid in (
        runner.run("validate", "validate", at="mistake"),
        runner.run("plan", "plan", branch="mistake"),
    ):
        assert not invalid.ended_well
        for text in (invalid.log, invalid.summary):
            assert re.search(rf"{told}(.*\n){{0,4}}? *next: did you mean lastName\?\n", text), text
            assert "next: \n" not in text


WHO_LEAVE = (7, 23, 42, 61, 99)
CONSENT = """\
version: 1
workspace: default
consent:
  - delete:
{lines}
    until: {until}
    reason: left the company, OPS-1432
"""


def test_a_wanted_delete_passes_the_jobs_with_a_consent_in_the_same_merge_request(
    project: NewUser, service: Service, tmp_path: Path
) -> None:
    """Everybody is adopted, and five are more than the limit: nobody starts a job by hand."""
    project.start(tmp_path / "store.db")
    project.run("export", "--devices")
    key = x25519.Identity.generate()
    project.copy_workflows(str(key.to_public()))
    project.commit("Take what is live to git")
    secrets = {**CREDENTIALS, **KEYS}
    runner = Runner(
        *(project.folder, tmp_path / "runs"),
        {"live-plan": secrets, "production": {**secrets, "AGE_IDENTITY": str(key)}},
    )
    assert runner.run("apply", "plan").ended_well
    assert runner.run("apply", "apply").ended_well
    before = everything(service)

    project.remove(WHO_LEAVE)
    git(project.folder, "switch", "-q", "-c", "five-leave")
    project.commit("Remove the five who left")
    refused = runner.run("plan", "plan", branch="five-leave")
    names = [f"contact/default/ann-no{at:03d}" for at in WHO_LEAVE]
    path = project.folder / "manifests" / "default-consent.yaml"
    until = (datetime.now(tz=UTC) + timedelta(days=7)).date()
    lines = "\n".join(f"      - {name}" for name in names)
    path.write_text(CONSENT.format(lines=lines, until=until), encoding="utf-8")
    project.commit("Consent to that")
    checked = runner.run("validate", "validate", at="five-leave")
    proposed = runner.run("plan", "plan", branch="five-leave")
    git(project.folder, "switch", "-q", "main")
    git(project.folder, "merge", "-q", "five-leave")
    merged, applied = runner.run("apply", "plan"), runner.run("apply", "apply")

    assert not refused.ended_well
    assert "or name them under `consent:`" in refused.summary
    for job in (checked, proposed, merged, applied):
        assert job.ended_well, job.log
    assert "- **agreed to: consent: 5**" in merged.summary
    assert "## apply: done\n- 5 applied\n" in applied.summary
    assert len(before) - len(everything(service)) == 5

    after = project.run("plan", **KEYS)
    assert after.count("is used up: run ") == 5
    assert "manifests/default-consent.yaml:5" in after


def test_a_job_whose_store_is_no_secret_takes_that_of_the_settings(project: NewUser, tmp_path: Path) -> None:
    """A secret that nobody set is an empty text to GitHub, which no setting may be."""
    project.start(tmp_path / "store.db")
    key = x25519.Identity.generate()
    project.copy_workflows(str(key.to_public()))
    project.commit("Begin")
    given = {**CREDENTIALS, **KEYS, "AGE_IDENTITY": str(key)}
    runner = Runner(project.folder, tmp_path / "runs", dict.fromkeys(("live-plan", "production"), given))

    ran = [runner.run(*words) for words in (("apply", "plan"), ("drift", "drift"), ("resume", "resume"))]

    assert [one.log for one in ran if "RECONCILER_STORE" in one.log] == []
    assert "## plan: done" in ran[0].summary


@pytest.mark.parametrize("name", ["plan", "apply", "resume", "drift"])
def test_a_line_for_a_variable_of_a_manifest_is_one_that_the_policy_allows(name: str) -> None:
    """The template shows where it goes; filled in, the file is held to the same rules."""
    path = f"github/{name}.yml"
    text = (TEMPLATES / path).read_text(encoding="utf-8")
    shown = re.findall(r"^ +# CALLBACK_X_AUTH_KEY: .* # edit", text, re.MULTILINE)

    assert len(shown) == text.count("RECONCILER_STORE: ")
    assert violations(path, text.replace("# CALLBACK_X_AUTH_KEY", "CALLBACK_X_AUTH_KEY")) == {}
