"""Who runs a job of a forge, as its variables say. They are the job's word: whoever sets them is believed.

Sources: the documentation of GitHub Actions (default environment variables; Forgejo and Gitea set the same),
and of GitLab (predefined CI/CD variables).
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from reconciler.core.review.approvals import Person


class _Forge(Struct, frozen=True):
    """A forge: the variable that is `true` in its jobs, and those that name the person and the job."""

    name: str
    flag: str
    people: tuple[str, ...]
    job: str


# Forgejo and Gitea before GitHub, whose variables they set too. Who started a job again is the actor that
# counts: the first one is whoever pushed.
_FORGES = (
    _Forge("Forgejo", "FORGEJO_ACTIONS", ("GITHUB_TRIGGERING_ACTOR", "GITHUB_ACTOR"), "GITHUB_RUN_ID"),
    _Forge("Gitea", "GITEA_ACTIONS", ("GITHUB_TRIGGERING_ACTOR", "GITHUB_ACTOR"), "GITHUB_RUN_ID"),
    _Forge("GitHub", "GITHUB_ACTIONS", ("GITHUB_TRIGGERING_ACTOR", "GITHUB_ACTOR"), "GITHUB_RUN_ID"),
    _Forge("GitLab", "GITLAB_CI", ("GITLAB_USER_LOGIN",), "CI_JOB_ID"),
)
# A login; `dependabot[bot]` and other programs are nobody who approves.
_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9_-])?", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,20}", re.ASCII)


def find_forge_person(environ: Mapping[str, str]) -> Person | None:
    """Return who started the job of a forge that this process is a part of; None outside of one.

    None too where the forge names nobody: a schedule, or a program.
    """
    for forge in _FORGES:
        if environ.get(forge.flag) == "true":
            login = next((name for one in forge.people if (name := environ.get(one, ""))), "")
            job = environ.get(forge.job, "")
            where = f"{forge.name}, job {job}" if _NUMBER.fullmatch(job) else forge.name
            return Person(login, "forge", where) if _LOGIN.fullmatch(login) else None
    return None
