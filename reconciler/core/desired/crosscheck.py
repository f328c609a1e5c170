"""The checks that need several entries, defaults or settings to see a mistake: one function each.

Each takes every declared entity in file order and yields problems; none knows of the others. A new
rule is one function and one line in CHECKS. One that compares entities needs a line in `partition.py` too:
some of them may be cached, and then only the others are checked.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b

from msgspec import Struct

from reconciler.core.compare.diff import is_ignored_path
from reconciler.core.compare.identity import appearance_of, identity_key, identity_of, similarity_notice
from reconciler.core.rules import Rules
from reconciler.core.runs.ticket import PREFIX, is_ticket_name
from reconciler.core.suggest import did_you_mean
from reconciler.core.text import fold_case
from reconciler.errors import Problem
from reconciler.model import address
from reconciler.model.address import Address
from reconciler.model.documents import Document, Place
from reconciler.model.kind import Key
from reconciler.model.kinds import DEVICE, KINDS
from reconciler.model.notices import Notice
from reconciler.model.snapshots import Entity

# What the service takes for imports and bulk messages (docs/service.md, resources); public is free.
PRIVATE_TYPES = ("text/csv", "application/json", "application/xml")
_CUSTOM = "custom."
_OPTIONS = "messagingOptions."


class Declared(Struct, frozen=True):
    """An entity with the document it was made of. `marked`: the author wrote the mark's field.

    `owner` is the contact of a device. `defaults` are the places of the file's default fields, `hidden` those
    of values that no message shows, with the variables that they came from. `edges` are the values that were
    written with blanks at their edges, as they were written. `claims` are digests of what no other entity may
    have (`digest_claims`): where two are equal, the texts may differ.
    """

    entity: Entity
    document: Document
    marked: bool = False
    owner: "Declared | None" = None
    defaults: Mapping[str, Place] = {}
    hidden: Mapping[Place, tuple[str, ...]] = {}
    edges: Mapping[str, str] = {}
    claims: tuple[int, ...] = ()

    def place(self, path: str = "") -> Place:
        """Return the place of a field's key, or of the entry where the field came from elsewhere."""
        return self.document.places.get(path, self.document.place)

    def source(self, path: str) -> tuple[Place, bool]:
        """Return where the text of a field stands, and whether it stands there for several entities."""
        origin = self.document.origin
        if origin is not None and path in origin.templates and path not in origin.columns:
            return origin.templates[path], True
        if path not in self.document.fields and path in self.defaults:
            return self.defaults[path], True
        return self.place(path), False

    def column(self, path: str) -> str:
        """Return the title of the roster's column that a field comes from, or ""."""
        origin = self.document.origin
        return origin.columns.get(path, ("",))[0] if origin is not None else ""

    def hides(self, path: str) -> bool:
        """Whether no message may show the text of a field."""
        return bool(self.hidden) and self.source(path)[0] in self.hidden

    def problem(self, path: str, what: str, hint: str, code: str) -> Problem:
        """Return the problem of a field, or of the whole entry for ""."""
        return self.place(path).problem(f"{self.entity.address}: {what}", hint, code)


class DeclaredEntities(Struct, frozen=True):
    """Everything that is declared, in file order, and the first entity of each address.

    `alike` are those that share a claim with another one, in the same order; `unfit` the
    places of values that are a mistake of their own.
    """

    every: tuple[Declared, ...]
    first: Mapping[Address, Declared]
    alike: tuple[Declared, ...] = ()
    unfit: frozenset[Place] = frozenset()

    def values(self) -> tuple[Declared, ...]:
        """Return every entity, also those whose address is taken: their fields are checked too."""
        return self.every


CrossCheck = Callable[[DeclaredEntities, Rules], Iterator[Problem]]


def check_required(group: DeclaredEntities, _rules: Rules) -> Iterator[Problem]:
    """Every field without which the service takes no such entity is there, defaults included.

    All but secrets that a read may show: whether one is needed depends on what is live
    (core/planning/skips.py).
    """
    for one in group.values():
        kind = KINDS[one.document.kind]
        fields = one.entity.fields
        for path in kind.required:
            if path in kind.needed_to_create and path not in fields:
                continue
            if not fields.get(path) and not one.document.unsure(path):
                state = "empty" if path in fields else "missing"
                hint = f"give it a value here or under `defaults: {kind.plural}:`"
                if kind.by_name[path].own:
                    hint = "give it a value"
                yield one.problem(path, f"{path} is {state}; every {kind.name} needs it.", hint, code="E202")


def check_identified(group: DeclaredEntities, rules: Rules) -> Iterator[Problem]:
    """Every entity has a field by which it can be found again, even if somebody edits it meanwhile."""
    keys = {kind: rules.identity.of(kind) for kind in KINDS}
    for one in group.values():
        kind, fields = one.document.kind, one.entity.fields
        if any(
            all(fields.get(path) and not is_ignored_path(one.entity, path) for path in key)
            for key in keys[kind]
        ):
            continue
        needed = [path for key in keys[kind] for path in key]
        if any(one.document.unsure(path) and path not in one.entity.unset_paths for path in needed):
            continue  # said already
        unset = one.entity.unset_paths
        hidden = [p for p in needed if (fields.get(p) or p in unset) and is_ignored_path(one.entity, p)]
        if hidden:
            what = f"meta.ignore names {hidden[0]}, which identifies the {kind}."
            hint = (
                "remove it from `ignore`: after an edit at the service, the entity would be created "
                "a second time"
            )
            yield one.problem(hidden[0], what, hint, code="E302")
            continue
        if set(needed) <= {*KINDS[kind].required} - {*KINDS[kind].needed_to_create}:
            continue  # said already
        which = f"{' and '.join(needed)} are" if KINDS[kind].together else f"{' or '.join(needed)} is"
        hint = f"add it, or change `identity` in the settings; a {kind} without it cannot be found again"
        yield one.problem("", f"{which} needed to identify the {kind}.", hint, code="E301")


def unique_keys(rules: Rules) -> Mapping[str, tuple[Key, ...]]:
    """Return the fields that identify an entity, by kind: the values of each key must be unique."""
    return {
        # The service takes two resources of one name; we do not, whatever the settings call the identity
        # (docs/service.md, resources).
        name: tuple(
            dict.fromkeys((*rules.identity.of(name), *((kind.identity_path(path),) for path in kind.unique)))
        )
        for name, kind in KINDS.items()
    }


def list_identities(
    entity: Entity, keys: Mapping[str, tuple[Key, ...]]
) -> Iterator[tuple[Key, tuple[str, ...]]]:
    """Yield each key of an entity with what no other may have: what it belongs to, key, values."""
    where = entity.address.rpartition("/")[0]
    for key in keys[entity.address.kind]:
        values = identity_of(key, entity.fields)
        if values is not None:
            yield key, (where, *key, *values)


def list_appearances(
    entity: Entity, keys: Mapping[str, tuple[Key, ...]]
) -> Iterator[tuple[Key, tuple[str, ...]]]:
    """Yield each key of an entity with what it looks like: the same for any two that are one, and more."""
    where = entity.address.rpartition("/")[0]
    for key in keys[entity.address.kind]:
        values = appearance_of(key, entity.fields)
        if values is not None:
            yield key, (where, *key, *values)


def digest_claims(entity: Entity, keys: Mapping[str, tuple[Key, ...]]) -> tuple[int, ...]:
    """Return digests of what no other entity may have: what its identities look like, and its push token."""
    claims = [appearance for _, appearance in list_appearances(entity, keys)]
    token = push_token_of(entity)
    if token is not None:
        claims.append(token)
    return tuple(map(_digest_claim, claims))


def _digest_claim(claim: tuple[str, ...]) -> int:
    return int.from_bytes(blake2b("\0".join(claim).encode(), digest_size=_CLAIM_BYTES).digest())


_CLAIM_BYTES = 8  # of a million identities, two have one digest by chance once in 37 million projects


def find_alike(every: Sequence[Declared]) -> tuple[Declared, ...]:
    """Return the entities that share a claim with another one, in their order.

    Two of one identity are among them, because what is the same looks the same.
    """
    seen: dict[int, int] = {}
    alike: set[int] = set()
    for number, one in enumerate(every):
        for claim in one.claims:
            first = seen.setdefault(claim, number)
            if first != number:
                alike.update((first, number))
    return tuple(every[number] for number in sorted(alike))


def check_unique(group: DeclaredEntities, rules: Rules) -> Iterator[Problem]:
    """No two entities of a scope have the same identity."""
    keys = unique_keys(rules)
    seen: dict[tuple[str, ...], Declared] = {}
    for one in group.alike:
        entity = one.entity
        for key, same in list_identities(entity, keys):
            first = seen.setdefault(same, one)
            if first is one or first.entity.address == entity.address:
                continue  # said already
            # "n/a" in a column of addresses is one mistake in each row, and not one person in all of them.
            if group.unfit.isdisjoint(map(one.place, key)):
                names = f"{' and '.join(key)} {'is' if len(key) == 1 else 'are'}"
                what = f"{names} the same as in {first.entity.address}, {first.place(key[0])}."
                hint = "correct one of them, or choose other fields in `identity` of the settings"
                yield one.problem(key[0], what, hint, code="E303")


def similar_declared_notices(group: DeclaredEntities, rules: Rules) -> Iterator[Notice]:
    """Yield a warning for each entity whose identity only looks like that of an earlier one.

    No value is shown: what looks like another one tells nothing more in a message.
    """
    keys = unique_keys(rules)
    seen: dict[tuple[str, ...], Declared] = {}
    for one in group.alike:
        entity = one.entity
        for key, appearance in list_appearances(entity, keys):
            if not KINDS[entity.address.kind].secret.isdisjoint(key):
                continue
            first = seen.setdefault(appearance, one)
            if first is one or first.entity.address == entity.address:
                continue
            if identity_of(key, first.entity.fields) != identity_of(key, entity.fields):
                other = f"{first.entity.address}, {first.place(key[0])}"
                yield similarity_notice(entity.address, key, other, one.place(key[0]))


def check_device_limit(group: DeclaredEntities, rules: Rules) -> Iterator[Problem]:
    """No contact has more devices of one app than the service allows."""
    counts: dict[tuple[int, str], int] = {}
    for one in group.values():
        app = one.entity.fields.get("appId", "")
        if one.document.kind != DEVICE.name or not app:
            continue
        where = (id(one.owner), identity_key("appId", app))
        counts[where] = counts.get(where, 0) + 1
        if counts[where] > rules.device_limit:
            what = f"this is device {counts[where]} of one app; a contact may have {rules.device_limit}."
            hint = "remove one, or raise `check_device_limit` in the settings if the app allows more"
            yield one.problem("", what, hint, code="E305")


def push_token_of(entity: Entity) -> tuple[str, str] | None:
    """Return the workspace and the push token of a device that has one."""
    token, address = entity.fields.get("pushToken", ""), entity.address
    if address.kind != DEVICE.name or not token:
        return None
    return address.workspace, identity_key("pushToken", token)


def check_push_tokens(group: DeclaredEntities, _rules: Rules) -> Iterator[Problem]:
    """No push token stands under two contacts of a workspace: pushes to either would reach one phone."""
    seen: dict[tuple[str, str], Declared] = {}
    for one in group.values():
        token, address = push_token_of(one.entity), one.entity.address
        if token is None:
            continue
        first = seen.setdefault(token, one)
        if first.entity.address.parent != address.parent:
            # The token itself is a secret: it is never shown.
            what = f"pushToken is the same as in {first.entity.address}, {first.place('pushToken')}."
            hint = "a phone belongs to one contact: remove one of the two devices"
            yield one.problem("pushToken", what, hint, code="E304")


def check_messaging_options(group: DeclaredEntities, _rules: Rules) -> Iterator[Problem]:
    """Messaging options name fields that the contact has."""
    for one in group.values():
        fields = one.entity.fields
        for path, value in fields.items():
            if not path.startswith(_OPTIONS) or not value or value is True:
                continue
            text = str(value)
            # `WorkMobilePhone1`, as the service spells it (docs/service.md, contacts).
            named = text[:1].lower() + text[1:]
            if not fields.get(named) and not one.document.unsure(named):
                there = [name[:1].upper() + name[1:] for name in fields if "." not in name and fields[name]]
                hint = did_you_mean("word", text, there, f"declare {named}, or name another field")
                what = f"{path} names {text}, which this contact does not declare."
                yield one.problem(path, what, hint, code="E306")


def check_custom_fields(group: DeclaredEntities, rules: Rules) -> Iterator[Problem]:
    """Custom fields are named without the search's prefix, and the mark is ours alone."""
    for one in group.values():
        if one.marked:
            what = f"{rules.mark_path} is the ownership mark, which this program writes."
            hint = "remove it here, or change `ownership` in the settings"
            yield one.problem(rules.mark_path, what, hint, code="E307")
        for path in one.document.fields:
            if path.startswith("custom.custom_"):
                right = path.removeprefix("custom.custom_")
                what = f"{path} has the prefix custom_, which only searches use."
                yield one.problem(path, what, f"write {right}", code="E308")


def check_renames(group: DeclaredEntities, _rules: Rules) -> Iterator[Problem]:
    """A former name is not in use any more, and only one entity claims it."""
    claimed: dict[Address, Declared] = {}
    for one in group.values():
        old = one.document.controls.renamed_from
        if not old:
            continue
        now = one.entity.address
        before = sibling_address(one.document, now.workspace, old)
        first = claimed.setdefault(before, one)
        if before == now:
            hint = "write the earlier name, or remove it"
            yield one.problem("", "meta.renamedFrom is the entry's own name.", hint, code="E309")
        elif before in group.first:
            what = f"meta.renamedFrom: {before} is still declared, {group.first[before].place()}."
            yield one.problem("", what, "remove the old entry, or this line", code="E309")
        elif first is not one:
            what = f"meta.renamedFrom: {first.entity.address} was {before} too, {first.place()}."
            hint = "only one entry can have this former name; keep one of the lines"
            yield one.problem("", what, hint, code="E309")


def check_spellings(group: DeclaredEntities, _rules: Rules) -> Iterator[Problem]:
    """Values that the service knows by a few words are one of them, also when a cell says them."""
    for one in group.values():
        # Cells of a roster do not pass through the schema, which holds the same words for files.
        for path, words in KINDS[one.document.kind].folds.items():
            value = one.entity.fields.get(path)
            if value == "" and path in KINDS[one.document.kind].required:
                continue  # said already
            if value is not None and fold_case(str(value)) not in words:
                known = ", ".join(dict.fromkeys(words.values()))
                yield one.problem(path, f"{path} must be one of {known}.", "correct the value", code="E204")


def check_media_types(group: DeclaredEntities, _rules: Rules) -> Iterator[Problem]:
    """A private resource has one of the types that the service takes there."""
    for one in group.values():
        fields = one.entity.fields if KINDS[one.document.kind].content else {}
        media = fields.get("mimeType")
        if fields.get("scope") == "private" and media and media not in PRIVATE_TYPES:
            what = f"mimeType {media} is not possible with scope private."
            hint = f"use one of {', '.join(PRIVATE_TYPES)}, or scope public"
            yield one.problem("mimeType", what, hint, code="E313")


def check_lock_names(group: DeclaredEntities, _rules: Rules) -> Iterator[Problem]:
    """No resource has a name that belongs to the lock in the service."""
    for one in group.values():
        if KINDS[one.document.kind].tickets and is_ticket_name(one.entity.fields.get("name")):
            what = f"names that begin with {PREFIX} are reserved for the lock that runs keep in the service."
            yield one.problem("name", what, "give the resource another name", code="E314")


CHECKS: tuple[CrossCheck, ...] = (
    check_required,  # docs/service.md, devices and resources: all of these, or 422
    check_identified,  # rule M2: after a lost store it would be made a second time
    check_unique,  # rule M2, which would take two of them for one
    check_device_limit,  # docs/service.md, devices: 3 of one app by default, 10 at most
    check_push_tokens,  # docs/planning.md, S: pushes to either would reach one phone
    check_messaging_options,  # docs/service.md, contacts: an option names a field
    check_custom_fields,  # rule X5; docs/service.md, lists: `custom_<name>` is a query
    check_renames,  # rule M6: a record is carried to one name
    check_spellings,  # docs/service.md, devices and resources
    check_media_types,  # docs/service.md, resources: 422 for another type
    check_lock_names,  # core/runs/ticket.py: a run removes tickets that it takes for dead
)


def sibling_address(document: Document, workspace: str, name: str) -> Address:
    """Return the address of `name` beside `document`: same kind, same parent."""
    return address.make_address(document.kind, workspace, name, parent=document.parent)
