"""Claims about profiles: which are shipped, how a project writes its own, and that what they say is done."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec import structs
from service.support import ID, Clock, Wire, answer, contact, failure, listing, sandbox, service, with_client

from reconciler.errors import Rejected, SettingsError
from reconciler.messaging.client import ServiceClient
from reconciler.model.kinds import CONTACT
from reconciler.service.paging import Query
from reconciler.service.profile import file_bytes_max, load_profile, parse_profile


def with_profile(name: str | Path, **limits: Any) -> Any:
    """Settings with this profile."""
    return structs.replace(service(**limits), profile=str(name))


def written(folder: Path, text: str) -> Path:
    file = folder / "ours.yaml"
    file.write_text(text, "utf-8")
    return file


def test_the_public_service_differs_where_its_documentation_does() -> None:
    """The same interface under another vendor token; nothing of the specification is switched off."""
    ours, theirs = load_profile("service"), load_profile("whispir")

    assert (ours.vendor, theirs.vendor) == ("service", "whispir")
    assert theirs.page_max == ours.page_max == 20
    assert theirs.next_relations == ours.next_relations
    assert theirs.previous_relations == ours.previous_relations
    assert theirs.missing == ours.missing == frozenset()
    assert (ours.limits.request_bytes, theirs.limits.request_bytes) == (0, 10_485_760)


def test_a_profile_of_the_project_says_only_what_differs(tmp_path: Path) -> None:
    """`base` stands for the rest; capabilities are joined one by one, lists are replaced whole."""
    file = written(
        tmp_path, "base: whispir\nvendor: ours\nunpaged: []\ncapabilities: {devices_write: false}\n"
    )

    profile = load_profile(str(file))

    assert (profile.vendor, profile.unpaged) == ("ours", frozenset())
    assert profile.missing == {("device", "create"), ("device", "delete")}
    assert profile.limits == load_profile("whispir").limits


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "ours.yaml:1:1 cannot be used: the file is empty."),
        ("- vendor", "the file is not a mapping"),
        ("vendor: ours", "missing required field"),
        ("base: nobody", "ours.yaml:1:1 cannot be used: its base 'nobody' is none of service, whispir"),
        ("base: service\nvendr: x", "ours.yaml:2:1 cannot be used: Object contains unknown field `vendr`"),
        ("base: service\ncapabilities: {device_write: false}", "ours.yaml:2:16 cannot be used:"),
        ("base: service\ncapabilities: {devices_write: 'no'}", "Expected `bool`"),
        ("base: service\npage_max: 0", "`int` >= 1"),
        ("base: service\nvendor: 'a b'", "matching regex"),
        ('base: service\nvendor: "a\\r\\nX-Evil: 1"', "matching regex"),
        ("base: service\nlimits: {requests_per_second: -1}", ">= 0"),
        ("base: service\nvendor: a\nvendor: b", "ours.yaml:3:1 cannot be used: vendor occurs twice"),
        ("base: [service", "ours.yaml"),
        ("base: !!python/object:os.system x", "ours.yaml"),
        ("base: service\nfield_names: {'a b': c}", "matching regex"),
    ],
)
def test_a_profile_that_cannot_be_used_says_why(text: str, words: str, tmp_path: Path) -> None:
    """A misspelt capability would be a write that nobody allowed."""
    with pytest.raises(SettingsError) as raised:
        load_profile(str(written(tmp_path, text)))

    assert words in str(raised.value)
    assert str(tmp_path) not in str(raised.value)
    assert raised.value.next


def test_a_file_that_is_no_file_or_too_large_is_refused(tmp_path: Path) -> None:
    """Before it is parsed."""
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        load_profile(str(tmp_path / "none.yaml"))
    large = written(tmp_path, "#" * (file_bytes_max + 1))
    with pytest.raises(SettingsError, match="larger than 64 KiB"):
        load_profile(str(large))


def test_a_field_that_the_deployment_spells_in_its_own_way_is_ours_above_the_client() -> None:
    """Read, written, wished for and searched: manifests know one name, each deployment gets its own."""
    row = contact(ID, workSetellitePhone="+61491570156")
    wire = Wire(answer(200, listing([row], "1 to 1 of 1    ")), answer(200, row), answer(204))

    async def work(client: ServiceClient) -> list[dict[str, Any]]:
        rows = await client.contacts.search(
            Query({"workSatellitePhone": "+61"}, fields=("workSatellitePhone",))
        )
        whole = await client.contacts.get(ID)
        await client.contacts.replace(ID, whole.body)
        return [rows[0].body, whole.body]

    found = with_client(wire, work, settings=with_profile("whispir"))

    assert [body.get("workSatellitePhone") for body in found] == ["+61491570156"] * 2
    assert not any("workSetellitePhone" in body for body in found)
    assert "workSetellitePhone" in wire.sent[0].url.params["fields"].split(",")
    assert wire.sent[0].url.params["workSetellitePhone"] == "+61"
    assert b'"workSetellitePhone":"+61491570156"' in wire.sent[2].content
    assert b"workSatellitePhone" not in wire.sent[2].content


def test_two_spellings_at_once_are_both_left_alone() -> None:
    """Which of them counts is not ours to guess; a full replace keeps both."""
    body = {"workSetellitePhone": "1", "workSatellitePhone": "2", "firstName": "Jane"}
    profile = load_profile("whispir")

    assert profile.read(CONTACT, dict(body)) == body
    assert profile.written(CONTACT, body) == body


def test_a_request_larger_than_the_deployment_takes_is_not_sent(tmp_path: Path) -> None:
    """It would be refused after all of it had travelled."""
    file = written(tmp_path, "base: service\nlimits: {request_bytes: 100}\n")
    wire = Wire(answer(204))

    error = failure(
        wire,
        lambda client: client.contacts.replace(ID, {"firstName": "J" * 100}),
        settings=with_profile(file),
    )

    assert isinstance(error, Rejected)
    assert "takes 100" in str(error)
    assert "JJJ" not in str(error)
    assert wire.sent == []


@pytest.mark.parametrize(("wished", "slept"), [(0.0, 0.5), (100.0, 0.5), (1.0, 1.0)])
def test_the_lower_of_two_rates_holds(wished: float, slept: float, tmp_path: Path) -> None:
    """The settings may ask for less than the deployment takes, never for more."""
    file = written(tmp_path, "base: service\nlimits: {requests_per_second: 2}\n")
    clock = Clock()

    async def work(client: ServiceClient) -> None:
        for _ in range(20):
            await client.contacts.get(ID)

    settings = with_profile(file, requests_per_second=wished)
    with_client(Wire(answer(200, contact(ID))), work, clock=clock, settings=settings)

    assert max(clock.slept) == pytest.approx(slept)


def test_the_vendor_word_is_in_every_media_type() -> None:
    """Specification 9; the sandbox refuses any other."""
    app = sandbox(vendor="whispir")

    async def work(client: ServiceClient) -> int:
        await client.contacts.create({"firstName": "Jane", "lastName": "Doe"})
        return len(await client.contacts.list())

    assert isinstance(app, httpx2.ASGITransport)
    assert with_client(app, work, settings=with_profile("whispir")) == 1
    error = failure(app, lambda client: client.contacts.list(), settings=with_profile("service"))
    assert isinstance(error, Rejected)
    assert "check service.profile" in error.next or error.status == 406


def test_the_text_of_a_profile_is_read_strictly() -> None:
    """The shipped ones are read by the same rules."""
    with pytest.raises(SettingsError, match="unknown field `messages`"):
        parse_profile(b"base: service\nretention: {messages: 1}", "ours.yaml")
