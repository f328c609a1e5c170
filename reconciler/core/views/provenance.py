"""Where the value of each field of an entity comes from: a document, the defaults of its file, a roster, us.

Belongs here: the source of a field, from the places that the reader kept. Not here: reading (manifest/), and
what the value means for a plan (explaining.py).
"""

from reconciler.core.declared.crosscheck import Declared
from reconciler.core.rules import Rules
from reconciler.model.documents import Content, Place
from reconciler.model.plans import EntitySources, FieldSource


def sources_of(one: Declared, rules: Rules) -> EntitySources:
    """Return where everything comes from that an entity declares."""
    found = {path: _source(one, path, rules) for path in sorted(one.entity.fields)}
    return EntitySources(found, dict(one.document.control_places))


def _source(one: Declared, path: str, rules: Rules) -> FieldSource:
    document = one.document
    if path == rules.mark_of(document.kind):
        return FieldSource("mark", document.place)
    default = one.defaults.get(path)
    if path not in document.fields and default is not None:
        return FieldSource("defaults", default, variables=_variables(one, default))
    place, origin = one.place(path), document.origin
    if origin is None or path not in origin.templates:
        file = _file(document.content, one.entity.fields[path])
        return FieldSource("entry", place, variables=_variables(one, place), file=file, default=default)
    template = origin.templates[path]
    variables = _variables(one, template)
    if path not in origin.columns:
        return FieldSource("roster", template, variables=variables, default=default)
    return FieldSource("cell", place, origin.columns[path], template, variables, default=default)


def _variables(one: Declared, place: Place) -> tuple[str, ...]:
    return one.hidden.get(place, ())


def _file(content: Content | None, value: object) -> str:
    """Return the file of a payload, where the value of a field is the digest of one."""
    return content.path if content is not None and content.digest == value else ""
