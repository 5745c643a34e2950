-- Times are microseconds since 1970 UTC. The same tables as in ../sqlite, in PostgreSQL's words.
CREATE TABLE deliveries (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    guid        TEXT   NOT NULL UNIQUE,
    event       TEXT   NOT NULL,
    action      TEXT,
    body        BYTEA  NOT NULL,
    received_at BIGINT NOT NULL,
    conclusion  TEXT,
    because     TEXT,
    order_id    TEXT
);
CREATE INDEX deliveries_pending ON deliveries (id) WHERE conclusion IS NULL;

CREATE TABLE orders (
    id            TEXT COLLATE "C" PRIMARY KEY,
    repository    TEXT    NOT NULL,
    repository_id BIGINT  NOT NULL,
    issue         BIGINT  NOT NULL,
    state         TEXT    NOT NULL,
    active        BOOLEAN NOT NULL,
    branch        TEXT,
    pull          BIGINT,
    opened_at     BIGINT  NOT NULL,
    updated_at    BIGINT  NOT NULL,
    last_seq      BIGINT  NOT NULL,
    rested_seq    BIGINT  NOT NULL
);
-- At most one active order for an issue, whoever asks at the same time.
CREATE UNIQUE INDEX orders_one_active ON orders (repository_id, issue) WHERE active;
CREATE INDEX orders_of_issue ON orders (repository_id, issue, id);
CREATE INDEX orders_of_pull ON orders (repository_id, pull) WHERE pull IS NOT NULL;

CREATE TABLE journal (
    order_id TEXT COLLATE "C" NOT NULL REFERENCES orders (id),
    seq      BIGINT NOT NULL,
    at       BIGINT NOT NULL,
    event    TEXT   NOT NULL,
    PRIMARY KEY (order_id, seq)
);

CREATE TABLE artifacts (
    order_id   TEXT COLLATE "C" NOT NULL REFERENCES orders (id),
    name       TEXT COLLATE "C" NOT NULL,
    media_type TEXT   NOT NULL,
    size       BIGINT NOT NULL,
    sha256     TEXT   NOT NULL,
    content    BYTEA  NOT NULL,
    PRIMARY KEY (order_id, name)
);
