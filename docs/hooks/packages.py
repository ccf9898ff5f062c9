"""Adds the pages of packages to the site: packages/NAME/docs/PAGE.md becomes packages/NAME/PAGE.html.

Links between pages are written as paths in the repository, so that they work there, too; the site has no folder `docs`.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
OF_A_PACKAGE = re.compile(r"packages/([\w-]+)/docs/(.+)")


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Called by mkdocs once it has found the pages in docs/."""
    for path in sorted(ROOT.glob("packages/*/docs/**/*")):
        if path.is_file():
            package, name = OF_A_PACKAGE.fullmatch(path.relative_to(ROOT).as_posix()).groups()  # type: ignore[union-attr]
            content = path.read_bytes()
            files.append(File.generated(config, f"packages/{package}/{name}", content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by mkdocs for each page."""
    if page.file.src_uri.startswith("packages/"):
        return re.sub(r"\]\(\.\./\.\./([\w-]+)/docs/", r"](../\1/", markdown.replace("](../../../docs/", "](../../"))
    return re.sub(r"\]\(((?:\.\./)*)\.\./packages/([\w-]+)/docs/", r"](\1packages/\2/", markdown)
