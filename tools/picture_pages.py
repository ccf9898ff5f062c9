"""Pictures of the pages for docs/gallery.md, docs/assets/page-*.webp: python tools/picture_pages.py

Needs what `make test` installs: a calibrated copy of the example archive is served and shown in headless Chromium.
"""

import io
import shutil
from pathlib import Path
from typing import Any

from film_typing import serve_example
from PIL import Image
from playwright.sync_api import sync_playwright

ASSETS = Path(__file__).parents[1] / "docs" / "assets"
SIZE, SHOWN_WIDTH = {"width": 1240, "height": 760}, 930
PAGES = {
    "ask": "?title=my+bicycle+was+stolen",
    "question": "/questions/r001",
    "queue": "/queue",
    "gaps": "/gaps",
    "quality": "/quality",
}
ASKED_IN_VAIN = ("Do you rent canoes?", "Can I rent a canoe here?", "Is there a charging point for electric cars?")


def main() -> None:
    """Make the pictures."""
    from serving import wait_for

    with serve_example() as service, sync_playwright() as running:
        for title in ASKED_IN_VAIN:
            service.send("POST", "/v1/riverside/feedback", {"title": title, "shown": [], "verdict": "none_of_these"})
        wait_for(lambda: service.get("/v1/riverside/duplicates").json["duplicates"])
        chromium = running.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = chromium.new_page(viewport=SIZE)
        for name, place in PAGES.items():
            page.goto(f"{service.url.geturl()}/a/riverside{place}", wait_until="networkidle")
            save(page, ASSETS / f"page-{name}.webp")
        chromium.close()


def save(page: Any, path: Path) -> None:
    """Write what the page shows now, in the gallery's width."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    height = round(picture.height * SHOWN_WIDTH / picture.width)
    picture.resize((SHOWN_WIDTH, height)).save(path, quality=72, method=6)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
