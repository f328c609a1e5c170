from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from clock import Clock
from growth import RATIO_MAX, ratio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs
from store.remembering import store_of
from store.support import JANE, ORIGIN, SAM, WORKSPACES, observed, pool_of, record, store_at

from reconciler.errors import CorruptRecord
from reconciler.model.address import Address, contact_address, device_address
from reconciler.model.plans import Workspace
from reconciler.model.snapshots import Recorded, RecordedEntity
from reconciler.store import sealed_tables
from reconciler.store.adapter import Connection, Observer
from reconciler.store.database import Store
from reconciler.store.records import Batch, RecordsMoved
from reconciler.store.schema import ENTITIES
from reconciler.store.sealed_tables import Owner


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with store_of(store_url) as opened:
        yield opened


def test_what_is_remembered_is_there_after_the_store_was_closed(store_url: str) -> None:
    odd: dict[str, str | bool] = {"custom.badge": "Ω-1", "messagingOptions.sms.enabled": True, "title": ""}
    entity = structs.replace(record(), sent=odd)
    with store_of(store_url) as store:
        store.remember([entity], WORKSPACES)
    with store_of(store_url) as store:
        assert store.recorded(WORKSPACES).entities == {JANE: entity}


_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_columns = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
_fields = st.dictionaries(_texts, _texts | st.booleans(), max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    entity=st.builds(
        RecordedEntity,
        address=st.sampled_from([JANE, SAM, device_address("ops", "jane-doe", "pixel")]),
        remote_id=st.text("0123456789ABCDEF", min_size=1, max_size=40),
        parent_id=_columns,
        sent=_fields,
        shown=_fields,
        modified=_columns,
        protected=st.booleans(),
    )
)
def test_any_record_comes_back_as_it_was(entity: RecordedEntity, store: Store) -> None:
    store.remember([entity], WORKSPACES)
    assert store.recorded(WORKSPACES).entities[entity.address] == entity


def test_remembering_again_replaces(store_url: str) -> None:
    with store_of(store_url) as store:
        store.remember([record()], WORKSPACES)
        store.remember([record(firstName="Janet")], WORKSPACES)
        assert store.recorded(WORKSPACES).entities[JANE].sent == {"firstName": "Janet"}


def test_what_is_forgotten_is_gone_and_nothing_else(store_url: str) -> None:
    with store_of(store_url) as store:
        store.remember([record(), record(SAM)], WORKSPACES)
        store.forget([JANE], WORKSPACES)
        assert set(store.recorded(WORKSPACES).entities) == {SAM}


def test_a_record_moves_to_its_new_name_as_it_is(store_url: str) -> None:
    new = contact_address("ops", "jane-roe")
    with store_of(store_url) as store:
        store.remember([record(), record(SAM)], WORKSPACES)
        store.rename([(JANE, new)], WORKSPACES)
        found = store.recorded(WORKSPACES).entities
    assert set(found) == {new, SAM}
    assert found[new].sent == record().sent


def test_two_stacks_and_two_services_do_not_see_each_other(store_url: str) -> None:
    """One store may serve several; what one owns, the other may not delete."""
    with store_of(store_url) as store:
        store.remember([record()], WORKSPACES)
    with store_of(store_url, stack="other") as store:
        assert store.recorded(WORKSPACES).entities == {}
        store.forget([JANE], WORKSPACES)
    with store_of(store_url, origin="https://other.example.com") as store:
        assert store.recorded(WORKSPACES).entities == {}
    with store_of(store_url) as store:
        assert set(store.recorded(WORKSPACES).entities) == {JANE}


def test_an_alias_that_means_another_workspace_owns_nothing_there(store_url: str) -> None:
    """Or its entities would look gone, and be made again in the wrong place."""
    elsewhere = (Workspace("ops", "CD34"),)
    with store_of(store_url) as store:
        store.remember([record()], WORKSPACES)
        assert store.recorded(elsewhere).entities == {}
        store.remember([record(firstName="Other")], elsewhere)
        assert store.recorded(WORKSPACES).entities[JANE].sent["firstName"] == "Jane"


KIM = contact_address("ops", "kim-roe")
_people = st.sampled_from([JANE, SAM, KIM])
_batches = st.lists(
    st.builds(
        Batch,
        renames=st.lists(st.tuples(_people, _people), max_size=1).map(tuple),
        remember=st.lists(st.builds(record, _people, firstName=st.sampled_from("abc")), max_size=2).map(
            tuple
        ),
        forget=st.lists(_people, max_size=1).map(tuple),
    ),
    max_size=5,
)


def one_by_one(
    entities: dict[Address, RecordedEntity], batches: list[Batch]
) -> dict[Address, RecordedEntity]:
    """Return what is recorded after these, the slow and plain way."""
    left = dict(entities)
    for batch in batches:
        for old, new in batch.renames:
            moved = left.pop(old, None)
            left.pop(new, None)
            if moved is not None:
                left[new] = structs.replace(moved, address=new)
        left |= {entity.address: entity for entity in batch.remember}
        for address in batch.forget:
            left.pop(address, None)
    return left


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_batches)
def test_batches_that_share_a_commit_leave_what_one_after_the_other_would(
    store: Store, batches: list[Batch]
) -> None:
    before = dict(store.recorded(WORKSPACES).entities)
    store.record(batches, WORKSPACES)
    assert store.recorded(WORKSPACES).entities == one_by_one(before, batches)


NEW = frozenset({"default", "ops"})  # nothing was applied there yet


def test_batches_are_kept_together_or_not_at_all(store_url: str) -> None:
    """A result that is half on disk would be believed."""
    unknown = record(contact_address("nowhere", "jane"))
    with store_of(store_url) as store:
        with pytest.raises(KeyError):
            store.record([Batch(remember=(record(),)), Batch(remember=(unknown,))], WORKSPACES)
        assert store.recorded(WORKSPACES) == Recorded({}, salt=store.salt, unapplied=NEW)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("sent", "'{'"),
        ("sent", "'[]'"),
        ("shown", "'{\"a\": 1}'"),
        ("remote_id", "''"),
    ],
)
def test_a_damaged_record_names_its_address_and_a_way_on(store_url: str, column: str, value: str) -> None:
    """Read as empty, it would look as if the entity were not ours, or gone."""
    damaged(store_url, column, value)


@pytest.mark.parametrize(("column", "value"), [("shown", "x'00ff'"), ("modified", "x'00'")])
def test_a_record_that_is_no_text_names_its_address_too(tmp_path: Path, column: str, value: str) -> None:
    """SQLite keeps anything in any column."""
    damaged(f"sqlite:///{tmp_path}/store.db", column, value)


def damaged(url: str, column: str, value: str) -> None:
    """Claim that a record with this value in a column is refused by name."""
    with store_of(url) as store:
        store.remember([record(SAM), record()], WORKSPACES)
        with store._database.writing() as connection:
            connection.execute(
                f"UPDATE entities SET {column} = {value} WHERE address = '{JANE.without_workspace}'"  # noqa: S608 - the test's own words
            )
        with pytest.raises(CorruptRecord, match=str(JANE)) as caught:
            store.recorded(WORKSPACES)
    assert caught.value.next


def test_a_damaged_address_is_shown(store_url: str) -> None:
    with store_of(store_url) as store:
        store.remember([record()], WORKSPACES)
        with store._database.writing() as connection:
            connection.execute("UPDATE entities SET address = 'contact/Jane'")
        with pytest.raises(CorruptRecord, match="contact/ops/Jane is damaged"):
            store.recorded(WORKSPACES)


def test_eight_times_the_records_load_in_about_eight_times_the_time(store_url: str) -> None:
    """Every plan begins with it."""
    fields = {f"field{number}": f"some value of a field {number}" for number in range(10)}

    def remembered(size: int) -> Store:
        store = stores.enter_context(store_of(store_url, stack=f"of-{size}"))
        entities = [
            RecordedEntity(
                contact_address("ops", f"person-{number}"), f"{number:016X}", sent=fields, shown=fields
            )
            for number in range(size)
        ]
        store.remember(entities, WORKSPACES)
        return store

    with ExitStack() as stores:
        assert ratio(lambda store: store.recorded(WORKSPACES), remembered, 250) <= RATIO_MAX


# --- Some records, by the digests of their rows -----------------------------------------------------------


def _three(store: Store) -> tuple[Address, ...]:
    """Remember three contacts, and return their addresses."""
    kim = contact_address("ops", "kim")
    store.remember([record(JANE), record(SAM, title="Dr"), record(kim)], WORKSPACES)
    return JANE, SAM, kim


def test_some_records_are_those_of_all(store: Store) -> None:
    """Each as in the whole, and nobody else; who is not recorded is no record."""
    addresses, nobody = _three(store), contact_address("ops", "nobody")
    digests = store.record_digests(WORKSPACES)
    whole = store.recorded(WORKSPACES)

    some = store.recorded(WORKSPACES, addresses={SAM: digests[SAM], nobody: b""})

    assert set(digests) == set(addresses)
    assert all(len(digest) == 16 for digest in digests.values())
    assert some == structs.replace(whole, entities={SAM: whole.entities[SAM]})


def test_digests_tell_which_records_were_written(store: Store) -> None:
    """Also by another run, under another alias of the workspace; while the state stays, so do they."""
    _three(store)
    before, state = store.record_digests(WORKSPACES), store.state()
    renamed = (WORKSPACES[0], Workspace("lab", WORKSPACES[1].id))

    again = store.record_digests(renamed)
    store.remember([record(SAM, title="Prof")], WORKSPACES)
    after = store.record_digests(WORKSPACES)

    assert again == {address.in_workspace("lab"): digest for address, digest in before.items()}
    assert {address for address in before if before[address] != after[address]} == {SAM}
    assert store.state() != state


def _again(store: Store) -> None:
    store.remember([record(SAM, title="Prof")], WORKSPACES)


def _forgotten(store: Store) -> None:
    store.forget([JANE], WORKSPACES)


def _renamed(store: Store) -> None:
    store.rename([(JANE, contact_address("ops", "jane-roe"))], WORKSPACES)


def _new(store: Store) -> None:
    store.remember([record(contact_address("ops", "new"))], WORKSPACES)


def _elsewhere(store: Store) -> None:
    other = (Workspace("lab", "CD34"),)
    store.remember([record(contact_address("lab", "new"))], other)


def _by_a_clock_that_is_slow(store: Store) -> None:
    """Another machine writes, and its clock is an hour behind."""
    with store._database.writing() as connection:
        seals = sealed_tables.Seals(connection, Owner(ORIGIN, "default"))
        seals.change(ENTITIES, {"address": "contact/sam-lee"}, {"updated_at": "2026-01-01T00:00:00+00:00"})
        seals.save()


@pytest.mark.parametrize(
    "write", [_again, _forgotten, _renamed, _new, _elsewhere, _by_a_clock_that_is_slow, lambda _store: None]
)
@pytest.mark.parametrize("seconds", [0, 1, 3_600])
def test_digests_of_what_was_written_since_are_those_of_all(
    store_url: str, write: Callable[[Store], None], seconds: int
) -> None:
    """Whatever was written, and whenever: within the same second too."""
    clock = Clock()
    with store_at(store_url, clock=clock) as store:
        _three(store)
        known, since = store.record_digests(WORKSPACES), store.last_written()
        clock.pass_s(seconds)
        write(store)

        assert store.record_digests(WORKSPACES, known=known, since=since) == store.record_digests(WORKSPACES)


def test_digests_of_what_was_written_since_read_no_other_row(store: Store) -> None:
    """One statement with a condition; all rows are read where these do not explain the seal."""
    _three(store)
    known, since = store.record_digests(WORKSPACES), store.last_written()
    store.remember([record(SAM, title="Prof")], WORKSPACES)  # in the same second
    asked = _Statements()
    with observed(pool_of(store), asked):
        store.record_digests(WORKSPACES, known=known, since=since)
        quick = len(asked.heard)
        store.record_digests(WORKSPACES, known={**known, SAM: bytes(16)}, since="9999")

    assert [">= :since" in sql for sql in asked.heard[:quick] if " sent," in sql] == [True]
    assert [">= :since" in sql for sql in asked.heard[quick:] if " sent," in sql] == [True, False]


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(lambda known: {SAM: known[JANE]}, id="another record"),
        pytest.param(lambda _known: {SAM: b""}, id="one that should not be there"),
        pytest.param(
            lambda known: {contact_address("ops", "nobody"): known[JANE]}, id="one that is not there"
        ),
    ],
)
def test_records_that_moved_are_not_returned(
    store: Store, wanted: Callable[[Mapping[Address, bytes]], Mapping[Address, bytes]]
) -> None:
    """Who asks for some believes to know the rest: nothing of it holds where one of them is another."""
    _three(store)

    with pytest.raises(RecordsMoved):
        store.recorded(WORKSPACES, addresses=wanted(store.record_digests(WORKSPACES)))


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE entities SET remote_id = '00AC' WHERE address LIKE '%sam%'",
        "DELETE FROM entities WHERE address LIKE '%sam%'",
        "UPDATE entities SET stack = 'other' WHERE address LIKE '%sam%'",
    ],
)
def test_damage_shows_in_some_records_and_in_the_digests_of_all(store: Store, damage: str) -> None:
    """A row is compared with its digest, or all of them with the seal."""
    _three(store)
    known = store.record_digests(WORKSPACES)
    with store._database.writing() as connection:
        assert connection.execute(damage).rowcount

    with pytest.raises(RecordsMoved):
        store.recorded(WORKSPACES, addresses={SAM: known[SAM]})
    with pytest.raises(CorruptRecord):
        store.record_digests(WORKSPACES)
    # Of rows that are not read the seal is believed; damage shows where one of them is read.
    assert store.record_digests(WORKSPACES, known=known, since="9999") == known
    with pytest.raises(CorruptRecord):
        store.record_digests(WORKSPACES, known={**known, SAM: bytes(16)}, since="9999")


def test_some_records_take_one_query_however_many_there_are(store: Store) -> None:
    """Thousands are asked for by their addresses in one statement, and no other row is read."""
    people = [contact_address("ops", f"p{number}") for number in range(3_000)]
    store.remember(map(record, people), WORKSPACES)
    known = store.record_digests(WORKSPACES)
    asked = _Statements()

    with observed(pool_of(store), asked):
        some = store.recorded(WORKSPACES, addresses={one: known[one] for one in people[:2_000]})

    assert len(some.entities) == 2_000
    assert sum("IN (:address)" in sql for sql in asked.heard) == 1
    assert not any(
        sql.startswith("SELECT") and "sent" in sql and "IN (:address)" not in sql for sql in asked.heard
    )


class _Statements(Observer):
    """Hears the statements."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def executes(self, connection: Connection, sql: str) -> None:  # noqa: ARG002 - as every observer
        self.heard.append(sql)
