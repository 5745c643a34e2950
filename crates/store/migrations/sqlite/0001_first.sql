-- Times are microseconds since 1970 UTC. The same tables as in ../postgres, in SQLite's words.
CREATE TABLE deliveries (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    guid        TEXT    NOT NULL UNIQUE,
    event       TEXT    NOT NULL,
    action      TEXT,
    body        BLOB    NOT NULL,
    received_at INTEGER NOT NULL,
    conclusion  TEXT,
    because     TEXT,
    order_id    TEXT
);
CREATE INDEX deliveries_pending ON deliveries (id) WHERE conclusion IS NULL;

CREATE TABLE orders (
    id            TEXT    PRIMARY KEY,
    repository    TEXT    NOT NULL,
    repository_id INTEGER NOT NULL,
    issue         INTEGER NOT NULL,
    state         TEXT    NOT NULL,
    active        BOOLEAN NOT NULL,
    branch        TEXT,
    pull          INTEGER,
    opened_at     INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    last_seq      INTEGER NOT NULL,
    rested_seq    INTEGER NOT NULL
);
-- At most one active order for an issue, whoever asks at the same time.
CREATE UNIQUE INDEX orders_one_active ON orders (repository_id, issue) WHERE active;
CREATE INDEX orders_of_issue ON orders (repository_id, issue, id);
CREATE INDEX orders_of_pull ON orders (repository_id, pull) WHERE pull IS NOT NULL;

CREATE TABLE journal (
    order_id TEXT    NOT NULL REFERENCES orders (id),
    seq      INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    event    TEXT    NOT NULL,
    PRIMARY KEY (order_id, seq)
) WITHOUT ROWID;

CREATE TABLE artifacts (
    order_id   TEXT    NOT NULL REFERENCES orders (id),
    name       TEXT    NOT NULL,
    media_type TEXT    NOT NULL,
    size       INTEGER NOT NULL,
    sha256     TEXT    NOT NULL,
    content    BLOB    NOT NULL,
    PRIMARY KEY (order_id, name)
);
