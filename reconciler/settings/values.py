"""One setting: its path, its value as written, and where it came from. The table of all of them.

Only the nouns of this folder belong here; who fills them is sources.py and variables.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reconciler.errors import Problem, SettingsError
from reconciler.files.project_files import ReadLog
from reconciler.model.documents import Place
from reconciler.model.kinds import BUILT_IN_KINDS
from reconciler.model.settings import Checks, GuardLimits, Limits, LockSettings, Refresh

# Each setting that is one value or one list, in the order in which `config` shows them, with its default.
# None: there is no default. Secrets have none either; only they and the proxy may be a mapping in the
# file.
DEFAULTS: Mapping[str, str | bool | float | tuple[str, ...] | None] = {
    "stack": "default",
    "manifests": ("manifests",),
    "service.base_url": None,
    "service.profile": "service",
    "service.format": "json",
    "service.schedule_zone": None,
    "service.auth.username": None,
    "service.auth.password": None,
    "service.auth.api_key": None,
    "service.auth.send_key": "header",
    **{f"service.limits.{name}": getattr(Limits(), name) for name in Limits.__struct_fields__},
    "service.network.proxy": "env",
    "service.network.ca": "env",
    **{f"identity.{kind.plural}": kind.identity for kind in BUILT_IN_KINDS.values()},
    "ownership.mark": None,
    "adopt": "always",
    "store": "sqlite:///.reconciler/store.db",
    **{f"guard.{name}": getattr(GuardLimits(), name) for name in GuardLimits.__struct_fields__},
    **{f"lock.{name}": getattr(LockSettings(), name) for name in LockSettings.__struct_fields__},
    **{f"refresh.{name}": getattr(Refresh(), name) for name in Refresh.__struct_fields__},
    "variables": (),
    "secrets.files": (),
    "secrets.identity": None,
    "fields.contacts": (),
    "device_limit": 3,
    **{f"checks.{name}": getattr(Checks(), name) or None for name in Checks.__struct_fields__},
    "plan_expires_h": 24.0,
    "plan.recipients": (),
    "commit.generated": (),
}
# What only the file may say: whoever sets a variable of a job must not decide what a commit has to hold.
FILE_ONLY = frozenset({"commit.generated"})
SECRETS = ("service.auth.username", "service.auth.password", "service.auth.api_key")
OF_DIRECTORIES = (("ldap", "dn"), ("ldap", "password"), ("scim", "token"))  # secrets below directories.NAME
BY_REFERENCE = (*SECRETS, "secrets.identity")  # what never stands in the file itself
REFERENCES = (*BY_REFERENCE, "service.network.proxy")  # what may be written as the place of a secret


@dataclass(frozen=True, slots=True)
class Value:
    """One setting as written: text, a list of texts, or the mapping of a secret or a workspace.

    `origin` is what `config` shows; `place` is where a problem with it is reported. `variable` is the one of
    RECONCILER_* that gives it, or "".
    """

    path: tuple[str, ...]
    raw: Any
    origin: str
    place: Place
    variable: str = ""

    @property
    def name(self) -> str:
        """The path as people write it: `service.base_url`."""
        return ".".join(self.path)

    @property
    def typed(self) -> Any:
        """The value as what its default is: a number where that is one."""
        default = DEFAULTS.get(self.name)
        return type(default)(self.raw) if isinstance(default, int | float) else self.raw

    def problem(self, what: str, hint: str, code: str) -> Problem:
        """Return a problem with this value, at the place where it was given."""
        return self.place.problem(f"{self.name}: {what}", hint, code)


Values = dict[tuple[str, ...], Value]


@dataclass(frozen=True, slots=True)
class Layers:
    """Every setting once, the strongest source's value.

    `root` is the absolute folder of the file, `shown` the file's name in messages, `written` the whole file,
    `log` the files that were read for them. `service_links` are variables that Kubernetes made for a Service,
    and the Service: no settings.
    """

    file: Path
    shown: str
    root: Path
    environment: str
    environment_origin: str
    values: Mapping[tuple[str, ...], Value]
    written: Mapping[str, Any]
    log: ReadLog
    service_links: Mapping[str, str] = field(default_factory=dict)


def refused(*problems: Problem, of_network: tuple[Problem, ...] = ()) -> SettingsError:
    """Return the error that carries these problems, `of_network` as of SettingsError."""
    count = "1 mistake" if len(problems) == 1 else f"{len(problems)} mistakes"
    return SettingsError(f"the settings cannot be used: {count}.", problems=problems, of_network=of_network)
