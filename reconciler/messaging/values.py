"""Messages, what became of them, and what people answered: the values of the service's other half.

Nothing here is planned or applied; a message is sent once, by a command of its own.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from reconciler.model.documents import Scalar
from reconciler.model.secrets import Secret


class BulkResource(Struct, frozen=True):
    """A resource, by the service's id, whose rows address the recipients: the columns of each channel."""

    resource_id: str
    sms: str = ""
    email: str = ""
    voice: str = ""


class Repeat(Struct, frozen=True):
    """A scheduled message is repeated `times` times, each so long after the one before.

    `times` is the service's `repetitionCount`; whether the first one counts is told nowhere.
    """

    times: int
    days: int = 0
    hours: int = 0
    minutes: int = 0


class Schedule(Struct, frozen=True):
    """When a message is sent: at a whole minute, and perhaps again.

    `at` knows its zone. `zone` is the IANA name of the time zone in which the service reads the date: that
    of the API user's profile, because the date in the request has none. Source: docs/service.md, messages.
    """

    at: datetime
    zone: str
    repeat: Repeat | None = None


class Message(Struct, frozen=True):
    """A message to send. `to` are numbers, addresses or MRIs; the service joins them with a separator.

    `callback_id` is the name of a callback of the account; `callback_parameters` come back with every
    reply, all of them as text: a list, an object or null as its JSON text. `more` are further fields of
    the service, as it writes them: `email`, `voice`, `features`, `label` and the like. `resource` addresses
    everybody in its rows; `to` is empty then.
    """

    to: tuple[str, ...]
    subject: str
    body: str = ""
    callback_id: str = ""
    callback_parameters: Mapping[str, Any] = {}
    more: Mapping[str, Any] = {}
    resource: BulkResource | None = None
    schedule: Schedule | None = None


class Sent(Struct, frozen=True):
    """An accepted message: it is queued, not delivered. `location` is its path on our own origin."""

    message_id: str
    location: str


class MessageRow(Struct, frozen=True):
    """One message of the list. `created` is ISO 8601 in UTC, or ""; `responses` is -1 where not told."""

    message_id: str
    subject: str
    sender: str = ""
    direction: str = ""
    created: str = ""
    responses: int = -1


class MessageDetail(Struct, frozen=True):
    """One message, whole: `fields` are the service's own, links left out; `relations` map rel to path."""

    message_id: str
    fields: Mapping[str, Any]
    relations: Mapping[str, str] = {}


class StatusCount(Struct, frozen=True):
    """How many recipients are in one state. `percent` is 0 to 100."""

    name: str
    recipients: int
    percent: float


class Delivery(Struct, frozen=True):
    """What became of a message on one channel for one recipient. Times are ISO 8601 in UTC, or "".

    `channel` is "" for a recipient for whom the service shows no delivery on any channel.
    """

    recipient: str
    info: str
    channel: str
    status: str
    destination: str
    sent: str = ""
    received: str = ""
    acknowledged: str = ""


class ResponseCount(Struct, frozen=True):
    """How many recipients answered in one way. `percent` is 0 to 100."""

    type: str
    recipients: int
    percent: float


class Respondent(Struct, frozen=True):
    """Who answered, as the service shows it; every part may be empty."""

    name: str = ""
    mri: str = ""
    mobile: str = ""
    email: str = ""
    voice: str = ""


class Response(Struct, frozen=True):
    """One recipient's answer to a message. `acknowledged` is the service's own text."""

    sender: Respondent
    category: str
    content: str
    channel: str = ""
    acknowledged: str = ""


class CallbackAuth(Struct, frozen=True):
    """How the service proves to our receiver that it is itself: a static key, in a header or the query.

    The last two types are in one public source alone; our receiver knows the first two.
    """

    type: Literal["httpheader", "querystring", "basicauth", "bearertoken"]
    key: Secret  # empty where the service does not show it


class Callback(Struct, frozen=True):
    """A callback of the account. `name` is what messages call `callback_id`.

    `more` are further fields of the service, as it writes them; replacing a callback keeps them.
    """

    name: str
    url: str
    auth: CallbackAuth | None = None
    callback_id: str = ""  # the service's id; empty before it exists
    content_type: Literal["json", "xml"] = "json"
    retries: bool = True
    email: str = ""
    on_reply: bool = True
    on_undeliverable: bool = True
    more: Mapping[str, Any] = {}


CallStatus = Literal["SUCCESS", "FAILED"]


class CallbackCall(Struct, frozen=True):
    """One attempt of the service to reach us, as it lists it."""

    call_id: str
    message_id: str
    status: str  # SUCCESS or FAILED
    attempted: str = ""
    http_status: int = 0
    reason: str = ""


class Reply(Struct, frozen=True):
    """The payload of one callback: a reply, or a failed delivery (`undeliverable` is its text then).

    `parameters` are the callbackParameters of the message, beside keys of the service's own; all text.
    """

    message_id: str
    location: str
    sender: Respondent
    channel: str = ""
    content: str = ""
    acknowledged: str = ""
    undeliverable: str = ""
    parameters: Mapping[str, str] = {}


# --- An edit of a callback, and what it changes ---------------------------------------------------


class CallbackEdit(Struct, frozen=True):
    """New values of a callback's fields; None leaves one as it is. `email` "" takes the address away.

    `key` is a new key, `no_key` that there is none any more, `key_in` how the key travels.
    """

    name: str | None = None
    url: str | None = None
    content_type: Literal["json", "xml"] | None = None
    retries: bool | None = None
    email: str | None = None
    on_reply: bool | None = None
    on_undeliverable: bool | None = None
    key: Secret | None = None
    no_key: bool = False
    key_in: Literal["header", "query"] | None = None


class FieldEdit(Struct, frozen=True):
    """One field before and after, as it may be shown: a key is never its own text."""

    field: str
    before: str
    after: str


# --- Contacts as a person looks them up: what was asked for, and who was found --------------------
#
# Nothing here is planned or applied.


class ContactQuery(Struct, frozen=True):
    """Which contacts are wanted, what is shown of them, and in which order.

    `filters` map a field to the text that it contains; all of them have to fit. Fields are ours
    (`custom.employeeId`). `sort` are fields; none: the order of the service.
    """

    filters: Mapping[str, str] = {}
    shown: tuple[str, ...] = ()
    sort: tuple[str, ...] = ()
    descending: bool = False
    limit: int = 100


class ContactRow(Struct, frozen=True):
    """One contact that was found: the service's id, and the fields asked for that it has."""

    contact_id: str
    fields: Mapping[str, Scalar]


class ContactsFound(Struct, frozen=True):
    """The contacts found. `more`: it ended at its limit. `trouble`: why contacts may be missing, or ""."""

    contacts: tuple[ContactRow, ...]
    more: bool = False
    trouble: str = ""
