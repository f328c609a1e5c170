"""As much of the APIs of GitHub, Forgejo, Gitea and GitLab as the workflows use; all else is 404.

A pull request is what GitLab calls a merge request, a comment what it calls a note.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

TOKEN = "token-canary"
REPOSITORY = "example/people"
_GITHUB, _GITLAB = f"/repos/{REPOSITORY}/", "/projects/7/"
_COMMENTS = r"(?:issues|merge_requests)/(\d+)/(?:comments|notes)"
_PAGE = 2  # entries of a page, whatever is asked for: the second page is read in every test


class Forge(ThreadingHTTPServer):
    """The pull requests, comments and statuses of one repository, and the calls that were made."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.author = "github-actions[bot]"  # whose token it is
        self.pulls: list[dict[str, Any]] = []
        self.comments: list[dict[str, Any]] = []
        self.statuses: list[dict[str, Any]] = []
        self.issues: list[dict[str, Any]] = []
        self.calls: list[str] = []
        self.elsewhere = ""  # where every call is sent on to

    @property
    def url(self) -> str:
        """The value of GITHUB_API_URL, and of CI_API_V4_URL."""
        return f"http://127.0.0.1:{self.server_port}"

    def add_pull(self, number: int, head: str) -> None:
        """Open a pull request whose newest commit this is."""
        self.pulls.append({"number": number, "iid": number, "state": "merged", "head": {"sha": head}})

    def add_comment(self, number: int, body: str, author: str) -> None:
        """Say something below a pull request."""
        self.comments.append(
            {
                "id": len(self.comments) + 1,
                "body": body,
                "user": {"login": author},
                "author": {"id": author},
                "of": number,
            }
        )

    def add_issue(self, said: dict[str, Any], author: str) -> None:
        """Open an issue."""
        number = len(self.issues) + 1
        made = {
            "body": "",
            **said,
            "number": number,
            "iid": number,
            "state": "open",
            "user": {"login": author},
        }
        self.issues.append(made)


class _Handler(BaseHTTPRequestHandler):
    server: Forge

    def do_GET(self) -> None:
        where, page = self._asked()
        found = None
        if where == "user":
            self._answer(200, {"id": self.server.author})
            return
        if where == "pulls":
            found = self.server.pulls
        elif where == "issues":
            found = [one for one in self.server.issues if one["state"] in ("open", "opened")]
        elif match := re.fullmatch(r"repository/commits/([0-9a-f]{40})/merge_requests", where):
            found = [one for one in self.server.pulls if one["head"]["sha"] == match[1]]
        elif match := re.fullmatch(_COMMENTS, where):
            found = [one for one in self.server.comments if one["of"] == int(match[1])]
        self._answer(200, None if found is None else found[_PAGE * (page - 1) : _PAGE * page])

    def do_POST(self) -> None:
        where, _ = self._asked()
        body = self._body()
        if match := re.fullmatch(_COMMENTS, where):
            self.server.add_comment(int(match[1]), body["body"], self.server.author)
            self._answer(201, self.server.comments[-1])
        elif where == "issues":
            self.server.add_issue(body, self.server.author)
            self._answer(201, self.server.issues[-1])
        elif match := re.fullmatch(r"statuses/([0-9a-f]{40})", where):
            self.server.statuses.append({**body, "sha": match[1]})
            self._answer(201, body)
        else:
            self._answer(404, None)

    def do_PATCH(self) -> None:
        where, _ = self._asked()
        match = re.fullmatch(r"(issues|issues/comments|merge_requests/\d+/notes)/(\d+)", where)
        those = self.server.issues if match and match[1] == "issues" else self.server.comments
        found = [one for one in those if match and one.get("id", one.get("number")) == int(match[2])]
        if found:
            found[0].update(self._body())
        self._answer(200, found[0] if found else None)

    def do_PUT(self) -> None:
        self.do_PATCH()  # GitLab's word for it

    def _asked(self) -> tuple[str, int]:
        """Return what is asked for below the repository, and which page of it."""
        self.server.calls.append(f"{self.command} {self.path}")
        where, _, query = self.path.partition("?")
        page = re.search(r"(?:^|&)page=(\d+)", query)
        return where.removeprefix(_GITHUB).removeprefix(_GITLAB).lstrip("/"), int(page[1]) if page else 1

    def _body(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return found

    def _answer(self, status: int, value: object) -> None:
        """Answer, where the token and the address are those of the job."""
        known = (
            f"Bearer {TOKEN}" == self.headers["Authorization"] and self.path.startswith(_GITHUB)
        ) or self.headers["PRIVATE-TOKEN"] == TOKEN
        status = status if value is not None else 404
        self.send_response(302 if self.server.elsewhere else status if known else 401)
        if self.server.elsewhere:
            self.send_header("Location", f"{self.server.elsewhere}{self.path}")
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def running_forge() -> Iterator[Forge]:
    """A forge on loopback, for as long as the block lasts."""
    with Forge() as forge:
        thread = Thread(target=forge.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield forge
        forge.shutdown()
        thread.join()
