"""The ids of a source's records in an archive: their own, or with the source's prefix."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from askalike.core.types import Answer, EvaluationQuery, Judgement, Link, Question
from askalike.store.database import Database, fetch_int
from askalike.store.records import StoredRecord
from askalike.store.sources import Source

OWN_PREFIXED_SQL = """SELECT k.value FROM json_each(?1) k CROSS JOIN {table} t ON t.id = ?2 || '/' || k.value
    JOIN imports i ON i.number = t.import_number WHERE i.source_number IS ?3"""
OTHERS_SQL = """SELECT k.value, i.source_number IS NULL, {text} FROM json_each(?1) k CROSS JOIN {table} t
    ON t.id = k.value LEFT JOIN imports i ON i.number = t.import_number WHERE i.source_number IS NOT ?2"""
OTHERS_REFERENCES_SQL = """WITH others(number) AS (
        SELECT number FROM imports WHERE source_number IS NOT NULL AND source_number IS NOT ?2
    ) SELECT k.value FROM json_each(?1) k WHERE
    EXISTS (SELECT 1 FROM links l WHERE l.source = k.value AND l.import_number IN others) OR
    EXISTS (SELECT 1 FROM links l WHERE l.target = k.value AND l.import_number IN others) OR
    EXISTS (SELECT 1 FROM answers a WHERE a.question_id = k.value AND a.import_number IN others) OR
    EXISTS (SELECT 1 FROM queries q WHERE q.split IN (SELECT DISTINCT split FROM queries) AND q.id = k.value
        AND q.import_number IN others)"""
IdMap = Mapping[str, str]


class SourceIds:
    """Assigns a source's records ids that no other source has; its links and answers refer to its own questions.

    An id is taken if a record of another source has it or refers to it. A record written in the archive itself with
    the same text is the same record, and belongs to the source from then on. A record keeps its first id.
    """

    def __init__(self, database: Database, source: Source) -> None:
        self._database = database
        self._source = source
        self._is_alone = self._find_out_if_alone()

    def resolve(self, records: Sequence[StoredRecord]) -> Sequence[StoredRecord]:
        """Return the records with their existing or new ids in the archive."""
        if self._is_alone:
            return records
        question_texts = {r.id: (r.title, r.body) for r in reversed(records) if isinstance(r, Question)}
        answer_texts = {r.id: (r.body,) for r in reversed(records) if isinstance(r, Answer)}
        question_ids = self._resolve_ids("questions", "title, body", _question_ids(records), question_texts)
        answer_ids = self._resolve_ids("answers", "body", _answer_ids(records), answer_texts)
        if not question_ids and not answer_ids:
            return records
        return [_with_ids(r, lambda id: question_ids.get(id, id), lambda id: answer_ids.get(id, id)) for r in records]

    def _resolve_ids(
        self, table: str, text_columns: str, ids: Iterable[str], texts: Mapping[str, tuple[str, ...]]
    ) -> IdMap:
        """Map the ids that get the prefix to the prefixed ids."""
        execute, number = self._database._connection.execute, self._source.number
        wanted = json.dumps(list(dict.fromkeys(ids)))
        own = execute(OWN_PREFIXED_SQL.format(table=table), (wanted, self._source.prefix, number))
        prefixed = {id for (id,) in own}
        if number is None:  # records written in the archive refer to records of all sources
            wanted = json.dumps(list(texts))
        for id, is_local, *text in execute(OTHERS_SQL.format(table=table, text=text_columns), (wanted, number)):
            if not is_local or texts.get(id) != tuple(text):
                prefixed.add(id)
        if table == "questions" and number is not None:
            prefixed |= {id for (id,) in execute(OTHERS_REFERENCES_SQL, (wanted, number))}
        return {id: f"{self._source.prefix}/{id}" for id in prefixed}

    def _find_out_if_alone(self) -> bool:
        """Return whether the archive contains only records of this source, all with their own ids."""
        number, prefix = self._source.number, self._source.prefix
        others = "SELECT EXISTS (SELECT 1 FROM imports WHERE source_number IS NOT ?)"
        if fetch_int(self._database, others, number):
            return False
        local = "SELECT EXISTS (SELECT 1 FROM {0} WHERE import_number IS NULL)"
        prefixed = "SELECT EXISTS (SELECT 1 FROM {0} WHERE id >= ?1 || '/' AND id < ?1 || '0')"
        return not any(
            fetch_int(self._database, local.format(table)) or fetch_int(self._database, prefixed.format(table), prefix)
            for table in ("questions", "answers")
        )


def _question_ids(records: Iterable[StoredRecord]) -> Iterable[str]:
    for record in records:
        match record:
            case Question(id=id) | Answer(question_id=id) | EvaluationQuery(question=Question(id=id)):
                yield id
            case Link(source=source, target=target):
                yield from (source, target)
            case Judgement(query_id=query, document_id=document, record_type=record_type):
                yield query
                if record_type == "questions":
                    yield document


def _answer_ids(records: Iterable[StoredRecord]) -> Iterable[str]:
    for record in records:
        match record:
            case (
                Question(accepted_answer_id=str(id)) | Answer(id=id) | Judgement(document_id=id, record_type="answers")
            ):
                yield id


def _with_ids(record: StoredRecord, question_id: Callable[[str], str], answer_id: Callable[[str], str]) -> StoredRecord:
    match record:
        case Question(accepted_answer_id=accepted):
            accepted = accepted if accepted is None else answer_id(accepted)
            return replace(record, id=question_id(record.id), accepted_answer_id=accepted)
        case Answer():
            return replace(record, id=answer_id(record.id), question_id=question_id(record.question_id))
        case Link():
            return replace(record, source=question_id(record.source), target=question_id(record.target))
        case EvaluationQuery(question=question):
            return replace(record, question=replace(question, id=question_id(question.id)))
        case Judgement(document_id=document, record_type=record_type):
            document = question_id(document) if record_type == "questions" else answer_id(document)
            return replace(record, query_id=question_id(record.query_id), document_id=document)
