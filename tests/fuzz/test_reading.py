"""Random damage to imported files, and random queries: each is refused in one line or read, never an exception."""

import bz2
import gzip
import json
import random
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from damage import FUZZ_S, damage

import askalike
from askalike.core.errors import AskalikeError
from askalike.readers import import_archive

pytestmark = pytest.mark.fuzz

EXAMPLE = Path(__file__).parents[2] / "examples" / "riverside.csv"
ROWS = [
    {"id": n, "title": f"How do I renew card {n}?", "tags": ["a", "b"], "created_at": "2026-01-01"} for n in range(20)
]
POSTS = "".join(
    f'<row Id="{n}" PostTypeId="1" CreationDate="2020-01-01T00:00:00" Title="Card {n}" Body="&lt;p&gt;x" Tags="|a|"/>'
    for n in range(1, 20)
)
FILES = {
    ("table", "rows.csv"): EXAMPLE.read_bytes(),
    ("table", "rows.csv.gz"): gzip.compress(EXAMPLE.read_bytes()),
    ("table", "rows.csv.bz2"): bz2.compress(EXAMPLE.read_bytes()),
    ("table", "rows.jsonl"): "\n".join(map(json.dumps, ROWS)).encode(),
    ("table", "rows.json"): json.dumps(ROWS).encode(),
    ("stackexchange", "Posts.xml"): f'<?xml version="1.0" encoding="utf-8"?><posts>{POSTS}</posts>'.encode(),
    ("stackexchange", "Posts.xml "): f'<?xml version="1.0" encoding="gbk"?><posts>{POSTS}图</posts>'.encode("gbk"),
}
CHARACTERS = "aеß图कु\u0f73\u0301\u0327\uff9e\u200b\ud800\x00\x1b\n\t '\"-+*#:/.&<>$\\(){}[]｟ﬁ😀\u202eİ１"


def assert_one_line_or_nothing(work: Callable[[], object], case: str) -> None:
    try:
        work()
    except AskalikeError as error:
        told = str(error)
        assert "\n" not in told, case
    except Exception as error:
        raise AssertionError(case) from error


def test_a_damaged_file_is_read_or_refused_in_one_line(tmp_path: Path) -> None:
    until, seed = time.monotonic() + FUZZ_S, random.randrange(1 << 30)
    while time.monotonic() < until:
        seed += 1
        dice = random.Random(seed)
        (reader, name), content = dice.choice(list(FILES.items()))
        for _ in range(dice.randrange(1, 4)):
            content = damage(content, dice) or b"x"
        folder = tmp_path / str(seed)
        folder.mkdir()
        (folder / name.strip()).write_bytes(content)
        source = folder / name.strip() if reader == "table" else folder
        assert_one_line_or_nothing(partial(import_archive, reader, [source], folder / "out"), f"seed {seed}: {name}")
        shutil.rmtree(folder)


def test_any_query_is_searched_or_refused_in_one_line(tmp_path: Path) -> None:
    import_archive("table", [EXAMPLE], tmp_path / "desk")
    until, seed = time.monotonic() + FUZZ_S, random.randrange(1 << 30)
    with askalike.load(tmp_path / "desk", "lm_jelinek_mercer") as engine:
        while time.monotonic() < until:
            seed += 1
            dice = random.Random(seed)
            title = "".join(dice.choices([*CHARACTERS, "card", " library ", "-"], k=dice.choice([1, 5, 40, 2_000])))
            k, body, prefix = dice.randrange(1, 30), title[::-1] * dice.randrange(3), dice.random() < 0.5
            assert_one_line_or_nothing(partial(engine.search, title, k, body=body, prefix=prefix), f"seed {seed}")
