"""`reconciler explain` at work: one table says what an argument may name, and what explains it."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import click

from reconciler import pipeline
from reconciler.cli.console import output
from reconciler.cli.session import finish, outside, settings_of
from reconciler.cli.verbs.calling import show
from reconciler.cli.verbs.reviewing.explain_code import explain_codes, is_code
from reconciler.core.planning.select import Selection
from reconciler.report.explain import explain_lines, explain_values


class Topic(NamedTuple):
    """What arguments may name: what they are called, which arguments these are, and what explains them.

    `explain` gets the arguments, `as_json`, and the other options by name; it returns the exit code.
    """

    plural: str
    fits: Callable[[str], bool]
    explain: Callable[..., int]


def explain(*, arguments: Sequence[str], as_json: bool, **given: Any) -> int:
    """Explain every argument; all of them name things of one topic."""
    topics = {topic.plural: topic for topic in map(_topic, arguments)}
    if len(topics) > 1:
        raise click.UsageError(f"give {' or '.join(topics)}, not both at once.")
    (topic,) = topics.values()
    return topic.explain(arguments, as_json=as_json, given=given)


def _topic(argument: str) -> Topic:
    """Return the first topic that an argument fits; the last one fits everything."""
    return next(topic for topic in TOPICS if topic.fits(argument))


def _addresses(texts: Sequence[str], *, as_json: bool, given: Mapping[str, Any]) -> int:
    """Explain addresses; what is no address is told by who knows the addresses that there are."""
    offline: bool = given["offline"]
    selection = Selection(given["only"], given["excluded"])
    settings = settings_of(given["config"], given["environment"], service=not offline)
    declared = pipeline.resolve_manifests(settings, os.environ)
    with output.progress() as bars:
        bars.advance("reading the store" if offline else "reading the service", 0, None)
        found = finish(
            lambda _signals: pipeline.explain(
                settings, declared, outside(settings), addresses=texts, selection=selection, offline=offline
            )
        )
    return show(explain_values(found), explain_lines(found), as_json=as_json)


# In order: an argument is of the first topic that it fits. An address has a slash, and nothing else has one.
TOPICS: tuple[Topic, ...] = (
    Topic("codes", is_code, explain_codes),
    Topic("addresses", lambda _text: True, _addresses),
)
