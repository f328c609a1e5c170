"""Which country a text names: an ISO 3166-1 code of two letters, or a name in English."""

from reconciler.core.compare.identity import region_of_country
from reconciler.core.declared.values.finding import Finding
from reconciler.core.suggest import did_you_mean
from reconciler.model.geography import COUNTRY_NAMES

_CODE_MAX = 3  # letters


def region(text: str) -> str:
    """Return the two-letter code of a country, or "" where the text names none that we know."""
    return region_of_country(text)


def check(text: str) -> Finding | None:
    """Return why a text is probably no country, or None."""
    if region(text):
        return None
    # The service takes any text, so this is a warning unless the settings say otherwise.
    # A code of two or three letters is near to many others: AUS to AUT.
    meant = did_you_mean("country", text, COUNTRY_NAMES.values()) if len(text) > _CODE_MAX else ""
    return Finding(
        "is not a country that we know",
        "write its name in English, or its code of two letters",
        instead=meant,
        impossible=True,
        code="E208",
    )
