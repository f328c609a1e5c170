"""Promises of the command line about what it shows."""

import pytest
from pyrage import x25519

from reconciler.errors import InputError
from reconciler.files.encryption import check_recipients

_PREFIX = "AGE-SECRET-KEY-1"


@pytest.mark.parametrize("spelt", [str, lambda key: str(key).lower()])
def test_not_even_the_start_of_a_private_key_is_shown_where_a_public_one_belongs(spelt: type[str]) -> None:
    """What is refused is quoted so that it is recognized; this one is named by what it is."""
    key = spelt(x25519.Identity.generate())

    with pytest.raises(InputError) as caught:
        check_recipients([key])

    assert key[len(_PREFIX) :][:4] not in f"{caught.value} {caught.value.next}"
    assert "(a private key)" in str(caught.value)
