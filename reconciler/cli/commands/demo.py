"""`reconciler demo`: the whole story with the real commands against a sandbox of its own."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.console import output
from reconciler.cli.dispatch import prints_result
from reconciler.errors import ReconcilerError

if TYPE_CHECKING:
    from reconciler.cli.demo_stage import Stage


@click.command()
@click.option(
    "--automation",
    is_flag=True,
    help="Show a git repository that is followed: sync, drift, an approval by message, status. Needs git.",
)
@click.option(
    "--keep",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Leave the project, and the status pages of --automation, in FOLDER. It must not exist.",
)
@prints_result
def command(*, automation: bool, keep: Path | None) -> int:
    """See the program at work in half a minute, offline: plan, apply, drift, repair, prune, and a refusal.

    The command starts a sandbox on a free port of this machine, and runs the real commands in a temporary
    folder. Nothing is sent to another machine, and the folder is removed at the end.

    With --automation the folder is a git repository, and `reconciler sync` follows it: it applies a commit,
    repairs drift, and asks a person before a delete. The person gets a message with a code, and approves with
    a reply.

    Writes a temporary folder, and FOLDER of --keep.

    Exit codes: 0 every step went as expected; 1 a step did not; 64 usage error; 130 interrupted.

    \b
    Examples:
        reconciler demo
        reconciler demo --automation --keep demo
    """
    from reconciler.cli.demo_stage import open_stage

    if keep is not None and keep.exists():
        raise click.UsageError(f"{keep} exists; --keep makes the folder.")
    with open_stage() as stage:
        (AutomationStory if automation else DemoStory)(stage).run()
        if keep is not None:
            stage.keep(keep)
            output.data(
                f"\nThe project is in {keep}." + (f" Open {keep}/status/index.html." if automation else "")
            )
    return 0


# --- The stories ------------------------------------------------------------------------------------------


class Story:
    """Steps in order. A step that does not end as told ends the demo."""

    def __init__(self, stage: "Stage") -> None:
        self._stage = stage
        self._step = 0

    def _heading(self, text: str) -> None:
        self._step += 1
        output.data(f"\n{self._step}. {text}")

    def _run(self, words: str, *, ends_with: int = 0) -> None:
        output.data(f"\n$ reconciler {words}")
        code = self._stage.run(*words.split())
        if code != ends_with:
            raise ReconcilerError(
                f"the demo did not go as expected: `reconciler {words}` ended with {code}, not {ends_with}.",
                next="run the demo again; if it ends here again, report what it printed",
            )


class DemoStory(Story):
    """A person plans and applies."""

    def run(self) -> None:
        """Run every step. Raises ReconcilerError at the first that does not end as told."""
        manifest = self._stage.manifest
        output.data(
            f"A sandbox of the service runs at {self._stage.address}. The folder holds examples/quickstart:\n"
            "three contacts, one of them with a device, and a resource, declared in manifests/team.yaml."
        )
        self._heading("What would be done? A plan reads, and writes nothing.")
        self._run("plan")
        self._heading("Do it.")
        self._run("apply --yes")
        self._heading("A second run has nothing to do.")
        self._run("plan --detailed-exitcode")

        self._heading("A colleague gives Jane another job title, in the service itself. We notice:")
        self._stage.change_job_title("jane.doe@example.com", "Night Watch")
        self._run("drift", ends_with=2)
        self._heading("The manifest says Engineer, so apply repairs it.")
        self._run("apply --yes")

        self._heading(
            "Ada is removed from manifests/team.yaml, so apply deletes her. Only owned entities are deleted."
        )
        whole = manifest.read_text(encoding="utf-8")
        manifest.write_text(remove_entry(whole, "ada-king"), encoding="utf-8")
        smaller = manifest.read_text(encoding="utf-8")
        self._run("apply --yes")

        self._heading("By accident, all contacts vanish from the manifest. The guard refuses the plan:")
        emptied = remove_entry(remove_entry(smaller, "jane-doe"), "sam-lee")
        manifest.write_text(emptied.replace("\ncontacts:\n", "\ncontacts: {}\n"), encoding="utf-8")
        self._run("apply --yes", ends_with=7)
        manifest.write_text(smaller, encoding="utf-8")
        self._heading("With the manifest restored there is nothing to do: nothing was deleted.")
        self._run("plan --detailed-exitcode")
        output.data(
            "\nDone: planned, applied, nothing left to do, drift found and repaired, a contact\n"
            "deleted, and a dangerous plan refused. The sandbox is stopped, and the folder is removed.\n"
            "  next: README.md, a first project of your own; `reconciler --help`; `reconciler sandbox`"
        )


_POLICY = """
policy:
  mode: apply              # apply what a commit says,
  drift: repair            # set back what others change,
  ask_when: {deletes: true}  # and ask before anything is deleted
  approvers:
    sam: {phone: "+61491570157"}
  callback: approvals
"""
_SAM = "+61491570157"
_CODE = re.compile(r"YES ([0-9A-Z]{10})")


class AutomationStory(Story):
    """A repository is followed; people are asked where the policy says so."""

    def run(self) -> None:
        """Run every step. Raises ReconcilerError at the first that does not end as told."""
        stage = self._stage
        settings = stage.folder / "reconciler.yaml"
        settings.write_text(settings.read_text(encoding="utf-8") + _POLICY, encoding="utf-8")
        (stage.folder / ".gitignore").write_text(".reconciler/\n", encoding="utf-8")
        commit = stage.commit("Declare the people on call")
        output.data(
            f"A sandbox of the service runs at {stage.address}. The folder is a git repository with the\n"
            f"manifests of examples/quickstart, at commit {commit}. Its settings say what sync may do:\n"
            f"{_POLICY}"
        )
        self._heading("A timer calls sync. What the commit declares is applied, without a person.")
        self._run("sync")
        self._heading("It is called again, as often as you like. There is nothing to do.")
        self._run("sync")

        self._heading("A colleague gives Jane another job title, in the service itself. sync repairs it.")
        stage.change_job_title("jane.doe@example.com", "Night Watch")
        self._run("sync")

        self._heading("Replies to questions come to this machine, and are counted.")
        output.data("\n$ reconciler callbacks listen --key-env CALLBACK_KEY | reconciler approvals take &")
        with stage.counting_replies():
            here = f"http://127.0.0.1:{stage.replies_port}/"
            self._run(f"callbacks create approvals {here} --key-env CALLBACK_KEY")
            self._ask_before_a_delete()
        self._heading("The plan is approved, once. The next sync applies exactly this plan.")
        self._run("sync")
        self._heading("How does it stand? The store alone says it, as pages and as metrics too.")
        self._run("status --report html=status")
        output.data(
            "\nDone: a commit applied, drift repaired, a delete that waited for a reply, and a status page.\n"
            "  next: docs/automation.md; reconciler demo --automation --keep FOLDER leaves the pages for you"
        )

    def _ask_before_a_delete(self) -> None:
        stage = self._stage
        self._heading("A commit removes Ada. That is a delete, so sync asks Sam, and waits (exit code 9).")
        whole = stage.manifest.read_text(encoding="utf-8")
        stage.manifest.write_text(remove_entry(whole, "ada-king"), encoding="utf-8")
        stage.commit("Ada leaves the rota")
        self._run("sync", ends_with=9)
        message, text = stage.read_newest_message()
        output.data("\nSam's phone shows:\n")
        output.data("\n".join(f"    {line}" for line in text.splitlines()))
        code = _CODE.search(text)
        if code is None:
            raise ReconcilerError("the message holds no code.", next="run the demo again")
        self._heading(
            "A wrong code under Sam's number does not count. Then Sam replies with the right one.\n"
        )
        stage.reply(message, _SAM, "YES 0123456789")
        stage.reply(message, _SAM, f"YES {code.group(1)}")


def remove_entry(text: str, name: str) -> str:
    """Return a manifest without the entry of that name: its line and all lines that are indented below it."""
    shorter, count = re.subn(rf"^  {re.escape(name)}:\n(?:(?:   .*)?\n)*", "", text, flags=re.MULTILINE)
    if count != 1:
        raise ReconcilerError(f"the example holds no entry {name}.", next="install reconciler again")
    return shorter
