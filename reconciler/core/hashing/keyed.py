"""Keyed hashes: what stands for somebody, or for a secret, where neither may stand.

One key for each purpose, all derived from the store's salt, so that a hash of one purpose never equals
one of another. Masks of secret fields have their own form (`normalize.mask`).
"""

import hmac


def keyed(salt: str, purpose: str, text: str) -> str:
    """Return 32 hexadecimal digits that stand for `text`; only who has the salt can tell for which."""
    # A key of its own for each purpose: who sees the hash of one cannot look it up among those of another.
    # 128 of its 256 bits are kept: still enough that no two texts meet by chance.
    key = hmac.digest(salt.encode(), f"reconciler {purpose}".encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()[:32]
