"""Scores of rephrasings in a cluster: postings hold frequency and length, and a table maps these to scores.

The statistics of terms are those of questions' own texts, which the similarity of another field cannot read. So the
similarity of rephrasings encodes frequency and length as one number, and each query contains the score for each number.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from askalike.types import Floats

BASE = 4_096
"""Frequencies and lengths are below it, so that both fit into the 24 bits of a float32's integers."""
MAX_FREQUENCY = 64
"""A term that a rephrasing has more often is proposed as if it had it so often."""
SIMILARITY = {
    "type": "scripted",
    "script": {
        "source": f"return query.boost * (Math.min(doc.freq, {BASE - 1}) * {BASE} + {BASE - 1} "
        f"- Math.min(doc.length, {BASE - 1}));"
    },
}
"""It rises with the frequency and falls with the length, as Lucene expects of a similarity."""
_LOOK_UP = f"""
int code = (int) _score;
int frequency = code / {BASE};
int length = {BASE - 1} - code % {BASE};
List lengths = params.lengths, scores = params.scores;
int place = Collections.binarySearch(lengths, length);
int column = place < 0 ? -place - 1 : place;
int row = (frequency > scores.size() ? scores.size() : frequency) - 1;
return (double) scores.get(row)[column < lengths.size() ? column : lengths.size() - 1];
"""


def table_clause(field: str, term: str, lengths: Sequence[int], scores: Floats) -> Mapping[str, Any]:
    """Return the clause that scores texts with a term. scores: (frequencies from 1 on, lengths), lengths ascending."""
    parameters = {"lengths": list(lengths), "scores": scores.tolist()}
    script = {"source": _LOOK_UP, "params": parameters}
    return {"script_score": {"query": {"term": {field: term}}, "script": script}}
