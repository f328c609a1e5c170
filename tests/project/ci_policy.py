"""What a workflow file of a CI service may not do, as a table of rules; the reasons stand beside them.

Rules only, over the text of a file and what it says; test_ci_templates.py holds the files to them. They
know the forms that our own files use: a form that they do not know is refused, not let through.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import yaml
from project import ci_policy_shell

Found = Iterator[str]

_PIN = re.compile(r"uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+){0,2}$")
_LOCAL = re.compile(r"uses: \./\.github/actions/[\w-]+$")
_WRITES = re.compile(r"\breconciler (?:[\w-]+ )*?(apply|resume)\b")
_CALLS = re.compile(r"\breconciler (\w+)")
_SECRETS = re.compile(r"\$\{\{\s*secrets\b")
_FOREIGN = re.compile(r"github\.head_ref|pull_request\.head|refs/pull/")
_DEFAULT_BRANCH = "github.ref == format('refs/heads/{0}', github.event.repository.default_branch)"
_AUTH = tuple(f"RECONCILER_SERVICE_AUTH_{name}" for name in ("USERNAME", "PASSWORD", "API_KEY"))
_ENCRYPTED = re.compile(
    r'^\[ "\$\{#to\[@\]\}" -gt 0 \].*\n(.*\n)*?reconciler plan "\$\{to\[@\]\}" ', re.MULTILINE
)
_ADDRESS = "RECONCILER_SERVICE_BASE_URL"
_TELLS = ({"issues": "write"}, {"pull-requests": "write", "statuses": "write"})
_EVENTS = {"pull_request", "push", "workflow_dispatch", "schedule"}
minutes_min = 75  # the deadline of a run is an hour; then it has to be able to stop cleanly


class File(NamedTuple):
    """A workflow file: its text, and what it says, every value a text."""

    text: str
    says: Mapping[str, Any]

    @classmethod
    def of(cls, text: str) -> "File":
        """Read it with the loader that takes `on` for a word and not for a truth value."""
        return cls(text, yaml.load(text, Loader=yaml.BaseLoader))  # noqa: S506 - texts alone: the safest of all

    @property
    def events(self) -> set[str]:
        """What starts it."""
        on = self.says.get("on", {})
        return {on} if isinstance(on, str) else set(on)

    @property
    def jobs(self) -> Mapping[str, Any]:
        """Its jobs by name; a composite action is one job."""
        return self.says.get("jobs") or {"action": {"steps": self.says.get("runs", {}).get("steps", [])}}

    @property
    def steps(self) -> list[Mapping[str, Any]]:
        """The steps of all of its jobs."""
        return [step for job in self.jobs.values() for step in job.get("steps", [])]

    @property
    def is_action(self) -> bool:
        """Whether it is a piece of others."""
        return "runs" in self.says


def text_of(node: Any) -> str:
    """A part of a file as text, to search in."""
    return yaml.safe_dump(node, width=100_000)


def _has_secrets(job: Mapping[str, Any]) -> bool:
    return bool(_SECRETS.search(text_of(job)))


def _writing(file: File) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, job in file.jobs.items():
        if any(_WRITES.search(step.get("run", "")) for step in job.get("steps", [])):
            yield name, job


# GitHub.


def pins(file: File) -> Found:
    """A tag can be moved to other code; a commit cannot."""
    for line in file.text.splitlines():
        bare = line.strip().removeprefix("- ")
        if bare.startswith("uses:") and not (_PIN.fullmatch(bare) or _LOCAL.fullmatch(bare)):
            yield f"not pinned by a commit, with the version beside it: {bare}"


def events(file: File) -> Found:
    """Events that give a fork's pull request our secrets, or somebody's comment a run with them."""
    if not file.is_action:
        yield from (f"started by {event}" for event in sorted(file.events - _EVENTS))
        if not file.events:
            yield "started by nothing that is known"


def permissions(file: File) -> Found:
    """The token of a run that is taken over can do what it may, and no more."""
    if file.is_action:
        return
    if file.says.get("permissions") != {"contents": "read"}:
        yield f"permissions {file.says.get('permissions')}"
    for name, job in file.jobs.items():
        asked = job.get("permissions", {"contents": "read"})
        # Who writes an issue or a comment has nothing else: no secret, no action, and so no checkout.
        alone = not _has_secrets(job) and not any("uses" in step for step in job["steps"])
        if asked != {"contents": "read"} and not (asked in _TELLS and alone):
            yield f"{name}: permissions {asked}"


def forks(file: File) -> Found:
    """A pull request may change everything that it runs: there must be nothing to take."""
    if "pull_request" not in file.events:
        return
    if re.search(r"\bsecrets\b", text_of(file.says)):
        yield "a secret in a run of a pull request"
    for name, job in file.jobs.items():
        if "environment" in job:
            yield f"{name}: an environment in a run of a pull request"
        if "self-hosted" in job.get("runs-on", ""):
            yield f"{name}: a machine of ours in a run of a pull request"
    for step in file.steps:
        yield from (
            f"a pull request runs reconciler {verb}"
            for verb in _CALLS.findall(step.get("run", ""))
            if verb != "validate"
        )


def environments(file: File) -> Found:
    """An environment that is limited to the default branch is what keeps a changed copy of the file out."""
    for name, job in file.jobs.items():
        if not _has_secrets(job):
            continue
        if "environment" not in job:
            yield f"{name}: secrets without an environment"
        guarded = job.get("if", "")
        if guarded != _DEFAULT_BRANCH and not (job.get("needs") and "needs." in guarded):
            yield f"{name}: secrets on any branch"


def secrets_in_steps(file: File) -> Found:
    """What a job gets, each of its actions can read; a step's own environment goes to that step."""
    for where in (file.says, *file.jobs.values()):
        yield from (
            f"{name}: a secret for more than one step"
            for name, value in where.get("env", {}).items()
            if _SECRETS.search(value)
        )
    for step in file.steps:
        if "uses" in step and _SECRETS.search(text_of(step)):
            yield f"{step['uses']}: gets a secret"
    if re.search(r"secrets:\s*inherit|toJSON\(\s*secrets", file.text):
        yield "all secrets at once"


def checkouts(file: File) -> Found:
    """A checkout keeps the run's token in its folder unless told not to, for everything that comes after."""
    for step in file.steps:
        given = step.get("with", {})
        if (
            step.get("uses", "").startswith("actions/checkout@")
            and given.get("persist-credentials") != "false"
        ):
            yield "a checkout that keeps the token"
        if given.get("submodules", "false") != "false":
            yield "a checkout of what others decide"


def foreign_code(file: File) -> Found:
    """Beside secrets, what others may push is data: copied, never run, and no settings of theirs are read."""
    for name, job in file.jobs.items():
        if not _has_secrets(job):
            continue
        if _FOREIGN.search(text_of(job)):
            yield f"{name}: code of a pull request beside secrets"
        for step in job["steps"]:
            given = step.get("with", {})
            if "repository" in given:
                yield f"{name}: another repository beside secrets"
            if "ref" in given:
                yield from _used(name, job, given)


def _used(name: str, job: Mapping[str, Any], given: Mapping[str, str]) -> Found:
    path = given.get("path", "")
    if not given["ref"].startswith("refs/heads/") or not path:
        yield f"{name}: what is checked out may be anybody's, or takes the place of our own"
        return
    for step in job["steps"]:
        if step.get("working-directory", "").startswith(path) or step.get("uses", "").startswith(f"./{path}"):
            yield f"{name}: runs in {path}"
        for line in step.get("run", "").splitlines():
            allowed = re.search(rf'\[ -e "{path}/|cp -R -P -- "{path}/|rm -rf {path}$', line.strip())
            if path in line and not allowed:
                yield f"{name}: does more than copy from {path}: {line.strip()}"


def injection(file: File) -> Found:
    """An expression in a script is pasted into it before the shell reads it: a name becomes a command."""
    for step in file.steps:
        if "${{" in step.get("run", ""):
            yield f"an expression in a script: {step.get('name', step['run'][:40])}"


def pinned_service(file: File) -> Found:
    """Files can name another host, or a command for a secret; variables of the job go over both."""
    for step in file.steps:
        environment = step.get("env", {})
        asks = set(_CALLS.findall(step.get("run", ""))) - {"validate", "schema", "show"}
        if not asks and not any(map(_SECRETS.search, environment.values())):
            continue
        address = environment.get(_ADDRESS, "")
        if not address.startswith("https://") or "${{" in address:
            yield f"{step.get('name')}: the address of the service is not pinned"
        yield from (
            f"{step.get('name')}: {variable} is left to the files"
            for variable in _AUTH
            if not re.fullmatch(r"\$\{\{ secrets\.\w+ \}\}", environment.get(variable, ""))
        )


def one_at_a_time(file: File) -> Found:
    """A newer run that cancels an apply kills it in the middle."""
    for name, _ in _writing(file):
        concurrency = file.says.get("concurrency", {})
        if not isinstance(concurrency, dict) or not concurrency.get("group") or "${{" in concurrency["group"]:
            yield f"{name}: two may run at once"
        elif concurrency.get("cancel-in-progress") != "false":
            yield f"{name}: a newer one kills it"


def time(file: File) -> Found:
    """A run that is cut off by the clock is killed; without a limit it blocks the others for hours."""
    if file.is_action:
        return
    for name, job in file.jobs.items():
        if not job.get("timeout-minutes", "").isdecimal():
            yield f"{name}: no limit of time"
        elif _has_secrets(job) and int(job["timeout-minutes"]) < minutes_min:
            yield f"{name}: less time than a run may take"


def signals(file: File) -> Found:
    """A shell does not pass the signal of a cancelled job on; what took its place receives it."""
    for _, job in _writing(file):
        for step in job["steps"]:
            script = step.get("run", "")
            if _WRITES.search(script) and not re.search(
                r"^exec reconciler [^\n]*(\\\n[^\n]*)*\s*\Z", script, re.MULTILINE
            ):
                yield f"{step.get('name')}: the program is not what the signal reaches"


def reviewed(file: File) -> Found:
    """What is carried out is the plan that somebody has seen, within the limits that were reviewed too."""
    for step in file.steps:
        script = step.get("run", "")
        for command in re.findall(r"reconciler apply\b(?:[^\n]*\\\n)*[^\n]*", script):
            if not re.match(r"reconciler apply [\w/]+\.age ", command):
                yield "applies what nobody has reviewed"
        if ci_policy_shell.agrees_in_advance(script):
            yield "agrees in advance to what nobody has seen"
        for name, value in step.get("env", {}).items():
            if name in ci_policy_shell.CONSENTS and value != f"${{{{ inputs.{name.lower()} }}}}":
                yield f"{name} is not what somebody typed who started it"
    for where in (file.says, *file.jobs.values()):
        yield from (
            f"{name} for every step" for name in where.get("env", {}) if name in ci_policy_shell.CONSENTS
        )
    started = file.says.get("on", {})
    asked = (started.get("workflow_dispatch") or {}) if isinstance(started, dict) else {}
    for name, given in (asked.get("inputs", {}) if isinstance(asked, dict) else {}).items():
        if name.upper() in ci_policy_shell.CONSENTS and given.get("default"):
            yield f"{name} is agreed to unless somebody says otherwise"


def artifacts(file: File) -> Found:
    """A plan holds data of people: encrypted, for a day."""
    for step in file.steps:
        if step.get("uses", "").startswith("actions/upload-artifact@"):
            given = step["with"]
            if not all(path.endswith(".age") for path in given["path"].split()):
                yield f"keeps {given['path']} for everybody to read"
            if given.get("retention-days") != "1":
                yield "keeps a plan for longer than a day"
        script = step.get("run", "")
        if re.search(r"reconciler plan\b(?! --help)", script) and not _ENCRYPTED.search(script):
            yield "a plan that may not be encrypted"


def caches(file: File) -> Found:
    """What a run keeps is data of people: jobs of every branch can read the caches of the forge."""
    for name, job in file.jobs.items():
        for step in job.get("steps", []):
            if step.get("uses", "").startswith("actions/cache") and _has_secrets(job):
                yield f"{name}: keeps {step.get('with', {}).get('path')} for jobs of other branches"


def quiet_logs(file: File) -> Found:
    """Logs are read by more people than plans are."""
    for step in file.steps:
        script = step.get("run", "")
        for command in re.findall(r"reconciler (?:plan|apply|resume|drift)\b(?:[^\n]*\\\n)*[^\n]*", script):
            if not re.search(r'--format json\b[^|]*> ?"\$RUNNER_TEMP/', command):
                yield f"shows names in the log: {command[:40]}"
        if re.search(r"set -\w*x|\bprintenv\b|\benv\b(?! )", script):
            yield "shows what it runs, or its variables"


def interpreters(file: File) -> Found:
    """What runs beside credentials takes no code from the checkout: not Python, pip, git, bash, an action."""
    yield from ci_policy_shell.in_github(file.says)


GITHUB: Mapping[str, Callable[[File], Found]] = {
    rule.__name__: rule
    for rule in (
        *(pins, events, permissions, forks, environments, secrets_in_steps, checkouts, foreign_code),
        *(
            injection,
            pinned_service,
            one_at_a_time,
            time,
            signals,
            reviewed,
            artifacts,
            caches,
            quiet_logs,
            interpreters,
        ),
    )
}
