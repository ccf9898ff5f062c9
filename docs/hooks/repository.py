"""Makes pages of files outside docs/: README.md is the first page, and packages/NAME/docs/PAGE.md is of its package.

It also says what the copy button takes, and which pages the search lists first.

Links are written as paths in the repository, so that they work there, too. Here they become links between pages, or
lead to the repository if `repo_url` names it; else only their text stays.
"""

import re
from html import escape, unescape
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
ROOT_PAGES = {"README.md": "index.md", "CHANGELOG.md": "changes.md"}
"""File of the repository → page of the site."""
SEARCH_BOOSTS = {
    "settings.md": 3,
    "calibration.md": 2,
    "troubleshooting.md": 2,
    "cli.md": 0.7,
    "python-reference.md": 0.5,
    "glossary.md": 0.5,
    "results/negative.md": 0.3,
    "packages/learning/papers.md": 0.2,
    "packages/learning/settings.md": 0.2,
}
"""Page → factor of its place in the search: settings are found by their names, and answers before measurements."""
CONSOLE = re.compile(r'<div class="language-console highlight">(.*?)</div>', re.DOTALL)
LINK = re.compile(r"(!?)\[([^]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Called by mkdocs once it has found the pages in docs/."""
    outside = [ROOT / name for name in ROOT_PAGES]
    for path in (*outside, *sorted(ROOT.glob("packages/*/docs/**/*"))):
        if path.is_file():
            page = to_page(path.relative_to(ROOT).as_posix())
            files.append(File.generated(config, page, content=path.read_bytes()))
    return files


def to_page(path: str) -> str:
    """Return the place on the site of a path in the repository; the path itself if it has none."""
    if path in ROOT_PAGES:
        return ROOT_PAGES[path]
    return re.sub(r"^packages/([\w-]+)/docs/", r"packages/\1/", path.removeprefix("docs/"))


def to_path(page: str) -> str:
    """Return the path in the repository of a page."""
    if of_root := {target: name for name, target in ROOT_PAGES.items()}.get(page):
        return of_root
    inside = re.sub(r"^packages/([\w-]+)/", r"packages/\1/docs/", page)
    return inside if inside != page else f"docs/{page}"


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files, **_: Any) -> str:
    """Called by mkdocs for each page, to follow its links."""
    page.meta["search"] = {"boost": SEARCH_BOOSTS.get(page.file.src_uri, 1)}
    folder = PurePosixPath(to_path(page.file.src_uri)).parent

    def follow(link: re.Match[str]) -> str:
        path = normpath(folder / link[3])
        target = to_page(path)
        if files.get_file_from_path(target):
            shown = relpath(target, PurePosixPath(page.file.src_uri).parent)
            return f"{link[1]}[{link[2]}]({shown}{link[4] or ''})"
        return f"[{link[2]}]({config.repo_url.rstrip('/')}/blob/main/{path})" if config.repo_url else link[2]

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.DOTALL | re.MULTILINE)
    markdown = "".join(part if part.startswith("```") else LINK.sub(follow, part) for part in parts)
    return re.sub(r'(src|srcset)="docs/', r'\1="', markdown) if page.file.src_uri == "index.md" else markdown


def on_page_content(html: str, **_: Any) -> str:
    """Called by mkdocs for each page: a console's copy button takes commands, without prompts and outputs."""

    def add_commands(block: re.Match[str]) -> str:
        commands = find_commands(unescape(re.sub(r"<[^>]+>", "", block[1])))
        return f'<div class="language-console highlight" data-copy="{escape(commands)}">{block[1]}</div>'

    return CONSOLE.sub(add_commands, html)


def find_commands(text: str) -> str:
    """Return the commands of a console block; lines that begin with `> ` continue one."""
    found: list[str] = []
    is_command = False
    for line in text.splitlines():
        is_command = line.startswith("$ ") or (is_command and line.startswith("> "))
        if is_command or (found and found[-1].endswith("\\")):
            found.append(line[2:] if is_command else line)
    return "\n".join(found)
