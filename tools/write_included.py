"""Writes files of the repository into the code blocks of pages that stand below `<!-- file: PATH -->`.

python tools/write_included.py           writes the pages
python tools/write_included.py --check   writes nothing; exits with 1 if a page and its files differ
"""

import re
from pathlib import Path

from write_settings import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "docs" / "extending.md", ROOT / "packages" / "opensearch" / "docs" / "opensearch.md")
BLOCK = re.compile(r"(<!-- file: (\S+) -->\n```\w*\n).*?(^```$)", re.DOTALL | re.MULTILINE)


def include_files(page: str) -> str:
    """Return a page with the present content of its files."""
    return BLOCK.sub(lambda block: f"{block[1]}{(ROOT / block[2]).read_text(encoding='utf-8')}{block[3]}", page)


if __name__ == "__main__":
    for path in PAGES:
        main(include_files(path.read_text(encoding="utf-8")), path)
