"""E-mail addresses that have the right form and reach nobody."""

import pytest

from reconciler.core.desired.value_forms import EmailCheck


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("o\u2019brien@example.com", "holds a typographic character"),
        ("\u201cjane\u201d@example.com", "holds a typographic character"),
        ("jane\u2013doe@example.com", "holds a typographic character"),
        ("jane\u2026@example.com", "holds a typographic character"),
        ("jane\u00b4s@example.com", "holds a typographic character"),
        ("jane\u00b7doe@example.com", "holds a typographic character"),
        ("\uff4aane@example.com", "holds a special form of a letter"),
        ("jane@\uff45xample.com", "holds a special form of a letter"),
        ("\ufb01ona@example.com", "holds a special form of a letter"),
        ("jane@192.0.2.1", "has an IP address after the @"),
        (f"{'x' * 65}@example.com", "has more than 64 octets before the @"),
        ("\u00e9" * 33 + "@example.com", "has more than 64 octets before the @"),
    ],
)
def test_an_address_that_nobody_has_is_a_warning(text: str, what: str) -> None:
    """Word writes a typographic apostrophe: it is another mailbox, and the mail bounces."""
    found = EmailCheck().check(text)

    assert found is not None
    assert found.what.startswith(what)
    assert not found.impossible


@pytest.mark.parametrize(
    "text",
    [
        "jane..doe@example.com",
        ".jane@example.com",
        "jane.@example.com",
        "jane@example.com.",
        "jane@[192.0.2.1]",
        "ja\u00a0ne@example.com",
        "ja\u200bne@example.com",
        f"jane@{'x' * 64}.com",
    ],
)
def test_what_was_a_mistake_stays_one(text: str) -> None:
    """No server takes it."""
    found = EmailCheck().check(text)

    assert found is not None
    assert found.impossible


@pytest.mark.parametrize(
    "text",
    [
        "o'brien@example.com",
        "jane+night@example.com",
        "jan\u00e9@b\u00fccher.example",
        "\u7528\u6237@\u4f8b\u5b50.\u5e7f\u544a",
        "\u092a\u0924\u093e@example.com",
        "\u0e19\u0e49\u0e33@example.com",
        f"{'x' * 64}@example.com",
    ],
)
def test_addresses_of_any_script_pass(text: str) -> None:
    """Letters and marks of a language are no typographic signs."""
    assert EmailCheck().check(text) is None
