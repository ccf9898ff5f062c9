"""Takes screenshots of the pages for the documentation, docs/assets/page-*.webp: python tools/picture_pages.py [NAME …]

Needs what `make test` installs: a calibrated copy of the example archive is served and shown in headless Chromium.
"""

import argparse
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from film_typing import serve_example
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

ASSETS = Path(__file__).parents[1] / "docs" / "assets"
ASK = "?title=my+bicycle+was+stolen"
PATIENCE_S = 600
ASKED_IN_VAIN = ("Do you rent canoes?", "Can I rent a canoe here?", "Is there a charging point for electric cars?")


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

WRITTEN = {
    "backtest": (("backtest", "riverside", "--last", 150, "-o", "out"), "backtest.html", Picture("", height=1000)),
    "static-site": (
        ("export", "riverside", "--format", "static-site", "-o", "out"),
        "index.html",
        Picture("#my%20bicycle%20was%20stol", height=560, press=("Answer", "Report it to the police")),
    ),
}
"""Pages that no service shows: the command that writes each, and the file."""


def main() -> None:
    """Take all screenshots, or the named ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*", choices=[[], *PICTURES, *WRITTEN], default=[])
    names = parser.parse_args().names or [*PICTURES, *WRITTEN]
    from chromium import launch_chromium

    with sync_playwright() as running:
        chromium = launch_chromium(running)
        for name in (name for name in names if name in WRITTEN):
            show_written(chromium, name)
        if served := [name for name in names if name in PICTURES]:
            show_served(chromium, served)
        chromium.close()


def show_served(chromium: Browser, names: Sequence[str]) -> None:
    """Write screenshots of pages of a service."""
    with serve_example() as service:
        prepare(service)
        for name in names:
            if name == "drafts":
                accept_first_pair(service)
            show(chromium, f"{service.url.geturl()}/a/riverside", PICTURES[name], ASSETS / f"page-{name}.webp")


def show_written(chromium: Browser, name: str) -> None:
    """Write the screenshot of a page that a command writes from the example archive."""
    from commands import askalike

    command, file, picture = WRITTEN[name]
    with TemporaryDirectory() as folder:
        askalike("import", "table", ASSETS.parents[1] / "examples" / "riverside.csv", "-o", "riverside", cwd=folder)
        askalike(*command, cwd=folder)
        show(chromium, f"file://{folder}/out/{file}", picture, ASSETS / f"page-{name}.webp")


def prepare(service: Any) -> None:
    """Create gaps, and wait until every question is checked for duplicates."""
    from serving import wait_for

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
    shown = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.close()
    size = round(picture.width * picture.scale), round(picture.height * picture.scale)
    shown.resize(size, Image.Resampling.LANCZOS).save(path, quality=72, method=6)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
