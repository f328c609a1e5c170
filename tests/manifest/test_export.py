"""The text of exported manifests: it reads back as what it was made of, and old bytes stay."""

from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.export import Exported
from reconciler.manifest import export
from reconciler.manifest.export import append_entries
from reconciler.manifest.variables import ManifestVariables, substitute_variables
from reconciler.model.address import Address
from reconciler.model.snapshots import Scope
from reconciler.parsing.display import UNFIT_CHARACTERS
from reconciler.parsing.tree import read_tree

OPS = Scope("contact", "ops")
HEAD = "version: 1\nworkspace: ops\n"
OLD = f"{HEAD}\ncontacts:\n  # the boss\n  ann:\n    firstName: 'Ann'   # kept\n"

hostile = st.sampled_from(
    [
        "null",
        "~",
        "true",
        "1e3",
        "&a",
        "*a",
        "!!str x",
        "a: b",
        "a #b",
        "- a",
        "? a",
        "%TAG",
        "```",
        "a\n b\n",
        "${env:A}",
    ]
)


def entry(name: str) -> Exported:
    return Exported(Address(f"contact/ops/{name}"), "B2", {"firstName": "Bo", "custom.a.b": "x"})


@given(st.one_of(hostile, st.text(max_size=40)).filter(lambda text: not UNFIT_CHARACTERS.search(text)))
def test_a_value_reads_back_as_itself(text: str) -> None:
    """A name such as `null` or `${env:HOME}` is somebody's name, and nothing else."""
    tree = read_tree(f"key: {export.write_scalar(text)}\n".encode(), "a.yaml")
    assert substitute_variables(tree, ManifestVariables({}, ())).problems == ()
    assert tree.problems == ()
    assert tree.value == {"key": text}


def test_an_entry_is_added_behind_the_last_one() -> None:
    grown = append_entries(OLD.encode(), OPS, [entry("bo")])
    assert grown is not None
    assert grown.decode() == f"{OLD}  bo:\n    firstName: Bo\n    custom:\n      a.b: x\n"


def test_a_last_line_without_an_end_gets_one() -> None:
    grown = append_entries(OLD.rstrip("\n").encode(), OPS, [entry("bo")])
    assert grown is not None
    assert grown.startswith(OLD.encode())


def test_nothing_is_added_where_it_would_mean_something_else() -> None:
    """Defaults and tags of a file would become those of the new entries, and other forms are not ours."""
    others = {
        "defaults": f"{HEAD}defaults: {{contacts: {{jobTitle: x}}}}\ncontacts:\n  ann: {{firstName: Ann}}\n",
        "tags": f"{HEAD}tags: {{a: b}}\ncontacts:\n  ann: {{firstName: Ann}}\n",
        "flow": f"{HEAD}contacts: {{ann: {{firstName: Ann}}}}\n",
        "indent": f"{HEAD}contacts:\n    ann:\n        firstName: Ann\n",
        "order": f"{HEAD}contacts:\n  ann:\n    firstName: Ann\nresources: {{}}\n",
        "workspace": OLD.replace("ops", "lab"),
        "open text": f"{HEAD}contacts:\n  ann:\n    firstName: |\n      Ann\n\n",
        "marker": f"{OLD}...\n",
        "name": OLD.replace("ann", "bo"),
        "empty": f"{HEAD}contacts: {{}}\n",
        "broken": f"{HEAD}contacts: [\n",
    }
    made = {
        why for why, text in others.items() if append_entries(text.encode(), OPS, [entry("bo")]) is not None
    }
    assert made <= {"open text"}, made
