"""An experiment's folder: what is in it, that it can be reproduced, resumed, and refused."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib

import pytest
import tomli_w
from small import archive_at, toml_at

from askalike.core.errors import SettingsError
from askalike.core.records import EvaluationQuery, Judgement, Question
from askalike.evaluation.trec import read_run
from askalike.store.archive import Archive
from askalike.store.contents import content_hash
from askalike.tuning import trials
from askalike_research.comparing.run_sources import load_judgements, parse_sources
from askalike_research.experiments.declaration import read_experiment, resolve
from askalike_research.experiments.run import run_experiment, shorten

pytestmark = pytest.mark.usefixtures("without_figures")

MANY = [
    {"ranker": "bm25", "label": f"bm25 {n}", "settings": {"k1": n / 10, "rephrasings": False}} for n in range(1, 31)
]


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return archive_at(tmp_path_factory.mktemp("run") / "archive")


@pytest.fixture
def toml(archive, tmp_path):
    return toml_at(tmp_path / "two.toml", archive)


def runs(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "runs").iterdir())}


def test_the_folder_holds_what_reproduces_it(archive, toml, tmp_path):
    outcome = run_experiment(read_experiment(toml, {"typing_curve": True}), tmp_path / "out", command="askalike …")
    assert set(runs(tmp_path / "out")) == {"bm25.trec", "TF-IDF-ours.trec"}
    report = json.loads((tmp_path / "out/report.json").read_text())
    assert [s["label"] for s in report["systems"]] == ["bm25", "TF-IDF (ours)"]
    assert report["systems"][0]["settings"]["k1"] == 1.2  # defaults are written
    assert (
        report["systems"][0]["measures"]["Success@1"]["mean"]
        == outcome.systems[0].seed_results[0].evaluation.means["Success@1"]
    )
    assert set(report["typing"]["bm25"]) == {"0.25", "0.5", "0.75", "1"}
    origin = report["provenance"]
    assert {"python", "askalike", "numpy", "scipy", "numba"} <= set(origin["versions"])
    assert ("torch" in origin["versions"]) == ("torch" in sys.modules)  # versions of what is loaded
    assert origin["seeds"] == [0]
    assert origin["command"] == "askalike …"
    assert re.fullmatch(r".+, \d+ cores, \d+ GB", origin["hardware"])
    assert report["systems"][0]["cost"].keys() == {"ms_per_query", "index_bytes"}
    assert report["systems"][0]["cost"]["index_bytes"] > 1_000
    assert set(origin["seconds"]["bm25"]["0"]) == {"fit", "index", "rank"}
    with Archive.open(archive) as opened:
        assert origin["data"] == content_hash(opened)
    assert "finished" in (tmp_path / "out/log.txt").read_text()
    assert report["check"]["verdict"].startswith("check: ")


def test_system_says_what_it_was_trained_on(archive, tmp_path):
    declared = {"ranker": "bm25", "trained_on": "pairs of the web", "may_have_seen": ["elsewhere", archive.name]}
    toml = toml_at(tmp_path / "seen.toml", archive, system=[declared, {"ranker": "tfidf"}])
    run_experiment(read_experiment(toml), tmp_path / "out")
    first, second = json.loads((tmp_path / "out/report.json").read_text())["systems"]
    assert (first["trained_on"], first["may_have_seen"]) == ("pairs of the web", True)
    assert (second["trained_on"], second["may_have_seen"]) == ("", False)


def test_what_is_measured_is_what_is_written(toml, tmp_path):
    outcome = run_experiment(read_experiment(toml), tmp_path / "out")
    written = read_run(tmp_path / "out/runs/bm25.trec")
    assert list(outcome.systems[0].seed_results[0].run.items()) == list(written.items())


def test_the_same_again_writes_the_same_runs(toml, tmp_path):
    run_experiment(read_experiment(toml), tmp_path / "a")
    run_experiment(read_experiment(toml), tmp_path / "b")
    assert runs(tmp_path / "a") == runs(tmp_path / "b")


def test_candidate_order_is_a_system_where_given(tmp_path):
    path = archive_at(tmp_path / "pooled")
    pools = {"q00": ["q20", "q01", "q30"], "q10": ["q11", "q02", "q12"]}
    with Archive.open(path) as archive:
        archive.upsert(EvaluationQuery("pools", question) for question in archive.view().get_questions(pools).values())
        for query, ids in pools.items():
            archive.upsert(
                Judgement("pools", query, id, int(id[1] == query[1]), n) for n, id in enumerate(ids, start=1)
            )
    given = {"system": [{"run": "candidates", "label": "order given"}, {"ranker": "bm25"}]}
    toml = toml_at(tmp_path / "pools.toml", path, split="pools", fields=None)
    first, bm25 = run_experiment(read_experiment(toml, given), tmp_path / "out").systems
    assert (first.label, first.mean("RR")) == ("order given", pytest.approx((1 / 2 + 1) / 2))
    assert bm25.label == "bm25"
    without = read_experiment(toml, {**given, "split": "rephrasings"})
    assert [system.label for system in run_experiment(without, tmp_path / "others").systems] == ["bm25"]


def test_the_resolved_configuration_runs_as_it_stands(toml, tmp_path):
    run_experiment(read_experiment(toml), tmp_path / "a")
    resolved = tmp_path / "a/config.toml"
    run_experiment(read_experiment(resolved), tmp_path / "b")
    assert runs(tmp_path / "a") == runs(tmp_path / "b")
    assert tomllib.loads(resolved.read_text()) == tomllib.loads((tmp_path / "b/config.toml").read_text())


def test_resuming_repeats_no_finished_cell(toml, tmp_path):
    whole = run_experiment(read_experiment(toml), tmp_path / "out")
    run_file = tmp_path / "out/runs/bm25.trec"
    before = runs(tmp_path / "out"), run_file.stat().st_mtime_ns
    (tmp_path / "out/runs/TF-IDF-ours.trec").unlink()
    again = run_experiment(read_experiment(toml), tmp_path / "out", resume=True)
    assert (runs(tmp_path / "out"), run_file.stat().st_mtime_ns) == before
    assert again.systems[0].seed_results[0].evaluation == whole.systems[0].seed_results[0].evaluation


@pytest.mark.long
def test_killed_run_resumes_to_the_same_end(archive, tmp_path):
    toml = toml_at(tmp_path / "many.toml", archive, system=MANY)
    command = "from askalike.cli import main; main()"
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-c", command, "experiment", toml, "-o", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        until = time.monotonic() + 120
        while len(list(out.glob("runs/*.trec"))) < 2 and process.poll() is None and time.monotonic() < until:
            time.sleep(0.002)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    finished = {path.name: path.stat().st_mtime_ns for path in out.glob("runs/*.trec")}
    assert 2 <= len(finished) < len(MANY)
    assert not (out / "report.json").exists()
    run_experiment(read_experiment(toml), out, resume=True)
    assert {name: (out / "runs" / name).stat().st_mtime_ns for name in finished} == finished
    run_experiment(read_experiment(toml), tmp_path / "whole")
    assert runs(out) == runs(tmp_path / "whole")


def test_another_configuration_is_refused_with_what_differs(toml, tmp_path):
    run_experiment(read_experiment(toml), tmp_path / "out")
    with pytest.raises(SettingsError) as caught:
        run_experiment(read_experiment(toml, {"k": 5, "known_differences": ["one"]}), tmp_path / "out", resume=True)
    assert "k: it was 100, now it is 5" in str(caught.value)
    assert "known_differences: it was [], now it is ['one']" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 3


def test_added_setting_changes_nothing_at_its_default(toml, tmp_path):
    """The stored configuration is as a version would have written it that did not know `k1`."""
    run_experiment(read_experiment(toml), tmp_path / "out")
    config = tmp_path / "out/config.toml"
    stored = config.read_text()
    config.write_text(stored.replace("k1 = 1.2\n", ""))
    with pytest.raises(SettingsError, match=r"system\[0\]\.settings\.k1: it was 1\.2, now it is 0\.5"):
        run_experiment(_with_k1(toml, 0.5), tmp_path / "out", resume=True)
    run_experiment(read_experiment(toml), tmp_path / "out", resume=True)
    assert config.read_text() == stored
    assert "TF-IDF-ours: fit" in (log := (tmp_path / "out/log.txt").read_text())
    assert log.count("bm25: fit") == 1


def _with_k1(toml, k1):
    values = tomllib.loads(toml.read_text())
    values["system"][0]["settings"]["k1"] = k1
    (toml.parent / "other.toml").write_text(tomli_w.dumps(values))
    return read_experiment(toml.parent / "other.toml")


def test_another_system_is_named_by_its_label(archive, tmp_path):
    run_experiment(read_experiment(toml_at(tmp_path / "two.toml", archive, system=MANY[:2])), tmp_path / "out")
    with pytest.raises(SettingsError) as caught:
        run_experiment(
            read_experiment(toml_at(tmp_path / "two.toml", archive, system=MANY[:3])), tmp_path / "out", resume=True
        )
    assert str(caught.value).splitlines()[1:] == [f"  system: new: {MANY[2]['label']}"]


def test_experiment_on_a_changed_archive_is_not_resumed(toml, tmp_path):
    changing = archive_at(tmp_path / "changing")
    run_experiment(read_experiment(toml, {"archive": str(changing)}), tmp_path / "out")
    with Archive.open(changing) as archive:
        archive.upsert([Question("new", "another question")])
    with pytest.raises(SettingsError, match="the archive has changed since"):
        run_experiment(read_experiment(toml, {"archive": str(changing)}), tmp_path / "out", resume=True)


def test_a_folder_with_something_in_it_is_refused(toml, tmp_path):
    run_experiment(read_experiment(toml), tmp_path / "out")
    (tmp_path / "out/mine.txt").write_text("notes")
    with pytest.raises(SettingsError, match="resume, or replace it with force"):
        run_experiment(read_experiment(toml), tmp_path / "out")
    run_experiment(read_experiment(toml, {"k": 5}), tmp_path / "out", force=True)
    assert (tmp_path / "out/mine.txt").read_text() == "notes"
    (tmp_path / "other").mkdir()
    (tmp_path / "other/thesis.tex").write_text("")
    for options in ({}, {"force": True}, {"resume": True}):
        with pytest.raises(SettingsError, match="is not an experiment"):
            run_experiment(read_experiment(toml), tmp_path / "other", **options)


def test_tuned_systems_share_the_indexes_of_their_trials(archive, tmp_path, monkeypatch):
    remove, removed = trials.remove_index, []

    def record(path):
        removed.append((path, len(list((tmp_path / "out/cells").glob("*.tuned.json")))))
        remove(path)

    monkeypatch.setattr(trials, "remove_index", record)
    tune = {"stem": [True, False], "stop_words": [True]}
    system = [{"ranker": name, "tune": tune, "settings": {"tokenizer": "ptb"}} for name in ("bm25", "tfidf")]
    parts = {"source_split": "rephrasings", "name": "shared"}
    toml = toml_at(tmp_path / "x.toml", archive, split="shared/test", dev="shared/dev", system=system, partition=parts)
    run_experiment(read_experiment(toml), tmp_path / "out")
    assert [n_tuned for _, n_tuned in removed] == [2, 2]
    assert len({path for path, _ in removed}) == 2


def test_quick_run_has_few_queries_seeds_and_values(archive, tmp_path):
    system = [{"ranker": "bm25", "tune": {"k1": [0.3, 0.6, 1.2]}}, {"ranker": "tfidf"}]
    parts = {"source_split": "rephrasings", "name": "few", "shares": [0.2, 0.4, 0.4]}
    toml = toml_at(tmp_path / "x.toml", archive, split="few/test", dev="few/dev", seeds=[3, 4], system=system,
                   partition=parts, max_queries=7)  # fmt: skip
    with Archive.open(archive) as opened:
        short = shorten(resolve(read_experiment(toml), opened))
    assert (short.seeds, short.max_queries) == ((3,), 7)
    assert short.system[0].tune == ({"k1": (0.3, 0.6)},)
    outcome = run_experiment(read_experiment(toml, {"system": system[:1]}), tmp_path / "out", quick=True)
    assert outcome.known_differences[0].startswith("A quick run: ")
    assert len(outcome.labels.queries) == 7
    sources = parse_sources([str(tmp_path / "out")])
    assert load_judgements(sources, None, None, None).qrels == outcome.labels.qrels


def test_data_hash_ignores_order_and_imports(tmp_path):
    first, second = Question("a", "one"), Question("b", "two")
    for name, order in (("x", [first, second]), ("y", [second, first]), ("z", [first])):
        with Archive.create(tmp_path / name) as archive:
            archive.upsert(order)
            archive.upsert(order)
    x, y, z = (content_hash(Archive.open(tmp_path / name)) for name in "xyz")
    assert x == y != z
    assert len(x) == 32


def test_the_resolved_configuration_has_no_variables(toml, tmp_path):
    before = dict(os.environ)
    run_experiment(read_experiment(toml), tmp_path / "out")
    assert dict(os.environ) == before


def test_hybrid_is_tuned_and_written_with_its_parts(archive, tmp_path):
    parts = {"parts": ["bm25", "tfidf"], "bm25.k1": 0.9, "rephrasings": False}
    system = [{"ranker": "hybrid", "settings": parts, "tune": True}, {"ranker": "cascade", "settings": parts}]
    toml = toml_at(tmp_path / "hybrid.toml", archive, split="cluster/test", dev="cluster/dev", system=system,
                   partition={"source_split": "rephrasings"})  # fmt: skip
    first, second = run_experiment(read_experiment(toml), tmp_path / "out").systems
    assert first.settings["bm25.k1"] == second.settings["bm25.k1"] == 0.9
    assert list(first.settings["weights"]) in [[1, 1], [1, 2], [1, 4], [2, 1], [4, 1]]
    again = run_experiment(read_experiment(tmp_path / "out/config.toml"), tmp_path / "again").systems
    assert [s.seed_results[0].evaluation.means for s in again] == [
        s.seed_results[0].evaluation.means for s in (first, second)
    ]
