"""The results of the default ranker are those of the default ranker as it is now."""

import copy
import json
from pathlib import Path
from typing import Any

import default_ranker
import pytest
import write_results

ROOT = Path(__file__).parents[3]
REPORTS = ROOT / "experiments" / "reports"
NAMES = [*write_results.DATASETS, *write_results.TYPED_SECTIONS, *write_results.HELD_REPORTS]
STALE = "the default ranker finds something else than when the results were measured; run make results"


@pytest.fixture(scope="module")
def record() -> Any:
    return json.loads(default_ranker.RECORD.read_text(encoding="utf-8"))


def test_default_ranker_is_as_recorded(record: Any) -> None:
    assert default_ranker.is_equal(record, default_ranker.measure()), STALE


@pytest.mark.parametrize("name", NAMES)
def test_report_is_of_the_recorded_ranker(name: str) -> None:
    report = json.loads((REPORTS / f"{name}.json").read_text(encoding="utf-8"))
    assert report["default_ranker"] == default_ranker.digest(), STALE


def test_another_ranker_is_noticed(record: Any) -> None:
    query = next(iter(record["default"]["first"]))
    others = [copy.deepcopy(record) for _ in range(3)]
    others[0]["default"]["first"][query][1] += 0.01
    del others[1]["default with MiniLM"]["first"][query]
    others[2]["default"]["settings"]["depth"] = 50
    assert default_ranker.is_equal(record, record)
    assert not any(default_ranker.is_equal(record, other) for other in others)


def test_rounding_is_no_other_ranker(record: Any) -> None:
    other = copy.deepcopy(record)
    for hit in other["default"]["first"].values():
        hit[1] += 1e-4
    assert default_ranker.is_equal(record, other)
