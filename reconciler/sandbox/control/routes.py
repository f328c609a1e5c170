"""The sandbox's own addresses below /_sandbox/, unknown to the real service: plain JSON.

They want user and password in the Basic scheme, or a token, and no key. Without them only the content of a
public resource is shown.

    POST   /_sandbox/contacts/{cid}           {"jobTitle": "..."}         somebody edits it in the portal
    POST   /_sandbox/devices/{did}/push       {"result": "ok" | "fail"}   one push to the device
    POST   /_sandbox/resources/expire         {} or {"ids": [...]}        retention: these, or all, are gone
    GET    /_sandbox/resources/{rid}/content                              what was uploaded, with its type
    POST   /_sandbox/clock, messages, callbacks                           as mailcontrol.py says
    POST   /_sandbox/faults                   a rule of faults.py         arms a fault; answers it with its id
    GET    /_sandbox/faults                                               those armed, and what there is
    DELETE /_sandbox/faults[/{fid}]                                       disarms this one, or all
    GET    /_sandbox/requests                                             the requests served, oldest first
    DELETE /_sandbox/requests                                             forgets them

Belongs here: what tests and demonstrations do from behind the service. Not here: anything a client of the
service may rely on.
"""

from collections import deque
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from reconciler.sandbox.calls import Outgoing
from reconciler.sandbox.control import mailcontrol
from reconciler.sandbox.entities import contacts, devices
from reconciler.sandbox.entities.contacts import whole_seconds
from reconciler.sandbox.faults import Faults, Rule
from reconciler.sandbox.keeping.state import State
from reconciler.sandbox.records import Body, Resource, device_of, with_device
from reconciler.sandbox.refusals import invalid, malformed, method_not_supported, not_found

prefix = "/_sandbox/"
requests_max = 50_000  # requests remembered; older ones are counted and forgotten


@dataclass(frozen=True, slots=True)
class Served:
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
        self._served: deque[Served] = deque(maxlen=requests_max)
        self._total = 0
        self._under_way = 0

    @contextmanager
    def arriving(self) -> Iterator[None]:
        """A context in which one request is under way: whoever sent it may have gone meanwhile."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    def add(self, served: Served) -> None:
        """One more request was answered."""
        self._served.append(served)
        self._total += 1

    def clear(self) -> None:
        """Counting starts again."""
        self._served.clear()
        self._total = 0

    def document(self) -> Body:
        """What is remembered; of the query everything but the key."""
        shown = [_shown(served) for served in self._served]
        return {"total": self._total, "under_way": self._under_way, "requests": shown}


def _shown(served: Served) -> Body:
    query = {name: value for name, value in served.query.items() if name != "apikey"}
    return {"method": served.method, "path": served.path, "query": query, "status": served.status}


def control(
    state: State, log: RequestLog, method: str, path: str, body: bytes
) -> Outgoing | Awaitable[Outgoing]:
    """Carries out one control request; refuses (404, 405, 400, 422) as the service does."""
    match path.removeprefix(prefix).split("/"):
        case ["requests"]:
            return _requests(log, method)
        case ["contacts", contact_id]:
            _require(method, "POST")
            return _json(_edit(state, contact_id, _object(body)))
        case ["devices", device_id, "push"]:
            _require(method, "POST")
            return _json(_push(state, device_id, _object(body)))
        case ["resources", "expire"]:
            _require(method, "POST")
            return _json(_expire(state, _object(body)))
        case ["resources", resource_id, "content"]:
            _require(method, "GET")
            resource = _find(state, resource_id)
            return Outgoing(200, resource.content, resource.mime_type)
        case ["clock"] | ["messages", *_] | ["callbacks", *_] as parts:
            _require(method, "POST")
            return _mail(state, parts, _object(body))
        case ["faults"]:
            return _faults(state.faults, method, body)
        case ["faults", fault_id]:
            _require(method, "DELETE")
            if not state.faults.disarm(fault_id):
                raise not_found()
            return Outgoing(204)
        case _:
            raise not_found()


def is_public(state: State, path: str) -> bool:
    """Does this path lead to the content of a public resource?"""
    match path.removeprefix(prefix).split("/"):
        case ["resources", resource_id, "content"]:
            return any(one.id == resource_id and one.scope == "public" for one in _resources(state))
        case _:
            return False


async def _mail(state: State, parts: list[str], body: Body) -> Outgoing:
    return _json(await mailcontrol.carry_out(state, parts, body))


def _faults(faults: Faults, method: str, body: bytes) -> Outgoing:
    _require(method, "GET", "POST", "DELETE")
    if method == "GET":
        return _json(faults.document())
    if method == "DELETE":
        faults.disarm_all()
        return Outgoing(204)
    try:
        rule = msgspec.convert(_object(body), Rule)
    except msgspec.ValidationError as cause:
        raise invalid(str(cause)) from None
    return Outgoing(201, msgspec.json.encode(faults.arm(rule).document()))


def _requests(log: RequestLog, method: str) -> Outgoing:
    if method == "DELETE":
        log.clear()
        return Outgoing(204)
    _require(method, "GET", "DELETE")
    return _json(log.document())


def _edit(state: State, contact_id: str, body: Body) -> Body:
    contact = next((one for shelf in state.shelves.values() if (one := shelf.contact(contact_id))), None)
    if contact is None:
        raise not_found()
    state.put_contact(contacts.edited(contact, body, now=state.config.clock()))
    return {"edited": sorted(body)}


def _push(state: State, device_id: str, body: Body) -> Body:
    result = body.get("result")
    if result not in ("ok", "fail"):
        raise invalid('result must be "ok" or "fail"')
    contact = state.contact_of_device(device_id)
    device = device_of(contact, device_id) if contact else None
    if contact is None or device is None:
        raise not_found()
    done = devices.pushed(device, delivered=result == "ok")
    changed = with_device(contact, done.device)
    if state.config.device_touches_contact and done.device.status != device.status:
        changed = msgspec.structs.replace(changed, modified=whole_seconds(state.config.clock()))
    state.put_contact(changed)
    after = done.device
    shown = after.status if state.config.device_status == "written" else devices.state(after)
    counts = {
        "failures": after.failures,
        "pushesCharged": after.charged,
        "pushesNotDelivered": after.undelivered,
    }
    return {"status": shown, "delivered": done.delivered, "charged": done.charged, **counts}


def _expire(state: State, body: Body) -> Body:
    if "ids" not in body:
        return {"expired": state.drop_records("resource", _resources(state))}
    ids = body["ids"]
    if not isinstance(ids, list):
        raise invalid("ids must be a list")
    named = [_find(state, one) for one in dict.fromkeys(map(str, ids))]
    return {"expired": state.drop_records("resource", named)}


def _find(state: State, resource_id: str) -> Resource:
    found = next((one for one in _resources(state) if one.id == resource_id), None)
    if found is None:
        raise not_found()
    return found


def _resources(state: State) -> Iterator[Resource]:
    return (one for shelf in state.shelves.values() for one in shelf.resources.values())


def _require(method: str, *allowed: str) -> None:
    if method not in allowed:
        raise method_not_supported(allowed)


def _object(body: bytes) -> Body:
    try:
        return msgspec.json.decode(body or b"{}", type=dict[str, object])
    except (ValueError, RecursionError):  # msgspec's own errors are ValueErrors
        raise malformed("the body must be a JSON object") from None


def _json(document: Body) -> Outgoing:
    return Outgoing(200, msgspec.json.encode(document))
