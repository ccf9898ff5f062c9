"""Every real archive, counted as data/README.md counts it."""

from pathlib import Path
from typing import Any

import pytest
from imported import Importing


@pytest.mark.parametrize(
    ("site", "line", "links", "banners"),
    [
        ("cs", "6,118 questions, 0 answers, 212 duplicate links, 0 rejected", 1676, 31),
        ("beer", "591 questions, 1,398 answers, 17 duplicate links, 0 rejected", None, None),
        ("ai", "421 questions, 749 answers, 6 duplicate links, 0 rejected", None, None),
    ],
)
def test_stack_exchange(
    imported: Importing, shared_data: Path, site: str, line: str, links: int | None, banners: int | None
) -> None:
    done = imported("stackexchange", shared_data / f"stackexchange/{site}.stackexchange.com", language=None)
    assert done.summary.counts == line
    assert done.archive.meta["language"] == "en"
    assert done.archive.meta["name"] == f"{site}.stackexchange.com"
    if links:
        assert done.rows("SELECT COUNT(*) FROM links") == [(links,)]
        assert done.summary.notes == {"label-leak banners removed": banners}
    assert all(q.created_at and q.title and q.url and q.license for q in done.questions.values())


@pytest.mark.parametrize(
    ("reader", "path", "options", "expected"),
    [
        pytest.param(
            "beir", "askubuntu-titles", {}, {"questions": 44_148, "queries": 12_302 + 1_118}, marks=pytest.mark.long
        ),
        ("pairs", "semeval2016-task3/train/train-part1-pairs.csv", {"split": "train"}, {"judgements": 1_999}),
        ("pairs", "yahoo-zhang2014/dev.tsv", {}, {"queries": 625, "questions": 11_977, "judgements": 11_984}),
        pytest.param(
            "table", "medquad/medquad.jsonl.gz", {}, {"questions": 16_407, "answers": 16_407}, marks=pytest.mark.long
        ),
        ("table", "medquad/medquad.jsonl.gz", {"repeated_ids": "reject"}, {"questions": 12_133, "rejected": 4_274}),
        ("table", "stackfaq/stackExchange-FAQ.json", {"records": "root.qapair"}, {"questions": 125, "answers": 719}),
        ("table", "rubq-ru/RuBQ_1.0_dev.json", {}, {"questions": 300, "answers": 300}),
    ],
)
def test_other_sets(
    imported: Importing, shared_data: Path, reader: str, path: str, options: dict[str, Any], expected: dict[str, int]
) -> None:
    summary = imported(reader, shared_data / path, **options).summary
    assert {name: getattr(summary, name) for name in expected} == expected
    assert summary.rejected == expected.get("rejected", 0)


def test_stackfaq_has_1249_usable_rephrasings(imported: Importing, shared_data: Path) -> None:
    done = imported("table", shared_data / "stackfaq/stackExchange-FAQ.json", records="root.qapair")
    assert sum(len(q.rephrasings) for q in done.questions.values()) == 1_249
    assert done.summary.notes == {
        "alternates of three letters or fewer dropped": 125,
        "titles, bodies and answers that look like HTML and are read as plain text (else: --markup html)": 3,
        "empty alternates dropped": 1,
    }


def test_russian_is_told_from_the_text(imported: Importing, shared_data: Path) -> None:
    done = imported("table", shared_data / "rubq-ru/RuBQ_1.0_dev.json", language=None)
    assert done.archive.meta["language"] == "ru"
    assert {q.language for q in done.questions.values()} == {None}
