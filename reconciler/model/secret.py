"""Secret: a value that is sent and never shown."""


class Secret:
    """A value that must never be shown. `reveal()` is the only way to it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself, for the one place that sends it."""
        return self._value

    def __repr__(self) -> str:
        return "(secret)"

    __str__ = __repr__
