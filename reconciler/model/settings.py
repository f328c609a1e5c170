"""Settings: each one described once, and the typed values that follow from file, variables and flags.

A field with a `Setting` is a setting. Its path, default, variable, check, part of the JSON Schema and row of
docs/settings.md follow from it (`model/setting_description.py` says how a setting is described), so a new
setting is one field here, or in `model/directories.py`. Then `script/generate-schemas` and
`script/generate-docs`.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from msgspec import Struct

from reconciler.model.directories import Directories
from reconciler.model.documents import InputFile
from reconciler.model.kinds import BUILT_IN_KINDS, KINDS
from reconciler.model.profile import Profile
from reconciler.model.secrets import NO_FILES, Secret, VariableFiles
from reconciler.model.setting_description import (
    ABOVE_ZERO,
    COUNT,
    FIELD_PATHS,
    NUMBER,
    PARALLEL,
    PERCENT,
    SECRET,
    TEXT,
    TEXT_OR_SECRET,
    DescribedSetting,
    Setting,
    SettingSection,
    ValueForm,
    choice_form,
    list_form,
    list_settings,
    named_form,
    number_form,
    text_form,
)

# --- The service ----------------------------------------------------------------------------------


SendKey = Literal["header", "query", "both"]


class Auth(Struct, frozen=True):
    """The credentials, and how the key travels: in a header, in the query, or in both at once."""

    username: Annotated[
        Secret,
        Setting(
            "User name",
            "The user name for HTTP Basic authentication.",
            SECRET,
            examples=({"env": "SVC_USER"},),
        ),
    ]
    password: Annotated[
        Secret,
        Setting(
            "Password",
            "The password for HTTP Basic authentication.",
            SECRET,
            examples=({"env": "SVC_PASSWORD"},),
        ),
    ]
    api_key: Annotated[
        Secret,
        Setting(
            "API key", "The API key of the application.", SECRET, examples=({"file": "/run/secrets/api-key"},)
        ),
    ]
    send_key: Annotated[
        SendKey,
        Setting(
            "How the key travels",
            "Where the API key is sent: in a header, in the query, or in both for a deployment that "
            "requires both. Queries end up in logs: use header where it works.",
        ),
    ] = "header"


class Limits(Struct, frozen=True):
    """How hard the service may be pressed. Seconds, and calls."""

    requests_per_second: Annotated[
        float,
        Setting(
            "Requests a second",
            "At most this many requests per second; runs with the same credentials and one PostgreSQL "
            "store share the limit. 0: no limit until the service throttles.",
            NUMBER,
            more="See [limits](service.md#limits).",
        ),
    ] = 10.0
    concurrency: Annotated[
        int, Setting("Requests at a time", "How many requests may be in flight at once.", PARALLEL)
    ] = 8
    timeout_s: Annotated[
        float, Setting("Time for one request", "Seconds for one request, from start to end.", ABOVE_ZERO)
    ] = 30.0
    deadline_s: Annotated[float, Setting("Time for a run", "Seconds for a whole run.", ABOVE_ZERO)] = 3600.0
    settle_s: Annotated[
        float,
        Setting(
            "Settle window",
            "How many seconds a write whose answer was lost may still take effect. After this time, "
            "the run looks at the service.",
            NUMBER,
        ),
    ] = 10.0  # rule A9


class Proxy(Struct, frozen=True):
    """A proxy on the way to the service. `address` is scheme://host:port and may be shown, `login` never."""

    address: str
    source: str  # the setting or variable that names it
    login: Secret | None = None  # user:password, as the Basic scheme writes them

    def __str__(self) -> str:
        """How messages name it."""
        return f"{self.address} ({self.source})"


class Trust(Struct, frozen=True):
    """Which certificates prove the service. Both empty: those of this system; else these and no others."""

    certificates: str = ""  # in PEM
    folders: tuple[str, ...] = ()  # of certificates under their hashes, as OpenSSL reads them


class Network(Struct, frozen=True):
    """The way to the service, after settings and variables were read: no layer below reads a variable."""

    proxy: Annotated[
        Proxy | None,
        Setting(
            "Proxy",
            "env: use HTTPS_PROXY, ALL_PROXY and NO_PROXY; none: connect directly; or the URL of an http "
            "or https proxy. Give a URL with a password as {env: NAME}, {file: PATH} or {command: WORDS}.",
            TEXT_OR_SECRET,
            examples=("none", "http://proxy.example.com:3128", {"env": "PROXY_URL"}),
            written="env",
            more="See [proxy and certificates](#the-way-to-the-service).",
        ),
    ] = None
    trust: Annotated[
        Trust,
        Setting(
            "Certificates",
            "env: trust the certificates of SSL_CERT_FILE and SSL_CERT_DIR, else those of this system; or "
            "a PEM file, relative to this file: trust its certificates and no others.",
            TEXT,
            examples=("env", "/etc/ssl/ours.pem"),
            path="ca",
            written="env",
            more="See [proxy and certificates](#the-way-to-the-service).",
        ),
    ] = Trust()


class Service(Struct, frozen=True, kw_only=True):
    """Which service, and how to call it."""

    base_url: Annotated[
        str,
        Setting(
            "Base address",
            "The address of the service: https, or http on this machine; with a path where it has one, "
            "without a user or a query.",
            TEXT,
            examples=("https://api.example.com", "http://127.0.0.1:8480"),
            more="See [the address](#the-address).",
        ),
    ]
    profile: Annotated[
        Profile | str,  # settings hold the profile; a program may name one, or a file
        Setting(
            "Profile",
            "What differs between deployments of the service: service, whispir, or a file of the project "
            "whose path ends in .yaml, relative to this file.",
            text_form("(?:[a-z0-9][a-z0-9-]{0,62}|.{1,1000}[.]yaml)"),
            examples=("service", "whispir", "profiles/ours.yaml"),
            more="See [profiles](profiles.md); for paths, [file references](manifest.md).",
        ),
    ] = "service"
    format: Annotated[
        Literal["json", "xml"],
        Setting(
            "Format",
            "The format of request and response bodies. Plans are the same in both.",
            examples=("xml",),
        ),
    ] = "json"
    schedule_zone: Annotated[
        str,
        Setting(
            "Time zone of scheduled messages",
            "The IANA time zone of the API user at the service, in which it reads the date of a scheduled "
            "message. Only `messages send --at` needs it.",
            text_form(length=(1, 64)),
            examples=("Australia/Melbourne",),
            more="See [messages](service.md#messages).",
        ),
    ] = ""
    auth: Auth
    limits: Limits = Limits()
    network: Network = Network()


# --- Whom a run may touch, and how much -----------------------------------------------------------


WORKSPACE_ID = "[A-Za-z0-9_-]{1,64}"
STACK_NAME = "[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?"


class WorkspaceRef(Struct, frozen=True):
    """A workspace of the settings. Both empty only for the alias `default`."""

    id: Annotated[
        str,
        Setting(
            "Workspace id",
            "The service's id of the workspace: 1 to 64 letters, digits, hyphens and underscores.",
            text_form(WORKSPACE_ID, number=True),
            examples=("4C8FE1A2B3D4E5F6",),
        ),
    ] = ""
    name: Annotated[
        str,
        Setting(
            "Workspace name",
            "The name under which the service lists the workspace.",
            text_form(number=True, length=(1, 200)),
            examples=("Operations",),
        ),
    ] = ""


class Identity(Struct, frozen=True):
    """The fields by which a live entity is recognized, by the plural of its kind; else those of its row.

    `region` is the country in which phone numbers of an entity are read that names none (core/rules.py).
    """

    fields: Mapping[str, tuple[str, ...]] = {}
    region: str = ""

    def of(self, kind: str) -> tuple[tuple[str, ...], ...]:
        """The keys to try, in order; each is a tuple of paths that must all be equal."""
        row = KINDS[kind]
        named = self.fields.get(row.plural, row.identity)
        paths = tuple(row.identity_path(path, self.region) for path in named)
        return (paths,) if row.together else tuple((path,) for path in paths)


class GuardLimits(Struct, frozen=True):
    """Where the guard refuses (docs/planning.md, G1, G2 and G7); `recipients_max` is about messages."""

    deletes_max: Annotated[int, Setting("Deletes", "Refuse a plan with more deletes.", COUNT)] = 25
    deletes_max_percent: Annotated[
        int,
        Setting(
            "Deletes, percent",
            "Refuse a plan that deletes more than this share of what the stack owns.",
            PERCENT,
        ),
    ] = 20
    adopted_deletes_max: Annotated[
        int,
        Setting(
            "Deletes of adopted entities",
            "Refuse a plan with more deletes of adopted entities: those that existed before this stack, or "
            "may have.",
            COUNT,
        ),
    ] = 3
    creates_max: Annotated[
        int,
        Setting(
            "Re-creates",
            "Refuse a plan that creates more recorded entities again, because they seem to be gone.",
            COUNT,
        ),
    ] = 10
    creates_max_percent: Annotated[
        int,
        Setting(
            "Re-creates, percent",
            "Refuse a plan that creates again more than this share of what the stack owns.",
            PERCENT,
        ),
    ] = 20
    updates_max: Annotated[
        int, Setting("Updates", "Up to this many updates, updates_max_percent is not checked.", COUNT)
    ] = 25
    updates_max_percent: Annotated[
        int,
        Setting(
            "Updates, percent",
            "Refuse a plan that updates more than this share of what the stack owns.",
            PERCENT,
        ),
    ] = 50
    fewer_rows_max_percent: Annotated[
        int,
        Setting(
            "Rows of directories, percent",
            "Refuse a plan where a directory returns fewer rows than at the last apply, by more than this "
            "share.",
            PERCENT,
            more="See [G7](planning.md#g-guards).",
        ),
    ] = 20
    recipients_max: Annotated[
        int,
        Setting(
            "Recipients of one message",
            "Refuse a message to more people, unless --allow-recipients says how many.",
            COUNT,
        ),
    ] = 25


# --- How a run goes -------------------------------------------------------------------------------


class LockSettings(Struct, frozen=True):
    """How runs keep out of each other's way (docs/settings.md, lock)."""

    in_service: Annotated[
        Literal["auto", "always", "never"],
        Setting(
            "Lock in the service",
            "Whether a run that writes also holds a lock in the service, as a private resource. auto: in "
            "non-interactive runs whose store is not shared.",
            examples=("always",),
            more="See [the lock in the service](#the-lock-in-the-service).",
        ),
    ] = "auto"
    timeout_s: Annotated[
        float,
        Setting(
            "Timeout",
            "Seconds to wait while another run holds a lock; --lock-timeout overrides it.",
            NUMBER,
            examples=("600",),
        ),
    ] = 0.0
    lease_s: Annotated[
        int,
        Setting(
            "Lease",
            "Seconds after which another machine takes the lock of a run that shows no sign of life: from 30 "
            "to 300, and at least twice service.limits.timeout_s.",
            number_form("30 to 300", "(?:[3-9][0-9]|[12][0-9][0-9]|300)", "integer", minimum=30, maximum=300),
            examples=("60",),
            more="See [automation](automation.md#several-machines).",
        ),
    ] = 300


class Refresh(Struct, frozen=True):
    """When lists are read completely (docs/planning.md, R7 to R9)."""

    mode: Annotated[
        Literal["auto", "full"],
        Setting(
            "Mode",
            "auto: read only what changed, where the service lists by time of change; full: read every "
            "list completely. --refresh overrides it.",
            examples=("full",),
            more="See [R7 to R9](planning.md).",
        ),
    ] = "auto"
    complete_every_h: Annotated[
        float,
        Setting(
            "Complete read",
            "Hours after which a list is read completely in any case.",
            ABOVE_ZERO,
            examples=("6",),
        ),
    ] = 24.0


CheckLevel = Literal["error", "warning", "off"]
_LEVEL = named_form(
    "level",
    choice_form(CheckLevel),
    "Level",
    "error ends the run, warning is shown, off is not checked.",
    "warning",
)


def _check(title: str, about: str) -> Setting:
    return Setting(title, about, _LEVEL, examples=("warning",))


class Checks(Struct, frozen=True):
    """How strictly declared values are judged. What is only unlikely is a warning at most."""

    phones: Annotated[
        CheckLevel, _check("Phone numbers", "What to do about phone numbers that cannot be dialled.")
    ] = "error"
    emails: Annotated[
        CheckLevel, _check("E-mail addresses", "What to do about text that is not an e-mail address.")
    ] = "error"
    zones: Annotated[
        CheckLevel, _check("Time zones", "What to do about time zones that the IANA database does not have.")
    ] = "error"
    content: Annotated[
        CheckLevel, _check("Content", "What to do about bytes that do not match the declared mimeType.")
    ] = "error"
    countries: Annotated[CheckLevel, _check("Countries", "What to do about unknown countries.")] = "warning"
    spreadsheets: Annotated[
        CheckLevel,
        _check("Spreadsheets", "What to do about numbers in other fields that a spreadsheet rewrote."),
    ] = "warning"
    region: Annotated[
        str,
        Setting(
            "Region",
            "The country, as two capital letters, of national phone numbers where a contact names no "
            "country.",
            text_form("[A-Z]{2}"),
            examples=("AU",),
        ),
    ] = ""


# --- Policy: what `reconciler sync` may do by itself ------------------------------------------------


class AskWhen(Struct, frozen=True):
    """For which plans a person is asked though `policy.mode` is apply. None: no number is too many."""

    deletes: Annotated[bool, Setting("Deletes", "Ask before anything is deleted.")] = True
    creates_more_than: Annotated[
        int | None, Setting("Creates", "Ask before more creates than this.", COUNT, examples=("50",))
    ] = None
    updates_more_than: Annotated[
        int | None, Setting("Updates", "Ask before more updates than this.", COUNT, examples=("50",))
    ] = None
    protected: Annotated[
        bool,
        Setting(
            "Protected",
            "Ask before an entity loses its `protect: true`: after that it can be deleted.",
        ),
    ] = True
    reactivate: Annotated[
        bool, Setting("Reactivation", "Ask before a device that the service disabled is enabled again.")
    ] = True
    overwrites_drift: Annotated[
        bool,
        Setting(
            "Drift",
            "Ask before something that others changed at the service is set back. Only with drift: repair.",
        ),
    ] = False
    resources: Annotated[bool, Setting("Resources", "Ask before a resource is changed.")] = False
    callbacks: Annotated[bool, Setting("Callbacks", "Ask before a callback is changed.")] = False


_WINDOW_EXAMPLE = "0 9 * * MON-FRI for 8h"
_WINDOWS = list_form(
    text_form(length=(1, 200)),
    "Window",
    "When it opens, as the five fields of cron (minute, hour, day of month, month, day of week), and for how "
    "long: `for` and a number of minutes, hours or days.",
    _WINDOW_EXAMPLE,
    maxItems=50,
)


class Windows(Struct, frozen=True):
    """When `sync` may write: in a window of `allow`, where there is one, and in none of `deny`."""

    time_zone: Annotated[
        str,
        Setting(
            "Time zone",
            "The IANA time zone in which the windows open.",
            text_form(length=(1, 64)),
            examples=("Australia/Melbourne",),
        ),
    ] = "UTC"
    allow: Annotated[
        tuple[str, ...],
        Setting(
            "Allow",
            "Windows in which changes may be made. Without any: always.",
            _WINDOWS,
            examples=([_WINDOW_EXAMPLE],),
            file_only=True,
            more="See [windows](automation.md#windows).",
        ),
    ] = ()
    deny: Annotated[
        tuple[str, ...],
        Setting(
            "Deny",
            "Windows in which no change may be made, whatever allow says.",
            _WINDOWS,
            examples=(["0 0 24 12 * for 3d"],),
            file_only=True,
        ),
    ] = ()


class Approver(Struct, frozen=True):
    """Who may approve a plan: a phone number, an e-mail address, a login at a forge, at least one of them."""

    phone: str = ""
    email: str = ""
    forge: str = ""


_APPROVER_EXAMPLE = {"jane": {"phone": "+61412345678", "email": "jane@example.com"}}
_APPROVERS = ValueForm(
    "mapping",
    {
        "type": "object",
        "propertyNames": {"pattern": "^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$(?!\\n)"},
        "maxProperties": 50,
        "additionalProperties": {
            "title": "Approver",
            "description": "A phone number, an e-mail address, a login at a forge: at least one of them.",
            "type": "object",
            "additionalProperties": False,
            "minProperties": 1,
            "properties": {
                "phone": {
                    "title": "Phone number",
                    "description": "The number with its country, as +61412345678.",
                    "type": ["string", "number"],
                    "pattern": "^[+][1-9][0-9]{6,14}$(?!\\n)",
                    "examples": ["+61412345678"],
                },
                "email": {
                    "title": "E-mail address",
                    "description": "The address to which questions are sent, and from which answers count.",
                    "type": "string",
                    "pattern": "^[^\\s@]{1,64}@[^\\s@]{1,255}$(?!\\n)",
                    "examples": ["jane@example.com"],
                },
                "forge": {
                    "title": "Login at a forge",
                    "description": "The login of this person at GitHub, GitLab, Forgejo or Gitea: who gives "
                    "an approval there and by a reply counts once.",
                    "type": "string",
                    "pattern": "^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$(?!\\n)",
                    "examples": ["jane-d"],
                },
            },
            "examples": [_APPROVER_EXAMPLE["jane"]],
        },
    },
)


class Policy(Struct, frozen=True):
    """What `reconciler sync` may do without a person (docs/automation.md). `apply` does not read it."""

    mode: Annotated[
        Literal["report", "approve", "apply"],
        Setting(
            "Mode",
            "What sync does with changes. report: report them; approve: apply them after a person has "
            "approved the plan; apply: apply them, and ask only for what ask_when names.",
            examples=("apply",),
        ),
    ] = "report"
    ask_when: AskWhen = AskWhen()
    windows: Windows = Windows()
    drift: Annotated[
        Literal["report", "repair"],
        Setting(
            "Drift",
            "What sync does with a plan that sets back what others changed at the service. report: report "
            "the whole plan and apply nothing of it; repair: apply it like any other.",
            examples=("repair",),
        ),
    ] = "report"
    check: Annotated[
        tuple[str, ...],
        Setting(
            "Check",
            "The words of a command that judges each plan: it reads the plan as JSON on its standard input, "
            "and anything but exit code 0 refuses it. It runs without a shell and without variables; a "
            "relative path starts at this file.",
            list_form(
                text_form(length=(1, 1000)), "Word", "A program, or an argument of it.", "opa", maxItems=50
            ),
            examples=(["/usr/local/bin/check-plan", "--strict"],),
            file_only=True,
            more="See [checks](automation.md#checks).",
        ),
    ] = ()
    check_timeout_s: Annotated[
        float,
        Setting("Time for the check", "Seconds after which the check has failed.", ABOVE_ZERO),
    ] = 30.0
    signed_by: Annotated[
        str,
        Setting(
            "Allowed signers",
            "A file of allowed signers as ssh-keygen reads it, or a keyring of gpg whose name ends in .gpg, "
            "outside of the repository. The commit that sync applies must have a signature of one of them.",
            TEXT,
            examples=("/etc/reconciler/allowed_signers",),
            more="See [signed commits](automation.md#signed-commits).",
        ),
    ] = ""
    expect_every: Annotated[
        str,
        Setting(
            "Expected every",
            "A number of minutes, hours or days: status calls the stack stale when nobody has synced for so "
            "long.",
            text_form("[1-9][0-9]{0,4}[mhd]"),
            examples=("2h", "1d"),
        ),
    ] = ""
    approvers: Annotated[
        Mapping[str, Approver],
        Setting(
            "Approvers",
            "The people who may approve a plan, by name, and how they are reached.",
            _APPROVERS,
            examples=(_APPROVER_EXAMPLE,),
            written=None,
            file_only=True,
            more="See [approvals](automation.md#approvals).",
        ),
    ] = {}
    callback: Annotated[
        str,
        Setting(
            "Callback",
            "The name of the callback at the service to which approvers reply.",
            text_form(length=(1, 100)),
            examples=("on-call-approvals",),
        ),
    ] = "approvals"
    quorum: Annotated[
        int,
        Setting(
            "Quorum",
            "How many people must approve a plan.",
            number_form("1 to 50", "(?:[1-9]|[1-4][0-9]|50)", "integer", minimum=1, maximum=50),
        ),
    ] = 1
    approval_hours: Annotated[
        float, Setting("Life of a question", "Hours after which an approval no longer counts.", ABOVE_ZERO)
    ] = 24.0


# --- Who is told -----------------------------------------------------------------------------------


class NotifyWebhook(Struct, frozen=True):
    """Where changes of state are posted. Both secrets are read when there is something to tell."""

    url: Annotated[
        Secret | None,
        Setting(
            "Address",
            "The https address that notifications are posted to, signed as Standard Webhooks describes it.",
            TEXT_OR_SECRET,
            examples=("https://hooks.example.com/reconciler", {"env": "NOTIFY_URL"}),
            written=None,
        ),
    ] = None
    secret: Annotated[
        Secret | None,
        Setting(
            "Key",
            "The key that signs them: whsec_ and 24 to 64 bytes in base64.",
            SECRET,
            examples=({"env": "NOTIFY_SECRET"},),
            written=None,
        ),
    ] = None


class Notify(Struct, frozen=True):
    """Who is told when `reconciler sync` finds that the state of the stack has changed."""

    webhook: NotifyWebhook = NotifyWebhook()
    people: Annotated[
        tuple[str, ...],
        Setting(
            "People",
            "Names of policy.approvers who get a message by the service: by SMS and by e-mail, as far as the "
            "policy has their addresses.",
            list_form(text_form(), "Name", "A name of policy.approvers.", "jane", uniqueItems=True),
            examples=(["jane"],),
            file_only=True,
        ),
    ] = ()
    digest_every: Annotated[
        str,
        Setting(
            "Digest every",
            "A number of hours or days: how often the state is told even if it has not changed. Without it: "
            "never.",
            text_form("[1-9][0-9]{0,3}[hd]"),
            examples=("1d",),
        ),
    ] = ""


# --- All settings ---------------------------------------------------------------------------------


def _list_identity_settings() -> Iterator[Setting]:
    """Yield a setting for each kind of the program; a kind of a project says it in its profile."""
    for kind in BUILT_IN_KINDS.values():
        one = f"Fields in order of preference; each of them alone must tell {kind.plural} apart."
        all_together = f"Fields that tell the {kind.plural} of one {kind.parent} apart, all together."
        about = all_together if kind.together else one
        example = [*kind.identity]
        yield Setting(
            f"Of {kind.plural}",
            about,
            FIELD_PATHS,
            examples=(example,),
            path=f"identity.{kind.plural}",
            written=kind.identity,
        )


_SECRET_FILES = (
    Setting(
        "Files",
        "Files with lines NAME='value', relative to this file; those encrypted in the age format may be "
        "committed. A file is opened when a manifest reads a variable that the environment does not have.",
        list_form(TEXT, "Path", "A file, relative to the settings.", "secrets.env.age"),
        examples=(["secrets.env.age"],),
        path="secrets.files",
        written=(),
        more="See [files of secrets](#files-of-secrets).",
    ),
    Setting(
        "Private key",
        "The private key of encrypted files: the output of age-keygen, or an SSH private key. Without it, "
        "the file that RECONCILER_IDENTITY names is used.",
        SECRET,
        examples=({"env": "AGE_KEY"},),
        path="secrets.identity",
        written=None,
    ),
)
_PUBLIC_KEY = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"


class Settings(Struct, frozen=True, kw_only=True):
    """All settings, with absolute paths; then what else a run knows of its project."""

    stack: Annotated[
        str,
        Setting(
            "Stack name",
            "Name of this project: 1 to 64 of a-z, 0-9, dot, underscore and hyphen, the first and last a "
            "letter or digit. Repositories that share a workspace have different stacks: what one stack "
            "owns, another never changes.",
            text_form(STACK_NAME, number=True),
            examples=("ops-contacts",),
        ),
    ] = "default"
    manifests: Annotated[
        tuple[str, ...],
        Setting(
            "Manifests",
            "Files and folders of manifests, relative to this file. Folders are read with all folders "
            "below them.",
            list_form(TEXT, "Path", "A file or folder, relative to the settings.", "manifests/", minItems=1),
            examples=(["manifests/"],),
            written=("manifests",),
        ),
    ]
    service: Service
    workspaces: Mapping[str, WorkspaceRef]
    identity: Annotated[Identity, tuple(_list_identity_settings())] = Identity()
    mark: Annotated[
        str,  # without `custom_`; "": none
        Setting(
            "Name of a custom field",
            "custom_ and the name of a custom field that nothing else uses. It will hold stack/name, so "
            "that owned contacts are recognized without the store.",
            text_form("custom_[A-Za-z][A-Za-z0-9_-]{0,98}"),
            examples=("custom_managedBy",),
            path="ownership.mark",
        ),
    ] = ""
    adopt: Annotated[
        Literal["always", "never"],
        Setting(
            "Adopt",
            "Whether a declared entity that already exists becomes ours. never: it stays as it is, and is "
            "reported.",
            examples=("never",),
        ),
    ] = "always"
    store: Annotated[
        str,
        Setting(
            "Store",
            "Where records are kept: sqlite:/// and a path, relative to this file, or postgresql:// and a "
            "database that several machines share. Do not write a password here.",
            TEXT,
            examples=(
                "sqlite:///.reconciler/store.db",
                "sqlite:////var/lib/reconciler/ops.db",
                "postgresql://reconciler@db.example.com/reconciler",
            ),
            written="sqlite:///.reconciler/store.db",
            more="See [the store](#the-store).",
        ),
    ]
    guard: GuardLimits = GuardLimits()
    lock: LockSettings = LockSettings()
    refresh: Refresh = Refresh()
    policy: Policy = Policy()
    notify: Notify = Notify()
    strict_scopes: Annotated[
        Literal["always", "never"],
        Setting(
            "All or nothing",
            "Whether a workspace that cannot be read, or whose manifests have mistakes, stops the run. "
            "never: it is left out and reported, and the others are planned and applied. --strict-scopes "
            "overrides it.",
            examples=("always",),
            more="See [workspaces that are left out](planning.md#workspaces-that-are-left-out).",
        ),
    ] = "never"
    variables: Annotated[
        tuple[str, ...],
        Setting(
            "Variables",
            "Names of environment variables that manifests may read with ${env:NAME}; after the first "
            "letter, * and ? stand for any characters.",
            list_form(
                text_form("[A-Za-z_][A-Za-z0-9_*?]*"),
                "Name of environment variables",
                "A name that begins with a letter or underscore; * and ? may stand for characters after it.",
                "JANE_*",
                uniqueItems=True,
            ),
            examples=(["JANE_*"],),
        ),
    ] = ()
    variable_files: Annotated[VariableFiles, _SECRET_FILES] = NO_FILES
    directories: Directories = {}  # that rosters may come from
    contact_fields: Annotated[
        tuple[str, ...],
        Setting(
            "Of contacts",
            "Fields of contacts that the manifest schema does not have, as the service writes them.",
            list_form(
                text_form("[A-Za-z][A-Za-z0-9_]{0,99}"),
                "Field name",
                "The name as the service writes it: letters, digits and underscores, a letter first.",
                "costCentre",
                uniqueItems=True,
            ),
            examples=(["costCentre"],),
            path="fields.contacts",
        ),
    ] = ()
    device_limit: Annotated[
        int,
        Setting(
            "Whole number from 1 to 10",
            "How many devices of one app a contact may have.",
            number_form("1 to 10", "(?:[1-9]|10)", "integer", minimum=1, maximum=10),
        ),
    ] = 3
    checks: Checks = Checks()
    plan_expires_h: Annotated[
        float,
        Setting(
            "Life of a plan",
            "Hours after which a plan file is refused. The setting at the time of apply counts as well.",
            ABOVE_ZERO,
        ),
    ] = 24.0
    undo_days: Annotated[
        int,
        Setting(
            "Life of an undo",
            "Days for which the store keeps what undoes each of the last 20 runs (`reconciler undo`), with "
            "the values of people whom they deleted. 0: it keeps none.",
            number_form("0 to 90", "(?:90|[1-8]?[0-9])", "integer", minimum=0, maximum=90),
        ),
    ] = 7
    plan_recipients: Annotated[
        tuple[str, ...],
        Setting(
            "Recipients",
            "Public keys (age or ssh-ed25519) that every plan file and undo file is encrypted to. Only "
            "their owners can read it.",
            list_form(
                text_form(
                    "(?:age1[02-9ac-hj-np-z]{20,200}|ssh-(?:ed25519|rsa) [A-Za-z0-9+/]{20,2000}={0,2}"
                    "(?: [!-~ ]{0,200})?)"
                ),
                "Public key",
                "age1..., or the line of an SSH key: ssh-ed25519 AAAA...",
                _PUBLIC_KEY,
                uniqueItems=True,
            ),
            examples=([_PUBLIC_KEY],),
            path="plan.recipients",
            more="See [plan files](#plan-files).",
        ),
    ] = ()
    generated: Annotated[
        tuple[str, ...],
        Setting(
            "Generated files",
            "Patterns of files, relative to the folder of this file, that an earlier step of a job "
            "generates: they may differ from the commit. `*` stands for part of a name, `**` for any "
            "number of folders. No variable sets it, and it holds only while this file is as committed.",
            list_form(
                text_form(r"(?!/)(?!(?:.*/)?\.\.(?:/|$))[^\\\x00-\x1f]+", length=(None, 400)),
                "Pattern",
                "A path with / and without a leading one.",
                "people/*.csv",
                uniqueItems=True,
            ),
            examples=(["people/*.csv"],),
            path="commit.generated",
            file_only=True,
            more="See [CI](ci.md#what-is-applied-is-in-a-commit).",
        ),
    ] = ()

    root: str  # the folder of reconciler.yaml
    file: str = ""  # reconciler.yaml itself, resolved
    environment: str = ""  # the section of `environments`
    private_files: tuple[str, ...] = ()  # of secrets, of the store, of the settings: no manifest may name one
    inputs: tuple[InputFile, ...] = ()  # what was read for the settings, where a commit may hold it
    caches: bool = False  # whether what manifests declare is kept from run to run, below `root`


# What an editor shows of the mappings that hold settings, by their paths; ALIAS, NAME: any name.
SECTIONS: Mapping[str, SettingSection] = {
    "": SettingSection(
        "Settings file",
        "reconciler.yaml: which service, which workspaces, where the manifests are. Every setting but "
        "commit.generated, workspaces, directories, environments, notify.people, and lists and approvers of "
        "the policy can also be given as RECONCILER_<PATH>, for example RECONCILER_SERVICE_BASE_URL.",
        (
            {
                "version": "1",
                "stack": "ops-contacts",
                "manifests": ["manifests/"],
                "service": {
                    "base_url": "https://api.example.com",
                    "auth": {
                        "username": {"env": "SVC_USER"},
                        "password": {"env": "SVC_PASSWORD"},
                        "api_key": {"file": "/run/secrets/api-key"},
                    },
                },
                "workspaces": {"default": {}, "ops": {"id": "4C8FE1A2B3D4E5F6", "name": "Operations"}},
            },
        ),
    ),
    "service": SettingSection("Service", "Which service, and how to call it."),
    "service.auth": SettingSection(
        "Credentials", "Secrets come from the environment, a file or a command, never from this file itself."
    ),
    "service.limits": SettingSection("Limits", "Limits on requests and on time."),
    "service.network": SettingSection(
        "Network",
        "The proxy on the way to the service, and the certificates to trust.",
        ({"proxy": "http://proxy.example.com:3128", "ca": "/etc/ssl/ours.pem"},),
    ),
    "workspaces": SettingSection(
        "Workspaces",
        "The workspaces that manifests may name, by alias. The alias default, and no other, is the "
        "service's default workspace.",
        ({"default": {}, "ops": {"id": "4C8FE1A2B3D4E5F6", "name": "Operations"}},),
    ),
    "workspaces.ALIAS": SettingSection(
        "Workspace",
        "Its id, its name, or both, which must belong together. Empty for the alias default.",
        ({"id": "4C8FE1A2B3D4E5F6", "name": "Operations"},),
    ),
    "identity": SettingSection(
        "Identity", "The fields that identify a live entity that is not recorded yet."
    ),
    "ownership": SettingSection("Ownership", "How owned contacts are recognized without the store."),
    "guard": SettingSection("Guard", "When a plan is refused until a person allows it with a number."),
    "lock": SettingSection("Lock", "How runs are kept apart, besides the lock that every store has."),
    "refresh": SettingSection("Refresh", "How to read a list that was read completely before."),
    "policy": SettingSection(
        "Policy",
        "What reconciler sync may do without a person.",
        ({"mode": "apply", "drift": "repair", "windows": {"allow": [_WINDOW_EXAMPLE]}},),
    ),
    "policy.ask_when": SettingSection(
        "When to ask", "For which plans a person is asked though the mode is apply."
    ),
    "policy.windows": SettingSection("Windows", "When sync may make changes."),
    "notify": SettingSection(
        "Notifications",
        "Who is told when sync finds that the state of the stack has changed.",
        ({"people": ["jane"], "digest_every": "1d"},),
    ),
    "notify.webhook": SettingSection(
        "Webhook",
        "An address that takes notifications as Standard Webhooks describes them.",
        ({"url": {"env": "NOTIFY_URL"}, "secret": {"env": "NOTIFY_SECRET"}},),
    ),
    "secrets": SettingSection(
        "Files of secrets",
        "Files with the variables that the environment does not have.",
        ({"files": ["secrets.env.age"]},),
    ),
    "directories": SettingSection(
        "Directories",
        "Sources of rosters besides files, by name: a database query, an LDAP directory, a SCIM service. "
        "They are only read, and only where a manifest names them.",
        (
            {
                "staff": {
                    "sql": {
                        "url": "postgresql://reader@db.example.com/hr",
                        "statement": "SELECT id, name, mail FROM staff WHERE active",
                    }
                }
            },
        ),
    ),
    "directories.NAME": SettingSection(
        "Directory",
        "Exactly one of sql, ldap and scim.",
        (
            {
                "sql": {
                    "url": "postgresql://reader@db.example.com/hr",
                    "statement": "SELECT id, name, mail FROM staff WHERE active",
                }
            },
        ),
    ),
    "directories.NAME.sql": SettingSection(
        "Query", "The result of one statement, in a transaction that cannot write."
    ),
    "directories.NAME.ldap": SettingSection(
        "LDAP directory", "The entries below a base that match a filter. The DN is always the column dn."
    ),
    "directories.NAME.scim": SettingSection("SCIM service", "The users of a SCIM 2.0 service."),
    "fields": SettingSection("Fields", "Fields of this deployment that the manifest schema does not have."),
    "checks": SettingSection(
        "Checks",
        "How strictly declared values are checked: error, warning or off. A value that is only unlikely is "
        "a warning at most.",
        ({"phones": "warning", "region": "AU"},),
    ),
    "plan": SettingSection(
        "Plan files", "Encryption of plan files and undo files.", ({"recipients": [_PUBLIC_KEY]},)
    ),
    "commit": SettingSection(
        "What is in the commit", "Files that need not be in the commit.", ({"generated": ["people/*.csv"]},)
    ),
    "environments": SettingSection(
        "Environments",
        "Sections by name, chosen with --environment NAME. A section overrides the file: mappings are "
        "merged key by key; lists, secrets, workspaces and directories are replaced whole.",
        ({"staging": {"service": {"base_url": "http://127.0.0.1:8480"}}},),
    ),
    "environments.NAME": SettingSection(
        "Environment", "Any setting of the file except version and environments."
    ),
}

# Every setting that is one value or one list, in the order in which `config` shows them, by its path.
SETTINGS: Mapping[str, DescribedSetting] = {one.path: one for one in list_settings(Settings)}
