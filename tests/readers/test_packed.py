"""Packed files and pages that would take the memory or the day: refused in one line, whatever the format."""

import bz2
import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from imported import Importing, PageSite, Refusing

from askalike.core import files
from askalike.core.errors import InputError
from askalike.evaluation.trec import read_run
from askalike.readers import faq_pages, import_archive

BOMB = b" " * (12 << 20)
"""Unpacks to 1,000 times its size with gzip, and to more with bzip2."""


def zip_workbook(content: bytes, path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/workbook.xml", content)


PACKERS: dict[str, Callable[[bytes, Path], object]] = {
    "faq.csv.gz": lambda content, path: path.write_bytes(gzip.compress(content)),
    "faq.csv.bz2": lambda content, path: path.write_bytes(bz2.compress(content)),
    "faq.jsonl.gz": lambda content, path: path.write_bytes(gzip.compress(content)),
    "faq.json.gz": lambda content, path: path.write_bytes(gzip.compress(content)),
    "faq.xlsx": zip_workbook,
}


@pytest.mark.parametrize("name", PACKERS)
def test_packed_table_that_unpacks_hugely_is_refused(expect_refusal: Refusing, tmp_path: Path, name: str) -> None:
    PACKERS[name](BOMB, tmp_path / name)
    expect_refusal(r"unpacks to over \d+ MB, more than 200 times its size; refused", "table", tmp_path / name)


def test_line_breaks_are_counted_as_they_are_read(
    expect_refusal: Refusing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "ALWAYS_ALLOWED_BYTES", 100_000)
    (tmp_path / "faq.csv.gz").write_bytes(gzip.compress(b"id,title\n" + b"\n" * 2_000_000))
    expect_refusal("unpacks to over", "table", tmp_path / "faq.csv.gz")


@pytest.mark.parametrize("reader", ["stackexchange", "mbox", "github", "beir"])
def test_other_readers_refuse_it_too(expect_refusal: Refusing, tmp_path: Path, reader: str) -> None:
    name = {"stackexchange": "Posts.xml", "beir": "corpus.jsonl.gz", "mbox": "list.mbox"}.get(reader, "x.gz")
    (tmp_path / name).write_bytes(gzip.compress(BOMB))
    path = tmp_path if reader in ("stackexchange", "beir") else tmp_path / name
    expect_refusal(r"unpacks to over \d+ MB, more than 200 times its size; refused", reader, path)


def test_run_that_unpacks_hugely_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.gz").write_bytes(gzip.compress(BOMB))
    with pytest.raises(InputError, match="unpacks to over 9 MB"):
        read_run(tmp_path / "run.gz")


def test_a_dump_that_is_packed_well_is_read(
    imported: Importing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "ALWAYS_ALLOWED_BYTES", 1_000)
    rows = "".join(f"{n},How do I renew the library card of my {n}th child?\n" for n in range(2_000))
    for name in ("faq.csv.gz", "faq.csv.bz2"):
        PACKERS[name](f"id,title\n{rows}".encode(), tmp_path / name)
        assert len(imported("table", tmp_path / name).questions) == 2_000


def test_cut_or_oversized_gzip_is_no_content() -> None:
    content = gzip.compress(b"a" * 100_000)
    assert files.unpack_gzip(content, 100_000) == b"a" * 100_000
    for wrong, message in (content[:-20], "cut short"), (content[:2] + b"?" * 20, "."):
        with pytest.raises(ValueError, match=message):
            files.unpack_gzip(wrong, 1 << 20)
    with pytest.raises(ValueError, match="over 1 MB"):
        files.unpack_gzip(gzip.compress(b"a" * (2 << 20)), 1 << 20)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<a>" * 16_000_000, "over 16 levels or 1,000,000 elements"),
        (b"<urlset>" + b"<url/>" * 1_100_000 + b"</urlset>", "over 16 levels or 1,000,000 elements"),
        (b"<urlset>" + b"<url><loc>a</loc></url>" * 50_001 + b"</urlset>", "over 50,000 addresses"),
        (b" " * (51 << 20), "its answer is not a text"),
    ],
)
def test_a_sitemap_has_limits(
    site: PageSite, expect_refusal: Refusing, tmp_path: Path, content: bytes, message: str
) -> None:
    site.pages["/sitemap.xml"] = gzip.compress(content, 1)
    expect_refusal(message, "faq_pages", Path(f"{site.address}/sitemap.xml"), pause=0.0, responses=tmp_path / "cache")


def test_sitemap_entries_are_forgotten_once_read() -> None:
    text = "<urlset>" + "<url><loc>a</loc></url>" * 10_000 + "</urlset>"
    assert len(list(faq_pages._read_entries(text))) == 10_000


def test_a_site_has_a_limit_of_addresses(
    site: PageSite, imported: Importing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faq_pages, "MAX_ADDRESSES", 2)
    site.sitemap("/sitemap.xml", *((f"{site.address}/{n}", "2026-01-01") for n in range(5)))
    site.pages |= {f"/{n}": faq_page(f"How {n}?").encode() for n in range(5)}
    done = imported("faq_pages", Path(f"{site.address}/sitemap.xml"), pause=0.0, responses=tmp_path / "cache")
    assert (len(done.questions), done.summary.notes["addresses after the first 2 left out"]) == (2, 3)


def test_page_of_a_site_has_8_mb(site: PageSite, expect_refusal: Refusing, tmp_path: Path) -> None:
    site.sitemap("/sitemap.xml", (f"{site.address}/a", "2026-01-01"))
    site.pages["/a"] = faq_page("How?").encode() + b" " * (9 << 20)
    address = Path(f"{site.address}/sitemap.xml")
    expect_refusal("/a: its answer is over 8 MB", "faq_pages", address, pause=0.0, responses=tmp_path / "cache")


@pytest.mark.parametrize("tag", ["<div>", "<ul>", "<div/>", "<option>", "<a b='c'>"])
def test_page_of_nested_elements_is_rejected(tmp_path: Path, tag: str) -> None:
    (tmp_path / "deep.html").write_text(tag * 200_000 + faq_page("How?"))
    (tmp_path / "flat.html").write_text(
        "<p>a<br><img src=x>" * 5_000 + f"<script>{'i<n;' * 2_000}</script>" + faq_page("Why?")
    )
    summary = import_archive("faq_pages", [tmp_path / "deep.html", tmp_path / "flat.html"], tmp_path / "desk")
    assert (summary.rejected, summary.questions) == (1, 1)
    assert "too many elements inside each other" in (tmp_path / "desk" / "rejected.jsonl").read_text()


def faq_page(title: str) -> str:
    item = {"@type": "Question", "name": title, "acceptedAnswer": {"@type": "Answer", "text": "So."}}
    return f'<script type="application/ld+json">{json.dumps({"@type": "FAQPage", "mainEntity": [item]})}</script>'
