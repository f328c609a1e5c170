"""Secrets that are read when they are needed: most commands never ask for them."""

from collections.abc import Callable, Mapping
from typing import Any

from reconciler.model.secrets import Secret
from reconciler.settings import secrets
from reconciler.settings.layers import SettingLayers, SettingValue, settings_error
from reconciler.settings.secrets import Revealed


class LateSecret(Secret):
    """A secret that is read when it is needed, once. `reveal()` raises SettingsError where it cannot be."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[], str]) -> None:
        super().__init__("")
        self._read: Callable[[], str] | None = read

    def reveal(self) -> str:
        """The value itself."""
        if self._read is not None:
            self._value, self._read = self._read(), None
        return self._value


def make_secret_reader(
    value: SettingValue,
    written: Mapping[str, Any],
    layers: SettingLayers,
    environ: Mapping[str, str],
    revealed: Revealed,
) -> Callable[[], str]:
    """Return a function that reads a secret. It raises SettingsError, at the place of its setting."""

    def read() -> str:
        try:
            text = secrets.read_secret_source(
                secrets.parse_secret_source(written), root=layers.root, environ=environ
            ).reveal()
        except secrets.SecretRefused as refusal:
            raise settings_error(value.problem(f"{refusal}.", refusal.next, refusal.code)) from refusal
        revealed(text)
        return text

    return read
