"""The sandbox's description of itself: whole, current, and true of every answer that was asked for."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import effort
import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from jsonschema import Draft202012Validator
from sandbox.asking import JANE, PIXEL, Sandbox, named, resource_body, usual_headers
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi import checks

from reconciler.sandbox import openapi
from reconciler.sandbox.app import running_sandbox
from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.openapi import SCHEMAS, closed_object

SHIPPED = Path(__file__).parents[2] / "schemas" / "openapi.json"
DOCUMENT: Any = openapi.openapi_document(SandboxConfig())

requests_min = effort.count(small=300, full=600)
examples = {  # an operation
    schemathesis.GenerationMode.POSITIVE: effort.count(small=6, full=10),
    schemathesis.GenerationMode.NEGATIVE: effort.count(small=1, full=5),
}

Operation = APIOperation[Any, Any, Any, Any]

CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]


def test_the_shipped_description_is_the_current_one() -> None:
    """After a change that is meant, `script/generate-schemas` writes it anew."""
    current = json.dumps(DOCUMENT, indent=1, ensure_ascii=False) + "\n"

    assert SHIPPED.read_text(encoding="utf-8") == current, "schemas/openapi.json: run script/generate-schemas"


def test_it_is_served_without_credentials_and_names_its_own_address() -> None:
    """Tools begin with it, and know the address from it."""
    sandbox = Sandbox()

    answer = sandbox.get("/openapi.json", headers={"authorization": "", "x-api-key": "", "accept": ""})

    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {**DOCUMENT, "servers": [{"url": "http://sandbox.example.com"}]}
    assert sandbox.get("/_sandbox/requests").json()["total"] == 0


def test_the_vendor_of_its_media_types_is_the_configured_one() -> None:
    text = Sandbox(vendor="whispir").get("/openapi.json").text

    assert "vnd.whispir.contact-v1+json" in text
    assert "vnd.service." not in text


def test_every_schema_is_one_and_every_reference_leads_somewhere() -> None:
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema)
    for kind, name in references(DOCUMENT):
        assert name in DOCUMENT["components"][kind]


def references(node: Any) -> Iterator[tuple[str, str]]:
    """Section and name of every reference."""
    if isinstance(node, dict):
        if "$ref" in node:
            kind, name = str(node["$ref"]).removeprefix("#/components/").split("/")
            yield kind, name
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            yield from references(each)


def test_every_schema_is_used() -> None:
    """One that nothing points to describes nothing."""
    assert {name for kind, name in references(DOCUMENT) if kind == "schemas"} == set(SCHEMAS)


def test_every_endpoint_is_described_and_nothing_else() -> None:
    """Each address with and without a workspace, each method that it has; no control address."""
    endpoints = {e.__name__ for _, route in openapi.described_addresses() for e in route.methods.values()}
    operations = [one for path in DOCUMENT["paths"].values() for name, one in path.items() if name.isalpha()]

    assert endpoints == set(openapi.OPERATIONS)
    assert not any(path.startswith("/_sandbox") for path in DOCUMENT["paths"])
    ids = Counter(one["operationId"] for one in operations if "operationId" in one)
    assert max(ids.values()) == 1
    assert all(path.get("get") or path.get("post") for path in DOCUMENT["paths"].values())


@pytest.mark.parametrize("path", DOCUMENT["paths"])
def test_a_method_that_is_not_described_is_405_and_the_allowed_ones_are(path: str) -> None:
    sandbox = Sandbox(workspaces=(("Night Shift", named),))
    address = path.replace("{workspaceId}", named).replace("{", "").replace("}", "")
    described = {name.upper() for name in DOCUMENT["paths"][path]} - {"PARAMETERS"}

    for method in {"GET", "POST", "PUT", "DELETE", "PATCH"} - described:
        answer = sandbox.send(method, address)

        assert answer.status_code == 405
        assert set(answer.headers["allow"].split(", ")) == described


@pytest.mark.parametrize("query", ["limit=x", "offset=-1", "sortOrder=up"])
def test_a_list_that_refuses_a_query_says_so(query: str) -> None:
    """The list of workspaces has no pages, and refuses all the same."""
    sandbox = Sandbox()
    lists = ["/workspaces", "/contacts", "/resources", "/messages", "/callbacks"]

    refused = {path: sandbox.get(f"{path}?{query}").status_code for path in lists}

    assert refused == dict.fromkeys(lists, 400)
    described = {path: set(DOCUMENT["paths"][path]["get"]["responses"]) for path in lists}
    assert [path for path, statuses in described.items() if not statuses & {"400"}] == []


class Service:
    """The running sandbox as schemathesis sees it, with one of everything in each of two workspaces."""

    def __init__(self, base: str, client: httpx2.Client) -> None:
        self.base = base
        self.client = client
        self.headers = {name: usual_headers("/")[name] for name in ("authorization", "x-api-key")}
        self.people = [
            self._create(f"{prefix}/resources", resource_body(b"firstName\nKim\n")).rsplit("/", 1)[1]
            for prefix in ("", f"/workspaces/{named}")
        ]
        self.ids = {prefix: self._furnish(prefix) for prefix in ("", f"/workspaces/{named}")}
        token = self._send("POST", "/auth").json()["token"]
        self.bearer = {**self.headers, "authorization": f"Bearer {token}"}

    def description(self) -> Any:
        """What is served, with two changes: callbacks call the sandbox itself, imports read our people."""
        found = deepcopy(self._send("GET", "/openapi.json").json())
        for name in ("NewCallback", "Callback"):
            found["components"]["schemas"][name]["properties"]["url"] = {"enum": [self._callable]}
        # Chance would never guess the id of a resource that has rows, nor the names of its columns.
        for prefix, people in zip(("", "/workspaces/{workspaceId}"), self.people, strict=True):
            whole: dict[str, object] = {"resourceId": {"const": people}, "importType": {"const": "contact"}}
            content = found["paths"][f"{prefix}/imports"]["post"]["requestBody"]["content"]
            for described in content.values():
                if "schema" in described:
                    described["schema"] = closed_object(whole)
        return found

    def parameters(self, path: str) -> dict[str, str]:
        """Ids of what is there, for an address."""
        inside = path.startswith("/workspaces/{workspaceId}/")
        return {**self.ids[f"/workspaces/{named}" if inside else ""], "workspaceId": named}

    @property
    def _callable(self) -> str:
        return f"{self.base}/openapi.json"

    def _furnish(self, prefix: str) -> dict[str, str]:
        contact = self._create(f"{prefix}/contacts", JANE)
        device = self._create(f"{contact}/devices", PIXEL)
        resource = self._create(f"{prefix}/resources", resource_body())
        name = f"callback {prefix}"
        callback = self._create("/callbacks", {"name": name, "url": self._callable})
        message = self._create(
            f"{prefix}/messages", {"to": JANE["workMobilePhone1"], "subject": "Shift", "callbackId": name}
        )
        made = {
            "contactId": contact,
            "deviceId": device,
            "resourceId": resource,
            "callbackId": callback,
            "messageId": message,
        }
        return {name: path.rsplit("/", 1)[1] for name, path in made.items()}

    def _create(self, path: str, body: object) -> str:
        answer = self._send("POST", path, body)
        assert answer.status_code in (201, 202), answer.text
        return str(answer.headers["location"]).removeprefix(self.base)

    def _send(self, method: str, path: str, body: object = None) -> httpx2.Response:
        return self.client.request(method, self.base + path, json=body, headers=usual_headers(path))


@contextmanager
def furnished() -> Iterator[Service]:
    config = SandboxConfig(contacts=30, workspaces=(("Night Shift", named),), message_cycle_s=0)
    with running_sandbox(config) as base, httpx2.Client() as client:
        yield Service(base, client)


def test_no_generated_request_gets_an_answer_outside_the_description(
    record_property: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Right and wrong requests to every operation: no server error, and nothing that is not described.

    Deletes come last, the innermost first. The ids of most requests are of things that are there, so that
    most requests get behind the 404.
    """
    answers: Counter[tuple[str, int]] = Counter()
    with furnished() as service:
        found = schemathesis.openapi.from_dict(service.description())
        operations = [result.ok() for result in found.get_all_operations() if isinstance(result, Ok)]
        for operation in sorted(operations, key=lambda one: (one.method == "delete", -len(one.path))):
            ask(service, operation, answers)

    total = sum(answers.values())
    fine = {label for (label, status) in answers if 200 <= status < 300}
    record_property("generated requests", total)
    with capsys.disabled():
        print(f" {total} generated requests, {len(operations)} operations,", end=" ")  # noqa: T201 - the number is a promise
    assert total >= requests_min
    # Of calls there are none here that somebody could have dealt with: nobody has replied.
    assert {operation.label for operation in operations} - fine == {"PUT /callbacks/{callbackId}/calls"}


def ask(service: Service, operation: Operation, answers: Counter[tuple[str, int]]) -> None:
    """Sends generated requests to one operation, and checks each answer against the description."""
    known = service.parameters(operation.path)
    ids = {name: value for name, value in known.items() if f"{{{name}}}" in operation.path}
    headers = service.bearer if operation.path == "/auth/verify" else service.headers
    for mode, count in examples.items():
        for path_parameters in [ids, None] if ids and operation.method != "delete" else [ids or None]:
            cases = operation.as_strategy(generation_mode=mode, path_parameters=path_parameters)

            @seed(20261120)
            @settings(
                max_examples=count if path_parameters or not ids else 3,
                phases=[Phase.generate],
                database=None,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            )
            @given(case=cases)
            def send(case: Any) -> None:
                response = case.call(base_url=service.base, headers=headers)
                answers[operation.label, response.status_code] += 1
                case.validate_response(response, checks=CHECKS)

            send()
