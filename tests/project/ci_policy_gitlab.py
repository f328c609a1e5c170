"""The same as ci_policy.py for GitLab, whose files have other words. Rules only."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from project import ci_policy_shell
from project.ci_policy import File, Found

_NOT_JOBS = {"stages", "workflow", "default", "variables", "include", "image", "cache"}
_MERGE_REQUEST = '$CI_PIPELINE_SOURCE == "merge_request_event"'
_DEFAULT = '$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH && $CI_COMMIT_REF_PROTECTED == "true"'
_SCHEDULED = f'$CI_PIPELINE_SOURCE == "schedule" && {_DEFAULT}'
_DIGEST = re.compile(r"[\w.:/-]+@sha256:[0-9a-f]{64}")
_SECRET = re.compile(r"RECONCILER_(SERVICE_AUTH_\w+|STORE)|AGE_IDENTITY|DRIFT_TOKEN|REVIEW_TOKEN")
_CALLS = re.compile(r"\breconciler (\w+)")
_WRITES = {"apply", "resume"}


class Job(NamedTuple):
    """A job with what it extends; `says` is the whole of it."""

    name: str
    says: Mapping[str, Any]

    @property
    def script(self) -> list[str]:
        """Its commands, what comes before and after them too."""
        parts = ("before_script", "script", "after_script")
        return [line for part in parts for line in self.says.get(part, [])]

    @property
    def verbs(self) -> set[str]:
        """What it asks of our command."""
        return {verb for line in self.script for verb in _CALLS.findall(line)}

    @property
    def rules(self) -> list[str]:
        """When it runs. A rule that says `never` only takes pipelines away."""
        return [rule.get("if", "always") for rule in self.starts] or ["always"]

    @property
    def starts(self) -> list[Mapping[str, Any]]:
        """The rules by which it may run."""
        return [rule for rule in self.says.get("rules", []) if rule.get("when") != "never"]

    @property
    def is_live(self) -> bool:
        """Whether it speaks to the service."""
        return bool(self.verbs - {"validate", "schema", "show"})


def jobs(file: File) -> Iterator[Job]:
    """Yield the jobs that run, each with what it extends merged below it."""
    for name, says in file.says.items():
        if isinstance(says, dict) and name not in _NOT_JOBS and not name.startswith("."):
            yield Job(name, _merged(file.says.get(says.get("extends", ""), {}), says))


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> Mapping[str, Any]:
    both = {
        key: _merged(below[key], above[key])
        for key in below.keys() & above.keys()
        if isinstance(below[key], dict) and isinstance(above[key], dict)
    }
    return {**below, **above, **both}


def images(file: File) -> Found:
    """A tag can be moved to another image; a digest cannot."""
    found = [file.says.get("default", {}).get("image", ""), *(job.says.get("image") for job in jobs(file))]
    yield from (f"image {one}" for one in found if one is not None and not _DIGEST.fullmatch(str(one)))
    if "include" in file.says:
        yield "takes in what others write"


def merge_requests(file: File) -> Found:
    """A merge request, of a fork too, may change everything that it runs: there must be nothing to take."""
    for job in jobs(file):
        asked = [rule for rule in job.rules if rule not in (_DEFAULT, _SCHEDULED)]
        if asked and asked != [_MERGE_REQUEST]:
            yield f"{job.name}: runs where nobody knows: {asked}"
        if asked and (
            job.verbs != {"validate"} or "environment" in job.says or _SECRET.search(str(job.says))
        ):
            yield f"{job.name}: more than the offline check in a merge request"


def protected(file: File) -> Found:
    """Protected variables go to protected branches; an environment says which of them, and who may."""
    for job in jobs(file):
        known = job.rules == [_DEFAULT] or (job.rules == [_SCHEDULED] and not job.verbs & _WRITES)
        if job.is_live and not (known and job.says.get("environment", {}).get("name")):
            yield f"{job.name}: live, and not on the protected default branch with an environment"
    if {rule.get("if") for rule in file.says.get("workflow", {}).get("rules", [])} != {
        _MERGE_REQUEST,
        _DEFAULT,
    }:
        yield "pipelines of other kinds"


def secrets_outside(file: File) -> Found:
    """A file in git holds no secret, and hands none on under another name."""
    for where in (file.says, *(job.says for job in jobs(file))):
        yield from (
            f"{name} stands in the file" for name in where.get("variables", {}) if _SECRET.fullmatch(name)
        )


def pinned_service(file: File) -> Found:
    """Files can name another host; the job's own variables go over them."""
    for job in jobs(file):
        address = job.says.get("variables", {}).get("RECONCILER_SERVICE_BASE_URL", "")
        if job.is_live and (not address.startswith("https://") or "$" in address):
            yield f"{job.name}: the address of the service is not pinned"


def one_at_a_time(file: File) -> Found:
    """A newer pipeline that cancels an apply kills it in the middle."""
    for job in jobs(file):
        if job.is_live and (job.says.get("interruptible") != "false" or not job.says.get("resource_group")):
            yield f"{job.name}: two may run at once, or a newer one kills it"
        minutes = re.fullmatch(r"(\d+) minutes", job.says.get("timeout", ""))
        if minutes is None or (job.is_live and int(minutes[1]) < 75):
            yield f"{job.name}: no limit of time, or less than a run may take"


_FORWARDS = """trap 'kill -TERM "$!" 2> /dev/null || exit 143' INT TERM"""
_WAITS = [
    'code=0; wait "$!" || code=$?',
    'while kill -0 "$!" 2> /dev/null; do code=0; wait "$!" || code=$?; done',
]


def signals(file: File) -> Found:
    """A shell that waits passes the signal of a cancelled job on, and ends as the program ended.

    `exec` would do the same, and then nobody is left who removes the key.
    """
    for job in jobs(file):
        runs = [n for n, line in enumerate(job.script) if _CALLS.search(line)]
        if not job.verbs & _WRITES:
            continue
        (at,) = runs if len(runs) == 1 else (0,)
        forwarded = job.script[at].endswith(" &") and _FORWARDS in job.script[:at]
        if not forwarded or job.script[at + 1 : at + 3] != _WAITS or job.script[-1] != 'exit "$code"':
            yield f"{job.name}: the signal does not reach the program, or its exit code is lost"


_PRIVATE = ["umask 077", "place=$(mktemp -d)", """trap 'rm -rf -- "$place"' EXIT"""]


def private_places(file: File) -> Found:
    """A key or a report that is left beside the project folder is read by the next job, of anybody."""
    for job in jobs(file):
        if job.is_live and job.script[:3] != _PRIVATE:
            yield f"{job.name}: no folder of its own that goes with the job"
        for line in job.script:
            if "after_script" in job.says or re.search(r"CI_PROJECT_DIR|CI_BUILDS_DIR|/tmp|TMPDIR", line):
                yield f"{job.name}: something lasts beyond the job's shell"
            if re.search(r"\b(?:cp|mv|ln|tee)\b", line) and not line.endswith(' "$place/identity"'):
                yield f"{job.name}: a copy elsewhere"


def reviewed(file: File) -> Found:
    """What is carried out is the plan that somebody has seen, started by somebody."""
    for job in jobs(file):
        text = "\n".join(job.script)
        if re.search(r"reconciler apply (?!\w+\.age )", text) or ci_policy_shell.agrees_in_advance(text):
            yield f"{job.name}: applies what nobody has reviewed"
        if job.verbs & _WRITES and any(rule.get("when") != "manual" for rule in job.starts):
            yield f"{job.name}: starts by itself"
    for where in (file.says, *(job.says for job in jobs(file))):
        for name, given in where.get("variables", {}).items():
            if name in ci_policy_shell.CONSENTS and (where is not file.says or given.get("value")):
                yield f"{name} is agreed to before anybody starts it"


def artifacts(file: File) -> Found:
    """A plan holds data of people: encrypted, for a day, for people of the project."""
    for job in jobs(file):
        kept = job.says.get("artifacts", {})
        if kept and not all(path.endswith(".age") for path in kept.get("paths", [""])):
            yield f"{job.name}: keeps what everybody can read"
        if kept and (kept.get("expire_in") != "1 day" or kept.get("access") != "developer"):
            yield f"{job.name}: keeps a plan for longer than a day, or for everybody"
        plans = [line for line in job.script if "reconciler plan" in line]
        checked = '[ -n "$to" ]' in job.script
        if plans and not (
            checked and all(line.startswith("reconciler plan $to $agreed -o ") for line in plans)
        ):
            yield f"{job.name}: a plan that may not be encrypted"


def caches(file: File) -> Found:
    """What a run keeps is data of people, and a cache of the forge is read by other jobs."""
    if "cache" in file.says or "cache" in file.says.get("default", {}):
        yield "every job keeps something for others"
    for job in jobs(file):
        if job.is_live and job.says.get("cache"):
            yield f"{job.name}: keeps something for other jobs"


def quiet_logs(file: File) -> Found:
    """Logs are read by more people than plans are."""
    for job in jobs(file):
        for line in job.script:
            if re.search(r"reconciler (plan|apply|resume|drift)\b", line) and not re.search(
                r'--format json > "\$place/\w+\.json"(?: &| \|\| code=\$\?| \|\| \[ "\$\?" -eq [25] \])?$',
                line,
            ):
                yield f"{job.name}: shows names in the log"
            if re.search(r"set -\w*x|\bprintenv\b|\benv$", line):
                yield f"{job.name}: shows what it runs, or its variables"


def interpreters(file: File) -> Found:
    """What runs beside credentials takes no code from the checkout: not Python, git, pip or bash."""
    yield from ci_policy_shell.in_gitlab(file.says)


GITLAB: Mapping[str, Callable[[File], Found]] = {
    rule.__name__: rule
    for rule in (
        *(images, merge_requests, protected, secrets_outside, pinned_service),
        *(one_at_a_time, signals, reviewed, artifacts, caches, quiet_logs, private_places, interpreters),
    )
}
