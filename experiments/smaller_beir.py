"""Write a sample of a data set in BEIR's format: queries of splits, what is relevant to them, and other documents.

python experiments/smaller_beir.py FOLDER NEW_FOLDER DOCUMENTS SPLIT=QUERIES [SPLIT=QUERIES ...]
"""

import gzip
import json
import random
import sys
from pathlib import Path

SEED = 0


def main(folder: str, new_folder: str, n_documents: str, *splits: str) -> None:
    """Write the sample."""
    source, target, rng = Path(folder), Path(new_folder), random.Random(SEED)
    (target / "qrels").mkdir(parents=True)
    judged = {}
    for split in splits:
        name, _, n_queries = split.partition("=")
        judged[name] = sample_queries(source, target, name, int(n_queries), rng)
    with gzip.open(source / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    needed = {document for rows in judged.values() for _, document, grade in rows if int(grade) > 0}
    others = [document["_id"] for document in documents if document["_id"] not in needed]
    kept = needed.union(rng.sample(others, max(0, int(n_documents) - len(needed))))
    write_lines(target / "corpus.jsonl", [json.dumps(own) for own in documents if own["_id"] in kept])
    for name, rows in judged.items():
        lines = ["\t".join(row) for row in rows if row[1] in kept]
        write_lines(target / "qrels" / f"{name}.tsv", ["query-id\tcorpus-id\tscore", *lines])


def sample_queries(source: Path, target: Path, split: str, count: int, rng: random.Random) -> list[list[str]]:
    """Write a sample of a split's queries, and return the rows of their judgements."""
    queries = [json.loads(line) for line in (source / f"queries-{split}.jsonl").read_text("utf-8").splitlines()]
    rows = [line.split("\t") for line in (source / "qrels" / f"{split}.tsv").read_text("utf-8").splitlines()[1:]]
    answered = {query for query, _, grade in rows if int(grade) > 0}
    chosen = rng.sample([query for query in queries if query["_id"] in answered], count)
    write_lines(target / f"queries-{split}.jsonl", [json.dumps(query) for query in chosen])
    asked = {query["_id"] for query in chosen}
    return [row for row in rows if row[0] in asked]


def write_lines(path: Path, lines: list[str]) -> None:
    """Write lines to a file."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
