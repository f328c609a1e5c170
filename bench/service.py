"""The service of the measurements: the sandbox in a process of its own, and somebody else's edits."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

PAGE = 20
TYPE = "application/vnd.service.contact-v1+json"
KEY = {"x-api-key": "demo-key", "Accept": TYPE, "Content-Type": TYPE}
USER = ("demo", "demo")
FIELDS = (
    "firstName,lastName,workEmailAddress1,workMobilePhone1,workCountry,jobTitle,department,customFields,"
    "lastModifiedTime"
)


@contextmanager
def sandbox(contacts: int, *more: str) -> Iterator[str]:
    """Run a sandbox with so many people, and yield its address."""
    options = ["--port", "0", "--contacts", str(contacts), *more]
    with _served([sys.executable, "-m", "reconciler", "sandbox", *options]) as base_url:
        yield base_url


@contextmanager
def fleet_sandbox(workspaces: int, each: int) -> Iterator[str]:
    """Run a sandbox with so many people in each of so many workspaces, and yield its address."""
    program = str(Path(__file__).with_name("fleet_service.py"))
    with _served([sys.executable, program, str(workspaces), str(each)]) as base_url:
        yield base_url


@contextmanager
def _served(command: list[str]) -> Iterator[str]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None  # noqa: S101 - asked for a line above
            line = next(line for line in process.stdout if "http://" in line)
            yield next(word for word in line.split() if word.startswith("http://")).rstrip(".,")
        finally:
            process.terminate()


def edit_live(base_url: str, numbers: Iterable[int]) -> None:
    """Give the people of these numbers (from 0) another job, as somebody else would: past every manifest."""
    with httpx2.Client(base_url=base_url, headers=KEY, auth=USER) as client:
        for number in numbers:
            page = client.get("/contacts", params={"limit": 1, "offset": number}).raise_for_status().json()
            path = f"/contacts/{page['contacts'][0]['id']}"
            body = client.get(path).raise_for_status().json()
            client.put(path, json={**body, "jobTitle": "Coordinator"}).raise_for_status()
