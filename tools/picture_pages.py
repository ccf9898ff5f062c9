"""Takes pictures for the documentation, docs/assets/page-*.webp and typing.webp: python tools/picture_pages.py [NAME …]

Needs what `make test` installs: a calibrated copy of the example archive is served and shown in headless Chromium.
"""

import argparse
import csv
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "riverside.csv"
ASSETS = ROOT / "docs" / "assets"
sys.path += [str(ROOT / "tests"), str(ROOT / "tests" / "service")]
ASK = "?title=my+bicycle+was+stolen"
PATIENCE_S = 600
TYPING = "typing"
"""The moving picture: TYPED appears in steps of two letters, each shown for STEP_MS, and the last for LAST_MS."""
TYPED = "lost my libary card"
STEP_MS, LAST_MS = 450, 4_000
ASKED_IN_VAIN = ("Do you rent canoes?", "Can I rent a canoe here?", "Is there a charging point for electric cars?")
ASKED_AGAIN = (
    "I lost my library card. What do I have to do?",
    "My hired bike was stolen. What should I do now?",
    "Can I bring my dog to the library?",
)


@dataclass(frozen=True)
class Picture:
    """What to show, in a window of `width` × `height`, saved `scale` times as large.

    press: a button of the page or what unfolds there, and the text that the page shows after it has been pressed.
    """

    place: str
    width: int = 1240
    height: int = 760
    scale: float = 0.75
    options: Mapping[str, Any] = field(default_factory=dict)
    press: tuple[str, str] | None = None


PICTURES = {
    "ask": Picture(ASK),
    "ask-dark": Picture(ASK, options={"color_scheme": "dark"}),
    "ask-phone": Picture(ASK, 390, 800, 1.38, {"device_scale_factor": 2}),
    "question": Picture("/questions/r001"),
    "queue": Picture("/queue"),
    "gaps": Picture("/gaps", height=560),
    "drafts": Picture("/drafts", height=900, press=("Find new drafts", "Accepted drafts")),
    "quality": Picture("/quality", height=1000),
}

AFTER_A_DECISION = {"question", "drafts"}
WRITTEN = {
    "backtest": (("backtest", "riverside", "--last", 150, "-o", "out"), "backtest.html", Picture("", height=1000)),
}
"""Pages that no service shows: the command that writes each, and the file."""


def main() -> None:
    """Take all screenshots, or the named ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*", choices=[[], TYPING, *PICTURES, *WRITTEN], default=[])
    names = parser.parse_args().names or [TYPING, *PICTURES, *WRITTEN]
    from chromium import launch_chromium

    with sync_playwright() as running:
        chromium = launch_chromium(running)
        for name in (name for name in names if name in WRITTEN):
            show_written(chromium, name)
        if served := [name for name in names if name not in WRITTEN]:
            show_served(chromium, served)
        chromium.close()


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


def show_served(chromium: Browser, names: Sequence[str]) -> None:
    """Write screenshots of pages of a service."""
    with serve_example() as service:
        prepare(service)
        home = f"{service.url.geturl()}/a/riverside"
        if TYPING in names:
            show_typing(chromium, home, ASSETS / f"{TYPING}.webp")
        for name in set(names) - AFTER_A_DECISION - {TYPING}:
            show(chromium, home, PICTURES[name], ASSETS / f"page-{name}.webp")
        accept_first_pair(service)
        for name in set(names) & AFTER_A_DECISION:
            show(chromium, home, PICTURES[name], ASSETS / f"page-{name}.webp")


def show_written(chromium: Browser, name: str) -> None:
    """Write the screenshot of a page that a command writes from the example archive."""
    from commands import askalike

    command, file, picture = WRITTEN[name]
    with TemporaryDirectory() as folder:
        table = write_asked_again(Path(folder) / EXAMPLE.name) if name == "backtest" else EXAMPLE
        askalike("import", "table", table, "-o", "riverside", cwd=folder)
        askalike(*command, cwd=folder)
        show(chromium, f"file://{folder}/out/{file}", picture, ASSETS / f"page-{name}.webp")


def write_asked_again(path: Path) -> Path:
    """Write the example's table, and each third question again, in the last of its other wordings; return the path."""
    with EXAMPLE.open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    again, day = [], datetime.fromisoformat(max(row["created_at"] for row in rows))
    for row in rows[::3]:
        *others, wording = row["alternates"].split(" | ")
        if not wording:
            continue
        row["alternates"], day = " | ".join(others), day + timedelta(days=1)
        asked = {"id": f"again-{row['id']}", "question": wording, "duplicate_of": row["id"], "created_at": str(day)}
        again.append(asked | {name: row[name] for name in ("category", "tags", "language")})
    with path.open("w", encoding="utf-8", newline="") as copy:
        writer = csv.DictWriter(copy, list(rows[0]))
        writer.writeheader()
        writer.writerows([*rows, *again])
    return path


def prepare(service: Any) -> None:
    """Create gaps, ask some questions again, and wait until every question is checked for duplicates."""
    from serving import wait_for

    for number, title in enumerate(ASKED_AGAIN, start=1):
        service.send("PUT", f"/v1/riverside/questions/again-{number}", {"title": title})
    for title in ASKED_IN_VAIN:
        service.send("POST", "/v1/riverside/feedback", {"title": title, "shown_ids": [], "verdict": "none_of_these"})
    wait_for(lambda: b"All questions are checked" in service.get("/a/riverside/queue").body, PATIENCE_S)


def accept_first_pair(service: Any) -> None:
    """Accept the most probable pair of the queue, whose questions then have a draft."""
    first = service.get("/v1/riverside/duplicates").json["duplicates"][0]["id"]
    service.send("POST", f"/v1/riverside/duplicates/{first}/decision", {"decision": "accept"})


def show(chromium: Browser, home: str, picture: Picture, path: Path) -> None:
    """Write the screenshot of a page."""
    page = chromium.new_page(viewport={"width": picture.width, "height": picture.height}, **picture.options)
    page.goto(f"{home}{picture.place}", wait_until="networkidle")
    if picture.press:
        button, said = picture.press
        page.locator("button, summary", has_text=button).first.click()
        page.get_by_text(said).first.wait_for()
        page.mouse.move(0, 0)
    take(page, picture).save(path, quality=72, method=6)
    page.close()
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def show_typing(chromium: Browser, home: str, path: Path) -> None:
    """Write the moving picture of a question being typed."""
    picture = Picture("", height=640)
    page = chromium.new_page(viewport={"width": picture.width, "height": picture.height})
    page.goto(home, wait_until="networkidle")
    frames = [take(page, picture)]
    for start in range(0, len(TYPED), 2):
        page.locator("#title").press_sequentially(TYPED[start : start + 2])
        page.wait_for_timeout(1_000)  # until the hits are there
        frames.append(take(page, picture))
    page.close()
    durations = [*[STEP_MS] * (len(frames) - 1), LAST_MS]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=durations, loop=0, quality=60, method=6)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def take(page: Page, picture: Picture) -> Image.Image:
    """Return a screenshot of a page, at the size of the picture."""
    shown = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    size = round(picture.width * picture.scale), round(picture.height * picture.scale)
    return shown.resize(size, Image.Resampling.LANCZOS)


if __name__ == "__main__":
    main()
