"""The two forms of the sandbox: what the specification says, and what recorded traffic shows."""

import dataclasses
import json
from typing import Any, get_args

import click
import pytest
from sandbox.asking import JANE, PIXEL, Sandbox, last_segment, origin
from sandbox.receiving import MOBILE, callback_body, message_body, receiving, sent

from reconciler.cli.commands.sandbox import SWITCHES, command, make_sandbox_config
from reconciler.sandbox.config import RECORDED, Like, SandboxConfig
from reconciler.sandbox.faults import FaultRule

# Of a program alone: a clock, what only tests of XML, links and timeouts need, a gateway that stores answers.
IN_PYTHON = {"clock", "caching", "key_in_links", "xml_prefixes", "callback_connect_s", "callback_answer_s"}


def config_of(arguments: list[str]) -> SandboxConfig:
    """What the command would serve."""
    given = command.make_context("sandbox", arguments).params
    return make_sandbox_config({name: value for name, value in given.items() if name != "port"})


@pytest.mark.spec("8/rule-2.prev")
@pytest.mark.parametrize("like", get_args(Like))
def test_each_form_is_the_one_that_its_source_shows(like: Like) -> None:
    """One row for each form that the two disagree about; the specification's is the default."""
    specification = like == "specification"
    sandbox = Sandbox(like=like, contacts=25)

    first, second = (sandbox.get(f"/contacts?offset={offset}").json()["link"] for offset in (0, 20))
    accepted = sandbox.post("/messages", message_body())
    device = sandbox.post(f"/contacts/{made(sandbox)}/devices", {**PIXEL, "status": "active"}).json()

    assert [link["rel"] for link in second] == ["prev" if specification else "previous"]
    assert first[0]["uri"].startswith(f"{origin}/") is specification
    assert accepted.headers["location"].startswith(f"{origin}/") is specification
    assert accepted.text.startswith("{") is specification
    assert device["status"] == ("active" if specification else "Active")
    ended = sandbox.get("/messages?offset=9").json()["status"]
    assert ended == ("No messages found" if specification else "No records found")


def made(sandbox: Sandbox) -> str:
    """The id of a new contact."""
    return last_segment(sandbox.post("/contacts", JANE).headers["location"])


@pytest.mark.parametrize("like", get_args(Like))
def test_a_callback_of_a_failed_delivery_has_the_keys_of_its_source(like: Like) -> None:
    """Specification 2.6 has location and acknowledged; public sources have two other words."""
    with receiving() as receiver:
        sandbox = Sandbox(like=like, link_base=None, callback_check=False)
        sandbox.created("/callbacks", callback_body(receiver.url))
        message = sent(sandbox, MOBILE, callbackId="approvals")
        sandbox.post(f"/_sandbox/messages/{message}/fail", {"reason": "Gone"})
        sandbox.post("/_sandbox/callbacks/deliver")

    (call,) = receiver.calls
    payload = json.loads(call.body)
    keys = {"location", "acknowledged"} if like == "specification" else {"messagelocation", "undeliverable"}
    assert keys <= payload.keys() | payload["responseMessage"].keys()


def test_the_specification_is_the_default_and_every_recorded_form_differs_from_it() -> None:
    """A form that both share belongs to neither table."""
    usual = SandboxConfig()
    for name, form in RECORDED.items():
        assert getattr(usual, name) != form
        assert getattr(SandboxConfig.like("recorded"), name) == form
        assert getattr(SandboxConfig.like("specification"), name) == getattr(usual, name)


def test_a_single_switch_goes_on_top_of_the_recorded_forms() -> None:
    found = SandboxConfig.like("recorded", prev_rel="prev", link_base=None)

    assert (found.prev_rel, found.link_base, found.send_answer) == ("prev", None, "text")


def test_every_option_of_the_sandbox_has_a_switch_on_the_command_line() -> None:
    """Somebody who tries another client has no Python at hand."""
    named = {parameter.name for parameter in command.params}
    options = {field.name for field in dataclasses.fields(SandboxConfig)}

    assert options - named == IN_PYTHON
    assert named - options == {"port", "like", "profile"}


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: switch.name)
def test_every_value_of_a_switch_is_one_that_the_sandbox_takes(switch: Any) -> None:
    """A misspelt value would be refused by the sandbox, or worse, do nothing."""
    field = switch.name.replace("-", "_")
    values: dict[type, str] = {click.types.IntRange: "3", click.types.FloatRange: "2.5"}
    if switch.values is None:
        given = [[f"--{switch.name}"], [f"--no-{switch.name}"]]
    else:
        words = (
            switch.values
            if isinstance(switch.values, tuple)
            else [values.get(type(switch.values), "https://a.example")]
        )
        given = [[f"--{switch.name}", word] for word in words]

    configs = [config_of(one) for one in given]

    assert len({str(getattr(one, field)) for one in configs}) == len(given)


def test_the_command_line_arms_faults() -> None:
    found = config_of(["--fault", "drop-after,method=POST,path=/contacts,times=null", "--fault", "latency"])

    assert found.faults == (
        FaultRule(fault="drop-after", method="POST", path="/contacts", times=None),
        FaultRule(fault="latency"),
    )


@pytest.mark.parametrize("line", ["", "lightning", "latency,seconds", "latency,seconds=soon", "latency,x=1"])
def test_a_fault_that_cannot_be_is_refused_by_the_command_line(line: str) -> None:
    """With the line itself, before anything listens."""
    with pytest.raises(click.BadParameter) as raised:
        config_of(["--fault", line])
    assert repr(line) in str(raised.value)


def test_what_is_not_given_is_left_to_the_form() -> None:
    """A switch that always had a value would undo --like recorded."""
    found = config_of(["--like", "recorded"])
    assert {name: getattr(found, name) for name in RECORDED} == RECORDED
    assert config_of(["--like", "recorded", "--prev-rel", "prev"]).prev_rel == "prev"
