"""GitHub's REST and GraphQL API (version 2022-11-28), and what an operator of the workflow can mend."""

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any

MARKER = "<!-- askalike: similar questions -->"
"""The first line of the comment, by which it is found again."""
TIMEOUT_S = 30
MAX_PAGES = 1_000


class ActionError(Exception):
    """What the operator of the workflow can mend, in one line."""


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Treats redirects as errors: the key must not be sent to another host."""

    def redirect_request(self, *_: object) -> None:
        return None


OPENER = urllib.request.build_opener(NoRedirects)


def fetch(method: str, address: str, body: Any, headers: Mapping[str, str]) -> Any:
    """Return the JSON that an address answers. Raises ActionError."""
    data = None if body is None else json.dumps(body).encode()
    all_headers = {"Content-Type": "application/json", "User-Agent": "askalike", **headers}
    request = urllib.request.Request(address, data, all_headers, method=method)
    try:
        with OPENER.open(request, timeout=TIMEOUT_S) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise ActionError(f"{address}: answered {error.code} {error.reason}") from None
    except OSError as error:
        raise ActionError(f"{address}: does not answer ({error})") from None
    except ValueError:
        raise ActionError(f"{address}: its answer is not JSON") from None


class GitHub:
    """One repository: its issues and their comments."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._api = env["GITHUB_API_URL"].rstrip("/")
        self._graphql = env.get("GITHUB_GRAPHQL_URL") or f"{self._api}/graphql"
        self._repository = env["GITHUB_REPOSITORY"]
        self._headers = {
            "Authorization": f"Bearer {env['TOKEN']}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        }

    def comments(self, path: str) -> Iterator[Mapping[str, Any]]:
        """Yield all comments at a path of the repository, page by page."""
        mark = "&" if "?" in path else "?"
        for page in range(1, MAX_PAGES):
            found = self.send("GET", f"{path}{mark}per_page=100&page={page}")
            yield from found
            if not found:
                return

    def issues(self, query: str, since: str | None) -> Iterator[Mapping[str, Any]]:
        """Yield the issues that a GraphQL query finds, page by page. since: only those that changed since."""
        owner, _, name = self._repository.partition("/")
        variables: dict[str, Any] = {"owner": owner, "name": name, "since": since, "endCursor": None}
        while True:
            answer = fetch("POST", self._graphql, {"query": query, "variables": variables}, self._headers)
            try:
                issues = answer["data"]["repository"]["issues"]
                yield from filter(None, issues["nodes"])
                page = issues["pageInfo"]
            except (KeyError, TypeError):
                problems = "; ".join(str(e.get("message")) for e in answer.get("errors") or []) or "no issues in it"
                raise ActionError(f"{self._graphql}: {problems}") from None
            if not page["hasNextPage"]:
                return
            variables["endCursor"] = page["endCursor"]

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON that GitHub answers at a path of the repository. Raises ActionError."""
        return fetch(method, f"{self._api}/repos/{self._repository}/{path}", body, self._headers)


def is_ours(comment: Mapping[str, Any], author: str) -> bool:
    """Return whether a comment is one that this action wrote: anybody can copy the marker."""
    return (comment.get("user") or {}).get("login") == author and (comment.get("body") or "").startswith(MARKER)


def write_summary(env: Mapping[str, str], text: str) -> None:
    """Append Markdown to the job's summary, if there is one."""
    if path := env.get("GITHUB_STEP_SUMMARY"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(text.rstrip() + "\n\n")


def report_error(error: Exception) -> int:
    """Print an error as GitHub shows it; return the exit code."""
    text = str(error) if isinstance(error, ActionError) else f"{type(error).__name__}: {error}"
    print("::error::askalike: " + text.replace("\n", " "))
    return 1


def read_event(env: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the event that started the workflow; empty without one."""
    path = env.get("GITHUB_EVENT_PATH", "")
    if not os.path.isfile(path):
        return {}
    with open(path, encoding="utf-8") as file:
        event = json.load(file)
    return event if isinstance(event, dict) else {}
