"""An experiment whose documents are an archive's answers."""

import json

import pytest
from small import categorised_questions, toml_at

from askalike import rankers
from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.records import Answer, Question
from askalike.evaluation.trec import read_run
from askalike.measuring import evaluate_ranker
from askalike.store.archive import Archive
from askalike_research.comparing.comparison import compare_runs
from askalike_research.comparing.run_sources import load_judgements, parse_sources
from askalike_research.experiments.declaration import read_experiment
from askalike_research.experiments.run import run_experiment
from database import run_sql

pytestmark = pytest.mark.usefixtures("without_figures")


@pytest.fixture
def archive(tmp_path):
    questions = categorised_questions()
    answers = [Answer(f"a{q.id}", q.id, f"On {q.category}: {' '.join(q.title.split()[::-1])}.") for q in questions]
    same = [Answer(f"same{n}", f"q{n}0", "See the manual.") for n in range(5)]
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert([*questions, *answers, *same, Answer("empty", "q00", " ")])
    return tmp_path / "archive"


def declared(tmp_path, archive, **changes):
    systems = [{"ranker": "bm25"}, {"ranker": "by_question", "settings": {"ranker": "bm25"}}]
    values = {"task": "answers", "split": "answers", "fields": None, "system": systems} | changes
    return toml_at(tmp_path / "answers.toml", archive, **values)


def test_identical_answers_are_ranked_as_one(archive, tmp_path):
    outcome = run_experiment(read_experiment(declared(tmp_path, archive)), tmp_path / "out")
    assert len(outcome.labels.queries) == 40
    assert outcome.labels.qrels["q30"] == {"aq30": 1, "same0": 1}
    run = read_run(tmp_path / "out/runs/bm25.trec")
    ids = {id for query in run for id in run.columns(query)[0]}
    assert "empty" not in ids
    assert not {f"same{n}" for n in range(1, 5)} & ids
    assert outcome.systems[0].mean("Success@1") > 0.9
    assert outcome.systems[1].mean("Success@1") < outcome.systems[0].mean("Success@1")
    assert "On bread" in (tmp_path / "out/report.html").read_text()
    assert json.loads((tmp_path / "out/report.json").read_text())["task"] == "answers"


def test_each_document_comes_once_and_k_come(archive, tmp_path):
    systems = [{"ranker": "by_question", "settings": {"ranker": "bm25"}}]
    outcome = run_experiment(read_experiment(declared(tmp_path, archive, k=3, system=systems)), tmp_path / "out")
    run = outcome.systems[0].seed_results[0].run
    assert all(len({hit.id for hit in run[query]}) == len(run[query]) == 3 for query in run)


def test_part_is_measured_and_another_tuned_on(archive, tmp_path):
    changes = {
        "partition": {"method": "category", "source_split": "answers", "name": "topic", "shares": [0.4, 0.3, 0.3]},
        "split": "topic/test",
        "dev": "topic/dev",
        "system": [{"ranker": "bm25", "tune": {"k1": [1.2, 0.3]}}],
    }
    outcome = run_experiment(read_experiment(declared(tmp_path, archive, **changes)), tmp_path / "out")
    assert set(outcome.systems[0].tuned) == {"k1", "Success@1 on topic/dev (n = 12)"}


def test_evaluate_ranks_answers_of_an_answers_split(archive, tmp_path):
    outcome = run_experiment(read_experiment(declared(tmp_path, archive)), tmp_path / "out")
    with Archive.open(archive) as opened:
        found = evaluate_ranker(opened, rankers.create("bm25"), "answers", ["RR"])
    assert found.means["RR"] == outcome.systems[0].mean("RR")


def test_a_folder_can_be_compared_again(archive, tmp_path):
    run_experiment(read_experiment(declared(tmp_path, archive)), tmp_path / "out")
    sources = parse_sources([str(tmp_path / "out")])
    comparison = compare_runs(sources, load_judgements(sources, None, None, None), ["RR"], "trec_eval")
    assert comparison.contrasts[0].queries[0].relevant_text.startswith("On ")


def test_archive_without_answers_is_refused(tmp_path):
    with Archive.create(tmp_path / "bare") as archive:
        archive.upsert([Question("q", "how?")])
    with pytest.raises(SettingsError, match="no split 'answers' with judged answers"):
        read_experiment(declared(tmp_path, tmp_path / "bare"))
    with Archive.open(tmp_path / "bare") as archive:
        archive.upsert([Answer("a", "q", " ")])
    with pytest.raises(SettingsError, match="no split 'answers' with judged answers"):
        read_experiment(declared(tmp_path, tmp_path / "bare"))


def test_archive_that_lost_its_answers_is_refused(archive, tmp_path):
    experiment = read_experiment(declared(tmp_path, archive))
    with Archive.open(archive) as opened:
        run_sql(opened, "DELETE FROM answers")
    with pytest.raises(ArchiveError, match="it has no answers, so there is nothing to rank"):
        run_experiment(experiment, tmp_path / "out")


def test_a_typing_curve_is_of_questions(archive, tmp_path):
    with pytest.raises(SettingsError, match="typing_curve needs task = questions"):
        read_experiment(declared(tmp_path, archive, typing_curve=True))


def test_ten_thousand_words_are_an_ordinary_answer(archive, tmp_path):
    with Archive.open(archive) as opened:
        long = " ".join(f"word{n}" for n in range(10_000))
        opened.upsert([Question("long", "what is long"), Answer("along", "long", f"{long} giraffe")])
        opened.upsert([Question("neck", "giraffe"), Answer("aneck", "neck", "a long neck")])
    outcome = run_experiment(read_experiment(declared(tmp_path, archive)), tmp_path / "out")
    assert outcome.systems[0].seed_results[0].run["neck"][0].id == "along"
