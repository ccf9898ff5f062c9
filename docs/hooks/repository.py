"""Makes pages of files outside docs/: README.md is the first page, and packages/NAME/docs/PAGE.md is of its package.

Links are written as paths in the repository, so that they work there, too. Here they become links between pages, or
lead to the repository if `repo_url` names it; else only their text stays.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
ROOT_PAGES = {"README.md": "index.md", "CHANGELOG.md": "changes.md"}
"""File of the repository → page of the site."""
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
    """Called by mkdocs for each page."""
    folder = PurePosixPath(to_path(page.file.src_uri)).parent

    def follow(link: re.Match[str]) -> str:
        path = normpath(folder / link[3])
        target = to_page(path)
        if files.get_file_from_path(target):
            shown = relpath(target, PurePosixPath(page.file.src_uri).parent)
            return f"{link[1]}[{link[2]}]({shown}{link[4] or ''})"
        return f"[{link[2]}]({config.repo_url.rstrip('/')}/blob/main/{path})" if config.repo_url else link[2]

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if part.startswith("```") else LINK.sub(follow, part) for part in parts)
