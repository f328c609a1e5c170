"""Every kind of document in XML: one table, read in both directions.

Endpoints know plain JSON documents alone. A kind (the word in its media type) has one row in FORMS, which
says how its document becomes XML and back:

    <A:contact>                       the root of one entity, in the namespace of entities
      <firstName>Jane</firstName>     a key without a rule: text, without a namespace
      <D:link uri= rel= method=/>     links, in the namespace of frames, everything in attributes
    <D:return>                        the root of a list
      <status>1 to 1 of 1    </status>
      <D:contacts><D:contact>         the rows' frame (the key in JSON) and the rows

To add a kind, add a row: Form(root, keys with a rule, key of the list, rule of its rows). The rules are in
xml/rules.py: Number, Flag, Moment (milliseconds in JSON, ISO 8601 here), Node (an object; some keys as
attributes), Many (a list of objects), Pairs (free keys: entry, key, value), Links. Other keys need none.
What is no object in JSON, such as the plain text of an accepted message, does not come here.

Belongs here: the table, and the choice between entity and list. Not here: characters, limits, the rules.
Source: docs/service.md, XML; the forms of custom fields, locations and devices within a contact are assumed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.sandbox.records import Body
from reconciler.sandbox.refusals import malformed
from reconciler.sandbox.xml.rules import Flag, Links, Many, Moment, Node, Number, Pairs, XmlRule
from reconciler.sandbox.xml.tree import Element, Prefixes, entities, frames, parse, serialize

usual_prefixes: Prefixes = ("ns2", "ns3")
list_root = "return"

LINKS = Links()


@dataclass(frozen=True, slots=True)
class Form:
    """One kind: the root and the rules of an entity; of a list the key in JSON, its rows, its own links."""

    root: str
    entity: Node
    key: str = ""
    rows: Many | None = None
    links: XmlRule = LINKS


def _linked(*attributes: str, **rules: XmlRule) -> Node:
    return Node({"link": LINKS, **rules}, attributes)


def _listed(root: str, entity: Node, key: str, row: Node | None = None) -> Form:
    return Form(root, entity, key, Many(root, row or entity, space=frames))


DEVICE = _linked()
CONTACT = _linked(
    locations=Many("location", Node({"longitude": Number(), "latitude": Number()})),
    messagingoptions=Many("messagingoption", Node({"enabled": Flag()}, ("channel",))),
    customFields=Many("customField"),
    devices=Many("device", DEVICE),
)
_REPEATS = {name: Number() for name in ("repetitionCount", "repeatDays", "repeatHrs", "repeatMin")}
_PARTS = {
    **{name: Node() for name in ("email", "voice", "web", "dlr")},
    "social": Node({"social": Many("social", Node(attributes=("id",)), wrapped=False)}),
    "features": Node({"pushOptions": Node()}),
}
MESSAGE = _linked(createdTime=Moment(), callbackParameters=Pairs(), **_REPEATS, **_PARTS)
_TIMES = {name: Moment() for name in ("sentTimestamp", "receivedTimestamp", "acknowlegedTimestamp")}
STATUS = _linked(
    categories=Many("status", Node({"recipientCount": Number()}, ("name",))),
    status=Many("status", Node(_TIMES, ("type",)), wrapped=False),
)
# The channel of an answer is an attribute in a list of responses, and an element in a callback.
RESPONSE = _linked("type", responseMessage=Node(attributes=("channel",)))
CALLBACK = _linked(retriesEnabled=Flag(), auth=Node(), callbacks=Node())
# Of calls the rows stand at the root itself, and all parts of links are children.
CALL = Node(
    {
        "callback": Node({"statusCode": Number()}),
        "link": Many("link", wrapped=False),
    }
)

FORMS: dict[str, Form] = {
    "company": Form("company", _linked()),
    "auth": Form("auth", _linked()),
    "error": Form("error", _linked()),
    "workspace": _listed("workspace", _linked(), "workspaces"),
    "contact": _listed("contact", CONTACT, "contacts"),
    "contactdevice": _listed("device", DEVICE, "devices"),
    "resource": _listed("resource", _linked(), "resources"),
    "message": _listed("message", MESSAGE, "messages"),
    "messagestatus": _listed("messageStatus", STATUS, "messageStatuses"),
    "messageresponse": _listed("response", RESPONSE, "messageresponses"),
    "api-callback": Form(
        "companyapicallback",
        CALLBACK,
        "callbacks",
        Many("callback", CALLBACK, space=frames),
    ),
    "api-call": Form(
        "call",
        CALL,
        "calls",
        Many("call", CALL, space=frames, wrapped=False),
        Many("link", space=frames, wrapped=False),
    ),
    "importcontact": Form("importcontact", Node({"importOptions": Node({"fieldMapping": Node()})})),
    # What is sent to a callback's own address; no answer of the service has this kind.
    "deliveryResponse": Form("deliveryResponse", Node({"customParameters": Pairs()})),
}
"""The kind in the media type -> its form."""
NO_FORMS: Mapping[str, Form] = {}


def write_xml(
    kind: str, document: Body, prefixes: Prefixes = usual_prefixes, own: Mapping[str, Form] = NO_FORMS
) -> bytes:
    """The document of this kind as XML: a list if it has the rows of one, or nothing but status and links.

    `own`: the forms of kinds that are not in the table.
    """
    form = own.get(kind) or FORMS[kind]
    listed = isinstance(document.get(form.key), list)  # a callback has an object under the key of its lists
    if form.rows is not None and (listed or document.keys() <= {"status", "link"}):
        root = _list_node(form, form.rows).element(frames, list_root, _status_first(document))
    else:
        root = form.entity.element(entities, form.root, document)
    return serialize(root, prefixes)


def read_xml(kind: str, content: bytes, own: Mapping[str, Form] = NO_FORMS) -> Body:
    """The JSON document that this XML of the kind says; refuses (400) XML that cannot be one.

    The root of an entity may stand in either namespace, or in none: public samples do all of it.
    """
    form = own.get(kind) or FORMS[kind]
    root = parse(content)
    if form.rows is not None and root.name == list_root and root.space in (frames, ""):
        return _list_node(form, form.rows).read_one(root)
    if root.space not in (entities, frames, "") or root.name != form.root:
        raise malformed(f"the root of the body has to be {form.root} in the namespace {entities}")
    for child in root.children:
        _unqualify(child, root.space)
    return _entity(form, root)


def _unqualify(element: Element, space: str) -> None:
    """Take what stands in the namespace of the root as unqualified: a default namespace holds for all of it.

    Most libraries declare one. The depth of a document is limited where it is parsed.
    """
    if element.space == space:
        element.space = ""
    for child in element.children:
        _unqualify(child, space)


def _entity(form: Form, root: Element) -> Body:
    if root.text.strip():
        raise malformed(f"{form.root} holds text and no elements")
    return form.entity.read_one(root)


def _list_node(form: Form, rows: Many) -> Node:
    return Node({form.key: rows, "link": form.links})


def _status_first(document: Body) -> Body:
    return {key: document[key] for key in sorted(document, key=lambda key: key != "status")}
