"""Write a sample of a data set in BEIR's format: queries of a split, what is relevant to them, and other documents.

python experiments/smaller_beir.py FOLDER NEW_FOLDER SPLIT QUERIES DOCUMENTS
"""

import gzip
import json
import random
import sys
from pathlib import Path

SEED = 0


def main(folder: str, new_folder: str, split: str, n_queries: str, n_documents: str) -> None:
    """Write the sample."""
    source, target, rng = Path(folder), Path(new_folder), random.Random(SEED)
    queries = [json.loads(line) for line in (source / f"queries-{split}.jsonl").read_text("utf-8").splitlines()]
    head, *judged = (source / "qrels" / f"{split}.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in judged]
    relevant: dict[str, set[str]] = {}
    for query, document, grade in rows:
        if int(grade) > 0:
            relevant.setdefault(query, set()).add(document)
    chosen = rng.sample([query for query in queries if query["_id"] in relevant], int(n_queries))
    with gzip.open(source / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    needed = set().union(*(relevant[query["_id"]] for query in chosen))
    others = [document["_id"] for document in documents if document["_id"] not in needed]
    kept = needed.union(rng.sample(others, max(0, int(n_documents) - len(needed))))
    asked = {query["_id"] for query in chosen}
    own_rows = ["\t".join(row) for row in rows if row[0] in asked and row[1] in kept]
    (target / "qrels").mkdir(parents=True)
    write_lines(target / "corpus.jsonl", [json.dumps(own) for own in documents if own["_id"] in kept])
    write_lines(target / "queries.jsonl", [json.dumps(query) for query in chosen])
    write_lines(target / "qrels" / f"{split}.tsv", [head, *own_rows])


def write_lines(path: Path, lines: list[str]) -> None:
    """Write lines to a file."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
