"""The gateway in front of the service: the key, and how many requests it lets through.

Belongs here: its counting and its own refusals, which are no error bodies of the service. Not here: the user.
Source: docs/service.md, credentials and limits: 403 with a code of the gateway, or 429.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from reconciler.sandbox.calls import Outgoing
from reconciler.sandbox.config import SandboxConfig
from reconciler.sandbox.web.auth import key_fits


@dataclass(frozen=True, slots=True)
class _Quota:
    """One limit: its code and its words, its period, and the moment from which it counts."""

    code: str
    words: str
    start: datetime
    end: datetime
    allowed: int | None


class Gateway:
    """Counts the requests of the one key by the second and by the day (UTC), both on the sandbox's clock."""

    def __init__(self, config: SandboxConfig) -> None:
        self._config = config
        self._counts: dict[str, tuple[datetime, int]] = {}  # code -> start of its period, requests in it

    def refusal(self, headers: Mapping[str, str], query: Mapping[str, str]) -> Outgoing | None:
        """None lets the request through and counts it; a refused one is not counted."""
        if not key_fits(self._config, headers, query):
            return self._forbidden("Forbidden", "Developer Inactive")
        quotas = [quota for quota in self._quotas() if quota.allowed is not None]
        for quota in quotas:
            if self._used(quota) >= (quota.allowed or 0):
                return self._over(quota)
        for quota in quotas:
            self._counts[quota.code] = (quota.start, self._used(quota) + 1)
        return None

    def _quotas(self) -> tuple[_Quota, _Quota]:
        config, now = self._config, self._config.clock()
        second = now.replace(microsecond=0)
        day = second.replace(hour=0, minute=0, second=0)
        return (
            _Quota("OVER_QPD", "Over Rate", day, day + timedelta(days=1), config.requests_per_day),
            _Quota("OVER_QPS", "Over Qps", second, second + timedelta(seconds=1), config.requests_per_second),
        )

    def _used(self, quota: _Quota) -> int:
        start, count = self._counts.get(quota.code, (quota.start, 0))
        return count if start == quota.start else 0

    def _over(self, quota: _Quota) -> Outgoing:
        code = f"ERR_403_DEVELOPER_{quota.code}"
        words = f"Developer {quota.words}"
        match self._config.throttle:
            case "429":
                wait_s = max(1, ceil((quota.end - self._config.clock()).total_seconds()))
                content = b'{"message":"Too Many Requests"}'
                return Outgoing(429, content, "application/json", (("retry-after", str(wait_s)),))
            case "403-older":
                return self._forbidden(words, words, ("x-mashery-error-code", code), ("retry-after", "1"))
            case _:
                return self._forbidden(words, words, ("x-error-code", code), ("x-error-detail", words))

    def _forbidden(self, message: str, page: str, *headers: tuple[str, str]) -> Outgoing:
        if self._config.forbidden == "html":
            return Outgoing(403, f"<h1>{page}</h1>".encode(), "text/html", headers)
        return Outgoing(403, f'{{"message":"{message}"}}'.encode(), "application/json", headers)
