"""How one sandbox behaves: the options, their defaults and their limits."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from reconciler.sandbox.faults import FaultRule

ten_mebibytes = 10_485_760  # bytes; the documented limit of a whole request, and of one decoded file
device_limit_max = 10  # devices of one app on one contact, at most, whatever the app's own limit

Like = Literal["specification", "recorded"]

# Option -> its form in the traffic that was recorded from the public service. Callbacks and devices were not
# recorded: for them it is the form that most public sources show. The defaults follow the specification.
RECORDED: dict[str, Any] = {
    "send_answer": "text",
    "prev_rel": "previous",
    "link_base": "https://api.service.example",
    "limit_zero": "all",
    "status_order": "fixed",
    "messages_end": "No records found",
    "device_status": "normalized",
    "callback_failure_key": "undeliverable",
    "callback_location_key": "messagelocation",
    "callback_service_keys": True,
}
FORMS: dict[Like, dict[str, Any]] = {"specification": {}, "recorded": RECORDED}


def utc_now() -> datetime:
    """The present moment, in UTC."""
    return datetime.now(UTC)


class MovableClock:
    """The real time, and as much more as the clock was moved."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def __call__(self) -> datetime:
        """The present moment, as this clock shows it."""
        return utc_now() + self._ahead

    def advance(self, seconds: float) -> None:
        """From now on the clock shows this many seconds more."""
        self._ahead += timedelta(seconds=seconds)


def workspace_id(name: str) -> str:
    """The id of a workspace for which none is given: 16 upper-case hexadecimal digits, made from its name."""
    return blake2b(name.encode(), digest_size=8).hexdigest().upper()


@dataclass(frozen=True, slots=True, kw_only=True)
class Caching:
    """How a gateway caches. `seconds`: for how long. `heeds`: a request with no-cache goes through.

    `shows`: the Age and the old Date, the old Date alone, or neither of them. `reads`: what two addresses
    must share to be one: their text, or what is left when it is decoded and the query sorted.
    """

    seconds: float
    heeds: bool = False
    shows: Literal["age", "date", "nothing"] = "nothing"
    reads: Literal["text", "meaning"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxConfig:
    """The options of one sandbox. Raises ValueError, naming the option, when one cannot be meant.

    `workspaces`: (name, id) of the named ones; an id of None is made from the name.
    `contacts`: that many invented people stand in the default workspace at the start.
    `rows`: what a list of contacts shows of each; the real service shows brief rows.
    `link_base`: the origin written into links and Location; None is the origin of the request.
    `send_answer`: a document with location and messageid answers a send, or a plain text without an id.
    `key_in_links`: do links repeat the API key of the query? Old public samples show it.
    `limit_zero`: the rows of a page with limit=0, the usual 20 or all of them.
    `status_order`: a detailed status begins with the channel that was used, or has them in a fixed order.
    `device_status`: shown as its owner wrote it, or as Active and Disabled.
    `device_token`: a look at a device shows its push token, a mask of it, or nothing of it. No source says.
    `prev_rel`, `id_in_get`, `strict`, `short_device_os`: the other form where the sources differ.
    `clock`: the present moment; one with a method `advance(seconds)` can be moved by a control request.
    `message_cycle_s`: seconds on the clock until a queued message is executed; 0: at once; inf: only by hand.
    `messages_end`: what a list of messages says past its end.
    `callback_check`: is a new callback's address asked (GET) and refused unless it answers 200?
    `callback_targets`: may calls leave this machine? `callback_location_key`, `callback_failure_key`,
    `callback_service_keys`: the forms of the payload; the last adds the service's own customParameters.
    `callback_retry_s`: seconds on the clock between attempts; the real service takes about 300.
    `callback_connect_s`, `callback_answer_s`: real seconds that a receiver has.
    `caching`: a gateway in front that stores answers. `faults`: armed from the start; others are armed at
    the control interface.
    `default_form`: what is answered in when a request does not say. `xml_prefixes`: of both namespaces.
    `forbidden`: how the gateway refuses. `requests_per_second`, `requests_per_day`: None is no limit; one too
    many gets what `throttle` says: 403 with X-Error-Code, the same in the headers of an older gateway, or
    429. `token_lifetime_s`: seconds on the clock. `resource_days`: days on the clock after which a resource
    that nobody updates vanishes; None is never. `resource_put`: 200 answers with the representation.
    `device_touches_contact`: does a device change move its contact's lastModifiedTime? No source says.
    """

    username: str = "demo"
    password: str = "demo"  # noqa: S105  the documented default of a loopback service without real data
    api_key: str = "demo-key"
    vendor: str = "service"
    workspaces: tuple[tuple[str, str | None], ...] = ()
    contacts: int = 0
    rows: Literal["brief", "full"] = "brief"
    latency_ms: float = 0
    data: str | Path | None = None
    clock: Callable[[], datetime] = field(default_factory=MovableClock)
    link_base: str | None = None
    faults: tuple[FaultRule, ...] = ()
    caching: Caching | None = None
    send_answer: Literal["document", "text"] = "document"
    prev_rel: Literal["prev", "previous"] = "prev"
    key_in_links: bool = False
    limit_zero: Literal["20", "all"] = "20"
    status_order: Literal["used", "fixed"] = "used"
    device_status: Literal["written", "normalized"] = "written"
    device_token: Literal["shown", "masked", "omitted"] = "shown"  # noqa: S105 - no token, but whether it is shown
    id_in_get: bool = False
    strict: bool = False
    device_limit: int = 3
    device_touches_contact: bool = False
    short_device_os: bool = False
    request_bytes_max: int = ten_mebibytes
    resource_bytes_max: int = ten_mebibytes
    default_form: Literal["json", "xml"] = "json"
    xml_prefixes: tuple[str, str] = ("ns2", "ns3")
    forbidden: Literal["json", "html"] = "json"
    requests_per_second: int | None = None
    requests_per_day: int | None = None
    throttle: Literal["403", "403-older", "429"] = "403"
    token_lifetime_s: float = 3600
    resource_days: float | None = None
    resource_put: Literal[204, 200] = 204
    message_cycle_s: float = 0
    messages_end: Literal["No messages found", "No records found"] = "No messages found"
    callback_check: bool = True
    callback_targets: Literal["loopback", "any"] = "loopback"
    callback_location_key: Literal["location", "messagelocation"] = "location"
    callback_failure_key: Literal["acknowledged", "undeliverable"] = "acknowledged"
    callback_service_keys: bool = False
    callback_retry_s: float = 2
    callback_connect_s: float = 5
    callback_answer_s: float = 60

    def __post_init__(self) -> None:
        _require_option(":" not in self.username, "username: a colon cannot be sent with the Basic scheme")
        _require_option(
            bool(re.fullmatch(r"[a-z0-9][a-z0-9-]*", self.vendor)),
            f"vendor: {self.vendor!r} is no vendor token",
        )
        _require_option(
            self.link_base is None or bool(re.fullmatch(r"https?://[^\s/?#@]+", self.link_base)),
            f"link_base: {self.link_base!r} is no origin, as https://api.example.com",
        )
        _require_option(self.contacts >= 0, f"contacts: {self.contacts} is below 0")
        _require_option(self.latency_ms >= 0, f"latency_ms: {self.latency_ms} is below 0")
        for name, hint in get_type_hints(SandboxConfig).items():
            words, chosen = get_args(hint), getattr(self, name)
            good = get_origin(hint) is not Literal or chosen in words
            _require_option(good, f"{name}: {chosen!r} is neither {' nor '.join(map(str, words))}")
        _require_option(
            1 <= self.device_limit <= device_limit_max, f"device_limit: {self.device_limit} is not 1 to 10"
        )
        _require_option(self.message_cycle_s >= 0, f"message_cycle_s: {self.message_cycle_s} is below 0")
        for name in ("callback_retry_s", "callback_connect_s", "callback_answer_s"):
            _require_option(getattr(self, name) > 0, f"{name}: {getattr(self, name)} is not above 0")
        for name in ("requests_per_second", "requests_per_day", "token_lifetime_s", "resource_days"):
            found_limit = getattr(self, name)
            _require_option(found_limit is None or found_limit > 0, f"{name}: {found_limit} is not above 0")
        self._check_workspaces()

    def _check_workspaces(self) -> None:
        ids = [found for _, found in self.named_workspaces()]
        for name, found in self.named_workspaces():
            shape = re.fullmatch(r"[A-F0-9]{1,64}", found)
            _require_option(
                shape is not None, f"workspaces: {found!r} of {name!r} is not upper-case hexadecimal"
            )
            _require_option(ids.count(found) == 1, f"workspaces: the id {found} stands there twice")

    @classmethod
    def like(cls, form: Like, **options: Any) -> "SandboxConfig":
        """The options of this form, with these on top of them."""
        return cls(**{**FORMS[form], **options})

    def named_workspaces(self) -> tuple[tuple[str, str], ...]:
        """(name, id) of every named workspace, in the order given, each with an id."""
        return tuple((name, found or workspace_id(name)) for name, found in self.workspaces)


def _require_option(condition: bool, sentence: str) -> None:  # noqa: FBT001  one private check, read as a sentence
    if not condition:
        raise ValueError(sentence)
