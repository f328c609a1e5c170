import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from sqlalchemy import text
from store.support import JANE, SAM, WORKSPACES, Clock, record, store_at

from reconciler.errors import CorruptRecord
from reconciler.model.address import contact, device
from reconciler.model.plans import Workspace
from reconciler.model.snapshots import Recorded, RecordedEntity
from reconciler.store.recorded import Batch


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def test_what_is_remembered_is_there_after_the_store_was_closed(path: Path) -> None:
    odd: dict[str, str | bool] = {"custom.badge": "Ω-1", "messagingOptions.sms.enabled": True, "title": ""}
    entity = structs.replace(record(), sent=odd)
    with store_at(path) as store:
        store.remember([entity], WORKSPACES)
    with store_at(path) as store:
        assert store.recorded(WORKSPACES).entities == {JANE: entity}


_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_fields = st.dictionaries(_texts, _texts | st.booleans(), max_size=5)


@given(
    entity=st.builds(
        RecordedEntity,
        address=st.sampled_from([JANE, SAM, device("ops", "jane-doe", "pixel")]),
        remote_id=st.text("0123456789ABCDEF", min_size=1, max_size=40),
        parent_id=_texts,
        sent=_fields,
        shown=_fields,
        modified=_texts,
        protected=st.booleans(),
    )
)
def test_any_record_comes_back_as_it_was(
    entity: RecordedEntity, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with store_at(tmp_path_factory.mktemp("law") / "store.db") as store:
        store.remember([entity], WORKSPACES)
        assert store.recorded(WORKSPACES).entities == {entity.address: entity}


def test_remembering_again_replaces(path: Path) -> None:
    with store_at(path) as store:
        store.remember([record()], WORKSPACES)
        store.remember([record(firstName="Janet")], WORKSPACES)
        assert store.recorded(WORKSPACES).entities[JANE].sent == {"firstName": "Janet"}


def test_what_is_forgotten_is_gone_and_nothing_else(path: Path) -> None:
    with store_at(path) as store:
        store.remember([record(), record(SAM)], WORKSPACES)
        store.forget([JANE], WORKSPACES)
        assert set(store.recorded(WORKSPACES).entities) == {SAM}


def test_a_record_moves_to_its_new_name_as_it_is(path: Path) -> None:
    new = contact("ops", "jane-roe")
    with store_at(path) as store:
        store.remember([record(), record(SAM)], WORKSPACES)
        store.rename([(JANE, new)], WORKSPACES)
        found = store.recorded(WORKSPACES).entities
    assert set(found) == {new, SAM}
    assert found[new].sent == record().sent


def test_two_stacks_and_two_services_do_not_see_each_other(path: Path) -> None:
    """One store may serve several; what one owns, the other may not delete."""
    with store_at(path) as store:
        store.remember([record()], WORKSPACES)
    with store_at(path, stack="other") as store:
        assert store.recorded(WORKSPACES).entities == {}
        store.forget([JANE], WORKSPACES)
    with store_at(path, origin="https://other.example.com") as store:
        assert store.recorded(WORKSPACES).entities == {}
    with store_at(path) as store:
        assert set(store.recorded(WORKSPACES).entities) == {JANE}


def test_an_alias_that_means_another_workspace_owns_nothing_there(path: Path) -> None:
    """Or its entities would look gone, and be made again in the wrong place."""
    elsewhere = (Workspace("ops", "CD34"),)
    with store_at(path) as store:
        store.remember([record()], WORKSPACES)
        assert store.recorded(elsewhere).entities == {}
        store.remember([record(firstName="Other")], elsewhere)
        assert store.recorded(WORKSPACES).entities[JANE].sent["firstName"] == "Jane"


def test_a_doubt_stays_until_the_address_is_settled_or_remembered(path: Path) -> None:
    with store_at(path) as store:
        store.doubt(JANE, "2026-03-01T12:00:10+00:00")
        store.doubt(JANE, "2026-03-01T12:00:20+00:00")
        store.doubt(SAM, "2026-03-01T12:00:30+00:00")
        assert store.recorded(WORKSPACES).doubts == {
            JANE: "2026-03-01T12:00:20+00:00",
            SAM: "2026-03-01T12:00:30+00:00",
        }
        store.settle([SAM])
        store.remember([record()], WORKSPACES)
        assert store.recorded(WORKSPACES).doubts == {}


def test_batches_are_kept_together_or_not_at_all(path: Path) -> None:
    """A result that is half on disk would be believed."""
    unknown = record(contact("nowhere", "jane"))
    with store_at(path) as store:
        with pytest.raises(KeyError):
            store.record([Batch(remember=(record(),)), Batch(remember=(unknown,))], WORKSPACES)
        assert store.recorded(WORKSPACES) == Recorded({}, salt=store.salt)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("sent", "'{'"),
        ("sent", "'[]'"),
        ("shown", "'{\"a\": 1}'"),
        ("shown", "x'00ff'"),
        ("remote_id", "''"),
        ("modified", "x'00'"),
    ],
)
def test_a_damaged_record_names_its_address_and_a_way_on(path: Path, column: str, value: str) -> None:
    """Read as empty, it would look as if the entity were not ours, or gone."""
    with store_at(path) as store:
        store.remember([record(SAM), record()], WORKSPACES)
        with store._database.writing() as connection:
            connection.execute(
                text(f"UPDATE entities SET {column} = {value} WHERE address = '{JANE}'")  # noqa: S608 - the test's own words
            )
        with pytest.raises(CorruptRecord, match=str(JANE)) as caught:
            store.recorded(WORKSPACES)
    assert caught.value.next


def test_a_damaged_address_is_shown(path: Path) -> None:
    with store_at(path) as store:
        store.remember([record()], WORKSPACES)
        with store._database.writing() as connection:
            connection.execute(text("UPDATE entities SET address = 'contact/jane'"))
        with pytest.raises(CorruptRecord, match="contact/jane is damaged"):
            store.recorded(WORKSPACES)


def test_ten_thousand_records_load_well_under_a_second(path: Path) -> None:
    """Every plan begins with it."""
    fields = {f"field{number}": f"some value of a field {number}" for number in range(10)}
    many = [
        RecordedEntity(contact("ops", f"person-{number}"), f"{number:016X}", sent=fields, shown=fields)
        for number in range(10_000)
    ]
    with store_at(path, clock=Clock()) as store:
        store.remember(many, WORKSPACES)
        began = time.perf_counter()
        found = store.recorded(WORKSPACES)
        took = time.perf_counter() - began
    assert len(found.entities) == 10_000
    assert took < 1.0
