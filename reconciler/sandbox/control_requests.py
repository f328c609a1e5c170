"""The control interface below /_sandbox/, unknown to the real service: plain JSON.

It wants user and password in the Basic scheme, or a token, and no key. Without them only the content of a
public resource is shown.

    POST   /_sandbox/contacts/{cid}           {"jobTitle": "..."}            an edit in the portal
    POST   /_sandbox/devices/{did}/push       {"result": "ok" | "fail"}      one push to the device
    POST   /_sandbox/resources/expire         {} or {"ids": [...]}           these resources, or all, expire
    GET    /_sandbox/resources/{rid}/content                                 what was uploaded, with its type
    POST   /_sandbox/clock                    {"advance_s": 60}              the clock goes on
    POST   /_sandbox/messages                 {"user", "workspace"?, "to"}   a message of another user
    POST   /_sandbox/messages/run             {}                             the queue is executed
    POST   /_sandbox/messages/{mid}/reply     {"from"?, "content", "channel"?}  a recipient answers
    POST   /_sandbox/messages/{mid}/fail      {"to"?, "reason"?}             a delivery fails
    POST   /_sandbox/callbacks/deliver        {}                             calls that are due are made
    POST   /_sandbox/faults                   a rule of faults.py            arms a fault; answers its id
    GET    /_sandbox/faults                                                  armed faults, and those there are
    DELETE /_sandbox/faults[/{fid}]                                          disarms this one, or all
    GET    /_sandbox/requests                                                the requests served, oldest first
    DELETE /_sandbox/requests                                                forgets them
"""

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite

import msgspec

from reconciler.sandbox import callback_calls, contacts, devices, message_endpoints, messages
from reconciler.sandbox.calls import Outgoing
from reconciler.sandbox.contacts import cut_to_seconds
from reconciler.sandbox.documents import DocumentWriter
from reconciler.sandbox.faults import FaultRule, Faults
from reconciler.sandbox.message_documents import responder_document
from reconciler.sandbox.message_endpoints import create_message
from reconciler.sandbox.messages import read_message
from reconciler.sandbox.records import Body, Message, Resource, device_of, device_state, with_device
from reconciler.sandbox.refusals import (
    body_text,
    invalid,
    malformed,
    method_not_supported,
    not_found,
    require_filled,
)
from reconciler.sandbox.state import State

control_prefix = "/_sandbox/"
advance_max_s = 366 * 86_400.0  # one move of the clock; more than a year is a slip
requests_max = 50_000  # requests remembered; older ones are counted and forgotten


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """One request that was answered."""

    method: str
    path: str
    query: Mapping[str, str]
    status: int


class RequestLog:
    """The last requests, how many there were in all, and how many are not answered yet.

    Those below /_sandbox/ are not among them.
    """

    def __init__(self) -> None:
        self._served: deque[ServedRequest] = deque(maxlen=requests_max)
        self._total = 0
        self._under_way = 0

    @contextmanager
    def arriving(self) -> Iterator[None]:
        """A context in which one request is under way; its sender may have disconnected."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    def add(self, served: ServedRequest) -> None:
        """One more request was answered."""
        self._served.append(served)
        self._total += 1

    def clear(self) -> None:
        """Counting starts again."""
        self._served.clear()
        self._total = 0

    def document(self) -> Body:
        """The requests, with their queries except the key."""
        shown = [
            {
                "method": served.method,
                "path": served.path,
                "query": {name: value for name, value in served.query.items() if name != "apikey"},
                "status": served.status,
            }
            for served in self._served
        ]
        return {"total": self._total, "under_way": self._under_way, "requests": shown}


# --- Which request does what ----------------------------------------------------------------------


async def carry_out_control(state: State, log: RequestLog, method: str, path: str, body: bytes) -> Outgoing:
    """Carries out one control request; refuses (404, 405, 400, 422) as the service does."""
    match path.removeprefix(control_prefix).split("/"):
        case ["requests"]:
            return _control_requests(log, method)
        case ["contacts", contact_id]:
            _require_method(method, "POST")
            return _json_answer(_edit_contact(state, contact_id, _read_control_body(body)))
        case ["devices", device_id, "push"]:
            _require_method(method, "POST")
            return _json_answer(_push_to_device(state, device_id, _read_control_body(body)))
        case ["resources", "expire"]:
            _require_method(method, "POST")
            return _json_answer(_expire_resources(state, _read_control_body(body)))
        case ["resources", resource_id, "content"]:
            _require_method(method, "GET")
            resource = _find_resource(state, resource_id)
            return Outgoing(200, resource.content, resource.mime_type)
        case ["clock"] | ["messages", *_] | ["callbacks", *_] as parts:
            _require_method(method, "POST")
            return _json_answer(await _control_messages(state, parts, _read_control_body(body)))
        case ["faults"]:
            return _control_faults(state.faults, method, body)
        case ["faults", fault_id]:
            _require_method(method, "DELETE")
            if not state.faults.disarm(fault_id):
                raise not_found()
            return Outgoing(204)
        case _:
            raise not_found()


def is_public_content(state: State, path: str) -> bool:
    """Does this path lead to the content of a public resource?"""
    match path.removeprefix(control_prefix).split("/"):
        case ["resources", resource_id, "content"]:
            return any(one.id == resource_id and one.scope == "public" for one in _all_resources(state))
        case _:
            return False


async def _control_messages(state: State, parts: list[str], body: Body) -> Body:
    """Carry out a request about the clock, messages or calls; `parts` is its address below the prefix."""
    match parts:
        case ["clock"]:
            return _advance_clock(state, body)
        case ["messages"]:
            return _send_as_other_user(state, body)
        case ["messages", "run"]:
            return {"executed": message_endpoints.execute_due_messages(state, by_hand=True)}
        case ["messages", message_id, "reply"]:
            return _reply_to_message(state, message_id, body)
        case ["messages", message_id, "fail"]:
            return _fail_message(state, message_id, body)
        case ["callbacks", "deliver"]:
            return await deliver_calls(state)
        case _:
            raise not_found()


def _advance_clock(state: State, body: Body) -> Body:
    """The clock is moved forward; refuses (422) a clock that cannot be, and any other way."""
    seconds = body.get("advance_s")
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not isfinite(seconds):
        raise invalid("advance_s must be a number of seconds")
    if not 0 <= seconds <= advance_max_s:
        raise invalid(f"advance_s must be 0 to {advance_max_s:.0f}")
    move = getattr(state.config.clock, "advance", None)
    if not callable(move):
        raise invalid("the clock of this sandbox cannot be moved")
    move(seconds)
    state.mail.news.set()
    return {"now": state.config.clock().isoformat()}


def _send_as_other_user(state: State, body: Body) -> Body:
    """Another user sends a message; refuses (422) the user of the API, and what the service refuses."""
    user, workspace = body.pop("user", None), body.pop("workspace", "")
    if not isinstance(user, str) or user in ("", state.config.username):
        raise invalid("user must name somebody else than the user of the API")
    shelf = state.shelves.get(str(workspace))
    if shelf is None:
        raise not_found()
    prefix = f"/workspaces/{shelf.id}" if shelf.id else ""
    writer = DocumentWriter(state.config, state.config.link_base or "", prefix)
    message = create_message(state, shelf, writer, read_message(body), user=user)
    return {"messageid": message.id}


def _reply_to_message(state: State, message_id: str, body: Body) -> Body:
    """A recipient answers the message: what the service makes of it, and how many callbacks are called."""
    message = _require_message(state, message_id)
    content, channel = body_text(body, "content"), body_text(body, "channel")
    require_filled(body, ("content",))
    at = messages.find_recipient(message, body_text(body, "from"))
    after, calls = message_endpoints.record_reply(state, message, at, content, channel)
    recipient = after.recipients[at]
    return {
        "messageid": message.id,
        "from": responder_document(recipient),
        "responseCategory": messages.reply_category(recipient),
        "calls": calls,
    }


def _fail_message(state: State, message_id: str, body: Body) -> Body:
    """A delivery of the message fails: whose, and how many callbacks are called."""
    message = _require_message(state, message_id)
    at = messages.find_recipient(message, body_text(body, "to"))
    reason = body_text(body, "reason") or "Delivery failed"
    after, calls = message_endpoints.record_failure(state, message, at, reason)
    return {
        "messageid": message.id,
        "to": responder_document(after.recipients[at]),
        "reason": reason,
        "calls": calls,
    }


async def deliver_calls(state: State) -> Body:
    """The calls that are due are made now: how many ended how, and how many still wait.

    Those that were under way by themselves have ended too when this answers; they are not counted.
    """
    await callback_calls.wait_for_calls(state)
    done = await callback_calls.deliver_due_calls(state)
    await callback_calls.wait_for_calls(state)
    return {"success": done.success, "failed": done.failed, "waiting": len(state.mail.waiting)}


def _require_message(state: State, message_id: str) -> Message:
    message_endpoints.execute_due_messages(state)
    message = state.mail.messages.get(message_id)
    if message is None:
        raise not_found()
    return message


# --- Contacts, devices, resources, faults ---------------------------------------------------------


def _control_faults(faults: Faults, method: str, body: bytes) -> Outgoing:
    _require_method(method, "GET", "POST", "DELETE")
    if method == "GET":
        return _json_answer(faults.document())
    if method == "DELETE":
        faults.disarm_all()
        return Outgoing(204)
    try:
        rule = msgspec.convert(_read_control_body(body), FaultRule)
    except msgspec.ValidationError as cause:
        raise invalid(str(cause)) from None
    return Outgoing(201, msgspec.json.encode(faults.arm(rule).document()))


def _control_requests(log: RequestLog, method: str) -> Outgoing:
    if method == "DELETE":
        log.clear()
        return Outgoing(204)
    _require_method(method, "GET", "DELETE")
    return _json_answer(log.document())


def _edit_contact(state: State, contact_id: str, body: Body) -> Body:
    contact = next((one for shelf in state.shelves.values() if (one := shelf.contact(contact_id))), None)
    if contact is None:
        raise not_found()
    state.put_contact(contacts.edit_contact(contact, body, now=state.config.clock()))
    return {"edited": sorted(body)}


def _push_to_device(state: State, device_id: str, body: Body) -> Body:
    result = body.get("result")
    if result not in ("ok", "fail"):
        raise invalid('result must be "ok" or "fail"')
    contact = state.contact_of_device(device_id)
    device = device_of(contact, device_id) if contact else None
    if contact is None or device is None:
        raise not_found()
    done = devices.push_device(device, delivered=result == "ok")
    changed = with_device(contact, done.device)
    if state.config.device_touches_contact and done.device.status != device.status:
        changed = msgspec.structs.replace(changed, modified=cut_to_seconds(state.config.clock()))
    state.put_contact(changed)
    after = done.device
    shown = after.status if state.config.device_status == "written" else device_state(after)
    counts = {
        "failures": after.failures,
        "pushesCharged": after.charged,
        "pushesNotDelivered": after.undelivered,
    }
    return {"status": shown, "delivered": done.delivered, "charged": done.charged, **counts}


def _expire_resources(state: State, body: Body) -> Body:
    if "ids" not in body:
        return {"expired": state.drop_records("resource", _all_resources(state))}
    ids = body["ids"]
    if not isinstance(ids, list):
        raise invalid("ids must be a list")
    named = [_find_resource(state, one) for one in dict.fromkeys(map(str, ids))]
    return {"expired": state.drop_records("resource", named)}


def _find_resource(state: State, resource_id: str) -> Resource:
    found = next((one for one in _all_resources(state) if one.id == resource_id), None)
    if found is None:
        raise not_found()
    return found


def _all_resources(state: State) -> Iterator[Resource]:
    return (one for shelf in state.shelves.values() for one in shelf.resources.values())


def _require_method(method: str, *allowed: str) -> None:
    if method not in allowed:
        raise method_not_supported(allowed)


def _read_control_body(body: bytes) -> Body:
    try:
        return msgspec.json.decode(body or b"{}", type=dict[str, object])
    except (ValueError, RecursionError):  # msgspec's own errors are ValueErrors
        raise malformed("the body must be a JSON object") from None


def _json_answer(document: Body) -> Outgoing:
    return Outgoing(200, msgspec.json.encode(document))
