"""FORMS, the one table of how each kind of the service is written in XML. A new kind is one row.

Belongs here: which keys of the JSON shape are attributes, lists, truths or numbers in XML, and the names of
elements. Not here: reading and writing by it (documents.py, fill.py). Source: docs/service.md, XML.

What no row names is text, or a structure of its own, and is carried as it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

API = "http://schemas.api.whispir.com"  # the roots of entities, of errors and of callbacks
DAP = f"{API}/dap"  # links, lists and what is in them


@dataclass(frozen=True, slots=True)
class Shape:
    """What an element holds, by the keys of its JSON object.

    `single` may stand once only: a second one is an error and not a list. `moments` are milliseconds in
    JSON and ISO 8601 in XML. `maps` are key/value pairs in `entry` elements.
    """

    attributes: frozenset[str] = frozenset()
    single: frozenset[str] = frozenset()
    truths: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    moments: frozenset[str] = frozenset()
    maps: frozenset[str] = frozenset()
    lists: Mapping[str, "Rows"] = field(default_factory=dict)
    objects: Mapping[str, "Shape"] = field(default_factory=dict)
    links: bool = False

    @property
    def once(self) -> frozenset[str]:
        """The keys of which there is one value at most."""
        texts = self.single | self.attributes | self.truths | self.numbers | self.moments
        return texts | self.maps | self.objects.keys()


@dataclass(frozen=True, slots=True)
class Rows:
    """A list: the element of one row, its shape, whether an element stands around all of them, and where."""

    item: str
    shape: Shape = Shape()
    wrapped: bool = True
    space: str = ""
    also: frozenset[str] = frozenset()  # other names of a row that are read


@dataclass(frozen=True, slots=True)
class Form:
    """A kind: the root of one ("" where there is no such document), the key and rows of a list, its shape."""

    root: str
    shape: Shape
    collection: str = ""
    rows: Rows = Rows("")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LINK = Shape(attributes=_words("uri rel method type host"), numbers=_words("port"))
ENTRY = Shape(single=_words("key value"))
ERROR = Shape(single=_words("errorSummary errorText errorDetail"), links=True)

_DEVICE = Shape(
    single=_words(
        "id deviceName appId appVersion platform deviceOS deviceModel status pushToken"
        " registrationDate lastModifiedDate"
    ),
    links=True,
)
_CONTACT = Shape(
    # By these somebody is recognized, or they decide what is sent: a second value must not hide one.
    single=_words(
        "id type mri firstName lastName title status companyName jobTitle division businessUnit department"
        " timezone username lastModifiedTime workMobilePhone1 workMobilePhone2 workEmailAddress1"
        " workEmailAddress2 workPhone1 workPhone2 workCountry personalEmailAddress1 personalEmailAddress2"
        " personalMobilePhone1 personalPhone1 personalPhone2 otherMobile otherPhone1"
    ),
    lists={
        "messagingoptions": Rows(
            "messagingoption",
            Shape(
                attributes=_words("channel"),
                single=_words("primary secondary tertiary"),
                truths=_words("enabled"),
            ),
        ),
        "customFields": Rows("customField", Shape(single=_words("fieldName fieldValue searchKey"))),
        "devices": Rows("device", _DEVICE),
        "locations": Rows("location", Shape(single=_words("type"), numbers=_words("longitude latitude"))),
    },
    links=True,
)
_RESOURCE = Shape(single=_words("id name scope mimeType derefUri url"), links=True)
_WORKSPACE = Shape(single=_words("id projectName projectNumber status billingcostcentre"), links=True)

_PARTS = ("email", "voice", "web", "social", "dlr", "features", "whatsapp", "rcs")
# Posts stand in an element of their own name, each with its place as an attribute (public samples).
_SOCIAL = Shape(
    lists={
        "social": Rows("social", Shape(attributes=_words("id"), single=_words("body type")), wrapped=False)
    }
)
_MESSAGE = Shape(
    single=_words("id to subject label type direction responseCount callbackId messageTemplateId body"),
    numbers=_words("repetitionCount repeatDays repeatHrs repeatMin"),
    moments=_words("createdTime"),
    maps=_words("callbackParameters"),
    objects={
        **{key: Shape() for key in _PARTS},
        "social": _SOCIAL,
        "features": Shape(objects={"pushOptions": Shape(single=_words("notifications escalationMins"))}),
    },
    links=True,
)
_CATEGORY = Shape(
    attributes=_words("name"), single=_words("percentageTotal"), numbers=_words("recipientCount")
)
_DELIVERY = Shape(
    attributes=_words("type"),
    single=_words("status destination"),
    moments=_words(
        "sentTimestamp receivedTimestamp acknowlegedTimestamp acknowledgedTimestamp undeliverableTimestamp"
    ),
)
_STATUS = Shape(
    single=_words("name info"),
    lists={
        "categories": Rows("status", _CATEGORY, also=_words("category")),
        "status": Rows("status", _DELIVERY, wrapped=False),
    },
    links=True,
)
_SENDER = Shape(single=_words("name mri mobile email voice"))
_ANSWER = Shape(attributes=_words("channel"), single=_words("acknowledged undeliverable content"))
_RESPONSE = Shape(
    attributes=_words("type"),
    single=_words("responseCount percentageTotal responseCategory"),
    objects={"from": _SENDER, "responseMessage": _ANSWER},
    links=True,
)
# In a callback the channel is an element, in a list of responses an attribute; both are read everywhere.
_TOLD = Shape(single=_ANSWER.single | _ANSWER.attributes)
_REPLY = Shape(
    single=_words("messageid messageId location messagelocation messageLocation"),
    maps=_words("customParameters"),
    objects={"from": _SENDER, "responseMessage": _TOLD},
)
_CALLBACK = Shape(
    single=_words("id name url contentType removeHTML email"),
    truths=_words("retriesEnabled"),
    objects={
        "auth": Shape(single=_words("type key")),
        "callbacks": Shape(single=_words("reply undeliverable")),
    },
    links=True,
)
_CALL = Shape(
    single=_words("id messageId messageLocation status"),
    objects={
        "from": _SENDER,
        "responseMessage": _TOLD,
        "callback": Shape(
            single=_words("id name url attemptedDate statusMessage"), numbers=_words("statusCode")
        ),
    },
    links=True,
)
_IMPORT = Shape(
    single=_words("resourceId importType"),
    objects={
        "importOptions": Shape(single=_words("importMode"), objects={"fieldMapping": Shape()}),
    },
)


def _listed(root: str, shape: Shape, collection: str, item: str = "") -> Form:
    return Form(root, shape, collection, Rows(item or root, shape, space=DAP))


_RESPONSES = _listed("", _RESPONSE, "messageresponses", "response")

# By the <kind> of the vendor media type; deliveryResponse is what the service calls back with.
FORMS: Mapping[str, Form] = {
    "contact": _listed("contact", _CONTACT, "contacts"),
    "contactdevice": _listed("device", _DEVICE, "devices"),
    "resource": _listed("resource", _RESOURCE, "resources"),
    "workspace": _listed("workspace", _WORKSPACE, "workspaces"),
    "message": _listed("message", _MESSAGE, "messages"),
    "bulkmessage": _listed("message", _MESSAGE, "messages"),
    "importcontact": Form("importcontact", _IMPORT),
    "messagestatus": _listed("", _STATUS, "messageStatuses", "messageStatus"),
    "messageresponse": _RESPONSES,
    "messageresponses": _RESPONSES,
    "api-callback": _listed("companyapicallback", _CALLBACK, "callbacks", "callback"),
    "api-call": Form("call", _CALL, "calls", Rows("call", _CALL, wrapped=False)),
    "company": Form("company", Shape(single=_words("id"), links=True)),
    "auth": Form("auth", Shape(single=_words("token"), links=True)),
    "deliveryResponse": Form("deliveryResponse", _REPLY),
}
