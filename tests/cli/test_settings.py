import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from reconciler.errors import SettingsError
from reconciler.model.profile import Profile
from reconciler.model.settings import SETTINGS, GuardLimits, Identity, Limits, WorkspaceRef
from reconciler.service.http import urls
from reconciler.service.profile import load_profile
from reconciler.settings.layers import find_service_links, variable_of_setting
from reconciler.settings.reader import ReadSettings, read_settings

Run = Callable[..., "subprocess.CompletedProcess[str]"]

MINIMAL = "version: 1\n"
ENVIRON = {"SVC_USER": "canary-user", "SVC_PASSWORD": "canary-pass", "SVC_KEY": "canary-key"}


def read(
    folder: Path,
    text: str | None = None,
    *,
    environment: str | None = None,
    environ: Mapping[str, str] = ENVIRON,
    service: bool = False,
    config: str | None = None,
) -> ReadSettings:
    if text is not None:
        (folder / "reconciler.yaml").write_text(text)
    return read_settings(config=config, environment=environment, cwd=folder, environ=environ, service=service)


def refusal(folder: Path, text: str | None = None, **options: object) -> str:
    """What a user reads when these settings are refused."""
    with pytest.raises(SettingsError) as caught:
        read(folder, text, **options)  # type: ignore[arg-type]  # the options of `read`, passed on
    error = caught.value
    last = f"{error}\n  next: {error.next}" if error.next else str(error)
    return "\n".join([*(str(problem) for problem in error.problems), last])


def test_settings_need_nothing_but_their_version(repository: Path) -> None:
    """What has a safe default needs no line; only calls need to know the service."""
    settings = read(repository, MINIMAL).settings

    assert settings.root == str(repository)
    assert settings.manifests == (str(repository / "manifests"),)
    assert settings.workspaces == {"default": WorkspaceRef()}
    assert settings.store == f"sqlite:///{repository}/.reconciler/store.db"
    assert (settings.stack, settings.mark, settings.adopt) == ("default", "", "always")
    assert (settings.identity, settings.guard) == (Identity(), GuardLimits())
    assert settings.service.limits == Limits()


def test_every_setting_arrives_typed(repository: Path) -> None:
    """The file holds text; numbers and lists are made here and nowhere else."""
    settings = read(
        repository,
        """\
version: 1
stack: ops
manifests: [manifests/, more/one.yaml]
service:
  base_url: https://api.example.com/v1/
  profile: whispir
  format: xml
  auth: {username: {env: SVC_USER}, password: {env: SVC_PASSWORD}, api_key: {env: SVC_KEY}, send_key: query}
  limits: {requests_per_second: 2.5, concurrency: 4, timeout_s: 5, deadline_s: 60, settle_s: 0}
workspaces: {default: {}, ops: {id: 4C8FE1A2B3D4E5F6, name: Operations}}
identity: {contacts: [custom.employeeId, costCentre], devices: [appId], resources: [name]}
ownership: {mark: custom_managedBy}
adopt: never
store: sqlite:////var/lib/reconciler/ops.db
guard:
  {deletes_max: 1, deletes_max_percent: 2, adopted_deletes_max: 7, creates_max: 6, creates_max_percent: 3,
   updates_max: 4, updates_max_percent: 5}
variables: [JANE_*]
fields: {contacts: [costCentre]}
device_limit: 5
plan_expires_h: 0.5
""",
        service=True,
    ).settings

    service = settings.service
    assert service.base_url == "https://api.example.com/v1"
    assert service.auth.send_key == "query"
    assert (service.profile, service.format) == (load_profile("whispir"), "xml")
    assert service.auth.password.reveal() == "canary-pass"
    assert service.limits == Limits(2.5, 4, 5.0, 60.0, 0.0)
    assert settings.workspaces["ops"] == WorkspaceRef("4C8FE1A2B3D4E5F6", "Operations")
    assert settings.identity == Identity(
        {"contacts": ("custom.employeeId", "costCentre"), "devices": ("appId",), "resources": ("name",)}
    )
    assert (settings.mark, settings.adopt, settings.stack) == ("managedBy", "never", "ops")
    assert settings.store == "sqlite:////var/lib/reconciler/ops.db"
    assert settings.guard == GuardLimits(1, 2, 7, 6, 3, 4, 5)
    assert (settings.variables, settings.contact_fields) == (("JANE_*",), ("costCentre",))
    assert (settings.device_limit, settings.plan_expires_h) == (5, 0.5)
    assert settings.manifests == (str(repository / "manifests"), str(repository / "more/one.yaml"))


def test_a_profile_of_the_project_lies_beside_the_settings(repository: Path) -> None:
    """Every relative path begins there, wherever the command runs; a mistake in it is found offline."""
    (repository / "profiles").mkdir()
    file = repository / "profiles" / "ours.yaml"
    file.write_text("base: service\nvendor: ours\n", "utf-8")
    text = "version: 1\nservice: {profile: profiles/ours.yaml}\n"

    service = read(repository, text).settings.service
    assert isinstance(service.profile, Profile)
    assert service.profile.vendor == "ours"

    file.write_text("base: service\nvendr: ours\n", "utf-8")
    said = refusal(repository, text)

    assert "profiles/ours.yaml:2:1: vendr is not a field of a profile." in said
    assert "did you mean vendor?" in said


def test_a_profile_is_read_once(repository: Path) -> None:
    """A run that took hours would else end with another deployment in mind than it began with."""
    (repository / "ours.yaml").write_text("base: service\nvendor: ours\n", "utf-8")
    service = read(repository, "version: 1\nservice: {profile: ours.yaml}\n").settings.service

    (repository / "ours.yaml").unlink()

    assert load_profile(service.profile).vendor == "ours"


@pytest.mark.parametrize(
    ("written", "what"),
    [
        ("../ours.yaml", "leads out of the project root"),
        ("{outside}", "is an absolute path"),
        ("link.yaml", "leads through the symbolic link link.yaml"),
        ("folder/ours.yaml", "leads through the symbolic link folder"),
        (".private/ours.yaml", "begins with a dot"),
        ("pipe.yaml", "is not a regular file"),
        ("gone.yaml", "does not exist"),
    ],
)
def test_a_profile_is_a_file_of_the_project(
    written: str, what: str, repository: Path, tmp_path: Path
) -> None:
    """It is reviewed with the settings; a link could lead to a file without any review."""
    outside = tmp_path / "ours.yaml"
    outside.write_text("base: service\nvendor: canary\n", "utf-8")
    (repository / "link.yaml").symlink_to(outside)
    (repository / "folder").symlink_to(tmp_path)
    (repository / ".private").mkdir()
    (repository / ".private" / "ours.yaml").write_text("base: service\nvendor: ours\n", "utf-8")
    os.mkfifo(repository / "pipe.yaml")

    said = refusal(repository, f"version: 1\nservice: {{profile: {written.format(outside=outside)}}}\n")

    assert "service.profile: the profile" in said
    assert what in said
    assert "next: " in said
    assert "canary" not in said


def test_the_stronger_source_wins(repository: Path) -> None:
    """Variable over section over file over default: the order that the documentation promises."""
    text = """\
version: 1
service: {base_url: https://file.example.com, limits: {concurrency: 2, timeout_s: 7}}
environments:
  staging: {service: {base_url: https://section.example.com, limits: {concurrency: 3}}}
"""
    environ = {"RECONCILER_SERVICE_BASE_URL": "https://variable.example.com"}

    plain = read(repository, text, environ={})
    section = read(repository, environment="staging", environ={})
    variable_ = read(repository, environment="staging", environ=environ)

    assert plain.settings.service.base_url == "https://file.example.com"
    assert section.settings.service.base_url == "https://section.example.com"
    assert variable_.settings.service.base_url == "https://variable.example.com"
    limits = variable_.settings.service.limits
    assert (limits.concurrency, limits.timeout_s, limits.settle_s) == (3, 7.0, 10.0)
    origins = {value.name: value.origin for value in variable_.layers.values.values()}
    assert origins["service.base_url"] == "environment RECONCILER_SERVICE_BASE_URL"
    assert origins["service.limits.concurrency"] == "reconciler.yaml:4"
    assert origins["service.limits.timeout_s"] == "reconciler.yaml:2"
    assert origins["service.limits.settle_s"] == "default"


def test_a_flag_goes_over_the_variable_that_names_the_environment(repository: Path) -> None:
    """A person at the keyboard knows better than a profile file."""
    environ = {"RECONCILER_ENVIRONMENT": "staging"}

    by_variable = read(repository, environ=environ).layers
    by_flag = read(
        repository, environ=environ | {"RECONCILER_ENVIRONMENT": "gone"}, environment="staging"
    ).layers

    assert (by_variable.environment, by_variable.environment_origin) == (
        "staging",
        "environment RECONCILER_ENVIRONMENT",
    )
    assert (by_flag.environment, by_flag.environment_origin) == ("staging", "--environment")


def test_every_setting_has_a_variable_of_its_own() -> None:
    """Dots and underscores become the same sign: two settings must never meet in one name."""
    names = [variable_of_setting(name) for name in SETTINGS]

    assert len(set(names)) == len(names)


def test_a_variable_holds_lists_with_commas(repository: Path) -> None:
    """CI systems know only text."""
    settings = read(repository, environ={"RECONCILER_MANIFESTS": "a, b"}).settings

    assert settings.manifests == (str(repository / "a"), str(repository / "b"))


def test_a_secret_may_stand_in_its_own_variable(repository: Path) -> None:
    """The simplest way in CI: no line in the file at all."""
    environ = {
        "RECONCILER_SERVICE_BASE_URL": "https://api.example.com",
        "RECONCILER_SERVICE_AUTH_USERNAME": "u",
        "RECONCILER_SERVICE_AUTH_PASSWORD": "p",
        "RECONCILER_SERVICE_AUTH_API_KEY": "k",
    }

    auth = read(repository, MINIMAL, environ=environ, service=True).settings.service.auth

    assert [auth.username.reveal(), auth.password.reveal(), auth.api_key.reveal()] == ["u", "p", "k"]


def test_a_section_replaces_secrets_and_workspaces_whole(repository: Path) -> None:
    """The id of one workspace and the name of another would be a third, which was not intended."""
    settings = read(
        repository,
        """\
version: 1
service: {auth: {password: {env: SVC_USER}}}
workspaces: {ops: {id: AAAA, name: Operations}, hr: {name: People}}
environments:
  staging: {service: {auth: {password: {file: pw}}}, workspaces: {ops: {name: Staging}}}
""",
        environment="staging",
    )

    assert settings.settings.workspaces == {
        "default": WorkspaceRef(),
        "ops": WorkspaceRef("", "Staging"),
        "hr": WorkspaceRef("", "People"),
    }
    assert settings.layers.values["service", "auth", "password"].raw == {"file": "pw"}


def test_the_default_workspace_is_always_there(repository: Path) -> None:
    """Its alias is part of the language: no line of the settings gives or takes it."""
    read_ = read(repository, "version: 1\nworkspaces: {ops: {name: Ops}}\n")

    assert set(read_.settings.workspaces) == {"default", "ops"}
    assert set(read(repository, MINIMAL).settings.workspaces) == {"default"}


def test_settings_are_found_upwards_to_the_repository_root(repository: Path) -> None:
    """People work in subfolders; a file above the repository belongs to somebody else."""
    deep = repository / "a" / "b"
    deep.mkdir(parents=True)
    other = repository / "a" / "other"
    (other / ".git").mkdir(parents=True)

    assert read(deep).layers.file == repository / "reconciler.yaml"
    assert read(deep).layers.shown == "../../reconciler.yaml"
    assert refusal(other).startswith(f"no reconciler.yaml in {other}, ")
    (other / "deep").mkdir()
    assert f"up to the root of the repository, {other}." in refusal(other / "deep")
    assert "next: to use" in refusal(other)
    assert "--config ../../reconciler.yaml" in refusal(other)


def test_outside_of_a_repository_nothing_above_the_working_folder_is_read(tmp_path: Path) -> None:
    """A world-writable folder above, such as the one for temporary files, may hold anybody's settings."""
    (tmp_path / "reconciler.yaml").write_text(MINIMAL)
    below = tmp_path / "work"
    below.mkdir()

    assert read(tmp_path).layers.file == tmp_path / "reconciler.yaml"
    assert "only within a git repository" in refusal(below)
    assert read(below, config="../reconciler.yaml").layers.file == tmp_path / "reconciler.yaml"


def test_a_file_with_another_ending_is_pointed_at(repository: Path) -> None:
    """Half the world writes .yml."""
    (repository / "reconciler.yaml").rename(repository / "reconciler.yml")

    assert "next: rename reconciler.yml to reconciler.yaml" in refusal(repository)


def test_config_names_the_file_and_paths_start_there(repository: Path, tmp_path: Path) -> None:
    """The folder of the settings is the root, wherever the command runs."""
    settings = read(tmp_path, config="repository/reconciler.yaml").settings

    assert settings.root == str(repository)
    assert settings.manifests == (str(repository / "manifests"),)


def test_settings_that_cannot_be_read_are_named(repository: Path) -> None:
    """A missing file and a folder in its place are no traceback."""
    missing = refusal(repository, config="gone.yaml")
    folder = refusal(repository, config=".git")

    assert missing.startswith("gone.yaml: the settings cannot be read: no such file or directory.")
    assert folder.startswith(".git: the settings cannot be read: is a directory.")


def test_all_mistakes_are_told_at_once(repository: Path) -> None:
    """One round trip, not six."""
    said = refusal(
        repository,
        """\
version: 2
stak: ops
service:
  base_url: https://api.example.com
  limits: {concurrency: many, timeout_s: 0}
workspaces: {Ops: {id: A}}
""",
    )

    assert [line.split(": ")[0] for line in said.splitlines() if line.startswith("reconciler.yaml")] == [
        "reconciler.yaml:1:1",
        "reconciler.yaml:2:1",
        "reconciler.yaml:5:12",
        "reconciler.yaml:5:31",
        "reconciler.yaml:6:14",
    ]
    assert "reconciler.yaml:2:1: stak is not a field of a settings file." in said
    assert "next: did you mean stack?" in said
    assert said.endswith("the settings cannot be used: 5 mistakes.")


REFUSED = {
    "no version": ("stack: ops", "version is missing"),
    "a list": ("- a", "the file is not a mapping of keys to values."),
    "nothing": ("", "the file is empty."),
    "not yaml": ("version: [1", "reconciler.yaml:"),
    "a duplicate key": ("version: 1\nstack: a\nstack: b", "reconciler.yaml:3:1: "),
    "an alias": ("version: 1\nstack: &a ops\nstore: *a", "reconciler.yaml:2:8: "),
    "another version": ("version: 2", "version must be 1. It is '2'."),
    "a stack with a space": ("version: 1\nstack: my ops", "stack is not a stack name. It is 'my ops'."),
    "an empty stack": ("version: 1\nstack: ''", "stack is not a stack name."),
    "no manifests": ("version: 1\nmanifests: []", "manifests must have at least one, not 0."),
    "manifests as text": ("version: 1\nmanifests: a", "manifests must be a list, not text."),
    "an unknown profile": (
        "version: 1\nservice: {profile: nobody}",
        "reconciler.yaml:2:11: service.profile: 'nobody' is not known.",
    ),
    "a profile that is not there": (
        "version: 1\nservice: {profile: profiles/ours.yaml}",
        "service.profile: the profile profiles/ours.yaml does not exist.",
    ),
    "a profile that is a name with a slash": (
        "version: 1\nservice: {profile: ../whispir}",
        "service.profile is not a profile. It is '../whispir'.",
    ),
    "an address in the place of a profile": (
        "version: 1\nservice: {profile: 'https://anna:canary%40api.example.com/v1'}",
        "service.profile is not a profile. It is 'https://(secret)@api.example.com/v1'.",
    ),
    "an address in the place of a form": (
        "version: 1\nservice: {format: 'https://anna:canary@api.example.com/?key=canary'}",
        "service.format must be json or xml. It is 'https://(secret)",
    ),
    "form": ("version: 1\nservice: {format: yaml}", "service.format must be json or xml. It is 'yaml'."),
    "a key in the body": (
        "version: 1\nservice: {auth: {send_key: body}}",
        "service.auth.send_key must be header, query or both. It is 'body'.",
    ),
    "no requests at a time": (
        "version: 1\nservice: {limits: {concurrency: 0}}",
        "service.limits.concurrency is not a whole number from 1 to 256. It is '0'.",
    ),
    "no time": (
        "version: 1\nservice: {limits: {timeout_s: 0.0}}",
        "service.limits.timeout_s is not a time above 0.",
    ),
    "endless time": (
        "version: 1\nservice: {limits: {deadline_s: inf}}",
        "service.limits.deadline_s is not a time",
    ),
    "a negative rate": (
        "version: 1\nservice: {limits: {requests_per_second: -1}}",
        "is not a number. It is '-1'.",
    ),
    "a percentage over 100": ("version: 1\nguard: {deletes_max_percent: 101}", "whole number from 0 to 100"),
    "a percent sign": ("version: 1\nguard: {deletes_max_percent: 20%}", "whole number from 0 to 100"),
    "many deletes": ("version: 1\nguard: {deletes_max: 1e3}", "guard.deletes_max is not a whole number."),
    "too many devices": ("version: 1\ndevice_limit: 11", "device_limit is not a whole number from 1 to 10."),
    "plans for ever": ("version: 1\nplan_expires_h: 0", "plan_expires_h is not a time above 0."),
    "adopt sometimes": ("version: 1\nadopt: sometimes", "adopt must be always or never. It is 'sometimes'."),
    "a mark that is no custom field": (
        "version: 1\nownership: {mark: managedBy}",
        "ownership.mark is not a name of a custom field. It is 'managedBy'.",
    ),
    "every variable": (
        "version: 1\nvariables: ['*']",
        "variables[1] is not a name of environment variables.",
    ),
    "an identity that is no field": (
        "version: 1\nidentity: {contacts: [workEmailAdress1]}",
        "workEmailAdress1 is not a field of a contact.\n  next: did you mean workEmailAddress1?",
    ),
    "the mark as identity": (
        "version: 1\nidentity: {contacts: [custom.by]}\nownership: {mark: custom_by}",
        "custom.by is the mark of ownership",
    ),
    "an unknown field of an environment": (
        "version: 1\nenvironments: {staging: {stck: a}}",
        "stck is not a field of an environment.\n  next: did you mean stack?",
    ),
    "environments inside of one": (
        "version: 1\nenvironments: {staging: {environments: {}}}",
        "environments is not a field of an environment.",
    ),
    "another database": (
        "version: 1\nstore: postgresql://u:canary@db/x",
        "store: it holds a password: this file is kept in git, and what was once committed stays readable.",
    ),
    "a store in memory": (
        "version: 1\nstore: 'sqlite:///:memory:'",
        "store: sqlite:///:memory: does not name a file.",
    ),
    "a store without a path": ("version: 1\nstore: sqlite:///", "store: sqlite:/// does not name a file."),
    "an id for the default workspace": (
        "version: 1\nworkspaces: {default: {id: A}}",
        "workspaces.default: the alias default is the service's default workspace and takes no id or name.",
    ),
    "a workspace without id and name": (
        "version: 1\nworkspaces: {ops: {}}",
        "workspaces.ops: it has neither id nor name; only the alias default may have none.",
    ),
    "a workspace with an empty id": (
        "version: 1\nworkspaces: {ops: {id: ''}}",
        "workspaces.ops.id is not a workspace id.",
    ),
    "a workspace id that climbs": (
        "version: 1\nworkspaces: {ops: {id: ../x}}",
        "is not a workspace id. It is '../x'.",
    ),
    "no workspace": ("version: 1\nworkspaces: {}", "workspaces must have at least one"),
    "one workspace under two aliases": (
        "version: 1\nworkspaces: {a: {id: X}, b: {id: X}}",
        "workspaces.b: it has the same id as workspaces.a (reconciler.yaml:2)",
    ),
    "two ways to a secret": (
        "version: 1\nservice: {auth: {password: {env: A, file: b}}}",
        "service.auth.password must have only one of env, file, command.",
    ),
    "no way to a secret": (
        "version: 1\nservice: {auth: {password: {}}}",
        "service.auth.password must have at least one",
    ),
    "a variable with a dash": (
        "version: 1\nservice: {auth: {password: {env: my-pw}}}",
        "environment variable",
    ),
}


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.replace(" ", "-"))
def test_a_mistake_is_named_with_its_place(case: str, repository: Path) -> None:
    """What, where, and a way on, for every class of mistake in settings."""
    text, expected = REFUSED[case]

    said = refusal(repository, text + "\n")

    assert expected in said
    assert said.startswith("reconciler.yaml")
    assert "canary" not in said
    assert "  next: " in said


def test_a_password_of_the_store_comes_from_the_environment_alone(repository: Path) -> None:
    """The file is kept in git. The whole URL may stand in a variable, as build servers hand it on."""
    url = "postgresql://ops:canary@db.example.com/store"

    assert read(repository, MINIMAL, environ={"RECONCILER_STORE": url}).settings.store == url
    said = refusal(repository, f"version: 1\nenvironments: {{ci: {{store: '{url}'}}}}\n", environment="ci")

    assert "it holds a password" in said
    assert "RECONCILER_STORE" in said
    assert "canary" not in said


def test_a_store_on_a_server_needs_no_password_in_its_url(repository: Path) -> None:
    """A passfile, or PGPASSWORD, is where PostgreSQL looks by itself."""
    url = "postgresql://ops@db.example.com:5433/store?sslmode=verify-full"

    assert read(repository, f"version: 1\nstore: {url}\n").settings.store == url


# Each with its message. Those that neither settings nor client accept come first.
UNUSABLE = {
    "ftp://api.example.com": "it begins with neither https:// nor http://",
    "api.example.com": "it begins with neither https:// nor http://",
    "https://": "its host or port cannot be read",
    "https://api.example.com:0": "its host or port cannot be read",
    "https://api.example.com:65536": "its host or port cannot be read",
    "https://api.example.com/../x": "its path holds",
    "https://api.example.com/x//y": "its path holds",
    "https://api..example.com": "its host or port cannot be read",
    "https://api-.example.com": "its host or port cannot be read",
    f"https://{'a' * 64}.example.com": "its host or port cannot be read",
    "https://[1]": "its host or port cannot be read",
    "https://api.example.com\\\\@evil.example.com": "it holds a character that no address holds",
    "https://canary:canary@api.example.com": "it holds a user name or a password",
    "https://api.example.com?apikey=canary": "it holds a query or a fragment",
    "https://api example.com?apikey=canary": "it holds a character that no address holds",
    "https://api.example.com#x": "it holds a query or a fragment",
    "https://exämple.com": "it holds a character that no address holds",
}
PLAIN = "would send the credentials unencrypted"
ADDRESSES = UNUSABLE | {
    "http://api.example.com": PLAIN,
    "http://localhost.example.com": PLAIN,
    "http://0.0.0.0:8480": PLAIN,
    "http://127.0.0.1.example.com": PLAIN,
    "http://[::2]:8480": PLAIN,
}
TAKEN = (
    "https://api.example.com",
    "HTTPS://api.example.com",
    "https://API.example.com",
    "https://api.example.com:8443/v1/x",
    "http://127.0.0.1:8480",
    "http://127.9.9.9",
    "http://localhost:1",
    "http://[::1]:8480",
)


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_that_could_leak_credentials_is_refused(address: str, repository: Path) -> None:
    """The address decides who gets the password: nothing about it is guessed or mended."""
    said = refusal(repository, f'version: 1\nservice: {{base_url: "{address}"}}\n')

    assert ADDRESSES[address] in said
    assert "canary" not in said
    assert said.startswith("reconciler.yaml:2:11: service.base_url: ")


@pytest.mark.parametrize("address", TAKEN)
def test_an_address_that_is_safe_is_taken(address: str, repository: Path) -> None:
    """Encrypted anywhere, plain on this machine."""
    assert (
        read(repository, f"version: 1\nservice: {{base_url: '{address}'}}\n").settings.service.base_url
        == address
    )


@pytest.mark.parametrize("address", [*ADDRESSES, *TAKEN])
def test_settings_and_client_agree_on_what_an_address_is(address: str) -> None:
    """Beyond that, settings refuse plain http to another machine, which a program may decide for itself."""
    if address in UNUSABLE:
        with pytest.raises(SettingsError, match=r"service\.base_url"):
            urls.parse_base_url(address.replace("\\\\", "\\"))
    else:
        assert urls.parse_base_url(address).is_plain is (address in ADDRESSES)


def test_what_calls_need_is_asked_for_only_where_calls_are_made(repository: Path) -> None:
    """Validating in a fork has neither secrets nor an address, and needs none."""
    read(repository, MINIMAL, environ={})

    said = refusal(repository, MINIMAL, environ={}, service=True)

    assert (
        "reconciler.yaml: service.base_url is not set.\n  next: write base_url: https://api.example.com"
        in said
    )
    assert "or set RECONCILER_SERVICE_AUTH_PASSWORD" in said
    assert said.endswith("the settings cannot be used: 4 mistakes.")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("RECONCILER_SERVICE_BASEURL", "https://x.example.com", "did you mean RECONCILER_SERVICE_BASE_URL?"),
        ("RECONCILER_FLAVOUR", "x", "no setting has this name."),
        ("RECONCILER_STORE", "", "it is set to an empty value."),
        ("RECONCILER_ENVIRONMENT", "", "it is set to an empty value."),
        ("RECONCILER_CONFIG", "", "it is set to an empty value."),
        ("RECONCILER_MANIFESTS", "", "it is set to an empty value."),
        ("RECONCILER_MANIFESTS", "a,,b", "manifests[2] must not be empty."),
        ("RECONCILER_SERVICE_LIMITS_CONCURRENCY", "x", "is not a whole number from 1 to 256"),
        ("RECONCILER_STACK", "ops\n", "stack is not a stack name."),
        ("RECONCILER_STACK", "o\x1bps", "control character U+001B"),
        ("RECONCILER_SERVICE_BASE_URL", "http://evil.example.com", "would send the credentials unencrypted"),
    ],
)
def test_a_variable_with_a_mistake_is_named(name: str, value: str, expected: str, repository: Path) -> None:
    """A variable that is ignored would act on the wrong service without a word."""
    said = refusal(repository, MINIMAL, environ={name: value})

    assert said.startswith(f"environment {name}: ")
    assert expected in said


def test_names_that_others_set_are_left_alone(repository: Path) -> None:
    """Secrets may be called RECONCILER_X, and container platforms invent names of their own."""
    text = """\
version: 1
service: {auth: {api_key: {env: RECONCILER_KEY}}}
variables: [RECONCILER_TOKEN_*]
environments: {staging: {service: {auth: {api_key: {env: RECONCILER_STAGING_KEY}}}}}
"""
    names = (
        "RECONCILER_KEY",
        "RECONCILER_STAGING_KEY",
        "RECONCILER_TOKEN_JANE",
        "RECONCILER_SERVICE_HOST",
        "RECONCILER_SERVICE_PORT",
        "RECONCILER_PORT_80_TCP_ADDR",
    )

    assert read(repository, text, environ=dict.fromkeys(names, "x")).settings.stack == "default"


def links(service: str, host: str, *, port: int = 80, protocol: str = "tcp") -> dict[str, str]:
    """What Kubernetes puts into a pod for a Service with a port that is called http."""
    url = f"{protocol}://{f'[{host}]' if ':' in host else host}:{port}"
    one = f"{service}_PORT_{port}_{protocol.upper()}"
    return {
        f"{service}_SERVICE_HOST": host,
        f"{service}_SERVICE_PORT": str(port),
        f"{service}_SERVICE_PORT_HTTP": str(port),
        f"{service}_PORT": url,
        one: url,
        f"{one}_PROTO": protocol,
        f"{one}_PORT": str(port),
        f"{one}_ADDR": host,
    }


LINKS = {
    "reconciler-web": links("RECONCILER_WEB", "10.0.0.7"),
    "reconciler-store": links("RECONCILER_STORE", "10.0.0.7", port=5432),
    "reconciler-service": links("RECONCILER_SERVICE", "10.0.0.7"),
    "reconciler-service-auth": links("RECONCILER_SERVICE_AUTH", "10.0.0.7"),
    "reconciler-port": links("RECONCILER_PORT", "10.0.0.7"),
    "reconciler": links("RECONCILER", "10.0.0.7"),
    "reconciler-v6": links("RECONCILER_V6", "fd00:10:96::7", port=8443),
    "reconciler-dns": links("RECONCILER_DNS", "10.0.0.7", protocol="udp"),
    "reconciler-2": links("RECONCILER_2", "10.0.0.7", protocol="sctp"),
}


@pytest.mark.parametrize("service", LINKS)
def test_the_links_of_a_kubernetes_service_are_no_settings(service: str, repository: Path) -> None:
    """A Service beside ours in the namespace would stop every command of every pod."""
    found = read(repository, MINIMAL, environ=LINKS[service])

    assert set(found.layers.service_links) == set(LINKS[service])
    assert set(found.layers.service_links.values()) == {service}
    assert found.settings.store == read(repository, MINIMAL, environ={}).settings.store


def test_links_of_several_services_are_told_apart(repository: Path) -> None:
    """One of them has a port whose name looks like the other Service."""
    both = LINKS["reconciler-web"] | links("RECONCILER_WEB_SERVICE", "10.0.0.8")

    found = read(repository, MINIMAL, environ=both).layers.service_links

    assert set(found) == set(both)
    assert set(found.values()) == {"reconciler-web", "reconciler-web-service"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RECONCILER_WEB_PORT", "8080"),
        ("RECONCILER_WEB_PORT", "tcp://10.0.0.8:80"),
        ("RECONCILER_WEB_PORT", "http://10.0.0.7:80"),
        ("RECONCILER_WEB_PORT", "tcp://web.example.com:80"),
        ("RECONCILER_WEB_PORT", "tcp://10.0.0.7:65536"),
        ("RECONCILER_WEB_PORT", "tcp://10.0.0.7:80/"),
        ("RECONCILER_WEB_SERVICE_HOST", "10.0.0"),
        ("RECONCILER_WEB_SERVICE_HOST", "example.com"),
        ("RECONCILER_WEB_SERVICE_PORT", "0"),
        ("RECONCILER_WEB_SERVICE_PORT_HTTP", "http"),
        ("RECONCILER_WEB_PORT_80_TCP", "udp://10.0.0.7:80"),
        ("RECONCILER_WEB_PORT_80_TCP", "tcp://10.0.0.7:81"),
        ("RECONCILER_WEB_PORT_80_TCP_PORT", "81"),
        ("RECONCILER_WEB_PORT_80_TCP_PROTO", "udp"),
        ("RECONCILER_WEB_PORT_80_TCP_ADDR", ""),
        ("RECONCILER_WEB_TOKEN", "10.0.0.7"),
        ("RECONCILER_WEB_service_PORT", "80"),
    ],
)
def test_a_name_like_a_link_that_says_something_else_is_an_error(
    name: str, value: str, repository: Path
) -> None:
    """It is a setting that somebody meant: without a word it would act on the wrong service."""
    said = refusal(repository, MINIMAL, environ=LINKS["reconciler-web"] | {name: value})

    assert f"environment {name}: no setting has this name." in said
    assert "did you mean" not in said


def test_a_port_alone_is_no_link(repository: Path) -> None:
    """A number may be anything; Kubernetes never gives a port without the address."""
    said = refusal(repository, MINIMAL, environ={"RECONCILER_LIMITS_SERVICE_PORT": "80"})

    assert "RECONCILER_LIMITS_SERVICE_PORT: no setting has this name." in said


def test_no_setting_has_the_name_of_a_link() -> None:
    """A value that decides nothing must never be one that somebody wrote as a setting."""
    values = ("10.0.0.7", "80", "tcp", "tcp://10.0.0.7:80")

    assert [
        name
        for name in map(variable_of_setting, SETTINGS)
        if any(find_service_links({name: value}) for value in values)
    ] == []


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("RECONCILER_STOR", "RECONCILER_STORE"),
        ("RECONCILER_STAK", "RECONCILER_STACK"),
        ("RECONCILER_MANIFEST", "RECONCILER_MANIFESTS"),
        ("RECONCILER_GUARD_DELETE_MAX", "RECONCILER_GUARD_DELETES_MAX"),
        ("RECONCILER_STATE", ""),
        ("RECONCILER_WEB_PORT", ""),
        ("RECONCILER_SCORE", "RECONCILER_STORE"),
        ("RECONCILER_PROFILE", ""),
    ],
)
def test_a_setting_is_suggested_where_the_names_are_alike_without_the_prefix(
    name: str, meant: str, repository: Path
) -> None:
    """Eleven letters that all of them share made RECONCILER_WEB_PORT look like RECONCILER_STORE."""
    said = refusal(repository, MINIMAL, environ={name: "x"})

    assert ("did you mean" in said) == bool(meant)
    assert f"did you mean {meant}?" in said or f"unset {name}" in said


def test_links_are_noted_once_beside_the_result(repository: Path, run: Run) -> None:
    """Who sees a name that begins like ours has to know that it does nothing."""
    (repository / "manifests").mkdir(exist_ok=True)
    (repository / "manifests/none.yaml").write_text("version: 1\nworkspace: default\ncontacts: {}\n")
    (repository / "reconciler.yaml").write_text(MINIMAL)
    done = run("validate", "--format", "json", cwd=repository, env=LINKS["reconciler-web"])

    shown = run("config", cwd=repository, env=LINKS["reconciler-web"])

    assert (done.returncode, shown.returncode, shown.stderr) == (0, 0, done.stderr)
    assert json.loads(done.stdout)["outcome"] == "done"
    assert done.stderr == (
        "variables that Kubernetes sets for the Service reconciler-web are ignored: "
        "RECONCILER_WEB_PORT and 7 "
        "more.\n"
        "  next: nothing to do; enableServiceLinks: false in the pod prevents these variables\n"
    )


def test_an_unknown_environment_is_an_error_that_lists_them(repository: Path) -> None:
    """Going on with the file alone would act on production."""
    said = refusal(repository, environment="Staging")

    assert said.startswith(
        "reconciler.yaml: no environment 'Staging' (--environment); the settings have staging."
    )
    assert "next: did you mean staging?" in said
    assert "the settings have none" in refusal(repository, MINIMAL, environment="x")
