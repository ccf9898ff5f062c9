"""Takes the screenshot of docs/static-site.md: PYTHONPATH=tools python packages/browser/tools/picture_page.py

Needs this package and what `make test` installs.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from picture_pages import EXAMPLE, Picture, show
from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parents[1] / "docs" / "page-static-site.webp"
SHOWN = Picture("#my%20bicycle%20was%20stol", height=560, press=("Answer", "Report it to the police"))


def main() -> None:
    """Export the example archive, and take the screenshot."""
    from chromium import launch_chromium

    commands = [
        ("import", "table", EXAMPLE, "-o", "riverside"),
        ("export", "riverside", "--format", "static-site", "-o", "out"),
    ]
    with TemporaryDirectory() as folder, sync_playwright() as running:
        for command in commands:
            subprocess.run([sys.executable, "-m", "askalike", *map(str, command)], cwd=folder, check=True)
        chromium = launch_chromium(running)
        show(chromium, f"file://{folder}/out/index.html", SHOWN, PICTURE)
        chromium.close()


if __name__ == "__main__":
    main()
