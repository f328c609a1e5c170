"""Plans of devices whose push token nobody declares: what is planned, what waits, what is never touched."""

import pytest
from core.build import contact, desired, device, live, person, phone, planned, record, recorded
from msgspec import structs

from reconciler.core.planning.deletes import uncertain_notices
from reconciler.model.codes import SKIP_CODES
from reconciler.model.encoding import encode_json
from reconciler.model.plans import Create, Delete, Plan, Update, action_of
from reconciler.model.snapshots import Entity, Scope

JANE = contact("ops/jane", devices=True, workEmailAddress1="jane@example.com")
SAM = contact("ops/sam", devices=True, workEmailAddress1="sam@example.com")
HERE = person("C1", workEmailAddress1="jane@example.com")
THERE = person("C2", workEmailAddress1="sam@example.com")
CANARY = "live-token-canary-0001"


def bare(where: str, **more: str) -> Entity:
    """A declared device without a push token."""
    whole = device(where, more)
    fields = {path: value for path, value in whole.fields.items() if path != "pushToken"}
    return structs.replace(whole, fields=fields)


def said(plan: Plan) -> list[tuple[str, str, str]]:
    return [(str(one.address), one.reason, SKIP_CODES[one.reason]) for one in plan.skips]


def done(plan: Plan) -> list[tuple[str, str]]:
    return [(action_of(one), str(one.address)) for one in plan.changes]


def test_a_device_that_exists_is_managed_without_its_token() -> None:
    """The one field that differs is changed, and nothing is said of the token, not even as a digest."""
    made = planned(
        desired(JANE, bare("ops/jane/phone", deviceModel="Pixel 10")),
        live(HERE, phone("D1", "C1", pushToken=CANARY)),
    )

    (update,) = (one for one in made.changes if isinstance(one, Update))
    assert [field.path for field in update.fields] == ["deviceModel"]
    assert (made.skips, made.notices) == ((), ())
    assert b"pushToken" not in encode_json(made)


def test_another_live_token_is_no_change_and_no_other_plan() -> None:
    """An app renews its token by itself; a plan that noticed would be stale every day."""
    want = desired(JANE, bare("ops/jane/phone"))
    known = recorded(
        record("contact/ops/jane", "C1", JANE.fields),
        record("device/ops/jane/phone", "D1", bare("ops/jane/phone").fields, parent="C1"),
    )

    one = planned(want, live(HERE, phone("D1", "C1", pushToken=CANARY)), known)
    other = planned(want, live(HERE, phone("D1", "C1", pushToken="renewed-token-0002")), known)

    assert one.empty
    assert encode_json(one) == encode_json(other)


def test_a_token_that_is_declared_no_longer_leaves_the_record_and_stays_live() -> None:
    """Cleared, the phone would be reached by nobody."""
    was = device("ops/jane/phone", pushToken=CANARY)
    known = recorded(
        record("contact/ops/jane", "C1", JANE.fields),
        record("device/ops/jane/phone", "D1", was.fields, parent="C1"),
    )

    made = planned(
        desired(JANE, bare("ops/jane/phone")), live(HERE, phone("D1", "C1", pushToken=CANARY)), known
    )

    assert made.changes == ()
    assert [(one.what, one.fields) for one in made.records] == [("fields", ("pushToken",))]


@pytest.mark.parametrize("known", [False, True])
def test_a_create_without_its_token_is_left_alone_and_said(*, known: bool) -> None:
    """All else is done, and the plan does not end as if all were well."""
    was = record("device/ops/jane/phone", "D1", bare("ops/jane/phone").fields, parent="C1")
    want = desired(structs.replace(JANE, fields={**JANE.fields, "jobTitle": "Lead"}), bare("ops/jane/phone"))

    made = planned(want, live(HERE), recorded(*([was] if known else [])))

    assert done(made) == [("update", "contact/ops/jane")]
    reason = "gone without its secret" if known else "undeclared secret"
    assert said(made) == [("device/ops/jane/phone", reason, "E160")]
    assert "manifests/ops.yaml:4" in made.skips[0].what
    assert [one.kind for one in uncertain_notices(made, want)] == ["secret"]
    assert made.gone == ()


def test_a_new_contact_is_made_without_the_device_that_cannot_be() -> None:
    """A message to her mobile number arrives, whatever becomes of the app."""
    made = planned(desired(JANE, bare("ops/jane/phone")), live())

    assert done(made) == [("create", "contact/ops/jane")]
    assert said(made) == [("device/ops/jane/phone", "undeclared secret", "E160")]


def test_a_device_does_not_leave_one_contact_where_the_other_cannot_have_it() -> None:
    """Its entry went from Jane to Sam: deleted there and not made here, the phone would be nobody's."""
    known = recorded(
        record("contact/ops/jane", "C1", JANE.fields),
        record("contact/ops/sam", "C2", SAM.fields),
        record("device/ops/jane/phone", "D1", bare("ops/jane/phone").fields, parent="C1"),
    )

    made = planned(
        desired(JANE, SAM, bare("ops/sam/phone")),
        live(HERE, THERE, phone("D1", "C1", pushToken=CANARY)),
        known,
    )

    assert made.changes == ()
    assert said(made) == [
        ("device/ops/jane/phone", "move without its secret", "E161"),
        ("device/ops/sam/phone", "undeclared secret", "E160"),
    ]
    assert CANARY.encode() not in encode_json(made)


def test_with_its_token_declared_a_device_moves() -> None:
    """As ever."""
    known = recorded(
        record("contact/ops/jane", "C1", JANE.fields),
        record("contact/ops/sam", "C2", SAM.fields),
        record("device/ops/jane/phone", "D1", bare("ops/jane/phone").fields, parent="C1"),
    )

    made = planned(
        desired(JANE, SAM, device("ops/sam/phone", pushToken=CANARY)),
        live(HERE, THERE, phone("D1", "C1", pushToken=CANARY)),
        known,
    )

    assert done(made) == [("create", "device/ops/sam/phone"), ("delete", "device/ops/jane/phone")]
    assert made.skips == ()


def test_a_contact_does_not_move_without_the_token_of_her_device() -> None:
    """Her delete takes the device along: neither she nor it is touched, there or here."""
    moved = contact("lab/jane", devices=True, workEmailAddress1="jane@example.com")
    known = recorded(
        record("contact/ops/jane", "C1", JANE.fields),
        record("device/ops/jane/phone", "D1", bare("ops/jane/phone").fields, parent="C1"),
    )

    made = planned(
        desired(
            moved,
            bare("lab/jane/phone"),
            device("lab/jane/tablet", deviceName="Tablet"),
            scopes=[Scope("contact", "ops")],
        ),
        live(HERE, phone("D1", "C1", pushToken=CANARY)),
        known,
    )

    assert made.changes == ()
    assert said(made) == [
        ("contact/lab/jane", "move without its secret", "E161"),
        ("contact/ops/jane", "move without its secret", "E161"),
        ("device/lab/jane/phone", "undeclared secret", "E160"),
        ("device/lab/jane/tablet", "move without its secret", "E161"),
    ]


def test_somebody_who_leaves_is_deleted_whatever_others_lack() -> None:
    """Only who moves waits: Jane leaves, and Sam has a phone of another name to come."""
    known = recorded(
        record("contact/ops/jane", "C1", JANE.fields),
        record("contact/ops/sam", "C2", SAM.fields),
        record("device/ops/jane/phone", "D1", bare("ops/jane/phone").fields, parent="C1"),
    )

    made = planned(
        desired(SAM, bare("ops/sam/new", deviceName="New phone")),
        live(HERE, THERE, phone("D1", "C1", pushToken=CANARY)),
        known,
    )

    assert done(made) == [("delete", "contact/ops/jane")]


@pytest.mark.parametrize("declared", [False, True])
def test_a_delete_holds_a_digest_of_a_declared_token_alone(*, declared: bool) -> None:
    """Of one that is not ours a plan file holds nothing at all."""
    was = device("ops/jane/phone", pushToken=CANARY) if declared else bare("ops/jane/phone")
    known = recorded(
        record("contact/ops/jane", "C1", JANE.fields),
        record("device/ops/jane/phone", "D1", was.fields, parent="C1"),
    )

    made = planned(desired(JANE), live(HERE, phone("D1", "C1", pushToken=CANARY)), known)

    (delete,) = (one for one in made.changes if isinstance(one, Delete))
    assert ("pushToken" in delete.before) is declared
    assert CANARY.encode() not in encode_json(made)


def test_a_callback_is_not_written_without_the_key_that_a_write_would_remove() -> None:
    """Its variable is not set, and meta.ignore lets it be: until something has to be written."""
    callback = contact("ops/jane", jobTitle="Lead", workEmailAddress1="jane@example.com")
    entity = structs.replace(callback, unset_paths=frozenset({"password"}))

    unchanged = planned(desired(entity), live(person("C1", entity.fields)))
    changed = planned(desired(entity), live(HERE))
    made = planned(desired(entity), live())

    assert (unchanged.skips, len(unchanged.adoptions)) == ((), 1)
    assert (changed.changes, said(changed)) == ((), [("contact/ops/jane", "unset variable", "E165")])
    assert (made.changes, said(made)) == ((), [("contact/ops/jane", "unset variable", "E165")])


def test_a_create_with_its_token_is_as_ever() -> None:
    """It is shown as a mask, and no word is said of secrets."""
    made = planned(desired(JANE, device("ops/jane/phone", pushToken=CANARY)), live(HERE))

    (create,) = (one for one in made.changes if isinstance(one, Create))
    assert str(create.fields["pushToken"]).startswith("secret:")
    assert made.skips == ()
