"""Fixed worlds for crash points and interleavings: what is there, what was applied, what is wanted now."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from msgspec import structs
from simulation.modelservice import SIDS, Switches
from simulation.oracle import flat, natural
from simulation.people import desire, person, phone, upload
from simulation.story import ground, template
from simulation.universe import Universe

from reconciler.model.documents import Controls
from reconciler.model.snapshots import Desired

Live = list[tuple[Any, ...]]
AT_ONCE = (2, 2, 3, 3, 4, 5, 8)  # runs side by side, one of these drawn: most accidents are of two or three


@dataclass(frozen=True, slots=True)
class Scenario:
    """`there` are people made by hand, `first` is applied without trouble, `wanted` is what it is about."""

    wanted: Desired
    first: Desired | None = None
    there: tuple[str, ...] = ()
    switches: Switches = field(default_factory=Switches)


_MIXED = desire(person("ann"), phone("ann"), person("ben", jobTitle="Porter"), person("cas"), upload("rota"))
_STAFF = desire(person("ann"), person("ben"), person("cas"), person("dot"), person("eve"))
_LEFT = desire(person("ann"), person("ben"), person("cas"))
_RENAMED = structs.replace(
    person("benjamin", workEmailAddress1="ben@example.com", jobTitle="Clerk"),
    controls=Controls(renamed_from="ben"),
)

SCENARIOS: Mapping[str, Scenario] = {
    "one create": Scenario(desire(person("ann"))),
    "creates with devices": Scenario(
        desire(person("ann"), phone("ann"), phone("ann", "tab"), person("ben"), upload("rota"))
    ),
    "updates": Scenario(
        desire(
            person("ann", jobTitle="Nurse"),
            phone("ann", deviceModel="Pixel 9"),
            person("ben", department="Day"),
        ),
        first=desire(person("ann"), phone("ann"), person("ben")),
    ),
    "deletes": Scenario(_LEFT, first=_STAFF),
    "mixed": Scenario(
        desire(person("ann", jobTitle="Nurse"), person("ben"), person("dot"), phone("dot"), upload("sites")),
        first=_MIXED,
    ),
    "adoption": Scenario(
        desire(person("ann"), person("ben", jobTitle="Clerk"), person("cas")), there=("ann", "ben")
    ),
    "rename": Scenario(desire(person("ann"), _RENAMED), first=desire(person("ann"), person("ben"))),
    "answers without bodies": Scenario(
        desire(person("ann", custom__shoeSize="38"), phone("ann")),
        switches=Switches(created="location", replaced="blank", lag_s=2.0, counted=False),
    ),
}


@contextmanager
def world(scenario: Scenario, *, seed: int = 1, concurrency: int = 2) -> Iterator[Universe]:
    """The scenario's world, right before the run that it is about."""
    with ground() as folder:
        universe = Universe(seed, folder, template(), switches=scenario.switches, concurrency=concurrency)
        try:
            for name in scenario.there:
                body = {"firstName": name, "lastName": "Was", "workEmailAddress1": f"{name}@example.com"}
                universe.oracle.edited(universe.model.create("contact", SIDS["ops"], body))
            if scenario.first is not None:
                assert universe.go(scenario.first).word == "done"
            universe.loop.run(universe.pass_s(60))
            yield universe
        finally:
            universe.close()


def live(universe: Universe) -> Live:
    """Everything at the service, without what differs from one making to the next."""
    mails = {row.id: row.body.get("workEmailAddress1", "") for row in universe.model.rows.values()}
    return sorted(
        (
            row.kind,
            row.workspace,
            *natural(row.kind, row.body, str(mails.get(row.parent, ""))),
            sorted((path, str(value)) for path, value in flat(row.body).items()),
        )
        for row in universe.model.rows.values()
    )
