"""Documents to Desired: what is applied, and what only several entries or the settings show to be wrong."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.desired.resolve import Resolved, resolve_desired
from reconciler.core.rules import Rules
from reconciler.errors import Problem
from reconciler.model.documents import Controls, Document, Fields, Manifest, Place
from reconciler.model.settings import Identity
from reconciler.model.snapshots import Scope

RULES = Rules(workspaces=frozenset({"ops", "default"}))
PIXEL: Mapping[str, str] = {
    "deviceName": "Pixel",
    "appId": "com.example.oncall",
    "platform": "GCM",
    "deviceOS": "Android 15",
    "deviceModel": "Pixel 9",
    "pushToken": "t0ken",
}
LIST: Mapping[str, str] = {
    "name": "list.csv",
    "scope": "private",
    "mimeType": "text/csv",
    "content": "sha256:00",
}


def entry(
    kind: str,
    name: str,
    fields: Fields,
    *,
    line: int = 1,
    file: str = "a.yaml",
    parent: str = "",
    controls: Controls | None = None,
) -> Document:
    """A document whose fields stand in the lines below its name, in order."""
    places = {path: Place(file, line + number, 5) for number, path in enumerate(fields, start=1)}
    return Document(
        kind=kind,
        name=name,
        place=Place(file, line, 3),
        fields=fields,
        places=places,
        parent=parent,
        controls=controls or Controls(),
    )


def person(
    name: str, *, line: int = 1, file: str = "a.yaml", deep: Mapping[str, str] | None = None, **fields: str
) -> Document:
    """A contact with an address of its own; `deep` are fields whose paths are no words."""
    every = {"workEmailAddress1": f"{name}@example.com", **fields, **(deep or {})}
    return entry("contact", name, every, line=line, file=file)


def manifest(
    *documents: Document,
    file: str = "a.yaml",
    workspace: str = "ops",
    kinds: tuple[str, ...] = ("contact",),
    defaults: Mapping[str, Fields] | None = None,
    tags: Mapping[str, str] | None = None,
) -> Manifest:
    return Manifest(
        file=file,
        workspace=workspace,
        workspace_place=Place(file, 2, 1),
        kinds=frozenset(kinds),
        documents=documents,
        defaults=defaults or {},
        tags=tags or {},
    )


def told(resolved: Resolved) -> list[tuple[str, str]]:
    assert all(problem.next for problem in resolved.problems)
    return [(problem.where, problem.what) for problem in resolved.problems]


def check(*documents: Document, rules: Rules = RULES) -> list[tuple[str, str]]:
    return told(resolve_desired([manifest(*documents)], rules))


def test_defaults_are_applied_below_what_an_entry_says() -> None:
    """Also "": clearing a field is saying something."""
    one = person("jane", jobTitle="Lead", department="")
    wanted = manifest(
        one, defaults={"contact": {"jobTitle": "Engineer", "department": "Ops", "timezone": "Europe/London"}}
    )

    entities = resolve_desired([wanted], RULES).desired.entities

    (jane,) = entities.values()
    assert jane.fields == {
        "jobTitle": "Lead",
        "department": "",
        "timezone": "Europe/London",
        "workEmailAddress1": "jane@example.com",
    }


def test_tags_are_inherited_by_entries_and_by_their_devices() -> None:
    """--only tag:rota=primary means the people with their phones."""
    jane = entry(
        "contact",
        "jane",
        {"workEmailAddress1": "j@example.com"},
        controls=Controls(tags={"rota": "primary", "a": "2"}),
    )
    pixel = entry("device", "pixel", PIXEL, parent="jane", line=9, controls=Controls(tags={"b": "3"}))

    entities = resolve_desired(
        [manifest(jane, pixel, tags={"team": "sre", "a": "1"})], RULES
    ).desired.entities

    assert [dict(entity.controls.tags) for entity in entities.values()] == [
        {"team": "sre", "a": "2", "rota": "primary"},
        {"team": "sre", "a": "2", "rota": "primary", "b": "3"},
    ]


def test_the_mark_is_added_to_contacts_only() -> None:
    """Rule X5: stack and name, in the custom field of the settings."""
    rules = Rules(workspaces=frozenset({"ops"}), mark="managedBy", stack="ops-contacts")
    documents = (
        person("jane"),
        entry("device", "pixel", PIXEL, parent="jane"),
        entry("resource", "list", LIST),
    )

    entities = resolve_desired([manifest(*documents)], rules).desired.entities

    marks = {str(address): entity.fields.get("custom.managedBy") for address, entity in entities.items()}
    assert marks == {
        "contact/ops/jane": "ops-contacts/jane",
        "device/ops/jane/pixel": None,
        "resource/ops/list": None,
    }


def test_scopes_are_the_kinds_that_some_manifest_speaks_of() -> None:
    """Rule S1: an empty key is in scope, a missing one is not."""
    wanted = [manifest(), manifest(file="b.yaml", workspace="default", kinds=("resource",))]

    assert resolve_desired(wanted, RULES).desired.scopes == {
        Scope("contact", "ops"),
        Scope("resource", "default"),
    }


_DOCUMENTS = st.lists(
    st.builds(
        lambda name, line, title: person(name, line=line, jobTitle=title),
        st.sampled_from(["a", "b", "c", "d"]),
        st.integers(1, 50),
        st.sampled_from(["", "x"]),
    ),
    max_size=4,
)


@given(
    st.lists(_DOCUMENTS, max_size=4).flatmap(
        lambda groups: st.tuples(st.just(groups), st.permutations(range(len(groups))))
    )
)
def test_the_order_of_the_files_never_changes_the_result(
    case: tuple[list[list[Document]], list[int]],
) -> None:
    """Law 3: the same manifests give the same Desired and the same problems, byte for byte."""
    groups, order = case
    files = [
        manifest(*[person(d.name, line=d.place.line, file=f"{n}.yaml") for d in group], file=f"{n}.yaml")
        for n, group in enumerate(groups)
    ]

    one, two = resolve_desired(files, RULES), resolve_desired([files[n] for n in order], RULES)

    assert one == two
    assert list(one.desired.entities) == list(two.desired.entities)


def test_an_unknown_workspace_is_refused_with_a_suggestion() -> None:
    """Rule S4: never a guess, and never the default one."""
    resolved = resolve_desired([manifest(person("jane"), workspace="Ops")], RULES)

    assert resolved.problems == (
        Problem(
            "a.yaml", 2, 1, "the workspace Ops is not in the settings.", "did you mean ops?", code="E311"
        ),
    )


def test_a_workspace_that_resembles_none_is_told_which_there_are() -> None:
    """The list is short enough to be shown."""
    (problem,) = resolve_desired([manifest(workspace="zzz")], RULES).problems

    assert problem.next == "workspaces in the settings: default, ops"


def test_a_name_that_is_declared_twice_names_both_places() -> None:
    """Across files too; the later one is wrong, whichever file was read first."""
    files = [
        manifest(person("jane", file="b.yaml", line=7), file="b.yaml"),
        manifest(person("jane", file="a.yaml", line=3), file="a.yaml"),
    ]

    assert told(resolve_desired(files, RULES)) == [
        ("b.yaml:7:3", "contact/ops/jane: this name is declared twice; the first time at a.yaml:3.")
    ]


def test_the_same_name_in_two_workspaces_is_no_mistake() -> None:
    """An address holds its workspace."""
    files = [
        manifest(person("jane")),
        manifest(person("jane", file="b.yaml"), file="b.yaml", workspace="default"),
    ]

    assert resolve_desired(files, RULES).problems == ()


def test_two_entities_with_one_identity_are_told_apart_by_nobody() -> None:
    """Rule M2's key function: case, spaces and composed letters make no difference in an address."""
    one = entry("contact", "a", {"workEmailAddress1": "Jane@Example.com"}, line=1)
    two = entry("contact", "b", {"workEmailAddress1": " jane@example.COM "}, line=5)

    ((where, what),) = check(one, two)

    assert where == "a.yaml:6:5"
    assert what == "contact/ops/b: workEmailAddress1 is the same as in contact/ops/a, a.yaml:2."
    assert "example.com" not in what, "no personal data in a message"


def test_every_identity_field_must_be_unique_where_it_is_given() -> None:
    """Any of them may be the one that finds the live contact."""
    rules = Rules(
        workspaces=frozenset({"ops"}),
        identity=Identity({"contacts": ("custom.employeeId", "workEmailAddress1")}),
    )
    one = entry("contact", "a", {"custom.employeeId": "1", "workEmailAddress1": "a@example.com"}, line=1)
    two = entry("contact", "b", {"custom.employeeId": "2", "workEmailAddress1": "a@example.com"}, line=5)
    three = entry("contact", "c", {"custom.employeeId": "1"}, line=9)

    assert check(one, two, three, rules=rules) == [
        ("a.yaml:7:5", "contact/ops/b: workEmailAddress1 is the same as in contact/ops/a, a.yaml:3."),
        ("a.yaml:10:5", "contact/ops/c: custom.employeeId is the same as in contact/ops/a, a.yaml:2."),
    ]


@pytest.mark.parametrize("fields", [{"firstName": "Jane"}, {"workEmailAddress1": ""}])
def test_a_contact_without_identity_is_refused(fields: Fields) -> None:
    """It could never be found again, and would be created anew after every lost record."""
    assert check(entry("contact", "jane", fields)) == [
        ("a.yaml:1:3", "contact/ops/jane: workEmailAddress1 is needed to identify the contact.")
    ]


def test_an_identity_that_is_ignored_is_none() -> None:
    """Whoever edits it at the service would be made a second time after a lost store."""
    fields = {"workEmailAddress1": "jane@example.com"}
    controls = Controls(ignore=frozenset({"workEmailAddress1"}))

    assert check(entry("contact", "jane", fields, controls=controls)) == [
        (
            "a.yaml:2:5",
            "contact/ops/jane: meta.ignore names workEmailAddress1, which identifies the contact.",
        )
    ]


def test_one_of_several_identities_is_enough() -> None:
    """They are tried in order."""
    rules = Rules(
        workspaces=frozenset({"ops"}),
        identity=Identity({"contacts": ("custom.employeeId", "workEmailAddress1")}),
    )

    assert check(person("jane"), rules=rules) == []


def test_devices_are_unique_within_their_contact_and_app() -> None:
    """Two people may both have a device called Pixel."""
    jane, sam = person("jane"), person("sam", line=40)
    devices = [
        entry("device", "one", PIXEL, parent="jane", line=10),
        entry("device", "two", PIXEL, parent="jane", line=20),
        entry("device", "one", {**PIXEL, "pushToken": "another"}, parent="sam", line=50),
    ]

    assert check(jane, sam, *devices) == [
        (
            "a.yaml:22:5",
            "device/ops/jane/two: appId and deviceName are the same as in device/ops/jane/one, a.yaml:12.",
        )
    ]


def test_one_push_token_stands_under_one_contact_and_is_never_shown() -> None:
    """A phone that was moved in one place only would be reached through both people."""
    devices = [
        entry("device", "one", PIXEL, parent="jane", line=10),
        entry("device", "two", {**PIXEL, "deviceName": "Other"}, parent="sam", line=50),
    ]

    ((place, what),) = check(person("jane"), person("sam", line=40), *devices)

    assert "device/ops/sam/two: pushToken is the same as in device/ops/jane/one, a.yaml:" in what
    assert place.startswith("a.yaml:5")
    assert PIXEL["pushToken"] not in what


@pytest.mark.parametrize("path", sorted({*PIXEL} - {"pushToken"}))
def test_a_device_needs_all_its_fields(path: str) -> None:
    """The service takes no device without them; the places are the entry's, or the empty field's."""
    missing = {key: value for key, value in PIXEL.items() if key != path}

    problems = check(person("jane"), entry("device", "pixel", missing, parent="jane", line=10))

    assert problems == [("a.yaml:10:3", f"device/ops/jane/pixel: {path} is missing; every device needs it.")]


def test_a_device_may_leave_its_push_token_to_whoever_set_it() -> None:
    """An existing one is managed without; whether one has to be made is not known before what is live."""
    missing = {key: value for key, value in PIXEL.items() if key != "pushToken"}

    assert check(person("jane"), entry("device", "pixel", missing, parent="jane", line=10)) == []


def test_an_empty_push_token_is_a_mistake() -> None:
    """`""` clears a field, and a device without a token reaches nobody: a variable that is empty, mostly."""
    empty = {**PIXEL, "pushToken": ""}

    ((_, what),) = check(person("jane"), entry("device", "pixel", empty, parent="jane", line=10))

    assert what == "device/ops/jane/pixel: pushToken is empty; every device needs it."


def test_defaults_count_for_required_fields() -> None:
    """That is what they are for."""
    bare = {key: value for key, value in PIXEL.items() if key != "platform"}
    wanted = manifest(
        person("jane"),
        entry("device", "pixel", bare, parent="jane"),
        defaults={"device": {"platform": "APNS"}},
    )

    assert resolve_desired([wanted], RULES).problems == ()


@pytest.mark.parametrize("path", sorted(LIST))
def test_a_resource_needs_all_its_fields(path: str) -> None:
    """Empty is missing: on the wire they are the same."""
    problems = check(entry("resource", "list", {**LIST, path: ""}))

    assert problems[0][1] == f"resource/ops/list: {path} is empty; every resource needs it."


def test_resource_names_are_unique_whatever_the_identity() -> None:
    """The service finds resources by name alone."""
    rules = Rules(workspaces=frozenset({"ops"}), identity=Identity({"resources": ("content",)}))
    one = entry("resource", "a", LIST, line=1)
    two = entry("resource", "b", {**LIST, "content": "sha256:11"}, line=10)

    assert check(one, two, rules=rules) == [
        ("a.yaml:11:5", "resource/ops/b: name is the same as in resource/ops/a, a.yaml:2.")
    ]


def test_a_contact_has_no_more_devices_of_an_app_than_allowed() -> None:
    """The fourth is named, not all of them; another app counts on its own."""
    devices = [
        entry("device", f"d{n}", {**PIXEL, "deviceName": f"D{n}"}, parent="jane", line=10 * n)
        for n in range(1, 5)
    ]
    other = entry("device", "other", {**PIXEL, "appId": "com.example.other"}, parent="jane", line=90)

    assert check(person("jane"), *devices, other) == [
        ("a.yaml:40:3", "device/ops/jane/d4: this is device 4 of one app; a contact may have 3.")
    ]
    assert check(person("jane"), *devices, rules=Rules(workspaces=RULES.workspaces, device_limit=4)) == []


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("WorkMobilePhone2", "did you mean WorkMobilePhone1?"),
        ("Pager", "declare pager, or name another field"),
    ],
)
def test_messaging_options_name_a_field_that_the_contact_has(value: str, hint: str) -> None:
    """The service takes any word, and then reaches nobody."""
    fields = {"workEmailAddress1": "j@example.com", "workMobilePhone1": "+61491570156"}
    document = entry("contact", "jane", {**fields, "messagingOptions.sms.primary": value})

    (problem,) = resolve_desired([manifest(document)], RULES).problems

    assert problem.where == "a.yaml:4:5"
    assert problem.what == (
        f"contact/ops/jane: messagingOptions.sms.primary names {value}, which this contact does not declare."
    )
    assert problem.next == hint


def test_messaging_options_may_name_defaults_and_be_cleared() -> None:
    """Defaults are fields like any other; "" names nothing."""
    fields: Fields = {
        "workEmailAddress1": "j@example.com",
        "messagingOptions.sms.primary": "WorkMobilePhone1",
        "messagingOptions.sms.secondary": "",
        "messagingOptions.sms.enabled": True,
        "messagingOptions.email.enabled": False,
    }
    wanted = manifest(
        entry("contact", "jane", fields), defaults={"contact": {"workMobilePhone1": "+61491570156"}}
    )

    assert resolve_desired([wanted], RULES).problems == ()


def test_options_that_name_a_cleared_field_are_refused() -> None:
    """A field that is cleared here reaches nobody afterwards."""
    document = person("jane", workMobilePhone1="", deep={"messagingOptions.sms.primary": "WorkMobilePhone1"})

    assert len(check(document)) == 1


def test_the_mark_may_not_be_written_by_hand() -> None:
    """A wrong mark would hand a contact to another owner."""
    rules = Rules(workspaces=frozenset({"ops"}), mark="managedBy")

    assert check(person("jane", deep={"custom.managedBy": "me"}), rules=rules) == [
        (
            "a.yaml:3:5",
            "contact/ops/jane: custom.managedBy is the ownership mark, which this program writes.",
        )
    ]


def test_a_custom_field_has_no_search_prefix() -> None:
    """custom_ belongs to queries; in a body it would be another field."""
    assert check(person("jane", deep={"custom.custom_employeeId": "1"})) == [
        (
            "a.yaml:3:5",
            "contact/ops/jane: custom.custom_employeeId has the prefix custom_, which only searches use.",
        )
    ]


def _renamed(name: str, old: str, line: int) -> Document:
    fields = {"workEmailAddress1": f"{name}@example.com"}
    return entry("contact", name, fields, line=line, controls=Controls(renamed_from=old))


def test_a_rename_is_no_mistake() -> None:
    """Rule M6."""
    assert check(_renamed("jane", "jane-smith", 1)) == []


@pytest.mark.parametrize(
    ("documents", "what"),
    [
        ((_renamed("jane", "jane", 5),), "contact/ops/jane: meta.renamedFrom is the entry's own name."),
        (
            (person("old", line=1), _renamed("jane", "old", 5)),
            "contact/ops/jane: meta.renamedFrom: contact/ops/old is still declared, a.yaml:1.",
        ),
        (
            (_renamed("a", "old", 1), _renamed("jane", "old", 5)),
            "contact/ops/jane: meta.renamedFrom: contact/ops/a was contact/ops/old too, a.yaml:1.",
        ),
    ],
)
def test_a_rename_that_cannot_be_is_refused(documents: tuple[Document, ...], what: str) -> None:
    """One live entity can carry its identity over to one name only."""
    assert check(*documents) == [("a.yaml:5:3", what)]


def test_devices_are_renamed_within_their_contact() -> None:
    """The former name of a device is one of the same contact."""
    devices = [
        entry("device", "pixel", {**PIXEL, "pushToken": "another"}, parent="sam", line=30),
        entry("device", "new", PIXEL, parent="jane", line=10, controls=Controls(renamed_from="pixel")),
    ]

    assert check(person("jane"), person("sam", line=20), *devices) == []


@pytest.mark.parametrize("status", ["A", "d", "Active", "DISABLED"])
def test_every_spelling_of_a_status_is_taken(status: str) -> None:
    """The service knows them all."""
    assert check(person("jane", status=status)) == []


def test_a_status_that_is_none_is_refused() -> None:
    """Rosters bring values that no schema has seen."""
    assert check(person("jane", status="gone")) == [
        ("a.yaml:3:5", "contact/ops/jane: status must be one of A, D.")
    ]


@pytest.mark.parametrize("name", ["reconciler-lock.csv", "Reconciler-Lock.json"])
def test_a_resource_cannot_have_the_name_of_a_lock(name: str) -> None:
    """Such a resource is never read, so every plan would create it once more."""
    problems = check(entry("resource", "list", {**LIST, "name": name}))

    what = "names that begin with reconciler-lock. are reserved for the lock that runs keep in the service."
    assert problems == [("a.yaml:2:5", f"resource/ops/list: {what}")]


@pytest.mark.parametrize(
    ("scope", "mime", "wrong"),
    [
        ("private", "text/csv", False),
        ("private", "application/json", False),
        ("private", "application/xml", False),
        ("private", "image/png", True),
        ("private", "text/xml", True),
        ("public", "image/png", False),
    ],
)
def test_a_private_resource_has_a_type_for_imports(scope: str, mime: str, wrong: bool) -> None:  # noqa: FBT001 - a column of the table
    """The service refuses others, in the middle of an apply."""
    problems = check(entry("resource", "list", {**LIST, "scope": scope, "mimeType": mime}))

    expected = [("a.yaml:4:5", f"resource/ops/list: mimeType {mime} is not possible with scope private.")]
    assert problems == (expected if wrong else [])


def test_all_problems_come_at_once_sorted_by_file_and_line() -> None:
    """One run, one list, top to bottom."""
    files = [
        manifest(entry("contact", "z", {}, file="b.yaml", line=9), file="b.yaml", workspace="Ops"),
        manifest(entry("contact", "y", {}, line=9), entry("contact", "x", {}, line=4)),
    ]

    assert [where for where, _ in told(resolve_desired(files, RULES))] == [
        "a.yaml:4:3",
        "a.yaml:9:3",
        "b.yaml:2:1",
        "b.yaml:9:3",
    ]
