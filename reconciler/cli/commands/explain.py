"""`reconciler explain`: what is known of an address, and why a plan touches it or not."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

import click
from msgspec import Struct

from reconciler.cli import options
from reconciler.cli.console import output
from reconciler.cli.dispatch import Completes, prints_result
from reconciler.cli.results import CommandResult, Doc
from reconciler.errors import UnknownAddress
from reconciler.model.codes import CODES, Code, find_codes_near
from reconciler.model.plans import Explanation
from reconciler.report.lines import BLANK, Line


class CodeShown(Struct):
    """A code, what it means, and its examples; empty where there is none."""

    code: str
    title: str
    means: str
    beside: str
    wrong: str
    right: str


class ExplainResult(CommandResult, frozen=True):
    """What is known of addresses."""

    title: ClassVar[str] = "What is known of addresses, or what codes mean"
    explanations: Annotated[tuple[Explanation, ...], Doc("One for each address, in the order asked for.")]

    def document(self) -> dict[str, object]:
        """Return the document, in which null is what an entity has not."""
        from reconciler.report.explain import explain_values

        return explain_values(self.explanations)

    def lines(self) -> Sequence[Line]:
        """Return each address with its fields, their sources, and why they change."""
        from reconciler.report.explain import explain_lines

        return explain_lines(self.explanations)


class CodesResult(CommandResult, frozen=True):
    """What codes mean. `found` are the codes themselves."""

    codes: Annotated[tuple[CodeShown, ...], Doc("One for each code, in the order asked for.")]
    found: tuple[Code, ...]

    def lines(self) -> Sequence[Line]:
        """Return each code with its examples."""
        from reconciler.report.codes import code_lines

        shown = [(*((BLANK,) if number else ()), *code_lines(one)) for number, one in enumerate(self.found)]
        return tuple(line for lines in shown for line in lines)


@click.command()
@click.argument(
    "arguments", metavar="ADDRESS|CODE...", nargs=-1, required=True, shell_complete=Completes("topics")
)
@click.option(
    "--offline", is_flag=True, help="Use only the manifests and the store; do not call the service."
)
@options.selection_options
@options.settings_options
@options.format_option
@prints_result
def explain_command(*, arguments: Sequence[str], **given: Any) -> ExplainResult | CodesResult:
    """Explain addresses: every field, where it comes from, and why a plan changes it or leaves it alone.

    For each field, the command shows the declared value and its source (file and line, default, cell of a
    roster, or variable), the live value, the value that the last apply sent, and what an apply would write
    and why. Then it shows who owns the entity, its id, what blocks a change, and the run that recorded it
    last. All this is also shown for an entity that is recorded but no longer declared. Only the given
    addresses are planned, as with `reconciler plan --only`. With --only or --except, the command also says
    whether such a plan would leave out an address. Secrets are hidden, as in a plan.

    For a CODE, as shown after an error or a refusal, the command prints its meaning and an example, and reads
    nothing.

    Reads settings, manifests, the store and the service; writes nothing, except caches of lists in
    .reconciler/cache and in a PostgreSQL store. With --offline, the service is not called, and live values
    are not shown.

    Exit codes: 0 explained; 1 failed; 3 the input is invalid, or an address is not known; 64 usage error; 130
    interrupted.

    \b
    Examples:
        reconciler explain contact/ops/jane-doe
        reconciler explain device/ops/jane-doe/pixel --offline
        reconciler explain contact/ops/jane-doe resource/ops/sites --format json
        reconciler explain E201
    """
    found = (next(topic for topic in TOPICS if topic.fits(argument)) for argument in arguments)
    topics = {topic.plural: topic for topic in found}
    if len(topics) > 1:
        raise click.UsageError(f"give {' or '.join(topics)}, not both.")
    (topic,) = topics.values()
    return topic.explain(arguments, given)


# --- `reconciler explain CODE` at work: what a code means. Reads no file and asks nobody ----------


_CODE = re.compile(r"\[?([A-Za-z][0-9]{1,3})\]?")  # as it is printed, brackets too


def is_code(text: str) -> bool:
    """Whether this looks like a code: no address does, for they have a slash."""
    return _CODE.fullmatch(text.strip()) is not None


def explain_codes(texts: Sequence[str]) -> CodesResult:
    """Return what codes mean. Raises UnknownAddress for one that there is not."""
    from reconciler.report.codes import code_value

    found = tuple(map(_find_code, texts))
    return CodesResult(codes=tuple(CodeShown(**code_value(one)) for one in found), found=found)


def _find_code(text: str) -> Code:
    read = _CODE.fullmatch(text.strip())
    code = read[1].upper() if read else text
    if code not in CODES:
        others = ", ".join(find_codes_near(code)) or "those of docs/errors.md"
        raise UnknownAddress(f"{text!r} is not a code.", next=f"similar codes: {others}")
    return CODES[code]


# --- `reconciler explain` at work: one table says what an argument may name, and what explains it -


class Topic(NamedTuple):
    """What arguments may name: what they are called, which arguments these are, and what explains them.

    `explain` gets the arguments, and the other options by name.
    """

    plural: str
    fits: Callable[[str], bool]
    explain: Callable[[Sequence[str], Mapping[str, Any]], ExplainResult | CodesResult]


def _explain_addresses(texts: Sequence[str], given: Mapping[str, Any]) -> ExplainResult:
    """Explain addresses. Raises UnknownAddress with similar ones where there is no such address."""
    from reconciler import pipeline
    from reconciler.cli.session import load_settings, make_dependencies, run_to_end
    from reconciler.core.planning.select import Selection

    offline: bool = given["offline"]
    selection = Selection(given["only"], given["excluded"])
    settings = load_settings(given["config"], given["environment"], service=not offline)
    declared = pipeline.resolve_manifests(settings, os.environ)
    with output.progress() as bars:
        bars.advance("reading the store" if offline else "reading the service", 0, None)
        found = run_to_end(
            lambda _signals: pipeline.explain(
                settings,
                declared,
                make_dependencies(settings),
                addresses=texts,
                selection=selection,
                offline=offline,
            )
        )
    return ExplainResult(explanations=tuple(found))


# In order: an argument is of the first topic that it fits. An address has a slash, and nothing else has one.
TOPICS: tuple[Topic, ...] = (
    Topic("codes", is_code, lambda texts, _given: explain_codes(texts)),
    Topic("addresses", lambda _text: True, _explain_addresses),
)
