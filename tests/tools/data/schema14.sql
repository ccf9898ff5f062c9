BEGIN TRANSACTION;
CREATE TABLE answers (
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, question_id TEXT NOT NULL,
        body TEXT NOT NULL, markup TEXT NOT NULL, created_at TEXT, author TEXT, url TEXT, license TEXT,
        votes INTEGER, label TEXT,
        import INTEGER, change INTEGER NOT NULL
    );
INSERT INTO "answers" VALUES(1,'r001_1','r001','Report it to the police first and to us straight after, with the key of the lock. If the bike was locked to something fixed, you pay 50 euros and the insurance does the rest. If it was not locked, it will cost you up to 400.','text',NULL,NULL,NULL,NULL,NULL,NULL,1,1);
INSERT INTO "answers" VALUES(2,'r002_1','r002','Sieben, und weitere sieben, wenn niemand wartet. Wer ein Haus renoviert, spricht vorher mit uns. Jeder Tag darüber hinaus kostet einen Euro.','text',NULL,NULL,NULL,NULL,NULL,NULL,1,1);
INSERT INTO "answers" VALUES(3,'r003_1','r003','Bring it to the desk, A3 at most. We hang up non-commercial events in town for two weeks, as long as there is room. Offers of flats, jobs and lessons go on the cork board by the café, where you pin them yourself.','text',NULL,NULL,NULL,NULL,NULL,NULL,1,1);
INSERT INTO "answers" VALUES(4,'r004_1','r004','Vier Maschinen stehen bereit, zehn Minuten Einführung genügen. Garn ist da, Stoff bringen Sie mit. Drei weitere verleihen wir für eine Woche nach Hause.','text',NULL,NULL,NULL,NULL,NULL,NULL,1,1);
INSERT INTO "answers" VALUES(5,'r005_1','r005','Yes, 120 seats, with stage, sound and projector, for 25 euros an hour. Political parties and private parties we have to refuse. Ask at least a month ahead, with the date, the number of guests and what you plan.','text',NULL,NULL,NULL,NULL,NULL,NULL,1,1);
INSERT INTO "answers" VALUES(6,'r006_1','r006','For two weeks on a shelf of 60 × 40 cm, with a label from the counter. Larger pieces only after asking, for there is little room. What has no label is gone after the monthly clean-up.','text',NULL,NULL,NULL,NULL,NULL,NULL,1,1);
INSERT INTO "answers" VALUES(7,'r007_1','r007','Vier Wochen. Filme, Spiele und Zeitschriften sind nach zwei Wochen fällig, Bestseller mit gelbem Punkt ebenso. Das Datum steht auf dem Beleg und in der App.','text',NULL,NULL,NULL,NULL,NULL,NULL,1,1);
CREATE TABLE asked (
        number INTEGER PRIMARY KEY AUTOINCREMENT, asked_at TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL,
        model TEXT NOT NULL, found TEXT NOT NULL
    , probability REAL);
INSERT INTO "asked" VALUES(1,'2026-11-25T22:45:25.364+00:00','lost my bike','','bm25','["r001"]',0.5);
CREATE TABLE changes (
        number INTEGER PRIMARY KEY AUTOINCREMENT, made_at TEXT NOT NULL
    );
INSERT INTO "changes" VALUES(1,'2026-11-25T22:45:25.329+00:00');
INSERT INTO "changes" VALUES(2,'2026-11-25T22:45:25.361+00:00');
INSERT INTO "changes" VALUES(3,'2026-11-25T22:45:25.366+00:00');
INSERT INTO "changes" VALUES(4,'2026-11-25T22:45:25.369+00:00');
CREATE TABLE corrections (
        kind TEXT NOT NULL, id TEXT NOT NULL, field TEXT NOT NULL, source_value TEXT NOT NULL,
        PRIMARY KEY (kind, id, field)
    ) WITHOUT ROWID;
INSERT INTO "corrections" VALUES('questions','r001','title','["The bike I hired was stolen. What do I have to do?"]');
CREATE TABLE deletions (change INTEGER NOT NULL, of TEXT NOT NULL, number INTEGER NOT NULL);
INSERT INTO "deletions" VALUES(4,'questions',8);
INSERT INTO "deletions" VALUES(4,'answers',8);
CREATE TABLE drafts (
        number INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, rephrasings TEXT NOT NULL, answer TEXT NOT NULL,
        markup TEXT NOT NULL, sources TEXT NOT NULL, found_at TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'open',
        decided_at TEXT, by TEXT
    , body TEXT NOT NULL DEFAULT '', origin TEXT, url TEXT);
INSERT INTO "drafts" VALUES(1,'A draft','[]','An answer.','text','["r004"]','2026-11-25T22:45:25+00:00','open',NULL,NULL,'',NULL,NULL);
CREATE TABLE feedback (
        number INTEGER PRIMARY KEY AUTOINCREMENT, given_at TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL,
        shown TEXT NOT NULL, chosen TEXT, verdict TEXT NOT NULL, model TEXT
    );
INSERT INTO "feedback" VALUES(1,'2026-11-25T22:45:25.365+00:00','lost my bike','','["r001"]','r001','accept','bm25');
CREATE TABLE ignored_gaps (words TEXT PRIMARY KEY, ignored_at TEXT NOT NULL, by TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "ignored_gaps" VALUES('abc','2026-11-25T22:45:25.365+00:00','someone');
CREATE TABLE imports (
        number INTEGER PRIMARY KEY, reader TEXT NOT NULL, source TEXT NOT NULL, started_at TEXT NOT NULL,
        finished_at TEXT, rejected INTEGER NOT NULL DEFAULT 0, notes TEXT NOT NULL DEFAULT '{}'
    , source_number INTEGER REFERENCES sources);
INSERT INTO "imports" VALUES(1,'table','few.csv','2026-11-25T22:45:25+00:00','2026-11-25T22:45:25+00:00',0,'{}',1);
CREATE TABLE judgements (
        split TEXT NOT NULL, query_id TEXT NOT NULL, document_id TEXT NOT NULL, relevance INTEGER, position INTEGER,
        of TEXT NOT NULL, import INTEGER, PRIMARY KEY (split, of, query_id, document_id)
    ) WITHOUT ROWID;
CREATE TABLE keys (
        id TEXT PRIMARY KEY, scope TEXT NOT NULL, note TEXT NOT NULL, created_at TEXT NOT NULL, revoked_at TEXT,
        salt BLOB NOT NULL, hash BLOB NOT NULL
    , origin TEXT) WITHOUT ROWID;
INSERT INTO "keys" VALUES('0af61eeb0d72','read','the desk','2026-11-25T22:45:25+00:00',NULL,X'B8FFE912C2B7D06A226A0F1A9FFDFE34',X'2A3E56B669C65F5E2418383E18BA48F498F10B9BC000F575515BCC4F979D63D4',NULL);
CREATE TABLE links (
        source TEXT NOT NULL, target TEXT NOT NULL, kind TEXT NOT NULL, created_at TEXT, import INTEGER,
        PRIMARY KEY (source, target, kind)
    ) WITHOUT ROWID;
INSERT INTO "links" VALUES('r002','r003','duplicate','2026-11-25T22:45:25.366+00:00',NULL);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "meta" VALUES('language','"en"');
INSERT INTO "meta" VALUES('name','"few"');
INSERT INTO "meta" VALUES('reader','"table"');
INSERT INTO "meta" VALUES('source','"few.csv"');
CREATE TABLE partitions (
        name TEXT PRIMARY KEY, of TEXT NOT NULL, way TEXT NOT NULL, settings TEXT NOT NULL, made_at TEXT NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "partitions" VALUES('cut','rephrasings','folds','{"folds": 2, "seed": 0}','2026-11-25T22:45:25+00:00');
CREATE TABLE parts (
        partition TEXT NOT NULL REFERENCES partitions ON DELETE CASCADE, query_id TEXT NOT NULL, part TEXT NOT NULL,
        PRIMARY KEY (partition, query_id)
    ) WITHOUT ROWID;
INSERT INTO "parts" VALUES('cut','r001#1','2');
INSERT INTO "parts" VALUES('cut','r001#2','2');
INSERT INTO "parts" VALUES('cut','r001#3','2');
INSERT INTO "parts" VALUES('cut','r001#4','2');
INSERT INTO "parts" VALUES('cut','r002#1','1');
INSERT INTO "parts" VALUES('cut','r002#2','1');
INSERT INTO "parts" VALUES('cut','r002#3','1');
INSERT INTO "parts" VALUES('cut','r002#4','1');
INSERT INTO "parts" VALUES('cut','r004#1','2');
INSERT INTO "parts" VALUES('cut','r004#2','2');
INSERT INTO "parts" VALUES('cut','r004#3','2');
INSERT INTO "parts" VALUES('cut','r004#4','2');
INSERT INTO "parts" VALUES('cut','r005#1','2');
INSERT INTO "parts" VALUES('cut','r005#2','2');
INSERT INTO "parts" VALUES('cut','r005#3','2');
INSERT INTO "parts" VALUES('cut','r005#4','2');
INSERT INTO "parts" VALUES('cut','r006#1','1');
INSERT INTO "parts" VALUES('cut','r006#2','1');
INSERT INTO "parts" VALUES('cut','r006#3','1');
INSERT INTO "parts" VALUES('cut','r006#4','1');
INSERT INTO "parts" VALUES('cut','r007#1','1');
INSERT INTO "parts" VALUES('cut','r007#2','1');
INSERT INTO "parts" VALUES('cut','r007#3','1');
INSERT INTO "parts" VALUES('cut','r007#4','1');
CREATE TABLE proposals (
        number INTEGER PRIMARY KEY AUTOINCREMENT, question TEXT NOT NULL, other TEXT NOT NULL, probability REAL,
        score REAL NOT NULL, model TEXT NOT NULL, found_at TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'open',
        decided_at TEXT, by TEXT, linked INTEGER NOT NULL DEFAULT 0
    );
INSERT INTO "proposals" VALUES(1,'r002','r003',0.9,1.0,'bm25','2026-11-25T22:45:25.365+00:00','accepted','2026-11-25T22:45:25.366+00:00','someone',1);
CREATE TABLE proposing (
        fingerprint TEXT PRIMARY KEY, started_at TEXT NOT NULL, change INTEGER NOT NULL, number INTEGER NOT NULL,
        below INTEGER NOT NULL, first TEXT NOT NULL, share REAL
    ) WITHOUT ROWID;
INSERT INTO "proposing" VALUES('ffffffff','2026-01-01T00:00:00',1,2,3,'[["r001", "r002", 0.5], null]',0.1);
CREATE TABLE queries (
        split TEXT NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL, markup TEXT NOT NULL,
        language TEXT, category TEXT, created_at TEXT, import INTEGER, PRIMARY KEY (split, id)
    );
CREATE TABLE question_tags (
        tag TEXT NOT NULL, question INTEGER NOT NULL REFERENCES questions ON DELETE CASCADE, PRIMARY KEY (tag, question)
    ) WITHOUT ROWID;
INSERT INTO "question_tags" VALUES('booking',5);
INSERT INTO "question_tags" VALUES('due-date',2);
INSERT INTO "question_tags" VALUES('due-date',7);
INSERT INTO "question_tags" VALUES('events',3);
INSERT INTO "question_tags" VALUES('fees',5);
INSERT INTO "question_tags" VALUES('insurance',1);
INSERT INTO "question_tags" VALUES('storage',6);
INSERT INTO "question_tags" VALUES('textiles',4);
INSERT INTO "question_tags" VALUES('theft',1);
CREATE TABLE questions (
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, body TEXT NOT NULL,
        markup TEXT NOT NULL, tags TEXT NOT NULL, category TEXT, language TEXT, created_at TEXT, closed_at TEXT,
        author TEXT, url TEXT, license TEXT, votes INTEGER, accepted_answer_id TEXT, rephrasings TEXT NOT NULL,
        import INTEGER, change INTEGER NOT NULL
    , marks TEXT NOT NULL DEFAULT '[]', solved_in TEXT);
INSERT INTO "questions" VALUES(1,'r001','The bike I hired was stolen. What do I have to do? Please.','','text','["theft", "insurance"]','bikes','en','2023-03-02T13:38:07',NULL,NULL,'https://desk.example/q/r001',NULL,NULL,'r001_1','["my hired bike was stolen", "somebody took my rented bicycle", "What do I have to pay if the bike is stolen?", "bike stolen outside the station, what to do"]',1,2,'[]',NULL);
INSERT INTO "questions" VALUES(2,'r002','Für wie viele Tage bekomme ich ein Gerät aus der Werkstatt?','','text','["due-date"]','tools','de','2023-03-04T09:12:52',NULL,NULL,'https://desk.example/q/r002',NULL,NULL,'r002_1','["Wie viele Tage darf ich ein Gerät haben?", "Wann muss die Heckenschere zurück sein?", "Geräte aus der Werkstatt: für wie lange?", "Bekomme ich das Gerät auch für zwei Wochen?"]',1,1,'[]',NULL);
INSERT INTO "questions" VALUES(3,'r003','Can I hang up a poster for our concert?','','text','["events"]','desk','en','2023-03-06T20:53:02',NULL,NULL,'https://desk.example/q/r003',NULL,NULL,'r003_1','[]',1,1,'[]',NULL);
INSERT INTO "questions" VALUES(4,'r004','Kann ich bei Ihnen nähen?','','text','["textiles"]','workshop','de','2023-03-11T20:04:59',NULL,NULL,'https://desk.example/q/r004',NULL,NULL,'r004_1','["Kann man bei Ihnen nähen?", "Vorhänge selbst machen", "nähen lernen, haben Sie Maschinen?", "Ich möchte Vorhänge nähen"]',1,1,'[]',NULL);
INSERT INTO "questions" VALUES(5,'r005','Can our association rent the large hall?','','text','["booking", "fees"]','rooms','en','2023-03-12T20:15:44',NULL,NULL,'https://desk.example/q/r005',NULL,NULL,'r005_1','["Can we rent the large hall for a concert?", "hire a big room for a talk with a hundred guests", "renting the hall", "hall for our association''s annual meeting"]',1,1,'[]',NULL);
INSERT INTO "questions" VALUES(6,'r006','Can I leave my unfinished project with you?','','text','["storage"]','workshop','en','2023-03-13T08:58:36',NULL,NULL,'https://desk.example/q/r006',NULL,NULL,'r006_1','["leave an unfinished chair with you", "do you have lockers for wood", "Where can I leave my project until next week?", "can my half-built project stay with you"]',1,1,'[]',NULL);
INSERT INTO "questions" VALUES(7,'r007','Wie lange darf ich Bücher behalten?','','text','["due-date"]','loans','de','2023-03-14T13:17:08',NULL,NULL,'https://desk.example/q/r007',NULL,NULL,'r007_1','["Wie lange darf ich einen Film behalten?", "Nach wie vielen Wochen ist ein Krimi fällig?", "Wie lange kann man Bücher behalten?", "Darf ich die Bücher auch sechs Wochen behalten?"]',1,1,'[]',NULL);
CREATE TABLE revisions (
        number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, id TEXT NOT NULL, made_at TEXT NOT NULL, by TEXT,
        import INTEGER, changes TEXT NOT NULL
    );
INSERT INTO "revisions" VALUES(1,'questions','r001','2026-11-25T22:45:25.362+00:00','someone',NULL,'{"title": ["The bike I hired was stolen. What do I have to do?", "The bike I hired was stolen. What do I have to do? Please."]}');
CREATE TABLE served (
        number INTEGER PRIMARY KEY AUTOINCREMENT, since TEXT NOT NULL, ranker TEXT NOT NULL, settings TEXT NOT NULL,
        reason TEXT NOT NULL, withdrawn INTEGER NOT NULL DEFAULT 0
    , ready INTEGER NOT NULL DEFAULT 0, chosen_by TEXT);
INSERT INTO "served" VALUES(1,'2026-11-25T22:45:25+00:00','hybrid','{"parts": ["lm_jelinek_mercer", "static"], "static.least": 0.2}','as a test',0,0,'["r002"]');
CREATE TABLE sessions (
        hash BLOB PRIMARY KEY, key TEXT NOT NULL REFERENCES keys ON DELETE CASCADE, began_at TEXT NOT NULL,
        ends_at TEXT NOT NULL
    ) WITHOUT ROWID;
CREATE TABLE sources (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, prefix TEXT NOT NULL UNIQUE);
INSERT INTO "sources" VALUES(1,'few','few');
CREATE TABLE use_counts (
        day TEXT NOT NULL, event TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (day, event)
    ) WITHOUT ROWID;
INSERT INTO "use_counts" VALUES('2026-11-25','shown',1);
CREATE INDEX questions_by_change ON questions (change);
CREATE INDEX questions_by_creation ON questions (created_at);
CREATE INDEX answers_by_question ON answers (question_id);
CREATE INDEX answers_by_change ON answers (change);
CREATE INDEX links_by_target ON links (target);
CREATE INDEX deletions_by_change ON deletions (change);
CREATE INDEX asked_by_time ON asked (asked_at);
CREATE INDEX feedback_by_time ON feedback (given_at);
CREATE UNIQUE INDEX proposals_by_pair ON proposals (MIN(question, other), MAX(question, other));
CREATE INDEX proposals_by_certainty ON proposals (state, COALESCE(probability, -1) DESC, score DESC, number);
CREATE INDEX proposals_by_decision ON proposals (state, decided_at, number);
CREATE INDEX questions_written_here ON questions (number) WHERE import IS NULL;
CREATE INDEX answers_written_here ON answers (number) WHERE import IS NULL;
CREATE INDEX revisions_by_record ON revisions (kind, id);
CREATE TRIGGER forget_question AFTER DELETE ON questions BEGIN
        DELETE FROM revisions WHERE kind = 'questions' AND id = OLD.id;
        DELETE FROM corrections WHERE kind = 'questions' AND id = OLD.id;
    END;
CREATE TRIGGER forget_answer AFTER DELETE ON answers BEGIN
        DELETE FROM revisions WHERE kind = 'answers' AND id = OLD.id;
        DELETE FROM corrections WHERE kind = 'answers' AND id = OLD.id;
    END;
CREATE INDEX questions_by_state ON questions (
        marks, closed_at IS NOT NULL, accepted_answer_id IS NOT NULL, created_at
    );
CREATE UNIQUE INDEX drafts_by_origin ON drafts (origin);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('changes',4);
INSERT INTO "sqlite_sequence" VALUES('questions',8);
INSERT INTO "sqlite_sequence" VALUES('answers',8);
INSERT INTO "sqlite_sequence" VALUES('revisions',1);
INSERT INTO "sqlite_sequence" VALUES('asked',1);
INSERT INTO "sqlite_sequence" VALUES('feedback',1);
INSERT INTO "sqlite_sequence" VALUES('proposals',1);
INSERT INTO "sqlite_sequence" VALUES('drafts',1);
INSERT INTO "sqlite_sequence" VALUES('served',1);
COMMIT;
PRAGMA user_version = 14;
