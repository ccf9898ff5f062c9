"""The simulation of a search over many shards agrees with what is known exactly."""

import math
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def fan_out(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import fan_out

    return fan_out


def test_search_of_one_shard_takes_its_measure(fan_out):
    assert fan_out.simulate_fan_out([5.0], shards=1, rate=0.001) == pytest.approx((5, 5))


def test_the_slowest_of_many_shards_decides(fan_out):
    shards, mean_ms = 30, 10.0
    measured = np.random.default_rng(1).exponential(mean_ms, 100_000)
    p50, p95 = fan_out.simulate_fan_out(measured, shards, rate=0.001, searches=4_000)
    exact = [-mean_ms * np.log(1 - share ** (1 / shards)) for share in (0.5, 0.95)]  # the largest of so many draws
    assert (p50, p95) == pytest.approx(exact, rel=0.05)


def test_searches_wait_for_the_core_that_they_share(fan_out):
    """M/D/1: how long searches of always the same length wait is known exactly (Erlang 1909)."""
    service_ms, load = 5.0, 0.5
    _, p95 = fan_out.simulate_fan_out([service_ms], shards=1, rate=1_000 * load / service_ms, searches=100_000)
    waits = p95 / service_ms - 1
    terms = [
        (load * (j - waits)) ** j / math.factorial(j) * math.exp(load * (waits - j)) for j in range(int(waits) + 1)
    ]
    assert (1 - load) * sum(terms) == pytest.approx(0.95, abs=0.01)


def test_two_shards_of_a_core_run_in_turn(fan_out):
    assert fan_out.simulate_fan_out([5.0], shards=4, rate=0.001, shards_per_core=2) == pytest.approx((10, 10))


def test_without_a_measurement_it_says_what_to_run(fan_out, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["fan_out.py", "--input", str(tmp_path / "none.json")])
    assert fan_out.main() == 2
    assert "run cluster.py first" in capsys.readouterr().err
