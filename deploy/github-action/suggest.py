"""Comments on a new GitHub issue with up to three likely duplicates, once; it closes and labels nothing.

Python alone, without a package, as it runs on GitHub's machines. Similar questions come from a service of askalike
(URL) or from an archive on the same machine (ARCHIVE). GitHub's REST API is that of 2022-11-28.
"""

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

MAX_SUGGESTIONS = 3
MARKER = "<!-- askalike: similar questions -->"
"""The first line of the comment, by which it is found again."""
ACTIONS = ("opened", "edited", "reopened")
TIMEOUT_S = 30
MARKDOWN = re.compile(r"([\\`*_\[\]<>#|~])")
NOTHING_LEFT = "Nothing that was asked before is similar enough any more."
Result = Mapping[str, Any]


class SuggestError(Exception):
    """What the operator of the workflow can mend, in one line."""


def main(env: Mapping[str, str]) -> int:
    """Read the event, search, comment; return the exit code."""
    try:
        print(suggest(env, json.loads(Path(env["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))))
    except (SuggestError, OSError, ValueError, KeyError) as error:
        text = str(error) if isinstance(error, SuggestError) else f"{type(error).__name__}: {error}"
        print("::error::askalike: " + text.replace("\n", " "))
        return 1
    return 0


def suggest(env: Mapping[str, str], event: Mapping[str, Any]) -> str:
    """Write, edit or leave the comment for an event of issues; return what was done. Raises SuggestError."""
    issue = event.get("issue")
    if event.get("action") not in ACTIONS or not issue or "pull_request" in issue:
        return "nothing to do: no new or edited issue"
    if issue["user"]["type"] == "Bot" or issue["state"] != "open":
        return "nothing to do: opened by a bot, or closed"
    github = GitHub(env["GITHUB_API_URL"], env["GITHUB_REPOSITORY"], env["TOKEN"], issue["number"])
    text = format_comment(likely_duplicates(env, issue))
    existing = next((c for c in github.comments() if is_ours(c, env.get("AUTHOR") or "github-actions[bot]")), None)
    if existing is None:
        if not text:
            return "nothing similar enough"
        github.send("POST", f"issues/{issue['number']}/comments", {"body": text})
        return "commented"
    text = text or f"{MARKER}\n{NOTHING_LEFT}"
    if existing["body"].strip() == text.strip():
        return "the comment stands as it is"
    github.send("PATCH", f"issues/comments/{existing['id']}", {"body": text})
    return "edited the comment"


def likely_duplicates(env: Mapping[str, str], issue: Mapping[str, Any]) -> list[Result]:
    """Return up to three results above the threshold, without the issue itself. Raises SuggestError."""
    title, body = issue["title"][:1_000], (issue.get("body") or "")[:100_000]
    threshold = parse_threshold(env.get("THRESHOLD", ""))
    results = ask_service(env, title, body) if env.get("URL") else ask_archive(env, title, body)
    others = [r for r in results if r["url"] != issue["html_url"]]
    if any(r["probability"] is None for r in others):
        raise SuggestError(
            "the archive is not calibrated, so that nothing is known to be likely; run: askalike calibrate"
        )
    return [r for r in others if r["probability"] >= threshold][:MAX_SUGGESTIONS]


def parse_threshold(text: str) -> float:
    """Return the smallest probability to suggest; 0 leaves it to the archive's own threshold. Raises SuggestError."""
    try:
        if 0 <= (value := float(text or 0)) <= 1:
            return value
    except ValueError:
        pass
    raise SuggestError(f"threshold {text!r}: expected a probability from 0 to 1")


def ask_service(env: Mapping[str, str], title: str, body: str) -> list[Result]:
    """Return what a service finds; URL is its address with the archive's name. Raises SuggestError."""
    address = f"{env['URL'].rstrip('/')}/similar"
    if urlsplit(address).scheme not in ("http", "https"):
        raise SuggestError(f"url {env['URL']!r}: expected an address such as https://questions.example/v1/desk")
    key = {"Authorization": f"Bearer {env['KEY']}"} if env.get("KEY") else {}
    found = fetch("POST", address, {"title": title, "body": body, "k": MAX_SUGGESTIONS + 1}, key)
    if not isinstance(found, dict) or not isinstance(found.get("results"), list):
        raise SuggestError(f"{address}: this is no answer of askalike")
    return found["results"]


def ask_archive(env: Mapping[str, str], title: str, body: str) -> list[Result]:
    """Return what `askalike search` finds in ARCHIVE. Raises SuggestError."""
    command = ["askalike", "search", "--json", "-k", str(MAX_SUGGESTIONS + 1), f"--body={body}", "--"]
    done = subprocess.run([*command, env["ARCHIVE"], title], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SuggestError(done.stderr.strip().removeprefix("askalike: "))
    return json.loads(done.stdout)["results"]


def format_comment(results: list[Result]) -> str:
    """Return the comment in Markdown; empty where there is nothing to suggest."""
    if not results:
        return ""
    lines = [f"- [{escape(r['title'])}]({r['url']}) ({r['probability']:.0%})" for r in results if is_linkable(r["url"])]
    lines += [f"- {escape(r['title'])} ({r['probability']:.0%})" for r in results if not is_linkable(r["url"])]
    return "\n".join([MARKER, "This may have been asked before:", "", *lines])


def escape(title: str) -> str:
    """Return a title as plain text in Markdown, which mentions nobody."""
    return MARKDOWN.sub(r"\\\1", " ".join(title.split())).replace("@", "@\u200b")


def is_linkable(url: str | None) -> bool:
    """Return whether an address is one of the web, without what would end a link."""
    return bool(url and re.fullmatch(r"https?://[^\s()<>]+", url))


def is_ours(comment: Mapping[str, Any], author: str) -> bool:
    """Return whether a comment is the one that this program wrote: anybody can copy the marker."""
    return (comment.get("user") or {}).get("login") == author and (comment.get("body") or "").startswith(MARKER)


class GitHub:
    """The comments of one issue."""

    def __init__(self, api: str, repository: str, token: str, issue: int) -> None:
        self._repository = f"{api.rstrip('/')}/repos/{repository}"
        self._token, self._issue = token, issue

    def comments(self) -> Iterator[Mapping[str, Any]]:
        """Yield all comments of the issue, page by page."""
        page = 1
        while found := self.send("GET", f"issues/{self._issue}/comments?per_page=100&page={page}"):
            yield from found
            page += 1

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON that GitHub answers. Raises SuggestError."""
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        return fetch(method, f"{self._repository}/{path}", body, headers)


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Treats redirects as errors: the key must not be sent to another host."""

    def redirect_request(self, *_: object) -> None:
        return None


OPENER = urllib.request.build_opener(NoRedirects)


def fetch(method: str, address: str, body: Any, headers: Mapping[str, str]) -> Any:
    """Return the JSON that an address answers. Raises SuggestError."""
    data = None if body is None else json.dumps(body).encode()
    all_headers = {"Content-Type": "application/json", "User-Agent": "askalike", **headers}
    request = urllib.request.Request(address, data, all_headers, method=method)
    try:
        with OPENER.open(request, timeout=TIMEOUT_S) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise SuggestError(f"{address}: answered {error.code} {error.reason}") from None
    except OSError as error:
        raise SuggestError(f"{address}: does not answer ({error})") from None
    except ValueError:
        raise SuggestError(f"{address}: its answer is not JSON") from None


if __name__ == "__main__":
    sys.exit(main(os.environ))
