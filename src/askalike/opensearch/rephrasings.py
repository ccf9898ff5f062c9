"""Scores of rephrasings in a cluster: postings hold frequency and length, and a table maps these to scores.

Term statistics are those of questions' own texts, which are not available to the similarity of another field. So the
similarity of rephrasings encodes frequency and length as one number, and each query contains the score of each number.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from askalike.core.types import Floats

BASE = 4_096
"""Frequencies and lengths are below this, so that both fit into the 24 bits of a float32's mantissa."""
MAX_FREQUENCY = 64
"""Higher frequencies of a term in a rephrasing are capped at this for the cluster's search."""
SIMILARITY = {
    "type": "scripted",
    "script": {
        "source": f"return query.boost * (Math.min(doc.freq, {BASE - 1}) * {BASE} + {BASE - 1} "
        f"- Math.min(doc.length, {BASE - 1}));"
    },
}
"""It increases with the frequency and decreases with the length, as Lucene requires of a similarity."""
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
    """Return the clause that scores texts with a term. scores: (frequencies from 1, lengths), lengths ascending."""
    parameters = {"lengths": list(lengths), "scores": scores.tolist()}
    script = {"source": _LOOK_UP, "params": parameters}
    return {"script_score": {"query": {"term": {field: term}}, "script": script}}
