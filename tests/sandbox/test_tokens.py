"""Bearer tokens. Source: docs/service.md, credentials."""

import base64
from collections.abc import Callable

import pytest
from sandbox.asking import JANE, Clock, Sandbox, vendor_type

AUTH = {"accept": vendor_type("auth"), "content-type": ""}


def token_of(sandbox: Sandbox) -> str:
    answer = sandbox.post("/auth", headers=AUTH)
    assert answer.status_code == 200, answer.text
    token: str = answer.json()["token"]
    return token


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def test_user_and_key_get_a_token() -> None:
    """Facts 8: POST /auth without a body answers 200 with the token and no links, of the kind auth."""
    answer = Sandbox().post("/auth", headers=AUTH)

    assert (answer.status_code, answer.headers["content-type"]) == (200, vendor_type("auth"))
    assert list(answer.json()) == ["token", "link"]
    assert answer.json()["link"] == []
    assert answer.json()["token"].count(".") == 2


def test_a_token_comes_in_xml_too() -> None:
    """Specification 9: every kind has both forms."""
    answer = Sandbox().post("/auth", headers={**AUTH, "accept": "application/vnd.service.auth-v1+xml"})

    assert answer.status_code == 200
    assert b"<token>" in answer.content


def test_a_token_stands_in_for_user_and_password() -> None:
    """Facts 8: Bearer instead of Basic, on every address; the key is needed all the same."""
    sandbox = Sandbox()
    token = token_of(sandbox)

    assert sandbox.post("/contacts", JANE, headers=bearer(token)).status_code == 201
    assert sandbox.get("/contacts", headers=bearer(token)).json()["status"] == "1 to 1 of 1    "
    assert sandbox.get("/contacts", headers={**bearer(token), "x-api-key": "wrong"}).status_code == 403


def test_a_token_can_be_verified() -> None:
    """Facts 8: GET /auth/verify. That it shows the token again is assumed."""
    sandbox = Sandbox()
    token = token_of(sandbox)

    answer = sandbox.get("/auth/verify", headers={**AUTH, **bearer(token)})

    assert (answer.status_code, answer.json()) == (200, {"token": token, "link": []})


def test_without_a_token_there_is_nothing_to_verify() -> None:
    """Assumed: 401 for somebody who comes with the password."""
    assert Sandbox().get("/auth/verify", headers=AUTH).status_code == 401


def test_a_token_is_no_way_to_another_one() -> None:
    """Assumed: or a stolen token would live for ever."""
    sandbox = Sandbox()

    assert sandbox.post("/auth", headers={**AUTH, **bearer(token_of(sandbox))}).status_code == 401


def test_a_token_lives_as_long_as_configured_on_the_sandbox_s_clock() -> None:
    """No source tells the lifetime. Past it: 401, and nothing is done."""
    clock = Clock()
    sandbox = Sandbox(clock=clock, token_lifetime_s=60)
    token = token_of(sandbox)

    clock.pass_s(59)
    good = sandbox.get("/contacts", headers=bearer(token)).status_code
    clock.pass_s(1)
    late = sandbox.post("/contacts", JANE, headers=bearer(token))

    assert (good, late.status_code) == (200, 401)
    assert sandbox.get("/contacts").json()["status"] == "No records found"


def _forged(token: str) -> str:
    head, _, signature = token.split(".")
    claims = base64.urlsafe_b64encode(b'{"sub":"demo","iat":0,"exp":99999999999}').decode().rstrip("=")
    return f"{head}.{claims}.{signature}"


@pytest.mark.parametrize(
    "change", [_forged, str.upper, lambda token: token[:-1], lambda _: "", lambda _: "ä.b.c"]
)
def test_a_token_that_was_tampered_with_is_401(change: Callable[[str], str]) -> None:
    """Only what this sandbox signed counts."""
    sandbox = Sandbox()

    assert sandbox.get("/contacts", headers=bearer(change(token_of(sandbox)))).status_code == 401


def test_a_token_of_other_credentials_is_401() -> None:
    """A changed password ends the tokens that were made with the old one."""
    token = token_of(Sandbox(clock=Clock(), api_key="demo-key"))

    assert Sandbox(clock=Clock()).get("/contacts", headers=bearer(token)).status_code == 200
    assert Sandbox(clock=Clock(), password="x").get("/contacts", headers=bearer(token)).status_code == 401


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/auth", 405),
        ("DELETE", "/auth", 405),
        ("POST", "/auth/verify", 405),
        ("GET", "/auth/other", 404),
        ("GET", "/workspaces/4C8FE1A2B3D4E5F6/auth", 404),
    ],
)
def test_there_is_nothing_else_below_auth(method: str, path: str, status: int) -> None:
    """Tokens belong to the company, to no workspace."""
    sandbox = Sandbox(workspaces=(("Night Shift", "4C8FE1A2B3D4E5F6"),))

    assert (
        sandbox.send(method, path, headers={**AUTH, "content-type": vendor_type("auth")}).status_code
        == status
    )
