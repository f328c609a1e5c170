"""The files of a new project and their text: settings, a manifest, what git ignores, and its check.

cli/commands/init.py looks at the folder and writes them.
"""

import json
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal

from msgspec import Struct

from reconciler.core.export import may_be_variable
from reconciler.model.kinds import BUILT_IN_KINDS, CONTACT

Ci = Literal["github", "gitlab", "none"]

SETTINGS = "reconciler.yaml"
MANIFEST = "manifests/people.yaml"
IGNORE = ".gitignore"
HOOKS = ".pre-commit-config.yaml"

SANDBOX = "http://127.0.0.1:8480"  # where `reconciler sandbox` listens by itself
ALIAS = "main"  # of the workspace that an id was given for

# What reports, plans and logs of this program are usually called, and no more: a project may have a page
# `planning.md`, or a manifest `people.json`.
IGNORED = (
    *(".reconciler/", "plan*.json", "undo*.json", "*.age", "*.plan.json", "*.undo.json"),
    *("plan.html", "plan-*.html", "plan.md", "plan-*.md", "plan.txt"),
    *("drift.json", "drift.html", "drift.md", "drift.txt", "drift-*.json", "drift-*.html", "drift-*.md"),
    *("report.json", "report.html", "report.md", "run.json", "run.html", "run.md"),
    *("events*.jsonl", "*.sarif", ".env", "*.env"),
)
# An encrypted file of secrets is committed, and a plan file is not, though both end in .age.
COMMITTED = "*.env.age"

# Where the templates below examples/ci go. All of them can run without a secret; those that need some are
# named in docs/ci.md, and have to be edited first.
TEMPLATES: Mapping[Ci, Mapping[str, str]] = {
    "github": {
        "github/validate.yml": ".github/workflows/validate.yml",
        "github/actions/reconciler/action.yml": ".github/actions/reconciler/action.yml",
    },
    "gitlab": {"gitlab/.gitlab-ci.yml": ".gitlab-ci.yml"},
    "none": {},
}

_stack_max = 64  # characters, as the schema of the settings has it
_HOST = re.compile(r"(?:@|//)([A-Za-z0-9.-]+)[:/]")
_SERVICES: tuple[Ci, ...] = ("github", "gitlab")


class ProjectStart(Struct, frozen=True):
    """What is known of a project: the name of its folder, the address of the service and a workspace's id."""

    folder: str
    base_url: str = ""
    workspace_id: str = ""


def project_files(start: ProjectStart) -> dict[str, str]:
    """Return the files that are made for a project, by path: settings, a manifest, and what git ignores."""
    return {SETTINGS: _settings_file(start), MANIFEST: _manifest_file(start), IGNORE: _ignore_file()}


def pre_commit_hooks() -> str:
    """Return the hooks of https://pre-commit.com, which are looked for at the root of a repository alone.

    They start the program that is installed. One that pre-commit installed by itself would have a version of
    its own, and two versions may format in two ways.
    """
    return """\
# Before each commit: one form for manifests, and a check offline. Once: `pre-commit install`
repos:
  - repo: local
    hooks:
      - id: reconciler-fmt
        name: reconciler fmt
        entry: reconciler fmt
        language: system
        files: \\.(yaml|yml)$
        pass_filenames: false
      - id: reconciler-validate
        name: reconciler validate
        entry: reconciler validate --without-variables
        language: system
        files: \\.(yaml|yml|json|csv|xlsx)$
        pass_filenames: false
"""


def suggest_stack(folder: str) -> str:
    """Return a name for the stack from that of a folder; `default` where nothing of it fits."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", folder.lower())
    return plain.strip("._-")[:_stack_max].strip("._-") or "default"


def detect_ci(remotes: tuple[str, ...], environ: Mapping[str, str], present: frozenset[str]) -> Ci:
    """Return whose jobs a project has: as its remotes, its files or the build system say, else GitHub's.

    `present` are those of the names `.github` and `.gitlab-ci.yml` that are there.
    """
    hosts = " ".join(found[1].lower() for one in remotes if (found := _HOST.search(one)))
    for service in _SERVICES:
        if service in hosts:
            return service
    if ".gitlab-ci.yml" in present or (environ.get("GITLAB_CI") and ".github" not in present):
        return "gitlab"
    return "github"


def find_missing_ignores(text: str) -> tuple[str, ...]:
    """Return what a project's own list for git lacks of what should not be committed."""
    lines = {line.strip().lstrip("/") for line in text.splitlines()}
    lines -= {line for line in lines if line.startswith(("#", "!"))}
    bare = ((one, one.rstrip("/")) for one in IGNORED)
    # A wider pattern covers a narrower one, as *.html does plan.html.
    return tuple(one for one, name in bare if not any(fnmatchcase(name, line.rstrip("/")) for line in lines))


def _settings_file(start: ProjectStart) -> str:
    address = start.base_url or SANDBOX
    about = "" if start.base_url else " # edit: a sandbox on this machine, until you name your service"
    named = f"\n  {ALIAS}: {{id: {_quote_yaml(start.workspace_id)}}}" if start.workspace_id else ""
    patterns = ", ".join(_variable_patterns())
    return f"""\
# `reconciler config` shows every setting, its value and where it comes from.
version: 1
stack: {_quote_yaml(suggest_stack(start.folder))} # who we are: what one stack owns, no other touches
manifests: [manifests/]
service:
  base_url: {_quote_yaml(address)}{about}
  # Secrets come from the environment, a file or a command; a plain value here is refused.
  auth: {{username: {{env: SVC_USER}}, password: {{env: SVC_PASSWORD}}, api_key: {{env: SVC_API_KEY}}}}
workspaces:
  default: {{}}{named}
variables: [{patterns}] # the variables that manifests may read; `export` uses these names for secrets
"""


def _variable_patterns() -> tuple[str, ...]:
    """Return the names of the variables that an export writes in place of secrets."""
    return tuple(
        sorted(f"{kind.name.upper()}_*" for kind in BUILT_IN_KINDS.values() if may_be_variable(kind))
    )


def _manifest_file(start: ProjectStart) -> str:
    example = "".join(f"#     {name}: {value}\n" for name, value in CONTACT.example.items())
    return f"""\
# The contacts that this workspace should have. `reconciler apply` creates each of them, or adopts it if it
# exists already, and keeps its fields as written here. Contacts that are not listed here are left alone.
# `reconciler plan` shows every change first. `reconciler export` writes existing contacts beside this file.
version: 1
workspace: {ALIAS if start.workspace_id else "default"}

# Write people in place of the braces:
#
#   {CONTACT.example_name}:
{example}{CONTACT.plural}: {{}}
"""


def _ignore_file() -> str:
    about = "# What reconciler writes on this machine: store, plans, reports. They hold people's data.\n"
    kept = f"# An encrypted file of secrets is committed: `secrets.files` of the settings.\n!{COMMITTED}\n"
    return about + "".join(f"{one}\n" for one in IGNORED) + kept


def _quote_yaml(text: str) -> str:
    """Return a text as YAML reads it back, also where it would be a number or a word without quotes."""
    return json.dumps(text)
