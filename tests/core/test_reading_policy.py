"""Which way to read a scope takes the fewest calls, and what a row tells: two tables, without a service."""

from collections.abc import Sequence

import pytest
from core.build import MARK, MARKED, OPS, RULES, STACK, at, contact, record, row
from msgspec import structs

from reconciler.core.compare.identity import identity_digests
from reconciler.core.reading_policy import (
    ListStart,
    ReadRequest,
    RowJudge,
    count_lookup_calls,
    count_scan_calls,
    find_restored,
    is_scan_dearer,
)
from reconciler.core.rules import Rules
from reconciler.model.kinds import KINDS
from reconciler.model.snapshots import DeletedEntity, Entity, LiveEntity, RecordedEntity

MAIL = "workEmailAddress1"
NAMES = KINDS["contact"].listing.always  # what the briefest row shows
SHOWN = NAMES | {MAIL}
EARLIER, LATER = "2026-03-01T11:00:00Z", "2026-03-01T11:30:00Z"


def request(
    entities: Sequence[Entity] = (), records: Sequence[RecordedEntity] = (), rules: Rules = RULES
) -> ReadRequest:
    """A request for the contacts of `ops`."""
    declared = {one.address: one for one in entities}
    return ReadRequest(OPS, "AB12", declared, {one.address: one for one in records}, rules)


# --- Which way takes fewer calls ------------------------------------------------------------------


def people(recorded: int, new: int = 0, *, rules: Rules = RULES, modified: str = "") -> ReadRequest:
    """So many declared contacts that are recorded, and so many that are not."""
    entities = [
        contact(f"ops/person-{n}", {"firstName": f"P{n}", MAIL: f"person-{n}@example.com"})
        for n in range(recorded + new)
    ]
    records = [
        structs.replace(record(f"contact/ops/person-{n}", f"id-{n}", one.fields), modified=modified)
        for n, one in enumerate(entities[:recorded])
    ]
    return request(entities, records, rules)


# Rows of the list (None: not told; 100 a page), what they show -> calls after the first page.
@pytest.mark.parametrize(
    ("wanted", "start", "scan", "lookups"),
    [
        pytest.param(people(0), ListStart(1_000, 100, None), 9, 0, id="nothing is ours"),
        pytest.param(people(3), ListStart(1_000, 100, None), 9, 3, id="few of many: a search each"),
        pytest.param(people(30), ListStart(1_000, 100, None), 9, 30, id="many: the list"),
        pytest.param(people(9), ListStart(1_000, 100, None), 9, 9, id="as many: the list"),
        pytest.param(people(0, 5), ListStart(1_000, 100, None), 9, 5, id="new ones are searched"),
        pytest.param(people(0, 5), ListStart(1_000, 100, SHOWN), 9, 10, id="and looked at if rows are brief"),
        pytest.param(people(3), ListStart(1_000, 100, SHOWN), 9, 3, id="a brief row may show all needed"),
        pytest.param(people(3), ListStart(1_000, 100, NAMES), 12, 6, id="names need a look either way"),
        pytest.param(people(3, 1), ListStart(1_000, 100, NAMES), 1_006, 8, id="names may be any of ours"),
        pytest.param(
            people(3, modified=EARLIER), ListStart(1_000, 100, NAMES), 9, 3, id="not if it did not change"
        ),
        pytest.param(
            people(3), ListStart(1_000, 100, NAMES, complete=True), 3, 6, id="told by changes: looks alone"
        ),
        pytest.param(
            people(3, rules=MARKED), ListStart(1_000, 100, None), 9, 4, id="our mark: one search more"
        ),
        pytest.param(people(0), ListStart(100, 100, None, last=True), 0, 0, id="a list of one page"),
        pytest.param(people(3), ListStart(None, 100, None), 0, float("inf"), id="of a length nobody knows"),
    ],
)
def test_the_way_with_fewer_calls_is_taken(
    wanted: ReadRequest, start: ListStart, scan: int, lookups: float
) -> None:
    """The first page is read in any case. Where both take as many calls, the list is read: it shows more."""
    assert (count_scan_calls(wanted, start), count_lookup_calls(wanted, start)) == (scan, lookups)
    assert is_scan_dearer(wanted, start) == (lookups < scan)


# --- What a row tells -----------------------------------------------------------------------------

NAMED = {"firstName": "Jane", "lastName": "Doe"}
FIELDS = {**NAMED, MAIL: "jane.doe@example.com"}
JANE = contact("ops/jane-doe", FIELDS)
TITLED = contact("ops/jane-doe", {**FIELDS, "jobTitle": "Engineer"})
WITH_DEVICES = contact("ops/jane-doe", FIELDS, devices=True)
KNOWN = record("contact/ops/jane-doe", "id-1", FIELDS)
TITLED_KNOWN = structs.replace(record("contact/ops/jane-doe", "id-1", TITLED.fields), modified=EARLIER)
AGAIN = structs.replace(KNOWN, remote_id="id-2", earlier=("id-1",))
ROW = row("contact", "ops", "id-1", FIELDS, modified=EARLIER)
BRIEF = row("contact", "ops", "id-1", NAMED)
SAM = row("contact", "ops", "id-9", {"firstName": "Sam", "lastName": "Roe", MAIL: "sam.roe@example.com"})
SAM_MARKED = structs.replace(SAM, fields={**SAM.fields, f"custom.{MARK}": f"{STACK}/sam-roe"})


@pytest.mark.parametrize(
    ("wanted", "seen", "shown", "verdict"),
    [
        pytest.param(request((), [KNOWN]), ROW, SHOWN, "look", id="may be deleted"),
        pytest.param(request([JANE], [KNOWN]), ROW, SHOWN, "the row", id="recorded: the row is enough"),
        pytest.param(request([TITLED], [KNOWN]), ROW, SHOWN, "look", id="recorded: the row is too brief"),
        pytest.param(
            request([TITLED], [TITLED_KNOWN]), ROW, SHOWN, "as recorded", id="recorded: it did not change"
        ),
        pytest.param(
            request([TITLED], [TITLED_KNOWN]),
            structs.replace(ROW, modified=LATER),
            SHOWN,
            "look",
            id="recorded: it changed",
        ),
        pytest.param(request([WITH_DEVICES], [KNOWN]), ROW, SHOWN, "look", id="recorded: with devices"),
        pytest.param(request([JANE], [AGAIN]), ROW, SHOWN, "look", id="ours before, under this id"),
        pytest.param(request([JANE]), BRIEF, NAMES, "look", id="the same name"),
        pytest.param(request([JANE]), SAM, NAMES, "skip", id="another name"),
        pytest.param(request([JANE]), ROW, SHOWN, "the row", id="the same identity: the row is enough"),
        pytest.param(request([TITLED]), ROW, SHOWN, "look", id="the same identity: the row is too brief"),
        pytest.param(request([WITH_DEVICES]), ROW, SHOWN, "look", id="the same identity: with devices"),
        pytest.param(request([JANE]), SAM, SHOWN, "the row", id="another identity"),
        pytest.param(request([JANE], (), MARKED), SAM_MARKED, SHOWN, "look", id="our mark"),
    ],
)
def test_what_a_row_tells(wanted: ReadRequest, seen: LiveEntity, shown: frozenset[str], verdict: str) -> None:
    """A row is used as far as it tells; what it leaves open takes a look."""
    found = RowJudge(wanted).judge_row(seen, shown, strangers=False)
    if verdict == "the row":
        assert found == structs.replace(seen, known=shown, devices_known=False)
    elif verdict == "as recorded":
        recorded = wanted.records[JANE.address]
        assert isinstance(found, LiveEntity)
        assert (found.fields, found.known) == (recorded.shown, frozenset(recorded.sent))
    else:
        assert found == verdict


def test_a_row_that_is_as_declared_shares_the_texts_of_the_entry() -> None:
    """Two texts for everybody of 100,000 people are 50 MiB more; what is another value stays its own."""
    fields = {path: str(value).encode().decode() for path, value in JANE.fields.items()}
    live = structs.replace(ROW, fields={**fields, "department": "Operations"})
    judge = RowJudge(request([JANE]))

    found = judge.judge_row(live, SHOWN | {"department"}, strangers=False)

    assert isinstance(found, LiveEntity)
    assert found.fields == live.fields
    assert all(found.fields[path] is value for path, value in JANE.fields.items())


def test_a_row_that_shows_what_is_declared_shares_the_fields_of_the_entry() -> None:
    """Another mapping for everybody of 100,000 people would be 36 MiB more."""
    live = structs.replace(ROW, fields=dict(reversed([*JANE.fields.items()])))

    found = RowJudge(request([JANE])).judge_row(live, SHOWN, strangers=False)

    assert isinstance(found, LiveEntity)
    assert found.fields is JANE.fields


def test_a_judge_that_was_released_judges_as_before() -> None:
    judge = RowJudge(request([JANE], [KNOWN]))
    rows = (ROW, BRIEF, SAM)
    before = [judge.judge_row(one, SHOWN, strangers=False) for one in rows]
    judge.release()

    assert [judge.judge_row(one, SHOWN, strangers=False) for one in rows] == before


def test_with_strangers_a_row_of_names_is_looked_at() -> None:
    """Where somebody of ours has no record, anybody may be the one."""
    assert RowJudge(request([JANE])).judge_row(SAM, NAMES, strangers=True) == "look"


def test_a_search_may_find_others() -> None:
    """Where the service ignores a filter, only rows that share an identity, or do not show one, are ours."""
    judge = RowJudge(request([JANE], [KNOWN]))
    assert judge.may_be_ours(ROW.fields)
    assert judge.may_be_ours(BRIEF.fields)
    assert not judge.may_be_ours(SAM.fields)


# --- What we deleted and is shown again -----------------------------------------------------------


def test_what_we_deleted_is_found_by_its_id_and_by_its_identity() -> None:
    """A restored backup may bring somebody back under the old id or under another one."""
    digests = identity_digests(FIELDS, RULES.identity.of("contact"), "salt")
    gone = DeletedEntity(at("contact/ops/jane-doe"), "id-1", "run", EARLIER, digests)
    wanted = structs.replace(request(), deleted=(gone,), salt="salt")
    rows = [(one.remote_id, one.fields) for one in (structs.replace(ROW, remote_id="id-7"), SAM)]

    assert find_restored(wanted, {"id-1", "id-7", "id-9"}, rows) == {"id-1": ("id-1", "id-7")}
    assert find_restored(wanted, {"id-9"}, rows[1:]) == {}
    assert find_restored(request(), {"id-1"}, rows) == {}
