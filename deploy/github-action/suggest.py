"""Comments on a new GitHub issue with up to three likely duplicates, once; it closes and labels nothing.

Python alone, without a package, as it runs on GitHub's machines. Similar questions come from a service of askalike
(URL) or from the archive in ARCHIVE, which issue_index.py keeps.
"""

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from github_api import MARKER, ActionError, GitHub, fetch, is_ours, read_event, report_error, write_summary
from issue_text import clean_body

MAX_SUGGESTIONS = 3
MAX_CANDIDATES = 20
MAX_REASON_WORDS, MIN_REASON_SHARE = 3, 0.2
FUNCTION_WORDS = re.compile(
    "a|about|an|and|any|are|as|at|be|been|but|by|can|could|did|do|does|for|from|had|has|have|how|i|if|in|into|is|it|its|"
    "me|my|no|not|of|on|or|our|so|some|than|that|the|their|then|there|this|to|was|we|were|what|when|where|which|who|why|"
    "will|with|would|you|your",
    re.IGNORECASE,
)
"""Words that are no reason; a script without a package knows those of English."""
ACTIONS = ("opened", "edited", "reopened")
COMMAND = "/similar"
"""A comment that begins with it asks again."""
STATE_FILE, FEEDBACK_FILE = "github-action.json", "feedback.csv"
MARKDOWN = re.compile(r"([\\`*_\[\]<>#|~])")
ZERO_WIDTH = "\u200b"
AUTOLINK = re.compile(r"(?<=[@#])|(?<=:)(?=//)|(?<=\bwww)(?=\.)|(?<=\bGH-)(?=\d)", re.IGNORECASE)
"""Places in @name, #12, user/repo#12, https://…, www.… and GH-12 that GitHub links no more if there is another sign."""
COMMIT = re.compile(r"\b[0-9a-f]{7,40}\b", re.IGNORECASE)
NOTHING_LEFT = "Nothing that was asked before is similar enough any more."
NOTHING_FOUND = "Nothing that was asked before is similar enough."
FOOTER = f"👍 if one asks the same, 👎 if none does. A comment `{COMMAND}` searches again."
SUGGESTED = re.compile(r"<!-- suggested:([\w\s-]*)-->")
Result = Mapping[str, Any]


def main(env: Mapping[str, str]) -> int:
    """Read the event, search, comment; return the exit code."""
    try:
        print(suggest(env, read_event(env)))
    except (ActionError, OSError, ValueError, KeyError) as error:
        return report_error(error)
    return 0


def suggest(env: Mapping[str, str], event: Mapping[str, Any]) -> str:
    """Write, edit or leave the comment for an event of issues; return what was done. Raises ActionError."""
    issue = event.get("issue")
    is_asked = is_command(event)
    if not issue or "pull_request" in issue or not (is_asked or is_new(env, event)):
        return "nothing to do: no new or edited issue"
    if not is_asked and (issue["user"]["type"] == "Bot" or issue["state"] != "open"):
        return "nothing to do: opened by a bot, or closed"
    if not is_asked and (reason := gate(env, issue)):
        return f"nothing to do: {reason}"
    results = likely_duplicates(env, issue)
    text = format_comment(results) or (f"{MARKER}\n{NOTHING_FOUND}" if is_asked else "")
    if is_set(env, "DRY_RUN"):
        shown = text.partition("\n")[2] or NOTHING_FOUND
        write_summary(env, f"### askalike, a dry run: issue {issue['number']}, {escape(issue['title'])}\n\n{shown}")
        return f"dry run: {len(results)} suggestions in the summary"
    return write_comment(GitHub(env), issue["number"], text, env.get("AUTHOR") or "github-actions[bot]")


def write_comment(github: GitHub, number: int, text: str, author: str) -> str:
    """Write the issue's only comment, or change it; return what was done."""
    existing = next((c for c in github.comments(f"issues/{number}/comments") if is_ours(c, author)), None)
    if existing is None:
        if not text:
            return "nothing similar enough"
        github.send("POST", f"issues/{number}/comments", {"body": text})
        return "commented"
    text = text or f"{MARKER}\n{NOTHING_LEFT}"
    if existing["body"].strip() == text.strip():
        return "the comment stands as it is"
    github.send("PATCH", f"issues/comments/{existing['id']}", {"body": text})
    return "edited the comment"


def is_command(event: Mapping[str, Any]) -> bool:
    """Return whether a person's new comment asks again."""
    comment = event.get("comment") or {}
    words = (comment.get("body") or "").split()
    return event.get("action") == "created" and words[:1] == [COMMAND] and comment["user"]["type"] != "Bot"


def is_new(env: Mapping[str, str], event: Mapping[str, Any]) -> bool:
    """Return whether an issue was opened or changed, or got a label that the gate asks for."""
    if "comment" in event:
        return False
    label = (event.get("label") or {}).get("name", "")
    return event.get("action") in ACTIONS or (event.get("action") == "labeled" and label in names(env, "LABELS"))


def gate(env: Mapping[str, str], issue: Mapping[str, Any]) -> str:
    """Return why the issue's labels keep the action silent; empty if they do not."""
    labels = {label["name"] for label in issue.get("labels") or ()}
    wanted, unwanted = names(env, "LABELS"), names(env, "SKIP_LABELS")
    if wanted and not labels & wanted:
        return f"no label is one of {', '.join(sorted(wanted))}"
    return f"it has the label {min(labels & unwanted)}" if labels & unwanted else ""


def likely_duplicates(env: Mapping[str, str], issue: Mapping[str, Any]) -> list[Result]:
    """Return up to three results above the threshold, without the issue itself. Raises ActionError."""
    title, threshold = issue["title"][:1_000], parse_threshold(env.get("THRESHOLD", ""))
    if env.get("URL"):
        results = ask_service(env, title, clean_body(issue.get("body"), frozenset())[:100_000])
        if any(r["probability"] is None for r in results if r["url"] != issue["html_url"]):
            raise ActionError(
                "the archive is not calibrated, so that nothing is known to be likely; run: askalike calibrate"
            )
    else:
        results = ask_archive(env, issue, threshold)
    found = [r for r in results if r["url"] != issue["html_url"] and score(r) >= threshold]
    return found[:MAX_SUGGESTIONS]


def score(result: Result) -> float:
    """Return the probability of a result, or, without a calibration, its similarity."""
    value = result["probability"] if result["probability"] is not None else result.get("similarity")
    return float(value or 0.0)


def parse_threshold(text: str) -> float:
    """Return the least score to suggest; 0 leaves it to the archive's own threshold. Raises ActionError."""
    try:
        if 0 <= (value := float(text or 0)) <= 1:
            return value
    except ValueError:
        pass
    raise ActionError(f"threshold {text!r}: expected a probability from 0 to 1")


def ask_service(env: Mapping[str, str], title: str, body: str) -> list[Result]:
    """Return what a service finds; URL is its address with the archive's name. Raises ActionError."""
    address = f"{env['URL'].rstrip('/')}/similar"
    if urlsplit(address).scheme not in ("http", "https"):
        raise ActionError(f"url {env['URL']!r}: expected an address such as https://questions.example/v1/desk")
    key = {"Authorization": f"Bearer {env['KEY']}"} if env.get("KEY") else {}
    found = fetch("POST", address, {"title": title, "body": body, "k": MAX_SUGGESTIONS + 1}, key)
    if not isinstance(found, dict) or not isinstance(found.get("results"), list):
        raise ActionError(f"{address}: this is no answer of askalike")
    return found["results"]


def ask_archive(env: Mapping[str, str], issue: Mapping[str, Any], threshold: float) -> list[Result]:
    """Return what `askalike search` finds in ARCHIVE: older issues, open ones unless CLOSED. Raises ActionError."""
    archive = Path(env["ARCHIVE"])
    state = json.loads((archive / STATE_FILE).read_text(encoding="utf-8"))
    body = clean_body(issue.get("body"), frozenset(state.get("template_lines", ())))[:100_000]
    least = f"--min-{state['scale']}={threshold or state['threshold']}"
    command = ["askalike", "search", "--json", "-k", str(MAX_CANDIDATES), f"--before={issue['created_at']}", least]
    command += ["--body=-", "--", str(archive), issue["title"][:1_000]]
    done = subprocess.run(command, input=body, capture_output=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode:
        raise ActionError(done.stderr.strip().rpartition("\n")[2].removeprefix("askalike: "))
    rejected = read_rejected(archive, str(issue["number"]))
    results: list[Result] = json.loads(done.stdout)["results"]
    return [r for r in results if r["id"] not in rejected and (is_set(env, "CLOSED") or "open" in r["states"])]


def read_rejected(archive: Path, number: str) -> set[str]:
    """Return the ids of what people have said not to be the same as an issue."""
    try:
        with (archive / FEEDBACK_FILE).open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            return {r["candidate_id"] for r in rows if r["query_id"] == number and r["label"] == "0"}
    except OSError:
        return set()


def format_comment(results: list[Result]) -> str:
    """Return the comment in Markdown; empty where there is nothing to suggest."""
    if not results:
        return ""
    ids = " ".join(str(r["id"]) for r in results if re.fullmatch(r"[\w-]+", str(r["id"])))
    lines = [format_line(r) for r in sorted(results, key=lambda r: not is_linkable(r["url"]))]
    return "\n".join([MARKER, f"<!-- suggested: {ids} -->", "This may have been asked before:", "", *lines, "", FOOTER])


def format_line(result: Result) -> str:
    """Return a suggestion: its title, how likely it is, and why."""
    title = escape(result["title"])
    linked = f"[{title}]({result['url']})" if is_linkable(result["url"]) else title
    words = main_words(result.get("contributions") or ())
    reasons = [f"both say {', '.join(escape(word) for word in words)}"] if words else []
    reasons += [escape(result["solution"])] if result.get("solution") else []
    percent = f"{100 * score(result):.0f} %"
    likely = f"similarity {percent}" if result["probability"] is None else f"{percent} likely the same"
    return f"- {linked} ({likely})" + (f": {'; '.join(reasons)}" if reasons else "")


def main_words(contributions: Sequence[Result]) -> list[str]:
    """Return the words of both that contribute most to a score; no function words if there are others."""
    most = max((c["score"] for c in contributions), default=0.0)
    words = [c["word"] for c in contributions if c["fields"] and c["score"] > MIN_REASON_SHARE * most]
    return ([word for word in words if not FUNCTION_WORDS.fullmatch(word)] or words)[:MAX_REASON_WORDS]


def suggested_ids(comment: str) -> list[str]:
    """Return the ids of the issues that a comment of this action names."""
    match = SUGGESTED.search(comment)
    return match[1].split() if match else []


def escape(title: str) -> str:
    """Return a title as plain text in Markdown, in which GitHub links nothing and mentions nobody."""
    text = COMMIT.sub(lambda match: ZERO_WIDTH.join(re.findall(".{1,6}", match[0])), " ".join(title.split()))
    return MARKDOWN.sub(r"\\\1", AUTOLINK.sub(ZERO_WIDTH, text))


def is_linkable(url: str | None) -> bool:
    """Return whether an address is one of the web, without what would end a link."""
    return bool(url and re.fullmatch(r"https?://[^\s()<>]+", url))


def names(env: Mapping[str, str], variable: str) -> set[str]:
    """Return the names in an input, separated by commas."""
    return set(filter(None, map(str.strip, env.get(variable, "").split(","))))


def is_set(env: Mapping[str, str], variable: str) -> bool:
    """Return whether an input says yes."""
    return env.get(variable, "").strip().lower() in ("true", "yes", "1")


if __name__ == "__main__":
    sys.exit(main(os.environ))
