"""Whether what a command applies is in the commit that it records: for jobs of CI, and for `sync`."""

from reconciler.cli.console import output
from reconciler.environment.checkout import Checkout
from reconciler.environment.run_context import UNCHECKED
from reconciler.errors import CommitUnreadable, NotCommitted
from reconciler.model.runs import Context
from reconciler.report.phrases import describe_input_differences


def require_committed(checkout: Checkout, because: str) -> None:
    """Raise NotCommitted where the files are not known to be in the recorded commit, and have to be."""
    if checkout.dirty:
        raise NotCommitted(
            f"{because}, and the files differ from commit "
            f"{checkout.commit}: {describe_input_differences(checkout.differences)}. Nothing was sent.",
            next="commit the files, or remove files that an earlier job left behind; if this job "
            "generates them, list them under commit.generated in the settings; to apply anyway: "
            "--allow-dirty",
        )
    if checkout.unborn:
        raise NotCommitted(
            f"{because}, and the files are in no commit: the branch "
            "that is checked out has no commit yet. Nothing was sent.",
            next="commit the files, or check out the commit to apply; to apply anyway: --allow-dirty",
        )
    if checkout.unreadable:
        raise CommitUnreadable(
            f"{because}, and the files cannot be compared with a "
            f"commit: the repository cannot be read: {checkout.reason}. Nothing was sent.",
            next="clone again in git's default format (git clone --ref-format=files); to apply the files "
            "without a comparison: --allow-dirty",
        )


def note_unchecked(checkout: Checkout, context: Context) -> None:
    """Say that nothing was compared with the commit that is recorded, where that is so."""
    if context.commit.endswith(UNCHECKED):
        commit = context.commit.removesuffix(UNCHECKED)
        output.note(
            f"no commit can be read here ({checkout.reason}), so the files were not compared with "
            f"commit {commit}.\n"
            "  next: check that the checkout is complete; if another user owns it: git config --global --add "
            "safe.directory FOLDER"
        )
