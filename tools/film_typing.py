"""Records a question being typed into the page Ask as docs/assets/typing.webp: python tools/film_typing.py

Needs what `make test` installs: a calibrated copy of the example archive is served and shown in headless Chromium.
"""

import csv
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "riverside.csv"
sys.path += [str(ROOT / "tests"), str(ROOT / "tests" / "service"), str(ROOT / "tests" / "deploy")]
TEXT = "my bycicle was stolen"
KEYS_PER_FRAME = 2
ANSWER_MS = 1_500
FRAME_MS, LAST_FRAME_MS = 220, 3_500
SIZE = {"width": 1240, "height": 640}
SHOWN_SIZE = (930, 480)


@contextmanager
def serve_example() -> Iterator[Any]:
    """Serve a calibrated copy of the example archive without its duplicate links, with the tests' `Service`."""
    from serving import Service

    from askalike import rankers
    from askalike.calibration.calibrate import calibrate
    from askalike.readers import import_archive
    from askalike.store import Archive

    with TemporaryDirectory() as folder:
        archive = Path(folder) / "riverside"
        import_archive("table", [str(write_unlinked(Path(folder) / EXAMPLE.name))], str(archive))
        with Archive.open(archive) as opened:
            calibrate(opened, rankers.create(None, {}, opened), titles_only=True).calibration.save(archive)
        service = Service(archive, ranker=())
        try:
            yield service
        finally:
            service.end()


def write_unlinked(path: Path) -> Path:
    """Write the example's table without its duplicate links, for the queue to find; return its path."""
    with EXAMPLE.open(encoding="utf-8", newline="") as table, path.open("w", encoding="utf-8", newline="") as copy:
        rows = csv.DictReader(table)
        writer = csv.DictWriter(copy, rows.fieldnames or ())
        writer.writeheader()
        writer.writerows({**row, "duplicate_of": ""} for row in rows)
    return path


def main() -> None:
    """Make the animation."""
    from chromium import launch_chromium

    with serve_example() as service, sync_playwright() as running:
        chromium = launch_chromium(running)
        frames = list(film(chromium.new_page(viewport=SIZE), f"{service.url.geturl()}/a/riverside"))
        chromium.close()
    durations = [FRAME_MS] * (len(frames) - 1) + [LAST_FRAME_MS]
    path = ROOT / "docs" / "assets" / "typing.webp"
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=durations, loop=0, quality=70, method=6)
    print(f"{path}: {len(frames)} frames, {path.stat().st_size / 1000:.0f} kB")


def film(page: Any, address: str) -> Iterator[Image.Image]:
    """Yield the page before anything is typed, then after every other key."""
    page.goto(address)
    yield screenshot(page)
    page.locator("#title").focus()
    for start in range(0, len(TEXT), KEYS_PER_FRAME):
        page.keyboard.type(TEXT[start : start + KEYS_PER_FRAME])
        page.wait_for_timeout(ANSWER_MS)
        yield screenshot(page)


def screenshot(page: Any) -> Image.Image:
    """Return a screenshot of the page."""
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB").resize(SHOWN_SIZE)


if __name__ == "__main__":
    main()
