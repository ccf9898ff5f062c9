"""Random damage to the sources of every reader, and random queries: each is read or refused in one line."""

import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from damage import damage, replace_value, seeds
from sources import SOURCES, make_packed_sources

import askalike
from askalike.core.errors import AskalikeError
from askalike.core.registry import names
from askalike.readers import import_archive
from calibration.riverside import riverside

pytestmark = pytest.mark.fuzz

CHARACTERS = "aеß图कु\u0f73\u0301\u0327\uff9e\u200b\ud800\x00\x1b\n\t '\"-+*#:/.&<>$\\(){}[]｟ﬁ😀\u202eİ１"


def assert_one_line_or_nothing(work: Callable[[], object], case: str) -> None:
    try:
        work()
    except AskalikeError as error:
        told = str(error)
        assert "\n" not in told, case
    except Exception as error:
        raise AssertionError(case) from error


def test_damaged_source_is_read_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources, responses = [*SOURCES, *make_packed_sources()], dict[str, bytes]()
    monkeypatch.setattr(
        "askalike.readers._site.fetch",
        lambda request, *_: responses[urlsplit(request.full_url).path.rpartition("/v1/")[2]],
    )
    for seed in seeds():
        dice = random.Random(seed)
        reader, options, files = dice.choice(sources)
        folder, contents = tmp_path / str(seed), dict(files)
        change = replace_value if dice.random() < 0.7 else damage
        for _ in range(dice.randrange(1, 4)):
            name = dice.choice(list(contents))
            contents[name] = change(contents[name], dice) or b"x"
        responses.update(contents)
        for name, content in contents.items():
            (folder / "in" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "in" / name).write_bytes(content)
        path: str | Path = folder / "in" / dice.choice(list(contents)) if len(contents) == 1 else folder / "in"
        if reader == "apache_answer":
            path, options = "http://127.0.0.1:9", options | {"responses": folder / "out"}
        work = partial(import_archive, reader, [path], folder / "archive", options=options)
        assert_one_line_or_nothing(work, f"seed {seed}: {reader} {', '.join(contents)}")
        shutil.rmtree(folder)


def test_every_reader_of_files_has_a_source() -> None:
    assert {reader for reader, *_ in [*SOURCES, *make_packed_sources()]} == set(names("reader"))


def test_any_query_is_searched_or_refused(tmp_path: Path) -> None:
    riverside(tmp_path / "desk")
    with askalike.load(tmp_path / "desk", "lm_jelinek_mercer") as engine:
        for seed in seeds():
            dice = random.Random(seed)
            title = "".join(dice.choices([*CHARACTERS, "card", " library ", "-"], k=dice.choice([1, 5, 40, 2_000])))
            k, body, prefix = dice.randrange(1, 30), title[::-1] * dice.randrange(3), dice.random() < 0.5
            assert_one_line_or_nothing(partial(engine.search, title, k, body=body, prefix=prefix), f"seed {seed}")
