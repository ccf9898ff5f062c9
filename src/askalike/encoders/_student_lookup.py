"""A lookup combined with a student of the teacher: some of the teacher's layers, which encode each query.

The student knows words and contexts that are not in the archive. Its errors differ from those of the lookup, so that
the sum of both, each of length 1, is better than either. In addition to the files of a lookup, a model has:

    model.toml      [student] the student's layers, and the weight of the lookup
    student/        a sentence-transformers folder
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askalike.core.config import Settings, validate_settings
from askalike.core.types import Answer, Question, VectorPart, Vectors
from askalike.encoders import MODEL_FILE, TextWords, read_model_file
from askalike.encoders.lookup import LookupEncoder, TeacherReference
from askalike.encoders.onnx.modules import MIN_NORM, normalise
from askalike.encoders.pretrained import PretrainedEncoder
from askalike.encoders.static import StaticEncoder

STUDENT_FOLDER = "student"

Array = NDArray[np.float32]


class StudentReference(Settings):
    """layers: the student's number of layers. lookup_weight: the weight of the lookup; the student's weight is 1."""

    layers: int
    lookup_weight: float


class StudentLookup(LookupEncoder):
    """Adds the lookup's vectors to the student's, both of length 1."""

    averages_words = True
    """See ContextualEncoder: the student's vector of a word depends on the words around it."""

    def __init__(self, queries: StaticEncoder, teacher: TeacherReference, folder: Path) -> None:
        super().__init__(queries, teacher, folder)
        where = f"{folder / MODEL_FILE}: student"
        student = validate_settings(StudentReference, read_model_file(folder).get("student", {}), where)
        self._weight = np.float32(student.lookup_weight)
        self._student = PretrainedEncoder.from_settings({"model": str(folder / STUDENT_FOLDER)})

    @property
    def fingerprint(self) -> str:
        """See Encoder.fingerprint."""
        return f"{super().fingerprint} student {self._student.fingerprint} {self._weight}"

    def look_up(self, texts: Sequence[Question | Answer]) -> Vectors:
        """Return approximations of the teacher's vectors, the same for both roles."""
        [looked_up], [read] = super().look_up(texts).parts, self._student.encode(texts, "query").parts
        values = normalise(read.values) + self._weight * normalise(looked_up.values)
        return Vectors((VectorPart(values, "cosine"),))

    def words(self, texts: Sequence[str]) -> TextWords:
        """Return plain texts' words with the contribution of each to its text's vector."""
        found, read = super().words(texts), self._student.words(texts)
        looked_up = _shorten_sums(found.vectors[found.rows], found.ends)
        vectors = _shorten_sums(read.vectors, read.ends) + self._weight * looked_up
        return read._replace(vectors=vectors, forms=found.forms[found.rows], starts=found.starts)


def _shorten_sums(vectors: Array, ends: NDArray[np.int64]) -> Array:
    """Return the vectors of each text's words, divided by the length of their sum. ends: see TextWords."""
    texts = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    sums = np.zeros((len(ends) - 1, vectors.shape[1]), np.float32)
    np.add.at(sums, texts, vectors)
    lengths = np.maximum(np.linalg.norm(sums, axis=1), MIN_NORM).astype(np.float32)
    shares: Array = vectors / lengths[texts, None]
    return shares
