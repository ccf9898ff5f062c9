"""`compare`, as a person runs it."""

import json
import re
from pathlib import Path

import pytest

from askalike import Answer, Archive, Question
from commands import assert_refused, run_command as run

QRELS = "q1 0 a 1\nq2 0 b 1\nq3 0 c 1\n"
GOOD = "q1 Q0 a 1 2 t\nq2 Q0 b 1 2 t\nq3 Q0 c 1 2 t\n"
POOR = "q1 Q0 x 1 2 t\nq1 Q0 a 2 1 t\nq2 Q0 b 1 2 t\n"


@pytest.fixture(autouse=True)
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two runs and their judgements, in the folder that commands are run in."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("qrels.txt", QRELS), ("good.trec", GOOD), ("poor.trec", POOR)):
        Path(name).write_text(text)


@pytest.fixture
def desk(tmp_path: Path) -> str:
    with Archive.create(tmp_path / "desk") as archive:
        archive.set_meta(language="en")
        archive.upsert(
            [Question(i, f"Title of {i}", rephrasings=(f"Other <b> of {i}",) if i != "x" else ()) for i in "abcx"]
        )
    return "desk"


def experiment(folder: str, desk: str) -> None:
    runs = Path(folder) / "runs"
    runs.mkdir(parents=True)
    (Path(folder) / "config.toml").write_text(
        f'archive = "{desk}"\nsplit = "rephrasings"\nmeasures = ["RR"]\nrule = "beir"\n'
    )
    for name, wrong in (("bm25", "a"), ("cnn-seed2", "b"), ("cnn-seed10", "c")):
        lines = [f"{i}#1 Q0 {'x' if i == wrong else i} 1 1 t\n" for i in "abc"]
        (runs / f"{name}.trec").write_text("".join(lines))


def test_two_runs_against_qrels() -> None:
    code, out, err = run("compare", "good.trec", "bad=poor.trec", "--qrels", "qrels.txt", "--measures", "RR P@1")
    assert (code, err) == (0, "")
    assert "RR, n = 3 queries" in out
    assert "poor.trec: lacks 1 judged query (such as 'q3'), which count 0" in out
    assert "good and bad: the queries that differ most in RR" in out
    assert "found nothing" in out
    assert "x  (relevant at 2)" in out


def test_needed_difference_is_half_the_interval() -> None:
    words = ("good.trec", "poor.trec", "--qrels", "qrels.txt", "--measures", "RR")
    assert "needed: the smallest difference" in run("compare", *words)[1]
    compared = json.loads(run("compare", *words, "--format", "json")[1])
    [pair], [power] = compared["comparisons"][0]["pairs"], compared["power"]
    assert power["needed"] == pytest.approx((pair["high"] - pair["low"]) / 2)
    assert power["detectable"] > power["needed"]
    assert compared["agreements"] == []


def test_agreement_of_rankings() -> None:
    words = ("compare", "good.trec", "poor.trec", "--qrels", "qrels.txt", "--measures", "RR", "--agreement")
    assert '<th scope="col">RBO</th>' in run(*words, "--format", "html")[1]
    code, out, _ = run(*words)
    assert code == 0
    assert re.search(r"^good +poor +0\.725 +– +2$", out, flags=re.MULTILINE)


def test_common_only() -> None:
    code, out, _ = run("compare", "good.trec", "poor.trec", "--qrels", "qrels.txt", "--measures", "RR", "--common-only")
    assert code == 0
    assert "n = 2 queries" in out
    assert "left out: 1 query that not all runs have" in out


def test_an_archive_gives_texts(desk: str) -> None:
    experiment("trial", desk)
    run_files = ("trial/runs/bm25.trec", "two=trial/runs/cnn-seed2.trec")
    code, out, _ = run("compare", *run_files, "--archive", desk, "--split", "rephrasings", "--measures", "RR")
    assert code == 0
    assert "a#1  Other <b> of a" in out
    assert "x Title of x  (none relevant found)" in out
    assert "a Title of a  (relevant)" in out


def test_runs_of_answers(tmp_path: Path) -> None:
    with Archive.create(tmp_path / "desk") as archive:
        archive.upsert(Question(id, f"Title of {id}") for id in "abc")
        archive.upsert(Answer(f"to-{id}", id, f"Answer to {id}") for id in "abc")
        archive.upsert([Answer("again", "b", "Answer  to a")])  # identical to that of a: they are one document
    Path("good.trec").write_text("".join(f"{id} Q0 to-{id} 1 2 t\n" for id in "abc"))
    Path("poor.trec").write_text("a Q0 to-c 1 2 t\nb Q0 to-a 1 2 t\nc Q0 to-a 1 2 t\n")
    words = ("good.trec", "poor.trec", "--archive", "desk", "--split", "answers", "--measures", "Success@1")
    code, out, err = run("compare", *words)
    assert (code, err) == (0, "")
    assert re.search(r"good +1\.0000", out)
    assert re.search(r"poor +0\.3333", out)
    assert "to-c Answer to c  (none relevant found)" in out


def test_experiment_knows_archive_measures_rule_and_seeds(desk: str) -> None:
    experiment("trial", desk)
    code, out, err = run("compare", "trial")
    assert (code, err) == (0, "")
    assert "rule beir" in out
    assert "b cnn   0.6667 ± 0.0000" in out
    assert "Welch's t over seeds and queries" in out


def test_systems_keep_labels_and_order_of_the_experiment(desk: str) -> None:
    experiment("trial", desk)
    with Path("trial/config.toml").open("a") as config:
        config.write('[[system]]\nranker = "bow_cnn"\nlabel = "cnn"\n[[system]]\nranker = "bm25"\nlabel = "bm25 "\n')
    out = json.loads(run("compare", "trial", "--format", "json")[1])
    assert [system["name"] for system in out["comparisons"][0]["systems"]] == ["cnn", "bm25 "]


def test_systems_of_several_experiments_are_told_apart(desk: str) -> None:
    experiment("trial", desk)
    experiment("again", desk)
    out = json.loads(run("compare", "trial", "mine=again", "--format", "json")[1])
    names = [system["name"] for system in out["comparisons"][0]["systems"]]
    assert names == ["bm25", "cnn", "mine/bm25", "mine/cnn"]
    out = json.loads(run("compare", "trial", "again", "--format", "json")[1])
    assert [s["name"] for s in out["comparisons"][0]["systems"]][::2] == ["trial/bm25", "again/bm25"]
    assert len(out["contrasts"]) == 6


def test_formats_and_output(desk: str) -> None:
    experiment("trial", desk)
    shown = {"csv": "measure,first,second", "latex": r"\begin{tabular}", "html": "Other &lt;b&gt; of a", "json": "{"}
    for name, says in shown.items():
        code, out, err = run("compare", "trial", "--format", name)
        assert (code, err) == (0, "")
        assert says in out
        assert run("compare", "trial", "--format", name, "-o", f"file-{name}") == (0, "", f"file-{name}\n")
        assert Path(f"file-{name}").read_bytes().decode() == out


def test_latex_is_one_table_of_systems_by_measures(desk: str) -> None:
    experiment("trial", desk)
    out = run("compare", "trial", "--measures", "RR Success@1", "--format", "latex")[1]
    head, *rows = [line for line in out.splitlines() if line.endswith(r"\\")]
    assert head == r"system & RR & Success@1 \\"
    assert len(rows) == len(json.loads(run("compare", "trial", "--format", "json")[1])["comparisons"][0]["systems"])
    assert re.fullmatch(r"a bm25 & \\textbf\{[0-9.]+ \[[0-9.]+, [0-9.]+\]\}(\$.*\$)? & .*", rows[0])
    assert re.match(r"b cnn & \\textbf\{[0-9.]+ \$\\pm\$ [0-9.]+ \[", rows[1])
    assert out.count(r"\begin{tabular}") == 1


def test_a_bad_run_is_one_clear_line() -> None:
    Path("bad.trec").write_text("q9 Q0 a 1 1 t\nq8 Q0 a 1 1 t\n")
    says = "bad.trec: none of its 2 queries (such as 'q9') is judged"
    assert_refused(run("compare", "good.trec", "bad.trec", "--qrels", "qrels.txt"), says)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("good.trec", "poor.trec"), "no judgements; expected --qrels FILE"),
        (("good.trec", "--qrels", "qrels.txt"), "one is measured by evaluate --run FILE"),
        (("good.trec", "good.trec", "--qrels", "qrels.txt"), "two systems are called 'good'"),
        (("good.trec", ".", "--qrels", "qrels.txt"), "no runs/*.trec in it"),
        (("good.trec", "none.trec", "--qrels", "qrels.txt"), "none.trec: cannot be read"),
        (("good.trec", "poor.trec", "--qrels", "qrels.txt", "--format", "pdf"), "'pdf' is not one of 'text'"),
        (("good.trec", "poor.trec", "--qrels", "qrels.txt", "--measures", ""), "no measure is named"),
        (("good.trec", "poor.trec", "--qrels", "qrels.txt", "--rule", "mine"), "'mine' is not one of 'trec_eval'"),
        (("good.trec", "poor.trec", "--qrels", "qrels.txt", "-o", "no/file"), "cannot be written"),
        (("good.trec", "poor.trec", "--archive", "nowhere"), "not an archive"),
        (("good.trec", "poor.trec", "--qrels", "qrels.txt", "--split", "dev"), "split 'dev' of no archive"),
    ],
)
def test_what_cannot_be_compared(words: tuple[str, ...], says: str) -> None:
    assert_refused(run("compare", *words), says)


def test_unjudged_queries_are_said_and_do_not_count() -> None:
    Path("more.trec").write_text(GOOD + "q9 Q0 a 1 1 t\n")
    out = run("compare", "more.trec", "poor.trec", "--qrels", "qrels.txt", "--measures", "RR")[1]
    assert "more.trec: 1 query not judged (such as 'q9'), and not counted" in out
