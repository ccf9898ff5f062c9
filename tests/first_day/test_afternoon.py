"""An afternoon: read what one has, test it on the past, see what the action would write."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commands import askalike, environment

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "deploy" / "github-action"
TOPICS = (
    "printing cuts off the last line", "the dark theme is hard to read", "search finds no umlauts",
    "export to a spreadsheet fails", "the window opens on the wrong screen", "undo forgets the last step",
    "updates restart the machine", "the menu is not translated",
)  # fmt: skip


def issues() -> list[dict[str, Any]]:
    """Sixteen issues, two a topic; a maintainer closed each second one as a duplicate of the first."""
    rows = []
    for n, topic in enumerate(TOPICS * 2, 1):
        mark = {"body": f"Duplicate of #{n - 8}", "authorAssociation": "OWNER", "author": {"login": "hub"}}
        rows.append({
            "number": n, "title": f"{topic}, again" if n > 8 else topic, "body": "### Version\n\n1", "state": "OPEN",
            "url": f"https://github.com/octo-org/desk/issues/{n}", "createdAt": f"2026-01-{n:02}T10:00:00Z",
            "author": {"login": "mona"}, "labels": [], "comments": [mark] if n > 8 else [],
        })  # fmt: skip
    return rows


def run(*words: object, folder: Path) -> str:
    done = askalike(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_dry_run_of_the_action_shows_its_writes(tmp_path: Path) -> None:
    (tmp_path / "issues.json").write_text(json.dumps(issues()[:8]))
    run("import", "github", "issues.json", "-o", "desk", folder=tmp_path)
    state = {"scale": "similarity", "threshold": 0.5, "imported_until": "2026-02-01T00:00:00Z", "template_lines": []}
    (tmp_path / "desk" / "github-action.json").write_text(json.dumps(state))
    issue = {
        "number": 99, "title": "Printing cuts off the last line of a page", "body": None, "state": "open", "labels": [],
        "created_at": "2026-03-01T10:00:00Z", "html_url": "https://github.com/octo-org/desk/issues/99",
        "user": {"login": "ada", "type": "User"},
    }  # fmt: skip
    (tmp_path / "event.json").write_text(json.dumps({"action": "opened", "issue": issue}))
    (tmp_path / "askalike").write_text(f"#!{sys.executable}\nfrom askalike.cli import main\n\nmain()\n")
    (tmp_path / "askalike").chmod(0o700)
    env = environment() | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}", "ASKALIKE_RANKER": "bm25", "TOKEN": "t", "DRY_RUN": "true",
        "GITHUB_API_URL": "http://127.0.0.1:9", "GITHUB_REPOSITORY": "octo-org/desk", "ARCHIVE": str(tmp_path / "desk"),
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }  # fmt: skip
    for script in ("issue_index.py", "suggest.py"):
        done = subprocess.run([sys.executable, ACTION / script], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (
        "[printing cuts off the last line](https://github.com/octo-org/desk/issues/1)"
        in (tmp_path / "summary.md").read_text()
    )
