import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from askalike.core.errors import InputError
from askalike.core.hits import Hit, Run
from askalike.evaluation.trec import read_qrels, read_run, write_run

RUN = "q1 Q0 b 2 1.5 t\nq1 Q0 a 1 3.0 t\n\nq2 Q0 c 1 -2 t\nq1 Q0 z 3 1.5 t\n"


def ids(run: Run) -> dict[str, list[str]]:
    return {query: list(run.columns(query)[0]) for query in run}


def file(folder: Path, content: str | bytes) -> Path:
    path = folder / "file.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_run_is_sorted_by_score_and_file_order(tmp_path: Path) -> None:
    run = read_run(file(tmp_path, RUN))
    assert ids(run) == {"q1": ["a", "b", "z"], "q2": ["c"]}
    assert run["q1"] == [Hit("a", 3.0), Hit("b", 1.5), Hit("z", 1.5)]


@pytest.mark.parametrize(
    "same",
    [
        gzip.compress(RUN.encode(), mtime=0),
        b"\xef\xbb\xbf" + RUN.encode(),
        RUN.replace("\n", "\r\n").encode(),
        RUN.replace(" ", "\t").encode(),
        b"q1\tb\t0\t1.5\ttrue\nq1   a 0   3.0 false\nq2 c 0 -2 true\nq1 z 0 1.5 true\n",
    ],
    ids=["gzip", "byte order mark", "CRLF", "tabs", "SemEval"],
)
def test_formats_are_told_apart_by_content(tmp_path: Path, same: bytes) -> None:
    assert ids(read_run(file(tmp_path, same))) == {"q1": ["a", "b", "z"], "q2": ["c"]}


@pytest.mark.parametrize(
    "content",
    [
        "q1 0 a 2\nq1 0 b 0\nq2 0 c 1\n",
        "query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tb\t0\nq2\tc\t1\n",
        gzip.compress(b"q1\ta\t2\nq1\tb\t0\nq2\tc\t1\n", mtime=0),
    ],
    ids=["TREC", "BEIR", "BEIR without header, gzip"],
)
def test_judgements(tmp_path: Path, content: str | bytes) -> None:
    assert read_qrels(file(tmp_path, content)) == {"q1": {"a": 2, "b": 0}, "q2": {"c": 1}}


def test_semeval_gold_is_a_run_and_judgements(tmp_path: Path) -> None:
    path = file(tmp_path, "Q1\tQ1_R4\t4\t0.25\ttrue\nQ1\tQ1_R2\t2\t0.5\tfalse\n")
    assert read_qrels(path) == {"Q1": {"Q1_R4": 1, "Q1_R2": 0}}
    assert ids(read_run(path)) == {"Q1": ["Q1_R2", "Q1_R4"]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty; expected 6 (query Q0 document rank score tag) or 5"),
        ("\n \n", "the file is empty"),
        ("q Q0 a 1 nan t\n", "line 1: score 'nan' is not a finite number"),
        ("q Q0 a 1 1 t\nq Q0 b 2 inf t\n", "line 2: score 'inf' is not a finite number"),
        ("q Q0 a 1 1 t\nq Q0 b 2 high t\n", "line 2: score 'high' is not a finite number"),
        ("q Q0 a 1 1 t\n\nq Q0 b 2 1\n", "line 3: 5 columns; expected 6"),
        ("q 0 a 1\n", "line 1: 4 columns; expected 6"),
        ("q Q0 a 1 1 t\np Q0 a 1 1 t\nq Q0 a 2 0 t\n", "line 3: document 'a' occurs twice for query 'q'"),
        (b"q Q0 a 1 1 t\nq Q0 \xe9 1 1 t\n", "line 2: an id is not UTF-8"),
        ("q Q0 a 1 1 t\n".encode("utf-16"), "line 1: an id is not UTF-8"),
        (gzip.compress(RUN.encode(), mtime=0)[:-9], "cannot be read"),
    ],
)
def test_a_bad_run_is_one_clear_line(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = file(tmp_path, content)
    with pytest.raises(InputError) as error:
        read_run(path)
    assert message in str(error.value)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty; expected 4 (query 0 document grade) or 5"),
        ("query-id\tcorpus-id\tscore\n", "a header without judgements"),
        ("q 0 a relevant\n", "line 1: grade 'relevant' is not a whole number"),
        ("q 0 a 1.5\n", "line 1: grade '1.5' is not a whole number"),
        ("query-id\tcorpus-id\tscore\nq\ta\tyes\n", "line 2: score 'yes' is not a whole number"),
        ("q a 1 0.5 maybe\n", "line 1: true|false 'maybe' is not true or false"),
        ("q 0 a 1\nq 0 a 0\n", "line 2: document 'a' is judged twice for query 'q'"),
        (RUN, "line 1: 6 columns; expected 4"),
    ],
)
def test_bad_judgements_are_one_clear_line(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=r"file\.txt") as error:
        read_qrels(file(tmp_path, content))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.trec: cannot be read"):
        read_run(tmp_path / "nowhere.trec")


ANY_SCORE = st.one_of(st.floats(-1e30, 1e30), st.sampled_from([0.0, 1.0, 1.0 + 1e-12, 1.0 + 1e-7, -3.5]))
USUAL_SCORE = st.floats(1e-4, 1e16, exclude_max=True)
SCORES = st.one_of(st.lists(own, min_size=1, max_size=30) for own in (ANY_SCORE, USUAL_SCORE))


@given(scores=SCORES)
def test_written_run_falls_strictly_in_32_bits(tmp_path_factory: pytest.TempPathFactory, scores: list[float]) -> None:
    path = tmp_path_factory.mktemp("runs") / "run.trec"
    ranked = sorted(scores, reverse=True)
    names = [f"d{i}" for i in range(len(ranked))]
    write_run(Run({"q": (names, np.array(ranked))}), path, "ours")
    back_ids, back = read_run(path).columns("q")
    single = back.astype(np.float32)
    assert [line.split()[4] for line in path.read_text().splitlines()] == list(map(repr, back.tolist()))
    assert list(back_ids) == names
    assert np.all(single[1:] < single[:-1])
    true = np.array(ranked).astype(np.float32)
    if np.all(true[1:] < true[:-1]):
        assert back.tolist() == ranked


def test_ties_are_nudged_by_the_smallest_step(tmp_path: Path) -> None:
    write_run(Run({"q": (["a", "b", "c"], np.array([1.0, 1.0, 0.1]))}), tmp_path / "run", "t")
    step = float(np.nextafter(np.float32(1), np.float32(0)))
    assert (tmp_path / "run").read_text() == f"q Q0 a 1 1.0 t\nq Q0 b 2 {step!r} t\nq Q0 c 3 0.1 t\n"


def test_run_has_hits_of_every_query_and_script(tmp_path: Path) -> None:
    columns = {"q": (["a"], [2.5e-7]), "none": ([], []), "вопрос": ([f"д{n}" for n in range(120)], range(120, 0, -1))}
    run = {query: (documents, np.array(scores) / 7) for query, (documents, scores) in columns.items()}
    write_run(Run(run), tmp_path / "run", "t")
    assert (tmp_path / "run").read_text(encoding="utf-8") == "".join(
        f"{query} Q0 {document} {rank} {score!r} t\n"
        for query, (documents, scores) in run.items()
        for rank, (document, score) in enumerate(zip(documents, scores.tolist(), strict=True), 1)
    )


def test_gz_run_is_compressed_and_reproducible(tmp_path: Path) -> None:
    run = read_run(file(tmp_path, RUN))
    write_run(run, tmp_path / "a.gz", "t")
    write_run(run, tmp_path / "b.gz", "t")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert ids(read_run(tmp_path / "a.gz")) == ids(run)


@pytest.mark.parametrize(
    ("run", "tag", "message"),
    [
        ({"q": ["two words"]}, "t", "white space"),
        ({"q": [""]}, "t", "empty"),
        ({"": ["a"]}, "t", "empty"),
        ({"q": ["a"]}, "my tag", "one word"),
        ({"q": ["a"]}, "", "one word"),
    ],
)
def test_what_a_trec_run_cannot_hold_is_refused(
    tmp_path: Path, run: dict[str, list[str]], tag: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        write_run(Run({q: (d, np.ones(len(d))) for q, d in run.items()}), tmp_path / "run", tag)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("score", [np.nan, np.inf, 1e300])
def test_too_large_score_is_refused_before_writing(tmp_path: Path, score: float) -> None:
    path = file(tmp_path, RUN)
    with pytest.raises(InputError, match="not finite"):
        write_run(Run({"p": (["a"], np.array([1.0])), "q": (["a"], np.array([score]))}), path, "t")
    assert path.read_text() == RUN
    assert list(tmp_path.iterdir()) == [path]


def test_unwritable_run_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        write_run(Run({}), tmp_path / "nowhere/run", "t")
