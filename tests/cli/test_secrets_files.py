"""Files of secrets: one is committed in place of a secret for each device; what may be wrong with it."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyrage
import pytest
from cli.hands import PLAIN, Project, Service
from cli.keys_for_tests import SSH_PRIVATE, SSH_PUBLIC
from cli.test_checkout import commit, git, write
from cli.test_export import with_devices
from msgspec import structs

from reconciler import pipeline
from reconciler.environment.checkout import collect_inputs, read_checkout
from reconciler.errors import InputError, ManifestError
from reconciler.manifest.cache import Declaration
from reconciler.model.snapshots import Desired
from reconciler.settings import secrets
from reconciler.settings.reader import read_settings

OURS, THEIRS = pyrage.x25519.Identity.generate(), pyrage.x25519.Identity.generate()
KEY = {"RECONCILER_SECRETS_IDENTITY": str(OURS)}
TITLE = "canary-title"
SETTINGS = """\
version: 1
manifests: [manifests/]
variables: [DEVICE_*, TITLE]
secrets: {files: [secrets.env.age]}
workspaces: {default: {}}
"""
MANIFEST = """\
version: 1
workspace: default
contacts:
  jane-doe: {workEmailAddress1: jane@example.com, jobTitle: "${env:TITLE}"}
"""


def encrypted(text: str | bytes, *keys: pyrage.x25519.Identity) -> bytes:
    data = text if isinstance(text, bytes) else text.encode()
    return bytes(pyrage.encrypt(data, [one.to_public() for one in keys or (OURS,)]))


@dataclass
class Root:
    """A repository with a project whose only variable is in a file."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    def write(self, data: str | bytes, name: str = "secrets.env.age") -> None:
        write(self.folder, name, data)
        (self.folder / name).chmod(0o600)

    def edit(self, before: str, after: str) -> None:
        file = self.folder / "reconciler.yaml"
        assert before in file.read_text()
        file.write_text(file.read_text().replace(before, after))

    def declared(self, *, caches: bool = False, all_values: bool = True) -> Desired:
        return self.read(caches=caches, all_values=all_values).desired

    def read(self, *, caches: bool = False, all_values: bool = True) -> Declaration:
        home = {"HOME": str(self.folder.parent / "home")}
        environ = {**PLAIN, **home, **self.environ}
        read = read_settings(config=None, environment=None, cwd=self.folder, environ=environ, service=False)
        self.settings = structs.replace(read.settings, caches=caches)
        return pipeline.load_declaration(self.settings, environ, all_values=all_values)

    def title(self) -> str:
        (one,) = self.declared().entities.values()
        return str(one.fields["jobTitle"])

    def differences(self) -> dict[str, str]:
        """What a run would find that is not as in the commit."""
        inputs = self.read().inputs
        found = read_checkout(self.folder, collect_inputs(self.settings, inputs))
        return {one.path: one.why for one in found.differences}

    def mistake(self) -> tuple[str, str]:
        """The only mistake: its code, and what a user is told."""
        with pytest.raises(ManifestError) as caught:
            self.declared()
        (one,) = caught.value.problems
        assert one.next
        for secret in (TITLE, str(OURS)[16:40], str(THEIRS)[16:40]):
            assert secret not in f"{one}{one.next}"
        return one.code, str(one)


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """A project in a repository, with an encrypted file that this command can open."""
    found = Root(tmp_path / "project", dict(KEY))
    found.write(SETTINGS, "reconciler.yaml")
    found.write(MANIFEST, "manifests/people.yaml")
    found.write(encrypted(f"TITLE='{TITLE}'\n"))
    git(found.folder, "init", "-q")
    commit(found.folder)
    return found


def test_a_variable_comes_from_an_encrypted_file(root: Root) -> None:
    """One secret, the key, stands for all of them."""
    assert root.title() == TITLE


def test_the_environment_goes_over_a_file(root: Root) -> None:
    """A job may replace one value, and what it says is never replaced by what a file says."""
    root.environ["TITLE"] = "from the environment"

    assert root.title() == "from the environment"


@pytest.mark.parametrize(
    "given",
    [
        {"TITLE": "set"},
        {"RECONCILER_SECRETS_IDENTITY": str(THEIRS), "TITLE": "set"},
        {"RECONCILER_SECRETS_FILES": "is/not/there", "TITLE": "set"},
    ],
)
def test_no_file_is_opened_where_the_environment_has_everything(root: Root, given: dict[str, str]) -> None:
    """Who has every variable needs no key; a file that is not needed fails nobody, and is no input."""
    root.environ = given

    assert root.title() == "set"
    assert "secrets.env.age" not in [Path(one.path).name for one in root.read().inputs]


def test_a_check_without_variables_needs_no_key(root: Root) -> None:
    """A pull request of a stranger has none, and everything else is checked."""
    root.environ = {}
    root.write(b"damaged")

    found = root.declared(all_values=False)

    assert "this variable is not set, so its value is not checked." in [one.what for one in found.notices]


def test_a_project_without_variables_needs_no_key(root: Root) -> None:
    """The setting alone opens nothing."""
    root.environ = {}
    root.write(MANIFEST.replace("${env:TITLE}", "Nurse"), "manifests/people.yaml")

    assert root.title() == "Nurse"


def test_a_secret_under_meta_ignore_needs_no_key(root: Root) -> None:
    """What nobody compares is not read: that is so of the environment, and of a file."""
    root.environ = {}
    body = (
        '{name: ours, url: "https://replies.example.com/", auth: {type: httpheader, key: "${env:DEVICE_A}"}'
    )
    head = "version: 1\nworkspace: default\ncallbacks:\n"
    root.write(f"{head}  ours: {body}, meta: {{ignore: [auth.key]}}}}\n", "manifests/people.yaml")
    assert len(root.declared().entities) == 1

    root.write(f"{head}  ours: {body}}}\n", "manifests/people.yaml")
    assert root.mistake()[0] == "E181"


def identity_file(root: Root, text: str) -> str:
    root.write(text, "../key")
    return str(root.folder.parent / "key")


def as_a_file(root: Root) -> None:
    root.environ = {"RECONCILER_IDENTITY": identity_file(root, f"# made for a test\n{OURS}\n")}


def as_a_setting(root: Root) -> None:
    identity_file(root, f"# made for a test\n{OURS}\n")
    root.edit("files: [", "identity: {file: ../key}, files: [")
    root.environ = {}


def as_a_command(root: Root) -> None:
    identity_file(root, f"{OURS}\n")
    root.edit("files: [", "identity: {command: cat ../key}, files: [")
    root.environ = {}


def as_the_whole_text_of_a_file(root: Root) -> None:
    root.environ["RECONCILER_SECRETS_IDENTITY"] = f"# created: 2026\n# public key: age1\n{OURS}\n"


def as_the_second_of_two(root: Root) -> None:
    root.environ["RECONCILER_SECRETS_IDENTITY"] = f"{THEIRS}\n{OURS}\n"


def as_an_ssh_key(root: Root) -> None:
    recipient = pyrage.ssh.Recipient.from_str(SSH_PUBLIC)
    root.write(bytes(pyrage.encrypt(f"TITLE={TITLE}\n".encode(), [recipient])))
    root.environ["RECONCILER_SECRETS_IDENTITY"] = SSH_PRIVATE


@pytest.mark.parametrize(
    "give",
    [as_a_file, as_a_setting, as_a_command, as_the_whole_text_of_a_file, as_the_second_of_two, as_an_ssh_key],
)
def test_the_key_comes_from_where_other_secrets_come_from(root: Root, give: Callable[[Root], None]) -> None:
    """A CI service gives a variable, a person has a file, a vault has a command."""
    give(root)

    assert root.title() == TITLE


def missing(root: Root) -> None:
    (root.folder / "secrets.env.age").unlink()


def a_folder(root: Root) -> None:
    missing(root)
    (root.folder / "secrets.env.age").mkdir()


def no_key(root: Root) -> None:
    root.environ = {}


def another_key(root: Root) -> None:
    root.environ["RECONCILER_SECRETS_IDENTITY"] = str(THEIRS)


def no_such_key(root: Root) -> None:
    root.environ["RECONCILER_SECRETS_IDENTITY"] = "AGE-SECRET-KEY-1" + str(OURS)[16:-1]


def an_empty_key(root: Root) -> None:
    root.environ = {"RECONCILER_IDENTITY": identity_file(root, "# nothing\n")}


def a_key_that_others_may_read(root: Root) -> None:
    root.environ = {"RECONCILER_IDENTITY": identity_file(root, f"{OURS}\n")}
    (root.folder.parent / "key").chmod(0o644)


def the_key_in_place_of_its_file(root: Root) -> None:
    root.environ = {"RECONCILER_IDENTITY": str(OURS)}


def cut_short(root: Root) -> None:
    root.write((root.folder / "secrets.env.age").read_bytes()[:-3])


def one_bit_another(root: Root) -> None:
    data = bytearray((root.folder / "secrets.env.age").read_bytes())
    data[-1] ^= 1
    root.write(bytes(data))


def plain_under_that_name(root: Root) -> None:
    root.write(f"TITLE={TITLE}\n")


def not_utf8(root: Root) -> None:
    root.write(encrypted(f"TITLE={TITLE}\n".encode() + b"B=\xff\n"))


def too_large(root: Root) -> None:
    root.write(encrypted(f"TITLE={TITLE}\n# " + "x" * secrets.file_bytes_max))


def no_assignment(root: Root) -> None:
    root.write(encrypted(f"# the first\n{TITLE}\n"))


def an_expansion(root: Root) -> None:
    root.write(encrypted(f"TITLE=$(echo {TITLE})\n"))


def twice(root: Root) -> None:
    root.write(encrypted(f"TITLE={TITLE}\nTITLE={TITLE}\n"))


def twice_in_two_files(root: Root) -> None:
    root.edit("secrets.env.age", "secrets.env.age, more.env.age")
    root.write(encrypted(f"TITLE={TITLE}\n"), "more.env.age")


def not_allowed(root: Root) -> None:
    root.write(encrypted(f"TITLE={TITLE}\nHOME={TITLE}\n"))


def others_may_write(root: Root) -> None:
    (root.folder / "secrets.env.age").chmod(0o666)


def a_plain_identity(root: Root) -> None:
    root.edit("files: [", "identity: {env: NOT_SET}, files: [")
    root.environ = {}


def no_variable(root: Root) -> None:
    root.write(encrypted("DEVICE_A=a\n"))


MISTAKES: dict[Callable[[Root], None], tuple[str, str]] = {
    missing: ("E112", "secrets.env.age cannot be read: no such file"),
    a_folder: ("E112", "secrets.env.age"),
    no_key: ("E181", "nothing names the private key that opens it"),
    another_key: ("E181", "is not encrypted to the private key of this command"),
    no_such_key: ("E181", "it holds a line that is not a private key"),
    an_empty_key: ("E181", "it holds no private key"),
    a_key_that_others_may_read: ("E181", "others may read or write it (mode 0644)"),
    the_key_in_place_of_its_file: ("E181", "holds a private key itself"),
    cut_short: ("E181", "is damaged or cut short"),
    one_bit_another: ("E181", "is damaged or cut short"),
    plain_under_that_name: ("E181", "is not encrypted in the age format"),
    not_utf8: ("E106", "bytes that are not UTF-8 text"),
    too_large: ("E108", "has over 16,777,216 bytes"),
    no_assignment: ("E182", "secrets.env.age:2: this line does not assign a variable"),
    an_expansion: ("E182", "secrets.env.age:1: a shell would read this line as more than one value"),
    twice: ("E182", "secrets.env.age:2: this line sets the variable that secrets.env.age:1 sets"),
    twice_in_two_files: ("E182", "more.env.age:1: this line sets the variable that secrets.env.age:1 sets"),
    not_allowed: ("E182", "secrets.env.age:2: this line sets a variable that manifests may not read"),
    others_may_write: ("E100", "everybody on this machine may write it (mode 0666)"),
    a_plain_identity: ("E202", "secrets.identity: the environment variable NOT_SET is not set"),
    no_variable: ("E113", "set it in the environment of this command, or write it into secrets.env.age"),
}


@pytest.mark.parametrize("spoil", MISTAKES, ids=lambda one: one.__name__)
def test_a_file_that_cannot_be_used_is_one_mistake(root: Root, spoil: Callable[[Root], None]) -> None:
    """With place, reason and a way on, however many variables it would have given; no value is shown."""
    second = "\n  kim: {workEmailAddress1: kim@example.com, jobTitle: '${env:TITLE}'}\n"
    if spoil is not no_variable:
        root.write(MANIFEST.rstrip() + second, "manifests/people.yaml")
    spoil(root)

    code, said = root.mistake()

    assert (code, MISTAKES[spoil][1] in said) == (MISTAKES[spoil][0], True), said


def test_the_key_itself_in_the_settings_is_refused_and_not_shown(root: Root) -> None:
    """What was once committed stays readable."""
    root.edit("files: [", f"identity: {OURS}, files: [")
    with pytest.raises(InputError) as caught:
        root.declared()

    (one,) = caught.value.problems
    assert "secrets.identity: a plain value is refused" in one.what
    assert str(OURS)[16:40] not in str(one)


PLACES_OF_NAMES = {
    "a file": ("secrets", f"files: [x.age], identity: {{file: {OURS}}}"),
    "a variable": ("secrets", f"files: [x.age], identity: {{env: {OURS}}}"),
    "a recipient": ("plan", f"recipients: [{OURS}]"),
    "a file in other letters": ("secrets", f"files: [x.age], identity: {{file: {str(OURS).lower()}}}"),
}


@pytest.mark.parametrize("place", PLACES_OF_NAMES)
@pytest.mark.parametrize("command", ["config", "plan"])
def test_a_key_in_place_of_a_name_in_the_settings_is_not_shown(
    project: Project, service: Service, place: str, command: str
) -> None:
    """`config` named the file of a key, and a refusal repeated the value."""
    section, text = PLACES_OF_NAMES[place]
    settings = project.folder / "reconciler.yaml"
    settings.write_text(f"{settings.read_text()}\n{section}: {{{text}}}\n")

    done = project.run(service, command)

    assert str(OURS)[16:30].lower() not in f"{done.stdout}{done.stderr}".lower()


def test_an_export_is_given_no_key_in_place_of_recipients(project: Project, service: Service) -> None:
    """The refusal of a file that is not there repeated its name."""
    done = project.run(service, "export", "--secrets-file", "x.age", "--recipients-file", str(OURS))

    assert (done.returncode, str(OURS) in done.stderr) == (3, False), done.stderr
    assert "holds a key itself" in done.stderr


def test_a_file_that_others_may_replace_is_not_believed(root: Root) -> None:
    """Whoever writes it decides which token is sent. Owners and links are judged by the same rule."""
    root.edit("secrets.env.age", "open/secrets.env.age")
    root.write(encrypted(f"TITLE={TITLE}\n"), "open/secrets.env.age")
    (root.folder / "open").chmod(0o777)

    code, said = root.mistake()

    assert code == "E100"
    assert "everybody on this machine may put another file in its place" in said


def plain(root: Root, name: str = "secrets.env", mode: int = 0o600) -> None:
    """The same variable, in a file that is not encrypted."""
    root.edit("secrets.env.age", name)
    root.write(f"TITLE='{TITLE}'\n", name)
    (root.folder / name).chmod(mode)


def test_a_plain_file_is_for_this_user_and_for_no_commit(root: Root) -> None:
    """`git add .` would publish it."""
    plain(root)
    code, said = root.mistake()
    assert (code, "and git does not ignore it" in said) == ("E183", True)

    write(root.folder, ".gitignore", "*.env\n")
    assert root.title() == TITLE

    git(root.folder, "add", "-f", "secrets.env")
    git(root.folder, "commit", "-q", "-m", "a slip")
    code, said = root.mistake()
    assert (code, "and the commit holds it" in said) == ("E183", True)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_a_plain_file_that_others_may_read_is_refused(root: Root, mode: int) -> None:
    """As a private key is."""
    write(root.folder, ".gitignore", "*.env\n")
    plain(root, mode=mode)

    code, said = root.mistake()

    assert code == "E183"
    assert f"others may read or write it (mode {mode:04o})" in said


def test_a_plain_file_may_lie_outside_of_the_repository(root: Root) -> None:
    """Nothing there is committed. A link to it from within counts as what it leads to, and as itself."""
    plain(root, "../secrets.env")
    assert root.title() == TITLE

    (root.folder / "link.env").symlink_to("../secrets.env")
    root.edit("../secrets.env", "link.env")
    code, _ = root.mistake()
    assert code == "E183"


def test_an_encrypted_file_is_compared_with_the_commit(root: Root) -> None:
    """What would be applied has to be in a commit, tokens too; a plain one is like the environment."""
    assert root.differences() == {}

    root.write(encrypted(f"TITLE='{TITLE}'\n"))
    assert list(root.differences()) == ["secrets.env.age"]

    write(root.folder, ".gitignore", "*.env\n")
    plain(root)
    commit(root.folder)
    assert root.differences() == {}


def test_an_encrypted_file_that_is_in_no_commit_is_told(root: Root) -> None:
    """A job that finds it ignored would find none at all in the next checkout."""
    git(root.folder, "rm", "-q", "--cached", "secrets.env.age")
    write(root.folder, ".gitignore", "*.age\n")
    git(root.folder, "add", ".gitignore")
    git(root.folder, "commit", "-q", "-m", "y")

    assert list(root.differences()) == ["secrets.env.age"]


def test_another_value_in_a_file_is_declared_from_a_cache_too(root: Root) -> None:
    """What manifests resolve to is kept from run to run; a rotated token has to be planned all the same."""
    more = "".join(f"  no{at}: {{workEmailAddress1: no{at}@example.com}}\n" for at in range(4_000))
    root.write(f"version: 1\nworkspace: default\ncontacts:\n{more}", "manifests/many.yaml")

    def titles() -> set[str]:
        entities = root.declared(caches=True).entities.values()
        return {str(one.fields["jobTitle"]) for one in entities if "jobTitle" in one.fields}

    assert titles() == {TITLE}
    root.write(encrypted("TITLE=another\n"))
    assert titles() == {"another"}


def test_a_program_sees_a_file_as_it_is_when_it_is_asked(root: Root) -> None:
    """Settings of a program live for days; what is kept of an earlier reading is not believed."""
    assert root.title() == TITLE
    root.write(encrypted("TITLE=another\n"))

    (one,) = pipeline.load_declaration(root.settings, PLAIN).desired.entities.values()

    assert one.fields["jobTitle"] == "another"


def test_no_manifest_may_send_a_file_of_secrets(root: Root) -> None:
    """A resource whose content it is would publish every token."""
    content = "{name: a, scope: private, mimeType: text/csv, content: {file: ../secrets.env.age}}"
    root.write(f"version: 1\nworkspace: default\nresources:\n  a: {content}\n", "manifests/people.yaml")

    _, said = root.mistake()

    assert "secrets.env.age" in said


def test_config_names_where_the_key_comes_from_and_not_the_key(project: Project, service: Service) -> None:
    """A screen may be shared."""
    done = project.run(service, "config", "--format", "json", env=KEY)

    shown = {one["name"]: one for one in json.loads(done.stdout)["settings"]}
    assert shown["secrets.identity"]["value"] == "(secret)"
    assert str(OURS)[16:40] not in done.stdout + done.stderr


def shown_by(project: Project) -> str:
    """Everything that is written below a project or beside it, but for what git and the store keep."""
    files = (one for one in project.folder.rglob("*") if one.is_file() and ".git/" not in str(one))
    return "".join(one.read_bytes().decode("latin-1") for one in files)


def test_a_team_commits_one_file_and_gives_a_job_one_key(project: Project, service: Service) -> None:
    """A hundred devices are planned empty with three credentials and the key; a rotated token is one update.

    No token and no key is in any output, log, plan or store.
    """
    with_devices(project, service, 100)
    settings = project.folder / "reconciler.yaml"
    recipients = f"plan: {{recipients: [{OURS.to_public()}]}}\n"
    settings.write_text(settings.read_text() + f"variables: [DEVICE_*]\n{recipients}")
    git(project.folder, "init", "-q")
    assert project.run(service, "init", "--ci", "none").returncode == 0
    told = []

    def ran(*words: str, code: int, env: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        done = project.run(service, *words, env=env)
        told.append(done.stdout + done.stderr)
        assert done.returncode == code, done.stderr
        return done

    exported = ran("export", "--devices", "--secrets-file", "secrets.env.age", code=0)
    assert "next: name it in the settings: secrets: {files: [secrets.env.age]}" in exported.stdout
    assert "git ignores" not in exported.stdout
    settings.write_text(settings.read_text() + "secrets: {files: [secrets.env.age]}\n")
    commit(project.folder)

    without = ran("plan", code=3)
    assert without.stderr.count("[E181]") == 1
    ran("validate", "--without-variables", code=0)
    ran("fmt", "--check", code=0)
    ran("plan", "-v", env=KEY, code=0)
    logs = ("-v", "--log-file", "run.log", "--events", "events.jsonl")
    ran("apply", "--yes", *logs, env=KEY | {"CI": "1"}, code=0)

    file = project.folder / "secrets.env.age"
    held = pyrage.decrypt(file.read_bytes(), [OURS]).decode()
    file.write_bytes(encrypted(held.replace("canary", "canary-rotated", 1)))
    refused = ran("apply", "--yes", env=KEY | {"CI": "1"}, code=7)
    assert "secrets.env.age" in refused.stderr
    commit(project.folder)
    planned = ran("plan", "--format", "json", "-o", "plan.age", env=KEY, code=0)
    counts = json.loads(planned.stdout)["counts"]
    assert (counts["creates"], counts["updates"], counts["deletes"]) == (0, 1, 0)
    ran("apply", "--yes", "-v", "--log-file", "run.log", env=KEY | {"CI": "1"}, code=0)
    ran("plan", env=KEY, code=0)

    everything = "".join(told) + shown_by(project)
    for secret in ("canary", str(OURS)[16:40]):
        assert secret not in everything


def test_an_export_says_how_a_file_is_read_beside_others(project: Project, service: Service) -> None:
    """Where git leaves it out, that is said as well: a job would not find it."""
    with_devices(project, service, 1)
    settings = project.folder / "reconciler.yaml"
    mine = "secrets: {files: [first.env.age]}\n"
    settings.write_text(settings.read_text() + f"plan: {{recipients: [{OURS.to_public()}]}}\n{mine}")
    write(project.folder, ".gitignore", "*.age\n")
    git(project.folder, "init", "-q")

    done = project.run(service, "export", "--devices", "--secrets-file", "second.env.age")

    assert done.returncode == 0, done.stderr
    assert "secrets: {files: [first.env.age, second.env.age]}" in done.stdout
    assert "next: git ignores second.env.age: add the line !second.env.age to the end of" in done.stdout


def test_an_export_into_a_file_that_is_named_already_asks_for_nothing_more(
    project: Project, service: Service
) -> None:
    """The settings may come first."""
    with_devices(project, service, 1)
    settings = project.folder / "reconciler.yaml"
    mine = "secrets: {files: [secrets.env.age]}\n"
    settings.write_text(settings.read_text() + f"plan: {{recipients: [{OURS.to_public()}]}}\n{mine}")

    done = project.run(service, "export", "--devices", "--secrets-file", "secrets.env.age")

    assert done.returncode == 0, done.stderr
    assert "name it in the settings" not in done.stdout
