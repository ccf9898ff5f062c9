"""The archive's SQL schema as numbered migrations; `PRAGMA user_version` is the number of those applied.

Add a migration at the end; never edit a released one.
"""

import re
import sqlite3
from pathlib import PurePath

from askalike.core.errors import ArchiveError

MIGRATIONS = (
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE imports (
        number INTEGER PRIMARY KEY, reader TEXT NOT NULL, source TEXT NOT NULL, started_at TEXT NOT NULL,
        finished_at TEXT, rejected INTEGER NOT NULL DEFAULT 0, notes TEXT NOT NULL DEFAULT '{}'
    );
    CREATE TABLE questions (
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, body TEXT NOT NULL,
        markup TEXT NOT NULL, tags TEXT NOT NULL, category TEXT, language TEXT, created_at TEXT, closed_at TEXT,
        author TEXT, url TEXT, license TEXT, votes INTEGER, accepted_answer_id TEXT, rephrasings TEXT NOT NULL,
        import INTEGER, change INTEGER NOT NULL
    );
    CREATE INDEX questions_by_change ON questions (change);
    CREATE INDEX questions_by_creation ON questions (created_at);
    CREATE TABLE question_tags (
        tag TEXT NOT NULL, question INTEGER NOT NULL REFERENCES questions ON DELETE CASCADE, PRIMARY KEY (tag, question)
    ) WITHOUT ROWID;
    CREATE TABLE answers (
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, question_id TEXT NOT NULL,
        body TEXT NOT NULL, markup TEXT NOT NULL, created_at TEXT, author TEXT, url TEXT, license TEXT,
        votes INTEGER, label TEXT,
        import INTEGER, change INTEGER NOT NULL
    );
    CREATE INDEX answers_by_question ON answers (question_id);
    CREATE INDEX answers_by_change ON answers (change);
    CREATE TABLE links (
        source TEXT NOT NULL, target TEXT NOT NULL, kind TEXT NOT NULL, created_at TEXT,
        PRIMARY KEY (source, target, kind)
    ) WITHOUT ROWID;
    CREATE INDEX links_by_target ON links (target);
    CREATE TABLE queries (
        split TEXT NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL, markup TEXT NOT NULL,
        language TEXT, category TEXT, created_at TEXT, PRIMARY KEY (split, id)
    );
    CREATE TABLE judgements (
        split TEXT NOT NULL, query_id TEXT NOT NULL, document_id TEXT NOT NULL, relevance INTEGER, position INTEGER,
        of TEXT NOT NULL, PRIMARY KEY (split, of, query_id, document_id)
    ) WITHOUT ROWID;
    CREATE TABLE deletions (change INTEGER NOT NULL, of TEXT NOT NULL, number INTEGER NOT NULL);
    CREATE INDEX deletions_by_change ON deletions (change);
    CREATE TABLE changes (
        number INTEGER PRIMARY KEY AUTOINCREMENT, made_at TEXT NOT NULL
    );
    """,
    """
    CREATE TABLE partitions (
        name TEXT PRIMARY KEY, of TEXT NOT NULL, way TEXT NOT NULL, settings TEXT NOT NULL, made_at TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE parts (
        partition TEXT NOT NULL REFERENCES partitions ON DELETE CASCADE, query_id TEXT NOT NULL, part TEXT NOT NULL,
        PRIMARY KEY (partition, query_id)
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE keys (
        id TEXT PRIMARY KEY, scope TEXT NOT NULL, note TEXT NOT NULL, created_at TEXT NOT NULL, revoked_at TEXT,
        salt BLOB NOT NULL, hash BLOB NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE asked (
        number INTEGER PRIMARY KEY AUTOINCREMENT, asked_at TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL,
        model TEXT NOT NULL, found TEXT NOT NULL
    );
    CREATE INDEX asked_by_time ON asked (asked_at);
    CREATE TABLE feedback (
        number INTEGER PRIMARY KEY AUTOINCREMENT, given_at TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL,
        shown TEXT NOT NULL, chosen TEXT, verdict TEXT NOT NULL, model TEXT
    );
    CREATE INDEX feedback_by_time ON feedback (given_at);
    """,
    """
    CREATE TABLE served (
        number INTEGER PRIMARY KEY AUTOINCREMENT, since TEXT NOT NULL, ranker TEXT NOT NULL, settings TEXT NOT NULL,
        reason TEXT NOT NULL, withdrawn INTEGER NOT NULL DEFAULT 0
    );
    """,
    """
    CREATE TABLE proposals (
        number INTEGER PRIMARY KEY AUTOINCREMENT, question TEXT NOT NULL, other TEXT NOT NULL, probability REAL,
        score REAL NOT NULL, model TEXT NOT NULL, found_at TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'open',
        decided_at TEXT, by TEXT, linked INTEGER NOT NULL DEFAULT 0
    );
    CREATE UNIQUE INDEX proposals_by_pair ON proposals (MIN(question, other), MAX(question, other));
    CREATE INDEX proposals_by_certainty ON proposals (state, COALESCE(probability, -1) DESC, score DESC, number);
    CREATE INDEX proposals_by_decision ON proposals (state, decided_at, number);
    CREATE TABLE ignored_gaps (words TEXT PRIMARY KEY, ignored_at TEXT NOT NULL, by TEXT NOT NULL) WITHOUT ROWID;
    ALTER TABLE asked ADD COLUMN probability REAL;
    """,
    """
    CREATE TABLE proposing (
        fingerprint TEXT PRIMARY KEY, started_at TEXT NOT NULL, change INTEGER NOT NULL, number INTEGER NOT NULL,
        below INTEGER NOT NULL, first TEXT NOT NULL, share REAL
    ) WITHOUT ROWID;
    ALTER TABLE served ADD COLUMN ready INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE keys ADD COLUMN origin TEXT;
    """,
    """
    CREATE TABLE sessions (
        hash BLOB PRIMARY KEY, key TEXT NOT NULL REFERENCES keys ON DELETE CASCADE, began_at TEXT NOT NULL,
        ends_at TEXT NOT NULL
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE sources (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, prefix TEXT NOT NULL UNIQUE);
    ALTER TABLE imports ADD COLUMN source_number INTEGER REFERENCES sources;
    ALTER TABLE links ADD COLUMN import INTEGER;
    ALTER TABLE queries ADD COLUMN import INTEGER;
    ALTER TABLE judgements ADD COLUMN import INTEGER;
    CREATE INDEX questions_written_here ON questions (number) WHERE import IS NULL;
    CREATE INDEX answers_written_here ON answers (number) WHERE import IS NULL;
    CREATE TEMP VIEW named_imports AS SELECT i.number, COALESCE((
        SELECT json_extract(n.value, '$') FROM meta n, meta p, meta r WHERE n.key = 'name' AND p.key = 'source'
        AND r.key = 'reader' AND json_extract(p.value, '$') = i.source AND json_extract(r.value, '$') = i.reader
    ), source_name(i.reader, i.source)) AS name FROM imports i;
    INSERT OR IGNORE INTO sources (name, prefix) SELECT name, id_prefix(name) FROM named_imports ORDER BY number;
    UPDATE imports SET source_number = (
        SELECT s.number FROM sources s JOIN named_imports n ON n.name = s.name WHERE n.number = imports.number
    );
    DROP VIEW named_imports;
    """,
    """
    CREATE TABLE revisions (
        number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, id TEXT NOT NULL, made_at TEXT NOT NULL, by TEXT,
        import INTEGER, changes TEXT NOT NULL
    );
    CREATE INDEX revisions_by_record ON revisions (kind, id);
    CREATE TABLE corrections (
        kind TEXT NOT NULL, id TEXT NOT NULL, field TEXT NOT NULL, source_value TEXT NOT NULL,
        PRIMARY KEY (kind, id, field)
    ) WITHOUT ROWID;
    CREATE TRIGGER forget_question AFTER DELETE ON questions BEGIN
        DELETE FROM revisions WHERE kind = 'questions' AND id = OLD.id;
        DELETE FROM corrections WHERE kind = 'questions' AND id = OLD.id;
    END;
    CREATE TRIGGER forget_answer AFTER DELETE ON answers BEGIN
        DELETE FROM revisions WHERE kind = 'answers' AND id = OLD.id;
        DELETE FROM corrections WHERE kind = 'answers' AND id = OLD.id;
    END;
    """,
    """
    CREATE TABLE use_counts (
        day TEXT NOT NULL, event TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (day, event)
    ) WITHOUT ROWID;
    """,
    """
    ALTER TABLE questions ADD COLUMN marks TEXT NOT NULL DEFAULT '[]';
    ALTER TABLE questions ADD COLUMN solved_in TEXT;
    CREATE INDEX questions_by_state ON questions (
        marks, closed_at IS NOT NULL, accepted_answer_id IS NOT NULL, created_at
    );
    """,
    """
    CREATE TABLE drafts (
        number INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, rephrasings TEXT NOT NULL, answer TEXT NOT NULL,
        markup TEXT NOT NULL, sources TEXT NOT NULL, found_at TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'open',
        decided_at TEXT, by TEXT
    );
    """,
    "ALTER TABLE served ADD COLUMN chosen_by TEXT;",
    """
    ALTER TABLE drafts ADD COLUMN body TEXT NOT NULL DEFAULT '';
    ALTER TABLE drafts ADD COLUMN origin TEXT;
    ALTER TABLE drafts ADD COLUMN url TEXT;
    CREATE UNIQUE INDEX drafts_by_origin ON drafts (origin);
    """,
)

FILE_SUFFIXES = re.compile(r"(-(Posts|PostLinks))?\.7z$|\.(csv|tsv|tab|txt|jsonl?|xml|gz|bz2|parquet|xlsx)\b.*$")


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Apply the missing migrations, each in its own transaction; two processes may do so at the same time.

    Raises ArchiveError if a newer askalike wrote the archive.
    """
    connection.create_function("source_name", 2, source_name, deterministic=True)
    connection.create_function("id_prefix", 1, id_prefix, deterministic=True)
    version = _schema_version(connection)
    if version > len(MIGRATIONS):
        schemas = f"schema {version}; this one supports {len(MIGRATIONS)}"
        raise ArchiveError(f"{path}: written by a newer askalike ({schemas}); upgrade askalike")
    while (version := _schema_version(connection)) < len(MIGRATIONS):
        migration = f"BEGIN IMMEDIATE; {MIGRATIONS[version]}; PRAGMA user_version = {version + 1}; COMMIT"
        try:
            connection.executescript(migration)
        except sqlite3.OperationalError:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if _schema_version(connection) == version:  # no other process applied it
                raise


def source_name(reader: str, paths: str) -> str:
    """Return the source name for these paths, as readers name it: without file suffixes."""
    name = PurePath(paths.partition(", ")[0]).name
    name = name.partition(".")[0] if reader in ("table", "pairs") else re.sub(FILE_SUFFIXES, "", name)
    return name or "archive"


def id_prefix(name: str) -> str:
    """Return a source's name as an id prefix: without white space, `/` and `#`."""
    return re.sub(r"[\s/#]+", "-", name).strip("-") or "source"


def _schema_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
