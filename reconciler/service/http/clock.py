"""The service's clock, as far as it shows it: the Date of its last answer.

Belongs here: noting that header on its way. Not here: what a difference means
(cli/verbs/project/doctor/outside.py).
"""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx2

from reconciler.service.http.connections import Connections


class Watched(httpx2.AsyncBaseTransport):
    """Connections that note what time the service says it is. They stay their owner's to close."""

    def __init__(self, below: Connections) -> None:
        self._below = below
        self._date = ""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, unchanged."""
        response = await self._below.handle_async_request(request)
        # That of the last answer alone: an earlier one would be late by as much as the calls since took.
        self._date = response.headers.get("date", "")
        return response

    async def aclose(self) -> None:
        """Close what is below."""
        await self._below.aclose()

    @property
    def told(self) -> datetime | None:
        """The time that the last answer told, in UTC and whole seconds; None where it told none."""
        try:
            return parsedate_to_datetime(self._date).astimezone(UTC)
        # RFC 9110, 6.6.1: a server without a clock sends no Date.
        except (TypeError, ValueError):
            return None
