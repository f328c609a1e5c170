"""Media types: which one a request's body has, which one its answer gets, and writing it.

Belongs here: Accept and Content-Type, JSON or XML. Not here: addresses (routing.py), how a document looks in
either (wire.py, xml/forms.py).
Source: specification 4 and 9; docs/service.md, addresses and XML.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.entities.wire import media_type, spellings
from reconciler.sandbox.records import Body
from reconciler.sandbox.refusals import not_acceptable, wrong_media_type
from reconciler.sandbox.xml.forms import NO_FORMS, Form, write_xml

Written = Literal["json", "xml"]
BOTH: tuple[Written, ...] = ("json", "xml")


@dataclass(frozen=True, slots=True)
class Shown:
    """How an answer is written: its Content-Type, and which of the two that means."""

    type: str
    form: Written


def answer_type(accept: str, config: SandboxConfig, kind: str) -> Shown | None:
    """What the answer is written in; None where nothing fits.

    The best by q; the vendor's types before the plain ones, those before wildcards, then the first named.
    A wildcard, and no Accept at all, is the default form's vendor type.
    """
    ours = {media_type(config.vendor, word, one): one for word in spellings(kind) for one in BOTH}
    usual = Shown(media_type(config.vendor, kind, config.default_form), config.default_form)
    found: list[tuple[float, int, int, Shown]] = []
    for place, part in enumerate(accept.lower().split(",") if accept else ()):
        name, quality = _range(part)
        if quality <= 0:
            continue
        if name in ours:
            found.append((-quality, 0, place, Shown(name, ours[name])))
        elif name in ("application/json", "application/xml"):
            found.append((-quality, 1, place, Shown(name, "xml" if name.endswith("xml") else "json")))
        elif name in ("*/*", "application/*"):
            found.append((-quality, 2, place, usual))
    if not accept:
        return usual
    return min(found, key=lambda one: one[:3])[3] if found else None


def refusal_type(accept: str, config: SandboxConfig, kind: str | None) -> Shown:
    """What an error body is written in: as the answer would be, or the vendor's type that was asked for."""
    shown = answer_type(accept, config, kind) if kind else None
    if shown is not None:
        return shown
    asked = accept.partition(",")[0].partition(";")[0].strip().lower()
    match = re.fullmatch(rf"application/(?:vnd\.{re.escape(config.vendor)}\.[a-z-]+-v1\+)?(json|xml)", asked)
    if match:
        return Shown(asked, "xml" if match[1] == "xml" else "json")
    return Shown(f"application/{config.default_form}", config.default_form)


def require_types(headers: Mapping[str, str], config: SandboxConfig, kind: str) -> Shown:
    """What the answer is written in; refuses an Accept that cannot be met (406)."""
    accept = headers.get("accept", "")
    shown = answer_type(accept, config, kind)
    if shown is None:
        raise not_acceptable(accept)
    return shown


def require_body_type(headers: Mapping[str, str], config: SandboxConfig, kind: str) -> Written:
    """What the body is written in; refuses (415) every type but the kind's own."""
    sent = headers.get("content-type", "").partition(";")[0].strip().lower()
    ours = {media_type(config.vendor, word, one): one for word in spellings(kind) for one in BOTH}
    if sent not in ours:
        raise wrong_media_type(" or ".join(ours))
    return ours[sent]


def encoded(
    document: Body, kind: str, shown: Shown, config: SandboxConfig, own: Mapping[str, Form] = NO_FORMS
) -> bytes:
    """The document of this kind, in the form that is shown; `own` are the XML forms of rows."""
    if shown.form == "json":
        return msgspec.json.encode(document)
    return write_xml(kind, document, config.xml_prefixes, own)


def _range(part: str) -> tuple[str, float]:
    """The media range without its parameters, and its q; what is no number counts as 1."""
    name, *parameters = (piece.strip() for piece in part.split(";"))
    quality = 1.0
    for parameter in parameters:
        key, _, value = (piece.strip() for piece in parameter.partition("="))
        if key == "q" and re.fullmatch(r"[01](\.\d{0,3})?", value):
            quality = float(value)
    return name, quality
