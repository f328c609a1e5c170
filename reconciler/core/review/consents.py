"""What a person has agreed to with a plan: listed for whoever reviews it, compared with what is said later.

Consent is given for one plan, and its file carries it. Each kind of it is one row of `_NUMBERS` or `_WORDS`.
Not here: what is refused without it (guard.py), and how a report shows it (report/phrases.py).
"""

from collections.abc import Callable, Iterable, Mapping

from msgspec import UNSET, Struct, structs

from reconciler.core.planning.fingerprint import fingerprint
from reconciler.errors import ConsentDiffers
from reconciler.model.plans import Consent, Create, Delete, Plan, Update

NOTHING = Consent()


class Agreement(Struct, frozen=True):
    """One word that a plan was made with: `flag` is how it was said, `allows` what follows from it.

    `at_most` is the number that goes with it, 0 where none does; `subjects` is what it concerns in this plan:
    addresses, or names of directories.
    """

    flag: str
    allows: str
    at_most: int
    subjects: tuple[str, ...]


# Field of Consent -> how it is said, what it allows, and what of a plan it concerns.
_NUMBERS: Mapping[str, tuple[str, str, Callable[[Plan], Iterable[str]]]] = {
    "deletes": (
        "--allow-deletes",
        "deletes",
        lambda plan: (str(one.address) for one in plan.changes if isinstance(one, Delete)),
    ),
    "creates": (
        "--allow-creates",
        "creates of entities that disappeared",
        lambda plan: (
            str(one.address) for one in plan.changes if isinstance(one, Create) and one.cause == "gone"
        ),
    ),
    "updates": (
        "--allow-updates",
        "updates",
        lambda plan: (str(one.address) for one in plan.changes if isinstance(one, Update)),
    ),
    "fewer_rows": (
        "--allow-fewer-rows",
        "rows fewer in the answers of directories",
        lambda plan: (one.name for one in plan.answers if one.rows < one.before),
    ),
    "moves": (
        "--allow-moves",
        "moves that lose live fields or devices which nobody declares",
        lambda plan: (str(one.after) for one in plan.moves or () if one.loses),
    ),
}
# The words of Options by which somebody vouches for what the program cannot know.
_WORDS: tuple[tuple[str, str, Callable[[Plan], tuple[str, ...]]], ...] = (
    (
        "--reactivate",
        "devices that the service disabled are enabled again",
        lambda plan: plan.options.reactivate,
    ),
    (
        "--create-again",
        "created once more, though an earlier create is in doubt",
        lambda plan: plan.options.released,
    ),
    (
        "--confirm-same",
        "still the recorded one, though its identity has changed",
        lambda plan: plan.options.confirmed,
    ),
    (
        "--same-service",
        "what was recorded at another address of the service is ours here",
        lambda plan: (plan.target.origin,) if plan.options.same_service is True else (),
    ),
)


def list_agreements(plan: Plan) -> tuple[Agreement, ...]:
    """Return every word that a person has given for a plan, numbers first, in the order of the help."""
    given = plan.consent or NOTHING
    numbers = (
        Agreement(flag, allows, getattr(given, name), tuple(concerned(plan)))
        for name, (flag, allows, concerned) in _NUMBERS.items()
        if getattr(given, name)
    )
    words = ((flag, allows, concerned(plan)) for flag, allows, concerned in _WORDS)
    return (*numbers, *(Agreement(flag, allows, 0, who) for flag, allows, who in words if who))


def flags_of(consent: Consent) -> str:
    """Return how it is said on a command line; "" for none."""
    said = ((flag, getattr(consent, name)) for name, (flag, _, _) in _NUMBERS.items())
    return " ".join(f"{flag} {number}" for flag, number in said if number)


def with_consent(plan: Plan, consent: Consent) -> Plan:
    """Return a plan that carries this consent, and whose fingerprint covers it; none leaves no trace."""
    given = UNSET if consent == NOTHING else consent
    if plan.consent == given:
        return plan
    made = structs.replace(plan, consent=given)
    return structs.replace(made, fingerprint=fingerprint(made))


def consent_for(saved: Plan, beside: Consent) -> Consent:
    """Return the consent that a saved plan is carried out with: its own, which nothing beside it changes.

    `beside` is what is said now; it may repeat what the plan holds. A plan that holds none takes it: such
    are undos, and those of before plans held any. Raises ConsentDiffers.
    """
    own = saved.consent or NOTHING
    if own == NOTHING:
        return beside
    if beside not in (NOTHING, own):
        raise ConsentDiffers(
            f"the plan was reviewed with {flags_of(own)}, and {flags_of(beside)} is said beside it; nothing "
            "was written.",
            next="leave that out; for another number plan again with it, and have that plan reviewed",
        )
    return own
