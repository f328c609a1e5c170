"""`reconciler demo` at work: the whole story with the real commands against a sandbox of its own."""

import re

from reconciler.cli.console import output
from reconciler.cli.verbs.service.demo.stage import Stage, staged
from reconciler.errors import ReconcilerError


def demo() -> int:
    """Tell the story. Raises ReconcilerError at the first step that does not end as told."""
    with staged() as stage:
        Story(stage).tell()
    return 0


class Story:
    """The steps of the demo, in order. A step that does not end as told ends the demo."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._step = 0

    def tell(self) -> None:
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
            "Ada leaves manifests/team.yaml, so she leaves the service. Only what is ours is pruned."
        )
        whole = manifest.read_text(encoding="utf-8")
        manifest.write_text(without_entry(whole, "ada-king"), encoding="utf-8")
        smaller = manifest.read_text(encoding="utf-8")
        self._run("apply --yes")

        self._heading("By accident, all contacts vanish from the manifest. The guard refuses the plan:")
        emptied = without_entry(without_entry(smaller, "jane-doe"), "sam-lee")
        manifest.write_text(emptied.replace("\ncontacts:\n", "\ncontacts: {}\n"), encoding="utf-8")
        self._run("apply --yes", ends_with=7)
        manifest.write_text(smaller, encoding="utf-8")
        self._heading("With the manifest back there is nothing to do: nothing had been deleted.")
        self._run("plan --detailed-exitcode")
        output.data(
            "\nThat was all of it: planned, applied, nothing left, drift seen and repaired, pruned, and a\n"
            "dangerous plan refused. The sandbox has been stopped, the folder is gone.\n"
            "  next: README.md, a first project of your own; `reconciler --help`; `reconciler sandbox`"
        )

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


def without_entry(text: str, name: str) -> str:
    """Return a manifest without the entry of that name: its line and all lines that are indented below it."""
    shorter, count = re.subn(rf"^  {re.escape(name)}:\n(?:(?:   .*)?\n)*", "", text, flags=re.MULTILINE)
    if count != 1:
        raise ReconcilerError(f"the example holds no entry {name}.", next="install reconciler again")
    return shorter
