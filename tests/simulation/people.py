"""What the simulation declares: few people, devices and files, whose names and fields meet often.

Values only. Built as `core/desired/resolve.py` would build them, without files, which would take longer than
a run.
"""

from random import Random

from msgspec import structs

from reconciler.model.address import Address, contact_address, device_address, resource_address
from reconciler.model.documents import Content, Controls, Fields, Place, Scalar
from reconciler.model.snapshots import Desired, Entity, Scope

NAMES = ("ann", "ben", "cas", "dot", "eve")
DEVICES = ("phone", "tab")
FILES = ("rota", "sites")
FIELDS: dict[str, tuple[Scalar, ...]] = {
    "jobTitle": ("Porter", "Nurse", "Clerk"),
    "department": ("Night", "Day"),
    "timezone": ("Australia/Melbourne", "Asia/Singapore"),
    "custom.shoeSize": ("38", "44"),
    "messagingOptions.sms.primary": ("WorkMobilePhone1",),
    "messagingOptions.sms.enabled": ("true", "false"),
    "workSuburb": ("Carlton", "Fitzroy", ""),
}


def person(name: str, workspace: str = "ops", *, mark: str = "", **more: Scalar) -> Entity:
    """A contact; dots in the names of `more` are written as two underscores."""
    fields: dict[str, Scalar] = {
        "firstName": name.title(),
        "lastName": "Doe",
        "workEmailAddress1": f"{name}@example.com",
        "workMobilePhone1": "+61491570156",
        "workCountry": "Australia",
        **{key.replace("__", "."): value for key, value in more.items()},
    }
    if mark:
        fields[f"custom.{mark}"] = f"test/{name}"
    made = entity(contact_address(workspace, name), fields)
    return structs.replace(made, devices_in_scope=True)


def phone(owner: str, name: str = "phone", workspace: str = "ops", **more: Scalar) -> Entity:
    """A device of that contact."""
    fields: dict[str, Scalar] = {
        "deviceName": name,
        "appId": "app-1",
        "platform": "GCM",
        "deviceOS": "Android",
        "deviceModel": "Pixel 8",
        "pushToken": f"token-of-{name}",
        **more,
    }
    return entity(device_address(workspace, owner, name), fields)


def upload(name: str, workspace: str = "ops", data: bytes = b"a,b\n1,2\n") -> Entity:
    """A file."""
    digest = f"sha256:{sum(data):064x}"
    fields: dict[str, Scalar] = {
        "name": f"{name}.csv",
        "scope": "private",
        "mimeType": "text/csv",
        "content": digest,
    }
    return structs.replace(entity(resource_address(workspace, name), fields), content=Content(data, digest))


def entity(address: Address, fields: Fields, controls: Controls | None = None) -> Entity:
    """What is declared at an address."""
    return Entity(address, fields, Place("people.yaml", 1), controls or Controls())


def desire(*entities: Entity, workspaces: tuple[str, ...] = ("ops",)) -> Desired:
    """All of it, with contacts and resources of these workspaces in scope."""
    scopes = frozenset(Scope(kind, alias) for kind in ("contact", "resource") for alias in workspaces)
    return Desired({one.address: one for one in entities}, scopes)


def drawn(chance: Random, *, mark: str = "", workspaces: tuple[str, ...] = ("ops",)) -> Desired:
    """A handful of everything."""
    found: list[Entity] = []
    for alias in workspaces:
        names = [name for name in NAMES if chance.random() < (0.7 if alias == "ops" else 0.3)]
        for name in names:
            more = {path: chance.choice(FIELDS[path]) for path in FIELDS if chance.random() < 0.35}
            more = {path.replace(".", "__"): value for path, value in more.items()}
            found.append(person(name, alias, mark=mark, **more))
            found += [
                phone(name, one, alias, deviceModel=chance.choice(("Pixel 8", "Pixel 9")))
                for one in DEVICES
                if chance.random() < 0.3
            ]
        found += [
            upload(name, alias, chance.choice((b"a\n1\n", b"a\n2\n")))
            for name in FILES
            if chance.random() < 0.3
        ]
    return desire(*found, workspaces=workspaces)
