"""Every address there is, with and without a workspace, by every method, in both forms.

Source: specification 4, 7 and 9, docs/service.md on addresses. Walked from the table of addresses
itself, so that no new one goes without these rules.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from sandbox.asking import Sandbox, named, vendor_type

from reconciler.sandbox.routing import COMPANY, ROUTES, WORKSPACE, WORKSPACES, Route

METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH")
unknown = "0123456789ABCDEF"


def addresses() -> Iterator[tuple[str, Route]]:
    """Every path, its ids such as nobody has, and what is there."""
    yield "/", COMPANY
    yield "/workspaces", WORKSPACES
    yield f"/workspaces/{named}", WORKSPACE
    for (names, length), route in ROUTES.items():
        segments = [part for name in names for part in (name, unknown)][:length]
        path = "/" + "/".join(segments)
        yield path, route
        if route.in_workspaces:
            yield f"/workspaces/{named}{path}", route


ADDRESSES = tuple(addresses())
FORMS = ("json", "xml")
each_address = pytest.mark.parametrize(("path", "route"), ADDRESSES, ids=[path for path, _ in ADDRESSES])
each_form = pytest.mark.parametrize("form", FORMS)


def sandbox() -> Sandbox:
    return Sandbox(workspaces=(("Night Shift", named),))


def typed(route: Route, form: str) -> str:
    return vendor_type(route.kind).replace("json", form)


@each_form
@each_address
def test_a_method_that_an_address_has_not_is_405(path: str, route: Route, form: str) -> None:
    """Specification 4.3, 7: METHOD not supported, in the form that was asked for, with what is allowed."""
    headers = {"accept": typed(route, form), "content-type": typed(route, form)}
    asked = sandbox()

    for method in (method for method in METHODS if method not in route.methods):
        answer = asked.send(method, path, headers=headers)

        assert answer.status_code == 405
        assert "METHOD not supported" in answer.text
        assert answer.headers["content-type"] == typed(route, form)
        assert answer.headers["allow"] == ", ".join(route.methods)


@each_form
@each_address
def test_an_address_answers_in_the_form_that_was_asked_for(path: str, route: Route, form: str) -> None:
    """Specification 9: 200 where a list or the root stands, 404 (401 for tokens) for ids that nobody has."""
    if "GET" not in route.methods:
        assert route.kind in ("auth", "importcontact")
        return
    answer = sandbox().get(path, headers={"accept": typed(route, form)})

    assert answer.status_code in (200, 401, 404)
    assert answer.headers["content-type"] == typed(route, form)
    assert answer.content.startswith(b"<?xml" if form == "xml" else b"{")


@each_address
def test_an_address_refuses_types_that_it_has_not(path: str, route: Route) -> None:
    """406 for the answer, 415 for a body; both before anybody looks for the record."""
    asked, ours = sandbox(), vendor_type(route.kind)

    for method in route.methods:
        refused = asked.send(method, path, headers={"accept": "text/html", "content-type": ours})
        assert refused.status_code == 406
        if method in ("POST", "PUT") and route.takes_body:
            wrong = asked.send(method, path, headers={"accept": ours, "content-type": "application/json"})
            assert wrong.status_code == 415
            assert ours in wrong.json()["errorText"]
            assert ours.replace("json", "xml") in wrong.json()["errorText"]


@pytest.mark.parametrize("path", [path for path, route in ADDRESSES if not route.in_workspaces])
def test_what_belongs_to_the_company_is_in_no_workspace(path: str) -> None:
    """Facts 6, 8: callbacks and tokens; 404 behind a workspace."""
    assert sandbox().get(f"/workspaces/{named}{path}").status_code == 404


@each_form
@pytest.mark.parametrize("start", ["/", f"/workspaces/{named}"])
def test_every_link_of_the_root_and_of_a_workspace_leads_somewhere(start: str, form: str) -> None:
    """Facts 1, 7: each retrieve is read, and each create names what it takes."""
    asked = sandbox()
    document: Any = asked.get(start, headers={"accept": "application/json"}).json()

    for link in document["link"]:
        path = link["uri"].removeprefix("http://sandbox.example.com")
        if link["method"] == "GET":
            kind = next(route.kind for at, route in ADDRESSES if at == path)
            answer = asked.get(path, headers={"accept": vendor_type(kind).replace("json", form)})
            assert answer.status_code == 200
        else:
            refused = asked.send(link["method"], path, headers={"content-type": "text/plain"})
            assert refused.status_code in (406, 415)
            assert all(one.endswith(("+json", "+xml")) for one in link["type"].split(","))
