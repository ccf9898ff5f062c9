-- The archive's schema, version 2: `PRAGMA user_version` has its number. Names of tables and columns are a public format.
-- Times are ISO 8601 in UTC. A question's or answer's `number` is its docid. `record_type` is 'questions' or 'answers'.

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE changes (number INTEGER PRIMARY KEY AUTOINCREMENT, committed_at TEXT NOT NULL);

CREATE TABLE sources (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, prefix TEXT NOT NULL UNIQUE);

CREATE TABLE imports (
    number INTEGER PRIMARY KEY, reader TEXT NOT NULL, paths TEXT NOT NULL, started_at TEXT NOT NULL, finished_at TEXT,
    rejected_count INTEGER NOT NULL DEFAULT 0, notes TEXT NOT NULL DEFAULT '{}',
    source_number INTEGER REFERENCES sources
);

-- Records. `import_number`: the import that last wrote the row; NULL for a record written in the archive itself.

CREATE TABLE questions (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, body TEXT NOT NULL,
    markup TEXT NOT NULL, tags TEXT NOT NULL, category TEXT, language TEXT, created_at TEXT, closed_at TEXT,
    author TEXT, url TEXT, license TEXT, votes INTEGER, accepted_answer_id TEXT, rephrasings TEXT NOT NULL,
    marks TEXT NOT NULL DEFAULT '[]', solved_in TEXT, import_number INTEGER, change INTEGER NOT NULL
);
CREATE INDEX questions_by_change ON questions (change);
CREATE INDEX questions_by_creation ON questions (created_at);
CREATE INDEX questions_without_import ON questions (number) WHERE import_number IS NULL;
CREATE INDEX questions_by_state ON questions (
    marks, closed_at IS NOT NULL, accepted_answer_id IS NOT NULL, created_at
);

CREATE TABLE question_tags (
    tag TEXT NOT NULL, question_number INTEGER NOT NULL REFERENCES questions ON DELETE CASCADE,
    PRIMARY KEY (tag, question_number)
) WITHOUT ROWID;

CREATE TABLE answers (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, question_id TEXT NOT NULL, body TEXT NOT NULL,
    markup TEXT NOT NULL, created_at TEXT, author TEXT, url TEXT, license TEXT, votes INTEGER, label TEXT,
    import_number INTEGER, change INTEGER NOT NULL
);
CREATE INDEX answers_by_question ON answers (question_id);
CREATE INDEX answers_by_change ON answers (change);
CREATE INDEX answers_without_import ON answers (number) WHERE import_number IS NULL;

CREATE TABLE links (
    source TEXT NOT NULL, target TEXT NOT NULL, kind TEXT NOT NULL, created_at TEXT, import_number INTEGER,
    PRIMARY KEY (source, target, kind)
) WITHOUT ROWID;
CREATE INDEX links_by_target ON links (target);

CREATE TABLE queries (
    split TEXT NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL, markup TEXT NOT NULL,
    language TEXT, category TEXT, created_at TEXT, import_number INTEGER, PRIMARY KEY (split, id)
);

CREATE TABLE judgements (
    split TEXT NOT NULL, query_id TEXT NOT NULL, document_id TEXT NOT NULL, relevance INTEGER, position INTEGER,
    record_type TEXT NOT NULL, import_number INTEGER, PRIMARY KEY (split, record_type, query_id, document_id)
) WITHOUT ROWID;

CREATE TABLE deletions (change INTEGER NOT NULL, record_type TEXT NOT NULL, number INTEGER NOT NULL);
CREATE INDEX deletions_by_change ON deletions (change);

-- Corrections of imported texts, and the history of all changes made by people.

CREATE TABLE revisions (
    number INTEGER PRIMARY KEY AUTOINCREMENT, record_type TEXT NOT NULL, record_id TEXT NOT NULL,
    created_at TEXT NOT NULL, edited_by TEXT, import_number INTEGER, changes TEXT NOT NULL
);
CREATE INDEX revisions_by_record ON revisions (record_type, record_id);
CREATE TABLE corrections (
    record_type TEXT NOT NULL, record_id TEXT NOT NULL, field TEXT NOT NULL, source_value TEXT NOT NULL,
    PRIMARY KEY (record_type, record_id, field)
) WITHOUT ROWID;
CREATE TRIGGER delete_question_history AFTER DELETE ON questions BEGIN
    DELETE FROM revisions WHERE record_type = 'questions' AND record_id = OLD.id;
    DELETE FROM corrections WHERE record_type = 'questions' AND record_id = OLD.id;
END;
CREATE TRIGGER delete_answer_history AFTER DELETE ON answers BEGIN
    DELETE FROM revisions WHERE record_type = 'answers' AND record_id = OLD.id;
    DELETE FROM corrections WHERE record_type = 'answers' AND record_id = OLD.id;
END;

-- Splits of a split.

CREATE TABLE partitions (
    name TEXT PRIMARY KEY, source_split TEXT NOT NULL, method TEXT NOT NULL, settings TEXT NOT NULL,
    created_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE partition_queries (
    partition TEXT NOT NULL REFERENCES partitions ON DELETE CASCADE, query_id TEXT NOT NULL, part TEXT NOT NULL,
    PRIMARY KEY (partition, query_id)
) WITHOUT ROWID;

-- The service: its keys and sessions, what users asked, and what moderators decided.

CREATE TABLE api_keys (
    id TEXT PRIMARY KEY, scope TEXT NOT NULL, note TEXT NOT NULL, created_at TEXT NOT NULL, revoked_at TEXT,
    origin TEXT, salt BLOB NOT NULL, hash BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE sessions (
    hash BLOB PRIMARY KEY, key_id TEXT NOT NULL REFERENCES api_keys ON DELETE CASCADE, created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE deployments (
    number INTEGER PRIMARY KEY AUTOINCREMENT, created_at TEXT NOT NULL, ranker TEXT NOT NULL, settings TEXT NOT NULL,
    reason TEXT NOT NULL, withdrawn INTEGER NOT NULL DEFAULT 0, ready INTEGER NOT NULL DEFAULT 0,
    selection_query_ids TEXT
);

CREATE TABLE query_log (
    number INTEGER PRIMARY KEY AUTOINCREMENT, created_at TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL,
    ranker TEXT NOT NULL, shown_ids TEXT NOT NULL, probability REAL
);
CREATE INDEX query_log_by_time ON query_log (created_at);
CREATE TABLE feedback (
    number INTEGER PRIMARY KEY AUTOINCREMENT, created_at TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL,
    shown_ids TEXT NOT NULL, chosen_id TEXT, verdict TEXT NOT NULL, ranker TEXT
);
CREATE INDEX feedback_by_time ON feedback (created_at);
CREATE TABLE usage_counts (
    day TEXT NOT NULL, event TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (day, event)
) WITHOUT ROWID;
CREATE TABLE ignored_gaps (
    phrasing_digest TEXT PRIMARY KEY, ignored_at TEXT NOT NULL, ignored_by TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE proposals (
    number INTEGER PRIMARY KEY AUTOINCREMENT, duplicate_id TEXT NOT NULL, original_id TEXT NOT NULL,
    probability REAL NOT NULL, score REAL NOT NULL, ranker TEXT NOT NULL, created_at TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'open', decided_at TEXT, decided_by TEXT, added_link INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX proposals_by_pair ON proposals (
    MIN(duplicate_id, original_id), MAX(duplicate_id, original_id)
);
CREATE INDEX proposals_by_certainty ON proposals (state, probability DESC, score DESC, number);
CREATE INDEX proposals_by_decision ON proposals (state, decided_at, number);
CREATE TABLE proposal_scans (
    fingerprint TEXT PRIMARY KEY, change INTEGER NOT NULL, docid INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE drafts (
    number INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, body TEXT NOT NULL DEFAULT '',
    rephrasings TEXT NOT NULL, answer TEXT NOT NULL, markup TEXT NOT NULL, source_ids TEXT NOT NULL,
    created_at TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'open', decided_at TEXT, decided_by TEXT, origin TEXT,
    url TEXT
);
CREATE UNIQUE INDEX drafts_by_origin ON drafts (origin);
