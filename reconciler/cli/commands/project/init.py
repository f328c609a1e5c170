"""`reconciler init`: what a project begins with. Calls nobody, and writes over nothing."""

import re

import click

from reconciler.cli import options
from reconciler.cli.dispatch import Completes, runs

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")  # as in schemas/settings.schema.json


def _id(_ctx: click.Context, _parameter: click.Parameter, given: str) -> str:
    if given and not _ID.fullmatch(given):
        raise click.BadParameter("an id has 1 to 64 letters, digits, hyphens and underscores.")
    return given


@click.command()
@click.argument("folder", default=".", shell_complete=Completes("folders"))
@click.option(
    "--workspace-id",
    default="",
    metavar="ID",
    callback=_id,
    help="Manage this workspace, as `main`, instead of the default one.",
)
@click.option(
    "--ci",
    type=click.Choice(("github", "gitlab", "none")),
    help="Whose CI jobs to write. Default: as the remotes of the repository say, else github.",
)
@options.format_option
@runs("project.init:init")
def command() -> None:
    """Start a project in FOLDER: settings, a manifest, .gitignore, hooks and a CI job that check it.

    FOLDER is here by default, and made if it is not there. Nothing is asked, and no file is written over:
    what is there is kept, and named. The address of the service is that of RECONCILER_SERVICE_BASE_URL,
    else a sandbox on this machine. A project that has settings or manifests gets no further manifest.

    Writes reconciler.yaml, manifests/people.yaml, .gitignore, .pre-commit-config.yaml, and .github or
    .gitlab-ci.yml, from the templates of docs/ci.md. Calls nobody.

    Exit codes: 0 written, or all was there; 1 failed, 3 input invalid, 64 usage.

    \b
    Examples:
        reconciler init
        reconciler init on-call --workspace-id 4C8FE1A2B3D4E5F6 --ci none
    """
