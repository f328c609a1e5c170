"""Which addresses a run is about: `--only` and `--except`, as a table of selector forms.

contact/ops/jane-doe      an address, or a glob of addresses: contact/ops/*
kind:device               a kind
workspace:ops             a workspace
tag:team=sre              a tag of the declared entity, the file's tags included
"""

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from itertools import takewhile

from msgspec import Struct, structs

from reconciler.core.compare.match import former_names
from reconciler.core.suggest import did_you_mean
from reconciler.errors import UnknownAddress
from reconciler.model.address import Address
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import Desired, Recorded, Scope

Tags = Mapping[str, str]


class Selection(Struct, frozen=True):
    """What to act on: everything that `only` names (all, when empty) and `excluded` does not."""

    only: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    def selects(self, address: Address, tags: Tags) -> bool:
        """Whether the run is about this address. `tags` are empty for what is no longer declared."""
        wanted = not self.only or any(_matches_selector(text, address, tags) for text in self.only)
        # Exceptions win (docs/planning.md, Selection): who holds something back has to be able to rely on it.
        return wanted and not any(_matches_selector(text, address, tags) for text in self.excluded)


EVERYTHING = Selection()


def check_selection(
    selection: Selection, addresses: Mapping[Address, Tags], unknown: Collection[Scope] = ()
) -> None:
    """Raise UnknownAddress for the first selector that names nothing in `addresses`.

    Nothing is known of the scopes in `unknown`, so a selector that may name something there is none.
    A selector with a typing mistake would otherwise silently select nothing, or exclude nothing.
    """
    for text in (*selection.only, *selection.excluded):
        if _selector_form(text) is None:
            otherwise = "write an address, a glob (contact/ops/*), kind:device, workspace:ops or tag:team=sre"
            raise UnknownAddress(
                f"{text!r} is not a selector.",
                next=did_you_mean(
                    _suggestion_topic(text), text, _possible_selectors(text, addresses), otherwise
                ),
            )
        if any(_may_match(text, scope.kind, scope.workspace) for scope in unknown):
            continue
        if not any(_matches_selector(text, address, tags) for address, tags in addresses.items()):
            otherwise = "compare it with the addresses in `reconciler plan --full`"
            raise UnknownAddress(
                f"{text!r} selects nothing that is declared or recorded.",
                next=did_you_mean(
                    _suggestion_topic(text), text, _possible_selectors(text, addresses), otherwise
                ),
            )


def find_selected_workspaces(selection: Selection) -> frozenset[str]:
    """Return the only workspaces in which anything may be selected; none where it may be any of them."""
    names = [_named_workspace(text) for text in selection.only]
    return frozenset(names) if all(names) else frozenset()


def _named_workspace(text: str) -> str:
    """Return the workspace that a selector is about, or "" where it may be any."""
    if _selector_form(text) == "workspace":
        return text.partition(":")[2]
    kind, slash, rest = text.partition("/")
    name = rest.partition("/")[0]
    plain = _selector_form(text) == "address" and slash and not set(f"{kind}{name}") & set("*?[")
    # A glob reaches over slashes, so what stands before one is written out only behind a slash of its own.
    return name if plain and "/" in rest else ""


def may_select(selection: Selection, kind: str, workspace: str) -> bool:
    """Whether anything of a kind and workspace may be selected; true where that is not certain."""
    if any(one in (f"kind:{kind}", f"workspace:{workspace}") for one in selection.excluded):
        return False
    return not selection.only or any(_may_match(text, kind, workspace) for text in selection.only)


def _may_match(text: str, kind: str, workspace: str) -> bool:
    _, _, rest = text.partition(":")
    match _selector_form(text):
        case "kind":
            return rest == kind
        case "workspace":
            return rest == workspace
        case "address":
            # A glob reaches over slashes, so only names that are written out before one narrow anything.
            plain = takewhile(lambda part: not set(part) & set("*?["), text.split("/"))
            return all(part == name for part, name in zip(plain, (kind, workspace), strict=False))
        case form:
            return form == "tag"


def narrow_snapshots(selection: Selection, desired: Desired, recorded: Recorded) -> tuple[Desired, Recorded]:
    """Return the part of both that has to be read for this selection: what it takes, and contacts above."""
    if not (selection.only or selection.excluded):
        return desired, recorded
    chosen = {a for a, tags in list_addresses(desired, recorded).items() if selection.selects(a, tags)}
    # No list of devices is known: they are read from the document of their contact (docs/service.md,
    # devices).
    chosen |= {address.above for address in chosen if address.above}
    scopes = {Scope.of(address) for address in chosen}
    entities = {a: e for a, e in desired.entities.items() if a in chosen}
    # What was renamed is live under its old name: unread, it would be taken for gone and made twice.
    chosen |= set(former_names(entities.values()).values())
    records = {a: r for a, r in recorded.entities.items() if a in chosen}
    return structs.replace(desired, entities=entities, scopes=desired.scopes & scopes), structs.replace(
        recorded, entities=records
    )


def list_addresses(desired: Desired, recorded: Recorded) -> dict[Address, Tags]:
    """Return every address that is declared, removed or recorded; with its tags where it is declared."""
    nothing: Tags = {}
    # No tags for what left the manifest, so that a tag never selects a delete (docs/planning.md, Selection).
    return {
        **dict.fromkeys(desired.removed, nothing),  # known to the author, whether this store knows it or not
        **dict.fromkeys(recorded.entities, nothing),
        **{address: entity.controls.tags for address, entity in desired.entities.items()},
    }


def _possible_selectors(wrong: str, addresses: Mapping[Address, Tags]) -> set[str]:
    """Return the selectors of the form of a wrong one that would select something."""
    head, colon, _ = wrong.partition(":")
    if colon and head == "tag":
        return {f"tag:{key}={value}" for tags in addresses.values() for key, value in tags.items()}
    if colon:
        return {f"kind:{one.kind}" for one in addresses} | {f"workspace:{one.workspace}" for one in addresses}
    return set(map(str, addresses))


def _suggestion_topic(wrong: str) -> str:
    return "kind" if wrong.startswith("kind:") else "entity"


def _selector_form(text: str) -> str | None:
    head, colon, rest = text.partition(":")
    # A word that begins no address is a mistake in typing: as an exception it would hold nothing back.
    if not colon:
        return "address" if text.partition("/")[0].rstrip("*?") in {*KINDS, ""} or "*" in text else None
    if head == "tag":
        return "tag" if rest.partition("=")[0] and "=" in rest else None
    return head if rest and head in {"kind", "workspace"} else None


def _matches_selector(text: str, address: Address, tags: Tags) -> bool:
    _, _, rest = text.partition(":")
    match _selector_form(text):
        case "kind":
            return address.kind == rest
        case "workspace":
            return address.workspace == rest
        case "tag":
            key, _, value = rest.partition("=")
            return tags.get(key) == value
        case "address":
            # `fnmatch` would heed letter case or not, as the machine's file system does.
            return fnmatchcase(address, text)
        case _:
            return False
