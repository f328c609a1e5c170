"""How each document of the service is written in XML: a managed kind by its row, any other by FORMS.

Belongs here: which keys of the JSON shape are attributes, lists, truths or numbers in XML, and the names of
elements. Not here: reading and writing by it (documents.py, fill.py). Source: docs/service.md, XML.

What no row names is text, or a structure of its own, and is carried as it is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from reconciler.model.field_types import XmlForm, require_rows
from reconciler.model.kind import Field, Kind
from reconciler.model.kinds import KINDS, cache_by_kinds, child_kinds

API = "http://schemas.api.whispir.com"  # the roots of entities, of errors and of callbacks
DAP = f"{API}/dap"  # links, lists and what is in them


@dataclass(frozen=True)
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
    lists: Mapping[str, "ListForm"] = field(default_factory=dict)
    objects: Mapping[str, "Shape"] = field(default_factory=dict)
    links: bool = False

    @cached_property
    def once(self) -> frozenset[str]:
        """The keys of which there is one value at most."""
        texts = self.single | self.attributes | self.truths | self.numbers | self.moments
        return texts | self.maps | self.objects.keys()


@dataclass(frozen=True, slots=True)
class ListForm:
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
    rows: ListForm = ListForm("")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LINK = Shape(attributes=_words("uri rel method type host"), numbers=_words("port"))
ENTRY = Shape(single=_words("key value"))
ERROR = Shape(single=_words("errorSummary errorText errorDetail"), links=True)

# What XML knows of a managed kind beside its row: how a field that is a list is written, lists that nobody
# declares, and a root that is not the name of the kind.
_LISTS: Mapping[XmlForm, ListForm | None] = require_rows(
    XmlForm,
    {
        "text": None,
        "truth": None,
        "number": None,
        "object": None,
        "channels": ListForm(
            "messagingoption",
            Shape(
                attributes=_words("channel"),
                single=_words("primary secondary tertiary"),
                truths=_words("enabled"),
            ),
        ),
        "custom": ListForm("customField", Shape(single=_words("fieldName fieldValue searchKey"))),
    },
)
# What a value is that stands in an element by itself, as Shape has it; "": it is no single value.
_VALUES: Mapping[XmlForm, str] = require_rows(
    XmlForm,
    {"text": "single", "truth": "truths", "number": "numbers", "object": "", "channels": "", "custom": ""},
)
_UNDECLARED: Mapping[str, Mapping[str, ListForm]] = {
    "contact": {
        "locations": ListForm("location", Shape(single=_words("type"), numbers=_words("longitude latitude")))
    }
}
_ROOTS = {"callback": "companyapicallback"}


_WORKSPACE = Shape(single=_words("id projectName projectNumber status billingcostcentre"), links=True)

_PARTS = ("email", "voice", "web", "social", "dlr", "features", "whatsapp", "rcs")
# Posts stand in an element of their own name, each with its place as an attribute (public samples).
_SOCIAL = Shape(
    lists={
        "social": ListForm(
            "social", Shape(attributes=_words("id"), single=_words("body type")), wrapped=False
        )
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
        "categories": ListForm("status", _CATEGORY, also=_words("category")),
        "status": ListForm("status", _DELIVERY, wrapped=False),
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
    return Form(root, shape, collection, ListForm(item or root, shape, space=DAP))


_RESPONSES = _listed("", _RESPONSE, "messageresponses", "response")

# By the <kind> of the vendor media type, what is no managed kind; the service calls back with
# deliveryResponse.
FORMS: Mapping[str, Form] = {
    "workspace": _listed("workspace", _WORKSPACE, "workspaces"),
    "message": _listed("message", _MESSAGE, "messages"),
    "bulkmessage": _listed("message", _MESSAGE, "messages"),
    "importcontact": Form("importcontact", _IMPORT),
    "messagestatus": _listed("", _STATUS, "messageStatuses", "messageStatus"),
    "messageresponse": _RESPONSES,
    "messageresponses": _RESPONSES,
    "api-call": Form("call", _CALL, "calls", ListForm("call", _CALL, wrapped=False)),
    "company": Form("company", Shape(single=_words("id"), links=True)),
    "auth": Form("auth", Shape(single=_words("token"), links=True)),
    "deliveryResponse": Form("deliveryResponse", _REPLY),
}


def form_for(media: str) -> Form:
    """The form of a document, by the <kind> of its vendor media type. Raises KeyError for an unknown one."""
    return _kind_forms().get(media) or FORMS[media]


@cache_by_kinds
def _kind_forms() -> Mapping[str, Form]:
    return {kind.media: form_of(kind) for kind in KINDS.values()}


def form_of(kind: Kind) -> Form:
    """The form of a managed kind, as its row has it."""
    shape = _shape_of(kind)
    return Form(_ROOTS.get(kind.name, kind.name), shape, kind.rows_key, ListForm(kind.name, shape, space=DAP))


def _shape_of(kind: Kind) -> Shape:
    found = {one.wire or one.name: _LISTS[one.row.xml] for one in kind.fields}
    lists = {name: form for name, form in found.items() if form is not None}
    lists |= {child.rows_key: ListForm(child.name, _shape_of(child)) for child in child_kinds(kind.name)}
    lists |= _UNDECLARED.get(kind.name, {})
    objects = {kind.wire.get(head, head): _texts(fields) for head, fields in kind.groups.items()}
    # By its fields somebody is recognized, and they decide what is sent: a second value must not hide one.
    shape = _texts(one for one in kind.fields if one.head == one.name)
    single = shape.single - lists.keys() - objects.keys() - {"link"}
    return replace(shape, single=single, lists=lists, objects=objects, links=True)


def _texts(fields: Iterable[Field]) -> Shape:
    """Fields as one text each, by their last names: `key` of `auth.key`."""
    found: dict[str, set[str]] = {"single": set(), "truths": set(), "numbers": set(), "": set()}
    for one in fields:
        found[_VALUES[one.row.xml]].add((one.wire or one.name).rpartition(".")[2])
    return Shape(
        single=frozenset(found["single"]),
        truths=frozenset(found["truths"]),
        numbers=frozenset(found["numbers"]),
    )
