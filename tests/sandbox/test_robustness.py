"""Whatever is sent, the sandbox answers as the service would, and stays whole."""

from typing import Any
from urllib.parse import urlencode

from hypothesis import given, settings
from hypothesis import strategies as st
from sandbox.asking import JANE, PIXEL, Sandbox, resource_body

from reconciler.sandbox.records import CONTACT_FIELDS, DEVICE_FIELDS, RESOURCE_FIELDS

values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
known = (
    *CONTACT_FIELDS,
    *DEVICE_FIELDS,
    *RESOURCE_FIELDS,
    "locations",
    "messagingoptions",
    "customFields",
    "devices",
)
bodies = st.dictionaries(st.sampled_from(known) | st.text(max_size=8), values, max_size=6)
paths = st.sampled_from(
    [
        "/contacts",
        "/contacts/{contact}",
        "/contacts/{contact}/devices",
        "/contacts/{contact}/devices/{device}",
        "/resources",
        "/resources/{resource}",
    ]
)
parameters = st.dictionaries(
    st.sampled_from(
        [
            "limit",
            "offset",
            "sortFields",
            "sortOrder",
            "fields",
            "customFields",
            "name",
            "custom_x",
            "firstName",
        ]
    ),
    st.text(max_size=6),
    max_size=4,
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["POST", "PUT"]), paths, st.sampled_from([{}, JANE, PIXEL, resource_body()]), bodies)
def test_no_body_breaks_it(method: str, path: str, base: dict[str, object], body: dict[str, object]) -> None:
    """Every answer is one of the documented codes, and everything that was there can still be read."""
    sandbox = Sandbox(rows="full")
    contact = sandbox.created("/contacts", JANE)
    device = sandbox.created(f"{contact}/devices", PIXEL)
    resource = sandbox.created("/resources", resource_body())
    ids = {
        name: one.rsplit("/", 1)[1]
        for name, one in (("contact", contact), ("device", device), ("resource", resource))
    }

    answer = sandbox.send(method, path.format(**ids), {**base, **body})

    assert answer.status_code in (201, 204, 405, 422)
    for one in (contact, device, resource, "/contacts?customFields=true", "/resources"):
        assert sandbox.get(one).status_code == 200


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["/contacts", "/resources", "/workspaces"]), parameters)
def test_no_query_breaks_it(path: str, query: dict[str, str]) -> None:
    """200, or 400 for what is no number and no order."""
    sandbox = Sandbox(contacts=30)

    answer = sandbox.get(f"{path}?{urlencode(query)}")

    assert answer.status_code in (200, 400)
    assert "status" in answer.json() or "errorText" in answer.json()
