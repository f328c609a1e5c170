"""Search and filters: what the script shows and hides by. Without a script they are not there.

Belongs here: the controls, and what there is to choose from. Not here: what choosing does (page.js).
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from reconciler.report.html.markup import Html, joined, text


class FilterChoice(Struct, frozen=True):
    """A field to choose from: its name for the script, its label, and its values in order."""

    name: str
    label: str
    values: tuple[str, ...]


def controls(
    parts: Sequence[tuple[str, str, int]],
    choices: Iterable[FilterChoice],
    total: int,
    *,
    example: str = "Name, field or value",
    folds: bool = True,
) -> Html:
    """Return the form. `parts` are the sections: their id, title, and number of entries.

    `example` says what there is to search for, and `folds` whether an entry has fields that can be folded.
    """
    fields = "<label class=all><input id=all type=checkbox> Every field</label>" if folds else ""
    boxes = "".join(_box(name, title, number) for name, title, number in parts) if len(parts) > 1 else ""
    shown = f"<fieldset><legend>Show</legend>{boxes}</fieldset>" if boxes else ""
    return Html(
        "<form id=controls role=search hidden aria-label='Search and filters'>"
        "<label class=find><span>Search</span>"
        "<input id=find type=search autocomplete=off spellcheck=false "
        f'placeholder="{text(example)}"></label>'
        f"{joined(map(_select, choices))}{fields}"
        "<button type=reset>Reset</button>"
        f"<output id=shown for=find>{total:,} of {total:,}</output>{shown}</form>"
    )


def _box(name: str, title: str, number: int) -> Html:
    return Html(
        f'<label class="{text(name)}"><input type=checkbox name=part value="{text(name)}" checked> '
        f"{text(title)} <small>{number:,}</small></label>"
    )


def _select(choice: FilterChoice) -> Html:
    if len(choice.values) <= 1:
        return Html("")
    options = "".join(f'<option value="{text(one)}">{text(one)}</option>' for one in choice.values)
    return Html(
        f'<label class=choice><span>{text(choice.label)}</span><select name="{text(choice.name)}">'
        f"<option value=''>all</option>{options}</select></label>"
    )
