"""Keeps an archive of the repository's issues in $ARCHIVE: built on the first run, then updated from the event.

On a schedule it takes all issues that changed, measures the threshold anew, and reads the reactions to its comments.
askalike must be installed. No service and no key is needed.
"""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from github_api import ActionError, GitHub, is_ours, read_event, report_error, write_summary
from issue_text import clean_body, find_template_lines
from suggest import FEEDBACK_FILE, STATE_FILE, suggested_ids

QUERY = Path(__file__).parents[1] / "github" / "issues.graphql"
LAST = 500
"""The number of latest issues on which the threshold is measured."""
FALLBACK_THRESHOLD = 0.7
"""The least similarity of a suggestion in a repository with too few issues to measure one."""
MAX_READ_COMMENTS = 2_000


def main(env: Mapping[str, str]) -> int:
    """Bring the archive up to date; return the exit code."""
    try:
        print(update(env, read_event(env)))
    except (ActionError, OSError, ValueError, KeyError) as error:
        return report_error(error)
    return 0


def update(env: Mapping[str, str], event: Mapping[str, Any]) -> str:
    """Import the event's issue, or everything that changed; return what was done. Raises ActionError."""
    archive = Path(env["ARCHIVE"])
    state = read_state(archive)
    issue = event.get("issue")
    if state and issue:
        if "pull_request" in issue:
            return "nothing to do: a pull request"
        if event.get("action") in ("deleted", "transferred"):
            return "the issue leaves the archive when it is built again"
        import_issues(archive, [issue], state)
        return f"imported issue {issue['number']}"
    return refresh(env, archive, state)


def refresh(env: Mapping[str, str], archive: Path, state: dict[str, Any]) -> str:
    """Import all issues that changed since the last time, measure the threshold, and read the reactions."""
    begun = datetime.now(UTC).isoformat(timespec="seconds")
    github = GitHub(env)
    issues = list(github.issues(QUERY.read_text(encoding="utf-8"), state.get("imported_until")))
    if not state:
        state["template_lines"] = sorted(find_template_lines(issue.get("body") for issue in issues))
    if issues:
        import_issues(archive, issues, state)
    if not archive.exists():
        return "no issue yet"
    run_askalike("index", str(archive))
    state |= measure_threshold(archive) | {"imported_until": begun}
    write_state(archive, state)
    feedback = read_feedback(github, archive, env.get("AUTHOR") or "github-actions[bot]")
    write_summary(env, describe(state, len(issues), feedback))
    return f"imported {len(issues)} issues; {state['scale']} from {state['threshold']:.2g} on"


def import_issues(archive: Path, issues: Iterable[Mapping[str, Any]], state: Mapping[str, Any]) -> None:
    """Import issues without the lines of templates. Raises ActionError."""
    lines = frozenset(state.get("template_lines", ()))
    cleaned = [{**issue, "body": clean_body(issue.get("body"), lines)} for issue in issues]
    file = archive.parent / f"{archive.name}.issues.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(cleaned), encoding="utf-8")
    try:
        run_askalike("import", "github", str(file), "-o", str(archive), "--yes")
    finally:
        file.unlink()


def measure_threshold(archive: Path) -> dict[str, Any]:
    """Return the score at which a fiftieth of the latest issues would have got a comment, and what it is.

    The archive is calibrated first if its older duplicates suffice for that: scores are probabilities then.
    """
    try:
        tested = json.loads(run_askalike("backtest", str(archive), "--last", str(LAST), "--json"))
    except ActionError:  # too few issues
        return {"scale": "similarity", "threshold": FALLBACK_THRESHOLD, "tested": None}
    if tested["questions"] < LAST / 10:
        return {"scale": "similarity", "threshold": FALLBACK_THRESHOLD, "tested": None}
    scale, top = tested["scale"], tested["thresholds"][-1]
    if scale == "probability":
        share = f"{tested['prevalence']:.6f}"
        run_askalike("calibrate", str(archive), "--split", "duplicates", "--prevalence", share)
    return {"scale": scale, "threshold": top["threshold"], "tested": {**top, "questions": tested["questions"]}}


def read_feedback(github: GitHub, archive: Path, author: str) -> dict[str, int]:
    """Write the verdicts of 👍 and 👎 on this action's comments to feedback.csv; return the counts.

    👎 says that none of the suggestions asks the same. 👍 says so of the suggestion if there is only one.
    """
    counts = {"comments": 0, "up": 0, "down": 0}
    verdicts: list[tuple[str, str, int, str, str]] = []
    for n, comment in enumerate(github.comments("issues/comments?sort=created&direction=desc")):
        if n >= MAX_READ_COMMENTS:
            break
        if not is_ours(comment, author):
            continue
        reactions = comment.get("reactions") or {}
        up, down = int(reactions.get("+1") or 0), int(reactions.get("-1") or 0)
        counts["comments"] += 1
        counts["up"] += up
        counts["down"] += down
        ids = suggested_ids(comment["body"])
        number = str(comment.get("issue_url", "")).rpartition("/")[2]
        if down > up or (up > down and len(ids) == 1):
            label, verdict = (0, "reject") if down > up else (1, "accept")
            verdicts += [(number, id, label, verdict, comment.get("created_at", "")) for id in ids]
    write_verdicts(archive, verdicts)
    return counts


def write_verdicts(archive: Path, verdicts: Iterable[tuple[str, str, int, str, str]]) -> None:
    """Write verdicts as `askalike feedback export` does: `askalike import pairs` reads the file."""
    from askalike.store import Archive

    rows = list(verdicts)
    with Archive.open(archive) as opened:
        questions = opened.view().get_questions({id for query, candidate, *_ in rows for id in (query, candidate)})
    titles = {id: question.title for id, question in questions.items()}
    with (archive / FEEDBACK_FILE).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["query_id", "query", "candidate_id", "candidate", "label", "verdict", "created_at"])
        for query, candidate, label, verdict, at in rows:
            if query in titles and candidate in titles:
                writer.writerow([query, titles[query], candidate, titles[candidate], label, verdict, at])


def describe(state: Mapping[str, Any], n_issues: int, feedback: Mapping[str, int]) -> str:
    """Return what was measured, for the job's summary."""
    tested = state["tested"]
    lines = [f"### askalike: {n_issues} changed issues imported"]
    if tested:
        lines.append(
            f"Of the latest {tested['questions']} issues, each searched among the older ones, {tested['comments']} "
            f"would have got a comment at a {state['scale']} of {state['threshold']:.2g}; "
            f"{tested['right']['count']} of these name an issue of which they were closed as a duplicate, and "
            f"{tested['missed']} duplicates were missed. Run `askalike backtest` for examples."
        )
    lines.append(f"Reactions to {feedback['comments']} comments: 👍 {feedback['up']}, 👎 {feedback['down']}.")
    return "\n\n".join(lines)


def read_state(archive: Path) -> dict[str, Any]:
    """Return what earlier runs saved beside the issues; empty on the first run, or if it is damaged."""
    try:
        state = json.loads((archive / STATE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) and {"threshold", "scale", "imported_until"} <= state.keys() else {}


def write_state(archive: Path, state: Mapping[str, Any]) -> None:
    """Save what later runs need, last of all: a run that fails is made again."""
    (archive / STATE_FILE).write_text(json.dumps(state, ensure_ascii=False, indent=1), encoding="utf-8")


def run_askalike(*words: str) -> str:
    """Return what a command of askalike prints. Raises ActionError with its error."""
    done = subprocess.run(["askalike", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ActionError(done.stderr.strip().rpartition("\n")[2].removeprefix("askalike: "))
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(os.environ))
