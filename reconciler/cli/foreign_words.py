"""Words of other tools that plan and apply, and what they are called here: commands and options.

They are found on the command line before anything is done: `-out=plan.json` would otherwise write a file
called `ut=plan.json`. Misspelt names of our own are for core/suggest.py and click.
"""

from collections.abc import Mapping, Sequence

import click

# Word -> what does that here: one thing to type or to do, and in brackets what has to be known of it.
COMMANDS: Mapping[str, str] = {
    "destroy": "remove the entries from the manifests and apply   (--allow-deletes N allows N deletes)",
    "delete": "remove the entry from the manifest and apply   (reconciler forget ADDRESS keeps it live)",
    "refresh": "reconciler drift   (every plan reads the service; no refresh is needed)",
    "import": "reconciler export   (writes live entities as manifests; then reconciler adopt)",
    "state": "reconciler list, reconciler forget ADDRESS or reconciler adopt ADDRESS",
    "taint": "change the entry   (or remove it, apply, and declare it again)",
    "untaint": "reconciler plan   (shows what would change; entities are not tainted here)",
    "output": "reconciler list --format json",
    "get": "reconciler list",
    "describe": "reconciler explain ADDRESS",
    "create": "declare it in a manifest, then reconciler apply",
    "edit": "edit the manifest, then reconciler apply",
    "diff": "reconciler plan",
    "preview": "reconciler plan",
    "up": "reconciler apply",
    "run": "reconciler apply",
    "console": "reconciler explain ADDRESS",
    "graph": "reconciler plan   (changes are shown in their order)",
    "force-unlock": "reconciler unlock --force ID   (reconciler lock shows who holds it)",
    "workspace": "reconciler workspaces list   (--environment NAME chooses a section of the settings)",
    "login": "set the credentials in the settings (service.auth), then run reconciler doctor",
    "providers": "reconciler config   (service.profile describes the service)",
    "get-schema": "reconciler schema",
    "format": "reconciler fmt",
    "check": "reconciler validate",
    "lint": "reconciler validate",
    "version": "reconciler --version",
    "help": "reconciler --help",
    "rollback": "reconciler undo RUN   (reconciler history shows the runs)",
}
OPTIONS: Mapping[str, str] = {
    "out": "-o FILE",
    "output": "-o FILE for a plan file, --format json for JSON",
    "auto-approve": "--yes",
    "autoapprove": "--yes",
    "approve": "--yes",
    "force": "--yes   (if the guard refuses the plan, also --allow-deletes N or a similar option)",
    "y": "--yes",
    "target": "--only ADDRESS",
    "exclude": "--except ADDRESS",
    "destroy": "remove the entries from the manifests   (--allow-deletes N allows N deletes)",
    "prune": "leave it out   (apply deletes entities removed from the manifests; `protect: true` keeps them)",
    "replace": "change the entry   (or remove it, apply, and declare it again)",
    "var": "write ${env:NAME} in a manifest, and list NAME in `variables:` of the settings",
    "var-file": "environment variables, or --environment NAME for a section of the settings",
    "chdir": "--config FILE   (paths begin at the folder of the settings)",
    "json": "--format json",
    "no-color": "the variable NO_COLOR=1",
    "no-colour": "the variable NO_COLOR=1",
    "refresh-only": "reconciler drift",
    "refresh": "--refresh full   (reads every list completely; every plan reads what is live)",
    "lock": "--lock-timeout SECONDS   (how long to wait for the lock, which is always taken)",
    "parallelism": "set service.limits.concurrency in the settings",
    "input": "--yes, in non-interactive runs",
    "upgrade": "install another version the way you installed this one   (init downloads nothing)",
    "reconfigure": "edit reconciler.yaml   (reconciler config shows the effective settings)",
    "migrate-state": "change `store:` in the settings   (docs/settings.md says how to move a store)",
    "backend-config": "set `store:` in the settings",
    "state": "set `store:` in the settings",
    "dry-run": "reconciler plan",
    "recursive": "leave it out   (folders are always read recursively)",
    "write": "leave it out   (fmt writes, except with --check or --diff)",
    "namespace": "set `workspace:` in the manifest   (--only workspace:NAME selects)",
    "n": "set `workspace:` in the manifest   (--only workspace:NAME selects)",
}

# Options that name a file to read elsewhere; here the settings name the manifests.
_FILE_OPTIONS = ("f", "file", "filename")
_MANIFESTS = "list the files in `manifests:` of the settings"
# Command -> how it is told which files to read, where that is not `--only`.
_FILES: Mapping[str, str] = {
    "reconciler apply": f"{_MANIFESTS}   (a saved plan: reconciler apply FILE)",
    "reconciler show": "reconciler show FILE",
    "reconciler fmt": "reconciler fmt FILE",
    "reconciler validate": f"{_MANIFESTS}   (for one run: RECONCILER_MANIFESTS=FILE reconciler validate)",
}


class ForeignWord(click.UsageError):
    """A word of another tool. `next` says what does that here."""

    def __init__(self, message: str, next: str, ctx: click.Context | None) -> None:  # noqa: A002 - the word that users read
        super().__init__(message, ctx)
        self.next = next


def check_command(name: str, ctx: click.Context) -> None:
    """Raise ForeignWord where another tool has a command of this name, which is none of ours."""
    if (ours := COMMANDS.get(name.lower())) is not None:
        raise ForeignWord(f"{name!r} is not a command here.", f"instead: {ours}", ctx)


def check_options(command: click.Command, ctx: click.Context, arguments: Sequence[str]) -> None:
    """Raise ForeignWord for an option as another tool writes it, before one of ours takes it for its own.

    `arguments` begin with the name of the command.
    `-out=plan.json` is one, and so is `-o=plan.json`, of which click would take `=plan.json`. A file after a
    command that reads manifests and takes no argument is another: `reconciler validate people.yaml`.
    """
    path, words = f"reconciler {arguments[0]}", list(arguments[1:])
    while isinstance(command, click.Group) and words:
        below = command.get_command(ctx, words[0])
        if below is None:
            return
        command, words, path = below, words[1:], f"{path} {words[0]}"
    known = {name: one for one in command.params if isinstance(one, click.Option) for name in one.opts}
    files = _FILES.get(path, f"{_MANIFESTS}   (--only ADDRESS selects entries)" if "--only" in known else "")
    takes_argument = any(isinstance(one, click.Argument) for one in command.params)
    is_value = False
    for word in words:
        if is_value:
            is_value = False
            continue
        if word == "--":
            return
        name, equals, value = word.partition("=")
        if not name.startswith("-") or not name.strip("-"):
            if files and not takes_argument and not {"-h", "--help"} & set(words):
                raise ForeignWord(f"{path} takes no files or other arguments: {word}", files, ctx)
            continue
        if name in known:
            if equals and not name.startswith("--"):
                raise ForeignWord(f"{word}: write a space after {name}, not =.", f"write {name} {value}", ctx)
            is_value = not equals and not known[name].is_flag and not known[name].count
            continue
        if (files or "--config" in known) and name.lstrip("-") in _FILE_OPTIONS:
            raise ForeignWord(f"{name} is not an option of {path}.", f"instead: {files or _MANIFESTS}", ctx)
        if (ours := _translate_option(name.lstrip("-"), value, known)) is not None:
            raise ForeignWord(f"{name} is not an option of {path}.", f"instead: {ours}", ctx)
        is_value = not equals and name.startswith("--")  # of an option that there is not: click says so


def _translate_option(word: str, value: str, known: Mapping[str, click.Option]) -> str | None:
    """Return what another tool's option is called here; None for an unknown one."""
    if word in {"o", "out", "output"} and "--into" in known:
        return f"--into {value or 'FOLDER'}"
    if word == "out" and "-o" in known:
        return f"-o {value or 'FILE'}"
    if (same := f"--{word}") in known:  # with one dash
        return f"{same} {value}" if value and not known[same].is_flag else same
    return OPTIONS.get(word)
