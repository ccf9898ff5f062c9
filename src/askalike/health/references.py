"""Checks of references: links, accepted answers, answers and judgements that point at what is not there."""

from askalike.health.findings import CheckContext, Finding

NO_QUESTION_SQL = "NOT EXISTS (SELECT 1 FROM questions q WHERE q.id = {})"


def unanswered_questions(subject: CheckContext) -> Finding:
    """Questions without an answer, in an archive that has answers."""
    rows = "FROM questions q WHERE NOT EXISTS (SELECT 1 FROM answers a WHERE a.question_id = q.id)"
    has_answers = subject.fetch_int("SELECT EXISTS (SELECT 1 FROM answers)")
    return Finding(
        "unanswered_questions",
        subject.fetch_int(f"SELECT COUNT(*) {rows}") if has_answers else 0,
        len(subject.view),
        "questions",
        "Who is shown one of these learns nothing from it; answer them, or leave them out of what is shown.",
        subject.fetch_examples(f"SELECT id {rows} ORDER BY number") if has_answers else (),
    )


def absent_accepted_answers(subject: CheckContext) -> Finding:
    """Questions whose accepted answer is not in the archive."""
    rows = "FROM questions q WHERE accepted_answer_id IS NOT NULL"
    absent = f"{rows} AND NOT EXISTS (SELECT 1 FROM answers a WHERE a.id = q.accepted_answer_id)"
    return Finding(
        "absent_accepted_answers",
        subject.fetch_int(f"SELECT COUNT(*) {absent}"),
        subject.fetch_int(f"SELECT COUNT(*) {rows}"),
        "accepted answers",
        "The answer that was accepted was not imported; import the answers too, or nothing is marked as accepted.",
        subject.fetch_examples(f"SELECT id {absent} ORDER BY number"),
    )


def answers_without_question(subject: CheckContext) -> Finding:
    """Answers whose question is not in the archive."""
    absent = f"FROM answers a WHERE {NO_QUESTION_SQL.format('a.question_id')}"
    return Finding(
        "answers_without_question",
        subject.fetch_int(f"SELECT COUNT(*) {absent}"),
        subject.fetch_int("SELECT COUNT(*) FROM answers"),
        "answers",
        "Their questions were deleted or never imported; import them, or these answers are never found.",
        subject.fetch_examples(f"SELECT id {absent} ORDER BY number"),
    )


def broken_duplicate_links(subject: CheckContext) -> Finding:
    """Duplicate links that lack one end."""
    return _find_broken_links(subject, "duplicate")


def broken_related_links(subject: CheckContext) -> Finding:
    """Related links that lack one end."""
    return _find_broken_links(subject, "related")


def broken_judgements(subject: CheckContext) -> Finding:
    """Lines of given evaluation sets whose query or document is not there."""
    query = "NOT EXISTS (SELECT 1 FROM queries x WHERE x.split = j.split AND x.id = j.query_id)"
    answer = "NOT EXISTS (SELECT 1 FROM answers x WHERE x.id = j.document_id)"
    document = f"CASE j.of WHEN 'answers' THEN {answer} ELSE {NO_QUESTION_SQL.format('j.document_id')} END"
    absent = f"FROM judgements j WHERE {query} OR {document}"
    return Finding(
        "broken_judgements",
        subject.fetch_int(f"SELECT COUNT(*) {absent}"),
        subject.fetch_int("SELECT COUNT(*) FROM judgements"),
        "judgements",
        "A judged document that is absent can never be found and lowers every measure; import what the set refers to.",
        subject.fetch_examples(f"SELECT j.split || ': ' || j.query_id || ' → ' || j.document_id {absent}"),
    )


def _find_broken_links(subject: CheckContext, kind: str) -> Finding:
    absent = (
        f"FROM links WHERE kind = ?1 AND ({NO_QUESTION_SQL.format('source')} OR {NO_QUESTION_SQL.format('target')})"
    )
    return Finding(
        f"broken_{kind}_links",
        subject.fetch_int(f"SELECT COUNT(*) {absent}", kind),
        subject.fetch_int("SELECT COUNT(*) FROM links WHERE kind = ?1", kind),
        f"{kind} links",
        "One end was deleted or never imported; these links are kept but not used until the other end comes.",
        subject.fetch_examples(f"SELECT source || ' → ' || target {absent}", kind),
    )
