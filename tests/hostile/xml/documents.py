"""Hostile and mistaken answers in XML: a name, the document, and words of the reason that is given.

Each of them is sent as the answer to a list of contacts and to a single contact. None is ever an empty
list, and no reason quotes the document.
"""

A = "http://schemas.api.whispir.com"
D = f"{A}/dap"
DECLARED = b'<?xml version="1.0" encoding="UTF-8"?>'


def listed(inside: str, *, space: str = D) -> bytes:
    """A list document with this inside its root."""
    return f'<d:return xmlns:d="{space}" xmlns:a="{A}">{inside}</d:return>'.encode()


def one(inside: str, *, space: str = A, name: str = "contact") -> bytes:
    """An entity with this inside its root."""
    return f'<a:{name} xmlns:a="{space}" xmlns:d="{D}">{inside}</a:{name}>'.encode()


def attributes(count: int) -> str:
    """This many attributes, each with a name of its own."""
    return " ".join(f'a{number}=""' for number in range(count))


ROW = (
    "<d:contact><id>A1</id><firstName>Jane</firstName>"
    '<d:link uri="https://elsewhere.test/contacts/A1" rel="self" method="GET"/></d:contact>'
)
GOOD = listed(f"<status>1 to 1 of 1    </status><d:contacts>{ROW}</d:contacts>")
END = listed("<status>No records found</status>")

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' if n else '<!ENTITY l0 "ha">' for n in range(10))
BOMB = f"<!DOCTYPE x [{LAUGHS}]><x>&l9;</x>".encode()
QUADRATIC = f'<!DOCTYPE x [<!ENTITY a "{"a" * 50_000}">]><x>{"&a;" * 50_000}</x>'.encode()

WELL_FORMED = "it is not well-formed XML, or was cut off"
UTF8 = "it is not UTF-8"
DOCTYPE = "document type"
ROOT = "its root is"
NAMESPACE = "a namespace that is not the service's"
TWICE = "stands twice"

DOCUMENTS: list[tuple[str, bytes, str]] = [
    # Nothing, or something else.
    ("empty", b"", "it is empty"),
    ("spaces", b" \r\n\t ", "it is empty"),
    ("NUL", b"\0", WELL_FORMED),
    ("JSON", b'{"status":"No records found","link":[]}', WELL_FORMED),
    ("plain words", b"Your request has been accepted for processing", WELL_FORMED),
    ("a page in HTML", b"<html><body>Welcome</body></html>", "a page in HTML"),
    ("a page in XHTML", b'<html xmlns="http://www.w3.org/1999/xhtml"><body/></html>', "a page in HTML"),
    ("HTML with its document type", b"<!DOCTYPE html><html></html>", DOCTYPE),
    ("HTML that is no XML", b"<html><br><body></html>", WELL_FORMED),
    ("only a declaration", DECLARED, WELL_FORMED),
    ("only a comment", b"<!-- maintenance -->", WELL_FORMED),
    ("a SOAP fault", b'<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"/>', NAMESPACE),
    # Not well-formed, or not whole.
    ("cut in a tag", GOOD[: GOOD.index(b"firstName") + 4], WELL_FORMED),
    ("cut in a text", GOOD[: GOOD.index(b"Jane") + 2], WELL_FORMED),
    ("cut before the last tag", GOOD[: GOOD.rindex(b"</d:return>")], WELL_FORMED),
    ("cut in the last tag", GOOD[:-1], WELL_FORMED),
    ("two documents", END + END, WELL_FORMED),
    ("words behind it", END + b" OK", WELL_FORMED),
    ("words before it", b"OK " + END, WELL_FORMED),
    ("a declaration in the middle", listed("<?xml version='1.0'?>"), WELL_FORMED),
    ("tags that cross", listed("<status>a<x></status></x>"), WELL_FORMED),
    ("an attribute that stands twice", listed('<status a="1" a="2"/>'), WELL_FORMED),
    ("an attribute without quotes", listed("<status a=1/>"), WELL_FORMED),
    ("a bare ampersand", listed("<status>a & b</status>"), WELL_FORMED),
    ("an unknown prefix", listed("<z:status>No records found</z:status>"), WELL_FORMED),
    ("an entity that nobody defined", listed("<status>&nbsp;</status>"), WELL_FORMED),
    ("a control character", listed("<status>\x0b</status>"), WELL_FORMED),
    ("NUL by number", listed("<status>&#0;</status>"), WELL_FORMED),
    ("U+FFFE by number", listed("<status>&#xFFFE;</status>"), WELL_FORMED),
    ("half a character by number", listed("<status>&#xD800;</status>"), WELL_FORMED),
    ("beyond the last character", listed("<status>&#x110000;</status>"), WELL_FORMED),
    ("an end of CDATA in a text", listed("<status>]]></status>"), WELL_FORMED),
    ("CDATA that does not end", listed("<status><![CDATA[a</status>"), WELL_FORMED),
    ("XML 1.1", b'<?xml version="1.1"?>' + END, "it is not XML 1.0"),
    # Encodings.
    ("UTF-16 without its mark", END.decode().encode("utf-16-le"), WELL_FORMED),
    ("UTF-16", END.decode().encode("utf-16"), UTF8),
    ("Latin-1, told", b'<?xml version="1.0" encoding="ISO-8859-1"?>' + END, UTF8),
    ("Latin-1, not told", listed("<status>Ren\u00e9</status>").decode().encode("latin-1"), UTF8),
    ("UTF-7", b'<?xml version="1.0" encoding="UTF-7"?>' + END, UTF8),
    ("an encoding of nobody's", b'<?xml version="1.0" encoding="x-none"?>' + END, UTF8),
    ("overlong UTF-8", listed("<status>@</status>").replace(b"@", b"\xc0\xaf"), UTF8),
    ("a surrogate in UTF-8", listed("<status>@</status>").replace(b"@", b"\xed\xa0\x80"), UTF8),
    # Document types and entities.
    ("a document type", b"<!DOCTYPE x>" + END, DOCTYPE),
    ("a document type of elsewhere", b'<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">' + END, DOCTYPE),
    ("a public document type", b'<!DOCTYPE x PUBLIC "-//X//Y" "http://127.0.0.1:9/x.dtd"><x/>', DOCTYPE),
    ("an internal entity", b'<!DOCTYPE x [<!ENTITY e "No records found">]><x>&e;</x>', DOCTYPE),
    ("a file as an entity", b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]><x>&e;</x>', DOCTYPE),
    ("a page as an entity", b'<!DOCTYPE x [<!ENTITY e SYSTEM "http://127.0.0.1:9/">]><x>&e;</x>', DOCTYPE),
    ("a parameter entity", b'<!DOCTYPE x [<!ENTITY % e SYSTEM "http://127.0.0.1:9/"> %e;]><x/>', DOCTYPE),
    ("a bomb of entities", BOMB, DOCTYPE),
    ("one large entity, often", QUADRATIC, DOCTYPE),
    ("a default attribute", b'<!DOCTYPE x [<!ATTLIST x a CDATA "1">]><x/>', DOCTYPE),
    # Other roots, other namespaces.
    ("another root", one("<firstName>Jane</firstName>", name="person"), ROOT),
    ("a root of another kind", one("<deviceName>phone</deviceName>", name="device"), ROOT),
    ("an unknown root without a namespace", b"<result><status>No records found</status></result>", ROOT),
    ("a page without a namespace", b"<results><contact><id>A1</id></contact></results>", ROOT),
    (
        "a foreign namespace by default",
        b'<return xmlns="urn:x"><status>No records found</status></return>',
        NAMESPACE,
    ),
    ("a list without a namespace and without anything", b"<return/>", ""),
    ("an entity of words without a namespace", b"<contact>Jane</contact>", "text where there should be"),
    ("a root in a foreign namespace", listed("<status>No records found</status>", space="urn:x"), NAMESPACE),
    ("a namespace that is nearly ours", listed("<status>x</status>", space=f"{D}/"), NAMESPACE),
    ("our namespace in capitals", listed("<status>x</status>", space=D.upper()), NAMESPACE),
    ("a prefix that looks like ours", b'<ns2:return xmlns:ns2="urn:x"/>', NAMESPACE),
    # Lists that are none.
    ("a list without anything", listed(""), ""),
    ("a list of nothing that says nothing", listed("<d:contacts/>"), ""),
    ("a status of other words", listed("<status>Please try again</status>"), ""),
    ("a count and no rows", listed("<status>1 to 20 of 55    </status>"), ""),
    ("a count and an empty list", listed("<status>1 to 20 of 55    </status><d:contacts/>"), ""),
    ("rows of another kind", listed(f"<d:devices>{ROW}</d:devices><status>1 to 1 of 1</status>"), ""),
    ("rows of foreign elements", listed('<d:contacts><x:contact xmlns:x="urn:x"/></d:contacts>'), ""),
    ("rows beside the end", listed(f"<status>No records found</status>{ROW}"), "outside of their list"),
    ("rows outside of their list", listed(f"{ROW}{ROW}"), "outside of their list"),
    ("something among the rows", listed(f"<d:contacts>{ROW}<note/></d:contacts>"), "else than its rows"),
    ("words among the rows", listed(f"<d:contacts>{ROW} and more</d:contacts>"), "than its rows"),
    ("two lists", listed(f"<d:contacts>{ROW}</d:contacts><d:contacts>{ROW}</d:contacts>"), "its rows"),
    ("a text for a list", listed("<d:contacts>none</d:contacts>"), "text where there should be"),
    ("two words of status", listed("<status>No records found</status><status/>"), TWICE),
    ("a status with elements", listed("<status><x>No records found</x></status>"), "should be text"),
    ("words in the root", listed("No records found"), "text where there should be"),
    ("a row without an id", listed("<d:contacts><d:contact><firstName/></d:contact></d:contacts>"), ""),
    ("a list in the wrong letter case", listed(f"<status/><d:Contacts>{ROW}</d:Contacts>"), ""),
    ("an error under a status of success", one("<errorSummary>No</errorSummary>", name="error"), ""),
    # Entities that are none.
    ("an entity of words", one("Jane"), "text where there should be"),
    ("an entity without a field of its kind", one("<note>Jane</note>"), ""),
    ("a name that stands twice", one("<firstName>Jane</firstName><firstName>Joe</firstName>"), TWICE),
    ("a name in two namespaces", one("<firstName>Jane</firstName><d:firstName>Joe</d:firstName>"), TWICE),
    (
        "a channel that stands twice",
        one(
            '<firstName/><messagingoptions><messagingoption channel="sms"><channel>email</channel>'
            "</messagingoption></messagingoptions>"
        ),
        TWICE,
    ),
    ("a name with elements", one("<firstName><b>Jane</b></firstName>"), "should be text"),
    ("an attribute in two namespaces", one('<d:link uri="/a" d:uri="/b"/><firstName/>'), TWICE),
    # Too much of it.
    ("nested too deep", listed("<x>" * 64 + "</x>" * 64), "deeper than 64 levels"),
    ("nested very deep", b"<x>" * 200_000, "deeper than 64 levels"),
    ("too many attributes", listed(f"<x {attributes(65)}/>"), "64 attributes"),
    ("very many attributes", listed(f"<x {attributes(200_000)}/>"), "longer than"),
    ("too many children", listed("<x/>" * 20_001), "20000 children"),
    ("too many elements", listed(("<x>" + "<y/>" * 19_990 + "</x>") * 11), "200000 elements"),
    ("too many attributes in all", listed(f"<x {attributes(60)}/>" * 3_400), "200000 attributes"),
    (
        "a very long namespace",
        listed(f'<x xmlns="{"u" * 300}"><y/></x>'),
        "its names is",
    ),
    ("a very long namespace of attributes", listed(f'<x xmlns:n="{"u" * 300}" n:a=""/>'), "its names is"),
    ("a very long tag", listed(f"<{'x' * 2_000_000}/>"), "longer than"),
    ("a very long comment", listed(f"<!--{'x' * 2_000_000}-->"), "longer than"),
    ("a very long attribute", listed(f'<x a="{"x" * 2_000_000}"/>'), "longer than"),
    ("too large", listed(f"<x>{'x' * (16 * 1024 * 1024)}</x>"), "larger than 16 MiB"),
]
