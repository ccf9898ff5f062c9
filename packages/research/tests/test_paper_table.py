"""From a folder in BEIR's layout to a table for a paper."""

import json
import shutil

import pytest

from askalike import read_run
from commands import run_command as run

CORPUS = ["boil an egg", "bake some bread", "brew good coffee", "plant a rose", "mend a bicycle", "tune a guitar"]
QUERIES = ["brew coffee well", "egg boiling", "bread baking at home", "guitar tune", "a rose to plant", "bicycle mend"]
RELEVANT = [2, 0, 1, 5, 3, 4]


@pytest.fixture
def beir(tmp_path):
    """A folder whose queries and documents are numbered apart: query 2 has nothing to do with document 2."""
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    write = {"corpus.jsonl": CORPUS, "queries.jsonl": QUERIES}
    for name, texts in write.items():
        rows = ({"_id": str(n), "title": "", "text": text} for n, text in enumerate(texts))
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = (f"{query}\t{document}\t1\n" for query, document in enumerate(RELEVANT))
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines))
    return folder


def test_from_forums_to_a_table_for_a_paper(beir, tmp_path):
    """Two forums, two rankers and another system's run: one experiment, each forum ranked within itself, one table."""
    for forum in ("android", "english"):
        shutil.copytree(beir, tmp_path / "forums" / forum)
    archive, folder, theirs = (tmp_path / name for name in ("archive", "out", "theirs.trec"))
    assert run("import", "beir", tmp_path / "forums", "-o", archive)[0] == 0
    assert run("rank", archive, "--ranker", "tfidf", "--queries", "split:test", "-o", theirs)[0] == 0
    toml = tmp_path / "forums.toml"
    systems = ('ranker = "bm25"', 'ranker = "tfidf"', f'run = "{theirs}"')
    head = f'archive = "{archive}"\nmeasures = ["ndcg_cut_10", "ERR@10"]\nbaseline = "bm25"\n'
    toml.write_text(head + "".join(f"[[system]]\n{system}\n" for system in systems))
    code, printed, said = run("experiment", toml, "-o", folder)
    assert code == 0, said
    assert "2 groups, each ranked within itself, count the same" in printed
    assert "bm25: fit" in said
    assert {"accuracy.pdf", "scatter0.svg"} <= {file.name for file in (folder / "figures").iterdir()}
    bm25 = read_run(folder / "runs/bm25.trec")
    assert all(hit.id.startswith(query.split("/")[0]) for query in bm25 for hit in bm25[query])
    code, latex, said = run("compare", folder, "--format", "latex")
    assert code == 0, said
    assert latex.count(r"\begin{tabular}") == 1
    assert "ndcg\\_cut\\_10 & ERR@10" in latex
    assert "c theirs & " in latex
